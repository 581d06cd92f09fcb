//! What a terminal shows after some bytes were written to it, with colours. Knows the sequences that the program uses.
//!
//! Lines that scroll off the top are kept, so a screen has everything that a person could scroll back to.
#![expect(clippy::panic, reason = "a test that cannot continue ends by panicking")]

/// How a character looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Bold.
    pub is_bold: bool,
    /// Dimmed.
    pub is_dim: bool,
    /// One of the 16 or 256 colours.
    pub colour: Option<u8>,
}

/// The content of a terminal.
#[derive(Clone, Debug)]
pub struct Screen {
    width: usize,
    rows: Vec<Vec<(char, Look)>>,
    row: usize,
    column: usize,
    look: Look,
    broken: Vec<usize>,
}

impl Screen {
    /// The screen of a terminal with so many columns after all of this was written.
    pub fn of(width: usize, written: &str) -> Screen {
        let mut screen = Screen {
            width,
            rows: vec![Vec::new()],
            row: 0,
            column: 0,
            look: Look::default(),
            broken: Vec::new(),
        };
        let mut rest = written;
        while let Some(c) = rest.chars().next() {
            rest = match (c, rest.strip_prefix("\u{1b}[")) {
                (_, Some(sequence)) => screen.control(sequence),
                ('\u{1b}', None) => rest.split_once('\u{7}').map_or("", |(_, after)| after),
                _ => {
                    screen.put(c);
                    &rest[c.len_utf8()..]
                }
            };
        }
        screen
    }

    /// Its lines, without blanks at their ends.
    pub fn lines(&self) -> Vec<String> {
        let text = |row: &Vec<(char, Look)>| row.iter().map(|(c, _)| *c).collect::<String>();
        let mut lines: Vec<String> = self.rows.iter().map(|row| text(row).trim_end().to_owned()).collect();
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        lines
    }

    /// The lines that were too long, so that the terminal broke them wherever they ended.
    pub fn broken_lines(&self) -> Vec<String> {
        let lines = self.lines();
        self.broken.iter().filter_map(|row| lines.get(*row).cloned()).collect()
    }

    /// The same as one text.
    pub fn text(&self) -> String {
        self.lines().join("\n") + "\n"
    }

    /// Its lines in pieces that look alike.
    pub fn pieces(&self) -> Vec<Vec<(String, Look)>> {
        let pieces = |row: &Vec<(char, Look)>| {
            let mut pieces: Vec<(String, Look)> = Vec::new();
            for (c, look) in row {
                match pieces.last_mut() {
                    Some((text, same)) if same == look => text.push(*c),
                    _ => pieces.push((c.to_string(), *look)),
                }
            }
            pieces
        };
        self.rows.iter().take(self.lines().len()).map(pieces).collect()
    }

    fn put(&mut self, c: char) {
        match c {
            '\r' => self.column = 0,
            '\n' => self.row += 1,
            '\u{7}' => {}
            c => {
                if self.column == self.width {
                    self.broken.push(self.row);
                    (self.row, self.column) = (self.row + 1, 0);
                }
                self.grow();
                let row = &mut self.rows[self.row];
                row.resize(row.len().max(self.column + 1), (' ', Look::default()));
                row[self.column] = (c, self.look);
                self.column += 1;
            }
        }
        self.grow();
    }

    fn grow(&mut self) {
        let count = self.rows.len().max(self.row + 1);
        self.rows.resize_with(count, Vec::new);
    }

    /// Obeys a control sequence; returns the text after it.
    fn control<'t>(&mut self, sequence: &'t str) -> &'t str {
        let end = sequence.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(sequence.len() - 1);
        let (numbers, kind) = (&sequence[..end], &sequence[end..=end]);
        let number = || numbers.parse::<usize>().unwrap_or(1);
        match kind {
            "A" => self.row -= number(),
            "K" => self.rows[self.row].truncate(self.column),
            "J" => {
                self.rows[self.row].truncate(self.column);
                self.rows.truncate(self.row + 1);
            }
            "m" => self.style(numbers),
            "h" | "l" if numbers.starts_with('?') => {}
            other => panic!("unexpected control sequence {numbers:?}{other}"),
        }
        &sequence[end + 1..]
    }

    fn style(&mut self, numbers: &str) {
        let mut codes = numbers.split(';').map(|code| code.parse::<u8>().unwrap_or(0));
        while let Some(code) = codes.next() {
            match code {
                0 => self.look = Look::default(),
                1 => self.look.is_bold = true,
                2 => self.look.is_dim = true,
                22 => (self.look.is_bold, self.look.is_dim) = (false, false),
                30..=37 => self.look.colour = Some(code - 30),
                38 if codes.next() == Some(5) => self.look.colour = codes.next(),
                39 => self.look.colour = None,
                90..=97 => self.look.colour = Some(code - 82),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_that_is_drawn_again_replaces_the_one_before() {
        let screen = Screen::of(10, "one\r\na\u{1b}[K\nb\u{1b}[J\r\r\u{1b}[1A\u{1b}[Jtwo\r\n");
        assert_eq!(screen.lines(), ["one", "two"]);
        let long = Screen::of(4, "abcd\r\nabcdefgh");
        assert_eq!(long.lines(), ["abcd", "abcd", "efgh"]);
        assert_eq!(long.broken_lines(), ["abcd"]);
    }

    #[test]
    fn colours_belong_to_their_characters() {
        let red = Look { colour: Some(1), ..Look::default() };
        let screen = Screen::of(10, "a\u{1b}[31mb\u{1b}[0m\u{1b}]0;title\u{7}c");
        let plain = Look::default();
        assert_eq!(
            screen.pieces(),
            [[("a".to_owned(), plain), ("b".to_owned(), red), ("c".to_owned(), plain)]]
        );
    }
}
