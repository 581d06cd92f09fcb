//! Paths through the steps of a recipe: producers, readers, and the steps between them. Decides nothing.

use std::{
    collections::{BTreeSet, HashSet, VecDeque},
    rc::Rc,
    sync::Arc,
};

use recipe::{
    graph::{self, Edge, Link},
    plan::{Plan, Step, StepKind, Target, Unit, UnitId},
};

use super::Work;
use crate::run::frame::{Frame, FrameId};

/// The path of a step in a frame.
pub(super) fn step_path(frame: &str, id: &str) -> String {
    if frame.is_empty() { id.to_owned() } else { format!("{frame}/{id}") }
}

/// The recipe that a frame would run now.
pub(super) fn unit_of(plan: &Plan, frame: &Frame) -> Option<Arc<Unit>> {
    if frame.path.is_empty() {
        return Some(Arc::clone(plan.root()));
    }
    plan.units.iter().find(|unit| unit.path == frame.unit.path).map(Arc::clone)
}

/// Whether a step, or a step of its sub-recipe, meets a condition.
pub(super) fn any_within(plan: &Plan, step: &Step, is_met: &dyn Fn(&Step) -> bool) -> bool {
    fn look(plan: &Plan, step: &Step, is_met: &dyn Fn(&Step) -> bool, seen: &mut HashSet<UnitId>) -> bool {
        let below = match &step.kind {
            StepKind::Nested { target: Target::Known { unit, .. }, .. } if seen.insert(*unit) => Some(*unit),
            _ => None,
        };
        is_met(step)
            || below
                .is_some_and(|unit| plan.unit(unit).steps.iter().any(|step| look(plan, step, is_met, seen)))
    }
    look(plan, step, is_met, &mut HashSet::new())
}

/// Whether a step makes something that a check may reject: an agent, or a recipe that contains one.
pub fn asks_an_agent(plan: &Plan, step: &Step) -> bool {
    is_producer(plan, step, &mut HashSet::new())
}

/// The same, with the recipes that were already visited.
pub(super) fn is_producer(plan: &Plan, step: &Step, seen: &mut HashSet<UnitId>) -> bool {
    match &step.kind {
        StepKind::Agent(_) => true,
        StepKind::Nested { target: Target::Known { unit, .. }, .. } => {
            seen.insert(*unit) && plan.unit(*unit).steps.iter().any(|step| is_producer(plan, step, seen))
        }
        // its content is unknown
        StepKind::Nested { .. } => true,
        StepKind::Shell { .. } | StepKind::Ask(_) => false,
    }
}

/// A recipe in its current version, with its dependencies.
pub(super) struct Graph {
    pub(super) unit: Arc<Unit>,
    pub(super) edges: Vec<Edge>,
}

impl Graph {
    pub(super) fn ways(&self) -> Ways<'_> {
        Ways::new(&self.edges, self.unit.steps.len())
    }
}

impl Work<'_> {
    /// Runs a step again because of something before it. A `for_each` step is only entered again, as `path/`: its
    /// instances with unchanged inputs are kept.
    pub(super) fn again(&mut self, path: String, step: &Step, reason: String) {
        self.relisted.remove(&path);
        self.by_item.remove(&path);
        let key = if step.each().is_some() { format!("{path}/") } else { path };
        self.reasons.entry(key).or_insert(reason);
    }

    /// The recipe of a frame in its current version.
    pub(super) fn graph(&mut self, id: FrameId) -> Option<Rc<Graph>> {
        if let Some(known) = self.graphs.get(&id) {
            return Some(Rc::clone(known));
        }
        let plan = self.request.plan;
        let unit = unit_of(plan, &self.request.state.frames[id])?;
        let edges = graph::edges_in(plan, &unit);
        let graph = Rc::new(Graph { unit, edges });
        self.graphs.insert(id, Rc::clone(&graph));
        Some(graph)
    }
}

/// The edges of a recipe by their ends, so that a walk visits every edge once.
pub(super) struct Ways<'a> {
    into: Vec<Vec<&'a Edge>>,
    out: Vec<Vec<&'a Edge>>,
}

impl<'a> Ways<'a> {
    pub(super) fn new(edges: &'a [Edge], steps: usize) -> Ways<'a> {
        let mut ways = Ways { into: vec![Vec::new(); steps], out: vec![Vec::new(); steps] };
        for edge in edges {
            ways.into[edge.to].push(edge);
            ways.out[edge.from].push(edge);
        }
        ways
    }

    /// The dependencies of a step.
    pub(super) fn needs(&self, step: usize) -> &[&'a Edge] {
        &self.into[step]
    }

    /// Steps on a path from the starts to the target, both included.
    pub(super) fn between(&self, starts: &[usize], target: usize) -> BTreeSet<usize> {
        let forward = reach(starts, |at| self.out[at].iter().map(|edge| edge.to).collect());
        let backward = reach(&[target], |at| self.into[at].iter().map(|edge| edge.from).collect());
        forward.intersection(&backward).copied().collect()
    }

    /// Steps that read, directly or not, results of the starts.
    pub(super) fn readers(&self, starts: &[usize]) -> BTreeSet<usize> {
        self.linked(starts, |link| link != Link::Order)
    }

    /// Steps that get, directly or not, a value or a file of the starts.
    pub(super) fn receivers(&self, starts: &[usize]) -> BTreeSet<usize> {
        self.linked(starts, |link| matches!(link, Link::Value | Link::Status | Link::Files))
    }

    /// Steps that come after one in any way.
    pub(super) fn followers(&self, start: usize) -> BTreeSet<usize> {
        let mut steps = self.linked(&[start], |_| true);
        steps.remove(&start);
        steps
    }

    fn linked(&self, starts: &[usize], is_meant: impl Fn(Link) -> bool) -> BTreeSet<usize> {
        let meant = |edge: &&&Edge| is_meant(edge.link);
        reach(starts, |at| self.out[at].iter().filter(meant).map(|edge| edge.to).collect())
    }
}

fn reach(starts: &[usize], next: impl Fn(usize) -> Vec<usize>) -> BTreeSet<usize> {
    let mut seen = BTreeSet::new();
    let mut queue: VecDeque<usize> = starts.iter().copied().collect();
    while let Some(at) = queue.pop_front() {
        if seen.insert(at) {
            queue.extend(next(at));
        }
    }
    seen
}
