//! Habits from other languages, and what to write instead.
//!
//! Never accepts anything: it only explains.

use std::ops::Range;

use super::{
    error::{ConditionError, ConditionErrorKind},
    words::{FUNCTIONS, Function, METHODS, Method},
};
use crate::diagnostic::{did_you_mean, shorten};

/// Signs of other languages that begin like ours, or look like them.
const FOREIGN: &[(&str, &str)] = &[
    ("===", "write `==`"),
    ("!==", "write `!=`"),
    (":=", "write `==`"),
    ("=~", "write `'part' in text`, or use `.startswith()`"),
    ("<>", "write `!=`"),
    ("{{", "write the name alone, without `{{` and `}}`"),
    ("}}", "write the name alone, without `{{` and `}}`"),
    ("$", "write the name alone, without `$`"),
];

const UNKNOWN: &[(&[char], &str)] = &[
    (&['='], "write `==`"),
    (&['&'], "write `and`"),
    (&['|'], "write `or`"),
    (&['+', '-', '*', '/', '%'], "conditions have no arithmetic"),
    (&['‘', '’', '“', '”', '`'], "write `'` or `\"` around text"),
    (&['?'], "write `and` and `or`"),
    (&[':'], "a text with it needs quotes around it"),
    (&['\\'], "a backslash belongs inside quotes"),
];

pub(super) fn foreign_symbol(rest: &str, at: usize) -> Option<ConditionError> {
    let (symbol, advice) = FOREIGN.iter().find(|(symbol, _)| rest.starts_with(symbol))?;
    Some(unexpected(symbol, at..at + symbol.len(), Some(advice)))
}

pub(super) fn unknown_symbol(rest: &str, at: usize) -> ConditionError {
    let symbol = rest.chars().next().unwrap_or_default();
    let advice = UNKNOWN.iter().find(|(symbols, _)| symbols.contains(&symbol)).map(|(_, advice)| *advice);
    let shown: String = if symbol.is_control() { symbol.escape_default().collect() } else { symbol.into() };
    unexpected(&shown, at..at + symbol.len_utf8(), advice)
}

pub(super) fn quote_name(quote: char) -> &'static str {
    if quote == '"' { "double quote" } else { "single quote" }
}

/// Another token is where `wanted` should be.
pub(super) fn leftover(found: &str, wanted: &str, at: Range<usize>) -> ConditionError {
    let advice = advice(found, wanted);
    let error = unexpected(found, at, advice);
    match (found, advice) {
        ("is", _) => error.help(
            "`x is None` is written `not x`, and `x is not None` is written `x`; two values are compared with `==`",
        ),
        (_, Some(_)) => error,
        (_, None) => error.help(format!("{wanted} is expected here")),
    }
}

fn advice(found: &str, wanted: &str) -> Option<&'static str> {
    match found {
        "eq" | "equals" => Some("write `==`"),
        "ne" => Some("write `!=`"),
        "contains" | "has" | "includes" => Some("write `'part' in text`"),
        "matches" | "like" => Some("write `'part' in text`, or use `.startswith()`"),
        "if" | "else" | "then" => Some("write `and` and `or`"),
        "not" | "!" if wanted == "a value" => Some("put parentheses around it and its operand"),
        "not" => Some("write `not in`"),
        "and" | "or" | "in" => None,
        _ if found.starts_with('-') => Some("conditions have no arithmetic"),
        _ => lower_keyword(found),
    }
}

fn lower_keyword(found: &str) -> Option<&'static str> {
    match found.to_ascii_lowercase().as_str() {
        "and" => Some("write `and`"),
        "or" => Some("write `or`"),
        "not" => Some("write `not`"),
        "in" => Some("write `in`"),
        _ => None,
    }
}

fn unexpected(found: &str, at: Range<usize>, advice: Option<&str>) -> ConditionError {
    let words = advice.map(|advice| format!(": {advice}")).unwrap_or_default();
    let error = ConditionError::syntax(format!("unexpected `{}`{words}", shorten(found)), at);
    match advice {
        Some(advice) => error.help(advice),
        None => error,
    }
}

pub(super) fn unknown_function(name: &str, at: Range<usize>) -> ConditionError {
    let help = if let Some(advice) = lower_keyword(name) {
        advice.to_string()
    } else if Method::find(name).is_some() {
        format!("`{name}` is a method: write `text.{name}()`")
    } else if let Some(meant) = did_you_mean(name, FUNCTIONS.iter().copied()) {
        format!("did you mean `{meant}`?")
    } else {
        format!("the functions are {}", listed(FUNCTIONS))
    };
    let message = format!("there is no function `{}`", shorten(name));
    ConditionError { kind: ConditionErrorKind::UnknownFunction, message, at, help: Some(help) }
}

pub(super) fn unknown_method(name: &str, at: Range<usize>) -> ConditionError {
    let help = if Function::find(name).is_some() {
        format!("`{name}` is a function: write `{name}(value)`")
    } else if let Some(meant) = did_you_mean(name, METHODS.iter().copied()) {
        format!("did you mean `.{meant}()`?")
    } else {
        format!("the methods are {}", listed(METHODS))
    };
    let message = format!("there is no method `.{}()`", shorten(name));
    ConditionError { kind: ConditionErrorKind::UnknownMethod, message, at, help: Some(help) }
}

fn listed(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}
