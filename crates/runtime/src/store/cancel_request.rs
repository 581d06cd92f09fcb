//! A request to cancel a run, left in the inbox of its folder by another process. Never stops anything.

use std::{fs, path::PathBuf};

use engine::{EndReason, run::origin::Origin};

use super::folder::{FolderError, RunFolder, to_json, write_new};
use crate::os::files;

fn file(folder: &RunFolder) -> PathBuf {
    folder.inbox().join("cancel")
}

/// Says that the request does not want cleanup steps to run.
fn no_cleanup(folder: &RunFolder) -> PathBuf {
    folder.inbox().join("no-cleanup")
}

/// Whether cleanup steps run before a cancelled run ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CleanupChoice {
    /// They do, for a limited time.
    #[default]
    Wanted,
    /// They do not.
    Skipped,
}

/// Leaves a request for the owner of the run.
pub(crate) fn write(
    folder: &RunFolder,
    origin: Option<&Origin>,
    cleanup: CleanupChoice,
) -> Result<(), FolderError> {
    let file = file(folder);
    let json = to_json(&origin).map_err(FolderError::at("write", &file))?;
    if cleanup == CleanupChoice::Skipped {
        write_new(&no_cleanup(folder), b"")?;
    }
    write_new(&file, &json)
}

/// Whether the request does not want cleanup steps to run.
pub(crate) fn skips_cleanup(folder: &RunFolder) -> bool {
    no_cleanup(folder).exists()
}

/// Whether there is a request.
pub(crate) fn exists(folder: &RunFolder) -> bool {
    file(folder).exists()
}

/// The content of the request.
pub(crate) fn bytes(folder: &RunFolder) -> Option<Vec<u8>> {
    fs::read(file(folder)).ok()
}

/// Removes the request.
pub(crate) fn remove(folder: &RunFolder) {
    files::discard_file(&file(folder));
    files::discard_file(&no_cleanup(folder));
}

/// Where the request came from, if the run ends because of it and the origin is known.
pub(crate) fn cancelled_by(reason: EndReason, folder: &RunFolder) -> Option<Origin> {
    let text = bytes(folder).filter(|_| reason == EndReason::Cancelled)?;
    serde_json::from_slice(&text).ok()
}
