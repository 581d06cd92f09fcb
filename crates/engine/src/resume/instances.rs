//! The instances of a loop in the plan: what happens to each of them, and why. Makes no decisions of its own.

use recipe::plan::{ForEach, Step};

use super::{
    Entry, OnlyIf, StepPlan, Work,
    listing::{Around, entry},
};
use crate::run::{
    frame::{FrameId, item_digest},
    looped::items_of,
    outcome::StepStatus,
    state::ItemMoves,
    step_path::instance,
};

impl Work<'_> {
    /// The instances of a loop.
    pub(super) fn instances(&self, id: FrameId, step: &Step, around: Around, out: &mut Vec<Entry>) {
        let frame = &self.request.state.frames[id];
        let instances = step.instance();
        match self.moves(id, step).filter(|_| around == Around::Itself) {
            None => (0..frame.steps.len()).for_each(|at| self.instance(id, at, &instances, around, out)),
            Some(moves) => {
                for (now, before) in moves.from.into_iter().enumerate() {
                    match before {
                        Some(before) => self.moved((id, before, now), &instances, out),
                        None => out.push(entry(&instance(&frame.path, now), StepPlan::Pending, "it is new")),
                    }
                }
            }
        }
    }

    /// Where the items of a changed list were before, if the list is known without a run.
    fn moves(&self, id: FrameId, step: &Step) -> Option<ItemMoves> {
        let frame = &self.request.state.frames[id];
        let is_literal =
            |each: &&ForEach| each.list.templates().iter().all(|template| template.names().is_empty());
        let each = step.each().filter(is_literal)?;
        let old = frame.looped.as_ref().filter(|_| self.relisted.contains(&frame.path))?;
        let digests: Vec<String> = items_of(each, frame).ok()?.iter().map(item_digest).collect();
        Some(ItemMoves::new(&old.digests, &digests))
    }

    /// An instance that has, or will have, another number.
    fn moved(&self, (id, before, now): (FrameId, usize, usize), step: &Step, out: &mut Vec<Entry>) {
        let path = &self.request.state.frames[id].path;
        let (from, to) = (instance(path, before), instance(path, now));
        let first = out.len();
        self.instance(id, before, step, Around::Itself, out);
        if before == now {
            return;
        }
        for entry in &mut out[first..] {
            entry.path = format!("{to}{}", entry.path.strip_prefix(&from).unwrap_or_default());
        }
        if let Some(entry) = out.get_mut(first).filter(|entry| entry.action == StepPlan::Keep) {
            entry.reason = format!("{}; it was `{from}`", entry.reason);
        }
    }

    /// One instance, with the steps of its recipe. Iterations that have not begun, and instances that will not begin, are
    /// left out.
    fn instance(&self, id: FrameId, at: usize, step: &Step, around: Around, out: &mut Vec<Entry>) {
        let state = self.request.state;
        let frame = &state.frames[id];
        let has_begun = state.standing(id, at).is_some_and(|step| step.status != StepStatus::Pending);
        let below = state.below(id, at);
        let is_expected = frame.each().is_some() && around == Around::Itself;
        if !has_begun && below.is_none() && !is_expected {
            return;
        }
        let path = frame.step_path(at);
        let mut entry = self.step_entry((id, Some(at)), &path, step, around);
        if entry.with_outer {
            entry.reason = "its loop runs again".to_owned();
        }
        let inside = self.around_inside(&path, &entry, around);
        let first = out.len();
        out.push(entry);
        if let (Some(child), Some(unit)) = (below, self.nested(&path, step)) {
            self.entries(child, &unit, inside, out);
        }
        // the steps of its recipe stay or go with it
        if around == Around::Itself && self.may_change(id) {
            for entry in out[first..].iter_mut().filter(|entry| entry.action == StepPlan::Keep) {
                entry.only_if = Some(OnlyIf::InputsStay);
            }
        }
    }

    /// Whether the list of a loop, or other inputs of its instances, may be others when the loop is entered again: steps
    /// before it run again, or have run again in a process that did not reach the loop.
    fn may_change(&self, id: FrameId) -> bool {
        let path = &self.request.state.frames[id].path;
        let is_current = self.request.state.by_path.get(path) == Some(&id);
        let is_entered_again =
            self.reasons.contains_key(&format!("{path}/")) && !self.relisted.contains(path);
        self.request.state.frames[id].each().is_some() && (is_entered_again || !is_current)
    }
}
