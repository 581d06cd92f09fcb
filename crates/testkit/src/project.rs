//! The files of this project, for tests of its rules.
#![expect(clippy::panic, reason = "a test that cannot read the project ends by panicking")]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// The root of the project.
pub fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap_or_else(|error| panic!("{}: {error}", root.display()))
}

/// Every Rust file with its path from the root and its text.
pub fn sources() -> BTreeMap<String, String> {
    files_ending_in(".rs")
}

/// Every Markdown file with its path from the root and its text.
pub fn documents() -> BTreeMap<String, String> {
    files_ending_in(".md")
}

fn files_ending_in(ending: &str) -> BTreeMap<String, String> {
    let (root, mut paths) = (root(), Vec::new());
    collect(&root, ending, &mut paths);
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        (path.strip_prefix(&root).unwrap_or(&path).to_string_lossy().into_owned(), text)
    };
    paths.into_iter().map(read).collect()
}

fn collect(dir: &Path, ending: &str, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            collect(&path, ending, paths);
        } else if name.ends_with(ending) {
            paths.push(path);
        }
    }
}
