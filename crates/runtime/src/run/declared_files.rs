//! The produced files of a step, for the evidence. Never changes what the step does.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use engine::{RunState, run::event::OutputRef};
use recipe::graph;

use super::RunSpec;
use crate::{
    steps::file_search::{ENTRIES, search},
    store::values,
};

/// The most files of a step to record.
const FILES: usize = 1_000;

/// The files that a step declares as produced, in their current state.
pub(super) fn produced(spec: &RunSpec<'_>, state: &RunState, path: &str) -> Vec<OutputRef> {
    let Some((frame, at)) = state.locate(path) else { return Vec::new() };
    let step = &state.frames[frame].unit.steps[at];
    // instances declare their own files
    if step.produces.is_empty() || step.looped.is_some() {
        return Vec::new();
    }
    let dir = spec.step_dir(state, frame, at);
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
            let is_match = |file: &str| graph::patterns_meet(pattern, file);
            search(dir, pattern, &is_match, &mut files, &mut left);
        }
    }
    files.iter().take(FILES).filter_map(|file| values::produced_ref(dir, file)).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

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
