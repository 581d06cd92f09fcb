//! Steps that ask how other steps of their recipe went.

use std::collections::HashMap;

use super::{Edge, Link, all_paths};
use crate::{
    plan::{Step, Unit},
    scope::Path,
    step_facts::{STEPS, StepPath},
};

/// The paths by which a step asks how other steps of its recipe went.
pub fn step_reads(step: &Step) -> Vec<Path> {
    let mut paths = all_paths(step);
    paths.retain(|path| path.root == STEPS);
    paths
}

/// The edges that follow from such paths.
pub(super) struct StepEdges<'a> {
    unit: &'a Unit,
    ids: HashMap<&'a str, usize>,
}

impl<'a> StepEdges<'a> {
    pub(super) fn new(unit: &'a Unit) -> StepEdges<'a> {
        let ids = unit.steps.iter().enumerate().map(|(at, step)| (step.id.as_str(), at)).collect();
        StepEdges { unit, ids }
    }

    /// The edges to one step, at most one from each step that it asks; a step that asks about itself has no edge.
    pub(super) fn of(&self, to: usize) -> Vec<Edge> {
        let mut edges: Vec<Edge> = Vec::new();
        for path in step_reads(&self.unit.steps[to]) {
            let found = StepPath::find(&path, &|id| self.ids.contains_key(id));
            let Some(from) = found.and_then(|found| self.ids.get(found.id.as_str()).copied()) else {
                continue;
            };
            if from != to && edges.iter().all(|known| known.from != from) {
                edges.push(Edge { from, to, link: Link::Status, what: Some(path.to_string()) });
            }
        }
        edges
    }
}
