//! The result of one attempt at a step, before it is recorded.

use recipe::value::Value;

use crate::run::{event::Ended, message::step_failed, outcome::Outcome};

/// The result of an attempt.
#[derive(Clone, Debug)]
pub struct AttemptResult {
    /// For the journal; its `value` is still missing.
    pub ended: Ended,
    /// The value for the context.
    pub value: Option<Value>,
    /// Whether the step is degraded rather than failed: its JSON is missing and not required.
    pub degraded: bool,
    /// Notes for the user.
    pub notes: Vec<String>,
}

impl AttemptResult {
    /// A successful attempt; its value is still missing.
    pub fn ok() -> AttemptResult {
        AttemptResult {
            ended: Ended::new(Outcome::Ok, None),
            value: None,
            degraded: false,
            notes: Vec::new(),
        }
    }

    /// An attempt that failed, with its cause in words and more words after it; `kind` is the word for the step's kind.
    pub fn failed(kind: &str, outcome: Outcome, more: &str) -> AttemptResult {
        let error = step_failed(kind, format!("{}{more}", outcome.cause().unwrap_or_default()));
        AttemptResult::refused(outcome, error)
    }

    /// An attempt that failed with this error.
    pub fn refused(outcome: Outcome, error: String) -> AttemptResult {
        let ended = Ended::new(outcome, Some(error));
        AttemptResult { ended, value: None, degraded: false, notes: Vec::new() }
    }

    /// Whether it did its work.
    pub fn is_done(&self) -> bool {
        self.degraded || self.ended.outcome == Outcome::Ok
    }
}
