//! Facts that the parser's events leave out: where a block starts, which line a byte is in.
//!
//! Never keeps anything; it only looks at the text.

use std::cell::OnceCell;

use granit_parser::{ScalarStyle, Tag};

use super::scalar::{TextStyle, Typing};

pub(super) fn style_of(style: ScalarStyle) -> TextStyle {
    match style {
        ScalarStyle::SingleQuoted => TextStyle::SingleQuoted,
        ScalarStyle::DoubleQuoted => TextStyle::DoubleQuoted,
        ScalarStyle::Literal => TextStyle::Literal,
        ScalarStyle::Folded => TextStyle::Folded,
        _ => TextStyle::Plain,
    }
}

pub(super) fn typing_of(tag: Option<&Tag>) -> Typing {
    let Some(tag) = tag else { return Typing::ByStyle };
    match tag.core_suffix() {
        Some("str") => Typing::Text,
        Some("int" | "float" | "bool" | "null") => Typing::AsPlain,
        _ => Typing::ByStyle,
    }
}

/// The first `mark` from `at` on that is separate and outside comments.
pub(super) fn find_token(bytes: &[u8], at: usize, mark: u8) -> Option<usize> {
    let mut in_comment = false;
    let mut before = b' ';
    for (offset, &byte) in bytes.get(at..)?.iter().enumerate() {
        let separated = matches!(before, b' ' | b'\t' | b'\n' | b'\r');
        in_comment = match byte {
            b'\n' | b'\r' => false,
            b'#' if separated => true,
            _ => in_comment,
        };
        if byte == mark && separated && !in_comment {
            return Some(at + offset);
        }
        before = byte;
    }
    None
}

pub(super) fn line_number(lines: &OnceCell<Vec<u32>>, text: &str, at: usize) -> usize {
    let starts = lines.get_or_init(|| text.match_indices('\n').map(|(at, _)| at as u32).collect());
    starts.partition_point(|end| (*end as usize) < at) + 1
}
