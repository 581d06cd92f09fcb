//! What a failure comes from, at the bottom of all nested recipes. Never decides what to do about it.

use recipe::{graph, plan::Plan};

use super::RunState;
use crate::{
    event::Ended,
    frame::{Frame, FrameId},
    outcome::Outcome,
};

impl RunState {
    /// The step at the bottom of a failure: its path and how it ended.
    pub fn root_cause(&self) -> Option<(String, &Ended)> {
        let (id, at) = self.cause_in(0)?;
        let frame = &self.frames[id];
        frame.steps[at].ended.as_deref().map(|ended| (frame.step_path(at), ended))
    }

    /// Whether the run was stopped by a step that asks for a person.
    pub fn needs_human(&self) -> bool {
        self.root_cause().is_some_and(|(_, ended)| ended.outcome == Outcome::NeedsHuman)
    }

    /// The step at the bottom of the failure of one recipe.
    fn cause_in(&self, id: FrameId) -> Option<(FrameId, usize)> {
        let mut id = id;
        loop {
            let frame = &self.frames[id];
            let at = frame.failed_at?;
            // what was stopped from outside is not to blame
            let is_cause = |child: &FrameId| {
                self.frames[*child].failed_at.is_some() && self.frames[*child].stopped.is_none()
            };
            match frame.steps[at].frame.filter(is_cause) {
                Some(child) => id = child,
                None => return Some((id, at)),
            }
        }
    }

    /// Whether a recipe that failed would fail in the same way if all of it were done again: a limit stays where it
    /// is, and what could not even begin, because of how the recipe is written, reads nothing that the recipe makes.
    pub fn fails_again(&self, plan: &Plan, recipe: FrameId) -> bool {
        let Some((id, at)) = self.cause_in(recipe) else { return false };
        let frame = &self.frames[id];
        let Some(ended) = frame.steps[at].ended.as_deref() else { return false };
        let has_run = ended.stdout.is_some();
        // a directory may be made meanwhile
        let lacks_path = ended.error.as_deref().is_some_and(|error| error.contains("working directory `"));
        match ended.outcome {
            Outcome::Limit => true,
            Outcome::Condition | Outcome::Refused if !has_run && !lacks_path => {
                let read = graph::inputs(plan, &frame.unit.steps[at], frame.context.keys());
                !self.frames_up(id, recipe).any(|frame| read.iter().any(|name| frame.assigned.contains(name)))
            }
            _ => false,
        }
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
