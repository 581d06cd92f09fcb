//! What an edited recipe makes out of date: steps that were changed, and what depends on them.
//!
//! Only compares; what was done and is not named here is kept.

use std::collections::HashSet;

use engine::frame::{Frame, FrameId};
use recipe::{
    graph::{self, Link},
    plan::{Plan, Step, StepKind, Target, Unit},
    value::Map,
};

use super::Shown;

/// Steps that have to be done again with an edited plan. A path that ends in `/` names a recipe step whose recipe
/// is entered again, while what was done in it is kept.
pub(super) fn changed(shown: &Shown, plan: &Plan) -> Vec<String> {
    let rerun = shown.lost.keys().cloned().collect();
    let mut comparison = Comparison { shown, plan, rerun };
    comparison.frame(0, plan.root());
    let mut paths: Vec<String> = comparison.rerun.into_iter().collect();
    paths.sort();
    paths
}

struct Comparison<'a> {
    shown: &'a Shown,
    plan: &'a Plan,
    rerun: HashSet<String>,
}

impl Comparison<'_> {
    /// Compares a recipe as it was executed with its edited form; says whether its result no longer holds.
    fn frame(&mut self, id: FrameId, new: &Unit) -> bool {
        let shown = self.shown;
        let old = &shown.state.frames[id];
        let names = self.changed_names(old, new);
        let edges = graph::edges_in(self.plan, new);
        let mut again: HashSet<usize> = HashSet::new();
        for (at, step) in new.steps.iter().enumerate() {
            let path = path_below(old, &step.id);
            let before = old.index_of(&step.id);
            let is_changed = before.is_none_or(|index| old.unit.steps[index].digest != step.digest);
            let follows = edges
                .iter()
                .any(|edge| edge.to == at && edge.link != Link::Order && again.contains(&edge.from));
            let reads = !names.is_empty() && graph::reads(step).iter().any(|name| names.contains(name));
            if is_changed || follows || reads || self.rerun.contains(&path) {
                again.insert(at);
                if before.is_some() {
                    self.rerun.insert(path);
                }
            } else if let Some(child) = before.and_then(|index| old.steps[index].frame)
                && self.nested(child, step)
            {
                again.insert(at);
                self.rerun.insert(format!("{path}/"));
            }
        }
        !again.is_empty() || old.unit.digest != new.digest
    }

    fn nested(&mut self, child: FrameId, step: &Step) -> bool {
        let StepKind::Nested { target, .. } = &step.kind else { return false };
        let plan = self.plan;
        let ran = &self.shown.state.frames[child].unit.path;
        let new = match target {
            Target::Known { unit, .. } => Some(plan.unit(*unit)),
            // found when the step ran; an edited one that nobody has read yet is compared by nobody
            Target::Dynamic { .. } => plan.units.iter().find(|unit| unit.path == *ran),
        };
        new.is_some_and(|new| self.frame(child, &new.clone()))
    }

    /// Names that mean something else now: defaults that differ and were in force, and what steps wrote that are gone.
    fn changed_names(&self, old: &Frame, new: &Unit) -> HashSet<String> {
        let state = &self.shown.state;
        let outside: &Map = match old.parent {
            Some((parent, _)) => &state.frames[parent].context,
            None => &state.settings.given,
        };
        let declared = old.unit.context.keys().chain(new.context.keys());
        let mut names: HashSet<String> = declared
            .filter(|name| !outside.contains_key(*name) && !old.overrides.contains(*name))
            .filter(|name| old.unit.context.get(*name) != new.context.get(*name))
            .cloned()
            .collect();
        let is_gone = |step: &&std::sync::Arc<Step>| !new.steps.iter().any(|other| other.id == step.id);
        names.extend(old.unit.steps.iter().filter(is_gone).filter_map(|step| step.store.clone()));
        names
    }
}

fn path_below(frame: &Frame, id: &str) -> String {
    if frame.path.is_empty() { id.to_owned() } else { format!("{}/{id}", frame.path) }
}
