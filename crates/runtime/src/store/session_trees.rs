//! The trees of sessions on disk, one file each.
//!
//! Decides nothing about a session: the rules are those of `engine`. An owner is alive by its process or by the lock of
//! its run, never by its age.

use std::path::{Path, PathBuf};

use engine::session_tree::{NewSession, SessionLimits, SessionOwner, SessionRefusal, SessionTree, is_id};

use super::{
    folder::RunFolder,
    locked_json::{ChangedJson, LockedJson, LockedJsonError},
};
use crate::os::{
    clock,
    process::{self, ProcessId},
};

/// The environment variable with the directory of the trees.
pub const TREE_DIR_VARIABLE: &str = "AMPLIHACK_SESSION_TREE_DIR";

/// The directory of the trees, and that of the runs whose locks tell whether they are alive.
#[derive(Clone, Debug)]
pub struct SessionTrees {
    dir: PathBuf,
    runs: PathBuf,
}

/// Why a tree was not changed.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// A rule refuses the session.
    #[error(transparent)]
    Refused(#[from] SessionRefusal),
    /// The id of the tree cannot be the name of a file.
    #[error("AMPLIHACK_TREE_ID: `{0}` is not a valid id: use 1 to 64 letters, digits, `_` and `-`")]
    TreeId(String),
    /// Its file was not changed.
    #[error(transparent)]
    File(#[from] LockedJsonError),
}

impl SessionTrees {
    /// The trees in `dir`, with the runs below a state directory.
    pub fn new(dir: PathBuf, runs: PathBuf) -> SessionTrees {
        SessionTrees { dir, runs }
    }

    /// The directory of the trees.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Whether a tree has a file: a session was registered in it.
    pub fn has(&self, tree_id: &str) -> bool {
        is_id(tree_id) && self.file(tree_id).path().exists()
    }

    /// Registers a session, and returns its depth.
    pub fn register(
        &self,
        tree_id: &str,
        new: NewSession,
        limits: SessionLimits,
    ) -> Result<ChangedJson<u64>, SessionError> {
        let changed = self.change(tree_id, |tree| tree.register(new, limits, clock::now()))?;
        Ok(ChangedJson { value: changed.value?, warning: changed.warning })
    }

    /// Ends a session.
    pub fn complete(&self, tree_id: &str, id: &str) -> Result<(), SessionError> {
        self.change(tree_id, |tree| tree.complete(id, clock::now())).map(drop)
    }

    /// Ends all sessions of a run.
    pub fn complete_run(&self, tree_id: &str, run_id: &str) -> Result<(), SessionError> {
        self.change(tree_id, |tree| tree.complete_run(run_id, clock::now())).map(drop)
    }

    /// Makes the sessions of a run that this process continues active again.
    pub fn revive(&self, tree_id: &str, run_id: &str) -> Result<ChangedJson<()>, SessionError> {
        let owner = this_process(run_id);
        self.change(tree_id, |tree| tree.revive(run_id, &owner))
    }

    /// The tree as it is now, with dead owners marked. Writes the file, so that the answer proves that it can.
    pub fn current(&self, tree_id: &str) -> Result<ChangedJson<SessionTree>, SessionError> {
        self.change(tree_id, |tree| tree.clone())
    }

    /// The tree as it is now, without writing anything; an unreadable one is empty.
    pub fn look(&self, tree_id: &str) -> SessionTree {
        let mut tree = self.file(tree_id).look().unwrap_or_else(|| SessionTree::new(tree_id));
        self.settle(&mut tree);
        tree
    }

    /// Changes a tree, after dead owners are marked.
    fn change<T>(
        &self,
        tree_id: &str,
        change: impl FnOnce(&mut SessionTree) -> T,
    ) -> Result<ChangedJson<T>, SessionError> {
        if !is_id(tree_id) {
            return Err(SessionError::TreeId(tree_id.to_owned()));
        }
        let changed = self.file(tree_id).change(SessionTree::new(tree_id), |tree| {
            self.settle(tree);
            change(tree)
        });
        Ok(changed?)
    }

    fn settle(&self, tree: &mut SessionTree) {
        let boot = process::boot_id();
        tree.settle(clock::now(), |owner| self.is_alive(owner, boot.as_deref()));
    }

    fn file(&self, tree_id: &str) -> LockedJson {
        LockedJson::new(self.dir.clone(), tree_id)
    }

    fn is_alive(&self, owner: &SessionOwner, boot: Option<&str>) -> bool {
        let is_of_this_boot = owner.boot_id.is_none() || owner.boot_id.as_deref() == boot;
        let has_process = |pid: u32| match (i32::try_from(pid), owner.pid_start) {
            (Ok(pid), Some(start_time)) => ProcessId { pid, start_time }.is_alive(),
            _ => process::is_running(pid),
        };
        let is_locked = |run: &String| is_id(run) && RunFolder::at(self.runs.join(run)).owner().is_some();
        (is_of_this_boot && owner.pid.is_some_and(has_process))
            || owner.run_id.as_ref().is_some_and(is_locked)
    }
}

/// This process as the owner of a session of its run.
pub fn this_process(run_id: &str) -> SessionOwner {
    owned_by(ProcessId::current(), run_id)
}

/// The process that owns a run, as the owner of a session; without a process if the run has none.
pub fn owner_of_run(folder: &RunFolder) -> SessionOwner {
    let run_id = folder.id();
    match folder.owner().and_then(process::identify) {
        Some(process) => owned_by(process, &run_id),
        None => SessionOwner { run_id: Some(run_id), ..SessionOwner::default() },
    }
}

fn owned_by(process: ProcessId, run_id: &str) -> SessionOwner {
    SessionOwner {
        run_id: Some(run_id.to_owned()),
        pid: u32::try_from(process.pid).ok(),
        pid_start: (process.start_time > 0).then_some(process.start_time),
        boot_id: process::boot_id(),
    }
}

#[cfg(test)]
mod tests;
