//! A repair that waits for a person: accepting it writes it into the recipe, as an accepted repair of the loop is.

use std::{fs, path::PathBuf};

use engine::repair_review::{DecidedBy, ReviewVerdict};
use recipe::digest::sha256;

use crate::{
    report::auto_fix::{Report, load, save},
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
    /// The proposal is another one now.
    #[error("the proposal `{}` has changed since it was reviewed", .0.display())]
    Proposal(PathBuf),
    /// A file failed.
    #[error(transparent)]
    Folder(#[from] FolderError),
}

/// Whether a run has a repair that waits for a person.
pub fn has_waiting_repair(folder: &RunFolder) -> bool {
    let last = load(folder).and_then(|report| report.attempts.into_iter().last());
    last.and_then(|attempt| attempt.repair).is_some_and(|repair| repair.waiting)
}

/// A repair that was just accepted.
#[derive(Debug)]
pub(crate) struct AcceptedRepair {
    file: PathBuf,
    original: Vec<u8>,
    candidate: Vec<u8>,
    /// The report from before.
    waiting: Report,
}

impl AcceptedRepair {
    /// Lets the repair wait again: the run could not continue with it.
    pub(crate) fn take_back(self, folder: &RunFolder) -> Result<(), FolderError> {
        if fs::read(&self.file).is_ok_and(|now| now == self.candidate) {
            write_new(&self.file, &self.original)?;
        }
        save(folder, &self.waiting)
    }
}

/// Writes the waiting repair of a run into its recipe.
pub(crate) fn accept_waiting_repair(folder: &RunFolder) -> Result<AcceptedRepair, AcceptError> {
    let none = || AcceptError::NoRepair(folder.id());
    let mut report = load(folder).ok_or_else(none)?;
    let waiting = report.clone();
    let last = report.attempts.last_mut().and_then(|attempt| attempt.repair.as_mut());
    let repair = last.filter(|repair| repair.waiting).ok_or_else(none)?;
    let path = |file: &Option<String>| file.as_ref().map(PathBuf::from).ok_or_else(none);
    let (file, original) = (path(&repair.file)?, path(&repair.original)?);
    let read = |file: &PathBuf| fs::read(file).map_err(FolderError::at("read", file));
    let proposal = path(&repair.candidate)?;
    let (candidate, original) = (read(&proposal)?, read(&original)?);
    if repair.candidate_digest.as_ref().is_some_and(|digest| *digest != sha256(&candidate)) {
        return Err(AcceptError::Proposal(proposal));
    }
    let now = read(&file)?;
    // after a crash it may be written already
    if now != candidate {
        if now != original {
            return Err(AcceptError::Changed(file));
        }
        write_new(&file, &candidate)?;
    }
    (repair.accepted, repair.waiting) = (true, false);
    for change in repair.changes.iter_mut().filter(|change| change.verdict == ReviewVerdict::Ask) {
        (change.verdict, change.decided_by) = (ReviewVerdict::Accepted, DecidedBy::Person);
    }
    save(folder, &report)?;
    Ok(AcceptedRepair { file, original, candidate, waiting })
}
