//! The types of inputs: what a given value must be, and the value that it becomes.
//!
//! Never looks at the file system: the caller says which paths exist.

use regex::Regex;

use crate::{
    diagnostic::{did_you_mean, shorten},
    value::{Number, Value},
};

/// The type of an input, with what belongs to it.
#[derive(Clone, Debug, PartialEq)]
pub enum InputType {
    /// Text, which may have to match a pattern.
    Text(Option<Pattern>),
    /// A number.
    Number,
    /// A whole number.
    Integer,
    /// `true` or `false`.
    Boolean,
    /// One of these texts.
    Choice(Vec<String>),
    /// A list.
    List,
    /// A path that exists.
    Path,
    /// Any JSON value.
    Json,
    /// Text that is never shown.
    Secret,
}

/// A regular expression that a whole text must match.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    regex: Regex,
}

impl Pattern {
    /// Reads a pattern; the error says in one line why it cannot be used.
    pub fn parse(text: &str) -> Result<Pattern, String> {
        // read alone first: `a)(b` is valid between parentheses only
        let regex = Regex::new(text).and_then(|_| Regex::new(&format!(r"\A(?:{text})\z")));
        match regex {
            Ok(regex) => Ok(Pattern { text: text.to_owned(), regex }),
            Err(error) => Err(one_line(&error.to_string())),
        }
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the whole text matches.
    pub fn matches(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Pattern) -> bool {
        self.text == other.text
    }
}

/// The last line of a message that quotes the pattern first.
fn one_line(message: &str) -> String {
    let last = message.lines().last().unwrap_or_default();
    last.strip_prefix("error: ").unwrap_or(last).to_owned()
}

/// Why a value does not fit. Never holds the value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// It is not text.
    NotText,
    /// It is not a number.
    NotNumber,
    /// It is not a whole number.
    NotInteger,
    /// It is neither true nor false.
    NotBoolean,
    /// It is not one of the choices.
    NotChoice {
        /// The choices.
        choices: Vec<String>,
        /// The choice that it resembles.
        meant: Option<String>,
    },
    /// It is not a list.
    NotList,
    /// It is not JSON.
    NotJson {
        /// Why, and where in the text.
        reason: String,
    },
    /// No such path exists.
    NoPath,
    /// The text does not match the pattern.
    NoMatch {
        /// The pattern.
        pattern: String,
    },
}

impl Misfit {
    /// The end of a sentence that begins with the name of the input. The value is left out if it is secret.
    pub fn sentence(&self, value: Option<&Value>) -> String {
        let shown = match value {
            None => "its value is not (it is secret)".to_owned(),
            Some(value @ (Value::List(_) | Value::Map(_))) if value.typed_json().is_none() => {
                format!("it is {}", value.type_name())
            }
            Some(value) => format!("it is `{}`", shorten(&value.render())),
        };
        match self {
            Misfit::NotText => format!("must be text, but {shown}"),
            Misfit::NotNumber => format!("must be a number, but {shown}"),
            Misfit::NotInteger => format!("must be a whole number, but {shown}"),
            Misfit::NotBoolean => format!("must be `true` or `false` (also yes, no, 1, 0), but {shown}"),
            Misfit::NotChoice { choices, meant } => {
                let choices =
                    choices.iter().map(|choice| format!("`{choice}`")).collect::<Vec<_>>().join(", ");
                let meant = match (meant, value) {
                    (Some(meant), Some(_)) => format!("; did you mean `{meant}`?"),
                    _ => String::new(),
                };
                format!("must be one of {choices}, but {shown}{meant}")
            }
            Misfit::NotList => {
                format!("must be a JSON list or texts with commas between them, but {shown}")
            }
            Misfit::NotJson { reason } => format!("must be JSON, but {shown}: {reason}"),
            Misfit::NoPath => match value {
                Some(Value::List(_) | Value::Map(_)) | None => {
                    format!("must be a path that exists, but {shown}")
                }
                Some(path) => {
                    format!("must be a path that exists, but `{}` does not", shorten(&path.render()))
                }
            },
            Misfit::NoMatch { pattern } => format!("must match the pattern `{pattern}`, but {shown}"),
        }
    }
}

