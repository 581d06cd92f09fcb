//! The step of a live run that a verb works for: its recipe's values, and what the steps around it gave.
//!
//! Reads the journal, and never writes to it.

use std::path::{Path, PathBuf};

use engine::{
    RunState, StepStatus,
    run::frame::{Frame, FrameId, StepState},
};
use recipe::value::Value;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use crate::{
    os::environment::Environment,
    runs::{OpenError, OpenedRun, Runs},
    store::folder::RunFolder,
};

/// A step that called this program.
#[derive(Debug)]
pub struct Caller {
    pub(super) opened: OpenedRun,
    pub(super) attempt: u32,
    pub(super) frame: FrameId,
    /// The state directory.
    pub(super) home: PathBuf,
    pub(super) env: Environment,
}

/// Why there is no such step.
#[derive(Debug, thiserror::Error)]
pub enum CallerError {
    /// The verb was not started by a step.
    #[error("this command works only inside a run: a step of a recipe starts it")]
    NoRun,
    /// The run cannot be read.
    #[error(transparent)]
    Open(#[from] OpenError),
}

impl Caller {
    /// The step that the environment of this process names.
    pub fn open(env: Environment) -> Result<Caller, CallerError> {
        let text = |name: &str| env.get(name).map(|value| value.to_string_lossy().into_owned());
        let (Some(dir), Some(step)) = (text("RECIPE_RUNNER_RUN_DIR"), text("RECIPE_RUNNER_STEP")) else {
            return Err(CallerError::NoRun);
        };
        let folder = RunFolder::at(PathBuf::from(&dir));
        let home = Path::new(&dir).ancestors().nth(2).map(Path::to_owned);
        let (true, Some(home)) = (folder.is_run(), home) else { return Err(CallerError::NoRun) };
        let opened = Runs::at(home.clone()).open(folder)?;
        let (path, attempt) = step.rsplit_once('#').unwrap_or((&step, "1"));
        let Some((frame, _)) = opened.state.locate(path) else { return Err(CallerError::NoRun) };
        let attempt = attempt.parse().unwrap_or(1);
        Ok(Caller { opened, attempt, frame, home, env })
    }

    pub(super) fn state(&self) -> &RunState {
        &self.opened.state
    }

    /// The recipe that the step belongs to.
    pub(super) fn own(&self) -> &Frame {
        &self.state().frames[self.frame]
    }

    pub(super) fn run_dir(&self) -> &Path {
        self.opened.folder.path()
    }

    /// The text of a value of the step's recipe; empty if there is none.
    pub(super) fn text(&self, name: &str) -> String {
        self.own().context.get(name).map(|value| value.render().trim().to_owned()).unwrap_or_default()
    }

    /// A value of the step's recipe that is true, as the inputs of recipes spell it.
    pub(super) fn flag(&self, name: &str) -> bool {
        matches!(self.text(name).to_ascii_lowercase().as_str(), "true" | "yes" | "1")
    }

    /// The texts of a list value; one text with lines or commas counts too.
    pub(super) fn list(&self, name: &str) -> Vec<String> {
        texts(self.own().context.get(name))
    }

    /// The value of another step of the same recipe.
    pub(super) fn sibling<T: DeserializeOwned>(&self, id: &str) -> Option<T> {
        value_in(self.own(), id)
    }

    /// The state of another step of the same recipe.
    pub(super) fn sibling_state(&self, id: &str) -> Option<&StepState> {
        step_in(self.own(), id)
    }

    /// A directory that a value of the step's recipe names.
    pub(super) fn dir(&self, name: &str) -> PathBuf {
        self.opened.header.working_dir.join(self.text(name))
    }

    /// Directories that the runner itself writes to.
    pub(super) fn own_dirs(&self) -> Vec<PathBuf> {
        vec![self.home.clone()]
    }
}

/// A step of a recipe.
pub(super) fn step_in<'a>(frame: &'a Frame, id: &str) -> Option<&'a StepState> {
    frame.index_of(id).map(|at| &frame.steps[at])
}

/// The value that a step of a recipe gave, if it has run and the value has this form.
pub(super) fn value_in<T: DeserializeOwned>(frame: &Frame, id: &str) -> Option<T> {
    let step = step_in(frame, id)?;
    typed(step.value.as_ref().filter(|_| step.status != StepStatus::Skipped)?)
}

/// A value in the form of a type. Text may be JSON.
pub(super) fn typed<T: DeserializeOwned>(value: &Value) -> Option<T> {
    let json = serde_json::to_value(value).ok()?;
    let json = match &json {
        Json::String(text) => serde_json::from_str(text).unwrap_or(json),
        _ => json,
    };
    serde_json::from_value(json).ok()
}

fn texts(value: Option<&Value>) -> Vec<String> {
    let Some(value) = value else { return Vec::new() };
    if let Some(list) = typed::<Vec<Json>>(value) {
        let text = |item: Json| match item {
            Json::String(text) => text,
            other => other.to_string(),
        };
        return list.into_iter().map(text).filter(|text| !text.trim().is_empty()).collect();
    }
    let text = value.render();
    let lines = text.split(['\n', ',']).map(str::trim).filter(|line| !line.is_empty());
    lines.map(str::to_owned).collect()
}
