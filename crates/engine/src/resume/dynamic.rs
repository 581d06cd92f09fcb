//! Recipes whose names are templates: which one each step that entered such a recipe would run now.
//!
//! Never loads anything: the caller supplies the recipes.

use std::{collections::BTreeMap, sync::Arc};

use recipe::plan::{Plan, Step, StepKind, Target, Unit, UnitId};

use super::Work;
use crate::run::{
    frame::{Frame, FrameId},
    state::RunState,
};

/// The recipes that such steps would run now, by path.
pub type Late = BTreeMap<String, Now>;

/// The recipe that a step would run now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Now {
    /// This recipe.
    Recipe(UnitId),
    /// None: it is missing or invalid.
    Gone,
    /// Unknown: completed steps are kept.
    Unknown,
}

/// A recipe that was entered by a name which became known only during the run.
pub struct Entered<'a> {
    /// The step that entered it.
    pub path: &'a str,
    /// The recipe in its old version.
    pub unit: &'a Unit,
    /// The file that names it now.
    pub from: &'a str,
    /// The recipe around it.
    pub around: &'a Frame,
    /// Names that the step passes to it.
    pub handed: Vec<String>,
}

/// Searches for all such recipes; `find` adds the recipes that it finds to the plan.
pub fn late(state: &RunState, plan: &mut Plan, find: &mut dyn FnMut(&mut Plan, &Entered<'_>) -> Now) -> Late {
    let mut late = Late::new();
    let root = Arc::clone(plan.root());
    look(state, plan, (0, &root), find, &mut late);
    late
}

fn look(
    state: &RunState,
    plan: &mut Plan,
    (id, new): (FrameId, &Unit),
    find: &mut dyn FnMut(&mut Plan, &Entered<'_>) -> Now,
    late: &mut Late,
) {
    let old = &state.frames[id];
    for step in &new.steps {
        let StepKind::Nested { target, overrides, .. } = &step.kind else { continue };
        let Some(child) = old.index_of(&step.id).and_then(|at| state.below(id, at)) else { continue };
        for child in state.recipes_in(child) {
            let frame = &state.frames[child];
            let now = match target {
                Target::Known { unit, .. } => Now::Recipe(*unit),
                Target::Dynamic { from, .. } => {
                    let handed = overrides.iter().map(|(name, _)| name.clone()).collect();
                    let entered = Entered { path: &frame.path, unit: &frame.unit, from, around: old, handed };
                    let now = find(plan, &entered);
                    late.insert(frame.path.clone(), now);
                    now
                }
            };
            if let Now::Recipe(unit) = now {
                let unit = Arc::clone(plan.unit(unit));
                look(state, plan, (child, &unit), find, late);
            }
        }
    }
}

impl Work<'_> {
    /// The recipe that a step runs, in its current version.
    pub(super) fn nested(&self, path: &str, step: &Step) -> Option<Arc<Unit>> {
        let StepKind::Nested { target, .. } = &step.kind else { return None };
        let unit = match (target, self.request.late.get(path)) {
            (Target::Known { unit, .. }, _) | (Target::Dynamic { .. }, Some(Now::Recipe(unit))) => unit,
            _ => return None,
        };
        Some(Arc::clone(self.request.plan.unit(*unit)))
    }

    /// Why a step whose recipe is missing is out of date.
    pub(super) fn gone(&self, path: &str) -> Option<&'static str> {
        let is_gone = self.request.late.get(path) == Some(&Now::Gone);
        is_gone.then_some("its recipe is no longer found, or is invalid")
    }
}
