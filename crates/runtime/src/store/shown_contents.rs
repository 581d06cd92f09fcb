//! The contents that a person sees with a question: copies in the run folder, and one digest over all of them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use engine::run::{
    event::{OutputRef, QuestionPut, ShownPart},
    question::ChangedContent,
};
use recipe::digest::sha256;

use super::{
    folder::{FolderError, RunFolder, make_dir, write_new},
    line_diff::line_diff,
};

/// Something to show.
#[derive(Debug)]
pub(crate) enum ShownSource {
    /// A file, by its name in the recipe and its absolute path.
    File {
        /// The name.
        name: String,
        /// The path.
        source: PathBuf,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// A text.
    Text(String),
}

impl ShownSource {
    /// A file; an error in words if it cannot be read.
    pub(crate) fn file(name: String, source: PathBuf) -> Result<ShownSource, String> {
        match fs::read(&source) {
            Ok(bytes) => Ok(ShownSource::File { name, source, bytes }),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Copies contents into the folder of an attempt.
pub(crate) fn keep(
    run: &Path,
    path: &str,
    attempt: u32,
    contents: &[ShownSource],
) -> Result<Vec<ShownPart>, FolderError> {
    let dir = RunFolder::attempt(path, attempt);
    make_dir(&run.join(&dir))?;
    let mut parts = Vec::new();
    for (at, content) in contents.iter().enumerate() {
        let (name, source, bytes) = match content {
            ShownSource::File { name, source, bytes } => {
                (Some(name.clone()), Some(source.to_string_lossy().into_owned()), bytes.as_slice())
            }
            ShownSource::Text(text) => (None, None, text.as_bytes()),
        };
        let file = dir.join(format!("shown-{}", at + 1));
        write_new(&run.join(&file), bytes)?;
        let file = file.to_string_lossy().into_owned();
        let copy = OutputRef { file, bytes: bytes.len() as u64, sha256: Some(sha256(bytes)) };
        parts.push(ShownPart { name, source, copy });
    }
    Ok(parts)
}

/// The digest of a question with everything that is shown.
pub(crate) fn digest(question: &str, shown: &[ShownPart]) -> String {
    let mut text = format!("{question}\0");
    for part in shown {
        let name = part.name.as_deref().unwrap_or_default();
        text.push_str(&format!("{name}\0{}\0", part.copy.sha256.as_deref().unwrap_or_default()));
    }
    sha256(text.as_bytes())
}

/// The shown contents of a question as they are now.
#[derive(Debug)]
pub(crate) enum ContentsNow {
    /// They are the same.
    Same,
    /// The question with its new contents, and what has changed.
    Changed(Box<QuestionPut>, Vec<ChangedContent>),
    /// A file cannot be read any more.
    Unreadable {
        /// The file, as the recipe names it.
        name: String,
        /// Why it cannot be read.
        why: String,
    },
}

/// Compares the shown contents of a question with those that the person could see.
pub(crate) fn compare(run: &Path, put: &QuestionPut) -> Result<ContentsNow, FolderError> {
    let mut changes = Vec::new();
    let mut contents = Vec::new();
    for part in &put.shown {
        let copy = run.join(&part.copy.file);
        let shown = fs::read(&copy).map_err(FolderError::at("read", &copy))?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (Some(name), Some(source)) = (&part.name, &part.source) else {
            contents.push(ShownSource::Text(text(&shown)));
            continue;
        };
        let source = PathBuf::from(source);
        let bytes = match fs::read(&source) {
            Ok(bytes) => bytes,
            Err(error) => {
                return Ok(ContentsNow::Unreadable { name: name.clone(), why: error.to_string() });
            }
        };
        if part.copy.sha256.as_ref() != Some(&sha256(&bytes)) {
            let difference = line_diff(&text(&shown), &text(&bytes));
            changes.push(ChangedContent { name: name.clone(), difference });
        }
        contents.push(ShownSource::File { name: name.clone(), source, bytes });
    }
    if changes.is_empty() {
        return Ok(ContentsNow::Same);
    }
    let attempt = put.attempt + 1;
    let shown = keep(run, &put.path, attempt, &contents)?;
    let digest = digest(&put.question, &shown);
    let put = QuestionPut { attempt, shown, digest, ..put.clone() };
    Ok(ContentsNow::Changed(Box::new(put), changes))
}
