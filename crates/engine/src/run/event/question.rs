//! Questions to people, as they are recorded.

use jiff::Timestamp;
use recipe::{
    input_type::{InputType, Pattern},
    plan::Input,
    value::{Map, Value},
};
use serde::{Deserialize, Serialize};

use super::OutputRef;
use crate::run::origin::{Origin, Surface};

/// A question that was put to a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QuestionPut {
    /// The step.
    pub path: String,
    /// Which attempt: a question that is put again is another one.
    pub attempt: u32,
    /// The question.
    pub question: String,
    /// The answers to choose from.
    pub choices: Vec<String>,
    /// Values that belong to the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<QuestionField>,
    /// What the person sees with the question.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shown: Vec<ShownPart>,
    /// SHA-256 of the question and of everything that is shown with it.
    pub digest: String,
    /// When the time for an answer is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// What counts as the answer then: a choice, or `fail`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_timeout: Option<String>,
}

impl QuestionPut {
    /// Whether another question asks the same: the same words, contents, choices and fields.
    pub fn asks_the_same(&self, other: &QuestionPut) -> bool {
        self.digest == other.digest && self.choices == other.choices && self.fields == other.fields
    }
}

/// Something that a person sees with a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownPart {
    /// The path of a file as the recipe names it; absent if it is a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The absolute path of that file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The copy in the run folder.
    pub copy: OutputRef,
}

/// A value that belongs to an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QuestionField {
    /// Its name.
    pub name: String,
    /// The word for its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Whether an answer needs it.
    #[serde(default)]
    pub required: bool,
    /// Its description.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Its choices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// The pattern that it must match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// Its value if the person gives none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
}

impl QuestionField {
    /// A field as a recipe declares it.
    pub fn of(input: &Input) -> QuestionField {
        let kind = input.kind.clone().unwrap_or(InputType::Text(None));
        QuestionField {
            name: input.name.clone(),
            kind: kind.word().to_owned(),
            required: input.required,
            description: input.description.clone(),
            choices: kind.choices().map(<[String]>::to_vec).unwrap_or_default(),
            pattern: kind.pattern().map(|pattern| pattern.as_str().to_owned()),
            default: input.default.clone(),
        }
    }

    /// Its type. A type of a newer program is text here.
    pub fn input_type(&self) -> InputType {
        match self.kind.as_str() {
            "number" => InputType::Number,
            "integer" => InputType::Integer,
            "boolean" => InputType::Boolean,
            "choice" => InputType::Choice(self.choices.clone()),
            "list" => InputType::List,
            "path" => InputType::Path,
            "json" => InputType::Json,
            "secret" => InputType::Secret,
            _ => InputType::Text(self.pattern.as_deref().and_then(|text| Pattern::parse(text).ok())),
        }
    }

    /// Its value if the answer has none: the default, otherwise `null`.
    pub fn default_value(&self) -> Value {
        let default = self.default.clone().unwrap_or(Value::Null);
        self.input_type().fit(&default, &|_| true).unwrap_or(Value::Null)
    }

    /// Whether its value is never shown.
    pub fn is_secret(&self) -> bool {
        self.input_type() == InputType::Secret
    }
}

/// The answer to a question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answered {
    /// The step.
    pub path: String,
    /// The choice.
    pub choice: String,
    /// The values of its fields.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub fields: Map,
    /// What the person adds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Who answered, as the surface knows it.
    pub by: String,
    /// The way that the answer took.
    pub via: Via,
    /// When it was taken.
    pub at: Timestamp,
    /// SHA-256 of the contents that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Where it came from; absent if a person did not give it now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

/// The way that an answer took.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Via {
    /// There was no answer in time.
    Timeout,
    /// It was given beforehand, when the run was started.
    Flag,
    /// A person gave it.
    #[serde(untagged)]
    Surface(Surface),
}

impl Via {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Via::Timeout => "timeout",
            Via::Flag => "flag",
            Via::Surface(surface) => surface.as_str(),
        }
    }
}
