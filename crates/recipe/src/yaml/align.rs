//! Which bytes of the file a decoded scalar was made of.
//!
//! Walks the written and the decoded text side by side. It never decodes anything itself: where the
//! two do not fit, it gives up, and the caller points at the whole scalar.

use std::{ops::Range, sync::Arc};

use super::scalar::TextStyle;

/// A run of decoded bytes and the bytes of the file that they come from. If both have the same
/// length they correspond byte by byte, otherwise (an escape, a folded line) only as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AlignedPiece {
    pub(super) text: Range<u32>,
    pub(super) source: Range<u32>,
}

impl AlignedPiece {
    /// The source bytes of one decoded byte of this piece.
    pub(super) fn source_of(&self, at: u32) -> Range<u32> {
        if self.text.len() != self.source.len() {
            return self.source.clone();
        }
        let start = self.source.start + (at - self.text.start);
        start..start + 1
    }
}

/// The pieces of `text`, which was decoded from the bytes `written` of `source`: inside the quotes, or from the line
/// after a block's header. Empty if they cannot be matched.
pub(super) fn align(
    source: &str,
    written: Range<usize>,
    text: &str,
    style: TextStyle,
) -> Arc<[AlignedPiece]> {
    let mut walk = Aligner {
        source: &source.as_bytes()[..written.end],
        at: written.start,
        text,
        done: 0,
        pieces: Vec::new(),
    };
    let fits = match style {
        TextStyle::Plain | TextStyle::SingleQuoted | TextStyle::DoubleQuoted => walk.flow(style),
        TextStyle::Literal | TextStyle::Folded => walk.block(style),
    };
    match fits {
        Some(()) => walk.pieces.into(),
        None => Arc::new([]),
    }
}

struct Aligner<'a> {
    source: &'a [u8],
    at: usize,
    text: &'a str,
    done: usize,
    pieces: Vec<AlignedPiece>,
}

