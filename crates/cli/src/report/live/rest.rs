//! The output of steps, and the rest of it that a slow terminal could not show yet.
//!
//! Never keeps that rest in memory: it is read and cleaned for the terminal when it is its turn.

use runtime::store::outputs::{Rest, Stream};

use super::{Chunk, Live, size};
use crate::report::{
    step_output::{ShownLines, take_lines},
    wrap::wrapped,
};

impl Live<'_> {
    /// The answer of an agent, which is text for people, in lines that fit into the terminal.
    pub(super) fn wrapped_answer(&self, path: &str, answer: String) -> String {
        match self.out.stdout_is_terminal && !self.labels.has(path) {
            true => {
                let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
                let wrap = |line: &str| wrapped(line, size().columns, indent(line)).join("\n");
                answer.split('\n').map(wrap).collect::<Vec<_>>().join("\n")
            }
            false => answer,
        }
    }

    /// Shows a step's output: whole lines on a terminal, unchanged bytes elsewhere.
    pub(super) fn print(&mut self, path: &str, stream: Stream, bytes: &[u8]) {
        if self.passes_on(path, stream) {
            return self.out.raw(bytes);
        }
        let held = self.steps.entry(path.to_owned()).or_default().held(stream);
        held.extend_from_slice(bytes);
        if let Some(whole) = take_lines(held) {
            self.print_lines(path, stream, &whole);
        }
    }

    /// Whether output leaves as it is: no other step writes to the same place.
    fn passes_on(&self, path: &str, stream: Stream) -> bool {
        let place = self.audience.place(stream);
        place == Stream::Stdout && !self.out.stdout_is_terminal && !self.labels.has(path)
    }

    fn print_lines(&mut self, path: &str, stream: Stream, bytes: &[u8]) {
        let place = self.audience.place(stream);
        let text = self.labels.margin(path, stream, self.out.place(place)).lines(bytes);
        match place {
            Stream::Stderr => self.push(Chunk::Line(text)),
            _ if self.out.stdout_is_terminal => self.push(Chunk::Output(text)),
            _ => self.out.raw(text.as_bytes()),
        }
    }

    /// Shows the last incomplete lines of a step.
    pub(super) fn flush(&mut self, path: &str) {
        for stream in [Stream::Stdout, Stream::Stderr] {
            let Some(watched) = self.steps.get_mut(path) else { return };
            let rest = std::mem::take(watched.held(stream));
            if !rest.is_empty() {
                self.print_lines(path, stream, &rest);
            }
        }
    }

    pub(super) fn print_rest(&mut self, path: &str, stream: Stream, rest: Rest) {
        let watched = self.steps.entry(path.to_owned()).or_default();
        let is_data = watched.is_data && stream == Stream::Stdout;
        if watched.is_agent || is_data || self.out.leaves_out(path, &rest) {
            return;
        }
        let held = std::mem::take(watched.held(stream));
        if self.passes_on(path, stream) {
            return self.out.rest(rest);
        }
        let place = self.audience.place(stream);
        let margin = self.labels.margin(path, stream, self.out.place(place));
        self.scroll(size());
        let erased = self.screen.erase(size().columns);
        self.out.steer(&erased);
        self.out.lines(place, Box::new(ShownLines { rest, held, margin }));
    }
}
