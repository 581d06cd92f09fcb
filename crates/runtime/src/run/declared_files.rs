//! The produced files of a step, for the evidence. Never changes what the step does.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use engine::{RunState, run::event::OutputRef};
use recipe::graph;

use super::RunSpec;
use crate::store::values;

/// The most files of a step to record.
const FILES: usize = 1_000;
/// The most directory entries to look at for them.
const ENTRIES: usize = 50_000;

/// The files that a step declares as produced, in their current state.
pub(super) fn produced(spec: &RunSpec<'_>, state: &RunState, path: &str) -> Vec<OutputRef> {
    let Some((frame, at)) = state.locate(path) else { return Vec::new() };
    let step = &state.frames[frame].unit.steps[at];
    if step.produces.is_empty() {
        return Vec::new();
    }
    let dir = spec.step_dir(state, frame, step);
    dir.map_or_else(|_| Vec::new(), |dir| produced_files(&dir, &step.produces))
}

fn produced_files(dir: &Path, patterns: &[String]) -> Vec<OutputRef> {
    let mut files: BTreeSet<PathBuf> = BTreeSet::new();
    let mut left = ENTRIES;
    for pattern in patterns {
        let path = dir.join(pattern);
        if path.is_file() || path.is_symlink() {
            files.insert(pattern.into());
        } else if pattern.contains(['*', '?']) {
            search(dir, pattern, &mut files, &mut left);
        }
    }
    files.iter().take(FILES).filter_map(|file| values::produced_ref(dir, file)).collect()
}

/// Searches for files below the part of the pattern without wildcards.
fn search(dir: &Path, pattern: &str, files: &mut BTreeSet<PathBuf>, left: &mut usize) {
    let fixed: PathBuf = Path::new(pattern)
        .components()
        .take_while(|part| !part.as_os_str().to_string_lossy().contains(['*', '?']))
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
                    if (kind.is_file() || kind.is_symlink())
                        && graph::patterns_meet(pattern, &relative.to_string_lossy()) =>
                {
                    files.insert(relative);
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_files_are_found() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a.txt", "out/b.txt", "out/c/d.txt", ".git/e.txt"] {
            fs::create_dir_all(dir.path().join(name).parent().unwrap()).unwrap();
            fs::write(dir.path().join(name), name).unwrap();
        }
        for (pattern, expected) in [
            ("a.txt", vec!["a.txt"]),
            ("missing", vec![]),
            ("out/*.txt", vec!["out/b.txt"]),
            ("**/*.txt", vec!["a.txt", "out/b.txt", "out/c/d.txt"]),
        ] {
            let found = produced_files(dir.path(), &[pattern.to_owned()]);
            assert_eq!(
                found.iter().map(|file| file.file.as_str()).collect::<Vec<_>>(),
                expected,
                "{pattern}"
            );
            assert!(found.iter().all(|file| file.sha256.is_some() && file.bytes > 0));
        }
    }
}
