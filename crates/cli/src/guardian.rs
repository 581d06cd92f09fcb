//! The guardian of a run: how this program starts itself as one, and what it does then.
//!
//! Not a command for users: `args` does not describe it, and it prints nothing.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use runtime::{machine::local::GRACE, os::guardian::Guardian};

use crate::exit::Exit;

/// The word that makes this program a guardian.
const WORD: &str = "__guard";

/// How to start it; `None` if the system does not support it.
pub(crate) fn command() -> Option<Guardian> {
    cfg!(target_os = "linux").then(|| Guardian {
        // this very program, even if its file was replaced or removed
        program: PathBuf::from("/proc/self/exe"),
        name: "recipe-guardian".into(),
        args: vec![WORD.into()],
    })
}

/// The run to guard, if this program was started as a guardian. A recipe of the same name never has a path after it.
pub(crate) fn asked(arguments: &[OsString]) -> Option<PathBuf> {
    match arguments {
        [_, word, run] if word == WORD && Path::new(run).is_absolute() => Some(run.into()),
        _ => None,
    }
}

/// Guards the run until its runner is gone and all its processes have ended.
pub(crate) fn guard(run: PathBuf) -> Exit {
    match runtime::runs::guard(run, GRACE) {
        Ok(()) => Exit::Success,
        Err(_) => Exit::Broken,
    }
}
