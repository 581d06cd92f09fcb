//! Steps that were stopped from outside, half-way through. Never decides what happens to them.

use super::RunState;
use crate::run::{
    event::Ended,
    frame::{Frame, FrameId, StepState, Stopped},
    outcome::{Outcome, StepStatus, StopCause},
};

impl RunState {
    /// Steps that did not end by themselves: those that were running when their runner stopped, and those that the
    /// runner ended and that ended their recipe. A recipe step is left out if one of its own steps is listed.
    pub fn cut_off_steps(&self) -> Vec<String> {
        let mut paths = self.running_steps();
        self.find_cut_off(0, &mut paths);
        paths
    }

    fn find_cut_off(&self, id: FrameId, paths: &mut Vec<String>) {
        let frame = &self.frames[id];
        for (at, step) in frame.steps.iter().enumerate().filter(|(at, _)| frame.is_fatal(*at)) {
            let known = paths.len();
            step.frame.iter().for_each(|child| self.find_cut_off(*child, paths));
            if paths.len() == known && self.is_cut_off(id, at) {
                paths.push(frame.step_path(at));
            }
        }
    }

    /// Keeps a sub-recipe, and everything in it, from starting anything new.
    pub(super) fn stop(&mut self, path: &str, error: &str, cause: &StopCause) {
        let below = format!("{path}/");
        for id in self.active.clone() {
            let frame = &mut self.frames[id];
            // a recipe that had already failed keeps its own reason
            let is_inside = frame.path == path || frame.path.starts_with(&below);
            if is_inside && frame.failed_at.is_none() {
                let open = frame.open_steps();
                let (error, cause) = (error.to_owned(), cause.clone());
                let stopped = || Stopped { error, cause, by: path.to_owned(), open };
                frame.stopped.get_or_insert_with(stopped);
            }
        }
    }

    /// Why a recipe timed out, as text: which timeout fired.
    pub fn time_is_up(&self, frame: &Frame) -> Option<String> {
        let stopped = frame.stopped.as_ref().filter(|stopped| stopped.cause == StopCause::Timeout)?;
        let (id, at) = self.locate(&stopped.by)?;
        let seconds = self.frames[id].unit.steps[at].timeout?;
        Some(timeout_fired(&stopped.by, seconds))
    }

    /// The steps that were running when the recipe of a step timed out; a recipe step is left out if one of its own
    /// steps is listed.
    pub fn cut_short_in(&self, path: &str) -> Vec<String> {
        let frame = self.step(path).and_then(|step| step.frame).map(|id| &self.frames[id]);
        let Some((frame, stopped)) = frame.and_then(|frame| Some((frame, frame.stopped.as_ref()?))) else {
            return Vec::new();
        };
        let failed = stopped.open.iter().filter(|at| frame.steps[**at].status == StepStatus::Failed);
        failed
            .flat_map(|at| match self.cut_short_in(&frame.step_path(*at)) {
                inner if inner.is_empty() => vec![frame.step_path(*at)],
                inner => inner,
            })
            .collect()
    }

    /// Whether a step of a recipe ended because the runner stopped it.
    pub(crate) fn is_cut_off(&self, id: FrameId, at: usize) -> bool {
        self.frames[id].steps[at].is_cut_off()
    }
}

/// The timeout of a step as a reason.
pub(crate) fn timeout_fired(path: &str, seconds: f64) -> String {
    format!("the timeout of `{path}` ({seconds} s) fired")
}

impl StepState {
    /// Whether it ended because the runner stopped it, and may have done half of its work.
    pub(crate) fn is_cut_off(&self) -> bool {
        self.status == StepStatus::Failed && self.attempt > 0 && self.ended.as_deref().is_some_and(was_ended)
    }
}

fn was_ended(ended: &Ended) -> bool {
    matches!(ended.outcome, Outcome::TimedOut(_) | Outcome::Idle(_) | Outcome::Cancelled | Outcome::Lost)
}
