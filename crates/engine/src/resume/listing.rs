//! The plan as a list: what happens to every step, and why. Makes no decisions of its own.

use std::collections::HashSet;

use recipe::plan::Unit;

use super::{Effects, Entry, Interrupted, ResumePlan, StepPlan, Work, ways::step_path};
use crate::run::{
    frame::FrameId,
    outcome::{SkipReason, StepStatus},
    state::effects::is_for_once,
};

impl Work<'_> {
    pub(super) fn finish(self) -> ResumePlan {
        let steps = self.list();
        let redo: Vec<String> = self.reasons.keys().cloned().collect();
        let blocked_effects = match self.request.effects {
            Effects::Again => Vec::new(),
            Effects::Once => redo.iter().filter(|path| self.has_effect(path)).cloned().collect(),
        };
        let is_again = |entry: &&Entry| entry.action == StepPlan::Rerun && entry.reason != REDONE;
        let rerun: Vec<String> = steps.iter().filter(is_again).map(|entry| entry.path.clone()).collect();
        let goes_on_at = self.first(&steps);
        let mut kept_producers = self.kept_producers;
        let is_again =
            |path: &String| steps.iter().any(|entry| entry.path == *path && entry.action == StepPlan::Rerun);
        kept_producers.retain(|path| !is_again(path));
        let mut seen = HashSet::new();
        kept_producers.retain(|path| seen.insert(path.clone()));
        let latest = steps.iter().rev().find(|entry| self.producers.contains(&entry.path));
        let anchor = (latest.map(|entry| entry.path.clone()))
            .or_else(|| self.producers.last().cloned())
            .or(self.anchor)
            .or_else(|| goes_on_at.clone());
        let takes_producers = !self.producers.is_empty();
        ResumePlan {
            anchor,
            goes_on_at,
            rerun,
            redo,
            takes_producers,
            steps,
            kept_producers,
            blocked_effects,
        }
    }

    /// Every step, with what happens to it.
    pub(super) fn list(&self) -> Vec<Entry> {
        let mut steps = Vec::new();
        self.entries(0, self.request.plan.root(), Around::Itself, &mut steps);
        steps
    }

    /// The first step that runs. For a recipe that is only entered again, that is the first step inside it.
    fn first(&self, steps: &[Entry]) -> Option<String> {
        let is_entered = |at: usize, path: &str| {
            let below = format!("{path}/");
            let inside = steps[at + 1..].iter().take_while(|next| next.path.starts_with(&below));
            inside.into_iter().any(Entry::runs)
        };
        let found = steps.iter().enumerate().find(|(at, entry)| {
            entry.runs() && (self.reasons.contains_key(&entry.path) || !is_entered(*at, &entry.path))
        });
        found.map(|(_, entry)| entry.path.clone())
    }

    /// Why a step, or a step inside its recipe, runs again.
    fn reason(&self, path: &str) -> Option<String> {
        if let Some(reason) = self.reasons.get(path) {
            return Some(reason.clone());
        }
        let below = format!("{path}/");
        let next = self.reasons.range(below.clone()..).next();
        next.filter(|(named, _)| named.starts_with(&below)).map(|_| "its recipe is entered again".to_owned())
    }

    fn has_effect(&self, path: &str) -> bool {
        self.request.state.find(path).is_some_and(|(id, at)| self.did_effect(id, at))
    }

    fn did_effect(&self, id: FrameId, at: usize) -> bool {
        let state = self.request.state;
        let step = &state.frames[id].unit.steps[at];
        let is_done = state.standing(id, at).is_some_and(|step| step.status.is_done());
        let own = is_done && is_for_once(step);
        let below =
            |child: FrameId| (0..state.frames[child].steps.len()).any(|index| self.did_effect(child, index));
        own || state.below(id, at).is_some_and(below)
    }

    /// What happens to an interrupted step that is not idempotent.
    fn cut_off(&self, path: &str) -> Entry {
        match self.request.interrupted {
            Interrupted::Ask => entry(path, StepPlan::Pending, CHOICE),
            Interrupted::Rerun => {
                entry(path, StepPlan::Rerun, "it was interrupted, and you chose to re-run it")
            }
            Interrupted::Skip => entry(path, StepPlan::Keep, "it was interrupted, and you chose to skip it"),
        }
    }

    fn entries(&self, id: FrameId, new: &Unit, around: Around, out: &mut Vec<Entry>) {
        let state = self.request.state;
        let old = &state.frames[id];
        for step in &new.steps {
            let path = step_path(&old.path, &step.id);
            let index = old.index_of(&step.id);
            let status = |index| state.standing(id, index).map_or(StepStatus::Pending, |step| step.status);
            let tolerates = |index| state.standing(id, index).is_some_and(|step| old.tolerates(index, step));
            let left_out = |index| {
                state.standing(id, index).is_some_and(|step| step.skipped == Some(SkipReason::Chosen))
            };
            let entry = match index.map(status) {
                _ if around == Around::Redone => entry(&path, StepPlan::Rerun, REDONE),
                Some(status) if around == Around::Kept && !status.is_done() => {
                    entry(&path, StepPlan::Keep, "the recipe around it has its result")
                }
                None => entry(&path, StepPlan::Pending, "it is new"),
                Some(status) => match (self.reason(&path), status) {
                    (Some(reason), _) => entry(&path, StepPlan::Rerun, &reason),
                    (None, StepStatus::Completed | StepStatus::Degraded) => {
                        entry(&path, StepPlan::Keep, &self.done(&path))
                    }
                    (None, StepStatus::Skipped) if index.is_some_and(left_out) => {
                        entry(&path, StepPlan::Keep, "you chose to skip it")
                    }
                    (None, StepStatus::Skipped) => entry(&path, StepPlan::Pending, SKIPPED),
                    (None, StepStatus::Failed) if step.continue_on_error && index.is_some_and(tolerates) => {
                        entry(&path, StepPlan::Keep, "it failed, and the recipe tolerates that")
                    }
                    (None, StepStatus::Failed | StepStatus::Running)
                        if step.idempotent && self.changed.contains(&path) =>
                    {
                        entry(&path, StepPlan::Rerun, "its definition changed")
                    }
                    (None, StepStatus::Failed)
                        if !step.idempotent && index.is_some_and(|index| state.is_cut_off(id, index)) =>
                    {
                        self.cut_off(&path)
                    }
                    (None, StepStatus::Failed) => entry(&path, StepPlan::Rerun, "it failed"),
                    (None, StepStatus::Running) if !step.idempotent => self.cut_off(&path),
                    (None, StepStatus::Running) => entry(&path, StepPlan::Rerun, "it was interrupted"),
                    (None, StepStatus::Pending) => entry(&path, StepPlan::Pending, "it was not reached"),
                },
            };
            let is_kept = entry.action == StepPlan::Keep;
            out.push(entry);
            let child = index.and_then(|index| state.below(id, index));
            if let (Some(child), Some(unit)) = (child, self.nested(&path, step)) {
                let around = match self.reasons.contains_key(&path) {
                    true => Around::Redone,
                    false if is_kept => Around::Kept,
                    false => around,
                };
                self.entries(child, &unit, around, out);
            }
        }
    }
}

impl Entry {
    /// Whether the step certainly runs.
    pub(super) fn runs(&self) -> bool {
        self.action != StepPlan::Keep && self.reason != SKIPPED
    }
}

/// What happens to the recipe around a step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Around {
    /// Every step of it is decided separately.
    Itself,
    /// All of it runs again.
    Redone,
    /// Its result is kept, whatever happened to its steps.
    Kept,
}

/// The reason for a step inside a recipe that runs again.
const REDONE: &str = "the recipe around it runs again";
/// The reason for an interrupted step that waits for a person.
const CHOICE: &str =
    "it was interrupted and is not idempotent: choose --rerun-interrupted or --skip-interrupted";
/// The reason for a skipped step that is not kept.
const SKIPPED: &str = "it was skipped; its condition is checked again";

fn entry(path: &str, action: StepPlan, reason: &str) -> Entry {
    Entry { path: path.to_owned(), action, reason: reason.to_owned() }
}
