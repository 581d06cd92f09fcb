//! How attempts, steps and runs end.
//!
//! A step that fails is not an error of the runner; it is one of these outcomes.

use serde::{Deserialize, Serialize};

use super::cause::{AgentFailure, ExceededLimit, Exhausted, LoopFailure, Refusal, StartFailure};

/// The state of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// It has not been reached.
    #[default]
    Pending,
    /// It is being executed.
    Running,
    /// It waits for the answer of a person.
    Waiting,
    /// It succeeded.
    Completed,
    /// It was not executed, for a known reason.
    Skipped,
    /// It failed.
    Failed,
    /// It succeeded, but its output was not the expected JSON.
    Degraded,
}

impl StepStatus {
    /// All of them.
    pub const ALL: [StepStatus; 7] = [
        StepStatus::Pending,
        StepStatus::Running,
        StepStatus::Waiting,
        StepStatus::Completed,
        StepStatus::Skipped,
        StepStatus::Failed,
        StepStatus::Degraded,
    ];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            StepStatus::Pending => "pending",
            StepStatus::Running => "running",
            StepStatus::Waiting => "waiting",
            StepStatus::Completed => "completed",
            StepStatus::Skipped => "skipped",
            StepStatus::Failed => "failed",
            StepStatus::Degraded => "degraded",
        }
    }

    /// Whether it is final.
    pub fn is_final(self) -> bool {
        !matches!(self, StepStatus::Pending) && !self.is_open()
    }

    /// Whether it has begun and not ended.
    pub fn is_open(self) -> bool {
        matches!(self, StepStatus::Running | StepStatus::Waiting)
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
    /// Its process is gone or was stopped; it can be resumed.
    Interrupted,
    /// It waits for a person.
    Waiting,
    /// A person ended it.
    Cancelled,
}

impl RunStatus {
    /// All of them.
    pub const ALL: [RunStatus; 6] = [
        RunStatus::Running,
        RunStatus::Completed,
        RunStatus::Failed,
        RunStatus::Interrupted,
        RunStatus::Waiting,
        RunStatus::Cancelled,
    ];

    /// Its name.
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
    /// It exited with this code.
    Exit(i32),
    /// This signal ended it.
    Signal(i32),
}

impl ProgramEnd {
    /// Its exit code, if it has one.
    pub fn code(self) -> Option<i32> {
        match self {
            ProgramEnd::Exit(code) => Some(code),
            ProgramEnd::Signal(_) => None,
        }
    }

    /// The signal that ended it, if any.
    pub fn signal(self) -> Option<i32> {
        match self {
            ProgramEnd::Signal(signal) => Some(signal),
            ProgramEnd::Exit(_) => None,
        }
    }
}

/// How an attempt ended, with the cause of a failure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It succeeded.
    Ok,
    /// The program exited with this code.
    Exit(i32),
    /// This signal ended the program.
    Signal(i32),
    /// The step's own timeout, in seconds, fired.
    TimedOut(f64),
    /// An agent showed no activity for this many seconds.
    Idle(f64),
    /// The output was not the required JSON.
    NotJson {
        /// What is wrong with it.
        problem: String,
    },
    /// The agent's service was rate limited.
    RateLimited {
        /// The message of the agent program.
        message: String,
        /// How often the agent was called, once it is not called again; 0 before that.
        tries: u64,
    },
    /// The agent ended without a usable result.
    Agent(AgentFailure),
    /// The program could not be started.
    NotStarted(StartFailure),
    /// The step could not be prepared: its directory, its values, its sub-recipe.
    Refused(Refusal),
    /// Its condition could not be evaluated.
    Condition {
        /// The condition.
        text: String,
        /// The error of its evaluation.
        error: String,
    },
    /// Its loop could not be entered, or did not reach its end.
    Loop(LoopFailure),
    /// A limit of the recipe was reached.
    Limit(ExceededLimit),
    /// Budgets of the recipe were spent.
    Budget(Vec<Exhausted>),
    /// The sub-recipe failed.
    Nested,
    /// A rule under `ensure` is not met; the end of the attempt has the results.
    Ensure,
    /// A step waits for a person.
    NeedsHuman,
    /// A person rejected it.
    Rejected {
        /// The name of the person.
        by: String,
        /// The reason that the person gave.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The run was stopped.
    Cancelled,
    /// Unknown: the runner was gone when the process ended.
    Lost,
}

