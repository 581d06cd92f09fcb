//! The inputs of a step from the context, as one digest: two attempts with the same digest had the same inputs.
//!
//! Never contains a value itself.

use recipe::{
    digest::sha256,
    graph,
    plan::{Plan, Step},
};

use crate::run::frame::Frame;

/// SHA-256 of the input values of a step: those in its templates, its condition, the environment names that its command
/// mentions, and the steps of its sub-recipe.
pub fn digest(plan: &Plan, frame: &Frame, step: &Step) -> String {
    let mut text = String::new();
    for name in graph::inputs(plan, step, frame.context.keys()) {
        text.push_str(&name);
        match frame.context.get(&name) {
            Some(value) => text.extend(["=", &value.render(), "\0"]),
            None => text.push('\0'),
        }
    }
    sha256(text.as_bytes())
}
