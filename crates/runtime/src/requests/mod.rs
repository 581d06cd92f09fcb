//! The way in: one request type per action, the same from every surface.
//!
//! A surface translates its input into a request and shows the result. Everything in between is decided here and
//! below; the origin of a request never changes it.

mod answer;
mod auto_fix;
mod cancel;
mod given_answers;
mod inputs;
mod plan_resume;
mod repair_decision;
mod resume;
mod run;

use std::path::PathBuf;

use recipe::{
    check::{Checked, LoadError},
    plan::Plan,
};

pub use crate::{
    runs::{AnswerRequest, Beside, CancelRequest},
    store::folder::{AgentChoice, AskOptions, Questions, RepairReview, RequestOptions, TagFilter},
};
pub use answer::{AfterAnswer, AnswerOutcome, AnswerRequestError};
pub use inputs::Inputs;
pub use plan_resume::PlannedResume;
pub use resume::ResumeRequest;
pub use run::RunRequest;

use crate::{
    machine::local::SettingError,
    repair::{AcceptError, AutoFixError},
    run::{Notice, Reporter},
    runs::{FindError, OpenError, ResumeError, RunError},
    store::folder::RunFolder,
};

/// The surface that made a request, while the request is carried out.
pub trait Listener {
    /// The recipe is valid; it may have warnings.
    fn checked(&mut self, checked: &Checked);
    /// Something on this machine cannot be used, and is ignored.
    fn warning(&mut self, text: &str);
    /// Something was done before the run continues.
    fn note(&mut self, text: &str);
    /// The reporter of the run, which starts now.
    fn reporter(&mut self) -> Box<dyn Reporter + '_>;
}

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// The recipe does not exist, or cannot be read.
    #[error("{}", load_words(recipe, error))]
    Recipe {
        /// The requested name.
        recipe: String,
        /// Why not.
        error: LoadError,
    },
    /// The recipe is not valid.
    #[error("recipe `{recipe}` is invalid: {}", problems(checked))]
    Invalid {
        /// The requested name.
        recipe: String,
        /// All its problems.
        checked: Box<Checked>,
    },
    /// A setting cannot be used.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// There is no such run.
    #[error(transparent)]
    Find(#[from] FindError),
    /// The run cannot be read.
    #[error("{error}")]
    Open {
        /// Its folder.
        folder: RunFolder,
        /// Why not.
        error: OpenError,
    },
    /// The run works in another directory than the requested one.
    #[error("run `{run}` works in `{}` and cannot be resumed in `{}`", own.display(), asked.display())]
    OtherDirectory {
        /// The run.
        run: String,
        /// Its directory.
        own: PathBuf,
        /// The requested one.
        asked: PathBuf,
    },
    /// The run belongs to another recipe than the requested one.
    #[error("run `{run}` is a run of `{own}`, not of `{asked}`")]
    OtherRecipe {
        /// The run.
        run: String,
        /// The name of its recipe.
        own: String,
        /// The name of the requested one.
        asked: String,
        /// The file of the requested one.
        file: PathBuf,
    },
    /// The waiting repair cannot be accepted.
    #[error(transparent)]
    Accept(#[from] AcceptError),
    /// The run cannot be resumed.
    #[error(transparent)]
    Resume(#[from] ResumeError),
    /// The runner itself failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Auto-fix itself failed.
    #[error(transparent)]
    AutoFix(AutoFixError),
}

impl From<AutoFixError> for RequestError {
    fn from(error: AutoFixError) -> RequestError {
        match error {
            AutoFixError::Run(error) => RequestError::Run(error),
            AutoFixError::Resume(error) => RequestError::Resume(error),
            error @ (AutoFixError::Open(_) | AutoFixError::Folder(_)) => RequestError::AutoFix(error),
        }
    }
}

fn load_words(recipe: &str, error: &LoadError) -> String {
    match error {
        LoadError::NotFound { searched } => {
            format!("recipe `{recipe}` not found; looked in {}", searched.join(", "))
        }
        LoadError::Unreadable { path, reason } => {
            format!("recipe `{recipe}` cannot be read: {path}: {reason}")
        }
    }
}

fn problems(checked: &Checked) -> String {
    checked.diagnostics.iter().map(|problem| problem.message.as_str()).collect::<Vec<_>>().join("; ")
}

/// The plan of a valid recipe, whose warnings the listener gets.
fn accept(recipe: &str, checked: Checked, listener: &mut dyn Listener) -> Result<Plan, RequestError> {
    if checked.plan.is_some() {
        listener.checked(&checked);
    }
    match checked {
        Checked { plan: Some(plan), .. } => Ok(plan),
        refused => Err(RequestError::Invalid { recipe: recipe.to_owned(), checked: Box::new(refused) }),
    }
}

/// A surface that shows nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Listener for Silent {
    fn checked(&mut self, _: &Checked) {}

    fn warning(&mut self, _: &str) {}

    fn note(&mut self, _: &str) {}

    fn reporter(&mut self) -> Box<dyn Reporter + '_> {
        Box::new(Silent)
    }
}

impl Reporter for Silent {
    fn notice(&mut self, _: Notice<'_>) {}

    fn tick(&self) -> Option<std::time::Duration> {
        None
    }

    fn wants_output(&self) -> bool {
        false
    }
}
