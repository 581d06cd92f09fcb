//! Workers that perform test cases: how this program starts itself as one, and what it does then.
//!
//! Not a command for users: `args` does not describe it.

use std::{ffi::OsString, path::PathBuf};

use runtime::{
    os::guardian::Guardian,
    recipe_tests::{CaseFace, serve},
    report::RunResult,
    requests::RequestError,
};
use serde_json::Value as Json;

use crate::{
    builtin,
    exit::Exit,
    report::{hints::Hints, json::ResultJson},
};

/// The word that makes this program a worker.
const WORD: &str = "__case";

/// How to start one.
pub(crate) fn command() -> Guardian {
    let own = if cfg!(target_os = "linux") { Ok("/proc/self/exe".into()) } else { std::env::current_exe() };
    Guardian {
        // this very program, even if its file was replaced or removed
        program: own.unwrap_or_else(|_| PathBuf::from("recipe-runner-rs")),
        name: "recipe-case".into(),
        args: vec![WORD.into(), WORD.into()],
    }
}

/// The arguments of a worker, if this program was started as one.
pub(crate) fn asked(arguments: &[OsString]) -> Option<&[OsString]> {
    match arguments {
        [_, word, again, more @ ..] if word == WORD && again == WORD => Some(more),
        _ => None,
    }
}

/// Performs cases until there are no more.
pub(crate) fn work(more: &[OsString]) -> Exit {
    match serve(&face(), more) {
        Ok(()) => Exit::Success,
        Err(_) => Exit::Broken,
    }
}

fn face() -> CaseFace {
    CaseFace { result, failure, built_in: || builtin::RECIPES.to_vec() }
}

fn result(result: &RunResult) -> Json {
    serde_json::to_value(ResultJson(result, &Hints::through(None))).unwrap_or_default()
}

/// The exit code and the message of a request that was refused.
fn failure(error: &RequestError) -> (u8, String) {
    let exit = match error {
        RequestError::Recipe { .. } | RequestError::Find(_) => Exit::NotFound,
        RequestError::Invalid { .. }
        | RequestError::OtherDirectory { .. }
        | RequestError::OtherRecipe { .. } => Exit::Invalid,
        RequestError::Setting(_) => Exit::BadArguments,
        _ => Exit::Broken,
    };
    (exit.code(), error.to_string())
}
