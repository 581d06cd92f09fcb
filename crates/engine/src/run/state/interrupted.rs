//! Steps that were stopped from outside, half-way through. Never decides what happens to them.

use std::collections::HashSet;

use super::RunState;
use crate::run::{
    event::Ended,
    frame::{Frame, FrameId, StepState, Stopped},
    outcome::{Outcome, StepStatus, StopCause},
    step_path::{is_below, outward},
};

impl RunState {
    /// Steps that did not end by themselves: those that were running when their runner stopped, and those that the
    /// runner ended and that ended their recipe. A recipe step is left out if one of its own steps is listed.
    pub fn cut_off_steps(&self) -> Vec<String> {
        let mut paths = self.running_steps();
        paths.retain(|path| !self.awaits_proof(path));
        self.find_cut_off(0, &mut paths);
        paths
    }

    /// Interrupted steps about which a person has to decide: those that are not idempotent. If a recipe step around one is
    /// not idempotent, that step is meant, the outermost one.
    pub fn undecided_steps(&self) -> Vec<String> {
        let is_for_once =
            |path: &&str| self.planned(path).is_some_and(|step| !step.idempotent && step.looped.is_none());
        let mut seen = HashSet::new();
        let cut_off = self.cut_off_steps();
        let steps = cut_off.iter().filter_map(|path| outward(path).filter(is_for_once).last());
        steps.filter(|path| seen.insert(*path)).map(str::to_owned).collect()
    }

    fn find_cut_off(&self, id: FrameId, paths: &mut Vec<String>) {
        let frame = &self.frames[id];
        // a recipe that has failed cleans up before its step fails
        let is_meant = |at: usize| frame.is_fatal(at) || frame.steps[at].status == StepStatus::Running;
        for (at, step) in frame.steps.iter().enumerate().filter(|(at, _)| is_meant(*at)) {
            let known = paths.len();
            step.frame.iter().for_each(|child| self.find_cut_off(*child, paths));
            if paths.len() == known && self.is_cut_off(id, at) {
                paths.push(frame.step_path(at));
            }
        }
    }

    /// Keeps a sub-recipe, and everything in it, from starting anything new.
    pub(super) fn stop(&mut self, path: &str, error: &str, cause: &StopCause) {
        let spared = self.cleanup_below(path);
        for id in self.active.clone() {
            let frame = &mut self.frames[id];
            let is_spared = spared.iter().any(|step| is_at_or_below(&frame.path, step));
            // a recipe that had already failed keeps its own reason
            let is_inside = !is_spared && is_at_or_below(&frame.path, path);
            if is_inside && frame.failed_at.is_none() {
                let open = frame.open_steps();
                let (error, cause) = (error.to_owned(), cause.clone());
                let stopped = || Stopped { error, cause, by: path.to_owned(), open };
                frame.stopped.get_or_insert_with(stopped);
            }
        }
    }

    /// The cleanup steps that are running inside the recipe of a step.
    pub(crate) fn cleanup_below(&self, path: &str) -> Vec<String> {
        let frames = self.active.iter().map(|id| &self.frames[*id]);
        let frames = frames.filter(|frame| frame.cleanup.is_some());
        let inside = frames.filter(|frame| is_at_or_below(&frame.path, path));
        let running = inside.flat_map(|frame| {
            frame.open_steps().into_iter().map(|at| frame.step_path(at)).collect::<Vec<_>>()
        });
        running.collect()
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
        let frame = self.step(path).and_then(|step| step.frame);
        frame.map(|frame| self.cut_short_in_frame(frame)).unwrap_or_default()
    }

    /// The same for a recipe in execution.
    pub(crate) fn cut_short_in_frame(&self, id: FrameId) -> Vec<String> {
        let frame = &self.frames[id];
        let Some(stopped) = &frame.stopped else { return Vec::new() };
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

/// Whether a path is that of a step, or inside it.
pub(crate) fn is_at_or_below(path: &str, step: &str) -> bool {
    path == step || is_below(path, step)
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
