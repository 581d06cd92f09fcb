//! How the steps of a recipe in execution went, for its conditions and templates.

use std::{collections::HashMap, sync::Arc};

use recipe::{
    graph,
    plan::Step,
    scope::Path,
    step_facts::{StepFacts, StepPath, nth},
    value::Value,
};

use super::{Frame, StepState};
use crate::run::{
    event::Ended,
    outcome::{Outcome, SkipReason, StepStatus},
};

impl StepState {
    /// How the step went. One that was cut short has not ended.
    pub fn facts(&self) -> StepFacts {
        let ended = self.ended.as_deref();
        let waits = ended.is_some_and(|ended| ended.outcome == Outcome::NeedsHuman);
        let status = match self.status {
            StepStatus::Running => StepStatus::Pending,
            StepStatus::Failed if waits => StepStatus::Waiting,
            status => status,
        };
        StepFacts {
            status: status.as_str(),
            is_done: status.is_done(),
            has_failed: status == StepStatus::Failed,
            is_skipped: status == StepStatus::Skipped,
            exit_code: ended.and_then(Ended::exit_code),
            error: ended.and_then(|ended| ended.error.clone()).unwrap_or_default(),
            output: self.value.clone().unwrap_or_else(|| Value::from("")),
            duration: self.taken().filter(|_| status.is_final()),
        }
    }

    /// Whether a dry run leaves open how the step goes.
    fn is_open_in_dry_run(&self) -> bool {
        self.is_uncertain || self.skipped == Some(SkipReason::DryRun)
    }
}

impl Frame {
    /// A step of the recipe that this frame runs, or that the loop of this frame belongs to.
    fn asked(&self, id: &str) -> Option<&StepState> {
        match &self.looped {
            Some(looped) => looped.asked.get(id),
            None => self.index_of(id).map(|at| &self.steps[at]),
        }
    }

    /// How a step of the recipe went, or an instance of it.
    pub fn facts(&self, id: &str, instance: Option<i64>) -> Option<StepFacts> {
        let step = self.asked(id)?;
        match instance {
            None => Some(step.facts()),
            Some(at) => nth(&step.instances, at).map(StepState::facts),
        }
    }

    /// Whether it is known how the step at the end of a path goes.
    pub fn knows_step(&self, path: &Path) -> bool {
        let found = StepPath::find(path, &|id| self.asked(id).is_some());
        let step = found.and_then(|found| self.asked(&found.id));
        step.is_none_or(|step| !step.is_open_in_dry_run())
    }

    /// The steps of the recipe that a step with a loop asks about.
    pub(super) fn asked_by(&self, step: &Step) -> HashMap<String, StepState> {
        let paths = graph::step_reads(step);
        let ids = paths.iter().filter_map(|path| StepPath::find(path, &|id| self.asked(id).is_some()));
        ids.filter_map(|found| Some((found.id.clone(), self.asked(&found.id)?.clone()))).collect()
    }

    /// How the instances of a loop went; iterations that did not begin are none.
    pub(crate) fn instances(&self) -> Arc<Vec<StepState>> {
        let is_one = |step: &&StepState| self.each().is_some() || step.status != StepStatus::Pending;
        Arc::new(self.steps.iter().take_while(is_one).cloned().collect())
    }
}
