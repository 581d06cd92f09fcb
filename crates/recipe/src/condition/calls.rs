//! The functions and methods of conditions.
//!
//! Never fails for want of a value: only methods insist on the type that they work on.

use std::{borrow::Cow, ops::Range};

use super::{compare::worth, error::EvalErrorKind, words::Method};
use crate::value::{Number, Value};

/// The largest text, in bytes, that a method may make: a few chained `.replace()` could ask for more
/// memory than there is.
const LARGEST: usize = 64 << 20;

/// A value, and where in the text it comes from.
pub(super) struct CallArgument {
    pub(super) value: Value,
    pub(super) at: Range<usize>,
}

/// Why a method has no result.
pub(super) struct CallFault {
    pub(super) method: Method,
    pub(super) kind: EvalErrorKind,
    pub(super) found: &'static str,
    pub(super) at: Range<usize>,
}

pub(super) fn int(value: &Value) -> Value {
    match value {
        Value::Bool(truth) => number(f64::from(u8::from(*truth))),
        Value::Number(number) => int_of_text(number.as_str()),
        Value::Text(text) => int_of_text(text.trim()),
        _ => number(0.0),
    }
}

/// Whole numbers keep all of their digits; others lose their fraction.
fn int_of_text(text: &str) -> Value {
    if let Ok(whole) = text.parse::<i128>() {
        return Number::parse(&whole.to_string()).map_or(Value::Null, Value::Number);
    }
    match worth(text) {
        Some(worth) if worth.is_finite() => number(worth.trunc()),
        _ => number(0.0),
    }
}

pub(super) fn float(value: &Value) -> Value {
    let worth = match value {
        Value::Bool(truth) => f64::from(u8::from(*truth)),
        Value::Number(number) => number.as_f64(),
        Value::Text(text) => worth(text).unwrap_or(0.0),
        _ => 0.0,
    };
    Number::parse(&float_spelling(worth)).map_or_else(|| number(worth), Value::Number)
}

/// `42` as `42.0`.
fn float_spelling(worth: f64) -> String {
    format!("{worth:?}")
}

pub(super) fn str(value: Value) -> Value {
    match value {
        Value::Text(_) => value,
        other => Value::text(other.render()),
    }
}

pub(super) fn literal_str(value: Value) -> Value {
    match value {
        Value::Number(number) => Value::text(float_spelling(number.as_f64())),
        other => str(other),
    }
}

pub(super) fn len(value: &Value) -> Value {
    count(match value {
        Value::Text(text) => text.len(),
        Value::List(items) => items.len(),
        Value::Map(members) => members.len(),
        _ => 0,
    })
}

fn number(worth: f64) -> Value {
    Value::Number(Number::from_f64(worth))
}

fn count(count: usize) -> Value {
    number(count as f64)
}

pub(super) fn method(
    method: Method,
    subject: CallArgument,
    arguments: Vec<CallArgument>,
) -> Result<Value, CallFault> {
    let Value::Text(text) = &subject.value else { return Err(subject.fault(method, EvalErrorKind::NotText)) };
    let argument = |at: usize| match arguments.get(at) {
        Some(argument) => argument.text(method),
        None => Ok(Cow::Borrowed("")),
    };
    Ok(match method {
        Method::Strip => trimmed(&subject.value, text, text.trim()),
        Method::Lstrip => trimmed(&subject.value, text, text.trim_start()),
        Method::Rstrip => trimmed(&subject.value, text, text.trim_end()),
        Method::Lower => Value::text(text.to_lowercase()),
        Method::Upper => Value::text(text.to_uppercase()),
        Method::Title => Value::text(title(text)),
        Method::Startswith => Value::Bool(text.starts_with(&*argument(0)?)),
        Method::Endswith => Value::Bool(text.ends_with(&*argument(0)?)),
        Method::Replace => replace(text, &argument(0)?, &argument(1)?)
            .ok_or_else(|| subject.fault(method, EvalErrorKind::TooLarge))?,
        Method::Split if arguments.is_empty() => texts(text.split_whitespace()),
        Method::Split => split(text, &argument(0)?),
        Method::Join => join(text, &arguments)?,
        Method::Count => count(text.matches(&*argument(0)?).count()),
        Method::Find => text.find(&*argument(0)?).map_or(number(-1.0), count),
    })
}

impl CallArgument {
    fn fault(&self, method: Method, kind: EvalErrorKind) -> CallFault {
        CallFault { method, kind, found: self.value.type_name(), at: self.at.clone() }
    }

    /// Numbers and booleans are as good as text here; nothing, lists and objects are mistakes.
    fn text(&self, method: Method) -> Result<Cow<'_, str>, CallFault> {
        match &self.value {
            Value::Null | Value::List(_) | Value::Map(_) => Err(self.fault(method, EvalErrorKind::NotText)),
            value => Ok(value.render()),
        }
    }
}

fn trimmed(value: &Value, text: &str, trimmed: &str) -> Value {
    if trimmed.len() == text.len() { value.clone() } else { Value::text(trimmed) }
}

fn title(text: &str) -> String {
    let mut titled = String::with_capacity(text.len());
    for word in text.split_inclusive(char::is_whitespace) {
        let mut chars = word.chars();
        titled.extend(chars.next().into_iter().flat_map(char::to_uppercase));
        titled.push_str(&chars.as_str().to_lowercase());
    }
    titled
}

fn fits(length: usize) -> bool {
    length <= LARGEST
}

fn replace(text: &str, old: &str, new: &str) -> Option<Value> {
    let growth = text.matches(old).count().saturating_mul(new.len().saturating_sub(old.len()));
    fits(text.len().saturating_add(growth)).then(|| Value::text(text.replace(old, new)))
}

/// An empty separator cuts between all characters.
fn split(text: &str, separator: &str) -> Value {
    if separator.is_empty() {
        let ends = text.char_indices().map(|(at, c)| &text[at..at + c.len_utf8()]);
        return texts(ends);
    }
    texts(text.split(separator))
}

fn texts<'a>(parts: impl Iterator<Item = &'a str>) -> Value {
    Value::list(parts.map(Value::from).collect())
}

fn join(separator: &str, arguments: &[CallArgument]) -> Result<Value, CallFault> {
    let Some(argument) = arguments.first() else { return Ok(Value::Null) };
    let Value::List(items) = &argument.value else {
        return Err(argument.fault(Method::Join, EvalErrorKind::NotList));
    };
    let parts: Vec<Cow<'_, str>> = items.iter().map(Value::render).collect();
    let gaps = separator.len().saturating_mul(parts.len().saturating_sub(1));
    let length = parts.iter().fold(gaps, |length, part| length.saturating_add(part.len()));
    match fits(length) {
        true => Ok(Value::text(parts.join(separator))),
        false => Err(argument.fault(Method::Join, EvalErrorKind::TooLarge)),
    }
}
