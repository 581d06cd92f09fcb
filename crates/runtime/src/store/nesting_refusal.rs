//! A run inside a step that was refused for its depth or for the number of sessions, noted in the folder of the run
//! around it: the step fails with an exit code that many other causes have.

use std::path::{Path, PathBuf};

use recipe::digest::sha256;

use super::folder::{RunFolder, make_dir, write_private};

/// Notes that an attempt (`path#attempt`) of a run was refused a run of its own. If this fails, only the note is lost.
pub(crate) fn note(folder: &RunFolder, attempt: &str, reason: &str) {
    let file = file(folder.path(), attempt);
    if let Some(parent) = file.parent().filter(|_| folder.is_run())
        && make_dir(parent).is_ok()
    {
        let _ = write_private(&file, reason.as_bytes());
    }
}

/// Why a run inside an attempt (`path#attempt`) was refused, if one was.
pub(crate) fn of(run_dir: &Path, attempt: &str) -> Option<String> {
    std::fs::read_to_string(file(run_dir, attempt)).ok()
}

fn file(run_dir: &Path, attempt: &str) -> PathBuf {
    run_dir.join("refused").join(&sha256(attempt.as_bytes())[..16])
}
