//! Recipes whose names are templates: which of them each step that entered one would run now.
//!
//! Never loads anything: who asks brings the recipes.

use std::{collections::BTreeMap, sync::Arc};

use recipe::plan::{Plan, Step, StepKind, Target, Unit, UnitId};

use super::Work;
use crate::run::{
    frame::{Frame, FrameId},
    state::RunState,
};

/// What the steps that entered such recipes would run now, by their paths.
pub type Late = BTreeMap<String, Now>;

/// What a step would run now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Now {
    /// This recipe.
    Recipe(UnitId),
    /// None: it is not found any more, or it is invalid.
    Gone,
    /// Nobody knows: what was done stays as it is.
    Unknown,
}

/// A recipe that was entered by a name which became known only then.
pub struct Entered<'a> {
    /// The step that entered it.
    pub path: &'a str,
    /// The recipe, as it was.
    pub unit: &'a Unit,
    /// The file that names it now.
    pub from: &'a str,
    /// The recipe around it.
    pub around: &'a Frame,
    /// Names that the step hands it.
    pub handed: Vec<String>,
}

/// Looks for all such recipes; `find` adds to the plan what it finds.
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

impl Work<'_> {
    /// The recipe that a step runs, as it is now.
    pub(super) fn nested(&self, path: &str, step: &Step) -> Option<Arc<Unit>> {
        let StepKind::Nested { target, .. } = &step.kind else { return None };
        let unit = match (target, self.request.late.get(path)) {
            (Target::Known { unit, .. }, _) | (Target::Dynamic { .. }, Some(Now::Recipe(unit))) => unit,
            _ => return None,
        };
        Some(Arc::clone(self.request.plan.unit(*unit)))
    }

    /// Why a step is out of date whose recipe is gone.
    pub(super) fn gone(&self, path: &str) -> Option<&'static str> {
        let is_gone = self.request.late.get(path) == Some(&Now::Gone);
        is_gone.then_some("its recipe is no longer found, or is invalid")
    }
}
