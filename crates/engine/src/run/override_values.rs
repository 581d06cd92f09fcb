//! Given context values in the form for files: with spellings that JSON lacks.
//!
//! Never loses text: a value that is read again is shown as it was typed.

use recipe::value::{Map, Number, Value};
use serde::{Deserialize, Serialize};

/// A given value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OverrideValue {
    /// A number as it was written.
    Number(String),
    /// A list or an object as it was typed.
    Json(String),
    /// Any other value.
    Value(Value),
}

/// Values in the form for files.
pub fn write(values: &Map) -> Vec<(String, OverrideValue)> {
    let given = |value: &Value| match value {
        Value::Number(number) => OverrideValue::Number(number.as_str().to_owned()),
        other => match other.typed_json() {
            Some(text) => OverrideValue::Json(text.to_owned()),
            None => OverrideValue::Value(other.clone()),
        },
    };
    values.iter().map(|(name, value)| (name.clone(), given(value))).collect()
}

/// Values from the form for files.
pub fn read(given: &[(String, OverrideValue)]) -> Map {
    let text = |text: &String| Value::from(text.as_str());
    let value = |given: &OverrideValue| match given {
        OverrideValue::Number(written) => Number::parse(written).map_or_else(|| text(written), Value::Number),
        OverrideValue::Json(typed) => Value::from_typed_json(typed).unwrap_or_else(|_| text(typed)),
        OverrideValue::Value(value) => value.clone(),
    };
    given.iter().map(|(name, given)| (name.clone(), value(given))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_again_is_shown_as_it_was_typed() {
        let values: Map = [
            ("number", Value::Number(Number::parse("007").unwrap())),
            ("json", Value::from_typed_json("{\"a\": [1E3]}").unwrap()),
            ("text", Value::from("007")),
            ("list", Value::list(vec![Value::Bool(true)])),
            ("nothing", Value::Null),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
        let stored = serde_json::to_string(&write(&values)).unwrap();
        let back = read(&serde_json::from_str::<Vec<(String, OverrideValue)>>(&stored).unwrap());
        assert_eq!(back, values);
        for (name, value) in &values {
            assert_eq!(back[name].render(), value.render(), "{name}");
        }
    }
}
