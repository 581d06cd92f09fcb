//! The values of a recipe in execution: those that its steps give, and those that a recipe inside it begins with.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use recipe::{
    member,
    plan::{Step, ValueTemplate},
    scope::{Final, Foreseen, Scope},
    value::{Map, Value},
};

use super::{Frame, looped::finals};
use crate::run::outcome::{SkipReason, StepStatus};

impl Frame {
    /// Puts a step's value into the context. `child` is the finished frame of a recipe step.
    pub(crate) fn take_value(&mut self, at: usize, child: Option<ChildResult>) {
        let step = Arc::clone(&self.unit.steps[at]);
        let state = &self.steps[at];
        if state.skipped == Some(SkipReason::DryRun) {
            self.unknown.extend(step.store.clone());
        }
        let is_nested = child.is_some();
        if let Some(child) = child {
            self.take_child(&step, child);
        }
        if let (Some(name), Some(value)) = (&step.store, self.value_of(at)) {
            if !is_nested {
                self.below.remove(name);
            }
            self.assigned.insert(name.clone());
            self.log.push(name.clone());
            self.context.insert(name.clone(), value);
        }
    }

    /// The value of a step. A failure without a value gives empty text, so that an older value of the same name is not
    /// used for it. A lost value gives `None`.
    fn value_of(&self, at: usize) -> Option<Value> {
        let step = &self.steps[at];
        let stores_nothing = || step.ended.as_ref().is_none_or(|ended| ended.value.is_none());
        let is_empty = || step.status == StepStatus::Failed && stores_nothing();
        step.value.clone().or_else(|| is_empty().then(|| Value::from("")))
    }

    /// Whether a name flows back from a sub-recipe that assigned or introduced these names.
    pub(crate) fn takes_back(
        &self,
        name: &str,
        assigned: &HashSet<String>,
        introduced: &HashSet<String>,
    ) -> bool {
        // inherited names belong to the recipes around it
        let is_free = !self.context.contains_key(name) || self.introduced.contains(name);
        let is_new = introduced.contains(name) && is_free && !self.assigned.contains(name);
        assigned.contains(name) || is_new
    }

    fn take_child(&mut self, step: &Step, child: ChildResult) {
        let left = Arc::new(Final { context: child.context, below: child.below, items: Vec::new() });
        if child.merge {
            for (name, value) in &left.context {
                if self.takes_back(name, &child.assigned, &child.introduced) {
                    self.log.push(name.clone());
                    self.context.insert(name.clone(), value.clone());
                    match left.below.get(name) {
                        Some(below) => self.below.insert(name.clone(), Arc::clone(below)),
                        None => self.below.remove(name),
                    };
                }
            }
            self.introduced.extend(child.introduced);
            self.assigned.extend(child.assigned);
            self.unknown.extend(child.unknown);
        }
        if let Some(name) = &step.store {
            let left = match (child.items, step.repeat()) {
                (Some(items), _) => Arc::new(finals(items)),
                // the recipe of the last iteration
                (None, Some(_)) => match left.below.get(name) {
                    Some(last) => Arc::clone(last),
                    None => return drop(self.below.remove(name)),
                },
                (None, None) => left,
            };
            self.below.insert(name.clone(), left);
        }
    }

    /// The context of a recipe that a step enters with these overrides, on top of its own values.
    pub fn context_below(&self, at: usize, own: Map, overrides: &[(String, ValueTemplate)]) -> Map {
        let mut context = own;
        context.extend(self.context.iter().map(|(name, value)| (name.clone(), value.clone())));
        self.hand_down(at, &mut context);
        let scope = self.scope(at);
        let given = overrides.iter().map(|(name, value)| (name.clone(), value.render(&scope)));
        member::place_all(&mut context, &Map::new(), given);
        context
    }

    /// The context, with the names that are unknown in a dry run.
    pub fn foreseen(&self) -> Foreseen<'_> {
        Foreseen { scope: self, unknown: &self.unknown }
    }

    /// The names whose values are unknown in a recipe that is entered with these overrides.
    pub fn unknown_below(&self, at: usize, overrides: &[(String, ValueTemplate)]) -> HashSet<String> {
        let mut unknown = self.unknown.clone();
        let scope = self.foreseen_at(at);
        for (name, value) in overrides {
            let reads_unknown = value
                .templates()
                .iter()
                .flat_map(|template| template.names())
                .any(|(path, _)| !scope.is_known(path));
            match reads_unknown {
                true => unknown.insert(name.clone()),
                false => unknown.remove(name),
            };
        }
        unknown
    }
}

/// The result of a finished sub-recipe.
pub(crate) struct ChildResult {
    pub(crate) context: Map,
    pub(crate) below: HashMap<String, Arc<Final>>,
    pub(crate) assigned: HashSet<String>,
    pub(crate) introduced: HashSet<String>,
    pub(crate) unknown: HashSet<String>,
    pub(crate) merge: bool,
    /// The final contexts of the recipes of a `for_each`.
    pub(crate) items: Option<Vec<Option<Arc<Final>>>>,
}
