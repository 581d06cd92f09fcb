//! Which results a resume may give up: those that an edit reaches, and agents whose values a failed step uses with
//! what stands between. Anything else that runs again is a needless repetition.
//!
//! The rule is written anew from the promise, on the recipes and on what the journal says happened: never asks the
//! program for its plan.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    graph::{Edge, Link, edges, reads, with_below},
    shape::{Care, Kind, Recipe, Step},
    trouble::all_steps,
    world::Facts,
};

/// Steps whose results an edit of a recipe may give up.
pub(crate) fn edited(old: &Recipe, new: &Recipe, facts: &Facts) -> BTreeSet<String> {
    let mut edit = Edit { facts, given_up: BTreeSet::new() };
    edit.walk(old, new);
    edit.given_up
}

struct Edit<'a> {
    facts: &'a Facts,
    given_up: BTreeSet<String>,
}

impl Edit<'_> {
    fn walk(&mut self, old: &Recipe, new: &Recipe) {
        let names = changed_names(old, new);
        let edges = edges(new);
        // agents that are kept though something before them changed; what merely follows them is not
        let (mut again, mut doubted) = (BTreeSet::new(), BTreeSet::new());
        for (at, step) in new.steps.iter().enumerate() {
            let before = old.steps.iter().find(|before| before.id == step.id);
            let is_reached =
                before.is_none_or(|before| before.text() != step.text()) || !reads(step).is_disjoint(&names);
            let is_cause = |edge: &&Edge| {
                again.contains(&edge.from) || (edge.link == Link::Order && doubted.contains(&edge.from))
            };
            let cause = edges[at].iter().find(is_cause).map(|edge| edge.link);
            if is_reached || (cause.is_some() && !(cause == Some(Link::Order) && self.is_spared(step))) {
                again.insert(at);
                give_up(step, &mut self.given_up);
                continue;
            }
            if cause.is_some() {
                doubted.insert(at);
            }
            let recipes = before.and_then(|before| Some((before.recipe()?, step.recipe()?)));
            if let Some((before, after)) = recipes.filter(|(before, after)| before != after)
                && self.ran(step)
            {
                self.walk(before, after);
                again.insert(at);
            }
        }
    }

    /// Whether there is the work of an agent in it, which is not given up on a guess.
    fn is_spared(&self, step: &Step) -> bool {
        with_below(step).iter().any(|step| step.kind == Kind::Agent && self.facts.of(&step.id).stands)
    }

    fn ran(&self, step: &Step) -> bool {
        with_below(step).iter().any(|step| self.facts.of(&step.id).started > 0)
    }
}

/// Names that mean something else in the edited recipe: its default, and what is gone.
fn changed_names(old: &Recipe, new: &Recipe) -> BTreeSet<String> {
    let (before, after) = (old.context.iter(), new.context.iter());
    let mut names: BTreeSet<String> = BTreeSet::new();
    if old.context != new.context {
        names.extend(before.chain(after).map(|(name, _)| name.clone()));
    }
    let is_kept = |id: &String| new.steps.iter().any(|step| step.id == *id);
    names.extend(old.steps.iter().map(|step| step.id.clone()).filter(|id| !is_kept(id)));
    names
}

fn give_up(step: &Step, given_up: &mut BTreeSet<String>) {
    given_up.extend(with_below(step).iter().map(|step| step.id.clone()));
}

/// Steps whose results may be given up because a step failed: `path` has failed under `old`, and `new` goes on.
pub(crate) fn failed(old: &Recipe, new: &Recipe, path: &str, facts: &Facts) -> BTreeSet<String> {
    let ids: Vec<&str> = path.split('/').collect();
    let mut given_up = BTreeSet::new();
    let (Some(before), Some(after)) = (at_path(old, &ids), at_path(new, &ids)) else { return given_up };
    let is_repaired = before.text() != after.text();
    if is_repaired || after.kind != Kind::Bash {
        return given_up;
    }
    // from the recipe of the failed step outwards
    for depth in (0..ids.len()).rev() {
        let around = match depth {
            0 => Some(new),
            _ => at_path(new, &ids[..depth]).and_then(Step::recipe),
        };
        let at = around.and_then(|recipe| recipe.steps.iter().position(|step| step.id == ids[depth]));
        if let (Some(recipe), Some(at)) = (around, at)
            && take_producers(recipe, at, facts, &mut given_up) == Search::Over
        {
            break;
        }
    }
    given_up
}

fn at_path<'a>(recipe: &'a Recipe, ids: &[&str]) -> Option<&'a Step> {
    let (first, rest) = ids.split_first()?;
    let step = recipe.steps.iter().find(|step| step.id == *first)?;
    if rest.is_empty() { Some(step) } else { at_path(step.recipe()?, rest) }
}

/// Whether producers further up may be meant.
#[derive(PartialEq, Eq)]
enum Search {
    GoesOn,
    Over,
}

/// Gives up the nearest producers above a step that are linked to it by names, with what lies between and what else
/// reads their values.
fn take_producers(recipe: &Recipe, target: usize, facts: &Facts, given_up: &mut BTreeSet<String>) -> Search {
    let edges = edges(recipe);
    let mut seen: BTreeMap<usize, bool> = BTreeMap::from([(target, true)]);
    let mut level = vec![target];
    while !level.is_empty() {
        let mut next: BTreeMap<usize, bool> = BTreeMap::new();
        for (to, edge) in level.iter().flat_map(|to| edges[*to].iter().map(move |edge| (to, edge))) {
            if !seen.contains_key(&edge.from) {
                *next.entry(edge.from).or_default() |= edge.link == Link::Named && seen[to];
            }
        }
        let agents = |at: &usize| -> Vec<&Step> {
            let below = with_below(&recipe.steps[*at]).into_iter();
            below.filter(|step| step.kind == Kind::Agent).collect()
        };
        let ran = |at: &usize| agents(at).iter().any(|step| facts.of(&step.id).started > 0);
        let chosen: Vec<usize> =
            next.iter().filter(|(at, is_named)| **is_named && ran(at)).map(|(at, _)| *at).collect();
        let linked = reach(&chosen, |from| after(&edges, from, Some(Link::Named)));
        let behind = reach(&chosen, |from| after(&edges, from, None));
        let above = reach(&[target], |to| edges[to].iter().map(|edge| edge.from).collect());
        let between = behind.intersection(&above);
        for at in linked.iter().chain(between).filter(|at| **at != target) {
            give_up(&recipe.steps[*at], given_up);
        }
        if next.keys().any(|at| agents(at).iter().any(|step| facts.of(&step.id).stands)) {
            return Search::Over;
        }
        level = next.keys().copied().collect();
        seen.extend(next);
    }
    Search::GoesOn
}

/// Steps that come after one.
fn after(edges: &[Vec<Edge>], from: usize, link: Option<Link>) -> Vec<usize> {
    let leads = |edge: &Edge| edge.from == from && link.is_none_or(|link| edge.link == link);
    (0..edges.len()).filter(|to| edges[*to].iter().any(leads)).collect()
}

fn reach(starts: &[usize], next: impl Fn(usize) -> Vec<usize>) -> BTreeSet<usize> {
    let mut seen = BTreeSet::new();
    let mut open = starts.to_vec();
    while let Some(at) = open.pop() {
        if seen.insert(at) {
            open.extend(next(at));
        }
    }
    seen
}

/// Ids of the steps that may not be repeated without a word.
pub(crate) fn careful(recipe: &Recipe, care: Care) -> BTreeSet<String> {
    let steps = all_steps(recipe);
    steps.into_iter().filter(|step| step.care == care).map(|step| step.id.clone()).collect()
}
