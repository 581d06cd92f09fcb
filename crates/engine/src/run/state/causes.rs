//! The innermost failed steps. Never says why they failed, and never decides what to do about it.

use recipe::{
    graph,
    plan::{Plan, StepKind},
};

use super::RunState;
use crate::run::{
    cause::{ExceededLimit, Refusal},
    decide::exceeded,
    event::Ended,
    frame::{Frame, FrameId, StepState},
    message::in_short,
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

    /// The innermost failed step of one recipe: its path and its end.
    pub fn first_cause_in(&self, recipe: FrameId) -> Option<(String, &Ended)> {
        let first = self.causes_in(recipe).into_iter().next();
        first.map(|(id, at, ended)| (self.frames[id].step_path(at), ended))
    }

    /// How a step failed, in few words that follow `failed`: `: exit code 3`, or ` at a/b: exit code 3` for a recipe step.
    pub fn failed_how(&self, step: &StepState) -> String {
        let inner = step.ended.as_ref().filter(|ended| ended.outcome == Outcome::Nested).and(step.frame);
        match inner.and_then(|frame| self.first_cause_in(frame)) {
            Some((path, ended)) => format!(" at {path}: {}", in_short(ended)),
            None => format!(": {}", step.ended.as_deref().map_or_else(|| "no message".to_owned(), in_short)),
        }
    }

    /// Whether a step that waits for a person stopped the run.
    pub fn needs_human(&self) -> bool {
        self.root_cause().is_some_and(|(_, ended)| ended.outcome == Outcome::NeedsHuman)
    }

    /// Whether a question inside a recipe failed it: it was rejected, not answered in time, or could not be put. No agent
    /// decides in place of the person.
    pub fn lacks_approval(&self, recipe: FrameId) -> bool {
        let frame = &self.frames[recipe];
        let is_question = |at: usize| matches!(frame.unit.steps[at].kind, StepKind::Ask(_));
        let lacks = |at: usize| match frame.steps[at].frame {
            Some(inner) => self.lacks_approval(inner),
            None => is_question(at),
        };
        (0..frame.steps.len()).any(|at| frame.is_fatal(at) && lacks(at))
    }

    /// The innermost failed steps of one recipe.
    pub(super) fn causes_in(&self, recipe: FrameId) -> Vec<(FrameId, usize, &Ended)> {
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

    /// Whether a failed recipe would fail in the same way again: a limit and the answer of a person stay the same, and a
    /// step that could not start because of the recipe itself does not depend on its values.
    pub fn fails_again(&self, plan: &Plan, recipe: FrameId) -> bool {
        let causes = self.causes_in(recipe);
        causes.iter().any(|(id, at, ended)| {
            let frame = &self.frames[*id];
            let has_run = ended.stdout.is_some();
            match &ended.outcome {
                Outcome::Limit(_) | Outcome::Rejected { .. } => true,
                Outcome::TimedOut(_) => matches!(frame.unit.steps[*at].kind, StepKind::Ask(_)),
                // a directory may be created meanwhile
                Outcome::Refused(Refusal::Directory { .. }) => false,
                Outcome::Condition { .. } | Outcome::Refused(_) if !has_run => {
                    let read = graph::inputs(plan, &frame.unit.steps[*at], frame.context.keys());
                    let makes = |frame: &Frame| read.iter().any(|name| frame.assigned.contains(name));
                    let asks = !graph::step_reads(&frame.unit.steps[*at]).is_empty();
                    !asks && !self.frames_up(*id, recipe).any(makes)
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
