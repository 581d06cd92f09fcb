//! Sessions as a step of a run sees them: the session of its own run, workstreams, and whether work may be split.

use std::path::{Path, PathBuf};

use engine::{
    orchestration::Guard,
    session_tree::{NewSession, SessionKind, SessionLimits, SessionOwner, SessionRefusal, SessionTree},
};
use recipe::digest::sha256;

use super::Runs;
use crate::{
    machine::host::Host,
    os::process,
    store::{
        folder::RunFolder,
        locked_json::ChangedJson,
        session_trees::{SessionError, SessionTrees, owner_of_run},
    },
};

/// The place in a tree from which sessions are registered, according to the environment of this process.
#[derive(Debug)]
pub struct SessionPlace {
    trees: SessionTrees,
    /// The id of the tree; absent if there is none yet.
    pub tree_id: Option<String>,
    /// The depth of a session that begins here.
    pub depth: u64,
    pub limits: SessionLimits,
    /// The runs around this process, outermost first.
    pub runs_around: Vec<String>,
    /// The folder of the run whose step this process belongs to.
    run_dir: Option<PathBuf>,
}

/// Why an orchestrating run may not begin.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// A run around this one does the same.
    #[error("run `{run}` around this one does the same task in the same repository")]
    SameTask {
        /// That run.
        run: String,
    },
    /// It was not registered.
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// The digest of a task in a repository.
pub fn task_digest(task: &str, repository: &Path) -> String {
    sha256(format!("{}\0{}", repository.display(), task.trim()).as_bytes())
}

impl Runs {
    /// The place of this process in its tree.
    pub fn session_place(&self, host: &Host) -> SessionPlace {
        let mut tree = host.tree("");
        tree.chain.pop();
        SessionPlace {
            trees: self.session_trees(host),
            limits: tree.limits(),
            tree_id: Some(tree.id).filter(|id| !id.is_empty()),
            depth: tree.depth,
            runs_around: tree.chain,
            run_dir: host.var(process::RUN_DIR_VARIABLE).filter(|dir| !dir.is_empty()).map(PathBuf::from),
        }
    }
}

impl SessionPlace {
    /// Registers a session, and returns the tree and its depth. A place without a tree begins a new one.
    pub fn register(
        &self,
        id: &str,
        parent: Option<String>,
        kind: SessionKind,
    ) -> Result<(String, ChangedJson<u64>), SessionError> {
        let tree_id = self.tree_id.clone().unwrap_or_else(super::new_id);
        let new = NewSession {
            id: id.to_owned(),
            parent,
            depth: self.depth,
            kind,
            owner: self.owner(),
            task_digest: None,
        };
        let registered = self.trees.register(&tree_id, new, self.limits)?;
        Ok((tree_id, registered))
    }

    /// A new id for a session.
    pub fn new_id(&self) -> String {
        super::new_id()
    }

    /// Registers the run of this step as an orchestrating one, unless a live run around it does the same task.
    pub fn begin_task(&self, task_digest: &str) -> Result<ChangedJson<u64>, TaskError> {
        let (Some(run), Some(tree_id)) = (self.runs_around.last(), &self.tree_id) else {
            return Err(SessionError::TreeId(String::new()).into());
        };
        let others = &self.runs_around[..self.runs_around.len() - 1];
        let tree = self.trees.look(tree_id);
        if let Some(other) = tree.with_task(others, task_digest) {
            return Err(TaskError::SameTask { run: other.to_owned() });
        }
        let new = NewSession {
            id: run.clone(),
            // a nested run is registered already, perhaps below a workstream
            parent: tree.sessions.get(run).map_or(others.last().cloned(), |known| known.parent.clone()),
            depth: self.depth.saturating_sub(1),
            kind: SessionKind::Run,
            owner: self.owner(),
            task_digest: Some(task_digest.to_owned()),
        };
        Ok(self.trees.register(tree_id, new, self.limits)?)
    }

    /// Registers a workstream of the run of this step: one level deeper.
    pub fn begin_workstream(&self, id: &str) -> Result<(), SessionError> {
        let (Some(run), Some(tree_id)) = (self.runs_around.last(), &self.tree_id) else {
            return Err(SessionError::TreeId(String::new()));
        };
        let new = NewSession {
            id: id.to_owned(),
            parent: Some(run.clone()),
            depth: self.depth,
            kind: SessionKind::Workstream,
            owner: self.owner(),
            task_digest: None,
        };
        self.trees.register(tree_id, new, self.limits).map(drop)
    }

    /// Ends a session; without a tree there is none.
    pub fn complete(&self, id: &str) -> Result<(), SessionError> {
        match self.tree_id.as_ref().filter(|tree_id| self.trees.has(tree_id)) {
            Some(tree_id) => self.trees.complete(tree_id, id),
            None => Ok(()),
        }
    }

    /// The tree as it is now.
    pub fn status(&self) -> SessionTree {
        let tree_id = self.tree_id.as_deref().unwrap_or_default();
        self.trees.look(tree_id)
    }

    /// Whether a session may begin here.
    pub fn guard(&self) -> Guard {
        if self.depth >= self.limits.max_depth {
            return Guard::Depth;
        }
        let Some(tree_id) = &self.tree_id else { return Guard::Allowed };
        match self.trees.current(tree_id) {
            Ok(tree) => match tree.value.room(self.depth, self.limits, None) {
                Ok(()) => Guard::Allowed,
                Err(refusal) => guard_of(&refusal),
            },
            Err(_) => Guard::Unregistered,
        }
    }

    /// How many more sessions may begin now.
    pub fn free_sessions(&self) -> u64 {
        self.limits.max_sessions.saturating_sub(self.status().active())
    }

    fn owner(&self) -> SessionOwner {
        self.run_dir.as_ref().map(|dir| owner_of_run(&RunFolder::at(dir.clone()))).unwrap_or_default()
    }
}

fn guard_of(refusal: &SessionRefusal) -> Guard {
    match refusal {
        SessionRefusal::Depth { .. } => Guard::Depth,
        SessionRefusal::Sessions { .. } => Guard::Sessions,
        SessionRefusal::Id(_) => Guard::Unregistered,
    }
}
