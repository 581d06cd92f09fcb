//! What a run is, and where it runs.

use std::path::{Path, PathBuf};

use engine::{
    RunState,
    knowledge::Knowledge,
    run::{cause::Refusal, frame::FrameId, text::brief},
};
use recipe::check::Loader;

use super::tasks::Leftovers;
use crate::{
    agents::AgentSettings,
    machine::{host::Host, preflight},
    steps::performer::{Performer, StepCall},
    store::{folder::Options, sources::Recording},
};

/// What a run is, and where it runs. Only a recipe that becomes known later changes the host.
pub struct RunSpec<'a> {
    /// The run.
    pub run_id: String,
    /// Its options.
    pub options: Options,
    /// The machine.
    pub host: Host,
    /// Where it works.
    pub working_dir: PathBuf,
    /// The directory that relative paths of its recipes start from.
    pub base: PathBuf,
    /// Loads recipes whose names become known later.
    pub loader: &'a dyn Loader,
    /// Records what the loader finds.
    pub recording: Option<&'a Recording<'a>>,
    /// The generation of sources that it uses.
    pub generation: u32,
    /// How agents are started.
    pub agents: AgentSettings,
    /// What is believed about programs and their words.
    pub knowledge: Knowledge,
    /// Who performs its attempts.
    pub performer: Performer,
}

impl RunSpec<'_> {
    /// The directory that the steps of a frame start from: `-C`, changed by recipe steps with a directory.
    pub(super) fn base_dir(&self, state: &RunState, frame: FrameId) -> PathBuf {
        let around = &state.frames[frame];
        match around.parent {
            None => self.working_dir.clone(),
            // every instance has the directory of its step
            Some((parent, _)) if around.looped.is_some() => self.base_dir(state, parent),
            Some((parent, at)) => self.dir_of(state, parent, at),
        }
    }

    /// The directory of a step, if it can be used.
    pub(super) fn step_dir(&self, state: &RunState, frame: FrameId, at: usize) -> Result<PathBuf, Refusal> {
        let dir = self.dir_of(state, frame, at);
        match preflight::dir_problem(&dir) {
            None => Ok(dir),
            Some(why) => Err(Refusal::Directory { path: brief(&dir.to_string_lossy()), why: why.to_owned() }),
        }
    }

    fn dir_of(&self, state: &RunState, frame: FrameId, at: usize) -> PathBuf {
        let base = self.base_dir(state, frame);
        let frame = &state.frames[frame];
        match &frame.unit.steps[at].working_dir {
            Some(template) => {
                base.join(expand(&template.render(&frame.scope(at)), self.host.home.as_deref()))
            }
            None => base,
        }
    }

    /// A call of a step.
    pub(super) fn call(&self, state: &RunState, path: &str, attempt: u32) -> StepCall {
        StepCall { path: path.to_owned(), attempt, instance: state.instance_at(path) }
    }

    /// Processes of attempts, marked as `path#attempt`.
    pub(super) fn leftovers(&self, attempts: Vec<String>) -> Leftovers {
        Leftovers { run_id: self.run_id.clone(), attempts, grace: self.host.grace }
    }
}

/// A path with `~` replaced by the home directory.
fn expand(path: &str, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix('~'), home) {
        (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
            home.join(rest.trim_start_matches('/'))
        }
        _ => PathBuf::from(path),
    }
}
