//! Work that is done and not proven yet, as the events tell. Never checks a rule.

use std::sync::Arc;

use jiff::Timestamp;
use recipe::value::Value;

use super::{FinishedStep, RunState, effects::is_for_once};
use crate::run::{ensure::UnprovenWork, event::Ended, outcome::Outcome};

impl RunState {
    /// Notes that the work of a step is done.
    pub(super) fn end_work(&mut self, end: FinishedStep<'_>, attempt: u32, value: Option<Value>) {
        let FinishedStep { path, status, ended, recovered } = end;
        self.count_usage(path, ended);
        // work whose value is lost has to be done again
        if ended.value.is_some() && value.is_none() {
            return;
        }
        let Some((id, index)) = self.locate(path) else { return };
        let (step, frame) = (&self.frames[id].steps[index], &self.frames[id]);
        let work = UnprovenWork {
            attempt,
            status,
            ended: Arc::new(ended.clone()),
            value,
            recovered,
            definition: frame.unit.steps[index].digest.clone(),
            inputs: step.inputs.clone(),
            failed: Vec::new(),
        };
        self.unproven.insert(path.to_owned(), work);
    }

    /// A new attempt does the work again.
    pub(super) fn forget_work(&mut self, path: &str) {
        if self.awaits_proof(path) {
            self.unproven.remove(path);
        }
    }

    /// Forgets work whose step has ended. Work that must not be repeated is kept if its rules are not met: a resume
    /// checks them again.
    pub(super) fn end_proof(&mut self, path: &str, ended: &Ended) {
        let is_kept =
            ended.outcome == Outcome::Ensure && self.planned(path).is_some_and(|step| is_for_once(&step));
        match self.unproven.get_mut(path) {
            Some(work) if is_kept => work.failed.clear(),
            _ => drop(self.unproven.remove(path)),
        }
    }

    /// Continues with a step whose work was done before a resume.
    pub(super) fn check_again(&mut self, path: &str, attempt: u32, at: Timestamp) {
        let inputs = self.unproven.get(path).and_then(|work| work.inputs.as_deref().map(str::to_owned));
        self.start(path, attempt, &inputs, at);
    }

    /// Keeps the results of rules that were not met: the next attempt is told about them.
    pub(super) fn note_unmet(&mut self, path: &str, ended: &Ended) {
        // steps below it start again with the recipe around them
        let below = format!("{path}/");
        self.unproven.retain(|known, _| !known.starts_with(&below));
        if let Some(work) = self.unproven.get_mut(path).filter(|_| ended.outcome == Outcome::Ensure) {
            work.failed.clone_from(&ended.ensure);
        }
    }

    /// Adds the usage of an attempt, unless the end of its work did.
    pub(super) fn count_attempt(&mut self, path: &str, attempt: u32, ended: &Ended) {
        if self.unproven.get(path).is_none_or(|work| work.attempt != attempt) {
            self.count_usage(path, ended);
        }
    }
}
