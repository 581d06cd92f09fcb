//! The order of a recipe with `schedule: graph`: which steps may start. Decides nothing else about them.

use std::{
    collections::{BTreeSet, HashSet},
    sync::Arc,
};

use recipe::{
    graph,
    plan::{Plan, Unit},
};

/// The steps of a graph that may start, and how many others each step still waits for.
#[derive(Clone, Debug)]
pub(crate) struct ReadySet {
    /// For each step, the steps that need it.
    needed_by: Arc<Vec<Vec<usize>>>,
    /// All steps, each after its needs.
    order: Arc<Vec<usize>>,
    /// For each step, how many of its needs have not ended.
    waits_for: Vec<usize>,
    ready: BTreeSet<usize>,
    /// How many steps have not ended.
    left: usize,
    /// Whether a step failed: no other one starts.
    pub(crate) has_failed: bool,
}

impl ReadySet {
    /// The beginning of a recipe; `None` if its steps run one after the other.
    pub(crate) fn new(plan: &Plan, unit: &Unit) -> Option<ReadySet> {
        if !unit.is_graph {
            return None;
        }
        let mut needed_by: Vec<Vec<usize>> = vec![Vec::new(); unit.steps.len()];
        let mut waits_for = vec![0; unit.steps.len()];
        let edges = graph::edges_in(plan, unit);
        let mut order: Vec<usize> = (0..unit.steps.len()).collect();
        let waves = graph::needs::waves(unit, &edges);
        order.sort_by_key(|at| waves[*at]);
        let pairs: HashSet<(usize, usize)> = edges.into_iter().map(|edge| (edge.from, edge.to)).collect();
        for (from, to) in pairs {
            needed_by[from].push(to);
            waits_for[to] += 1;
        }
        let ready = (0..unit.steps.len()).filter(|at| waits_for[*at] == 0).collect();
        let left = unit.steps.len();
        let (needed_by, order) = (Arc::new(needed_by), Arc::new(order));
        Some(ReadySet { needed_by, order, waits_for, ready, left, has_failed: false })
    }

    /// All steps, wave by wave.
    pub(crate) fn order(&self) -> &[usize] {
        &self.order
    }

    /// The steps that may start, in the order of the recipe.
    pub(crate) fn steps(&self) -> impl Iterator<Item = usize> {
        self.free_steps().filter(|_| !self.has_failed)
    }

    /// The steps whose needs have all ended, in the order of the recipe.
    pub(crate) fn free_steps(&self) -> impl Iterator<Item = usize> {
        self.ready.iter().copied()
    }

    /// A step was started, or is not executed.
    pub(crate) fn take(&mut self, at: usize) {
        self.ready.remove(&at);
    }

    /// The start of a step was taken back.
    pub(crate) fn give_back(&mut self, at: usize) {
        self.ready.insert(at);
    }

    /// A step has ended, with its hooks: those that waited for it alone may start.
    pub(crate) fn release(&mut self, at: usize) {
        self.left -= 1;
        for next in &self.needed_by[at] {
            self.waits_for[*next] -= 1;
            if self.waits_for[*next] == 0 {
                self.ready.insert(*next);
            }
        }
    }

    /// Whether all steps have ended.
    pub(crate) fn is_done(&self) -> bool {
        self.left == 0
    }
}
