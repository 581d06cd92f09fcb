//! The entry point: starting, resuming, cancelling, listing and showing runs.

mod answer;
mod attempts;
mod awaiting_choice;
mod cancel;
mod compile;
mod current_recipe;
mod dynamic_recipe;
mod evidence;
mod fold;
mod guard;
pub mod health;
mod home;
mod id;
mod job;
mod list;
mod missing;
mod open;
mod orphans;
mod owned_run;
mod plan;
mod prompts;
mod remains;
pub mod repro;
mod resume;
mod resume_error;
mod session;
mod start;
mod step_session;
mod verdict;
mod waiting;
mod why;

use std::{collections::BTreeMap, path::PathBuf};

use engine::knowledge::Knowledge;

pub use answer::{AnswerError, AnswerRequest, TakenAnswer};
pub use attempts::{StartedAttempt, StartedAttempts};
pub use awaiting_choice::changed_note;
pub use cancel::{CancelError, CancelRequest, Cancelled};
pub use current_recipe::CurrentRecipe;
pub use engine::resume::Interrupted;
pub use guard::guard;
pub(crate) use id::new_id;
pub use id::new_origin;
pub(crate) use job::Job;
pub use list::{FindError, PrunedRuns, RunSummary};
pub use open::{OpenError, OpenedRun};
pub(crate) use orphans::left_behind;
pub(crate) use owned_run::{Conclusion, OwnedRun};
pub use repro::MAX_PARALLEL;
pub(crate) use resume::Resume;
pub use resume_error::{ResumeError, has_instances};
pub(crate) use start::{ConcurrencyPolicy, Stale, Start};
pub use step_session::{SessionPlace, TaskError, task_digest};

pub use crate::store::folder::Beside;

use crate::{
    run::DriveError,
    steps::performer::Performer,
    store::{folder, workspace::Owner},
};

/// The path of the built-in recipe that orchestrates tasks.
pub const ORCHESTRATOR: &str = "built-in:smart-orchestrator";
/// The path of the built-in recipe that carries out the workstreams of a file.
pub const WORKSTREAMS: &str = "built-in:parallel-workstreams";

/// All runs of a user.
#[derive(Clone, Debug)]
pub struct Runs {
    home: PathBuf,
    /// What is believed about programs and their words.
    knowledge: Knowledge,
    /// Variables of the environment, which may hold secrets that steps have printed.
    variables: BTreeMap<String, String>,
    /// Who performs their attempts.
    performer: Performer,
}

/// Why a run could not start or continue.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The runner itself failed.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// The runner failed after the run had begun; completed steps are saved.
    #[error("{error}")]
    Stopped {
        /// The run.
        run: String,
        /// Its folder.
        dir: PathBuf,
        /// Why it could not continue.
        error: DriveError,
    },
    /// The folder of the run could not be created.
    #[error(transparent)]
    Folder(#[from] folder::FolderError),
    /// The journal could not be created.
    #[error(transparent)]
    Journal(#[from] crate::store::journal::JournalError),
    /// Another live run has the workspace.
    #[error("recipe `{recipe}` is already running here: run `{}`, {}", owner.run_id, folder::owner_words(owner.pid))]
    Busy {
        /// The recipe.
        recipe: String,
        /// The run that owns it.
        owner: Owner,
        /// The folder of its state.
        state: PathBuf,
    },
    /// The event loop could not be started.
    #[error("cannot start the event loop: {0}")]
    Loop(std::io::Error),
}

impl Runs {
    /// The runs below a state directory.
    pub fn at(home: PathBuf) -> Runs {
        Runs {
            home,
            knowledge: Knowledge::built_in(),
            variables: BTreeMap::new(),
            performer: Performer::Process,
        }
    }

    /// The same runs, with the current environment: variables that a recipe names may be secret.
    #[must_use]
    pub fn knowing(self, variables: BTreeMap<String, String>) -> Runs {
        Runs { variables, ..self }
    }

    /// The same runs, with what a user adds to the built-in knowledge.
    #[must_use]
    pub fn believing(self, knowledge: Knowledge) -> Runs {
        Runs { knowledge, ..self }
    }

    /// The same runs, whose attempts are performed by someone else.
    #[must_use]
    pub(crate) fn performed_by(self, performer: Performer) -> Runs {
        Runs { performer, ..self }
    }

    /// Who performs their attempts.
    pub(crate) fn performer(&self) -> &Performer {
        &self.performer
    }

    /// What is believed about programs and their words.
    pub fn knowledge(&self) -> &Knowledge {
        &self.knowledge
    }

    /// The state directory.
    pub(crate) fn home(&self) -> &std::path::Path {
        &self.home
    }

    /// The directory of the run folders. Runs of test cases have one of their own: no list shows them, and none of them
    /// is ever the last run.
    pub fn dir(&self) -> PathBuf {
        self.home.join(match self.performer {
            Performer::Process => "runs",
            Performer::Stub(_) => "test-runs",
        })
    }
}

/// The path of a recipe, valid in any directory.
pub(crate) fn canonical_recipe(path: &str) -> String {
    match std::fs::canonicalize(path) {
        Ok(file) => file.to_string_lossy().into_owned(),
        Err(_) => path.trim_start_matches("built-in:").to_owned(),
    }
}
