//! What stands below the name of a recipe step: the final context of the recipe that it runs.
//!
//! Never guesses: a value that may be JSON has members that nobody knows here, and so has a recipe that only a run
//! will tell.

use std::collections::HashSet;

use super::{
    members::told,
    names::{Flow, Use},
};
use crate::{
    diagnostic::Diagnostic,
    plan::{JsonMode, Plan, Step, StepKind, Target, Unit, UnitId, ValueTemplate},
    value::Segment,
};

/// Reports a name below a recipe step that the recipe cannot have. `is_around` says which names it may get from
/// elsewhere.
pub(super) fn missing(
    plan: &Plan,
    unit: &Unit,
    flow: &Flow,
    used: &Use,
    is_around: &dyn Fn(&str) -> bool,
) -> Option<Diagnostic> {
    let Some(Segment::Key(key)) = used.path.segments.first() else {
        return None;
    };
    let root = used.path.root.as_str();
    let (step, child, handed) = only_call(unit, flow, root)?;
    let names = &flow.below[child.0 as usize];
    let promised = plan.unit(child).rules.iter().map(|(name, _)| name);
    let mut inside = names.iter().chain(handed.iter().map(|(name, _)| name)).chain(promised);
    // a name may have dots itself
    let begins = |name: &str| name.strip_prefix(key.as_str()).is_some_and(|rest| rest.starts_with('.'));
    let is_known = inside.any(|name| name == key || begins(name)) || is_around(key) || key == "length";
    if is_known || flow.is_open[child.0 as usize] || !gives_words(plan, step, &mut HashSet::new()) {
        return None;
    }
    told(used, root, key, names.iter().map(String::as_str).collect())
}

type Handed = [(String, ValueTemplate)];

/// The recipe step that gives a name its value, if it is the only thing that does; what it runs, and what it hands down.
fn only_call<'a>(unit: &'a Unit, flow: &Flow, name: &str) -> Option<(&'a Step, UnitId, &'a Handed)> {
    if unit.declared().any(|declared| declared == name) {
        return None;
    }
    let mut sources = unit.steps.iter().filter(|step| flow.defined_by(step).contains(&name));
    let (step, None) = (sources.next()?, sources.next()) else { return None };
    match &step.kind {
        StepKind::Nested { target: Target::Known { unit, .. }, overrides, .. }
            if step.store.as_deref() == Some(name) =>
        {
            Some((step, *unit, overrides))
        }
        _ => None,
    }
}

/// Whether the value of a step is certainly neither a JSON object nor a list.
fn gives_words(plan: &Plan, step: &Step, seen: &mut HashSet<u32>) -> bool {
    if step.json != JsonMode::Text {
        return false;
    }
    let id = match &step.kind {
        StepKind::Shell { command } => return command.as_literal().is_some_and(prints_words),
        StepKind::Nested { target: Target::Known { unit, .. }, recovery: false, .. } => *unit,
        StepKind::Nested { .. } | StepKind::Agent(_) => return false,
    };
    let unit = plan.unit(id);
    match &unit.output {
        Some(output) if output.template.text().trim_start().starts_with(['{', '[']) => false,
        Some(_) if !step.continue_on_error => true,
        // any of its steps may come to be the last one
        _ => seen.insert(id.0) && unit.steps.iter().all(|step| gives_words(plan, step, seen)),
    }
}

/// Whether a command certainly prints plain words, or nothing.
fn prints_words(command: &str) -> bool {
    const KNOWN: &[&str] =
        &["echo", "true", "false", ":", "exit", "test", "sleep", "touch", "mkdir", "rm", "cp", "mv"];
    let is_plain = |c: char| c.is_alphanumeric() || " _-.,:/=+@%".contains(c);
    let command = command.trim();
    command.chars().all(is_plain) && command.split(' ').next().is_some_and(|word| KNOWN.contains(&word))
}
