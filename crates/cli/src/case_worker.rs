//! A worker for test cases: how this program starts itself as one, and what it does then.
//!
//! Not a command for users: `args` does not describe it.

use std::{ffi::OsString, path::PathBuf};

use runtime::{
    machine::local::SettingError,
    os::guardian::Guardian,
    recipe_tests::{CaseFace, serve},
    report::RunResult,
    requests::RequestError,
    runs::RunError,
};
use serde_json::Value as Json;

use crate::{
    builtin,
    environment::Environment,
    exit::Exit,
    report::{hints::Hints, json::ResultJson},
};

/// The word that makes this program a worker.
const WORD: &str = "__test-worker";

/// How to start one.
pub(crate) fn command(environment: &Environment) -> Guardian {
    // this very program, even if its file was replaced or removed
    let itself = cfg!(target_os = "linux").then(|| PathBuf::from("/proc/self/exe"));
    let program = itself.or_else(|| environment.machine.program.clone()).unwrap_or_default();
    Guardian { program, name: "recipe-test-worker".into(), args: vec![WORD.into()] }
}

/// Whether this program was started as a worker.
pub(crate) fn is_asked(arguments: &[OsString]) -> bool {
    matches!(arguments, [_, word] if word == WORD)
}

/// Performs cases until its input ends.
pub(crate) fn work() -> Exit {
    let face = CaseFace { result, failure, built_in: || builtin::RECIPES.to_vec() };
    match serve(&face) {
        Ok(()) => Exit::Success,
        Err(_) => Exit::Broken,
    }
}

fn result(result: &RunResult) -> Json {
    serde_json::to_value(ResultJson(result, &Hints::default())).unwrap_or_default()
}

/// The exit code and the message of a request that was refused.
fn failure(error: &RequestError) -> (u8, String) {
    let exit = match error {
        RequestError::Recipe { .. } | RequestError::Find(_) => Exit::NotFound,
        RequestError::Invalid { .. } | RequestError::Setting(SettingError::ReviewAgent(_)) => Exit::Invalid,
        RequestError::Setting(_) => Exit::BadArguments,
        RequestError::Accept(_) | RequestError::Run(RunError::Busy { .. }) => Exit::Conflict,
        _ => Exit::Broken,
    };
    (exit.code(), error.to_string())
}