/// How an attempt ended, without the cause: the form of results.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeKind {
    Ok,
    Exit(i32),
    Signal(i32),
    TimedOut(f64),
    Idle(f64),
    NotJson,
    RateLimited,
    Agent,
    NotStarted,
    Refused,
    Condition,
    Loop,
    Limit,
    Budget,
    Nested,
    Ensure,
    NeedsHuman,
    Rejected,
    Cancelled,
    Lost,
}

impl Outcome {
    /// The outcome without its cause.
    pub fn kind(&self) -> OutcomeKind {
        match self {
            Outcome::Ok => OutcomeKind::Ok,
            Outcome::Exit(code) => OutcomeKind::Exit(*code),
            Outcome::Signal(signal) => OutcomeKind::Signal(*signal),
            Outcome::TimedOut(seconds) => OutcomeKind::TimedOut(*seconds),
            Outcome::Idle(seconds) => OutcomeKind::Idle(*seconds),
            Outcome::NotJson { .. } => OutcomeKind::NotJson,
            Outcome::RateLimited { .. } => OutcomeKind::RateLimited,
            Outcome::Agent(_) => OutcomeKind::Agent,
            Outcome::NotStarted(_) => OutcomeKind::NotStarted,
            Outcome::Refused(_) => OutcomeKind::Refused,
            Outcome::Condition { .. } => OutcomeKind::Condition,
            Outcome::Loop(_) => OutcomeKind::Loop,
            Outcome::Limit(_) => OutcomeKind::Limit,
            Outcome::Budget(_) => OutcomeKind::Budget,
            Outcome::Nested => OutcomeKind::Nested,
            Outcome::Ensure => OutcomeKind::Ensure,
            Outcome::NeedsHuman => OutcomeKind::NeedsHuman,
            Outcome::Rejected { .. } => OutcomeKind::Rejected,
            Outcome::Cancelled => OutcomeKind::Cancelled,
            Outcome::Lost => OutcomeKind::Lost,
        }
    }
}

/// Why an agent failed, if its service is the reason and not its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentTrouble {
    /// It is not logged in, or not allowed.
    Credentials,
    /// Its service is rate limited.
    RateLimit,
    /// Its service cannot be reached.
    Network,
    /// Its service is reachable but does not work.
    Service,
    /// Its service refuses the request, with a status.
    Request,
}

/// The evidence for a problem of an agent's service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KnownBy {
    /// Its structured result.
    #[default]
    Result,
    /// Words in its output.
    Words,
}

impl KnownBy {
    /// Whether its structured result is the evidence.
    pub fn is_result(&self) -> bool {
        *self == KnownBy::Result
    }
}

/// Why nothing new starts in a sub-recipe.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopCause {
    /// It timed out.
    #[default]
    Timeout,
    /// It cannot start, for this reason.
    Refused(Refusal),
}

impl StopCause {
    /// Whether it timed out.
    pub fn is_timeout(&self) -> bool {
        *self == StopCause::Timeout
    }
}

/// Why a step was not executed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// The tag filters exclude it.
    Tags,
    /// Its condition does not hold.
    Condition,
    /// A step that it depends on did not complete.
    Dependency {
        /// The step that it depends on.
        step: String,
        /// What happened to that step.
        why: String,
    },
    /// Nothing is executed in a dry run.
    DryRun,
    /// A person chose to skip it when resuming.
    Chosen,
    /// It runs only after a failure, and no step failed.
    NothingFailed,
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
            SkipReason::NothingFailed => "no step failed".to_owned(),
            SkipReason::Chosen => "skipped when the run was resumed".to_owned(),
        }
    }
}
