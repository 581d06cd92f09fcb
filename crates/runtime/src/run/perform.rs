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
    plan::{StepKind, Target},
    value::Value,
};

use super::{DriveError, Driver, declared_files::produced, start_step::StepStart, tasks::timeout_key};
use crate::steps::shell::attempt::read_json;

impl Driver<'_> {
    /// Carries out one action.
    pub(super) fn perform(&mut self, action: Action) -> Result<(), DriveError> {
        match action {
            Action::Record(event) => self.record(*event, None),
            Action::Note { path, message } => self.note(&path, &message),
            Action::FinishStep(end) => self.finish_step(*end),
            Action::StartStep { path, attempt, pre_hook, model } => {
                match StepStart::new(&self.state, path, attempt) {
                    Some(start) => self.start(StepStart { pre_hook, model, ..start }),
                    None => Ok(()),
                }
            }
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
            Action::LimitRecipe { path, seconds } => {
                self.tasks.limit_recipe(path, seconds);
                Ok(())
            }
            Action::StopBelow { path, why } => {
                self.tasks.stop_below(&path, &why);
                Ok(())
            }
            Action::EndLeftovers { leftovers, failed } => {
                let leftovers = self.spec.leftovers(leftovers);
                self.tasks.end_leftovers(leftovers, failed);
                Ok(())
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
                is_known && !pre_hook
            }),
            Action::CloseRecipe { frame, .. } => self.state.frames[*frame].has_succeeded(),
            Action::Record(_) | Action::Note { .. } | Action::FinishStep(_) => true,
            _ => false,
        }
    }

    /// Stores the value of a step and records its end.
    fn finish_step(&mut self, end: StepEnd) -> Result<(), DriveError> {
        let StepEnd { path, attempt, status, mut ended, value, recovered } = end;
        ended.value = self.store.store(&path, attempt, value.as_ref())?;
        if !recovered {
            if status != engine::StepStatus::Failed {
                ended.produced = produced(&self.spec, &self.state, &path);
            }
            let attempt = self.state.step(&path).map(|step| step.attempt);
            attempt.into_iter().for_each(|attempt| self.store.release(&path, attempt));
        }
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
