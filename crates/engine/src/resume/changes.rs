//! Steps that are out of date because the recipe or its values changed, and their dependents. Never looks at a failure.

use std::collections::HashSet;

use recipe::{
    graph::{self, Edge, Link},
    plan::{Step, StepKind, Unit},
};

use super::{
    Producers, Resumer, Work,
    rewired::rewired,
    ways::{Ways, step_path},
};
use crate::run::frame::{Frame, FrameId};

impl Work<'_> {
    /// Steps whose definition changed, and their dependents.
    pub(super) fn changes(&mut self, id: FrameId, new: &Unit) {
        let old = &self.request.state.frames[id];
        let edges = graph::edges_in(self.request.plan, new);
        let ways = Ways::new(&edges, new.steps.len());
        let names = self.changed_names(old, new);
        let rewired = rewired(self.request, old, new, &edges);
        let mut again: HashSet<usize> = HashSet::new();
        // agents that are kept although an earlier step changed: steps that follow them only by order are not kept
        let mut doubted: HashSet<usize> = HashSet::new();
        for at in sequence(new, &edges) {
            let step = &new.steps[at];
            let before = old.index_of(&step.id);
            let path = step_path(&old.path, &step.id);
            let is_cause = |edge: &&&Edge| {
                again.contains(&edge.from) || (edge.link == Link::Order && doubted.contains(&edge.from))
            };
            let cause = ways.needs(at).iter().find(is_cause).copied();
            let change = (before.and_then(|index| change(&old.unit.steps[index], step)))
                .or_else(|| self.gone(&path))
                .map_or_else(|| self.undone_reason(&path), |change| Some(change.to_owned()));
            let is_changed = change.is_some();
            let mut reason = match before {
                None => Some("it is new".to_owned()),
                Some(_) if is_changed => change,
                Some(_) => (cause.map(|edge| because(new, edge)))
                    .or_else(|| self.reads_one_of(step, &names))
                    .or_else(|| rewired.get(&at).map(|name| format!("`{name}` comes from another step now"))),
            };
            let listed = before.and_then(|index| relisted(&old.unit.steps[index], step));
            let extent = match reason {
                _ if is_changed || self.reads_in_instances(step, &names) => Extent::Whole,
                Some(_) if cause.is_some() || rewired.contains_key(&at) => Extent::Inputs,
                Some(_) => Extent::Items,
                None => Extent::List,
            };
            self.changed.extend((is_changed && !self.is_undone(&path)).then(|| path.clone()));
            let by_order = cause.filter(|edge| edge.link == Link::Order && !is_changed);
            if let Some(index) = before.filter(|_| by_order.is_some())
                && (listed.is_none() && self.reads_one_of(step, &names).is_none())
                && !rewired.contains_key(&at)
                && self.is_spared(id, index, step)
            {
                self.kept_producers.push(path.clone());
                doubted.insert(at);
                reason = None;
            }
            if let Some(reason) = reason.or(listed) {
                again.insert(at);
                if before.is_some_and(|index| self.has_begun(id, index)) {
                    self.discard(path, step, reason, extent);
                }
                if is_changed || step.each().is_none() {
                    continue;
                }
            }
            if before.is_some_and(|index| self.changes_below(id, index, step)) {
                again.insert(at);
            }
        }
    }

    /// Discards results of a step that is out of date.
    fn discard(&mut self, path: String, step: &Step, reason: String, extent: Extent) {
        match extent {
            Extent::Whole => {
                self.reasons.entry(path).or_insert(reason);
            }
            Extent::Inputs => self.again(path, step, reason),
            Extent::Items => {
                self.again(path.clone(), step, reason);
                self.by_item.insert(path);
            }
            Extent::List => {
                self.again(path.clone(), step, reason);
                self.by_item.insert(path.clone());
                self.relisted.insert(path);
            }
        }
    }

    /// Whether every instance of a `for_each` step reads one of these names, so that none is kept.
    fn reads_in_instances(&self, step: &Step, names: &HashSet<String>) -> bool {
        let seen = || names.iter().filter(|name| !step.is_loop_name(name)).cloned().collect();
        step.each().is_some() && graph::reads_one_of(self.request.plan, &step.instance(), &seen()).is_some()
    }

    /// The same in all recipes that a step ran. Returns whether a step of them runs again.
    fn changes_below(&mut self, id: FrameId, index: usize, step: &Step) -> bool {
        let state = self.request.state;
        let recipes = state.below(id, index).map(|child| state.recipes_in(child)).unwrap_or_default();
        let size = self.reasons.len();
        recipes.into_iter().for_each(|child| self.recipe_changes(child, step));
        self.reasons.len() > size
    }

    /// The same in the recipe that a step, or an instance of it, ran.
    fn recipe_changes(&mut self, child: FrameId, step: &Step) {
        let frame = &self.request.state.frames[child];
        let Some(unit) = self.nested(&frame.path, step) else { return };
        let size = self.reasons.len();
        self.changes(child, &unit);
        if frame.unit.digest != unit.digest && self.reasons.len() == size {
            // its finished steps are kept, but the recipe is entered again
            self.reasons.insert(format!("{}/", frame.path), "its recipe changed".to_owned());
        }
    }

    /// Whether a finished step costs too much to run again only because an earlier step changed: without a known
    /// dependency, no money is spent.
    fn is_spared(&self, id: FrameId, index: usize, step: &Step) -> bool {
        matches!(self.request.resumer, Resumer::Person { producers: Producers::Linked })
            && self.has_begun(id, index)
            && self.is_producer_that_ran(id, step)
    }

    /// Whether there is something to discard: a result, or an unfinished recipe that ran under other circumstances.
    pub(super) fn has_begun(&self, id: FrameId, at: usize) -> bool {
        self.has_result(id, at) || self.request.state.below(id, at).is_some()
    }

    /// Whether the work of a step is done, proven or not.
    pub(super) fn has_result(&self, id: FrameId, at: usize) -> bool {
        let state = self.request.state;
        state.is_finished(id, at) || state.awaits_proof(&state.frames[id].step_path(at))
    }

    /// Why a step that reads one of these names is out of date.
    fn reads_one_of(&self, step: &Step, names: &HashSet<String>) -> Option<String> {
        let name = graph::reads_one_of(self.request.plan, step, names)?;
        Some(format!("it reads `{name}`, which changed"))
    }

    /// Names with another meaning now: defaults that changed and were used, and values that were given again.
    fn changed_names(&self, old: &Frame, new: &Unit) -> HashSet<String> {
        let state = self.request.state;
        let outside = match old.parent {
            Some((parent, _)) => &state.frames[parent].context,
            None => &state.settings.given,
        };
        // a name that a sub-recipe introduced was copied back to the parent; it still belongs to the sub-recipe
        let is_own = |name: &String| !outside.contains_key(name) || old.introduced.contains(name);
        let (was, is) = (old.unit.defaults(), new.defaults());
        let mut names: HashSet<String> = (was.keys().chain(is.keys()))
            .filter(|name| is_own(name) && !old.overrides.contains(*name))
            .filter(|name| was.get(*name) != is.get(*name))
            .cloned()
            .collect();
        // values that inputs of another type make of the same texts
        names.extend(
            new.inputs
                .iter()
                .map(|input| &input.name)
                .filter(|name| {
                    let value = old.initial.get(*name).or_else(|| old.context.get(*name));
                    value.is_some_and(|value| new.fitted_value(name, value) != *value)
                })
                .cloned(),
        );
        if old.parent.is_none() {
            let given = self.request.given.iter();
            names.extend(
                given
                    .filter(|(name, value)| old.initial.get(*name) != Some(&new.fitted_value(name, value)))
                    .map(|(name, _)| name.clone()),
            );
        }
        names
    }
}

