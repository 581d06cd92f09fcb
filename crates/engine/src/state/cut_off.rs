//! Steps that somebody else brought to their end, half-way through. Never decides what becomes of them.

use super::RunState;
use crate::{
    event::Ended,
    frame::FrameId,
    outcome::{Outcome, StepStatus},
};

impl RunState {
    /// Steps that did not come to an end of their own: those that were in flight when their runner stopped, and those
    /// that the runner ended and that ended their recipe. Recipe steps are left out where a step in them is meant.
    pub fn cut_off_steps(&self) -> Vec<String> {
        let mut paths = self.running_steps();
        self.find_cut_off(0, &mut paths);
        paths
    }

    fn find_cut_off(&self, id: FrameId, paths: &mut Vec<String>) {
        let frame = &self.frames[id];
        for (at, step) in frame.steps.iter().enumerate().filter(|(at, _)| frame.is_fatal(*at)) {
            let known = paths.len();
            step.frame.iter().for_each(|child| self.find_cut_off(*child, paths));
            if paths.len() == known && self.is_cut_off(id, at) {
                paths.push(frame.step_path(at));
            }
        }
    }

    /// Whether a step is over because the runner ended it, and may have done half of its work.
    pub(crate) fn is_cut_off(&self, id: FrameId, at: usize) -> bool {
        let step = &self.frames[id].steps[at];
        step.status == StepStatus::Failed && step.attempt > 0 && step.ended.as_deref().is_some_and(was_ended)
    }
}

fn was_ended(ended: &Ended) -> bool {
    matches!(ended.outcome, Outcome::TimedOut(_) | Outcome::Idle(_) | Outcome::Cancelled | Outcome::Lost)
}
