//! Ways through the steps of a recipe: who makes something, who reads it, what lies between. Decides nothing.

use std::collections::{BTreeSet, HashSet, VecDeque};

use recipe::{
    graph::{self, Link},
    plan::{Plan, Step, StepKind, Target, Unit, UnitId},
};

use crate::frame::Frame;

/// The path of a step in a frame.
pub(super) fn step_path(frame: &str, id: &str) -> String {
    if frame.is_empty() { id.to_owned() } else { format!("{frame}/{id}") }
}

/// The recipe that a frame would run now.
pub(super) fn unit_of(plan: &Plan, frame: &Frame) -> Option<std::sync::Arc<Unit>> {
    if frame.path.is_empty() {
        return Some(std::sync::Arc::clone(plan.root()));
    }
    plan.units.iter().find(|unit| unit.path == frame.unit.path).map(std::sync::Arc::clone)
}

pub(super) fn nested_unit(plan: &Plan, step: &Step) -> Option<std::sync::Arc<Unit>> {
    match &step.kind {
        StepKind::Nested { target: Target::Known { unit, .. }, .. } => {
            Some(std::sync::Arc::clone(plan.unit(*unit)))
        }
        _ => None,
    }
}

/// Whether a step makes something that a check may find wanting: an agent, or a recipe that contains one.
pub(super) fn is_producer(plan: &Plan, step: &Step, seen: &mut HashSet<UnitId>) -> bool {
    match &step.kind {
        StepKind::Agent(_) => true,
        StepKind::Nested { target: Target::Known { unit, .. }, .. } => {
            seen.insert(*unit) && plan.unit(*unit).steps.iter().any(|step| is_producer(plan, step, seen))
        }
        // nobody knows what it contains
        StepKind::Nested { .. } => true,
        StepKind::Shell { .. } => false,
    }
}

/// Steps that lie on a way from the starts to the target, both included.
pub(super) fn between(edges: &[graph::Edge], starts: &[usize], target: usize) -> BTreeSet<usize> {
    let forward = reach(starts.iter().copied(), |at| {
        edges.iter().filter(move |edge| edge.from == at).map(|edge| edge.to).collect()
    });
    let backward = reach(std::iter::once(target), |at| {
        edges.iter().filter(move |edge| edge.to == at).map(|edge| edge.from).collect()
    });
    forward.intersection(&backward).copied().collect()
}

/// Steps that read, directly or not, what the starts make.
pub(super) fn readers(edges: &[graph::Edge], starts: &[usize]) -> BTreeSet<usize> {
    reach(starts.iter().copied(), |at| {
        edges
            .iter()
            .filter(move |edge| edge.from == at && edge.link != Link::Order)
            .map(|edge| edge.to)
            .collect()
    })
}

fn reach(starts: impl Iterator<Item = usize>, next: impl Fn(usize) -> Vec<usize>) -> BTreeSet<usize> {
    let mut seen = BTreeSet::new();
    let mut queue: VecDeque<usize> = starts.collect();
    while let Some(at) = queue.pop_front() {
        if seen.insert(at) {
            queue.extend(next(at));
        }
    }
    seen
}
