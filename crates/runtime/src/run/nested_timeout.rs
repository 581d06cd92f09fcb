//! The timeout of a recipe step: what it ends, and the error of every step that it ended. Never touches anything
//! outside the sub-recipe.

use std::sync::Arc;

use engine::{
    Event, Outcome, StepStatus,
    run::{
        message::{not_entered, step_failed},
        outcome::StopCause,
    },
};
use recipe::plan::StepKind;

use super::{DriveError, Driver, TaskDone};
use crate::steps::shell::attempt::{Finished, Go, duration, number, stopped};

impl Driver<'_> {
    /// Starts the timeout of a recipe step. As for every step, the hook before it does not count.
    pub(super) fn limit_recipe(&mut self, path: &str, seconds: f64) {
        let mut go = self.gate(&format!("{path}\u{0}timeout"));
        let path = path.to_owned();
        self.tasks.spawn(async move {
            tokio::select! {
                biased;
                () = tokio::time::sleep(duration(seconds)) => {}
                () = stopped(&mut go) => return TaskDone::NestedTimeout { path, seconds: 0.0 },
            }
            TaskDone::NestedTimeout { path, seconds }
        });
    }

    /// The timeout of a recipe step has passed: no step of its recipe starts any more, and running ones end.
    pub(super) fn nested_timeout(&mut self, path: &str, seconds: f64) -> Result<(), DriveError> {
        let is_running = self.state.step(path).is_some_and(|step| step.status == StepStatus::Running);
        if seconds == 0.0 || !is_running || self.halt.is_some() {
            return Ok(());
        }
        let error = Outcome::TimedOut(seconds).cause().unwrap_or_default();
        self.record(Event::RecipeStopped { path: path.to_owned(), error, cause: StopCause::Timeout }, None)?;
        let below = format!("{path}/");
        let late = Go::Late(Arc::from(format!("the timeout of `{path}` ({} s) fired", number(seconds))));
        for (key, gate) in &self.gates {
            if key.starts_with(&below) {
                // a step that is already being stopped keeps its first reason
                gate.send_if_modified(|go| match go {
                    Go::On => {
                        *go = late.clone();
                        true
                    }
                    _ => false,
                });
            }
        }
        self.release_waiting()
    }

    /// Whether the recipe around a step was stopped.
    pub(super) fn is_stopped(&self, path: &str) -> bool {
        self.state.locate(path).is_some_and(|(frame, _)| self.state.frames[frame].stopped.is_some())
    }

    /// Ends a step that was about to start or to be retried, because the recipe around it was stopped. The result of
    /// its last attempt is kept.
    pub(super) fn give_up(&mut self, path: &str) -> Result<(), DriveError> {
        let Some((frame, at)) = self.state.locate(path) else { return Ok(()) };
        let attempt = self.state.frames[frame].steps[at].attempt;
        let why = self.state.time_is_up(&self.state.frames[frame]);
        let Some(mut finished) = self.in_vain.remove(path) else {
            let error = self.not_begun(path);
            return self.finish_step(path, attempt, Finished::refused(Outcome::Cancelled, error));
        };
        if let (Some(error), Some(why)) = (&mut finished.ended.error, why) {
            error.push_str(&format!("\nnot tried again: {why}"));
        }
        // it was counted when the attempt failed
        finished.ended.usage = None;
        self.finish_step(path, attempt, finished)
    }

    /// The error of a step that does not start because the recipe around it was stopped.
    pub(super) fn not_begun(&self, path: &str) -> String {
        let Some((frame, at)) = self.state.locate(path) else { return String::new() };
        let frame = &self.state.frames[frame];
        let why = match (self.state.time_is_up(frame), &frame.stopped) {
            (Some(why), _) => format!("not begun because {why}"),
            (None, Some(stopped)) => stopped.error.clone(),
            (None, None) => String::new(),
        };
        match &frame.unit.steps[at].kind {
            StepKind::Nested { target, .. } => {
                not_entered(&crate::steps::shell::attempt::brief(&target.called(frame)), why)
            }
            kind => step_failed(kind.word(), why),
        }
    }
}
