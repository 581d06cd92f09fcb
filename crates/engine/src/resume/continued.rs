//! Cleanup that was cut off: a resume without changes continues it where it stopped. Never starts the failed work again.

use std::collections::{BTreeSet, HashSet};

use super::{Entry, OnlyIf, Producers, Resumer, StepPlan, Work, listing::entry};
use crate::run::{outcome::StepStatus, step_path::around};
use recipe::{plan::Step, syntax::When};

impl Work<'_> {
    /// Finds the failed steps whose cleanup continues. If a person wants something to run again, or something has
    /// changed, the cleanup begins again at the new end.
    pub(super) fn continue_cleanup(&mut self) {
        let request = self.request;
        let is_plain = request.from.is_none()
            && request.given.is_empty()
            && request.resumer != Resumer::Person { producers: Producers::Again };
        let digests = |plan: &recipe::plan::Plan| -> Vec<String> {
            plan.units.iter().map(|unit| unit.digest.clone()).collect()
        };
        if is_plain && self.reasons.is_empty() && digests(request.before) == digests(request.plan) {
            self.failed = request.state.failures_in_cleanup().into_iter().collect();
            self.cleaning = recipes_of(&self.failed);
        }
    }

    /// The cleanup of a recipe that runs again as a whole does not continue.
    pub(super) fn end_cleanup_that_runs_again(&mut self) {
        let reasons = &self.reasons;
        self.failed.retain(|path| {
            let mut recipes = std::iter::successors(around(path), |path| around(path));
            !recipes.any(|recipe| reasons.contains_key(recipe))
        });
        self.cleaning = recipes_of(&self.failed);
    }

    /// The plan for a step of a recipe whose cleanup continues, if that is special.
    pub(super) fn beside_cleanup(&self, path: &str, step: &Step, status: StepStatus) -> Option<Entry> {
        if self.failed.contains(path) {
            return Some(entry(path, StepPlan::Keep, "it failed, and the cleanup after it continues"));
        }
        let is_left = step.when == When::Ok && !status.is_final();
        let is_in_it = is_left && self.cleaning.contains(around(path).unwrap_or_default());
        is_in_it.then(|| {
            entry(path, StepPlan::Pending, "its recipe has failed and only cleans up")
                .only_if(OnlyIf::RecipeRunsAgain)
        })
    }
}

/// The recipes of steps.
fn recipes_of(steps: &BTreeSet<String>) -> HashSet<String> {
    steps.iter().map(|path| around(path).unwrap_or_default().to_owned()).collect()
}
