//! The edges of a recipe with `schedule: graph`: what each step needs, wherever it is written.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::{Edge, Link, StepEdges, exports, file_edges, outside::Outside, writes};
use crate::{
    plan::{Plan, Step, Unit},
    syntax::When,
};

/// The most edges that a graph may have; a recipe with more is refused.
pub const MOST_EDGES: usize = 200_000;

/// All edges. Steps that clean up come after all others, in their order.
pub(super) fn edges(unit: &Unit, plan: Option<&Plan>) -> Vec<Edge> {
    let (written, asked) = (Written::new(unit, plan), StepEdges::new(unit));
    let mut edges = Vec::new();
    let mut named_by: Vec<Vec<usize>> = vec![Vec::new(); unit.steps.len()];
    for (at, step) in unit.steps.iter().enumerate() {
        step.depends_on.iter().for_each(|needed| named_by[*needed].push(at));
    }
    for (to, step) in unit.steps.iter().enumerate() {
        let later = dependents(&named_by, to);
        let is_earlier = |from: usize| may_precede(unit, from, to) && !later.contains(&from);
        for from in step.depends_on.iter().filter(|from| may_precede(unit, **from, to)) {
            edges.push(Edge { from: *from, to, link: Link::DependsOn, what: None });
        }
        for name in written.read_by(step) {
            let writers = written.writers.get(&name).map(Vec::as_slice).unwrap_or_default();
            for from in writers.iter().filter(|from| is_earlier(**from)) {
                edges.push(Edge { from: *from, to, link: Link::Value, what: Some(name.clone()) });
            }
            if edges.len() >= MOST_EDGES {
                return edges;
            }
        }
        edges.extend(asked.of(to).into_iter().filter(|edge| may_precede(unit, edge.from, to)));
        let known = edges.len();
        file_edges(unit, to, &mut edges);
        let mut files = edges.split_off(known);
        files.retain(|edge| is_earlier(edge.from));
        edges.append(&mut files);
    }
    order_cleanup(unit, &mut edges);
    edges
}

/// Whether one step can come before another: steps that clean up come last, in their order.
fn may_precede(unit: &Unit, from: usize, to: usize) -> bool {
    let is_last = |at: usize| unit.steps[at].when != When::Ok;
    match (is_last(from), is_last(to)) {
        (false, false) => from != to,
        (true, true) => from < to,
        (from_last, _) => !from_last,
    }
}

/// The steps that name a step in `depends_on`, directly or through others: they cannot come before it.
fn dependents(named_by: &[Vec<usize>], step: usize) -> HashSet<usize> {
    let (mut open, mut seen) = (named_by[step].clone(), HashSet::new());
    while let Some(at) = open.pop() {
        if seen.insert(at) {
            open.extend(&named_by[at]);
        }
    }
    seen
}

/// Puts the steps that clean up after all others.
fn order_cleanup(unit: &Unit, edges: &mut Vec<Edge>) {
    let (mut cleanup, mut ordinary) = (Vec::new(), Vec::new());
    for (at, step) in unit.steps.iter().enumerate() {
        if step.when == When::Ok { ordinary.push(at) } else { cleanup.push(at) }
    }
    let Some(first) = cleanup.first().copied() else { return };
    let of_ordinary = edges.iter().filter(|edge| unit.steps[edge.to].when == When::Ok);
    let needed: HashSet<usize> = of_ordinary.map(|edge| edge.from).collect();
    let ends = ordinary.into_iter().filter(|at| !needed.contains(at)).map(|from| (from, first));
    let next = cleanup.windows(2).map(|pair| (pair[0], pair[1]));
    let order: Vec<Edge> =
        ends.chain(next).map(|(from, to)| Edge { from, to, link: Link::Order, what: None }).collect();
    edges.extend(order);
}

/// The steps that write each variable, and the variables that each step reads.
pub(crate) struct Written {
    pub(crate) writers: HashMap<String, Vec<usize>>,
    outside: Outside,
}

impl Written {
    pub(crate) fn new(unit: &Unit, plan: Option<&Plan>) -> Written {
        let (mut writers, mut exported) = (HashMap::<String, Vec<usize>>::new(), HashMap::new());
        for (at, step) in unit.steps.iter().enumerate() {
            let names = match plan {
                Some(plan) => writes(plan, step),
                None => step.store.iter().cloned().collect(),
            };
            for name in names {
                exported.extend(exports(&name).map(|variable| (variable, name.clone())));
                writers.entry(name).or_default().push(at);
            }
        }
        Written { writers, outside: Outside::new(unit, plan, exported) }
    }

    /// The variables that a step reads, also through the environment.
    pub(crate) fn read_by(&self, step: &Step) -> BTreeSet<String> {
        self.outside.reads(step)
    }
}

/// The steps in an order in which everything comes after what it needs, without those that a cycle keeps from starting.
/// Steps without an order between them stay in the order of the recipe.
pub fn order(steps: usize, edges: &[Edge]) -> Vec<usize> {
    let mut waits = vec![0; steps];
    let mut out: Vec<Vec<usize>> = vec![Vec::new(); steps];
    for edge in edges {
        waits[edge.to] += 1;
        out[edge.from].push(edge.to);
    }
    let mut ready: BTreeSet<usize> = (0..steps).filter(|at| waits[*at] == 0).collect();
    let mut order = Vec::with_capacity(steps);
    while let Some(at) = ready.pop_first() {
        order.push(at);
        for to in &out[at] {
            waits[*to] -= 1;
            if waits[*to] == 0 {
                ready.insert(*to);
            }
        }
    }
    order
}

/// The wave of each step, from 1: its needs are all in earlier waves.
pub fn waves(unit: &Unit, edges: &[Edge]) -> Vec<usize> {
    let mut waves = vec![1; unit.steps.len()];
    let mut into: Vec<Vec<usize>> = vec![Vec::new(); unit.steps.len()];
    edges.iter().for_each(|edge| into[edge.to].push(edge.from));
    for at in order(unit.steps.len(), edges) {
        waves[at] = into[at].iter().map(|from| waves[*from] + 1).max().unwrap_or(1);
    }
    waves
}