impl InputType {
    /// The word for it in files and reports.
    pub fn word(&self) -> &'static str {
        match self {
            InputType::Text(_) => "text",
            InputType::Number => "number",
            InputType::Integer => "integer",
            InputType::Boolean => "boolean",
            InputType::Choice(_) => "choice",
            InputType::List => "list",
            InputType::Path => "path",
            InputType::Json => "json",
            InputType::Secret => "secret",
        }
    }

    /// Its choices, if it has any.
    pub fn choices(&self) -> Option<&[String]> {
        match self {
            InputType::Choice(choices) => Some(choices),
            _ => None,
        }
    }

    /// Its pattern, if it has one.
    pub fn pattern(&self) -> Option<&Pattern> {
        match self {
            InputType::Text(pattern) => pattern.as_ref(),
            _ => None,
        }
    }

    /// The given value as a value of this type. An empty value fits every type: whether one is required is another
    /// question. `exists` says whether a path exists.
    pub fn fit(&self, value: &Value, exists: &dyn Fn(&str) -> bool) -> Result<Value, Misfit> {
        if is_empty(value) {
            return Ok(self.empty(value));
        }
        match self {
            InputType::Text(pattern) => {
                let text = text(value).ok_or(Misfit::NotText)?;
                match pattern.as_ref().filter(|pattern| !pattern.matches(&text)) {
                    Some(pattern) => Err(Misfit::NoMatch { pattern: pattern.text.clone() }),
                    None => Ok(Value::from(text)),
                }
            }
            InputType::Secret => text(value).map(Value::from).ok_or(Misfit::NotText),
            InputType::Number => number(value).map(Value::Number).ok_or(Misfit::NotNumber),
            InputType::Integer => integer(value).map(Value::Number).ok_or(Misfit::NotInteger),
            InputType::Boolean => boolean(value).map(Value::Bool).ok_or(Misfit::NotBoolean),
            InputType::Choice(choices) => choice(value, choices),
            InputType::List => list(value).ok_or(Misfit::NotList),
            InputType::Path => match text(value) {
                Some(path) if exists(&path) => Ok(Value::from(path)),
                _ => Err(Misfit::NoPath),
            },
            InputType::Json => json(value),
        }
    }

    /// What an empty value becomes: text stays text, a list has no items, and the other types have no value.
    fn empty(&self, value: &Value) -> Value {
        match (self, value) {
            (_, Value::Null) => Value::Null,
            (InputType::Text(_) | InputType::Secret, empty) => empty.clone(),
            (InputType::List, _) => Value::list(Vec::new()),
            _ => Value::Null,
        }
    }
}

/// Whether a value is empty: nothing, or text without a visible character.
pub fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Text(text) => text.trim().is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::List(_) | Value::Map(_) => false,
    }
}

/// The text that was given. A list or an object is text only if it was typed as text.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::List(_) | Value::Map(_) => value.typed_json().map(str::to_owned),
        scalar => Some(scalar.render().into_owned()),
    }
}

fn number(value: &Value) -> Option<Number> {
    let number = match value {
        Value::Number(number) => number.clone(),
        Value::Text(text) => Number::parse(text.trim())?,
        _ => return None,
    };
    number.as_f64().is_finite().then_some(number)
}

/// A whole number in its plain spelling: `3`, also if it was given as `3.0` or `+3`.
fn integer(value: &Value) -> Option<Number> {
    /// From here on, numbers between whole numbers cannot be told apart.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let number = number(value)?;
    let digits = number.as_str().trim_start_matches(['-', '+']);
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let digits = digits.trim_start_matches('0');
        let sign = if number.as_str().starts_with('-') { "-" } else { "" };
        return match digits {
            "" => Number::parse("0"),
            digits => Number::parse(&format!("{sign}{digits}")),
        };
    }
    let is_whole = number.as_f64().fract() == 0.0 && number.as_f64().abs() <= EXACT;
    is_whole.then(|| Number::from_f64(number.as_f64()))
}

fn boolean(value: &Value) -> Option<bool> {
    match value.render().trim().to_lowercase().as_str() {
        "true" | "yes" | "1" => Some(true),
        "false" | "no" | "0" => Some(false),
        _ => None,
    }
}

fn choice(value: &Value, choices: &[String]) -> Result<Value, Misfit> {
    let given = value.render();
    if choices.iter().any(|choice| *choice == given) {
        return Ok(Value::from(given.into_owned()));
    }
    let meant = did_you_mean(&given, choices.iter().map(String::as_str)).map(str::to_owned);
    Err(Misfit::NotChoice { choices: choices.to_vec(), meant })
}

fn list(value: &Value) -> Option<Value> {
    match value {
        Value::List(_) => Some(value.clone()),
        Value::Map(_) => None,
        scalar => {
            let text = scalar.render();
            if text.trim_start().starts_with('[') {
                return Value::from_json(&text).ok().filter(|value| matches!(value, Value::List(_)));
            }
            let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
            Some(Value::list(items.map(Value::from).collect()))
        }
    }
}

fn json(value: &Value) -> Result<Value, Misfit> {
    match value {
        Value::Text(text) => {
            Value::from_typed_json(text).map_err(|error| Misfit::NotJson { reason: error.to_string() })
        }
        other => Ok(other.clone()),
    }
}

#[cfg(test)]
mod tests;
