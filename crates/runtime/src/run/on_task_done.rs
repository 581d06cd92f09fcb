//! Takes in the results of tasks: attempts, hooks, delays and recoveries.

use std::{sync::Arc, time::Duration};

use engine::{
    Event, Outcome, StepStatus,
    run::{
        cause,
        event::{Ended, Stored},
        frame::FrameId,
        message::{not_entered, tried},
    },
};
use recipe::{
    plan::{Step, StepKind},
    value::Value,
};
use tokio::task::JoinError;

use super::{DriveError, Driver, Notice, TaskDone, hooks::HookReport, recover::Refusal, retry::Again};
use crate::{
    steps::shell::attempt::{Finished, read_json, stopped},
    store::{
        folder::{RunFolder, make_dir},
        values,
    },
};

impl Driver<'_> {
    pub(super) fn take(&mut self, done: Result<TaskDone, JoinError>) -> Result<(), DriveError> {
        match done.map_err(DriveError::Task)? {
            TaskDone::Attempt { path, attempt, hook, result } => {
                self.gates.remove(&path);
                self.end_output(&path, result.as_ref().as_ref().ok().map(|finished| &finished.ended));
                self.take_hook(hook)?;
                let finished = (*result)?;
                self.take_attempt(&path, attempt, finished)
            }
            TaskDone::Hook { report } => {
                self.gates.remove(&format!("{}\u{0}{}", report.path, report.hook));
                self.take_hook(Some(report))
            }
            TaskDone::Retry { path, cleared } => {
                self.cleared.extend(cleared);
                self.retry(&path)
            }
            TaskDone::Cleared(cleared) => self.take_cleared(*cleared),
            TaskDone::Enter { path, hook, problem } => {
                self.gates.remove(&path);
                self.take_hook(hook)?;
                match problem {
                    _ if self.halt.is_some() => Ok(()),
                    _ if self.is_stopped(&path) => self.give_up(&path),
                    Some(problem) => self.refuse_entry(&path, problem),
                    None => self.enter(&path),
                }
            }
            TaskDone::NestedTimeout { path, seconds } => self.nested_timeout(&path, seconds),
            TaskDone::Recovered { path, frame, answer, usage } => {
                self.take_recovery(&path, frame, answer, usage)
            }
            TaskDone::Killed => Ok(()),
            TaskDone::Broken(error) => Err(error.into()),
        }
    }

    fn take_hook(&mut self, report: Option<HookReport>) -> Result<(), DriveError> {
        let Some(HookReport { path, hook, error, output }) = report else { return Ok(()) };
        if !output.is_empty() {
            let text = self.mask.text(&output).into_owned();
            self.reporter.notice(Notice::HookOutput { path: &path, text: &text });
        }
        self.record(Event::HookFinished { path, hook: hook.to_owned(), error }, None)
    }

    fn take_attempt(&mut self, path: &str, attempt: u32, mut finished: Finished) -> Result<(), DriveError> {
        let Some((frame, at)) = self.state.locate(path) else { return Ok(()) };
        let step = Arc::clone(&self.state.frames[frame].unit.steps[at]);
        let is_agent = matches!(step.kind, StepKind::Agent(_));
        if is_agent {
            self.agent_is_done(path)?;
        }
        if self.halt.is_some() && finished.ended.outcome == Outcome::Cancelled {
            // a resume runs it again; its usage and its background processes are kept
            let (path, ended) = (path.to_owned(), finished.ended);
            let has_begun =
                self.begun.contains(&path) || ended.usage.as_ref().is_some_and(|used| used.runs > 0);
            return match has_begun {
                true => self.record(Event::AttemptFailed { path, attempt, ended, retry_in_ms: 0 }, None),
                false => self.record(Event::StepNotBegun { path, attempt }, None),
            };
        }
        if is_agent {
            self.note_unknown_cost(frame, path, &finished.ended)?;
            self.show_answer(path, step.store.as_deref(), &finished);
        }
        for message in &finished.notes {
            self.record(Event::Noted { path: Some(path.to_owned()), message: message.clone() }, None)?;
        }
        if self.halt.is_none()
            && self.state.frames[frame].stopped.is_none()
            && let Some(seconds) = self.retry_delay(path, &step, &finished.ended)
        {
            return self.schedule(path, attempt, finished, seconds);
        }
        if let Outcome::RateLimited { tries, .. } = &mut finished.ended.outcome {
            let before = self.state.tries(path);
            *tries = before.failed + before.rate_limited + 1;
            finished.ended.error = finished.ended.error.map(|error| tried(&error, *tries));
        }
        self.finish_step(path, attempt, finished)
    }

    /// Shows the answer of an agent as the output of its step: the transcript is not shown.
    fn show_answer(&mut self, path: &str, name: Option<&str>, finished: &Finished) {
        let is_answer = finished.degraded || finished.ended.outcome == Outcome::Ok;
        let (true, Some(value)) = (is_answer && self.reporter.wants_output(), &finished.value) else {
            return;
        };
        let masked = self.mask.value(name.unwrap_or_default(), value);
        let text = format!("{}\n", masked.render().trim_end_matches('\n'));
        let notice =
            Notice::Output { path, stream: crate::store::outputs::Stream::Stdout, bytes: text.as_bytes() };
        self.reporter.notice(notice);
    }

    fn schedule(
        &mut self,
        path: &str,
        attempt: u32,
        finished: Finished,
        seconds: f64,
    ) -> Result<(), DriveError> {
        let retry_in_ms = (seconds * 1000.0) as u64;
        let ended = finished.ended.clone();
        self.in_vain.insert(path.to_owned(), finished);
        let leavings = self.leavings(path, attempt, &ended);
        self.record(Event::AttemptFailed { path: path.to_owned(), attempt, ended, retry_in_ms }, None)?;
        let mut go = self.gate(path);
        let path = path.to_owned();
        self.tasks.spawn(async move {
            let wait = async {
                tokio::select! {
                    biased;
                    () = tokio::time::sleep(Duration::from_millis(retry_in_ms)) => {}
                    () = stopped(&mut go) => {}
                }
            };
            let (cleared, ()) = tokio::join!(leavings.end(), wait);
            TaskDone::Retry { path, cleared }
        });
        Ok(())
    }

    fn retry(&mut self, path: &str) -> Result<(), DriveError> {
        self.gates.remove(path);
        if self.halt.is_some() {
            return Ok(());
        }
        if self.is_stopped(path) {
            return self.give_up(path);
        }
        self.in_vain.remove(path);
        let attempt = self.state.next_attempt(path);
        let inputs = self.inputs(path);
        self.record(Event::StepStarted { path: path.to_owned(), attempt, inputs }, None)?;
        self.unsettled.push(super::Act::Start { path: path.to_owned(), attempt });
        Ok(())
    }

    /// Records the end of a step, with its value.
    pub(super) fn finish_step(
        &mut self,
        path: &str,
        attempt: u32,
        finished: Finished,
    ) -> Result<(), DriveError> {
        let Finished { mut ended, value, degraded, .. } = finished;
        let status = match (&ended.outcome, degraded) {
            (Outcome::Ok, _) => StepStatus::Completed,
            (Outcome::NotJson { .. }, true) => StepStatus::Degraded,
            _ => StepStatus::Failed,
        };
        ended.value = self.store(path, attempt, value.as_ref())?;
        if status != StepStatus::Failed {
            ended.produced = self.produced(path);
        }
        self.release(path);
        let event = Event::StepFinished { path: path.to_owned(), attempt, status, ended, recovered: false };
        self.record(event, value)
    }

    /// Releases the private files of an attempt, which are not needed after it.
    fn release(&mut self, path: &str) {
        if let (Some(step), Some(_)) = (self.state.step(path), &self.folder) {
            self.spare.forget(&RunFolder::attempt(path, step.attempt));
        }
    }

    pub(super) fn store(
        &self,
        path: &str,
        attempt: u32,
        value: Option<&Value>,
    ) -> Result<Option<Stored>, DriveError> {
        let (Some(folder), Some(value)) = (&self.folder, value) else { return Ok(None) };
        let attempt = if attempt == 0 { 1 } else { attempt };
        let dir = RunFolder::attempt(path, attempt);
        if value.render().len() > 8192 {
            make_dir(&folder.path().join(&dir))?;
        }
        Ok(Some(values::store(folder.path(), &dir, value)?))
    }

    /// Closes a sub-recipe that has ended.
    pub(super) fn close(&mut self, path: &str, id: FrameId) -> Result<(), DriveError> {
        self.closing.remove(&id);
        self.gates.remove(&format!("{path}\u{0}timeout"));
        if let Some(file) = self.contexts.remove(&id) {
            file.discard();
        }
        let Some((frame, at)) = self.state.locate(path) else { return Ok(()) };
        let step = Arc::clone(&self.state.frames[frame].unit.steps[at]);
        let attempt = self.state.frames[frame].steps[at].attempt;
        if self.state.settings.dry_run {
            if !self.state.frames[id].is_complete() {
                return self.nested_close_failed(path, id, None);
            }
            let reason = engine::run::outcome::SkipReason::DryRun;
            return self.record(Event::StepSkipped { path: path.to_owned(), reason }, None);
        }
        // a recipe that timed out has failed, even if all its steps may fail
        if self.state.frames[id].is_complete() && self.state.frames[id].stopped.is_none() {
            let mut finished = Finished::ok();
            match engine::run::decide::result(&self.state.frames[id]) {
                Some(value) => read_json(&step, value.render().into_owned(), "recipe", &mut finished),
                None => finished.value = Some(Value::from("")),
            }
            return self.end_recipe(path, attempt, id, &step, finished);
        }
        // an agent recovers a recipe only after all attempts of the recipe itself
        let ended = Ended::new(self.nested_outcome(id), None);
        // an agent does not replace a person that a step waits for, nor bypass a limit
        let is_final = matches!(ended.outcome, Outcome::NeedsHuman | Outcome::Limit(_));
        let may = self.is_offered(&step) && !is_final && self.halt.is_none() && !self.is_stopped(path);
        if may && !matches!(self.again(path, id, &step, &ended), Again::After(_)) {
            return self.start_recovery(path, id);
        }
        self.nested_close_failed(path, id, None)
    }

    pub(super) fn nested_close_failed(
        &mut self,
        path: &str,
        id: FrameId,
        refusal: Option<Refusal>,
    ) -> Result<(), DriveError> {
        let Some((frame, at)) = self.state.locate(path) else { return Ok(()) };
        let step = Arc::clone(&self.state.frames[frame].unit.steps[at]);
        let mut error = engine::run::decide::nested_error(&self.state, id);
        if let Some(refusal) = &refusal {
            error = format!("{error}\n[recovery] {}", refusal.message);
        }
        let outcome = self.nested_outcome(id);
        // text, as in a recipe that succeeds
        let value = self.state.frames[id].last_value().map(|value| Value::from(value.render().into_owned()));
        let attempt = self.state.frames[frame].steps[at].attempt;
        let mut finished = Finished::refused(outcome, error);
        finished.value = value;
        finished.ended.usage = refusal.and_then(|refusal| refusal.usage);
        self.end_recipe(path, attempt, id, &step, finished)
    }

    /// Ends an attempt at a sub-recipe: a retry follows, or the step ends.
    fn end_recipe(
        &mut self,
        path: &str,
        attempt: u32,
        id: FrameId,
        step: &Step,
        mut finished: Finished,
    ) -> Result<(), DriveError> {
        match self.again(path, id, step, &finished.ended) {
            Again::After(seconds) => return self.schedule(path, attempt, finished, seconds),
            Again::Forbidden(steps) => self.tell_forbidden(path, &steps, &mut finished.ended)?,
            Again::Never => {}
        }
        self.finish_recipe(path, attempt, id, finished)
    }

    /// Records that a recipe step could not enter its recipe.
    pub(super) fn nested_failed(&mut self, path: &str, refusal: cause::Refusal) -> Result<(), DriveError> {
        let name = self.state.locate(path).map_or_else(String::new, |(frame, at)| {
            let frame = &self.state.frames[frame];
            match &frame.unit.steps[at].kind {
                StepKind::Nested { target, .. } => crate::steps::shell::attempt::brief(&target.called(frame)),
                _ => String::new(),
            }
        });
        let attempt = self.state.step(path).map_or(0, |step| step.attempt);
        let error = not_entered(&name, &refusal);
        self.finish_step(path, attempt, Finished::refused(Outcome::Refused(refusal), error))
    }
}
