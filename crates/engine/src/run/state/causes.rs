//! The innermost failed steps. Never says why they failed, and never decides what to do about it.

use recipe::{graph, plan::Plan};

use super::RunState;
use crate::run::{
    cause::{ExceededLimit, Refusal},
    decide::exceeded,
    event::Ended,
    frame::{Frame, FrameId},
    outcome::Outcome,
};

impl RunState {
    /// The innermost failed step: its path and its end.
    pub fn root_cause(&self) -> Option<(String, &Ended)> {
        self.causes().into_iter().next()
    }

    /// All innermost failed steps, in order: all members of a parallel group run to their end, and each of them may
    /// fail.
    pub fn causes(&self) -> Vec<(String, &Ended)> {
        let cause = |(id, at, ended): (FrameId, usize, _)| (self.frames[id].step_path(at), ended);
        self.causes_in(0).into_iter().map(cause).collect()
    }

    /// The end of the innermost failed step of one recipe.
    pub fn cause_in(&self, recipe: FrameId) -> Option<&Ended> {
        self.causes_in(recipe).first().map(|(_, _, ended)| *ended)
    }

    /// Whether a step that waits for a person stopped the run.
    pub fn needs_human(&self) -> bool {
        self.root_cause().is_some_and(|(_, ended)| ended.outcome == Outcome::NeedsHuman)
    }

    /// The innermost failed steps of one recipe.
    fn causes_in(&self, recipe: FrameId) -> Vec<(FrameId, usize, &Ended)> {
        let mut causes = Vec::new();
        self.find_causes(recipe, &mut causes);
        causes
    }

    fn find_causes<'a>(&'a self, id: FrameId, causes: &mut Vec<(FrameId, usize, &'a Ended)>) {
        let frame = &self.frames[id];
        let Some(first) = frame.failed_at else { return };
        // a step that was stopped from outside is not a cause
        let is_cause = |child: &FrameId| {
            self.frames[*child].failed_at.is_some() && self.frames[*child].stopped.is_none()
        };
        for at in frame.level().filter(|at| *at >= first && frame.is_fatal(*at)) {
            match frame.steps[at].frame.filter(is_cause) {
                Some(child) => self.find_causes(child, causes),
                None => {
                    causes.extend(frame.steps[at].ended.as_deref().map(|ended| (id, at, ended)));
                }
            }
        }
    }

    /// Whether a failed recipe would fail in the same way again: a limit stays the same, and a step that could not
    /// start because of the recipe itself does not depend on its values.
    pub fn fails_again(&self, plan: &Plan, recipe: FrameId) -> bool {
        let causes = self.causes_in(recipe);
        causes.iter().any(|(id, at, ended)| {
            let frame = &self.frames[*id];
            let has_run = ended.stdout.is_some();
            match &ended.outcome {
                Outcome::Limit(_) => true,
                // a directory may be created meanwhile
                Outcome::Refused(Refusal::Directory { .. }) => false,
                Outcome::Condition { .. } | Outcome::Refused(_) if !has_run => {
                    let read = graph::inputs(plan, &frame.unit.steps[*at], frame.context.keys());
                    let makes = |frame: &Frame| read.iter().any(|name| frame.assigned.contains(name));
                    !self.frames_up(*id, recipe).any(makes)
                }
                _ => false,
            }
        })
    }

    /// The limit of steps of a recipe around this one, if that is why this one failed. The step that runs it cannot
    /// tolerate that.
    pub fn outer_limit(&self, recipe: FrameId) -> Option<&ExceededLimit> {
        let around = self.frames[recipe].parent.map(|(parent, _)| parent);
        self.causes_in(recipe).into_iter().find_map(|(id, at, ended)| {
            let frame = &self.frames[id];
            let Outcome::Limit(limit) = &ended.outcome else { return None };
            let is_outer =
                !frame.is_nested(at) && exceeded(self, around, frame.depth, &frame.unit.steps[at]).is_some();
            is_outer.then_some(limit)
        })
    }

    /// A recipe and those around it, up to one of them.
    fn frames_up(&self, from: FrameId, to: FrameId) -> impl Iterator<Item = &Frame> {
        let around = move |id: &FrameId| match *id == to {
            true => None,
            false => self.frames[*id].parent.map(|(parent, _)| parent),
        };
        std::iter::successors(Some(from), around).map(|id| &self.frames[id])
    }
}
