//! Carries out the actions of the engine. Decides nothing about a run.

use engine::{
    Event,
    run::{
        actions::{Action, Happening, StepEnd},
        attempt::AttemptResult,
        frame::FrameId,
    },
};
use recipe::value::Value;

use super::{
    DriveError, Driver, Notice, declared_files::produced, dry_run::foreseen_loop, failure_facts::FailedRun,
    start_step::StepStart, tasks::timeout_key,
};
use crate::os::clock;
use crate::steps::shell::attempt::read_json;

impl Driver<'_> {
    /// Carries out one action.
    pub(super) fn perform(&mut self, action: Action) -> Result<(), DriveError> {
        match action {
            Action::Record(event) => {
                let looped = foreseen_loop(&self.state, &event);
                self.record(*event, None)?;
                if let Some((path, what)) = looped {
                    self.foretell(&path, &what, None)?;
                }
            }
            Action::Note { path, message } => self.note(&path, &message)?,
            Action::FinishStep(end) => self.finish_step(*end)?,
            Action::StartStep { path, attempt, pre_hook, model } => {
                if let Some(start) = StepStart::new(&self.state, path, attempt) {
                    self.start(StepStart { pre_hook, model, ..start })?;
                }
            }
            Action::EndWork(end) => {
                let StepEnd { path, attempt, status, mut ended, value, recovered } = *end;
                ended.value = self.store.store(&path, attempt, value.as_ref())?;
                self.record(Event::WorkEnded { path, attempt, status, ended, recovered }, value)?;
            }
            Action::CheckEnsure { path, attempt } => self.check_ensure(path, attempt)?,
            Action::StartHook { path, hook } => {
                let Some((frame, at)) = self.state.locate(&path) else { return Ok(()) };
                self.state.frames[frame].bind(at);
                if let Some(hook) = self.preparer().hook(frame, at, hook) {
                    self.tasks.start_hook(hook);
                }
            }
            Action::CloseRecipe { path, frame } => self.close(path, frame)?,
            Action::AskRecovery { path, frame } => self.ask_for_recovery(&path, frame)?,
            Action::WaitForRetry { path, milliseconds, leftovers } => {
                self.tasks.wait_for_retry(path, milliseconds, self.spec.leftovers(leftovers));
            }
            Action::WaitForIteration { path, due } => {
                let seconds = due.duration_since(clock::now()).as_secs_f64();
                if seconds > 0.0 {
                    self.reporter.notice(Notice::IterationWait { path: &path, seconds });
                }
                self.tasks.wait_for_iteration(path, due);
            }
            Action::LimitRecipe { path, seconds } => self.tasks.limit_recipe(path, seconds),
            Action::StopBelow { path, why, spared } => self.tasks.stop_below(&path, &why, &spared),
            Action::EndLeftovers { leftovers, failed } => {
                self.tasks.end_leftovers(self.spec.leftovers(leftovers), failed);
            }
            Action::Diagnose { path, frame } => {
                let (plan, state, knowledge) = (&self.plan, &self.state, &self.spec.knowledge);
                let dir = self.store.dir();
                let run = FailedRun { plan, state, run_dir: Some(&dir), mask: &self.mask, knowledge };
                let class = run.class_in(frame);
                self.happen(Happening::Diagnosed { path, frame, class })?;
            }
            // the loop returns
            Action::Finish => {}
        }
        Ok(())
    }

    /// Stores the value of a step and records its end.
    fn finish_step(&mut self, end: StepEnd) -> Result<(), DriveError> {
        let StepEnd { path, attempt, status, mut ended, value, recovered } = end;
        if ended.value.is_none() {
            ended.value = self.store.store(&path, attempt, value.as_ref())?;
        }
        if !recovered {
            if status != engine::StepStatus::Failed {
                ended.produced = produced(&self.spec, &self.state, &path);
            }
            let attempt = self.state.step(&path).map(|step| step.attempt);
            attempt.into_iter().for_each(|attempt| self.store.release(&path, attempt));
        }
        let looped = self.state.step(&path).and_then(|step| step.frame);
        let looped = looped.filter(|frame| self.state.frames[*frame].looped.is_some());
        looped.into_iter().for_each(|frame| self.store.discard_context(frame));
        self.record(Event::StepFinished { path, attempt, status, ended, recovered }, value)
    }

    /// Collects the result of a sub-recipe that has ended.
    fn close(&mut self, path: String, frame: FrameId) -> Result<(), DriveError> {
        self.tasks.forget(&timeout_key(&path));
        self.store.discard_context(frame);
        let result = match self.state.planned(&path) {
            Some(step) if self.state.frames[frame].has_succeeded() && !self.state.settings.dry_run => {
                let mut result = AttemptResult::ok();
                match engine::run::decide::result(&self.state.frames[frame]) {
                    Some(value) => read_json(&step, value.render().into_owned(), "recipe", &mut result),
                    None => result.value = Some(Value::from("")),
                }
                Some(Box::new(result))
            }
            _ => None,
        };
        self.happen(Happening::RecipeEnded { path, frame, result })
    }
}
