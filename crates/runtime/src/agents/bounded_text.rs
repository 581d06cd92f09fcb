//! Text of any size in bounded memory: of a text that is too long for a value, the beginning and the end are kept.
//!
//! Never interprets the text.

use crate::store::values::{self, Captured, VALUE_CAP};

/// The bytes that are kept of each end.
const HALF: usize = (VALUE_CAP / 2) as usize;
/// How much the end may grow before its own beginning is dropped.
const SLACK: usize = 512 * 1024;
/// The longest line of JSON, after its long texts were shortened.
const LONGEST: usize = 24 * 1024 * 1024;

/// A growing text.
#[derive(Debug, Default)]
pub(super) struct BoundedText {
    head: Vec<u8>,
    tail: Vec<u8>,
    size: u64,
}

impl BoundedText {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.size += bytes.len() as u64;
        let room = HALF.saturating_sub(self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.head.extend_from_slice(first);
        self.tail.extend_from_slice(rest);
        if self.tail.len() > HALF + SLACK {
            self.tail.drain(..self.tail.len() - HALF);
        }
    }

    /// Replaces the text.
    pub(super) fn set(&mut self, text: &str) {
        self.clear();
        self.push(text.as_bytes());
    }

    pub(super) fn clear(&mut self) {
        *self = BoundedText::default();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.size == 0
    }

    /// Whether it is complete.
    pub(super) fn is_whole(&self) -> bool {
        self.size <= VALUE_CAP
    }

    /// All bytes, if it is complete.
    fn whole(&self) -> Vec<u8> {
        [self.head.as_slice(), &self.tail].concat()
    }

    /// The text, if it is complete.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.whole()).into_owned()
    }

    /// The last bytes as text.
    pub(super) fn end(&self, bytes: usize) -> String {
        let from_tail = self.tail.len().saturating_sub(bytes);
        let missing = bytes.saturating_sub(self.tail.len());
        let from_head = self.head.len().saturating_sub(missing);
        let end = [&self.head[from_head..], &self.tail[from_tail..]].concat();
        String::from_utf8_lossy(&end).into_owned()
    }

    /// The value: shortened in the middle if it is too long.
    pub(super) fn captured(self) -> Captured {
        match self.is_whole() {
            true => values::captured(self.whole(), self.size),
            false => values::of_ends(self.head, self.tail, self.size),
        }
    }

    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.head.capacity() + self.tail.capacity()
    }
}

/// The state of the reader in a line of JSON.
#[derive(Debug, Default, PartialEq)]
enum JsonPlace {
    /// Between texts.
    #[default]
    Outside,
    Text,
    /// In a text, after a backslash.
    Escape,
}

/// A long line of JSON, copied without the middle of every text that is too long for a value.
#[derive(Debug, Default)]
pub(super) struct LongLine {
    out: Vec<u8>,
    place: JsonPlace,
    /// The text so far, without escapes.
    text: BoundedText,
    /// The escape so far, without its backslash.
    escape: Vec<u8>,
    /// The first half of a character that is written as two escapes.
    high: Option<u16>,
    /// How much was cut out of each shortened text.
    cuts: Vec<u64>,
}

impl LongLine {
    pub(super) fn push(&mut self, mut bytes: &[u8]) {
        while let Some((first, after)) = bytes.split_first() {
            bytes = match self.place {
                JsonPlace::Outside => self.outside(bytes),
                JsonPlace::Text => self.inside(bytes),
                JsonPlace::Escape => {
                    self.escaped(*first);
                    after
                }
            };
        }
    }

    /// Whether the text is still too long.
    pub(super) fn is_too_long(&self) -> bool {
        self.out.len() > LONGEST
    }

    /// The line, and how much was cut out of each shortened text.
    pub(super) fn finish(self) -> (Vec<u8>, Vec<u64>) {
        (self.out, self.cuts)
    }

