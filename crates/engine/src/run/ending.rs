//! How a run ends, as a fact. Has no numbers: only the command line knows exit codes.

use serde::{Deserialize, Serialize};

use super::{outcome::RunStatus, state::RunState};

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// It succeeded.
    Completed,
    /// A step failed, and the run with it.
    Failed,
    /// It waits for a person.
    Waiting,
    /// SIGINT stopped it.
    Interrupted,
    /// SIGTERM, SIGQUIT or the end of its terminal stopped it.
    Terminated,
    /// A person cancelled it.
    Cancelled,
    /// Something outside the recipe is missing, so nothing was started.
    Blocked,
}

impl EndReason {
    /// The status of a run that ended for this reason.
    pub fn status(self) -> RunStatus {
        match self {
            EndReason::Completed => RunStatus::Completed,
            EndReason::Failed | EndReason::Blocked => RunStatus::Failed,
            EndReason::Waiting => RunStatus::Waiting,
            EndReason::Interrupted | EndReason::Terminated => RunStatus::Interrupted,
            EndReason::Cancelled => RunStatus::Cancelled,
        }
    }
}

/// Why a run was asked to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Halt {
    /// SIGINT.
    Interrupt,
    /// SIGTERM or SIGQUIT.
    Terminate,
    /// SIGHUP: the terminal is gone.
    Hangup,
    /// Another process asked for it.
    Cancel,
}

impl Halt {
    /// Why a run that was stopped ended.
    pub fn reason(self) -> EndReason {
        match self {
            Halt::Interrupt => EndReason::Interrupted,
            Halt::Terminate | Halt::Hangup => EndReason::Terminated,
            Halt::Cancel => EndReason::Cancelled,
        }
    }

    /// The error message of such a run.
    pub fn error(self) -> &'static str {
        match self {
            Halt::Interrupt => "interrupted by SIGINT",
            Halt::Terminate => "interrupted by SIGTERM",
            Halt::Hangup => "interrupted by SIGHUP",
            Halt::Cancel => "cancelled",
        }
    }

    /// The message while the run stops.
    pub fn why(self) -> &'static str {
        match self {
            Halt::Interrupt => "interrupted: stopping running steps",
            Halt::Terminate => "SIGTERM received: stopping running steps",
            Halt::Hangup => "the terminal is gone: stopping running steps",
            Halt::Cancel => "cancelled: stopping running steps",
        }
    }
}

/// Why a run that has nothing more to do ends.
pub fn end_reason(state: &RunState) -> EndReason {
    match state.halt() {
        Some(halt) => halt.reason(),
        // also if only a cleanup step waits: the recipe has not come to its end
        None if state.is_waiting() => EndReason::Waiting,
        None if state.root().failed_at.is_none() => EndReason::Completed,
        None if state.needs_human() => EndReason::Waiting,
        None => EndReason::Failed,
    }
}
