//! A repair that waits for a person: accepting it writes it into the recipe, as an accepted repair of the loop is.

use std::{fs, path::PathBuf};

use engine::repair_review::{DecidedBy, ReviewVerdict};

use crate::{
    report::auto_fix::{load, save},
    store::folder::{FolderError, RunFolder, write_new},
};

/// Why a waiting repair cannot be accepted.
#[derive(Debug, thiserror::Error)]
pub enum AcceptError {
    /// There is none.
    #[error("run `{0}` has no repair that waits for a decision")]
    NoRepair(String),
    /// The recipe is another one now.
    #[error("the recipe `{}` has changed since the repair was proposed", .0.display())]
    Changed(PathBuf),
    /// A file failed.
    #[error(transparent)]
    Folder(#[from] FolderError),
}

/// Whether a run has a repair that waits for a person.
pub fn has_waiting_repair(folder: &RunFolder) -> bool {
    let last = load(folder).and_then(|report| report.attempts.into_iter().last());
    last.and_then(|attempt| attempt.repair).is_some_and(|repair| repair.waiting)
}

/// Writes the waiting repair of a run into its recipe.
pub fn accept_waiting_repair(folder: &RunFolder) -> Result<(), AcceptError> {
    let none = || AcceptError::NoRepair(folder.id());
    let mut report = load(folder).ok_or_else(none)?;
    let last = report.attempts.last_mut().and_then(|attempt| attempt.repair.as_mut());
    let repair = last.filter(|repair| repair.waiting).ok_or_else(none)?;
    let path = |file: &Option<String>| file.as_ref().map(PathBuf::from).ok_or_else(none);
    let (file, original) = (path(&repair.file)?, path(&repair.original)?);
    let read = |file: &PathBuf| fs::read(file).map_err(FolderError::at("read", file));
    let candidate = read(&path(&repair.candidate)?)?;
    let now = read(&file)?;
    // after a crash it may be written already
    if now != candidate {
        if now != read(&original)? {
            return Err(AcceptError::Changed(file));
        }
        write_new(&file, &candidate)?;
    }
    (repair.accepted, repair.waiting) = (true, false);
    for change in repair.changes.iter_mut().filter(|change| change.verdict == ReviewVerdict::Ask) {
        (change.verdict, change.decided_by) = (ReviewVerdict::Accepted, DecidedBy::Person);
    }
    Ok(save(folder, &report)?)
}
