//! A step that asks a person.

use super::Input;
use crate::template::Template;

/// A step that asks a person.
#[derive(Clone, Debug)]
pub struct AskStep {
    /// The question.
    pub question: Template,
    /// What the person sees with it.
    pub show: Vec<ShowTemplate>,
    /// The answers to choose from.
    pub choices: Vec<String>,
    /// Values that the person gives with the answer.
    pub fields: Vec<Input>,
    /// What happens when the timeout has passed.
    pub on_timeout: OnTimeout,
}

/// Something that a person sees with a question.
#[derive(Clone, Debug)]
pub enum ShowTemplate {
    /// The file at this path.
    File(Template),
    /// This text.
    Text(Template),
}

impl ShowTemplate {
    /// The template of the path or of the text.
    pub fn template(&self) -> &Template {
        let (ShowTemplate::File(template) | ShowTemplate::Text(template)) = self;
        template
    }
}

/// What happens to a question that was not answered in time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OnTimeout {
    /// The step fails.
    Fail,
    /// This choice counts as the answer.
    Choice(String),
}

impl OnTimeout {
    /// The word for a failure: no choice may have this name.
    pub const FAIL: &str = "fail";

    /// The word in a recipe.
    pub fn as_str(&self) -> &str {
        match self {
            OnTimeout::Fail => OnTimeout::FAIL,
            OnTimeout::Choice(choice) => choice,
        }
    }
}

impl AskStep {
    /// The usual choices, in any order: the first goes on, the second fails the step.
    pub const USUAL: [&str; 2] = ["approve", "reject"];
    /// Members of the value of the step that are not fields.
    pub const RESERVED: [&str; 5] = ["choice", "by", "via", "at", "comment"];

    /// Whether an answer fails the step: only with the usual choices.
    pub fn fails(&self, choice: &str) -> bool {
        let is_usual = self.choices.len() == 2 && AskStep::USUAL.iter().all(|usual| self.has(usual));
        is_usual && choice == AskStep::USUAL[1]
    }

    /// Whether this is one of its choices.
    pub fn has(&self, choice: &str) -> bool {
        self.choices.iter().any(|known| known == choice)
    }

    /// Every template in it.
    pub fn templates(&self) -> impl Iterator<Item = &Template> {
        std::iter::once(&self.question).chain(self.show.iter().map(ShowTemplate::template))
    }
}
