//! A block of lines at the end of a terminal that is redrawn in place.
//!
//! Returns the characters to write; never writes itself. Drawn by hand because no progress-bar crate shares its screen
//! with incomplete lines of output; this way each frame is one write and nothing flickers.

use anstream::adapter::strip_str;

use super::{text::columns, view::Size};

/// The block as it was last drawn. The cursor is in the first column of its last line, so that an echoed `^C` cannot
/// push it into another line.
#[derive(Debug, Default)]
pub(crate) struct Screen {
    lines: Vec<String>,
    width: usize,
}

impl Screen {
    /// Whether the block already looks like this.
    pub(crate) fn shows(&self, lines: &[String], width: usize) -> bool {
        self.lines == lines && self.width == width
    }

    /// Removes the block; `width` is the current width of the terminal, which may have wrapped its lines.
    pub(crate) fn erase(&mut self, width: usize) -> String {
        if self.lines.is_empty() {
            return String::new();
        }
        let home = self.home(width);
        self.lines.clear();
        format!("{home}\u{1b}[J")
    }

    /// Draws the block over the one before.
    pub(crate) fn draw(&mut self, lines: Vec<String>, width: usize) -> String {
        let mut text = match self.width == width {
            true if !self.lines.is_empty() => self.home(width),
            _ => self.erase(width),
        };
        let last = lines.len().saturating_sub(1);
        for (at, line) in lines.iter().enumerate() {
            text.push_str(line);
            text.push_str(if at == last { "\u{1b}[J\r" } else { "\u{1b}[K\n" });
        }
        self.lines = lines;
        self.width = width;
        text
    }

    /// Moves to the first column of the first line.
    fn home(&self, width: usize) -> String {
        let above = &self.lines[..self.lines.len() - 1];
        match above.iter().map(|line| rows(line, width)).sum::<usize>() {
            0 => "\r".to_owned(),
            up => format!("\r\u{1b}[{up}A"),
        }
    }
}

fn rows(line: &str, width: usize) -> usize {
    columns(&strip_str(line).to_string()).div_ceil(width.max(1)).max(1)
}

/// The current size of the terminal.
pub(super) fn size() -> Size {
    let seen = rustix::termios::tcgetwinsize(std::io::stderr()).ok();
    let of = |number: Option<u16>, usual: usize| number.filter(|n| *n > 0).map_or(usual, usize::from);
    Size { columns: of(seen.map(|size| size.ws_col), 80), lines: of(seen.map(|size| size.ws_row), 24) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|line| (*line).to_owned()).collect()
    }

    #[test]
    fn nothing_is_erased_before_anything_is_drawn() {
        assert_eq!(Screen::default().erase(80), "");
    }

    #[test]
    fn a_block_is_drawn_over_the_one_before() {
        let mut screen = Screen::default();
        assert_eq!(screen.draw(block(&["a", "b"]), 80), "a\u{1b}[K\nb\u{1b}[J\r");
        assert!(screen.shows(&block(&["a", "b"]), 80));
        assert!(!screen.shows(&block(&["a", "b"]), 40));
        assert_eq!(screen.draw(block(&["c"]), 80), "\r\u{1b}[1Ac\u{1b}[J\r");
        assert_eq!(screen.draw(block(&["d"]), 80), "\rd\u{1b}[J\r");
        assert_eq!(screen.erase(80), "\r\u{1b}[J");
        assert_eq!(screen.erase(80), "");
    }

    #[test]
    fn lines_that_a_narrower_terminal_wraps_are_erased_whole() {
        let mut screen = Screen::default();
        let long = format!("\u{1b}[2m{}\u{1b}[0m", "x".repeat(70));
        screen.draw(block(&[&long, "日本語", "end"]), 80);
        assert_eq!(screen.erase(30), "\r\u{1b}[4A\u{1b}[J");
    }
}
