//! What a resume keeps, what it does again, and why: the same inputs can only fail the same way.
//!
//! A single cursor is not enough. When a check fails because of what an agent wrote, going on at the check is a
//! dead end: the agent has to work again. Never runs anything; the answer is a list that people can read.

mod rewired;
mod ways;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use recipe::{
    graph::{self, Edge, Link},
    plan::{Plan, Step, StepKind, Unit},
    value::Map,
};
use serde::Serialize;

use crate::{
    frame::{Frame, FrameId, StepState},
    outcome::StepStatus,
    state::RunState,
};
use rewired::rewired;
pub use ways::asks_an_agent;
use ways::{Ways, is_producer, nested_unit, step_path, unit_of};

/// Who resumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resumer {
    /// A person: money is not spent on a guess.
    Person {
        /// Whether producers are done again in any case.
        producers: Producers,
    },
    /// The auto-fix loop. `level` counts how often the same dead end was met: each time one level more.
    Automatic {
        /// 0 at first.
        level: usize,
    },
}

/// Whether a person asked for producers to be done again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Producers {
    /// Only where the failed step uses their values.
    Linked,
    /// In any case.
    Again,
}

/// What a failure is put down to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// What the steps before it made.
    Work,
    /// Something else: the environment, the recipe, nobody knows.
    Other,
}

/// What to plan for.
pub struct Request<'a> {
    /// The state of the run so far.
    pub state: &'a RunState,
    /// The plan that it was done by.
    pub before: &'a Plan,
    /// The plan to go on with.
    pub plan: &'a Plan,
    /// Values from outside that replace those of the run.
    pub given: &'a Map,
    /// Steps whose stored value cannot be brought back.
    pub lost: &'a HashSet<String>,
    /// Who resumes.
    pub resumer: Resumer,
    /// What the failure is put down to.
    pub blame: Blame,
    /// Where to go on, if somebody says so.
    pub from: Option<&'a str>,
    /// Whether completed side effects may be repeated.
    pub effects: Effects,
}

/// Whether completed side effects may be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effects {
    /// Never.
    Once,
    /// A person allows it.
    Again,
}

/// What becomes of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Its result stays.
    Keep,
    /// It was done and is done again.
    Rerun,
    /// It is still to be done.
    Pending,
}

/// One step of the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// The step.
    pub path: String,
    /// What becomes of it.
    pub action: Action,
    /// Why.
    pub reason: String,
}

/// A plan for resuming.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ResumePlan {
    /// What the work hangs on: the latest of the producers that are done again, else where it goes on.
    pub anchor: Option<String>,
    /// The first step that runs.
    pub goes_on_at: Option<String>,
    /// Steps that ran and are done again.
    pub rerun: Vec<String>,
    /// Of these, the ones whose result is given up; what failed has none.
    #[serde(skip)]
    pub redo: Vec<String>,
    /// Every step.
    pub steps: Vec<Entry>,
    /// Agents that are kept, and that a person may have done again.
    pub kept_producers: Vec<String>,
    /// Completed side effects that would have to be repeated: a person has to allow it.
    pub blocked_effects: Vec<String>,
}

/// Makes the plan.
pub fn plan(request: &Request<'_>) -> ResumePlan {
    let mut work = Work {
        request,
        reasons: BTreeMap::new(),
        changed: HashSet::new(),
        anchor: None,
        kept_producers: Vec::new(),
    };
    work.changes(0, request.plan.root());
    work.losses();
    match request.from {
        Some(from) => work.from(from),
        None => work.failure(),
    }
    work.finish()
}

struct Work<'a> {
    request: &'a Request<'a>,
    /// Finished steps that are done again, with the reason.
    reasons: BTreeMap<String, String>,
    /// Steps whose own definition changed.
    changed: HashSet<String>,
    /// What was asked for, or the latest of the producers that are done again.
    anchor: Option<String>,
    kept_producers: Vec<String>,
}

