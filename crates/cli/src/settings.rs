//! Given context values: `--set`, `--set-file` and `--context-file`, typed.
//!
//! Never loses text: a number, a list or an object is shown as it was typed.

use std::{
    io::Read as _,
    path::{Path, PathBuf},
};

use recipe::{
    document,
    typed::typed,
    value::{Map, Value},
};
use runtime::requests::Inputs;

use crate::{args::options::Context, environment::Environment};

/// Why a given value cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SettingsError {
    /// `--set` has no `=`, or nothing before it.
    #[error("`--set {0}` is not of the form KEY=VALUE")]
    NotAnAssignment(String),
    /// `--set-file` has no `=`, or nothing before it.
    #[error("`--set-file {0}` is not of the form KEY=FILE")]
    NotAFile(String),
    /// The file of a value cannot be read.
    #[error("`--set-file {name}`: {} cannot be read: {reason}", path.display())]
    NoText {
        /// The name of the value.
        name: String,
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// A value holds a NUL character.
    #[error("the value of `{0}` has a NUL character, which cannot be passed to a program: remove it")]
    Nul(String),
    /// The context file cannot be read.
    #[error("the context file {} cannot be read: {reason}", path.display())]
    Unreadable { path: PathBuf, reason: String },
}

/// Reads the values that the command line gives or names.
pub(crate) fn read(context: &Context, environment: &Environment) -> Result<Inputs, SettingsError> {
    let files = context.set_file.iter().map(|text| file_assignment(text, environment));
    let texts = context.set.iter().map(|text| assignment(text));
    let own: Vec<(String, Value)> = files.chain(texts).collect::<Result<_, _>>()?;
    let mut shared = Map::new();
    for path in &context.context_files {
        shared.extend(read_file(environment.absolute(path))?);
    }
    let mut all = shared.iter().chain(own.iter().map(|(name, value)| (name, value)));
    match all.find(|(_, value)| value.holds_nul()) {
        Some((name, _)) => Err(SettingsError::Nul(name.clone())),
        None => Ok(Inputs { shared, own }),
    }
}

fn assignment(text: &str) -> Result<(String, Value), SettingsError> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().to_owned(), typed(value))),
        _ => Err(SettingsError::NotAnAssignment(text.to_owned())),
    }
}

/// The text of a file, without the newline at its end.
fn file_assignment(text: &str, environment: &Environment) -> Result<(String, Value), SettingsError> {
    let Some((name, file)) = text.split_once('=').filter(|(name, _)| !name.trim().is_empty()) else {
        return Err(SettingsError::NotAFile(text.to_owned()));
    };
    let (name, path) = (name.trim().to_owned(), environment.absolute(Path::new(file)));
    let bytes = match read_bounded(&path) {
        Ok(bytes) if bytes.len() > LARGEST_FILE => {
            return Err(SettingsError::NoText { name, path, reason: too_large() });
        }
        Ok(bytes) => bytes,
        Err(error) => return Err(SettingsError::NoText { name, path, reason: error.to_string() }),
    };
    match String::from_utf8(bytes) {
        Ok(text) => {
            let text =
                text.strip_suffix('\n').map_or(text.as_str(), |line| line.strip_suffix('\r').unwrap_or(line));
            Ok((name, Value::from(text)))
        }
        Err(_) => Err(SettingsError::NoText { name, path, reason: "it is not UTF-8 text".to_owned() }),
    }
}

fn too_large() -> String {
    format!("it is larger than {} MB", LARGEST_FILE / 1_000_000)
}

/// Largest context file.
const LARGEST_FILE: usize = 100_000_000;

/// The bytes of a file, or a few more than are allowed: some files have no end.
fn read_bounded(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(LARGEST_FILE as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn read_file(path: PathBuf) -> Result<Map, SettingsError> {
    let unreadable = |path, reason| Err(SettingsError::Unreadable { path, reason });
    let bytes = match read_bounded(&path) {
        Ok(bytes) if bytes.len() > LARGEST_FILE => {
            return unreadable(path, too_large());
        }
        Ok(bytes) => bytes,
        Err(error) => return unreadable(path, error.to_string()),
    };
    match document::read(&bytes) {
        Ok(Value::Map(members)) => Ok(Map::clone(&members)),
        Ok(other) => {
            unreadable(path, format!("it must be a map of names and values, but it is {}", other.type_name()))
        }
        Err(error) => unreadable(path, error.to_string()),
    }
}

#[cfg(test)]
mod tests;
