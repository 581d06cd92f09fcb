//! Carries out the actions of the engine. Decides nothing about a run.

use engine::{
    Event,
    run::{
        actions::{Action, Happening, StepEnd},
        attempt::AttemptResult,
        frame::FrameId,
    },
};
use recipe::{
    plan::{EnsureRule, StepKind, Target},
    value::Value,
};

use super::{
    DriveError, Driver, Notice, declared_files::produced, start_step::StepStart, tasks::timeout_key,
};
use crate::os::clock;
use crate::steps::shell::attempt::read_json;

impl Driver<'_> {
    /// Carries out one action.
    pub(super) fn perform(&mut self, action: Action) -> Result<(), DriveError> {
        match action {
            Action::Record(event) => {
                let looped = self.foreseen_loop(&event);
                self.record(*event, None)?;
                looped.map_or(Ok(()), |(path, what)| self.foretell(&path, &what, None))
            }
            Action::Note { path, message } => self.note(&path, &message),
            Action::FinishStep(end) => self.finish_step(*end),
            Action::StartStep { path, attempt, pre_hook, model } => {
                match StepStart::new(&self.state, path, attempt) {
                    Some(start) => self.start(StepStart { pre_hook, model, ..start }),
                    None => Ok(()),
                }
            }
            Action::EndWork(end) => self.end_work(*end),
            Action::CheckEnsure { path, attempt } => self.check_ensure(path, attempt),
            Action::StartHook { path, hook } => {
                self.start_hook(&path, hook);
                Ok(())
            }
            Action::CloseRecipe { path, frame } => self.close(path, frame),
            Action::AskRecovery { path, frame } => self.ask_for_recovery(&path, frame),
            Action::WaitForRetry { path, milliseconds, leftovers } => {
                let leftovers = self.spec.leftovers(leftovers);
                self.tasks.wait_for_retry(path, milliseconds, leftovers);
                Ok(())
            }
            Action::WaitForIteration { path, due } => {
                let seconds = due.duration_since(clock::now()).as_secs_f64();
                if seconds > 0.0 {
                    self.reporter.notice(Notice::IterationWait { path: &path, seconds });
                }
                self.tasks.wait_for_iteration(path, due);
                Ok(())
            }
            Action::LimitRecipe { path, seconds } => {
                self.tasks.limit_recipe(path, seconds);
                Ok(())
            }
            Action::StopBelow { path, why, spared } => {
                self.tasks.stop_below(&path, &why, &spared);
                Ok(())
            }
            Action::EndLeftovers { leftovers, failed } => {
                let leftovers = self.spec.leftovers(leftovers);
                self.tasks.end_leftovers(leftovers, failed);
                Ok(())
            }
            Action::Diagnose { path, frame } => {
                let class = self.class_of_failure(frame);
                self.happen(Happening::Diagnosed { path, frame, class })
            }
            // the loop returns
            Action::Finish => Ok(()),
        }
    }

    /// Whether an action only leads to further records: a sub-recipe is entered, or has come to its end. What that
    /// leads to outside of the journal waits for the disk, and so for these records too.
    pub(super) fn only_records(&self, action: &Action) -> bool {
        match action {
            Action::StartStep { path, pre_hook, .. } => self.state.planned(path).is_some_and(|step| {
                let is_known = matches!(&step.kind, StepKind::Nested { target: Target::Known { .. }, .. });
                is_known && !pre_hook && !step.ensure.iter().any(EnsureRule::compares_files)
            }),
            Action::CloseRecipe { frame, .. } => self.state.frames[*frame].has_succeeded(),
            Action::Record(_)
            | Action::Note { .. }
            | Action::FinishStep(_)
            | Action::EndWork(_)
            | Action::Diagnose { .. } => true,
            _ => false,
        }
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
