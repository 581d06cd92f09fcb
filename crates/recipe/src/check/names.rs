//! Names across a plan: where they are defined, and where they are read.
//!
//! Warns about a name only if nothing at all can define it; recipes may be given names that they do not declare.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::{
    Given, children, cleanup::FAILURE, collisions::Collisions, step_paths::StepPaths,
    undefined::UndefinedNames,
};
use crate::{
    diagnostic::Diagnostic,
    plan::{Plan, Step, StepKind, Target, Unit, UnitId, ValueTemplate},
    scope::Path,
    source::Place,
    syntax::When,
};

/// Facts about the names of one recipe, from its checks.
#[derive(Debug, Default)]
pub(super) struct NameFacts {
    /// Places that read names.
    pub(super) uses: Vec<NameUse>,
    /// Where names are declared.
    pub(super) declared: HashMap<String, Place>,
    /// Where steps pass names to sub-recipes: the step, the name, its place.
    pub(super) passed: Vec<(usize, String, Place)>,
    /// `RECIPE_VAR_…` variables that steps set in `env`: the step, the variable, its place.
    pub(super) variables: Vec<(usize, String, Place)>,
    /// Part of the recipe could not be read, so its names are not all known.
    pub(super) is_partial: bool,
}

/// A place that reads a name.
#[derive(Clone, Debug)]
pub(super) struct NameUse {
    pub(super) path: Path,
    pub(super) place: Place,
    pub(super) at: UsedIn,
}

/// Which part of a recipe reads it; steps by their index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UsedIn {
    Step(usize),
    Prompt(usize),
    Condition(usize),
    Ensure(usize),
    EnsureCondition(usize),
    /// The list of a `for_each` step: it sees the context around the step.
    Items(usize),
    Hook,
    End,
    Secret,
}

impl UsedIn {
    pub(super) fn step(self) -> usize {
        match self {
            UsedIn::Step(at)
            | UsedIn::Prompt(at)
            | UsedIn::Condition(at)
            | UsedIn::Ensure(at)
            | UsedIn::EnsureCondition(at)
            | UsedIn::Items(at) => at,
            UsedIn::Hook | UsedIn::End | UsedIn::Secret => usize::MAX,
        }
    }

    pub(super) fn is_condition(self) -> bool {
        matches!(self, UsedIn::Condition(_) | UsedIn::EnsureCondition(_))
    }

    /// The step whose own value is visible there.
    pub(super) fn after_step(self) -> Option<usize> {
        match self {
            UsedIn::Ensure(at) | UsedIn::EnsureCondition(at) => Some(at),
            _ => None,
        }
    }
}

/// Looks at the names of all units but the first ones, which were looked at `before`.
pub(super) fn check(
    plan: &Plan,
    before: usize,
    name_facts: &[NameFacts],
    given: &Given,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let flow = Flow::new(plan, name_facts);
    let mut reported = HashSet::new();
    for (at, unit) in plan.units.iter().enumerate().skip(before) {
        let outside = flow.above[at].iter().chain(&given.names).map(String::as_str).collect();
        let before = flow.before[at].iter().chain(&given.names).chain(&given.possible);
        let before = before.map(String::as_str).collect();
        if !name_facts[at].is_partial {
            let mut paths = StepPaths::new(unit);
            diagnostics.extend(name_facts[at].uses.iter().filter_map(|used| paths.find(used)));
        }
        if !name_facts[at].is_partial && !flow.is_open_above[at] {
            let mut undefined = UndefinedNames::new(plan, unit, &flow, &before);
            diagnostics.extend(name_facts[at].uses.iter().filter_map(|used| undefined.find(used)));
        }
        let mut collisions = Collisions::new(plan, unit, &name_facts[at], &mut reported, diagnostics);
        collisions.own(given);
        collisions.in_step_env(&outside, &flow.below);
        collisions.in_calls(&flow.surely_above[at]);
        collisions.with_callers(&flow.above[at], &flow.surely_above[at]);
    }
}

