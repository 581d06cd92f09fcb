//! Why a step of a run ran, was skipped, was kept or ran again, as its journal tells.
//!
//! Reads records and folded states that the caller passes in; decides nothing and changes nothing. What a journal never
//! recorded is absent here, never guessed.

mod difference;
mod facts;
mod fate;

use serde::Serialize;

pub use difference::{ChangedInput, Differences, differences};
pub use facts::{AttemptFact, ConditionFact, DependencyFact, NamedValue, StepCircumstances, circumstances};
pub use fate::{StepFate, StepHistory, history};

use recipe::plan::Plan;

use crate::run::state::RunState;

/// A run at one moment: what a decision saw.
#[derive(Clone, Copy)]
pub struct Moment<'a> {
    /// The plan that was used then.
    pub plan: &'a Plan,
    /// The state before the decision.
    pub state: &'a RunState,
}

/// Hides secrets.
pub trait Hide {
    /// A text without secrets.
    fn text(&self, text: &str) -> String;
    /// Whether the value of a name is secret.
    fn is_secret(&self, name: &str) -> bool;
}

/// What is shown for a fact that was never stored.
pub const NOT_RECORDED: &str = "not recorded";

/// What is shown for a secret.
const SECRET: &str = "[REDACTED]";

/// The most characters of a value.
const LONGEST: usize = 200;

/// The answer.
#[derive(Clone, Debug, Serialize)]
pub struct WhyStep {
    /// What happened to the step.
    pub fate: StepFate,
    /// The reason in a few words.
    pub reason: String,
    /// The first line: the step, what happened to it, and why.
    pub summary: String,
    /// What the decision saw.
    pub circumstances: Option<StepCircumstances>,
    /// Its attempts, with the reasons for retries.
    pub attempts: Vec<AttemptFact>,
    /// What is different from the time when it ran before, if it ran again.
    pub differences: Option<Differences>,
}

/// The answer about a step. `now` is the moment of the decision, `before` the moment when the step ran before.
pub fn why(
    path: &str,
    history: &StepHistory,
    now: Option<Moment<'_>>,
    before: Option<Moment<'_>>,
    hide: &dyn Hide,
) -> WhyStep {
    let circumstances = now.and_then(|now| circumstances(path, now, hide));
    let reason = hide.text(&reason(path, history, circumstances.as_ref()));
    let summary = format!("`{path}` {}: {reason}", history.fate.words());
    let differences = match (history.fate, before, now) {
        (StepFate::Rerun, Some(before), Some(now)) => {
            let mut found = differences(path, before, now, hide);
            found.produced = history.changed_products();
            Some(found)
        }
        _ => None,
    };
    WhyStep {
        fate: history.fate,
        reason,
        summary,
        circumstances,
        attempts: facts::attempts(history, hide),
        differences,
    }
}

/// The reason in a few words.
fn reason(path: &str, history: &StepHistory, seen: Option<&StepCircumstances>) -> String {
    match history.fate {
        StepFate::Skipped => history.skipped.as_ref().map_or(NOT_RECORDED.to_owned(), |why| why.describe()),
        StepFate::Kept => "it had ended before the run was resumed, and its result still holds".to_owned(),
        StepFate::Rerun => history.resume_reason(path).unwrap_or_else(|| NOT_RECORDED.to_owned()),
        StepFate::NotReached => match &history.ended_at {
            Some(step) => format!("the run ended at `{step}` before it"),
            None => "the run has not come to it".to_owned(),
        },
        StepFate::Ran => match seen {
            _ if history.is_cleanup => match &history.ended_at {
                Some(step) => format!("`{step}` had failed, and it runs after a failure"),
                None => "it runs after a failure".to_owned(),
            },
            Some(StepCircumstances { condition: Some(condition), .. }) => {
                format!("its condition `{}` was true", condition.text)
            }
            Some(seen) if !seen.depends_on.is_empty() => {
                "the steps that it depends on had completed".to_owned()
            }
            Some(seen) if seen.is_first => "it is the first step, and it has no condition".to_owned(),
            Some(_) => "it was its turn, and it has no condition".to_owned(),
            None => NOT_RECORDED.to_owned(),
        },
    }
}
