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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_from_outside_are_what_they_look_like() {
        for (text, kind) in [
            ("true", "bool"),
            ("false", "bool"),
            ("True", "text"),
            ("12", "number"),
            ("-3", "number"),
            ("+3", "number"),
            ("3.10", "number"),
            ("1.2.3", "text"),
            (".", "text"),
            ("-", "text"),
            ("", "text"),
            ("4517e12", "text"),
            ("1a", "text"),
            ("12:30", "text"),
            ("[1, 2]", "list"),
            (r#" {"a": 1}"#, "map"),
            ("[1, 2", "text"),
            ("{a}", "text"),
        ] {
            let value = typed(text);
            let found = match &value {
                Value::Null => "null",
                Value::Bool(_) => "bool",
                Value::Number(_) => "number",
                Value::Text(_) => "text",
                Value::List(_) => "list",
                Value::Map(_) => "map",
            };
            assert_eq!((found, value.render().as_ref()), (kind, text), "{text}");
        }
        assert_eq!((typed("true"), typed("false")), (Value::Bool(true), Value::Bool(false)));
    }
}
