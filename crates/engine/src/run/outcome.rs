//! How attempts, steps and runs end.
//!
//! A step that fails is not an error of the runner; it is one of these outcomes.

use serde::{Deserialize, Deserializer, Serialize};

/// The state of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// It has not been reached.
    #[default]
    Pending,
    /// It is being executed.
    Running,
    /// It succeeded.
    Completed,
    /// It was not executed, for a reason that is known.
    Skipped,
    /// It failed.
    Failed,
    /// It succeeded, but its output was not the JSON that was wanted.
    Degraded,
}

impl StepStatus {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            StepStatus::Pending => "pending",
            StepStatus::Running => "running",
            StepStatus::Completed => "completed",
            StepStatus::Skipped => "skipped",
            StepStatus::Failed => "failed",
            StepStatus::Degraded => "degraded",
        }
    }

    /// Whether nothing more happens to it.
    pub fn is_final(self) -> bool {
        !matches!(self, StepStatus::Pending | StepStatus::Running)
    }

    /// Whether it did its work.
    pub fn is_done(self) -> bool {
        matches!(self, StepStatus::Completed | StepStatus::Degraded)
    }
}

/// The state of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// A live process is working on it.
    Running,
    /// It succeeded.
    Completed,
    /// A step failed, and the run with it.
    Failed,
    /// Its process is gone or was told to stop; it can be resumed.
    Interrupted,
    /// It waits for a person.
    Waiting,
    /// A person ended it.
    Cancelled,
}

impl RunStatus {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            RunStatus::Running => "running",
            RunStatus::Completed => "completed",
            RunStatus::Failed => "failed",
            RunStatus::Interrupted => "interrupted",
            RunStatus::Waiting => "waiting",
            RunStatus::Cancelled => "cancelled",
        }
    }
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProgramEnd {
    /// With this exit code.
    Exit(i32),
    /// By this signal.
    Signal(i32),
}

impl ProgramEnd {
    /// Its exit code, if it ended with one.
    pub fn code(self) -> Option<i32> {
        match self {
            ProgramEnd::Exit(code) => Some(code),
            ProgramEnd::Signal(_) => None,
        }
    }

    /// The signal that ended it, if one did.
    pub fn signal(self) -> Option<i32> {
        match self {
            ProgramEnd::Signal(signal) => Some(signal),
            ProgramEnd::Exit(_) => None,
        }
    }
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It did what it should.
    Ok,
    /// The program ended with this exit code.
    Exit(i32),
    /// The program was ended by this signal.
    Signal(i32),
    /// The step's own timeout, in seconds, fired.
    TimedOut(f64),
    /// An agent showed no activity for this many seconds.
    Idle(f64),
    /// The output was not the JSON that is required.
    NotJson,
    /// The agent's service asked to slow down.
    RateLimited,
    /// The agent ended without a usable result.
    Agent,
    /// The program could not be started.
    NotStarted,
    /// The step could not be prepared: its directory, its values, its nested recipe.
    Refused,
    /// Its condition could not be evaluated.
    Condition,
    /// A limit of the recipe was reached.
    Limit,
    /// A budget of the recipe was used up.
    Budget,
    /// The nested recipe failed.
    Nested,
    /// A step says that a person has to look at it.
    NeedsHuman,
    /// The run was told to stop.
    Cancelled,
    /// Unknown: the runner was gone when the process ended.
    Lost,
}

/// Why an agent failed, where that is a matter of its service and not of its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentTrouble {
    /// It is not logged in, or not allowed.
    Credentials,
    /// Its service asks to slow down.
    RateLimit,
    /// Its service cannot be reached.
    Network,
    /// Its service is reached and does not work.
    Service,
    /// Its service refuses the request as it is, and says so with a status.
    Request,
}

/// How it is known what is wrong with an agent's service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KnownBy {
    /// By its structured result.
    #[default]
    Result,
    /// By words among what it printed.
    Words,
}

impl KnownBy {
    /// Whether it is known by its structured result.
    pub fn is_result(&self) -> bool {
        *self == KnownBy::Result
    }
}

/// Why nothing new starts in a nested recipe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopCause {
    /// It took too long.
    #[default]
    Timeout,
    /// It may not begin with the values that it got.
    Refused,
}

impl StopCause {
    /// Whether it took too long.
    pub fn is_timeout(&self) -> bool {
        *self == StopCause::Timeout
    }
}

/// Why a step was not executed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// The tag filters leave it out.
    Tags,
    /// Its condition does not hold.
    Condition,
    /// A step that it depends on did not complete.
    #[serde(deserialize_with = "dependency")]
    Dependency {
        /// The step that it depends on.
        step: String,
        /// What became of that step.
        why: String,
    },
    /// Nothing is executed in a dry run.
    DryRun,
    /// A person chose to skip it when resuming.
    Chosen,
}

/// Journals of the first format name the step alone.
fn dependency<'de, D: Deserializer<'de>>(from: D) -> Result<(String, String), D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Alone(String),
        Explained { step: String, why: String },
    }
    Ok(match Written::deserialize(from)? {
        Written::Alone(step) => (step, String::new()),
        Written::Explained { step, why } => (step, why),
    })
}

impl SkipReason {
    /// The reason in a few words.
    pub fn describe(&self) -> String {
        match self {
            SkipReason::Tags => "left out by the tag filter".to_owned(),
            SkipReason::Condition => "condition is false".to_owned(),
            SkipReason::Dependency { step, why } => {
                let why = if why.is_empty() { String::new() } else { format!(": it {why}") };
                format!("depends on `{step}`, which did not complete{why}")
            }
            SkipReason::DryRun => "dry run: not executed".to_owned(),
            SkipReason::Chosen => "skipped when the run was resumed".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dependency_is_read_in_both_forms() {
        for (json, text) in [
            (r#"{"dependency":"build"}"#, "depends on `build`, which did not complete"),
            (
                r#"{"dependency":{"step":"build","why":"failed"}}"#,
                "depends on `build`, which did not complete: it failed",
            ),
        ] {
            let reason: SkipReason = serde_json::from_str(json).unwrap();
            assert_eq!(reason.describe(), text);
        }
    }
}