impl Aligner<'_> {
    fn flow(&mut self, style: TextStyle) -> Option<()> {
        while let Some(&byte) = self.source.get(self.at) {
            match (byte, style) {
                (b' ' | b'\t' | b'\n' | b'\r', _) => self.blanks()?,
                (b'\'', TextStyle::SingleQuoted) => self.take(1, 2)?,
                (b'\\', TextStyle::DoubleQuoted) => self.escape()?,
                _ => self.copy(self.at + 1)?,
            }
        }
        Some(())
    }

    /// Blanks mean themselves, unless they end a line.
    fn blanks(&mut self) -> Option<()> {
        let end = self.at + count(&self.source[self.at..], b" \t");
        match self.source.get(end) {
            Some(b'\n' | b'\r') => self.break_line(),
            _ => self.copy(end),
        }
    }

    /// The line breaks at this point of a flow scalar.
    fn break_line(&mut self) -> Option<()> {
        let mut end = self.at;
        let mut breaks = 0;
        loop {
            end += count(&self.source[end..], b" \t");
            match line_break(&self.source[end..]) {
                0 => break,
                length => (end, breaks) = (end + length, breaks + 1),
            }
        }
        self.take(fold(breaks), end - self.at)
    }

    fn escape(&mut self) -> Option<()> {
        let rest = &self.source[self.at + 1..];
        let continued = line_break(rest);
        if continued > 0 {
            self.at += 1 + continued;
            self.at += count(&self.source[self.at..], b" \t");
            return Some(());
        }
        let decoded = self.text.get(self.done..)?.chars().next()?;
        let digits = match rest.first()? {
            b'x' => 2,
            b'u' if u32::from(decoded) > 0xFFFF => 10,
            b'u' => 4,
            b'U' => 8,
            _ => 0,
        };
        self.take(decoded.len_utf8(), 2 + digits)
    }

    fn block(&mut self, style: TextStyle) -> Option<()> {
        let indent = self.block_indent()?;
        while self.done < self.text.len() {
            self.at += count(&self.source[self.at..], b" ").min(indent);
            let kind = LineKind::of(&self.source[self.at..]);
            self.copy(self.at + line_length(&self.source[self.at..]))?;
            let (breaks, end) = self.breaks(indent);
            let after = end + count(&self.source[end..], b" ").min(indent);
            let next = LineKind::of(&self.source[after..]);
            let decoded = match (kind, next) {
                // all that is left
                _ if next == LineKind::Empty => usize::MAX,
                (LineKind::Text, LineKind::Text) if style == TextStyle::Folded => fold(breaks),
                _ => breaks,
            };
            // only the end of the file can lack a line break that the text has
            let decoded = decoded.min(self.text.len() - self.done);
            self.take(decoded, end - self.at)?;
        }
        Some(())
    }

    /// How many line breaks follow up to the next line with something on it, and where they end.
    fn breaks(&self, indent: usize) -> (usize, usize) {
        let (mut breaks, mut end) = (0, self.at);
        loop {
            let start = if breaks == 0 { end } else { end + count(&self.source[end..], b" ").min(indent) };
            match line_break(&self.source[start..]) {
                0 => return (breaks, end),
                length => (breaks, end) = (breaks + 1, start + length),
            }
        }
    }

    /// How far the lines of a block are indented: by so much the first line with something on it
    /// is indented more in the file than in the text.
    fn block_indent(&self) -> Option<usize> {
        let written = first_indent(&self.source[self.at..])?;
        written.checked_sub(first_indent(self.text.as_bytes())?)
    }

    /// Copies bytes that mean themselves.
    fn copy(&mut self, end: usize) -> Option<()> {
        let length = end - self.at;
        if self.text.as_bytes().get(self.done..self.done + length)? != &self.source[self.at..end] {
            return None;
        }
        let (done, at) = (self.done as u32, self.at as u32);
        match self.pieces.last_mut() {
            Some(last) if last.source.end == at && last.text.len() == last.source.len() => {
                last.text.end += length as u32;
                last.source.end += length as u32;
            }
            _ if length == 0 => {}
            _ => self
                .pieces
                .push(AlignedPiece { text: done..done + length as u32, source: at..at + length as u32 }),
        }
        self.done += length;
        self.at = end;
        Some(())
    }

    /// `decoded` bytes that come from `written` ones.
    fn take(&mut self, decoded: usize, written: usize) -> Option<()> {
        if self.done + decoded > self.text.len() || self.at + written > self.source.len() {
            return None;
        }
        let (done, at) = (self.done as u32, self.at as u32);
        if decoded > 0 {
            self.pieces
                .push(AlignedPiece { text: done..done + decoded as u32, source: at..at + written as u32 });
        }
        self.done += decoded;
        self.at += written;
        Some(())
    }
}

/// The prefix of a block's line, after its indentation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineKind {
    Empty,
    Text,
    /// More indented: folding leaves its line breaks alone.
    Indented,
}

impl LineKind {
    fn of(rest: &[u8]) -> LineKind {
        match rest.first() {
            None | Some(b'\n' | b'\r') => LineKind::Empty,
            Some(b' ' | b'\t') => LineKind::Indented,
            Some(_) => LineKind::Text,
        }
    }
}

/// The text for line breaks between two lines: one is a space, more are one fewer.
fn fold(breaks: usize) -> usize {
    if breaks > 1 { breaks - 1 } else { breaks }
}

fn first_indent(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let indent = count(&bytes[at..], b" ");
        match bytes.get(at + indent)? {
            b'\n' | b'\r' => at += indent + 1,
            _ => return Some(indent),
        }
    }
}

fn count(bytes: &[u8], of: &[u8]) -> usize {
    bytes.iter().take_while(|byte| of.contains(byte)).count()
}

fn line_length(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| !matches!(byte, b'\n' | b'\r')).count()
}

fn line_break(bytes: &[u8]) -> usize {
    match bytes {
        [b'\r', b'\n', ..] => 2,
        [b'\r' | b'\n', ..] => 1,
        _ => 0,
    }
}
