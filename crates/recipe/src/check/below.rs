//! The names below the value of a recipe step: the final context of the sub-recipe.
//!
//! Never guesses: the members of a value that may be JSON are unknown here, and so are those of a recipe that only a
//! run finds.

use std::collections::HashSet;

use super::{
    Comparisons,
    members::reported,
    names::{Flow, NameUse},
};
use crate::{
    diagnostic::Diagnostic,
    plan::{JsonMode, Plan, Step, StepKind, Target, Unit, UnitId, ValueTemplate},
    value::Segment,
};

/// The recipe step that gives a name its value.
pub(super) struct SubRecipeCall<'a> {
    step: &'a Step,
    child: UnitId,
    passed: &'a [(String, ValueTemplate)],
}

impl<'a> SubRecipeCall<'a> {
    /// The step that `only` is the index of, if it runs a known recipe and stores its value under `name`, which the
    /// recipe around it does not declare.
    pub(super) fn of(unit: &'a Unit, name: &str, only: usize) -> Option<SubRecipeCall<'a>> {
        let step = unit.steps.get(only).filter(|step| step.store.as_deref() == Some(name))?;
        if step.each().is_some() {
            return None;
        }
        match &step.kind {
            StepKind::Nested { target: Target::Known { unit: child, .. }, overrides, .. }
                if unit.declared().all(|declared| declared != name) =>
            {
                Some(SubRecipeCall { step, child: *child, passed: overrides })
            }
            _ => None,
        }
    }

    /// Reports a name below the step that the recipe cannot have. `is_around` tells which names it may get from
    /// elsewhere.
    pub(super) fn missing(
        &self,
        plan: &Plan,
        flow: &Flow,
        used: &NameUse,
        is_around: &dyn Fn(&str) -> bool,
        comparisons: &mut Comparisons,
    ) -> Option<Diagnostic> {
        let Some(Segment::Key(key)) = used.path.segments.first() else {
            return None;
        };
        let names = &flow.below[self.child.0 as usize];
        let promised = plan.unit(self.child).rules.iter().map(|(name, _)| name);
        let mut inside = names.iter().chain(self.passed.iter().map(|(name, _)| name)).chain(promised);
        // a name may have dots itself
        let begins = |name: &str| name.strip_prefix(key.as_str()).is_some_and(|rest| rest.starts_with('.'));
        let is_known = inside.any(|name| name == key || begins(name)) || is_around(key) || key == "length";
        let is_open = flow.is_open[self.child.0 as usize];
        if is_known || is_open || !gives_words(plan, self.step, &mut HashSet::new()) {
            return None;
        }
        reported(used, &used.path.root, key, names.iter().map(String::as_str).collect(), comparisons)
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
        StepKind::Nested { .. } | StepKind::Agent(_) | StepKind::Ask(_) => return false,
    };
    let unit = plan.unit(id);
    match unit.result_template() {
        Some(template) if template.text().trim_start().starts_with(['{', '[']) => false,
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
