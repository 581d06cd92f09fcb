//! The search for files by a pattern. Never follows a link to a directory, and never looks into `.git`.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// The most directory entries to look at.
pub(crate) const ENTRIES: usize = 50_000;

/// Adds the matching files below the part of the pattern without wildcards. `left` is the number of directory entries
/// that may still be looked at; it is 0 if there were too many.
pub(crate) fn search(
    dir: &Path,
    pattern: &str,
    is_match: &dyn Fn(&str) -> bool,
    files: &mut BTreeSet<PathBuf>,
    left: &mut usize,
) {
    let fixed: PathBuf = Path::new(pattern)
        .components()
        .take_while(|part| !part.as_os_str().to_string_lossy().contains(['*', '?', '[']))
        .collect();
    let mut open = vec![fixed];
    while let Some(below) = open.pop() {
        for entry in fs::read_dir(dir.join(&below)).into_iter().flatten().flatten() {
            if *left == 0 {
                return;
            }
            *left -= 1;
            let relative = below.join(entry.file_name());
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && entry.file_name() != ".git" => open.push(relative),
                Ok(kind)
                    if (kind.is_file() || kind.is_symlink()) && is_match(&relative.to_string_lossy()) =>
                {
                    files.insert(relative);
                }
                _ => {}
            }
        }
    }
}
