//! A value in a file, as JSON or YAML: the reader of context files.
//!
//! Never reads the file itself, and never loses text: a number is kept as it is written.

mod unique;

use serde::de::DeserializeOwned;

use crate::{
    diagnostic::Code,
    source::Sources,
    value::Value,
    yaml::{self, DecodeError},
};

/// Why bytes are no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// They are no text.
    #[error(transparent)]
    NotText(#[from] DecodeError),
    /// They are neither JSON nor YAML that can be used.
    #[error("line {line}: {message}")]
    Invalid {
        /// Where, from 1.
        line: usize,
        /// Why.
        message: String,
    },
    /// There is nothing in them.
    #[error("it is empty")]
    Empty,
    /// They are a value of another shape.
    #[error("{0}")]
    Shape(String),
}

/// Reads a value of a known shape.
pub fn decode<T: DeserializeOwned>(text: &str) -> Result<T, DocumentError> {
    let value = serde_json::to_value(read(text.as_bytes())?);
    let shaped = value.and_then(serde_json::from_value);
    shaped.map_err(|error| DocumentError::Shape(error.to_string()))
}

/// Reads a value. JSON is tried first: it has no size limit, and its numbers need no guessing.
pub fn read(bytes: &[u8]) -> Result<Value, DocumentError> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        let text = text.trim_start_matches('\u{feff}');
        if let Ok(value) = Value::from_json(text) {
            return unique::check(text).map(|()| value);
        }
    }
    let mut sources = Sources::default();
    let file = sources.add("document", yaml::decode(bytes)?);
    let mut diagnostics = Vec::new();
    let root = yaml::parse(&sources, file, &mut diagnostics);
    match (root, diagnostics.first()) {
        (Some(root), None) => Ok(root.to_value()),
        (_, Some(problem)) => {
            let line = problem.place.map_or(1, |place| sources.line_column(place).line);
            let message = match problem.code {
                Code::WrongType => "it is not a map of names and values",
                _ => &problem.message,
            };
            Err(DocumentError::Invalid { line, message: message.to_owned() })
        }
        (None, None) => Err(DocumentError::Empty),
    }
}
