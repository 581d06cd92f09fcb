//! What steps print, between the lines of their events.

use runtime::store::outputs::{Rest, Stream};

use super::{Manner, Progress};
use crate::report::{
    live::{Keep, fit, printable},
    step_output::{ShownLines, take_lines},
};

/// The bytes at the end of an output to search for its last line.
const LAST: usize = 1024;
/// The columns of a last line to show.
const SHOWN: usize = 100;

impl Progress<'_> {
    pub(super) fn output(&mut self, path: &str, stream: Stream, bytes: &[u8]) {
        if self.passes_on(path, stream) {
            return self.out.raw(bytes);
        }
        let held = self.lines.entry((path.to_owned(), stream)).or_default();
        held.extend_from_slice(bytes);
        if let Some(whole) = take_lines(held) {
            self.print_lines(path, stream, &whole);
        }
    }

    /// Whether output leaves as it is.
    fn passes_on(&self, path: &str, stream: Stream) -> bool {
        self.audience.place(stream) == Stream::Stdout && !self.beside.has(path)
    }

    fn print_lines(&mut self, path: &str, stream: Stream, bytes: &[u8]) {
        let place = self.audience.place(stream);
        let text = self.beside.margin(path, stream, self.out.place(place)).lines(bytes);
        match place {
            Stream::Stderr => self.out.notice_as_is(&text),
            _ => {
                self.out.begin_line();
                self.out.raw(text.as_bytes());
            }
        }
    }

    /// Shows the last incomplete lines of a step.
    pub(super) fn flush(&mut self, path: &str) {
        for stream in [Stream::Stdout, Stream::Stderr] {
            let rest = self.lines.remove(&(path.to_owned(), stream)).filter(|rest| !rest.is_empty());
            if let Some(rest) = rest {
                self.print_lines(path, stream, &rest);
            }
        }
    }

    pub(super) fn remember(&mut self, path: &str, bytes: &[u8]) {
        let end = &bytes[bytes.len().saturating_sub(LAST)..];
        let lines = end.split(|byte| *byte == b'\n').rev().map(|line| printable(line, Keep::Nothing));
        if let Some(line) =
            lines.map(|line| fit(line.trim(), SHOWN).into_owned()).find(|line| !line.is_empty())
        {
            self.last.insert(path.to_owned(), line);
        }
    }

    /// Shows output for which there was no room before.
    pub(super) fn output_rest(&mut self, path: &str, stream: Stream, rest: Rest) {
        let place = self.audience.place(stream);
        let is_hidden = place == Stream::Stderr && self.manner == Manner::Quiet;
        if is_hidden || self.agents.contains(path) || self.out.leaves_out(path, &rest) {
            return;
        }
        if self.passes_on(path, stream) {
            return self.out.rest(rest);
        }
        let held = self.lines.remove(&(path.to_owned(), stream)).unwrap_or_default();
        let margin = self.beside.margin(path, stream, self.out.place(place));
        if place == Stream::Stdout {
            self.out.begin_line();
        }
        self.out.lines(place, Box::new(ShownLines { rest, held, margin }));
    }
}
