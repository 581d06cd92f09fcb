//! Becoming another program.

use std::{ffi::OsString, io, os::unix::process::CommandExt as _, process::Command};

/// Becomes this program, with these arguments and the environment as it is. Returns only if it cannot.
pub fn become_program(program: &str, args: &[OsString]) -> io::Error {
    Command::new(program).args(args).exec()
}
