//! The inputs of a step from the context, as one digest: two attempts with the same digest had the same inputs.
//!
//! Never contains a value itself.

use std::collections::BTreeSet;

use recipe::{
    digest::sha256,
    graph,
    plan::{ForEach, Plan, Step},
    scope::Scope,
};

use crate::run::frame::Frame;

/// SHA-256 of the input values of a step: those in its templates, its condition, the environment names that its command
/// mentions, and the steps of its sub-recipe.
pub fn digest(plan: &Plan, frame: &Frame, at: usize) -> String {
    digest_of(&names(plan, frame, &frame.unit.steps[at]), frame, at)
}

/// The names that the step reads. The place of an item in its list is no input: an item may move.
pub(crate) fn names(plan: &Plan, frame: &Frame, step: &Step) -> BTreeSet<String> {
    let of_loop = frame.loop_names();
    let mut names = graph::inputs(plan, step, frame.context.keys().chain(&of_loop));
    if frame.each().is_some() {
        names.remove(ForEach::INDEX);
        names.remove(ForEach::COUNT);
    }
    names
}

/// SHA-256 of the values of these names.
pub(crate) fn digest_of(names: &BTreeSet<String>, frame: &Frame, at: usize) -> String {
    let (mut text, scope) = (String::new(), frame.scope(at));
    for name in names {
        text.push_str(name);
        match scope.get(name) {
            Some(value) => text.extend(["=", &value.render(), "\0"]),
            None => text.push('\0'),
        }
    }
    for path in graph::step_reads(&frame.unit.steps[at]) {
        text.extend([&path.to_string(), "=", &path.resolve(&scope).render(), "\0"]);
    }
    sha256(text.as_bytes())
}
