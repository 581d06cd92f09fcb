//! What a failed step needs done again before it: the work that it found wanting. Never looks at what changed.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use recipe::{
    graph::{self, Link},
    plan::{Step, StepKind},
};

use super::{
    Blame, Producers, Resumer, Work,
    ways::{Ways, is_producer, step_path, unit_of},
};
use crate::{
    frame::{FrameId, StepState},
    outcome::StepStatus,
};

impl Work<'_> {
    /// What the failed step needs done again before it.
    pub(super) fn failure(&mut self) {
        let Some((path, _)) = self.request.state.root_cause() else { return };
        let Some((id, at)) = self.request.state.locate(&path) else { return };
        let frame = &self.request.state.frames[id];
        let step = &frame.unit.steps[at];
        let unit = unit_of(self.request.plan, frame);
        let now = unit.as_ref().and_then(|unit| unit.steps.iter().find(|new| new.id == step.id));
        let Some(now) = now else { return };
        // unless producers are done again, the work hangs on the failed step itself
        self.anchor = Some(path);
        if now.digest != step.digest || matches!(step.kind, StepKind::Agent(_)) {
            return;
        }
        let wanted = match self.request.resumer {
            Resumer::Automatic { level } => level,
            Resumer::Person { .. } => 0,
        };
        let mut skipped = 0;
        let mut here = Some((id, at));
        while let Some((id, at)) = here {
            let frame = &self.request.state.frames[id];
            for level in self.producer_levels(id, at) {
                if skipped == wanted {
                    return self.take_producers(id, at, &level);
                }
                skipped += 1;
            }
            here = frame.parent;
        }
    }

    /// Producers above a step, nearest level first.
    fn producer_levels(&self, id: FrameId, at: usize) -> Vec<Vec<(usize, bool)>> {
        let frame = &self.request.state.frames[id];
        let Some(unit) = unit_of(self.request.plan, frame) else { return Vec::new() };
        let Some(target) = unit.steps.iter().position(|step| step.id == frame.unit.steps[at].id) else {
            return Vec::new();
        };
        let edges = graph::edges_in(self.request.plan, &unit);
        let ways = Ways::new(&edges, unit.steps.len());
        let mut levels = Vec::new();
        let mut seen: BTreeMap<usize, bool> = BTreeMap::from([(target, true)]);
        let mut level: Vec<usize> = vec![target];
        while !level.is_empty() {
            let mut next: BTreeMap<usize, bool> = BTreeMap::new();
            for edge in level.iter().flat_map(|step| ways.needs(*step)) {
                // a link by value reaches further only over links by value
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

    /// Whether there is work of an agent in a step. What a recipe step ran is known, also where its name is a
    /// template or it was cut off before its end.
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

    /// Whether an agent worked in a recipe, or in one below it.
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

    /// Does producers again, with everything between them and the failed step, and what else reads their values.
    fn take_producers(&mut self, id: FrameId, at: usize, level: &[(usize, bool)]) {
        let frame = &self.request.state.frames[id];
        let Some(unit) = unit_of(self.request.plan, frame) else { return };
        let may = |by_value: bool| match self.request.resumer {
            Resumer::Automatic { .. } | Resumer::Person { producers: Producers::Again } => true,
            Resumer::Person { producers: Producers::Linked } => by_value && self.request.blame == Blame::Work,
        };
        let (chosen, kept): (Vec<_>, Vec<_>) = level.iter().partition(|(_, by_value)| may(*by_value));
        self.kept_producers
            .extend(kept.iter().map(|(index, _)| step_path(&frame.path, &unit.steps[*index].id)));
        let Some((last, _)) = chosen.iter().max_by_key(|(index, _)| *index) else { return };
        self.anchor = Some(step_path(&frame.path, &unit.steps[*last].id));
        self.takes_producers = true;
        let edges = graph::edges_in(self.request.plan, &unit);
        let failed = &frame.unit.steps[at].id;
        let target = unit.steps.iter().position(|step| step.id == *failed).unwrap_or(0);
        let starts: Vec<usize> = chosen.iter().map(|(index, _)| *index).collect();
        let ways = Ways::new(&edges, unit.steps.len());
        let between = ways.between(&starts, target);
        let readers = ways.readers(&starts);
        for index in between.iter().chain(&readers).copied().collect::<BTreeSet<usize>>() {
            let step = &unit.steps[index];
            let Some(old) = frame.index_of(&step.id) else { continue };
            if !self.request.state.is_finished(id, old) {
                continue;
            }
            let reason = match starts.contains(&index) {
                true => format!("it makes what the failed step `{failed}` checks"),
                false if between.contains(&index) => {
                    format!("it stands between `{}` and `{failed}`", unit.steps[*last].id)
                }
                false => "it reads what is made again".to_owned(),
            };
            self.reasons.entry(step_path(&frame.path, &step.id)).or_insert(reason);
        }
    }
}