impl Work<'_> {
    /// Steps whose definition changed, and what depends on them.
    fn changes(&mut self, id: FrameId, new: &Unit) {
        let state = self.request.state;
        let old = &state.frames[id];
        let edges = graph::edges_in(self.request.plan, new);
        let ways = Ways::new(&edges, new.steps.len());
        let names = self.changed_names(old, new);
        let rewired = rewired(self.request, old, new, &edges);
        let mut again: HashSet<usize> = HashSet::new();
        // agents that are kept though something before them changed: what follows them by order alone is not kept
        let mut doubted: HashSet<usize> = HashSet::new();
        for (at, step) in new.steps.iter().enumerate() {
            let before = old.index_of(&step.id);
            let path = step_path(&old.path, &step.id);
            let is_cause = |edge: &&&Edge| {
                again.contains(&edge.from) || (edge.link == Link::Order && doubted.contains(&edge.from))
            };
            let cause = ways.needs(at).iter().find(is_cause).copied();
            let is_changed = before.is_some_and(|index| old.unit.steps[index].digest != step.digest);
            let mut reason = match before {
                None => Some("it is new".to_owned()),
                Some(_) if is_changed => Some("its definition changed".to_owned()),
                Some(_) => (cause.map(|edge| because(new, edge)))
                    .or_else(|| self.reads_one_of(step, &names))
                    .or_else(|| rewired.get(&at).map(|name| format!("`{name}` comes from another step now"))),
            };
            if is_changed {
                self.changed.insert(path.clone());
            }
            if let (Some(index), Some(edge)) = (before.filter(|_| !is_changed), cause)
                && edge.link == Link::Order
                && self.reads_one_of(step, &names).is_none()
                && !rewired.contains_key(&at)
                && self.is_spared(id, index, step)
            {
                self.kept_producers.push(path.clone());
                doubted.insert(at);
                reason = None;
            }
            if let Some(reason) = reason {
                again.insert(at);
                if before.is_some_and(|index| self.has_begun(id, index)) {
                    self.reasons.entry(path).or_insert(reason);
                }
                continue;
            }
            let child = before.and_then(|index| state.below(id, index));
            if let (Some(child), Some(unit)) = (child, nested_unit(self.request.plan, step)) {
                let size = self.reasons.len();
                let is_changed = state.frames[child].unit.digest != unit.digest;
                self.changes(child, &unit);
                if is_changed && self.reasons.len() == size {
                    // what was done in it is kept, but it is entered again
                    self.reasons.insert(format!("{path}/"), "its recipe changed".to_owned());
                }
                if self.reasons.len() > size {
                    again.insert(at);
                }
            }
        }
    }

    /// Whether a finished step costs too much to be done again only because it comes after something that changed:
    /// a person does not spend money on a guess.
    fn is_spared(&self, id: FrameId, index: usize, step: &Step) -> bool {
        matches!(self.request.resumer, Resumer::Person { producers: Producers::Linked })
            && self.has_begun(id, index)
            && self.is_producer_that_ran(id, step)
    }

    /// Whether there is something to give up: a result, or a recipe that did not come to its end and was done under
    /// other circumstances.
    fn has_begun(&self, id: FrameId, at: usize) -> bool {
        self.request.state.is_finished(id, at) || self.request.state.below(id, at).is_some()
    }

    /// Why a step that reads one of these names is out of date.
    fn reads_one_of(&self, step: &Step, names: &HashSet<String>) -> Option<String> {
        let name = graph::reads_one_of(self.request.plan, step, names)?;
        Some(format!("it reads `{name}`, which changed"))
    }

    /// Names that mean something else now: defaults that differ and were in force, and values that were given anew.
    fn changed_names(&self, old: &Frame, new: &Unit) -> HashSet<String> {
        let state = self.request.state;
        let outside = match old.parent {
            Some((parent, _)) => &state.frames[parent].context,
            None => &state.settings.given,
        };
        // what a nested recipe brought in has come back to the recipe around it, and was its own all the same
        let is_own = |name: &String| !outside.contains_key(name) || old.introduced.contains(name);
        let (was, is) = (old.unit.defaults(), new.defaults());
        let mut names: HashSet<String> = (was.keys().chain(is.keys()))
            .filter(|name| is_own(name) && !old.overrides.contains(*name))
            .filter(|name| was.get(*name) != is.get(*name))
            .cloned()
            .collect();
        if old.parent.is_none() {
            let given = self.request.given.iter();
            names.extend(
                given
                    .filter(|(name, value)| old.initial.get(*name) != Some(value))
                    .map(|(name, _)| name.clone()),
            );
        }
        names
    }

    /// Never an empty text in place of a lost value.
    fn losses(&mut self) {
        for path in self.request.lost {
            self.reasons
                .entry(path.clone())
                .or_insert_with(|| "its stored value is missing or damaged".to_owned());
        }
    }

    /// From this step on, everything is done again.
    fn from(&mut self, from: &str) {
        self.anchor = Some(from.to_owned());
        let state = self.request.state;
        let Some((id, at)) = state.find(from) else { return };
        let frame = &state.frames[id];
        for index in at..frame.steps.len() {
            if state.is_finished(id, index) {
                let reason =
                    if index == at { "asked for".to_owned() } else { format!("it comes after `{from}`") };
                self.reasons.entry(frame.step_path(index)).or_insert(reason);
            }
        }
        // what comes after the recipe that it belongs to
        let mut up = frame.parent;
        while let Some((parent, at)) = up {
            let frame = &state.frames[parent];
            for index in at + 1..frame.steps.len() {
                if state.is_finished(parent, index) {
                    self.reasons
                        .entry(frame.step_path(index))
                        .or_insert_with(|| format!("it comes after `{from}`"));
                }
            }
            up = frame.parent;
        }
    }

    /// What the failed step needs done again before it.
    fn failure(&mut self) {
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
    fn is_producer_that_ran(&self, id: FrameId, step: &Step) -> bool {
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

    fn finish(self) -> ResumePlan {
        let mut steps = Vec::new();
        self.entries(0, self.request.plan.root(), Around::Itself, &mut steps);
        let redo: Vec<String> = self.reasons.keys().cloned().collect();
        let blocked_effects = match self.request.effects {
            Effects::Again => Vec::new(),
            Effects::Once => redo.iter().filter(|path| self.has_effect(path)).cloned().collect(),
        };
        let is_again = |entry: &&Entry| entry.action == Action::Rerun && entry.reason != REDONE;
        let rerun: Vec<String> = steps.iter().filter(is_again).map(|entry| entry.path.clone()).collect();
        let goes_on_at = self.first(&steps);
        let mut kept_producers = self.kept_producers;
        kept_producers.retain(|path| !rerun.contains(path));
        let mut seen = HashSet::new();
        kept_producers.retain(|path| seen.insert(path.clone()));
        let anchor = self.anchor.or_else(|| goes_on_at.clone());
        ResumePlan { anchor, goes_on_at, rerun, redo, steps, kept_producers, blocked_effects }
    }

    /// The first step that runs. A recipe that is only entered again is not it, but what runs first in it.
    fn first(&self, steps: &[Entry]) -> Option<String> {
        let runs = |entry: &Entry| entry.action != Action::Keep && entry.reason != SKIPPED;
        let is_entered = |at: usize, path: &str| {
            let below = format!("{path}/");
            let inside = steps[at + 1..].iter().take_while(|next| next.path.starts_with(&below));
            inside.into_iter().any(runs)
        };
        let found = steps.iter().enumerate().find(|(at, entry)| {
            runs(entry) && (self.reasons.contains_key(&entry.path) || !is_entered(*at, &entry.path))
        });
        found.map(|(_, entry)| entry.path.clone())
    }

    /// Why a step is done again, itself or something in its recipe.
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
        let own = is_done && (!step.effects.is_empty() || !step.idempotent);
        let below =
            |child: FrameId| (0..state.frames[child].steps.len()).any(|index| self.did_effect(child, index));
        own || state.below(id, at).is_some_and(below)
    }

    fn entries(&self, id: FrameId, new: &Unit, around: Around, out: &mut Vec<Entry>) {
        let state = self.request.state;
        let old = &state.frames[id];
        for step in &new.steps {
            let path = step_path(&old.path, &step.id);
            let index = old.index_of(&step.id);
            let status = |index| state.standing(id, index).map_or(StepStatus::Pending, |step| step.status);
            let entry = match index.map(status) {
                _ if around == Around::Redone => entry(&path, Action::Rerun, REDONE),
                None => entry(&path, Action::Pending, "it is new"),
                Some(status) => match (self.reason(&path), status) {
                    (Some(reason), _) => entry(&path, Action::Rerun, &reason),
                    (None, StepStatus::Completed | StepStatus::Degraded) => {
                        entry(&path, Action::Keep, "it is done")
                    }
                    (None, StepStatus::Skipped) => entry(&path, Action::Pending, SKIPPED),
                    (None, StepStatus::Failed)
                        if step.continue_on_error && index.is_some_and(|index| old.is_tolerated(index)) =>
                    {
                        entry(&path, Action::Keep, "it failed, and the recipe tolerates that")
                    }
                    (None, StepStatus::Failed | StepStatus::Running)
                        if step.idempotent && self.changed.contains(&path) =>
                    {
                        entry(&path, Action::Rerun, "its definition changed")
                    }
                    (None, StepStatus::Failed) => entry(&path, Action::Rerun, "it failed"),
                    (None, StepStatus::Running) if !step.idempotent => entry(
                        &path,
                        Action::Pending,
                        "it was interrupted and is not idempotent: choose --rerun-interrupted or --skip-interrupted",
                    ),
                    (None, StepStatus::Running) => entry(&path, Action::Rerun, "it was interrupted"),
                    (None, StepStatus::Pending) => entry(&path, Action::Pending, "it was not reached"),
                },
            };
            out.push(entry);
            let child = index.and_then(|index| state.below(id, index));
            if let (Some(child), Some(unit)) = (child, nested_unit(self.request.plan, step)) {
                let around = match self.reasons.contains_key(&path) {
                    true => Around::Redone,
                    false => around,
                };
                self.entries(child, &unit, around, out);
            }
        }
    }
}

/// What is done with the recipe around a step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Around {
    /// Every step of it has a fate of its own.
    Itself,
    /// All of it is done again.
    Redone,
}

/// Why a step inside of a recipe that is done again is done again.
const REDONE: &str = "the recipe around it is done again";
/// Why a step that was skipped is not kept.
const SKIPPED: &str = "it was skipped; it is looked at again";

/// Why a step is out of date that depends on one that is done again.
fn because(unit: &Unit, edge: &Edge) -> String {
    let from = &unit.steps[edge.from].id;
    match (&edge.what, edge.link) {
        (Some(what), _) => format!("it depends on `{from}` through `{what}`"),
        (None, Link::Order) => format!("it comes after `{from}`, and nothing says what else it needs"),
        (None, _) => format!("it depends on `{from}`"),
    }
}

fn entry(path: &str, action: Action, reason: &str) -> Entry {
    Entry { path: path.to_owned(), action, reason: reason.to_owned() }
}
