//! Processes that a failed attempt left running. They are ended before the next attempt at the step, and when a recipe
//! fails. Never touches processes that a completed step left for later steps.

use std::time::Duration;

use engine::{
    Outcome,
    run::{event::Ended, frame::FrameId},
};
use tokio::task::JoinSet;

use super::{DriveError, Driver, TaskDone};
use crate::{
    os::process::{self, Filter, Survivor},
    steps::shell::attempt::Finished,
};

/// Processes that are not needed any more.
pub(super) struct Leavings {
    run: String,
    /// The steps that they belong to, as they are marked: `path#attempt`.
    steps: Vec<String>,
    grace: Duration,
}

impl Leavings {
    /// Ends them; returns those that are gone.
    pub(super) async fn end(self) -> Vec<Survivor> {
        let Leavings { run, steps, grace } = self;
        let mut sweeps = JoinSet::new();
        for step in steps {
            let filter = Filter { step: Some(step), ..Filter::run(&run) };
            sweeps.spawn(async move { process::end_marked(&filter, grace).await });
        }
        let mut gone = Vec::new();
        while let Some(swept) = sweeps.join_next().await {
            // processes that could not be ended are searched for again at the end of the run
            gone.extend(swept.into_iter().flat_map(|swept| swept.gone().cloned().collect::<Vec<_>>()));
        }
        gone
    }
}

/// A recipe step that failed, with all its processes ended.
pub(crate) struct Cleared {
    path: String,
    attempt: u32,
    frame: FrameId,
    finished: Finished,
    processes: Vec<Survivor>,
}

impl Driver<'_> {
    /// The processes that a failed attempt at a step left running, including those of its sub-recipe.
    pub(super) fn leavings(&self, path: &str, attempt: u32, ended: &Ended) -> Leavings {
        let mut steps = self.state.left_running_below(path);
        steps.extend(ended.left_running.then(|| format!("{path}#{attempt}")));
        Leavings { run: self.run_id.clone(), steps, grace: self.host.grace }
    }

    /// Records the end of a recipe step; if it failed, only after all its processes have ended.
    pub(super) fn finish_recipe(
        &mut self,
        path: &str,
        attempt: u32,
        frame: FrameId,
        finished: Finished,
    ) -> Result<(), DriveError> {
        let leavings = self.leavings(path, attempt, &finished.ended);
        let is_done = finished.degraded || finished.ended.outcome == Outcome::Ok;
        if is_done || leavings.steps.is_empty() {
            return self.finish_step(path, attempt, finished);
        }
        self.closing.insert(frame);
        let path = path.to_owned();
        self.tasks.spawn(async move {
            let processes = leavings.end().await;
            TaskDone::Cleared(Box::new(Cleared { path, attempt, frame, finished, processes }))
        });
        Ok(())
    }

    pub(super) fn take_cleared(&mut self, cleared: Cleared) -> Result<(), DriveError> {
        let Cleared { path, attempt, frame, finished, processes } = cleared;
        self.closing.remove(&frame);
        self.cleared.extend(processes);
        self.finish_step(&path, attempt, finished)
    }
}