/// How much of a step is out of date.
#[derive(Clone, Copy)]
enum Extent {
    /// All of it.
    Whole,
    /// What depends on values before it.
    Inputs,
    /// The values that its list is made of.
    Items,
    /// Only how its list is written.
    List,
}

/// The steps in an order in which everything comes after what it needs.
fn sequence(unit: &Unit, edges: &[Edge]) -> Vec<usize> {
    match unit.is_graph {
        true => graph::needs::order(unit.steps.len(), edges),
        false => (0..unit.steps.len()).collect(),
    }
}

/// Why the loop of a step is entered again: its list is written in another way.
fn relisted(before: &Step, now: &Step) -> Option<String> {
    let is_other = before.each()?.list_digest != now.each()?.list_digest;
    is_other.then(|| "its list changed".to_owned())
}

/// The part of a step that changed. Older runs did not store agent files, so those cannot differ.
fn change(before: &Step, now: &Step) -> Option<&'static str> {
    let agent_file = |step: &Step| match &step.kind {
        StepKind::Agent(agent) => agent.system_prompt.clone(),
        _ => None,
    };
    if before.digest != now.digest {
        return Some("its definition changed");
    }
    let known = agent_file(before);
    (known.is_some() && known != agent_file(now)).then_some("the file of its agent changed")
}

/// Why a step is out of date that depends on one that runs again.
fn because(unit: &Unit, edge: &Edge) -> String {
    let from = &unit.steps[edge.from].id;
    match (&edge.what, edge.link) {
        (Some(what), _) => format!("it depends on `{from}` through `{what}`"),
        (None, Link::Order) => format!("it comes after `{from}`, and its inputs are not declared"),
        (None, _) => format!("it depends on `{from}`"),
    }
}
