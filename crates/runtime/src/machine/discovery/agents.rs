//! Agent files: their directories, and a check that a link does not lead out of them.
//!
//! Never reads a file outside the search directories.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use recipe::agent_ref::AgentRef;

use super::Setup;

/// The directories of agent files in a project, relative to the working directory.
const PROJECT_DIRS: &[&str] =
    &[".claude/agents", "amplifier-bundle/agents", "src/amplihack/amplifier-bundle/agents"];

/// All directories with agent files, in order.
pub(super) fn directories(beside: &[PathBuf], setup: &Setup) -> Vec<PathBuf> {
    let mut dirs: Vec<PathBuf> = beside.iter().map(|dir| dir.join("agents")).collect();
    dirs.extend(PROJECT_DIRS.iter().map(|dir| setup.working_dir.join(dir)));
    dirs.extend(setup.home.iter().map(|home| home.join(".amplihack/.claude/agents")));
    dirs.extend(beside.iter().map(|dir| dir.join("../agents")));
    dirs.extend(setup.installation.iter().map(|dir| dir.join("amplifier-bundle/agents")));
    dirs
}

/// The text of the first file that the reference leads to.
pub(super) fn find(reference: &AgentRef, bases: &[PathBuf]) -> Option<Arc<str>> {
    [reference.candidates(), reference.late_candidates()].iter().find_map(|candidates| {
        let bases = bases.iter().filter_map(|base| base.canonicalize().ok());
        let files =
            bases.flat_map(|base| candidates.iter().filter_map(move |candidate| inside(&base, candidate)));
        let bytes = files.filter_map(|file| fs::read(file).ok()).next()?;
        Some(String::from_utf8_lossy(&bytes).into())
    })
}

/// The real file of a candidate, unless it is outside its base.
fn inside(base: &Path, candidate: &str) -> Option<PathBuf> {
    let file = base.join(candidate).canonicalize().ok()?;
    (file.starts_with(base) && file.is_file()).then_some(file)
}
