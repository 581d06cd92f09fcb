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

/// Why a run that has nothing more to do ends.
pub fn end_reason(state: &RunState) -> EndReason {
    match state.live.stop {
        Some(reason) => reason,
        // also if only a cleanup step waits: the recipe has not come to its end
        None if state.is_waiting() => EndReason::Waiting,
        None if state.root().failed_at.is_none() => EndReason::Completed,
        None if state.needs_human() => EndReason::Waiting,
        None => EndReason::Failed,
    }
}
