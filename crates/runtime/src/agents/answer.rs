//! The outcome of an agent call: its answer, or the reason why it has none.

use std::ops::Deref;

use engine::run::outcome::KnownBy;

use super::{AgentFailure, Usage};
use crate::store::values::Captured;

/// An answer of an agent, shortened if it is too long for a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentText {
    pub text: String,
    /// Bytes that were cut out of its middle.
    pub cut: Option<u64>,
}

/// Characters that are removed from the end of an answer, as from the output of every step.
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

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentOutcome {
    /// The answer, or the reason why there is no answer.
    pub result: Result<AgentText, AgentFailure>,
    /// The partial text, if there is no answer.
    pub partial: Option<AgentText>,
    /// The evidence for a problem of its service.
    pub known_by: KnownBy,
    /// Its usage, as far as the program reports it.
    pub usage: Usage,
    /// Tools that it was not allowed to use: it may still report a success.
    pub denied: Vec<String>,
}
