//! The test files that are meant: those that are named, and those below directories.
//!
//! Never looks into hidden folders, `target` and `node_modules`, and follows no link to a directory.

use std::{
    fs,
    path::{Path, PathBuf},
};

use recipe::{
    diagnostic::did_you_mean,
    test_file::{is_test_file, test_file_of},
};

use crate::{
    environment::Environment,
    exit::Exit,
    report::{failure::Failure, hints::plain},
};

/// The directories of other tools, which are not searched.
const SKIPPED: [&str; 2] = ["target", "node_modules"];

/// A test file: its path, and how it is called in reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundFile {
    pub(crate) path: PathBuf,
    pub(crate) shown: String,
}

/// All test files that the arguments mean, each once, in order.
pub(super) fn test_files(
    paths: &[String],
    from: &Path,
    environment: &Environment,
) -> Result<Vec<FoundFile>, Failure> {
    let mut found: Vec<PathBuf> = Vec::new();
    if paths.is_empty() {
        search(from, &mut found);
    }
    for asked in paths {
        let path = from.join(asked);
        if path.is_dir() {
            search(&path, &mut found);
        } else {
            found.push(named(&path, asked)?);
        }
    }
    let mut seen = std::collections::HashSet::new();
    found.retain(|path| seen.insert(path.canonicalize().unwrap_or_else(|_| path.clone())));
    let shown = |path: PathBuf| FoundFile { shown: display(&path, &environment.machine.cwd), path };
    Ok(found.into_iter().map(shown).collect())
}

/// A file that was named: a test file, or the recipe that it is for.
fn named(path: &Path, asked: &str) -> Result<PathBuf, Failure> {
    let is_test = is_test_file(asked);
    if path.exists() && is_test {
        return Ok(path.to_path_buf());
    }
    let beside = path.with_file_name(test_file_of(&path.file_name().unwrap_or_default().to_string_lossy()));
    match (path.exists(), is_test) {
        (_, false) if beside.is_file() => Ok(beside),
        (true, _) => Err(Failure::new(Exit::NotFound, format!("`{asked}` has no test file"))
            .hint(format!("its test file would be `{}`", beside.display()))
            .hint(format!(
                "`{}` writes one",
                plain(&format!("test --init {}", runtime::os::shell_word::quote(asked)))
            ))),
        (false, _) => Err(missing(path, asked)),
    }
}

fn missing(path: &Path, asked: &str) -> Failure {
    let failure = Failure::new(Exit::NotFound, format!("test file `{asked}` not found"));
    let entries = path.parent().and_then(|dir| fs::read_dir(dir).ok()).into_iter().flatten().flatten();
    let names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let tests = names.iter().filter(|name| is_test_file(name)).map(String::as_str);
    let wanted = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    match did_you_mean(&wanted, tests) {
        Some(meant) => {
            failure.hint(format!("did you mean `{}`?", Path::new(asked).with_file_name(meant).display()))
        }
        None => failure.hint(format!("`{}` lists the cases below this directory", plain("test --list"))),
    }
}

/// The test files of a directory and below it, in order of their paths.
fn search(dir: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    let mut entries: Vec<_> = entries.flatten().collect();
    entries.sort_by_key(|entry| entry.file_name());
    let mut below = Vec::new();
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            if !name.starts_with('.') && !SKIPPED.contains(&name.as_str()) {
                below.push(entry.path());
            }
        } else if is_test_file(&name) && !name.starts_with('.') && entry.path().is_file() {
            found.push(entry.path());
        }
    }
    below.iter().for_each(|dir| search(dir, found));
}

/// A path for reports: relative to the current directory if it is below it.
pub(super) fn display(path: &Path, cwd: &Path) -> String {
    let short = path.strip_prefix(cwd).ok().map(Path::to_path_buf);
    let canonical =
        || Some(path.canonicalize().ok()?.strip_prefix(cwd.canonicalize().ok()?).ok()?.to_path_buf());
    let shown = short.or_else(canonical).unwrap_or_else(|| path.to_path_buf());
    let shown: PathBuf = shown.components().collect();
    match shown.to_string_lossy() {
        text if text.starts_with('-') => format!("./{text}"),
        text => text.into_owned(),
    }
}
