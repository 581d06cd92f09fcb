//! Values of the context: JSON-shaped, cheap to clone, and with the spelling of numbers kept.
//!
//! Never changes a number silently: `3.10` stays `3.10` wherever it is shown.

use std::{borrow::Cow, ops::Deref, sync::Arc};

use indexmap::IndexMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// The members of an object value, in the order in which they were written.
pub type Map = IndexMap<String, Value>;

/// A context value. Cloning never copies text, lists or objects.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// Nothing: JSON `null`, or a name that is not defined.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, with its spelling.
    Number(Number),
    /// Text.
    Text(Arc<str>),
    /// A list.
    List(Arc<Spelled<Vec<Value>>>),
    /// An object.
    Map(Arc<Spelled<Map>>),
}

/// A list or an object, with its original spelling if it was written as JSON.
#[derive(Clone, Debug)]
pub struct Spelled<T> {
    inner: T,
    text: Option<Box<str>>,
}

impl<T> Deref for Spelled<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T: PartialEq> PartialEq for Spelled<T> {
    fn eq(&self, other: &Spelled<T>) -> bool {
        self.inner == other.inner
    }
}

/// A number: its value and its spelling.
#[derive(Clone, Debug)]
pub struct Number {
    text: Arc<str>,
    value: f64,
}

impl Number {
    /// Reads a decimal number; `None` if `text` is not one.
    pub fn parse(text: &str) -> Option<Number> {
        let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
        if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            return None;
        }
        let value: f64 = text.parse().ok()?;
        Some(Number { text: text.into(), value })
    }

    /// A number whose spelling is not decimal, such as `0x1F`, with its value.
    pub fn with_value(text: &str, value: f64) -> Number {
        Number { text: text.into(), value }
    }

    /// A number that the runner computed itself, in its shortest spelling.
    pub fn from_f64(value: f64) -> Number {
        // there is one zero
        let text = format!("{}", value + 0.0);
        Number { text: text.into(), value }
    }

    /// Its value.
    pub fn as_f64(&self) -> f64 {
        self.value
    }

    /// How it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// A spelling that JSON accepts, if there is one; the written one wherever that is possible.
    fn json(&self) -> Cow<'_, str> {
        match self.text.parse::<serde_json::Number>() {
            Ok(_) => Cow::Borrowed(&self.text),
            Err(_) => Cow::Owned(Number::from_f64(self.value).text.to_string()),
        }
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Number) -> bool {
        if self.text == other.text {
            return true;
        }
        match (self.text.parse::<i128>(), other.text.parse::<i128>()) {
            (Ok(a), Ok(b)) => a == b,
            _ => self.value == other.value,
        }
    }
}

impl Value {
    /// A text value.
    pub fn text(text: impl Into<Arc<str>>) -> Value {
        Value::Text(text.into())
    }

    /// A list value.
    pub fn list(items: Vec<Value>) -> Value {
        Value::List(Arc::new(Spelled { inner: items, text: None }))
    }

    /// An object value.
    pub fn map(members: Map) -> Value {
        Value::Map(Arc::new(Spelled { inner: members, text: None }))
    }

    /// Reads JSON text. Numbers keep their spelling.
    pub fn from_json(text: &str) -> Result<Value, serde_json::Error> {
        serde_json::from_str::<serde_json::Value>(text).map(Value::from)
    }

    /// Reads JSON text that is to be shown as it was written.
    pub fn from_typed_json(text: &str) -> Result<Value, serde_json::Error> {
        let spelling = Some(text.into());
        Ok(match Value::from_json(text)? {
            Value::List(list) => {
                Value::List(Arc::new(Spelled { text: spelling, ..Arc::unwrap_or_clone(list) }))
            }
            Value::Map(map) => Value::Map(Arc::new(Spelled { text: spelling, ..Arc::unwrap_or_clone(map) })),
            other => other,
        })
    }

    /// How a list or an object was typed, if it was.
    pub fn typed_json(&self) -> Option<&str> {
        match self {
            Value::List(list) => list.text.as_deref(),
            Value::Map(map) => map.text.as_deref(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => None,
        }
    }

    /// Compact JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The value as people and programs read it: text as it is, numbers as written, lists and
    /// objects as JSON (as it was typed, if it was), nothing as empty text.
    pub fn render(&self) -> Cow<'_, str> {
        match self {
            Value::Null => Cow::Borrowed(""),
            Value::Bool(true) => Cow::Borrowed("true"),
            Value::Bool(false) => Cow::Borrowed("false"),
            Value::Number(number) => Cow::Borrowed(number.as_str()),
            Value::Text(text) => Cow::Borrowed(text),
            Value::List(_) | Value::Map(_) => {
                self.typed_json().map_or_else(|| Cow::Owned(self.to_json()), Cow::Borrowed)
            }
        }
    }