    fn outside<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let Some(at) = bytes.iter().position(|byte| *byte == b'"') else {
            self.out.extend_from_slice(bytes);
            return &[];
        };
        self.out.extend_from_slice(&bytes[..at]);
        self.place = JsonPlace::Text;
        &bytes[at + 1..]
    }

    fn inside<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let Some(at) = bytes.iter().position(|byte| matches!(byte, b'"' | b'\\')) else {
            self.text.push(bytes);
            return &[];
        };
        self.text.push(&bytes[..at]);
        match bytes[at] {
            b'"' => self.end_text(),
            _ => self.place = JsonPlace::Escape,
        }
        &bytes[at + 1..]
    }

    fn escaped(&mut self, byte: u8) {
        self.escape.push(byte);
        if self.escape[0] == b'u' && self.escape.len() < 5 {
            return;
        }
        let mut escape = std::mem::take(&mut self.escape);
        let meant = match escape.as_slice() {
            [b'u', hex @ ..] => self.character(hex),
            [b'n'] => Some('\n'),
            [b't'] => Some('\t'),
            [b'r'] => Some('\r'),
            [b'b'] => Some('\u{8}'),
            [b'f'] => Some('\u{c}'),
            _ => Some(char::from(byte)),
        };
        if let Some(meant) = meant {
            self.text.push(meant.encode_utf8(&mut [0; 4]).as_bytes());
        }
        escape.clear();
        (self.escape, self.place) = (escape, JsonPlace::Text);
    }

    /// The character of four hexadecimal digits; `None` while its second half is missing.
    fn character(&mut self, hex: &[u8]) -> Option<char> {
        let unit = std::str::from_utf8(hex).ok().and_then(|hex| u16::from_str_radix(hex, 16).ok());
        let unit = unit.unwrap_or(0xfffd);
        if (0xd800..0xdc00).contains(&unit) {
            self.high = Some(unit);
            return None;
        }
        let units = self.high.take().into_iter().chain([unit]);
        char::decode_utf16(units).last().map(|meant| meant.unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn end_text(&mut self) {
        let text = std::mem::take(&mut self.text);
        let text = match text.is_whole() {
            true => text.text(),
            false => {
                let captured = text.captured();
                self.cuts.extend(captured.cut);
                captured.text
            }
        };
        // writing to memory cannot fail
        drop(serde_json::to_writer(&mut self.out, &text));
        self.place = JsonPlace::Outside;
    }

    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.out.capacity() + self.text.held()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shortened(line: &str, pieces: usize) -> (serde_json::Value, Vec<u64>) {
        let mut long = LongLine::default();
        line.as_bytes().chunks(pieces).for_each(|piece| long.push(piece));
        let (line, cuts) = long.finish();
        (serde_json::from_slice(&line).unwrap(), cuts)
    }

    #[test]
    fn a_line_without_long_texts_means_the_same() {
        for line in [
            r#"{"a": "b", "n": [1, 2.5e3, true, null], "": {}}"#,
            r#"{"a": "\"\\\/\n\t\r\b\f"}"#,
            r#"{"\u00e9\u20ac\ud83e\udd80": "grüße 🦀 \u0000 \ud83e\udd80\ud83e\udd80"}"#,
            r#"["\\", "\\\\", "\\\"", "\u005c\u0022"]"#,
            r#""""#,
        ] {
            for pieces in [1, 2, 3, 7, 1000] {
                let meant: serde_json::Value = serde_json::from_str(line).unwrap();
                assert_eq!(shortened(line, pieces), (meant, vec![]), "{line}");
            }
        }
    }

    #[test]
    fn long_texts_lose_their_middle() {
        for (unit, count) in
            [("x", 12_000_000), ("🦀", 3_000_000), (r"\n", 11_000_000), (r"\ud83e\udd80", 2_600_000)]
        {
            let line = format!(r#"{{"a": "begin {}end", "b": "short"}}"#, unit.repeat(count));
            let (value, cuts) = shortened(&line, 64 * 1024);
            let text = value["a"].as_str().unwrap();
            assert!(text.len() as u64 <= VALUE_CAP, "{unit}");
            assert!(text.starts_with("begin ") && text.ends_with("end"), "{unit}");
            assert!(!text.contains(char::REPLACEMENT_CHARACTER), "{unit}");
            assert!(text.contains(&format!("{} bytes cut here", cuts[0])), "{unit} {cuts:?}");
            assert_eq!((value["b"].as_str(), cuts.len()), (Some("short"), 1));
        }
    }

    #[test]
    fn a_kept_text_is_whole_up_to_the_size_of_a_value() {
        for (size, is_cut) in
            [(0, false), (1, false), (VALUE_CAP, false), (VALUE_CAP + 1, true), (35_000_000, true)]
        {
            let mut kept = BoundedText::default();
            let bytes: Vec<u8> = (0..size).map(|n| b'a' + (n % 26) as u8).collect();
            bytes.chunks(70_001).for_each(|piece| kept.push(piece));
            assert!(kept.held() <= 17 << 20, "{}", kept.held());
            let end = String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(4000)..]).into_owned();
            assert_eq!(kept.end(4000), end);
            let captured = kept.captured();
            assert_eq!(captured.cut.is_some(), is_cut, "{size}");
            assert!(captured.text.ends_with(&end) && captured.text.len() as u64 <= VALUE_CAP);
            assert_eq!(captured.text.as_bytes() == bytes, !is_cut, "{size}");
        }
    }
}
