//! Lines that steps print: which step they belong to, and how a terminal shows them.
//!
//! What steps write to stderr is dimmed, or marked where there are no colours. Never changes the files of a step.

use std::collections::HashMap;

use anstyle::{AnsiColor, Style};
use runtime::store::outputs::Stream;

use super::{
    failure::clean,
    live::{Keep, columns, printable, squeeze},
};

/// The longest line that waits for its end.
pub(crate) const LONGEST_LINE: usize = 64 * 1024;
/// The widest label.
const WIDEST: usize = 32;
/// Colours of labels; red is for failures.
const COLOURS: [AnsiColor; 6] = [
    AnsiColor::Cyan,
    AnsiColor::Magenta,
    AnsiColor::Yellow,
    AnsiColor::Blue,
    AnsiColor::Green,
    AnsiColor::BrightCyan,
];

/// The place that lines go to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) is_terminal: bool,
    pub(crate) has_colour: bool,
}

/// The labels of steps that run beside others.
#[derive(Default)]
pub(crate) struct Labels {
    /// The number of each such step, from which its colour follows.
    steps: HashMap<String, usize>,
    began: usize,
}

impl Labels {
    /// A step begins that may run beside others.
    pub(crate) fn begin(&mut self, path: &str) {
        if !self.steps.contains_key(path) {
            self.steps.insert(path.to_owned(), self.began);
            self.began += 1;
        }
    }

    /// A step ends.
    pub(crate) fn end(&mut self, path: &str) {
        self.steps.remove(path);
    }

    /// Whether lines of a step need its label.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.steps.contains_key(path)
    }

    /// The look of a step's lines.
    pub(crate) fn margin(&self, path: &str, stream: Stream, place: Place) -> Margin {
        let is_error = stream == Stream::Stderr;
        let keep = if place.has_colour { Keep::Colours } else { Keep::Nothing };
        let dim = (is_error && place.has_colour).then(|| Style::new().dimmed());
        let sign = if is_error && !place.has_colour { "! " } else { "" };
        let before = match self.steps.get(path) {
            None => sign.to_owned(),
            Some(number) => self.label(path, *number, place) + if sign.is_empty() { "│ " } else { sign },
        };
        Margin { before, dim, keep }
    }

    fn label(&self, path: &str, number: usize, place: Place) -> String {
        let name = clean(path);
        if !place.is_terminal {
            return format!("{name} ");
        }
        let widest = self.steps.keys().map(|path| columns(&clean(path))).max().unwrap_or(0).min(WIDEST);
        let name = squeeze(&name, WIDEST);
        let padding = " ".repeat(widest.saturating_sub(columns(&name)) + 1);
        match place.has_colour {
            true => {
                let style = Style::new().fg_color(Some(COLOURS[number % COLOURS.len()].into()));
                format!("{style}{name}{style:#}{padding}")
            }
            false => format!("{name}{padding}"),
        }
    }
}

/// The beginning of a line that tells how a task goes.
const TASK_LINE: &[u8] = b"[do] ";

/// The look of lines: what comes before each, and its style.
pub(crate) struct Margin {
    before: String,
    dim: Option<Style>,
    keep: Keep,
}

impl Margin {
    /// A line, without its newline.
    pub(crate) fn line(&self, line: &[u8]) -> String {
        let text = printable(line, self.keep);
        // lines about a task are no output of a program: they look the same everywhere
        if line.starts_with(TASK_LINE) && self.before == "! " {
            return text;
        }
        match self.dim {
            Some(dim) => format!("{}{dim}{text}{dim:#}", self.before),
            None => format!("{}{text}", self.before),
        }
    }

    /// Whole lines; the last one may lack its newline.
    pub(crate) fn lines(&self, bytes: &[u8]) -> String {
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        bytes.split(|byte| *byte == b'\n').map(|line| self.line(line) + "\n").collect()
    }
}

/// Takes the whole lines out of what waits for the end of its line.
pub(crate) fn take_lines(held: &mut Vec<u8>) -> Option<Vec<u8>> {
    let end = match held.iter().rposition(|byte| *byte == b'\n') {
        Some(end) => end + 1,
        None if held.len() > LONGEST_LINE => held.len(),
        None => return None,
    };
    Some(held.drain(..end).collect())
}

/// Output that is read and made into lines when it is its turn.
pub(crate) struct ShownLines<Blocks> {
    pub(crate) rest: Blocks,
    pub(crate) held: Vec<u8>,
    pub(crate) margin: Margin,
}

impl<Blocks: Iterator<Item = Vec<u8>>> Iterator for ShownLines<Blocks> {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        for block in self.rest.by_ref() {
            self.held.extend_from_slice(&block);
            if let Some(lines) = take_lines(&mut self.held) {
                return Some(self.margin.lines(&lines).into_bytes());
            }
        }
        let last = std::mem::take(&mut self.held);
        (!last.is_empty()).then(|| self.margin.lines(&last).into_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIPE: Place = Place { is_terminal: false, has_colour: false };
    const PLAIN: Place = Place { is_terminal: true, has_colour: false };
    const COLOUR: Place = Place { is_terminal: true, has_colour: true };

    #[test]
    fn lines_of_steps_side_by_side_have_labels() {
        let mut labels = Labels::default();
        labels.begin("lint");
        labels.begin("a/unit");
        for (path, stream, place, expected) in [
            ("solo", Stream::Stdout, PIPE, "x"),
            ("solo", Stream::Stderr, PIPE, "! x"),
            ("solo", Stream::Stderr, COLOUR, "\u{1b}[2mx\u{1b}[0m"),
            ("lint", Stream::Stdout, PIPE, "lint │ x"),
            ("lint", Stream::Stderr, PIPE, "lint ! x"),
            ("lint", Stream::Stdout, PLAIN, "lint   │ x"),
            ("a/unit", Stream::Stderr, PLAIN, "a/unit ! x"),
            ("lint", Stream::Stdout, COLOUR, "\u{1b}[36mlint\u{1b}[0m   │ x"),
            ("a/unit", Stream::Stderr, COLOUR, "\u{1b}[35ma/unit\u{1b}[0m │ \u{1b}[2mx\u{1b}[0m"),
        ] {
            assert_eq!(labels.margin(path, stream, place).line(b"x"), expected);
        }
        labels.end("a/unit");
        assert_eq!(labels.margin("lint", Stream::Stdout, PLAIN).line(b"x"), "lint │ x");
    }

    #[test]
    fn the_rest_is_shown_in_whole_lines() {
        for (blocks, held, label, expected) in [
            (&["b\nc", "d\n"][..], "a", None, "ab\ncd\n"),
            (&["b\n", "end"], "", Some("s"), "s │ b\ns │ end\n"),
            (&[], "held", None, "held\n"),
            (&["\u{1b}[2Jx\n"], "", None, "x\n"),
        ] {
            let mut labels = Labels::default();
            label.into_iter().for_each(|path| labels.begin(path));
            let rest = blocks.iter().map(|block| block.as_bytes().to_vec());
            let margin = labels.margin(label.unwrap_or("other"), Stream::Stdout, PLAIN);
            let lines = ShownLines { rest, held: held.as_bytes().to_vec(), margin };
            let shown: Vec<u8> = lines.flatten().collect();
            assert_eq!(String::from_utf8_lossy(&shown), expected, "{blocks:?}");
        }
    }
}
