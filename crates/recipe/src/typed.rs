//! The values that texts from outside mean: those of the command line and of environment variables.
//!
//! Never loses text: a number, a list or an object is shown as it was typed.

use crate::value::{Number, Value};

/// The value that a text from outside means.
pub fn typed(text: &str) -> Value {
    match text {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ => structure(text).or_else(|| number(text)).unwrap_or_else(|| Value::text(text)),
    }
}

fn structure(text: &str) -> Option<Value> {
    text.trim_start().starts_with(['{', '[']).then(|| Value::from_typed_json(text).ok()).flatten()
}

/// Digits with at most one decimal point. Exponents stay text: `4517e12` is a commit.
fn number(text: &str) -> Option<Value> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let some = digits.bytes().any(|byte| byte.is_ascii_digit());
    (plain && some).then(|| Number::parse(text).map(Value::Number)).flatten()
}
