//! What a step of a graph reads from the recipe around it. A variable that a sub-recipe gets from its own steps, or
//! from the `context` of the step that runs it, is no need of that step.

use std::collections::{BTreeSet, HashMap};

use super::{commands, known_target, paths, writes};
use crate::plan::{Plan, Step, StepKind, Unit, UnitId};

/// The reads of the steps of one graph.
pub(super) struct Outside {
    /// Variables that a step of the graph writes, by their names in the environment.
    exported: HashMap<String, String>,
    /// What each sub-recipe reads from around it.
    recipes: HashMap<UnitId, BTreeSet<String>>,
}

impl Outside {
    pub(super) fn new(unit: &Unit, plan: Option<&Plan>, exported: HashMap<String, String>) -> Outside {
        let mut outside = Outside { exported, recipes: HashMap::new() };
        for (plan, id) in
            plan.iter().flat_map(|plan| unit.steps.iter().map(move |step| (plan, known_target(step))))
        {
            id.into_iter().for_each(|id| outside.enter(plan, id));
        }
        outside
    }

    /// The names that a step reads, and those that its sub-recipe reads from around it.
    pub(super) fn reads(&self, step: &Step) -> BTreeSet<String> {
        let in_paths = paths(step).into_iter().flat_map(|path| path.names().collect::<Vec<_>>());
        let mut names: BTreeSet<String> = in_paths.collect();
        let words = commands(step).flat_map(|command| variables(command.text()));
        names.extend(words.filter_map(|word| self.exported.get(word).cloned()));
        let inside = known_target(step).and_then(|id| self.recipes.get(&id)).into_iter().flatten();
        names.extend(inside.filter(|name| !is_given(step, name)).cloned());
        names
    }

    /// Finds out what a sub-recipe reads from around it.
    fn enter(&mut self, plan: &Plan, id: UnitId) {
        if self.recipes.contains_key(&id) {
            return;
        }
        // a recipe that runs itself is looked at once
        self.recipes.insert(id, BTreeSet::new());
        let unit = plan.unit(id);
        unit.steps.iter().filter_map(|step| known_target(step)).for_each(|below| self.enter(plan, below));
        let mut read = BTreeSet::new();
        let mut own: BTreeSet<String> = BTreeSet::new();
        // members of a parallel group do not see the values of each other
        let mut group: Vec<String> = Vec::new();
        if unit.is_graph {
            own.extend(unit.steps.iter().flat_map(|step| writes(plan, step)));
        }
        for (at, step) in unit.steps.iter().enumerate() {
            if at == 0 || step.group.is_none() || unit.steps[at - 1].group != step.group {
                own.extend(group.drain(..));
            }
            read.extend(self.reads(step).into_iter().filter(|name| !own.contains(name)));
            group.extend(writes(plan, step));
        }
        own.extend(group);
        let shown = unit.result_template().into_iter().flat_map(|template| template.names());
        let shown = shown.flat_map(|(path, _)| path.names().collect::<Vec<_>>());
        read.extend(shown.filter(|name| !own.contains(name)));
        self.recipes.insert(id, read);
    }
}

/// Whether the step that runs a sub-recipe gives it this variable, as an item of its loop too.
fn is_given(step: &Step, name: &str) -> bool {
    if step.is_loop_name(name) {
        return true;
    }
    let StepKind::Nested { overrides, .. } = &step.kind else { return false };
    overrides.iter().any(|(given, _)| given == name)
}

/// The variables of the environment that a command refers to: `$NAME`, `${NAME…}`, and the long names anywhere, since
/// programs of other languages may use them too.
fn variables(command: &str) -> Vec<&str> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut found = Vec::new();
    let mut rest = command;
    while let Some(start) = rest.find(is_name) {
        let before = &rest[..start];
        let end = rest[start..].find(|c| !is_name(c)).map_or(rest.len(), |length| start + length);
        let is_reference = ["$", "${", "${#", "${!"].iter().any(|sign| before.ends_with(sign));
        if is_reference || rest[start..end].starts_with("RECIPE_VAR_") {
            found.push(&rest[start..end]);
        }
        rest = &rest[end..];
    }
    found
}
