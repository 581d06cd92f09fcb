//! The exit codes of the program, in one table.
//!
//! Never ends the process; `main` returns one of these.

use std::process::{ExitCode, Termination};

use engine::EndReason;

/// How the program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// The request succeeded; a recipe succeeded.
    Success = 0,
    /// A step failed and the recipe with it, or a comparison found differences.
    Failed = 1,
    /// The recipe or the command line is invalid.
    Invalid = 2,
    /// The recipe or the run does not exist.
    NotFound = 3,
    /// Arguments are invalid in a way that only this program can judge.
    BadArguments = 4,
    /// Something outside the recipe is missing, so no step was started.
    Blocked = 5,
    /// A person has to do something first.
    Waiting = 6,
    /// A live process already owns the run or the workspace.
    Conflict = 7,
    /// The program itself failed.
    Broken = 8,
    /// A program that it was to become is not installed.
    NoProgram = 127,
    /// It was interrupted, and cleaned up.
    Interrupted = 130,
    /// It was asked to end, and cleaned up.
    Terminated = 143,
}

impl Exit {
    /// The exit after a run that ended for this reason.
    pub(crate) fn of(reason: EndReason) -> Exit {
        match reason {
            EndReason::Completed => Exit::Success,
            EndReason::Failed => Exit::Failed,
            EndReason::Waiting => Exit::Waiting,
            EndReason::Interrupted | EndReason::Cancelled => Exit::Interrupted,
            EndReason::Terminated => Exit::Terminated,
            EndReason::Blocked => Exit::Blocked,
        }
    }

    /// The number.
    pub(crate) fn code(self) -> u8 {
        self as u8
    }
}

impl Termination for Exit {
    fn report(self) -> ExitCode {
        ExitCode::from(self.code())
    }
}