/// How names travel between the recipes of a plan.
pub(super) struct Flow {
    /// The names that the final context of a unit can have: its own and those of the recipes below.
    pub(super) below: Vec<BTreeSet<String>>,
    /// The names that steps of a unit and of the recipes below assign.
    assigned: Vec<BTreeSet<String>>,
    /// The names that the callers of a unit may have at any time.
    above: Vec<BTreeSet<String>>,
    /// Those of them that they may have before one of the calls, and pass down.
    before: Vec<BTreeSet<String>>,
    /// Those of them that they always pass down: names that they declare, and names that calls give a value.
    surely_above: Vec<BTreeSet<String>>,
    /// Whether a unit can also define names that are known only during a run.
    pub(super) is_open: Vec<bool>,
    /// Whether that is so for a recipe that calls the unit.
    is_open_above: Vec<bool>,
}

impl Flow {
    fn new(plan: &Plan, name_facts: &[NameFacts]) -> Flow {
        let own = |names: fn(&Unit) -> BTreeSet<String>| plan.units.iter().map(|unit| names(unit)).collect();
        let mut below: Vec<BTreeSet<String>> = own(|unit| unit.names.iter().cloned().collect());
        let mut assigned: Vec<BTreeSet<String>> =
            own(|unit| unit.steps.iter().filter_map(|step| step.store.clone()).collect());
        let dynamic = |unit: &Unit| unit.steps.iter().any(|step| is_dynamic(step));
        let mut is_open: Vec<bool> = plan
            .units
            .iter()
            .zip(name_facts)
            .map(|(unit, name_facts)| name_facts.is_partial || dynamic(unit))
            .collect();
        spread(plan, |parent, child| {
            let opened = is_open[child] && !is_open[parent];
            is_open[parent] |= opened;
            opened | flow_into(&mut below, child, parent) | flow_into(&mut assigned, child, parent)
        });
        let mut above = passed_down(plan, &below);
        let declared: Vec<BTreeSet<String>> = own(|unit| unit.declared().cloned().collect());
        let mut surely_above = passed_down(plan, &declared);
        let mut is_open_above = vec![false; plan.units.len()];
        spread(plan, |parent, child| {
            let opened = (is_open[parent] || is_open_above[parent]) && !is_open_above[child];
            is_open_above[child] |= opened;
            opened | flow_into(&mut above, parent, child) | flow_into(&mut surely_above, parent, child)
        });
        let before = Vec::new();
        let mut flow = Flow { below, assigned, above, before, surely_above, is_open, is_open_above };
        let mut before = flow.passed_before(plan);
        spread(plan, |parent, child| flow_into(&mut before, parent, child));
        flow.before = before;
        flow
    }

    /// For every unit, the names that the steps which call it pass down directly: declared names, and those that steps
    /// before the call define.
    fn passed_before(&self, plan: &Plan) -> Vec<BTreeSet<String>> {
        let mut passed: Vec<BTreeSet<String>> = vec![BTreeSet::new(); plan.units.len()];
        for unit in &plan.units {
            let mut known: BTreeSet<String> = unit.expected().cloned().collect();
            let (mut defined, mut after) = (Vec::new(), 0);
            if unit.is_graph {
                known.extend(unit.steps.iter().flat_map(|step| self.defined_by(step)).map(str::to_owned));
            }
            // names are only added: the last call of a recipe passes all names of the earlier calls
            let last: HashMap<UnitId, usize> = calls(unit).map(|(at, target, _)| (target, at)).collect();
            for (at, step) in unit.steps.iter().enumerate() {
                if at >= after {
                    known.extend(defined.drain(..));
                    after = next_after_group(unit, at);
                }
                if let StepKind::Nested { target: Target::Known { unit, .. }, overrides, .. } = &step.kind {
                    let child = &mut passed[unit.0 as usize];
                    if last.get(unit) == Some(&at) {
                        child.extend(known.iter().cloned());
                    }
                    child.extend(overrides.iter().map(|(name, _)| name.clone()));
                    if step.when != When::Ok {
                        child.insert(FAILURE.to_owned());
                    }
                    child.extend(item_names(step));
                }
                defined.extend(self.defined_by(step).into_iter().map(str::to_owned));
            }
        }
        passed
    }

