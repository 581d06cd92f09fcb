//! A request to cancel a run, left in the inbox of its folder by another process. Never stops anything.

use std::{fs, path::PathBuf};

use engine::{EndReason, run::origin::Origin};

use super::folder::{FolderError, RunFolder, to_json, write_new};

fn file(folder: &RunFolder) -> PathBuf {
    folder.inbox().join("cancel")
}

/// Leaves a request for the owner of the run.
pub(crate) fn write(folder: &RunFolder, origin: Option<&Origin>) -> Result<(), FolderError> {
    let file = file(folder);
    let json = to_json(&origin).map_err(FolderError::at("write", &file))?;
    write_new(&file, &json)
}

/// Whether there is a request.
pub(crate) fn exists(folder: &RunFolder) -> bool {
    file(folder).exists()
}

/// Removes the request.
pub(crate) fn remove(folder: &RunFolder) {
    let _ = fs::remove_file(file(folder));
}

/// Where the request came from, if the run ends because of it and the origin is known.
pub(crate) fn cancelled_by(reason: EndReason, folder: &RunFolder) -> Option<Origin> {
    let text = fs::read(file(folder)).ok().filter(|_| reason == EndReason::Cancelled)?;
    serde_json::from_slice(&text).ok()
}
