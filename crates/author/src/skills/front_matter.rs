//! The front matter of a SKILL.md file.

use recipe::{document, value::Value};

use super::SkillFile;

/// A skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Skill {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) keywords: Vec<String>,
    pub(super) files: Vec<String>,
    pub(super) agent: Option<String>,
    pub(super) model: Option<String>,
}

/// Reads the front matter; none if there is none, or it has no name.
pub(super) fn read(file: &SkillFile) -> Option<Skill> {
    let text = file.text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    let rest = text.strip_prefix("---\n")?;
    let end = rest.find("\n---")?;
    let Ok(Value::Map(members)) = document::read(&rest.as_bytes()[..end]) else { return None };
    let text = |key: &str| {
        members.get(key).map(text_of).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    let list = |key: &str| match members.get(key) {
        Some(Value::List(items)) => items.iter().map(text_of).collect(),
        Some(value) => text_of(value)
            .split(',')
            .map(|part| part.trim().to_owned())
            .filter(|part| !part.is_empty())
            .collect(),
        None => Vec::new(),
    };
    Some(Skill {
        name: text("name")?,
        description: text("description").unwrap_or_default(),
        keywords: list("keywords"),
        files: list("files"),
        agent: text("agent"),
        model: text("model"),
    })
}

/// A value as text: lists and maps have none.
fn text_of(value: &Value) -> String {
    match value {
        Value::Text(text) => text.to_string(),
        Value::Number(number) => number.as_str().to_owned(),
        Value::Bool(value) => value.to_string(),
        _ => String::new(),
    }
}
