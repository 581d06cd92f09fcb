//! The outcome of an agent call: its answer, or the reason why it has none.

use std::ops::Deref;

use engine::run::outcome::KnownBy;

use super::{AgentFailure, Usage};
use crate::store::values::Captured;

/// What an agent said, cut where it is too long for a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentText {
    /// The text.
    pub text: String,
    /// Bytes that were cut out of its middle.
    pub cut: Option<u64>,
}

/// What is taken off the end of an answer, as of the output of every step.
pub(super) const NEWLINES: [char; 2] = ['\n', '\r'];

impl From<Captured> for AgentText {
    fn from(captured: Captured) -> AgentText {
        AgentText { text: captured.text.trim_end_matches(NEWLINES).to_owned(), cut: captured.cut }
    }
}

impl Deref for AgentText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

/// What a call amounted to.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentOutcome {
    /// The answer, or the reason why there is no answer.
    pub result: Result<AgentText, AgentFailure>,
    /// What it said so far, where there is no answer.
    pub partial: Option<AgentText>,
    /// How it is known what is wrong with its service.
    pub known_by: KnownBy,
    /// What it used, as far as the program says.
    pub usage: Usage,
    /// Tools that it was not allowed to use: it may well say that all went well.
    pub denied: Vec<String>,
}
