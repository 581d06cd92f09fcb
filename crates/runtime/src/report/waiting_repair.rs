//! The repair that a person decides about, compared with the files that it is for. Never writes anything.

use std::{fs, path::PathBuf};

use recipe::digest::sha256;

use super::auto_fix::load;
use crate::store::folder::{FolderError, RunFolder};

/// Why a repair cannot be accepted.
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

/// The texts of a repair.
#[derive(Debug)]
pub(crate) struct RepairTexts {
    /// The recipe's file.
    pub(crate) file: PathBuf,
    /// Its text from before the repair.
    pub(crate) original: Vec<u8>,
    /// The proposed text.
    pub(crate) candidate: Vec<u8>,
    /// Whether the proposal is in the file already: a process that wrote it may have died.
    pub(crate) is_written: bool,
}

/// The texts of the last repair of a run, if a person may still use it.
pub(crate) fn usable_repair(folder: &RunFolder) -> Result<RepairTexts, AcceptError> {
    let none = || AcceptError::NoRepair(folder.id());
    let report = load(folder).ok_or_else(none)?;
    let last = report.last_repair().filter(|repair| repair.waiting || repair.is_accepted_by_person());
    let repair = last.ok_or_else(none)?;
    let path = |file: &Option<String>| file.as_ref().map(PathBuf::from).ok_or_else(none);
    let (file, original, proposal) = (path(&repair.file)?, path(&repair.original)?, path(&repair.candidate)?);
    let read = |file: &PathBuf| fs::read(file).map_err(FolderError::at("read", file));
    let (candidate, original) = (read(&proposal)?, read(&original)?);
    if repair.candidate_digest.as_ref().is_some_and(|digest| *digest != sha256(&candidate)) {
        return Err(AcceptError::Proposal(proposal));
    }
    let now = read(&file)?;
    if now != candidate && now != original {
        return Err(AcceptError::Changed(file));
    }
    Ok(RepairTexts { is_written: now == candidate, file, original, candidate })
}
