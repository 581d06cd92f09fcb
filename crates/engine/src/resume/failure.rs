//! The work that has to be done again before failed steps can succeed. Never looks at changes.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use recipe::{
    graph::Link,
    plan::{Step, StepKind},
};

use super::{
    Blame, Producers, Resumer, Work,
    ways::{is_producer, step_path, unit_of},
};
use crate::run::{
    cause::LoopFailure,
    event::Ended,
    frame::{FrameId, StepState},
    outcome::{Outcome, StepStatus},
    state::is_at_or_below,
};

/// A failed step, with the producers before it, nearest level first.
struct Failed {
    path: String,
    levels: Vec<Level>,
}

/// Producers at the same distance from a failed step, or from the recipe step around it.
struct Level {
    id: FrameId,
    at: usize,
    /// Each with whether only links by value lead to it.
    producers: Vec<(usize, bool)>,
}

impl Work<'_> {
    /// Selects the steps that have to run again before the failed steps. All members of a parallel group run to their
    /// end: each failed one has its own producers, and would fail again without them.
    pub(super) fn failure(&mut self) {
        let wanted = match self.request.resumer {
            Resumer::Automatic { level } => level,
            Resumer::Person { .. } => 0,
        };
        let mut causes = self.request.state.causes();
        causes.retain(|(path, _)| !self.failed.iter().any(|failed| is_at_or_below(path, failed)));
        self.exhausted_loops(&causes);
        let failed: Vec<Failed> =
            causes.into_iter().filter_map(|(path, _)| self.failed(path, wanted + 1)).collect();
        // if no producers run again, the resume starts at the first failed step
        self.anchor = failed.first().map(|failed| failed.path.clone());
        if failed.iter().all(|failed| failed.levels.len() <= wanted) {
            return;
        }
        for failed in &failed {
            // if there is no producer at that level, use the farthest one
            if let Some(level) = failed.levels.get(wanted).or(failed.levels.last()) {
                self.take_producers(&failed.path, level);
            }
        }
    }

    /// Begins loops again whose condition was not reached: with the same iterations it would not be reached either.
    fn exhausted_loops(&mut self, causes: &[(String, &Ended)]) {
        let is_exhausted =
            |ended: &Ended| matches!(ended.outcome, Outcome::Loop(LoopFailure::NotReached { .. }));
        for (path, _) in causes.iter().filter(|(_, ended)| is_exhausted(ended)) {
            self.reasons.entry(path.clone()).or_insert_with(|| "its condition was not reached".to_owned());
        }
    }

    /// A failed step that still exists, with at most this many levels of producers.
    fn failed(&mut self, path: String, most: usize) -> Option<Failed> {
        let (id, at) = self.request.state.in_recipe(self.request.state.locate(&path)?);
        let frame = &self.request.state.frames[id];
        let step = &frame.unit.steps[at];
        let unit = unit_of(self.request.plan, frame)?;
        let now = unit.steps.iter().find(|new| new.id == step.id)?;
        let is_to_blame = now.digest != step.digest || matches!(step.kind, StepKind::Agent(_));
        let levels = if is_to_blame { Vec::new() } else { self.levels(id, at, most) };
        Some(Failed { path, levels })
    }

    /// Producers before a step, in its recipe and in those around it.
    fn levels(&mut self, id: FrameId, at: usize, most: usize) -> Vec<Level> {
        let mut levels = Vec::new();
        let mut here = Some((id, at));
        while let Some((id, at)) = here.filter(|_| levels.len() < most) {
            let found = self.producer_levels(id, at, most - levels.len());
            levels.extend(found.into_iter().map(|producers| Level { id, at, producers }));
            here = self.request.state.frames[id].parent.map(|step| self.request.state.in_recipe(step));
        }
        levels
    }

    fn producer_levels(&mut self, id: FrameId, at: usize, most: usize) -> Vec<Vec<(usize, bool)>> {
        let frame = &self.request.state.frames[id];
        let Some(graph) = self.graph(id) else { return Vec::new() };
        let unit = &graph.unit;
        let Some(target) = unit.steps.iter().position(|step| step.id == frame.unit.steps[at].id) else {
            return Vec::new();
        };
        let ways = graph.ways();
        let mut levels = Vec::new();
        let mut seen: BTreeMap<usize, bool> = BTreeMap::from([(target, true)]);
        let mut level: Vec<usize> = vec![target];
        while !level.is_empty() && levels.len() < most {
            let mut next: BTreeMap<usize, bool> = BTreeMap::new();
            for edge in level.iter().flat_map(|step| ways.needs(*step)) {
                // a link by value continues only over links by value
                let by_value = edge.link != Link::Order && seen[&edge.to];
                let entry = next.entry(edge.from).or_insert(by_value);
                *entry |= by_value;
            }
            next.retain(|index, _| !seen.contains_key(index));
            let producers: Vec<(usize, bool)> = next
                .iter()
                .filter(|(index, _)| self.is_producer_that_ran(id, &unit.steps[**index]))
                .map(|(index, by_value)| (*index, *by_value))
                .collect();
            if !producers.is_empty() {
                levels.push(producers);
            }
            level = next.keys().copied().collect();
            seen.extend(next);
        }
        levels
    }

    /// Whether a step contains work of an agent. The recipe that a recipe step ran is known, even if its name is a
    /// template or it was interrupted.
    pub(super) fn is_producer_that_ran(&self, id: FrameId, step: &Step) -> bool {
        let state = self.request.state;
        let Some(index) = state.frames[id].index_of(&step.id) else { return false };
        if let Some(child) = state.below(id, index) {
            return self.contains_agent(child);
        }
        let ran = |step: &StepState| step.status.is_done() || step.status == StepStatus::Failed;
        state.standing(id, index).is_some_and(ran)
            && is_producer(self.request.plan, step, &mut HashSet::new())
    }

    /// Whether an agent worked in a recipe, or in one of its sub-recipes.
    fn contains_agent(&self, id: FrameId) -> bool {
        let state = self.request.state;
        let frame = &state.frames[id];
        frame.unit.steps.iter().enumerate().any(|(at, step)| {
            let kept = || state.standing(id, at).is_some_and(|step| step.status.is_done());
            let is_done = frame.steps[at].status.is_done() || kept();
            let child = frame.steps[at].frame.or_else(|| state.below(id, at));
            (matches!(step.kind, StepKind::Agent(_)) && is_done)
                || child.is_some_and(|child| self.contains_agent(child))
        })
    }

    /// Runs producers again, with everything between them and the failed step, and the other readers of their values.
    fn take_producers(&mut self, failed: &str, level: &Level) {
        let Level { id, at, ref producers } = *level;
        let state = self.request.state;
        let frame = &state.frames[id];
        let Some(graph) = self.graph(id) else { return };
        let unit = &graph.unit;
        let path = |index: usize| step_path(&frame.path, &unit.steps[index].id);
        let (chosen, kept): (Vec<_>, Vec<_>) =
            producers.iter().partition(|(_, by_value)| self.may_take(failed, *by_value));
        self.kept_producers.extend(kept.iter().map(|(index, _)| path(*index)));
        let starts: Vec<usize> = chosen.iter().map(|(index, _)| *index).collect();
        let Some(last) = starts.iter().max() else { return };
        self.producers.extend(starts.iter().map(|index| path(*index)));
        let failed = &frame.unit.steps[at].id;
        let target = unit.steps.iter().position(|step| step.id == *failed).unwrap_or(0);
        let ways = graph.ways();
        let between = ways.between(&starts, target);
        let again: BTreeSet<usize> = between.union(&ways.readers(&starts)).copied().collect();
        for index in again.iter().copied() {
            let Some(old) = frame.index_of(&unit.steps[index].id) else { continue };
            if !state.is_finished(id, old) {
                self.renew(id, index, &again, &HashSet::new());
                continue;
            }
            let reason = match starts.contains(&index) {
                true => format!("`{failed}` failed on its result"),
                false if between.contains(&index) => {
                    format!("it is between `{}` and `{failed}`", unit.steps[*last].id)
                }
                false => READS.to_owned(),
            };
            if starts.contains(&index) {
                self.reasons.entry(path(index)).or_insert(reason);
            } else {
                self.again(path(index), &unit.steps[index], reason);
            }
        }
    }

    /// Whether producers run again: each failed step is judged by its own failure.
    fn may_take(&self, failed: &str, by_value: bool) -> bool {
        match self.request.resumer {
            Resumer::Automatic { .. } | Resumer::Person { producers: Producers::Again } => true,
            Resumer::Person { producers: Producers::Linked } => {
                by_value && self.request.blames.get(failed) == Some(&Blame::Work)
            }
        }
    }
}

/// The reason for a step that reads a value which is made again.
pub(super) const READS: &str = "it reads a result that is made again";
