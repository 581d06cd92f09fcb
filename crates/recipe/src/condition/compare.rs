//! How values compare: equality across types, ordering, and membership.
//!
//! Never copies the texts that it compares.

use std::cmp::Ordering;

use crate::value::{Number, Value};

/// Values of one type compare directly, others by how they are written.
pub(super) fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Bool(truth), Value::Text(text)) | (Value::Text(text), Value::Bool(truth)) => {
            if *truth {
                matches!(&**text, "true" | "True")
            } else {
                matches!(&**text, "false" | "False")
            }
        }
        (Value::Number(number), Value::Text(text)) | (Value::Text(text), Value::Number(number)) => {
            number_is_text(number, text)
        }
        (structure @ (Value::List(_) | Value::Map(_)), Value::Text(text))
        | (Value::Text(text), structure @ (Value::List(_) | Value::Map(_))) => {
            text.starts_with(['[', '{']) && structure.render() == **text
        }
        (Value::Null, Value::Text(text)) | (Value::Text(text), Value::Null) => text.is_empty(),
        _ => a == b,
    }
}

/// By how the number is written, or would be written in short: `5.0 == '5'`, but not `5 == '05'`.
fn number_is_text(number: &Number, text: &str) -> bool {
    number.as_str() == text || Number::from_f64(number.as_f64()).as_str() == text
}

/// `None` if the two cannot be ordered.
pub(super) fn order(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64().partial_cmp(&b.as_f64()),
        (Value::Text(a), Value::Text(b)) => Some(a.cmp(b)),
        (Value::Number(number), Value::Text(text)) => number.as_f64().partial_cmp(&worth(text)?),
        (Value::Text(text), Value::Number(number)) => worth(text)?.partial_cmp(&number.as_f64()),
        _ => None,
    }
}

/// The number that a text is, if it is one.
pub(super) fn worth(text: &str) -> Option<f64> {
    let text = text.trim();
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    // the standard parser also reads `inf` and `nan`, which are words here
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    text.parse().ok()
}

/// A part of a text, or an item of a list. Nothing is in anything else, and a name without a value
/// is in no text.
pub(super) fn contains(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::List(items), part) => items.iter().any(|item| equal(item, part)),
        (Value::Text(_), Value::Null | Value::List(_) | Value::Map(_)) => false,
        (Value::Text(text), part) => text.contains(&*part.render()),
        _ => false,
    }
}
