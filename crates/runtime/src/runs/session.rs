//! The session of a run: registered while the run lives, if another run is around it.
//!
//! For a run that is not inside another one, it costs one look at a file name when the run ends.

use std::path::PathBuf;

use engine::{
    Event,
    run::next::Advice,
    session_tree::{NewSession, SessionKind, SessionRefusal},
};

use super::{OwnedRun, Runs, owned_run::noted};
use crate::{
    machine::{
        host::{Host, Tree},
        preflight::{Need, Problem},
    },
    os::process,
    store::{
        folder::RunFolder,
        nesting_refusal,
        session_trees::{SessionError, SessionTrees, TREE_DIR_VARIABLE, this_process},
    },
};

/// The sessions of a run that this process owns. They end when it is dropped.
#[derive(Debug)]
pub(crate) struct RunSession {
    trees: SessionTrees,
    tree_id: String,
    run_id: String,
    is_registered: bool,
    /// Why it is not registered, or a warning about the tree.
    warning: Option<String>,
}

impl Drop for RunSession {
    fn drop(&mut self) {
        // its steps may have registered it, or workstreams of it
        if self.is_registered || self.trees.has(&self.tree_id) {
            // if this fails, the death of its owner ends it
            let _ = self.trees.complete_run(&self.tree_id, &self.run_id);
        }
    }
}

impl RunSession {
    /// The note about it for the journal, once.
    pub(super) fn take_note(&mut self) -> Option<Event> {
        self.warning.take().map(|warning| noted(Advice::new(warning)))
    }
}

impl Runs {
    /// The trees of sessions: where the environment says, or in the state directory.
    pub fn session_trees(&self, host: &Host) -> SessionTrees {
        let said = host.var(TREE_DIR_VARIABLE).filter(|dir| !dir.is_empty()).map(PathBuf::from);
        let dir = said.map(|dir| std::path::absolute(&dir).unwrap_or(dir));
        SessionTrees::new(dir.unwrap_or_else(|| self.home.join("trees")), self.dir())
    }

    /// Registers a run that begins inside another one, and tells its steps where the tree is. A tree that cannot be
    /// written does not stop it.
    pub(super) fn enter_session(&self, run_id: &str, host: &mut Host) -> Result<RunSession, Problem> {
        let trees = self.session_trees(host);
        host.env.insert(TREE_DIR_VARIABLE.into(), trees.dir().into());
        let tree = host.tree(run_id);
        let mut session = RunSession {
            trees,
            tree_id: tree.id.clone(),
            run_id: run_id.to_owned(),
            is_registered: false,
            warning: None,
        };
        if !tree.is_nested() {
            // an orchestrating run that goes on was registered by its first step
            if session.trees.look(&tree.id).sessions.contains_key(run_id) {
                session.is_registered = true;
                let revived = session.trees.revive(&tree.id, run_id);
                session.warning = match revived {
                    Ok(changed) => changed.warning,
                    Err(error) => Some(uncounted(&error)),
                };
            }
            return Ok(session);
        }
        let before = session.trees.look(&tree.id).sessions.remove(run_id);
        let task_digest = before.and_then(|before| before.task_digest);
        match session.trees.register(
            &tree.id,
            NewSession { task_digest, ..own_session(&tree, run_id) },
            tree.limits(),
        ) {
            Ok(registered) => {
                session.is_registered = true;
                session.warning = registered.warning;
                Ok(session)
            }
            Err(SessionError::Refused(
                refusal @ (SessionRefusal::Depth { .. } | SessionRefusal::Sessions { .. }),
            )) => {
                note_refusal(host, &refusal.to_string());
                Err(Problem { need: Need::Depth, text: refusal.to_string() })
            }
            Err(error) => {
                session.warning = Some(uncounted(&error));
                Ok(session)
            }
        }
    }
}

impl Runs {
    /// Enters a resumed run into its tree, unless it is there already; returns why it may not continue.
    pub(super) fn hold_session(&self, hold: &mut OwnedRun, run_id: &str, host: &mut Host) -> Option<Problem> {
        if hold.session().is_some() {
            host.env.insert(TREE_DIR_VARIABLE.into(), self.session_trees(host).dir().into());
            return None;
        }
        match self.enter_session(run_id, host) {
            Ok(session) => {
                *hold.session() = Some(session);
                None
            }
            Err(problem) => Some(problem),
        }
    }
}

/// Notes in the run around this one that the step of this process was refused a run.
pub(super) fn note_refusal(host: &Host, reason: &str) {
    let (dir, step) = (host.var(process::RUN_DIR_VARIABLE), host.var(process::STEP_VARIABLE));
    if let Some((dir, step)) = dir.zip(step) {
        nesting_refusal::note(&RunFolder::at(PathBuf::from(dir)), &step, reason);
    }
}

fn uncounted(error: &SessionError) -> String {
    format!("this run is not counted as a session: {error}")
}

/// The session of a nested run.
fn own_session(tree: &Tree, run_id: &str) -> NewSession {
    NewSession {
        id: run_id.to_owned(),
        parent: tree.parent().map(str::to_owned),
        depth: tree.depth,
        kind: SessionKind::Run,
        owner: this_process(run_id),
        task_digest: None,
    }
}