    /// The names that a step defines for the steps after it.
    pub(super) fn defined_by<'a>(&'a self, step: &'a Step) -> Vec<&'a str> {
        let mut names: Vec<&str> = step.store.as_deref().into_iter().collect();
        if step.each().is_some() {
            // the final contexts of its recipes do not flow back
            return names;
        }
        if let StepKind::Nested { target: Target::Known { unit, .. }, overrides, .. } = &step.kind {
            let child = unit.0 as usize;
            // names that were only passed down do not come back
            let stays = |name: &&String| {
                self.assigned[child].contains(*name) || overrides.iter().all(|(key, _)| key != *name)
            };
            names.extend(self.below[child].iter().filter(stays).map(String::as_str));
        }
        names
    }

    /// Whether a step can define names that are known only during a run.
    pub(super) fn opens(&self, step: &Step) -> bool {
        match &step.kind {
            _ if step.each().is_some() => false,
            StepKind::Nested { target: Target::Known { unit, .. }, .. } => self.is_open[unit.0 as usize],
            _ => is_dynamic(step),
        }
    }
}

/// The names of a `for_each` step that its recipe gets.
fn item_names(step: &Step) -> impl Iterator<Item = String> {
    let names = step.each().and(step.looped.as_ref()).map(|looped| looped.names());
    names.into_iter().flatten().map(str::to_owned)
}

pub(super) fn is_dynamic(step: &Step) -> bool {
    matches!(&step.kind, StepKind::Nested { target: Target::Dynamic { .. }, .. })
}

/// Adds the names of one unit to those of another; returns whether any was new.
fn flow_into(names: &mut [BTreeSet<String>], from: usize, to: usize) -> bool {
    let missing: Vec<String> = names[from].difference(&names[to]).cloned().collect();
    let changed = !missing.is_empty();
    names[to].extend(missing);
    changed
}

/// For every unit, the names that the steps which call it pass down directly.
fn passed_down(plan: &Plan, known: &[BTreeSet<String>]) -> Vec<BTreeSet<String>> {
    let mut names: Vec<BTreeSet<String>> = vec![BTreeSet::new(); plan.units.len()];
    for (parent, unit) in plan.units.iter().enumerate() {
        let mut seen = HashSet::new();
        for (at, target, overrides) in calls(unit) {
            let child = &mut names[target.0 as usize];
            child.extend(item_names(&unit.steps[at]));
            if seen.insert(target) {
                child.extend(known[parent].iter().cloned());
            }
            child.extend(overrides.iter().map(|(name, _)| name.clone()));
        }
    }
    names
}

/// The steps of a unit that call a known recipe: the step, the recipe, and the names that are passed down.
fn calls(unit: &Unit) -> impl Iterator<Item = (usize, UnitId, &[(String, ValueTemplate)])> {
    unit.steps.iter().enumerate().filter_map(|(at, step)| match &step.kind {
        StepKind::Nested { target: Target::Known { unit, .. }, overrides, .. } => {
            Some((at, *unit, overrides.as_slice()))
        }
        _ => None,
    })
}

/// Applies `step(parent, child)` to every call until nothing changes any more.
fn spread(plan: &Plan, mut step: impl FnMut(usize, usize) -> bool) {
    let calls: Vec<(usize, usize)> = plan
        .units
        .iter()
        .enumerate()
        .flat_map(|(parent, unit)| children(unit).map(move |child| (parent, child.0 as usize)))
        .collect::<HashSet<_>>()
        .into_iter()
        .collect();
    while calls.iter().fold(false, |changed, (parent, child)| step(*parent, *child) | changed) {}
}

/// The index of the first step that sees the value of step `at`: the one after its parallel group.
pub(super) fn next_after_group(unit: &Unit, at: usize) -> usize {
    let group = &unit.steps[at].group;
    let mut next = at + 1;
    while group.is_some() && unit.steps.get(next).is_some_and(|step| step.group == *group) {
        next += 1;
    }
    next
}
