//! The dependencies of a step of a random recipe: the steps that it names, else the step before it. Decides nothing.

use std::collections::BTreeSet;

use crate::{
    shape::{Kind, Recipe, Step},
    trouble::all_steps,
};

/// Why a step comes after another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    /// It names it: its value, a value from its recipe, or itself.
    Named,
    /// It names nothing of its recipe and stands behind it.
    Order,
}

/// What a step comes after, by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    pub(crate) from: usize,
    pub(crate) link: Link,
}

/// For every step of a recipe, what it comes after.
pub(crate) fn edges(recipe: &Recipe) -> Vec<Vec<Edge>> {
    let of = |at| match recipe.is_graph {
        true => needs_of(&recipe.steps, at),
        false => edges_of(&recipe.steps, at),
    };
    (0..recipe.steps.len()).map(of).collect()
}

fn edges_of(steps: &[Step], at: usize) -> Vec<Edge> {
    let start = level_start(steps, at);
    let step = &steps[at];
    let reads = reads(step);
    let is_named = |from: &usize| {
        let is_read = *from < start && !reads.is_disjoint(&writes(&steps[*from]));
        is_read || step.depends_on.as_ref() == Some(&steps[*from].id)
    };
    let named: Vec<Edge> = (0..at).filter(is_named).map(|from| Edge { from, link: Link::Named }).collect();
    if !named.is_empty() || start == 0 {
        return named;
    }
    (level_start(steps, start - 1)..start).map(|from| Edge { from, link: Link::Order }).collect()
}

/// The same in a graph: steps that clean up come after all others.
fn needs_of(steps: &[Step], at: usize) -> Vec<Edge> {
    let step = &steps[at];
    let reads = reads(step);
    let link = |from: usize| {
        let is_read = !reads.is_disjoint(&writes(&steps[from]));
        let is_named = is_read || step.depends_on.as_ref() == Some(&steps[from].id);
        let order = step.when.is_some().then_some(Link::Order);
        is_named.then_some(Link::Named).or(order).map(|link| Edge { from, link })
    };
    (0..at).filter_map(link).collect()
}

/// The first step that runs together with this one.
fn level_start(steps: &[Step], at: usize) -> usize {
    let is_other = |before: &usize| steps[at].group.is_none() || steps[*before].group != steps[at].group;
    (0..at).rev().find(is_other).map_or(0, |before| before + 1)
}

/// Names that a step, or the recipe that it runs, writes.
fn writes(step: &Step) -> BTreeSet<String> {
    with_below(step).iter().map(|step| step.id.clone()).collect()
}

/// Names of values that a step, or the recipe that it runs, reads.
pub(crate) fn reads(step: &Step) -> BTreeSet<String> {
    let names = |step: &&Step| -> Vec<String> {
        let conditions = step.condition.iter().map(|condition| condition.name.clone());
        step.reads.iter().map(|read| read.name().to_owned()).chain(conditions).collect()
    };
    with_below(step).iter().flat_map(names).collect()
}

/// A step with those of the recipe that it runs.
pub(crate) fn with_below(step: &Step) -> Vec<&Step> {
    match &step.kind {
        Kind::Nested(child) => [step].into_iter().chain(all_steps(child)).collect(),
        Kind::Bash | Kind::Agent | Kind::Ask => vec![step],
    }
}
