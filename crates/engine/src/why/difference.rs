//! What is different about a step between two moments: its definition by field, its agent file, its inputs by name.

use std::collections::BTreeSet;

use recipe::{
    field_places::FieldPlaces,
    plan::{Step, StepKind},
    scope::Scope,
    value::{Map, Value},
};
use serde::Serialize;

use super::{Hide, Moment, facts::shown};
use crate::run::{frame::Frame, inputs};

/// The differences between two moments.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Differences {
    /// Fields of the step that are written in another way; absent if its definition is not known for both.
    pub definition: Option<Vec<String>>,
    /// Whether the agent file has another text; absent if the step has none.
    pub agent_file: Option<bool>,
    /// Inputs with other values; absent if the recipe around the step was not entered in both.
    pub inputs: Option<Vec<ChangedInput>>,
    /// Files that the step produced with other contents; absent if that is not known.
    pub produced: Option<Vec<String>>,
}

impl Differences {
    /// Whether nothing is known to be different.
    pub fn is_none(&self) -> bool {
        self.definition.as_ref().is_none_or(Vec::is_empty)
            && self.agent_file != Some(true)
            && self.inputs.as_ref().is_none_or(Vec::is_empty)
            && self.produced.as_ref().is_none_or(Vec::is_empty)
    }
}

/// An input with another value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChangedInput {
    /// The name.
    pub name: String,
    /// The value before, as JSON.
    pub before: String,
    /// The value now, as JSON.
    pub after: String,
}

/// Fields that only people read.
const FOR_PEOPLE: [&str; 2] = ["name", "description"];

/// The differences of a step between two moments.
pub fn differences(path: &str, before: Moment<'_>, now: Moment<'_>, hide: &dyn Hide) -> Differences {
    let (Some(old), Some(new)) = (located(path, before), located(path, now)) else {
        return Differences::default();
    };
    Differences {
        definition: definition(path, before, now),
        agent_file: agent_file(old.step(), new.step()),
        inputs: Some(changed_inputs((old, before), (new, now), hide)),
        produced: None,
    }
}

/// A step in a frame.
#[derive(Clone, Copy)]
struct Located<'a> {
    frame: &'a Frame,
    at: usize,
}

impl<'a> Located<'a> {
    fn step(self) -> &'a Step {
        &self.frame.unit.steps[self.at]
    }
}

fn located<'a>(path: &str, moment: Moment<'a>) -> Option<Located<'a>> {
    let (id, at) = moment.state.locate(path)?;
    Some(Located { frame: &moment.state.frames[id], at })
}

/// The fields of a step that are written in another way.
fn definition(path: &str, before: Moment<'_>, now: Moment<'_>) -> Option<Vec<String>> {
    let (old, new) = (written(path, before)?, written(path, now)?);
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let is_other = |name: &&String| old.get(*name) != new.get(*name) && !FOR_PEOPLE.contains(&name.as_str());
    Some(names.into_iter().filter(is_other).cloned().collect())
}

/// A step as it is written.
fn written(path: &str, moment: Moment<'_>) -> Option<Map> {
    let step = located(path, moment)?.step();
    match FieldPlaces::of(moment.plan).step(step)?.to_value() {
        Value::Map(fields) => {
            Some(fields.iter().map(|(name, value)| (name.clone(), value.clone())).collect())
        }
        _ => None,
    }
}

/// Whether the agent file of a step has another text.
fn agent_file(old: &Step, new: &Step) -> Option<bool> {
    match (&old.kind, &new.kind) {
        (StepKind::Agent(old), StepKind::Agent(new))
            if old.reference.is_some() || new.reference.is_some() =>
        {
            Some(old.system_prompt != new.system_prompt)
        }
        _ => None,
    }
}

fn changed_inputs(
    (old, before): (Located<'_>, Moment<'_>),
    (new, now): (Located<'_>, Moment<'_>),
    hide: &dyn Hide,
) -> Vec<ChangedInput> {
    let mut names = inputs::names(before.plan, old.frame, old.step());
    names.extend(inputs::names(now.plan, new.frame, new.step()));
    let (old, new) = (old.frame.scope(old.at), new.frame.scope(new.at));
    let value = |scope: &dyn Scope, name: &str| scope.get(name).unwrap_or_default();
    let changed = names.into_iter().filter_map(|name| {
        let (before, after) = (value(&old, &name), value(&new, &name));
        (before.render() != after.render()).then(|| ChangedInput {
            before: shown(&name, &before, hide),
            after: shown(&name, &after, hide),
            name,
        })
    });
    changed.collect()
}
