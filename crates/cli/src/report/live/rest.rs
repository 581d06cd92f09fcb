//! Output of a finished step that a slow terminal could not show yet.
//!
//! Never keeps it in memory: it is read and cleaned for the terminal when it is its turn.

use runtime::store::outputs::Rest;

use super::{
    LONGEST, Live, size,
    text::{Keep, printable},
};
use crate::report::failure::clean;

impl Live<'_> {
    pub(super) fn print_rest(&mut self, path: &str, rest: Rest) {
        let watched = self.steps.entry(path.to_owned()).or_default();
        if watched.is_agent || self.out.leaves_out(path, &rest) {
            return;
        }
        let (held, has_company) = (std::mem::take(&mut watched.held), watched.has_company);
        if !self.out.stdout_is_terminal {
            let ends_line = rest.ends_line();
            self.out.raw(&held);
            self.out.rest(rest);
            return if has_company && !ends_line {
                self.out.raw(b"\n");
            };
        }
        let whose = if has_company { format!("{} │ ", clean(path)) } else { String::new() };
        let keep = if self.out.stdout_colour { Keep::Colours } else { Keep::Nothing };
        self.scroll(size());
        let erased = self.screen.erase(size().columns);
        self.out.steer(&erased);
        self.out.lines(Box::new(ShownLines { rest, held, whose, keep }));
    }
}

/// ShownLines that a terminal can show.
struct ShownLines<Blocks> {
    rest: Blocks,
    held: Vec<u8>,
    whose: String,
    keep: Keep,
}

impl<Blocks: Iterator<Item = Vec<u8>>> Iterator for ShownLines<Blocks> {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        for block in self.rest.by_ref() {
            self.held.extend_from_slice(&block);
            let end = match self.held.iter().rposition(|byte| *byte == b'\n') {
                Some(at) => at + 1,
                None if self.held.len() > LONGEST => self.held.len(),
                None => continue,
            };
            let whole: Vec<u8> = self.held.drain(..end).collect();
            return Some(self.shown(&whole));
        }
        let last = std::mem::take(&mut self.held);
        (!last.is_empty()).then(|| self.shown(&last))
    }
}

impl<Blocks> ShownLines<Blocks> {
    fn shown(&self, bytes: &[u8]) -> Vec<u8> {
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let line = |line: &[u8]| format!("{}{}\n", self.whose, printable(line, self.keep));
        bytes.split(|byte| *byte == b'\n').map(line).collect::<String>().into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_is_shown_in_whole_lines() {
        for (blocks, held, whose, expected) in [
            (&["b\nc", "d\n"][..], "a", "", "ab\ncd\n"),
            (&["b\n", "end"], "", "s │ ", "s │ b\ns │ end\n"),
            (&[], "held", "", "held\n"),
            (&["\u{1b}[2Jx\n"], "", "", "x\n"),
        ] {
            let rest = blocks.iter().map(|block| block.as_bytes().to_vec());
            let lines = ShownLines {
                rest,
                held: held.as_bytes().to_vec(),
                whose: whose.to_owned(),
                keep: Keep::Nothing,
            };
            let shown: Vec<u8> = lines.flatten().collect();
            assert_eq!(String::from_utf8_lossy(&shown), expected, "{blocks:?}");
        }
    }
}
