//! Values that come from another step than before, because steps were removed, write another name or changed their
//! order. Decides nothing.

use std::collections::{HashMap, HashSet};

use recipe::{
    graph::{self, Edge, Link},
    plan::{Step, Unit},
};

use super::Request;
use crate::run::frame::Frame;

/// Steps that read a name which another step, or no step, wrote last than before, with that name.
pub(super) fn rewired(
    request: &Request<'_>,
    old: &Frame,
    new: &Unit,
    edges: &[Edge],
) -> HashMap<usize, String> {
    fn sources<'e>(unit: &'e Unit, edges: &'e [Edge]) -> HashMap<(&'e str, &'e str), &'e str> {
        let id = |at: usize| unit.steps[at].id.as_str();
        let by_name = edges.iter().filter(|edge| edge.link == Link::Value);
        by_name.filter_map(|edge| Some(((id(edge.to), edge.what.as_deref()?), id(edge.from)))).collect()
    }
    let before = graph::edges_in(request.before, &old.unit);
    let was = sources(&old.unit, &before);
    let is = sources(new, edges);
    let changed = was.keys().chain(is.keys()).filter(|read| was.get(*read) != is.get(*read));
    let index: HashMap<&str, usize> =
        new.steps.iter().enumerate().map(|(at, step)| (step.id.as_str(), at)).collect();
    // a name that only one version reads is a change of the step, not of the source of a value
    let reads = |plan, step: &Step, name: &str| {
        graph::reads_one_of(plan, step, &HashSet::from([name.to_owned()])).is_some()
    };
    let is_read_by_both = |at: usize, name: &str| {
        let before = old.index_of(&new.steps[at].id).map(|before| &old.unit.steps[before]);
        reads(request.plan, &new.steps[at], name)
            && before.is_some_and(|before| reads(request.before, before, name))
    };
    let found = changed.filter_map(|(step, name)| Some((*index.get(step)?, (*name).to_owned())));
    found.filter(|(at, name)| is_read_by_both(*at, name)).collect()
}
