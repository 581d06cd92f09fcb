//! Completed work that must not be repeated. Never decides what happens to it.

use recipe::plan::Step;

use super::RunState;
use crate::run::{
    frame::{FrameId, StepState},
    outcome::StepStatus,
};

/// Whether a step declares that it must not be repeated without a request.
pub(crate) fn is_for_once(step: &Step) -> bool {
    !step.effects.is_empty() || !step.idempotent
}

/// Steps that must not be repeated without a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForGood {
    /// Completed side effects, proven or not.
    pub done: Vec<String>,
    /// Interrupted steps that are not idempotent.
    pub half_done: Vec<String>,
}

impl RunState {
    /// Steps of a recipe and its sub-recipes that must not be repeated, but would be if all of it ran again.
    pub fn done_for_good(&self, recipe: FrameId) -> ForGood {
        let mut steps = ForGood::default();
        self.find_done_for_good(recipe, &mut steps);
        steps
    }

    fn find_done_for_good(&self, id: FrameId, steps: &mut ForGood) {
        let frame = &self.frames[id];
        let undone = self.undone_in(id, &frame.unit);
        let is_undone = |step: &Step| undone.iter().any(|it| it.is_certain && it.id == step.id);
        for (at, said) in frame.unit.steps.iter().enumerate() {
            // an earlier process may have done it, even if this one has not reached it, or skips it
            let kept = || self.kept.get(&frame.step_path(at));
            let is_skipped = frame.steps[at].status == StepStatus::Skipped;
            let step =
                if is_skipped { kept().or_else(|| self.standing(id, at)) } else { self.standing(id, at) };
            // a recipe that runs again cleans up again
            if step.is_some_and(|step| step.is_cleanup) || is_undone(said) {
                continue;
            }
            let is_worked = || self.awaits_proof(&frame.step_path(at));
            let is_done =
                is_for_once(said) && (step.is_some_and(|step| step.status.is_done()) || is_worked());
            let is_half_done = !said.idempotent && step.is_some_and(StepState::is_cut_off);
            match self.below(id, at) {
                _ if is_done => steps.done.push(frame.step_path(at)),
                _ if is_half_done => steps.half_done.push(frame.step_path(at)),
                Some(child) => self.find_done_for_good(child, steps),
                None => {}
            }
        }
    }
}
