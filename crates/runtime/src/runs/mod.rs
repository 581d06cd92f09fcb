//! The way in: starting, resuming, cancelling, listing and showing runs.

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
mod remains;
pub mod repro;
mod request;
mod resume;
mod start;

use std::{collections::BTreeMap, path::PathBuf};

pub use awaiting_choice::changed_note;
pub use cancel::Cancelled;
pub use current_recipe::CurrentRecipe;
pub use engine::resume::Interrupted;
pub use guard::guard;
pub(crate) use id::new_id;
pub(crate) use job::Job;
pub use list::{FindError, RunSummary};
pub use open::{OpenError, OpenedRun};
pub(crate) use orphans::left_behind;
pub(crate) use owned_run::{Ending, OwnedRun};
pub use request::{MAX_PARALLEL, Request, RequestError, Silent};
pub use resume::{Resume, ResumeError};
pub use start::{Beside, ConcurrencyPolicy, Stale, Start};

use crate::{
    report::command_line::CliHint,
    run::DriveError,
    store::{folder, workspace::Owner},
};

/// All runs of a user.
#[derive(Clone, Debug)]
pub struct Runs {
    home: PathBuf,
    reach: CliHint,
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
        Runs { home, reach: CliHint::default(), variables: BTreeMap::new() }
    }

    /// The same runs, with how a command line reaches them.
    #[must_use]
    pub fn reached(self, reach: CliHint) -> Runs {
        Runs { reach, ..self }
    }

    /// The same runs, with the environment in which they are looked at: what a recipe names of it may be secret.
    #[must_use]
    pub fn knowing(self, variables: BTreeMap<String, String>) -> Runs {
        Runs { variables, ..self }
    }

    /// How a command line reaches them.
    pub fn reach(&self) -> &CliHint {
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
