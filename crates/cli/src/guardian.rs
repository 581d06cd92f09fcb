//! The guardian of a run: how this program starts itself as one, and what it does then.
//!
//! Not a command for people: it is no part of the command line that `args` describes, and prints nothing.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use runtime::os::guardian::Guardian;

use crate::{exit::Exit, host::GRACE};

/// The word that makes this program a guardian.
const WORD: &str = "__guard";

/// How to start it; `None` where the system has no way to it.
pub(crate) fn command() -> Option<Guardian> {
    cfg!(target_os = "linux").then(|| Guardian {
        // leads to this very program, also when its file was replaced or removed
        program: PathBuf::from("/proc/self/exe"),
        name: "recipe-guardian".into(),
        args: vec![WORD.into()],
    })
}

/// The run to guard, if that is what this program was started for. A recipe of the same name never comes with a path
/// behind it.
pub(crate) fn asked(arguments: &[OsString]) -> Option<PathBuf> {
    match arguments {
        [_, word, run] if word == WORD && Path::new(run).is_absolute() => Some(run.into()),
        _ => None,
    }
}

/// Guards the run until its runner is gone, and nothing of it is alive.
pub(crate) fn guard(run: PathBuf) -> Exit {
    match runtime::runs::guard(run, GRACE) {
        Ok(()) => Exit::Success,
        Err(_) => Exit::Broken,
    }
}
