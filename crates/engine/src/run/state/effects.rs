//! What was done and must not be done a second time. Never decides what becomes of it.

use recipe::plan::Step;

use super::RunState;
use crate::run::frame::{FrameId, StepState};

/// Whether a step says that what it did must not be done again unasked.
pub(crate) fn is_for_once(step: &Step) -> bool {
    !step.effects.is_empty() || !step.idempotent
}

/// Steps that must not be repeated unasked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForGood {
    /// Effects that are done.
    pub done: Vec<String>,
    /// What is not idempotent and was ended half-way.
    pub half_done: Vec<String>,
}

impl RunState {
    /// Steps of a recipe, and of those below it, that doing all of it again would repeat though they must not be.
    pub fn done_for_good(&self, recipe: FrameId) -> ForGood {
        let mut steps = ForGood::default();
        self.find_done_for_good(recipe, &mut steps);
        steps
    }

    fn find_done_for_good(&self, id: FrameId, steps: &mut ForGood) {
        let frame = &self.frames[id];
        for (at, said) in frame.unit.steps.iter().enumerate() {
            // an earlier process may have done it, though this one has not come to it
            let step = self.standing(id, at);
            let is_done = is_for_once(said) && step.is_some_and(|step| step.status.is_done());
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
