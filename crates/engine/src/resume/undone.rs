//! Steps that cleanup undid: their results no longer hold, so they run again. And cleanup that does not say what it
//! undid: then a person has to know that completed steps are kept. Never guesses from a command.

use recipe::{plan::Step, syntax::When};
use serde::Serialize;

use super::{
    Entry, StepPlan, Work,
    ways::{step_path, unit_of},
};
use crate::run::{cleanup::Undone, frame::FrameId, next::ResumeChoice, step_path::around};

/// Completed steps that are kept although cleanup after the failure may have undone them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeptAfterCleanup {
    /// The `when: failed` steps that completed and do not say what they undo.
    pub cleanup: Vec<String>,
    /// The first of the kept steps: a resume from it runs all of them again.
    pub from: String,
    /// Whether that repeats completed side effects.
    pub repeats_effects: bool,
}

impl KeptAfterCleanup {
    /// The resume that runs the kept steps again.
    pub fn choice(&self) -> ResumeChoice {
        ResumeChoice {
            from: Some(self.from.clone()),
            rerun_effects: self.repeats_effects,
            ..ResumeChoice::default()
        }
    }

    /// What happened, in one sentence.
    pub fn message(&self) -> String {
        let names: Vec<String> = self.cleanup.iter().map(|path| format!("`{path}`")).collect();
        format!("{} ran after the failure, and completed steps are kept", names.join(", "))
    }
}

/// How a step was undone.
pub(super) struct UndoneStep {
    reason: String,
    is_certain: bool,
}

impl Work<'_> {
    /// Finds the steps that cleanup undid. Those of a recipe that is kept as a whole stay with it, and cleanup that
    /// continues has not come to its end.
    pub(super) fn find_undone(&mut self, id: FrameId) {
        let state = self.request.state;
        let frame = &state.frames[id];
        if let Some(now) = unit_of(self.request.plan, frame).filter(|_| !self.cleaning.contains(&frame.path))
        {
            for Undone { id, by, is_certain } in state.undone_in(id, &now) {
                let reason = match is_certain {
                    true => format!("`{by}` undid it"),
                    false => format!("`{by}` began to undo it"),
                };
                let undone = UndoneStep { reason, is_certain };
                self.undone.entry(step_path(&frame.path, &id)).or_insert(undone);
            }
        }
        for at in 0..frame.steps.len() {
            if !state.is_finished(id, at) || self.redoes_inside(&frame.step_path(at)) {
                state.below(id, at).into_iter().for_each(|child| self.find_undone(child));
            }
        }
    }

    /// Why a step that cleanup undid runs again.
    pub(super) fn undone_reason(&self, path: &str) -> Option<String> {
        self.undone.get(path).map(|undone| undone.reason.clone())
    }

    /// Whether the effect of a step is certainly undone, so that it may be repeated.
    pub(super) fn is_undone(&self, path: &str) -> bool {
        self.undone.get(path).is_some_and(|undone| undone.is_certain)
    }

    /// Kept steps that cleanup may have undone without saying so.
    pub(super) fn kept_after_cleanup(&self, cleanup: &[String], steps: &[Entry]) -> Option<KeptAfterCleanup> {
        if self.request.from.is_some() {
            return None;
        }
        let silent: Vec<String> = cleanup.iter().filter(|path| self.is_silent(path)).cloned().collect();
        let recipes: Vec<&str> = silent.iter().map(|path| around(path).unwrap_or_default()).collect();
        let is_kept = |entry: &&Entry| {
            entry.action == StepPlan::Keep && recipes.contains(&around(&entry.path).unwrap_or_default())
        };
        let first = steps.iter().position(|entry| is_kept(&entry))?;
        let kept = steps[first..].iter().filter(|entry| entry.action == StepPlan::Keep);
        let repeats_effects = kept.into_iter().any(|entry| self.has_effect(&entry.path));
        Some(KeptAfterCleanup { cleanup: silent, from: steps[first].path.clone(), repeats_effects })
    }

    /// Whether a `when: failed` step completed and neither said then nor says now what it undoes.
    fn is_silent(&self, path: &str) -> bool {
        let state = self.request.state;
        let Some((id, at)) = state.find(path) else { return false };
        let was = &state.frames[id].unit.steps[at];
        let unit = unit_of(self.request.plan, &state.frames[id]);
        let now = unit.as_ref().and_then(|unit| unit.steps.iter().find(|step| step.id == was.id));
        let says = |step: &Step| step.undoes.is_some();
        let is_done = state.standing(id, at).is_some_and(|step| step.status.is_done());
        is_done && was.when == When::Failed && !says(was) && !now.is_some_and(|step| says(step))
    }
}
