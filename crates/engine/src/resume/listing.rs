//! The plan as a list: what happens to every step, and why. Makes no decisions of its own.

use std::collections::{BTreeMap, HashSet};

use recipe::{
    plan::{Step, Unit},
    syntax::When,
};

use super::{Effects, Entry, Interrupted, OnlyIf, ResumePlan, StepPlan, Work, ways::step_path};
use crate::run::{
    frame::FrameId,
    outcome::{SkipReason, StepStatus},
    state::{effects::is_for_once, is_at_or_below},
    step_path::is_below,
};

impl Work<'_> {
    pub(super) fn finish(mut self) -> ResumePlan {
        let mut cleanup = Vec::new();
        self.find_cleanup(0, &self.list(), &mut cleanup);
        self.reasons.retain(|path, _| !cleanup.iter().any(|step| is_at_or_below(path, step)));
        self.failed.retain(|path| !cleanup.iter().any(|step| is_at_or_below(path, step)));
        let steps = self.list();
        let redo: Vec<String> = self.reasons.keys().cloned().collect();
        let blocked_effects = match self.request.effects {
            Effects::Again => Vec::new(),
            Effects::Once => {
                let again = redo.iter().filter(|path| self.has_effect(path));
                again.map(|path| path.trim_end_matches('/').to_owned()).collect()
            }
        };
        let is_again = |entry: &&Entry| entry.action == StepPlan::Rerun && !entry.with_outer;
        let rerun: Vec<String> = steps.iter().filter(is_again).map(|entry| entry.path.clone()).collect();
        let goes_on_at = self.first(&steps);
        let kept_after_cleanup = self.kept_after_cleanup(&cleanup, &steps);
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
            kept_after_cleanup,
            cleanup,
            failed: self.failed.into_iter().collect(),
        }
    }

    /// Cleanup steps that ran when the run ended before. Those of a recipe that is kept as a whole stay with it.
    fn find_cleanup(&self, id: FrameId, steps: &[Entry], found: &mut Vec<String>) {
        let state = self.request.state;
        let continues = self.cleaning.contains(&state.frames[id].path);
        let is_kept =
            |path: &str| steps.iter().any(|entry| entry.path == path && entry.action == StepPlan::Keep);
        for at in 0..state.frames[id].steps.len() {
            let path = state.frames[id].step_path(at);
            match state.standing(id, at) {
                _ if self.failed.contains(&path) => {}
                Some(step) if step.is_cleanup && continues && step.status.is_final() => {}
                Some(step) if step.is_cleanup && !continues => found.push(path),
                _ if is_kept(&path) => {}
                _ => state.below(id, at).into_iter().for_each(|child| self.find_cleanup(child, steps, found)),
            }
        }
    }

    /// Whether a step inside a recipe step runs again.
    pub(super) fn redoes_inside(&self, path: &str) -> bool {
        self.reasons.keys().any(|step| is_below(step, path))
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
            let inside = steps[at + 1..].iter().take_while(|next| is_below(&next.path, path));
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
        let is_named = |below: String| {
            let next = self.reasons.range(below.clone()..).next();
            next.is_some_and(|(named, _)| named.starts_with(&below))
        };
        let has_instances = self
            .request
            .state
            .find(path)
            .is_some_and(|(id, at)| self.request.state.frames[id].unit.steps[at].looped.is_some());
        match has_instances {
            true => (is_named(format!("{path}/")) || is_named(format!("{path}[")))
                .then(|| "its loop is entered again".to_owned()),
            false => is_named(format!("{path}/")).then(|| ENTERED.to_owned()),
        }
    }

    pub(super) fn has_effect(&self, path: &str) -> bool {
        let entered = path.strip_suffix('/').filter(|path| self.is_for_each(path));
        // an item that ran is kept, and one that is new has not run
        let is_kept = entered.is_some_and(|path| self.by_item.contains(path));
        let found = self.request.state.find(entered.unwrap_or(path));
        !is_kept && found.is_some_and(|(id, at)| self.did_effect(id, at))
    }

    fn is_for_each(&self, path: &str) -> bool {
        let state = self.request.state;
        state.find(path).is_some_and(|(id, at)| state.frames[id].unit.steps[at].each().is_some())
    }

    fn did_effect(&self, id: FrameId, at: usize) -> bool {
        let state = self.request.state;
        let step = &state.frames[id].unit.steps[at];
        let is_done = state.standing(id, at).is_some_and(|step| step.status.is_done() && !step.is_cleanup);
        let own = (is_done || state.awaits_proof(&state.frames[id].step_path(at))) && is_for_once(step);
        let below =
            |child: FrameId| (0..state.frames[child].steps.len()).any(|index| self.did_effect(child, index));
        if self.is_undone(&state.frames[id].step_path(at)) {
            return false;
        }
        own || state.below(id, at).is_some_and(below)
    }

    /// What happens to an interrupted step that is not idempotent. A recipe step in which no step was interrupted is
    /// entered again: nothing in it is half done.
    fn cut_off(&self, path: &str) -> Entry {
        let undecided = self.request.state.undecided_steps();
        if !undecided.iter().any(|step| is_at_or_below(path, step)) {
            return entry(path, StepPlan::Rerun, ENTERED);
        }
        match self.request.interrupted {
            Interrupted::Ask => entry(
                path,
                StepPlan::Pending,
                "it was interrupted and is not idempotent: choose --rerun-interrupted or --skip-interrupted",
            ),
            Interrupted::Rerun => {
                entry(path, StepPlan::Rerun, "it was interrupted, and you chose to re-run it")
            }
            Interrupted::Skip => entry(path, StepPlan::Keep, "it was interrupted, and you chose to skip it"),
        }
    }

    /// The plan for a step that cleaned up when the run ended before.
    fn cleaned_up(&self, id: FrameId, index: usize, now: &Step) -> Option<Entry> {
        let step = self.request.state.standing(id, index)?;
        let has_ended = step.is_cleanup && !step.status.is_open();
        let path = self.request.state.frames[id].step_path(index);
        has_ended.then(|| match now.when {
            When::Failed => {
                entry(&path, StepPlan::Pending, "it runs again if a step fails").only_if(OnlyIf::StepFails)
            }
            _ => entry(&path, StepPlan::Pending, "it runs again when the run ends"),
        })
    }

    /// What happens to a step that waits for an answer.
    fn question(&self, path: &str) -> &'static str {
        let asked = self.request.state.questions.get(path);
        match asked.is_some_and(|asked| asked.answer().is_some()) {
            true => "its question is answered",
            false => "its question is put again",
        }
    }

    pub(super) fn entries(&self, id: FrameId, new: &Unit, around: Around, out: &mut Vec<Entry>) {
        let state = self.request.state;
        let old = &state.frames[id];
        for step in &new.steps {
            let path = step_path(&old.path, &step.id);
            let index = old.index_of(&step.id);
            let known = index.filter(|_| around == Around::Itself);
            let known = known.filter(|_| !self.cleaning.contains(&old.path));
            let cleanup = known.filter(|index| state.standing(id, *index).is_some_and(|it| it.is_cleanup));
            if let Some(index) = cleanup {
                // all steps inside it run again with it
                let ended = self.cleaned_up(id, index, step);
                out.push(ended.unwrap_or_else(|| self.step_entry((id, Some(index)), &path, step, around)));
                continue;
            }
            let entry = self.step_entry((id, index), &path, step, around);
            let inside = self.around_inside(&path, &entry, around);
            out.push(entry);
            let child = index.and_then(|index| state.below(id, index));
            match child {
                Some(child) if state.frames[child].looped.is_some() => {
                    self.instances(child, step, inside, out);
                }
                Some(child) => {
                    let unit = self.nested(&path, step);
                    unit.iter().for_each(|unit| self.entries(child, unit, inside, out));
                }
                None => {}
            }
        }
    }

    /// What happens to the steps inside a step.
    pub(super) fn around_inside(&self, path: &str, entry: &Entry, around: Around) -> Around {
        match self.reasons.contains_key(path) {
            true => Around::Redone,
            false if entry.action == StepPlan::Keep => Around::Kept,
            false => around,
        }
    }

    pub(super) fn step_entry(
        &self,
        (id, index): (FrameId, Option<usize>),
        path: &str,
        step: &Step,
        around: Around,
    ) -> Entry {
        let state = self.request.state;
        let status = |index| state.standing(id, index).map_or(StepStatus::Pending, |step| step.status);
        let beside = index.and_then(|index| self.beside_cleanup(path, step, status(index)));
        if let Some(entry) = beside.filter(|_| around == Around::Itself) {
            return entry;
        }
        match (index, around) {
            (Some(index), Around::Redone) if status(index) == StepStatus::Pending => {
                entry(path, StepPlan::Pending, "it was not reached")
            }
            (_, Around::Redone) => {
                let entry = entry(path, StepPlan::Rerun, "the recipe around it runs again");
                Entry { with_outer: true, ..entry }
            }
            (None, _) => entry(path, StepPlan::Pending, "it is new"),
            (Some(index), Around::Kept) if !status(index).is_done() => {
                entry(path, StepPlan::Keep, "the recipe around it has its result")
            }
            (Some(index), _) => match self.reason(path) {
                Some(reason) => entry(path, StepPlan::Rerun, &reason),
                None => self.entry_by_status(path, step, (status(index), id, index)),
            },
        }
    }

    /// What happens to a step by what has become of it.
    fn entry_by_status(
        &self,
        path: &str,
        step: &Step,
        (status, id, index): (StepStatus, FrameId, usize),
    ) -> Entry {
        let state = self.request.state;
        let known = state.standing(id, index);
        let tolerates = || known.is_some_and(|known| state.frames[id].tolerates(index, known));
        let is_left_out = || known.is_some_and(|known| known.skipped == Some(SkipReason::Chosen));
        let is_changed = step.idempotent && self.changed.contains(path);
        match status {
            StepStatus::Completed | StepStatus::Degraded => entry(path, StepPlan::Keep, &self.done(path)),
            StepStatus::Skipped if is_left_out() => entry(path, StepPlan::Keep, "you chose to skip it"),
            StepStatus::Skipped => {
                entry(path, StepPlan::Pending, "it was skipped; its condition is checked again")
                    .only_if(OnlyIf::ConditionHolds)
            }
            StepStatus::Failed if step.continue_on_error && tolerates() => {
                entry(path, StepPlan::Keep, "it failed, and the recipe tolerates that")
            }
            StepStatus::Failed | StepStatus::Running if is_changed => {
                entry(path, StepPlan::Rerun, "its definition changed")
            }
            StepStatus::Failed | StepStatus::Running if state.awaits_proof(path) => {
                entry(path, StepPlan::Pending, "its work is done; its rules are checked again")
            }
            StepStatus::Failed | StepStatus::Running if step.looped.is_some() => {
                entry(path, StepPlan::Rerun, "its loop is entered again")
            }
            StepStatus::Failed if !step.idempotent && state.is_cut_off(id, index) => self.cut_off(path),
            StepStatus::Failed => entry(path, StepPlan::Rerun, "it failed"),
            StepStatus::Running if !step.idempotent => self.cut_off(path),
            StepStatus::Running => entry(path, StepPlan::Rerun, "it was interrupted"),
            StepStatus::Waiting => entry(path, StepPlan::Pending, self.question(path)),
            StepStatus::Pending => entry(path, StepPlan::Pending, "it was not reached"),
        }
    }
}

impl ResumePlan {
    /// Why steps that had begun run again, by their paths.
    pub fn reasons(&self) -> BTreeMap<String, String> {
        let again = self.steps.iter().filter(|entry| entry.action == StepPlan::Rerun);
        again.map(|entry| (entry.path.clone(), entry.reason.clone())).collect()
    }
}

impl Entry {
    /// Whether the step certainly runs.
    pub(super) fn runs(&self) -> bool {
        self.action != StepPlan::Keep && self.only_if.is_none()
    }

    pub(super) fn only_if(self, only_if: OnlyIf) -> Entry {
        Entry { only_if: Some(only_if), ..self }
    }
}

/// What happens to the recipe around a step.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Around {
    /// Every step of it is decided separately.
    Itself,
    /// All of it runs again.
    Redone,
    /// Its result is kept, whatever happened to its steps.
    Kept,
}

/// The reason for a recipe step whose recipe continues.
const ENTERED: &str = "its recipe is entered again";

pub(super) fn entry(path: &str, action: StepPlan, reason: &str) -> Entry {
    Entry { path: path.to_owned(), action, reason: reason.to_owned(), only_if: None, with_outer: false }
}
