//! `orch helper`: text on stdin in, one line out. Any text is a valid input.

use std::io::Read as _;

use engine::orchestration::{TaskType, promote, read_task_type, read_verdict};
use recipe::value::Value;

use super::workstreams::{config_file, workstreams};
use crate::{args::compat::Helper, environment::Environment, exit::Exit, out::Out, report::failure::Failure};

/// The most input that is read, in bytes.
const MOST_INPUT: u64 = 64 << 20;

/// Prints what a helper finds in the text on stdin.
pub(super) fn help(helper: &Helper, environment: &Environment, out: &mut Out) -> Result<Exit, Failure> {
    let text = input()?;
    let found = match helper {
        Helper::ExtractJson => {
            recipe::json::last_object(&text).map_or("{}".to_owned(), |object| object.to_json())
        }
        Helper::ExtractField { field, default } => extracted(&text, field, default),
        Helper::NormaliseType => task_type(&text).as_str().to_owned(),
        Helper::ReclassifyTaskType { current } => {
            promote(task_type(current), &text).task_type.as_str().to_owned()
        }
        Helper::NormaliseVerdict => read_verdict(&text).to_owned(),
        Helper::CountWorkstreams(args) => workstreams(&text, args).len().to_string(),
        Helper::BuildWorkstreamsConfig(args) => config_file(&workstreams(&text, args), environment)?,
    };
    out.raw(format!("{found}\n").as_bytes());
    Ok(Exit::Success)
}

fn input() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    match std::io::stdin().take(MOST_INPUT).read_to_end(&mut bytes) {
        Ok(_) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) => Err(Failure::new(Exit::Broken, format!("stdin cannot be read: {error}"))),
    }
}

/// A type in any spelling; Development if it is none.
pub(super) fn task_type(said: &str) -> TaskType {
    read_task_type(said).unwrap_or(TaskType::Development)
}

/// A field at the top of the last object.
fn extracted(text: &str, field: &str, default: &str) -> String {
    let member = match recipe::json::last_object(text) {
        Some(Value::Map(members)) => members.get(field).cloned(),
        _ => None,
    };
    match member {
        None => default.to_owned(),
        Some(Value::Null) => String::new(),
        Some(Value::Text(text)) => text.to_string(),
        Some(other) => other.to_json(),
    }
}
