//! What the program tells its caller: the one table of exit codes.
//!
//! Never ends the process; `main` returns one of these.

use std::process::{ExitCode, Termination};

/// How the program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// It did what was asked; a recipe succeeded.
    Success = 0,
    /// A step failed and the recipe with it, or a comparison found differences.
    Failed = 1,
    /// The recipe or the command line is invalid.
    Invalid = 2,
    /// There is no such recipe, or no such run.
    NotFound = 3,
    /// Arguments are bad in a way that only this program can judge.
    BadArguments = 4,
    /// The program itself could not do its work.
    Broken = 8,
}

impl Exit {
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
