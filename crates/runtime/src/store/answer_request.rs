//! Answers to a live run: left in the inbox of its folder by other processes, taken and acknowledged by its owner.
//!
//! Never decides about an answer.

use std::{
    fs,
    path::{Path, PathBuf},
};

use engine::run::question::{AnswerDraft, AnswerRefusal};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::folder::{FolderError, RunFolder, make_dir, to_json, write_private};
use crate::os::files;

/// An answer to one question.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct AnswerLetter {
    /// The step that asks.
    pub(crate) path: String,
    /// The answer.
    pub(crate) draft: AnswerDraft,
}

/// What the owner of the run did with an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AnswerReceipt {
    /// It is recorded.
    Taken,
    /// It is not taken.
    Refused(AnswerRefusal),
}

fn dir(folder: &RunFolder) -> PathBuf {
    folder.inbox().join("answers")
}

fn request_file(folder: &RunFolder, id: &str) -> PathBuf {
    dir(folder).join(format!("{id}.json"))
}

fn receipt_file(folder: &RunFolder, id: &str) -> PathBuf {
    dir(folder).join(format!("{id}.receipt"))
}

/// Leaves an answer for the owner of the run.
pub(crate) fn send(folder: &RunFolder, id: &str, request: &AnswerLetter) -> Result<(), FolderError> {
    make_dir(&dir(folder))?;
    write(&request_file(folder, id), request)
}

/// The answers that wait, by their ids, oldest first.
pub(crate) fn pending(folder: &RunFolder) -> Vec<(String, AnswerLetter)> {
    let Ok(entries) = fs::read_dir(dir(folder)) else { return Vec::new() };
    let files = entries.flatten().map(|entry| entry.path());
    let mut found: Vec<(String, AnswerLetter)> = files
        .filter(|file| file.extension().is_some_and(|extension| extension == "json"))
        .filter_map(|file| Some((file.file_stem()?.to_str()?.to_owned(), read(&file)?)))
        .collect();
    found.sort_by(|(a, _), (b, _)| a.cmp(b));
    found
}

/// Says what became of an answer, and removes it.
pub(crate) fn acknowledge(folder: &RunFolder, id: &str, receipt: &AnswerReceipt) -> Result<(), FolderError> {
    write(&receipt_file(folder, id), receipt)?;
    files::discard_file(&request_file(folder, id));
    Ok(())
}

/// What became of an answer, once it is known. It is told once.
pub(crate) fn take_receipt(folder: &RunFolder, id: &str) -> Option<AnswerReceipt> {
    let file = receipt_file(folder, id);
    let receipt = read(&file)?;
    files::discard_file(&file);
    Some(receipt)
}

/// Takes an answer back; whether it was still there.
pub(crate) fn take_back(folder: &RunFolder, id: &str) -> bool {
    files::remove_file(&request_file(folder, id)).is_ok()
}

/// Writes a file that others see complete or not at all.
fn write(file: &Path, content: &impl Serialize) -> Result<(), FolderError> {
    let json = to_json(content).map_err(FolderError::at("write", file))?;
    let new = file.with_extension("new");
    write_private(&new, &json)?;
    files::rename(&new, file).map_err(FolderError::at("write", file))
}

fn read<T: DeserializeOwned>(file: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(file).ok()?).ok()
}