    /// Whether it contains a NUL anywhere: programs cannot be given that.
    pub fn holds_nul(&self) -> bool {
        match self {
            Value::Text(text) => text.contains('\0'),
            Value::List(items) => items.iter().any(Value::holds_nul),
            Value::Map(members) => members.values().any(Value::holds_nul),
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }

    /// Whether a condition that consists of this value holds.
    pub fn is_truthy(&self) -> bool {
        match self {
            Value::Null => false,
            Value::Bool(value) => *value,
            Value::Number(number) => number.value != 0.0,
            Value::Text(text) => !text.is_empty(),
            Value::List(items) => !items.is_empty(),
            Value::Map(members) => !members.is_empty(),
        }
    }

    /// The word for its type in messages.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Null => "nothing",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::Text(_) => "text",
            Value::List(_) => "a list",
            Value::Map(_) => "an object",
        }
    }

    /// Whether this is an object with such a member, or text that is one.
    pub fn has_member(&self, key: &str) -> bool {
        match self {
            Value::Map(members) => members.contains_key(key),
            Value::Text(text) => structured(text).is_some_and(|value| value.has_member(key)),
            _ => false,
        }
    }

    /// One step of a path into this value. Text that is a JSON object or list is looked into.
    pub fn step(&self, segment: &Segment) -> Value {
        match (self, segment) {
            (Value::Map(members), Segment::Key(key)) => match members.get(key.as_str()) {
                Some(value) => value.clone(),
                None if key == "length" => length(members.len()),
                None => Value::Null,
            },
            (Value::List(items), Segment::Key(key)) if key == "length" => length(items.len()),
            (Value::List(items), Segment::Key(key)) => {
                key.parse().map_or(Value::Null, |at: usize| items.get(at).cloned().unwrap_or_default())
            }
            (Value::List(items), Segment::Index(at)) => item(items, *at),
            (Value::Map(members), Segment::Index(at)) => {
                members.get(&at.to_string()).cloned().unwrap_or_default()
            }
            (Value::Text(text), segment) => into_text(text, segment),
            _ => Value::Null,
        }
    }
}

/// One segment of a path: `.key` or `[index]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Segment {
    /// A member of an object, or `length`.
    Key(String),
    /// An item of a list; negative ones count from the end.
    Index(i64),
}

/// The object or list that a text is.
fn structured(text: &str) -> Option<Value> {
    match text.trim_start().as_bytes().first() {
        Some(b'{' | b'[') => Value::from_json(text).ok(),
        _ => None,
    }
}

fn into_text(text: &str, segment: &Segment) -> Value {
    match (structured(text), segment) {
        (Some(value), segment) => value.step(segment),
        (None, Segment::Key(key)) if key == "length" => length(text.chars().count()),
        (None, _) => Value::Null,
    }
}

fn item(items: &[Value], at: i64) -> Value {
    let at = if at < 0 { at + items.len() as i64 } else { at };
    usize::try_from(at).ok().and_then(|at| items.get(at).cloned()).unwrap_or_default()
}

fn length(count: usize) -> Value {
    Value::Number(Number::from_f64(count as f64))
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::text(text)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::text(text)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Bool(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Value {
        Value::Number(Number::from_f64(value))
    }
}

impl From<serde_json::Value> for Value {
    fn from(json: serde_json::Value) -> Value {
        match json {
            serde_json::Value::Null => Value::Null,
            serde_json::Value::Bool(value) => Value::Bool(value),
            serde_json::Value::Number(number) => {
                // serde_json writes `1e3` as `1e+3`
                let text = number.to_string().replace("e+", "e");
                let value = number.as_f64().unwrap_or(f64::NAN);
                Value::Number(Number { text: text.into(), value })
            }
            serde_json::Value::String(text) => Value::text(text),
            serde_json::Value::Array(items) => Value::list(items.into_iter().map(Value::from).collect()),
            serde_json::Value::Object(members) => {
                Value::map(members.into_iter().map(|(key, value)| (key, value.into())).collect())
            }
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Null => serializer.serialize_unit(),
            Value::Bool(value) => serializer.serialize_bool(*value),
            Value::Number(number) => match number.json().parse::<serde_json::Number>() {
                Ok(number) => number.serialize(serializer),
                Err(_) => serializer.serialize_unit(),
            },
            Value::Text(text) => serializer.serialize_str(text),
            Value::List(items) => items.inner.serialize(serializer),
            Value::Map(members) => members.inner.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
        serde_json::Value::deserialize(deserializer).map(Value::from).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_spelling() {
        for text in ["3.10", "0", "-7", "1234567890123456789012345", "0.0001"] {
            let value = Value::from_json(text).unwrap();
            assert_eq!(value.render(), text);
            assert_eq!(value.to_json(), text);
        }
        assert_eq!(Value::from_json("1e3").unwrap().render(), "1e3");
    }

    #[test]
    fn typed_json_keeps_its_spelling() {
        for text in ["{\"k\": \"x\"}", "[1,  2]", "[4517e12]", " {}", "7"] {
            let value = Value::from_typed_json(text).unwrap();
            assert_eq!(value.render(), text);
            assert_eq!(value, Value::from_json(text).unwrap());
        }
        let value = Value::from_typed_json("{\"k\": [1, 2]}").unwrap();
        assert_eq!(value.to_json(), "{\"k\":[1,2]}");
        assert_eq!(value.step(&Segment::Key("k".into())).render(), "[1,2]");
    }

    #[test]
    fn a_spelling_that_json_lacks_is_shown_as_written_and_stored_as_json() {
        let value = Value::Number(Number::parse("007").unwrap());
        assert_eq!(value.render(), "007");
        assert_eq!(value.to_json(), "7");
    }

    #[test]
    fn paths_look_into_text_that_is_json() {
        let value = Value::from(r#"{"a": [10, {"b": "x"}], "length": 3}"#);
        let key = |key: &str| Segment::Key(key.into());
        assert_eq!(value.step(&key("a")).step(&Segment::Index(0)).render(), "10");
        assert_eq!(value.step(&key("a")).step(&Segment::Index(-1)).step(&key("b")).render(), "x");
        assert_eq!(value.step(&key("a")).step(&key("length")).render(), "2");
        assert_eq!(value.step(&key("length")).render(), "3");
        assert_eq!(Value::from("plain ü").step(&key("length")).render(), "7");
        assert_eq!(Value::from("plain").step(&key("x")), Value::Null);
    }
}
