//! Inherited variables with the names of context values: a value that is not exported must not be replaced by one.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
};

use engine::run::frame::Frame;
use recipe::{env_name, value::Value};

use super::export::mentions_name;

/// Inherited variables that would hold values of a recipe's context, or members of them.
#[derive(Debug, Default)]
pub struct ContextVariables {
    names: BTreeSet<OsString>,
    /// How many assignments were looked at.
    assigned: Option<usize>,
}

impl ContextVariables {
    /// Looks at what has changed since the last time, and returns all of them.
    pub fn update(&mut self, frame: &Frame, inherited: &BTreeMap<OsString, OsString>) -> &BTreeSet<OsString> {
        let new: Vec<&String> = match self.assigned.replace(frame.log.len()) {
            None => frame.context.keys().collect(),
            Some(before) => frame.log.iter().skip(before).collect(),
        };
        for (name, value) in new.into_iter().filter_map(|name| Some((name, frame.context.get(name)?))) {
            let is_of = |variable: &&OsString| {
                let text = variable.to_str().unwrap_or_default();
                mentions_name(text, name) && is_variable_of(text, name, value)
            };
            self.names.extend(inherited.keys().filter(is_of).cloned());
        }
        &self.names
    }
}

fn is_variable_of(variable: &str, name: &str, value: &Value) -> bool {
    let is_it = |own: Option<String>| own.is_some_and(|own| own == variable);
    let is_below =
        |(key, member): (&String, &Value)| is_variable_of(variable, &format!("{name}.{key}"), member);
    is_it(env_name::variable(name))
        || is_it(env_name::alias(name))
        || matches!(value, Value::Map(members) if members.iter().any(is_below))
}
