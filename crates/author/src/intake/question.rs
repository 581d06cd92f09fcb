//! Questions that stop generation.

use serde::Serialize;

/// A question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Question {
    /// For `--answer N=TEXT`.
    pub number: usize,
    /// Verbatim if the spec asks it.
    #[serde(rename = "question")]
    pub text: String,
    /// The line of the spec.
    pub line: Option<usize>,
    pub cause: Cause,
    /// What `--best-judgement` would answer.
    #[serde(rename = "best_judgement")]
    pub judgement: String,
    /// What else makes it this question, such as the kind of an effect.
    #[serde(skip)]
    pub subject: String,
    /// Its number in the list of open questions of the spec.
    #[serde(skip)]
    pub listed: Option<u64>,
}

impl Question {
    /// What makes two questions the same.
    pub(crate) fn key(&self) -> (Cause, Option<usize>, &str) {
        (self.cause, self.line, &self.subject)
    }
}

/// Why a question is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The spec asks it, or marks a place with `TBD`.
    OpenQuestion,
    NoGoal,
    NoCriterion,
    OnlyShapeCriteria,
    Contradiction,
    EffectWithoutApproval,
    NoTestCommand,
    /// No lint, type, build or format command.
    NoCheckCommand,
    NoStartCommand,
}
