//! The way in: starting, resuming, cancelling, listing and showing runs.

mod cancel;
mod compile;
mod evidence;
mod fold;
mod guard;
pub mod health;
mod hold;
mod home;
mod id;
mod in_force;
mod job;
mod late;
mod missing;
mod opened;
mod orphans;
mod person;
mod plan;
mod remains;
pub mod repro;
mod request;
mod resume;
mod start;
mod stored;

use std::{collections::BTreeMap, path::PathBuf};

pub use cancel::Cancelled;
pub use engine::resume_plan::Interrupted;
pub use guard::guard;
pub(crate) use hold::{Ending, Hold};
pub(crate) use id::new_id;
pub use in_force::InForce;
pub(crate) use job::Job;
pub use opened::{OpenError, Shown};
pub(crate) use orphans::left_behind;
pub use person::changed_note;
pub use request::{MAX_PARALLEL, Request, RequestError, Silent};
pub use resume::{Resume, ResumeError};
pub use start::{Beside, Others, Stale, Start};
pub use stored::{FindError, RunSummary};

use crate::{
    report::command_line::Reach,
    run::DriveError,
    store::{folder, workspace::Owner},
};

/// All runs of a user.
#[derive(Clone, Debug)]
pub struct Runs {
    home: PathBuf,
    reach: Reach,
    /// Variables of the environment, which may hold secrets that steps have printed.
    variables: BTreeMap<String, String>,
}

/// Why a run could not be started, or could not go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The runner itself could not do its work.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// The same with a run that had begun: what it did is kept.
    #[error("{error}")]
    Stopped {
        /// The run.
        run: String,
        /// Its folder.
        dir: PathBuf,
        /// Why it could not go on.
        error: DriveError,
    },
    /// The folder of the run could not be made.
    #[error(transparent)]
    Folder(#[from] folder::FolderError),
    /// The journal could not be made.
    #[error(transparent)]
    Journal(#[from] crate::store::journal::JournalError),
    /// Another live run has the workspace.
    #[error("recipe `{recipe}` is already running here: run `{}`, {}", owner.run_id, folder::owner_words(owner.pid))]
    Busy {
        /// The recipe.
        recipe: String,
        /// Who has it.
        owner: Owner,
        /// Where its state is.
        state: PathBuf,
    },
    /// The event loop of the operating system could not be had.
    #[error("cannot start the event loop: {0}")]
    Loop(std::io::Error),
}

impl Runs {
    /// The runs below a state directory.
    pub fn at(home: PathBuf) -> Runs {
        Runs { home, reach: Reach::default(), variables: BTreeMap::new() }
    }

    /// The same runs, with how a command line reaches them.
    #[must_use]
    pub fn reached(self, reach: Reach) -> Runs {
        Runs { reach, ..self }
    }

    /// The same runs, with the environment in which they are looked at: what a recipe names of it may be secret.
    #[must_use]
    pub fn knowing(self, variables: BTreeMap<String, String>) -> Runs {
        Runs { variables, ..self }
    }

    /// How a command line reaches them.
    pub fn reach(&self) -> &Reach {
        &self.reach
    }

    /// The state directory.
    pub(crate) fn home(&self) -> &std::path::Path {
        &self.home
    }

    /// Where the folders of runs live.
    pub fn dir(&self) -> PathBuf {
        self.home.join("runs")
    }
}

/// The path of a recipe that works from any directory.
pub(crate) fn canonical_recipe(path: &str) -> String {
    match std::fs::canonicalize(path) {
        Ok(file) => file.to_string_lossy().into_owned(),
        Err(_) => path.trim_start_matches("built-in:").to_owned(),
    }
}
