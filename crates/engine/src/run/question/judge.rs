//! Whether an answer fits its question. Never records anything.

use std::fmt::{Display, Formatter, Result as FmtResult};

use jiff::Timestamp;
use recipe::{
    diagnostic::did_you_mean,
    input_type::is_empty,
    value::{Map, Value},
};
use serde::{Deserialize, Serialize};

use super::{AskedQuestion, QuestionStatus};
use crate::run::{
    event::{Answered, QuestionField},
    origin::Origin,
};

/// An answer before it was judged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AnswerDraft {
    /// The choice.
    pub choice: String,
    /// The values of the fields.
    #[serde(default)]
    pub fields: Vec<(String, Value)>,
    /// What the person adds.
    #[serde(default)]
    pub comment: Option<String>,
    /// SHA-256 of the contents that the person saw, if the surface knows it.
    #[serde(default)]
    pub digest: Option<String>,
    /// Where it comes from.
    #[serde(default)]
    pub origin: Option<Origin>,
}

/// Why an answer does not fit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerProblem {
    /// The field that is wrong; absent if the choice is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The problem in one sentence.
    pub text: String,
}

impl Display for AnswerProblem {
    fn fmt(&self, f: &mut Formatter<'_>) -> FmtResult {
        f.write_str(&self.text)
    }
}

/// Why an answer is not taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerRefusal {
    /// It does not fit the question.
    Unfit(Vec<AnswerProblem>),
    /// The question is already answered.
    Already(Box<Answered>),
    /// The question does not wait any more: its step ended, or the run failed.
    Withdrawn,
    /// The time for an answer was over.
    Late(Timestamp),
    /// The shown contents have changed since the question was put.
    Changed(Vec<ChangedContent>),
    /// The person saw other contents than those of the question.
    OtherContents,
    /// The repair that it accepts cannot be used any more.
    NotUsable {
        /// Why.
        why: String,
    },
    /// A shown file cannot be read any more.
    Unreadable {
        /// The file, as the recipe names it.
        name: String,
        /// Why it cannot be read.
        why: String,
    },
}

/// A shown content that has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedContent {
    /// Its name.
    pub name: String,
    /// The difference, line by line.
    pub difference: String,
}

/// Judges an answer by itself: whether it fits, and whether the question still waits for it. Shown contents are
/// compared by the caller. Returns the values of all fields.
pub fn judge(
    asked: &AskedQuestion,
    draft: &AnswerDraft,
    now: Timestamp,
    exists: &dyn Fn(&str) -> bool,
) -> Result<Map, AnswerRefusal> {
    let fields =
        check_answer(&asked.put.choices, &asked.put.fields, draft, exists).map_err(AnswerRefusal::Unfit)?;
    match &asked.status {
        QuestionStatus::Answered(answered) | QuestionStatus::Closed(Some(answered)) => {
            return Err(AnswerRefusal::Already(answered.clone()));
        }
        QuestionStatus::Closed(None) | QuestionStatus::Withdrawn => return Err(AnswerRefusal::Withdrawn),
        QuestionStatus::Open => {}
    }
    match asked.put.deadline.filter(|deadline| *deadline <= now) {
        Some(deadline) => Err(AnswerRefusal::Late(deadline)),
        None => Ok(fields),
    }
}

/// The values of all fields of a question with this answer, or everything that is wrong with it.
pub fn check_answer(
    choices: &[String],
    fields: &[QuestionField],
    draft: &AnswerDraft,
    exists: &dyn Fn(&str) -> bool,
) -> Result<Map, Vec<AnswerProblem>> {
    let mut problems = Vec::new();
    if !choices.contains(&draft.choice) {
        let meant = did_you_mean(&draft.choice, choices.iter().map(String::as_str));
        let meant = meant.map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
        let text = format!("`{}` is not one of the choices {}{meant}", draft.choice, quoted(choices));
        problems.push(AnswerProblem { field: None, text });
    }
    for (name, _) in &draft.fields {
        if !fields.iter().any(|field| field.name == *name) {
            let known: Vec<String> = fields.iter().map(|field| field.name.clone()).collect();
            let text = match known.is_empty() {
                true => format!("the question has no field `{name}`: it has no fields"),
                false => format!("the question has no field `{name}`; its fields are {}", quoted(&known)),
            };
            problems.push(AnswerProblem { field: Some(name.clone()), text });
        }
    }
    let mut values = Map::new();
    for field in fields {
        match value_of(field, draft, exists) {
            Ok(value) => drop(values.insert(field.name.clone(), value)),
            Err(text) => problems.push(AnswerProblem { field: Some(field.name.clone()), text }),
        }
    }
    if problems.is_empty() { Ok(values) } else { Err(problems) }
}

/// The value of a field; an error in words if there is none, or if it does not fit.
fn value_of(
    field: &QuestionField,
    draft: &AnswerDraft,
    exists: &dyn Fn(&str) -> bool,
) -> Result<Value, String> {
    let given = draft.fields.iter().rev().find(|(name, _)| *name == field.name).map(|(_, value)| value);
    let given = given.or(field.default.as_ref()).cloned().unwrap_or(Value::Null);
    if field.required && is_empty(&given) {
        return Err(format!("the field `{}` is missing", field.name));
    }
    let shown = (!field.is_secret()).then_some(&given);
    let misfit =
        |misfit: recipe::input_type::Misfit| format!("the field `{}` {}", field.name, misfit.sentence(shown));
    field.input_type().fit(&given, exists).map_err(misfit)
}

fn quoted(words: &[String]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}
