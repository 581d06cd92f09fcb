//! Scalars: their text, their meaning by the YAML 1.2 core rules, and the places of their parts.
//!
//! Never changes a spelling: `3.10` stays `3.10`, and `yes` is text.

use std::{ops::Range, sync::Arc};

use super::align::AlignedPiece;
use crate::{
    source::{Place, Span},
    value::{Number, Value},
};

/// How a scalar was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TextStyle {
    /// Without quotes.
    Plain,
    /// `'…'`
    SingleQuoted,
    /// `"…"`
    DoubleQuoted,
    /// `|`
    Literal,
    /// `>`
    Folded,
}

/// The type that a tag gives to a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Typing {
    /// No tag, or a foreign one: only plain scalars can be more than text.
    ByStyle,
    /// `!!str` or `!`: text.
    Text,
    /// `!!int`, `!!float`, `!!bool` or `!!null`: typed as if it were plain.
    AsPlain,
}

/// Text, a number, a boolean or nothing.
#[derive(Clone, Debug)]
pub struct Scalar {
    /// The decoded text; empty for a value that was left out.
    pub text: String,
    /// How it was written.
    pub style: TextStyle,
    pub(super) typing: Typing,
    /// Which bytes of the file the text was made of; empty if unknown.
    pub(super) pieces: Arc<[AlignedPiece]>,
}

impl Scalar {
    /// Whether it is nothing: left out, `~` or `null`.
    pub fn is_null(&self) -> bool {
        self.is_typed() && matches!(self.text.as_str(), "" | "~" | "null" | "Null" | "NULL")
    }

    /// The boolean that it is.
    pub fn as_bool(&self) -> Option<bool> {
        match self.text.as_str() {
            "true" | "True" | "TRUE" if self.is_typed() => Some(true),
            "false" | "False" | "FALSE" if self.is_typed() => Some(false),
            _ => None,
        }
    }

    /// The number, in its own spelling.
    pub fn as_number(&self) -> Option<Number> {
        if !self.is_typed() {
            return None;
        }
        Number::parse(&self.text)
            .or_else(|| with_radix(&self.text, "0x", 16))
            .or_else(|| with_radix(&self.text, "0o", 8))
    }

    /// The value that it is.
    pub fn to_value(&self) -> Value {
        if self.is_null() {
            Value::Null
        } else if let Some(value) = self.as_bool() {
            Value::Bool(value)
        } else if let Some(number) = self.as_number() {
            Value::Number(number)
        } else {
            Value::text(self.text.as_str())
        }
    }

    /// The place of the bytes `range` of the text in the file; `node`, the place of the scalar itself, if that is
    /// unknown.
    pub fn place_of(&self, node: Place, range: Range<usize>) -> Place {
        let (start, end) = (range.start as u32, range.end as u32);
        let Some(last) = self.pieces.last() else { return node };
        if start > end || end > last.text.end {
            return node;
        }
        let from = self.piece_at(start).map_or(last.source.end, |piece| piece.source_of(start).start);
        let to = match end.checked_sub(1) {
            Some(inner) => self.piece_at(inner).map_or(last.source.end, |piece| piece.source_of(inner).end),
            None => from,
        };
        Place { file: node.file, span: Span { start: from, end: to.max(from) } }
    }

    /// The word for its type in messages.
    pub(super) fn type_name(&self) -> &'static str {
        match self.to_value() {
            Value::Null => "nothing",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            _ => "text",
        }
    }

    fn piece_at(&self, at: u32) -> Option<&AlignedPiece> {
        let index = self.pieces.partition_point(|piece| piece.text.end <= at);
        self.pieces.get(index)
    }

    fn is_typed(&self) -> bool {
        match self.typing {
            Typing::ByStyle => self.style == TextStyle::Plain,
            Typing::Text => false,
            Typing::AsPlain => true,
        }
    }
}

fn with_radix(text: &str, prefix: &str, radix: u32) -> Option<Number> {
    let digits = text.strip_prefix(prefix).filter(|digits| !digits.is_empty())?;
    let mut value = 0.0;
    for digit in digits.chars() {
        value = value * f64::from(radix) + f64::from(digit.to_digit(radix)?);
    }
    Some(Number::with_value(text, value))
}
