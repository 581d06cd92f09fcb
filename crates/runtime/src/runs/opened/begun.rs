//! Whether a run without records has begun steps all the same: then its journal is lost, and everything would be done
//! again. Never changes what is stored.

use std::{
    collections::{BTreeSet, HashMap},
    fs,
    path::Path,
};

use recipe::plan::Unit;

use crate::{
    folder::{RunFolder, file_name},
    journal::JournalError,
};

/// What is wrong with the journal of such a run.
pub(super) fn lost_journal(folder: &RunFolder) -> JournalError {
    let reason = "it holds no record, although the run has begun steps".to_owned();
    JournalError::Damaged { path: folder.journal(), line: 1, reason }
}

/// Whether steps left behind what only records can have begun. The folders of the first steps prove nothing: they are
/// made while the first records are on their way to disk. But nothing runs, and no other step has its turn, before
/// these are there.
pub(super) fn has_begun(folder: &RunFolder, root: &Unit) -> bool {
    let levels = levels(root);
    let mut seen = BTreeSet::new();
    for entry in fs::read_dir(folder.steps()).into_iter().flatten().flatten() {
        let level = entry.file_name().to_str().and_then(|name| levels.get(name)).copied();
        seen.insert(level);
        if level.is_none() || has_output(&entry.path()) {
            return true;
        }
    }
    seen.len() > 1
}

/// The folders of steps, each with the number of the group that has its turn together.
fn levels(root: &Unit) -> HashMap<String, usize> {
    let mut number = 0;
    let mut levels = HashMap::new();
    for (at, step) in root.steps.iter().enumerate() {
        let is_joined = at > 0 && step.group.is_some() && step.group == root.steps[at - 1].group;
        number += usize::from(!is_joined);
        levels.insert(file_name(&step.id), number);
    }
    levels
}

/// Whether a step was tried again, or has printed something.
fn has_output(step: &Path) -> bool {
    let printed = |name: &str| fs::metadata(step.join("1").join(name)).is_ok_and(|meta| meta.len() > 0);
    step.join("2").exists() || printed("stdout") || printed("stderr")
}
