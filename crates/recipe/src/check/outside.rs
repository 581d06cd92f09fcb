//! Inputs that the recipe does not know: values for names and tags of the command line, and values that a step passes to
//! a sub-recipe.
//!
//! Never reports a name of the command line that is not similar to a declared one: recipes may be given names that
//! only their commands read.

use std::collections::BTreeSet;

use super::{
    Given, children,
    names::{NameFacts, NameUse, is_dynamic},
};
use crate::{
    diagnostic::{Code, Diagnostic, did_you_mean},
    plan::{Plan, Step, StepKind, Target, Unit, UnitId},
    source::Place,
    template::Template,
    value::Segment,
};

pub(super) fn check(plan: &Plan, name_facts: &[NameFacts], given: &Given, diagnostics: &mut Vec<Diagnostic>) {
    let steps = || plan.units.iter().flat_map(|unit| &unit.steps);
    for (unit, facts) in plan.units.iter().zip(name_facts) {
        diagnostics.extend(
            facts.passed.iter().filter_map(|passed| unused_value(plan, name_facts, (unit, facts), passed)),
        );
    }
    // a recipe that is known only when its step runs may know every name and tag
    if name_facts.iter().any(|name_facts| name_facts.is_partial) || steps().any(|step| is_dynamic(step)) {
        return;
    }
    for name in &given.typed {
        diagnostics.extend(unknown_setting(plan, name_facts, name));
    }
    let tags: BTreeSet<&str> = steps().flat_map(|step| &step.tags).map(String::as_str).collect();
    for tag in given.tags.iter().filter(|tag| !tags.contains(tag.as_str())) {
        diagnostics.push(unknown_tag(tag, &tags));
    }
}

fn unknown_setting(plan: &Plan, name_facts: &[NameFacts], name: &str) -> Option<Diagnostic> {
    let root = name.split('.').next().unwrap_or(name);
    let is_known = plan.units.iter().any(|unit| knows(unit, root) || knows(unit, name))
        || name_facts.iter().flat_map(|name_facts| &name_facts.uses).any(|used| used.path.root == root)
        || plan.units.iter().any(|unit| mentions(unit, root));
    if is_known {
        return None;
    }
    let declared = plan.units.iter().flat_map(|unit| unit.declared()).map(String::as_str);
    let meant = did_you_mean(root, declared)?;
    let message = format!("the recipe has no variable `{root}`; did you mean `{meant}`?");
    let help = format!("give a value to `{meant}`, or declare `{root}` under `context:`");
    Some(Diagnostic::nowhere(Code::UnknownSetting, message).help(help))
}

/// A value that a step passes to a sub-recipe in which nothing can read it.
fn unused_value(
    plan: &Plan,
    name_facts: &[NameFacts],
    (unit, own): (&Unit, &NameFacts),
    (at, name, place): &(usize, String, Place),
) -> Option<Diagnostic> {
    let step = unit.steps.get(*at)?;
    let StepKind::Nested { target: Target::Known { unit: child, .. }, .. } = &step.kind else { return None };
    let root = name.split('.').next().unwrap_or(name);
    let inside = with_children(plan, *child);
    let units = || inside.iter().map(|id| plan.unit(*id));
    let facts = || inside.iter().map(|id| &name_facts[id.0 as usize]);
    // a recipe that is known only when its step runs, and a program that reads all values, may know every name
    let is_open = facts().any(|facts| facts.is_partial)
        || units().any(|unit| unit.steps.iter().any(|step| is_dynamic(step)) || mentions(unit, CONTEXT_FILE));
    let is_read_after = |used: &NameUse| {
        let first = used.path.segments.first();
        step.store.as_ref() == Some(&used.path.root)
            && matches!(first, Some(Segment::Key(key)) if key == root)
    };
    let is_known = units().any(|unit| knows(unit, root) || knows(unit, name) || mentions(unit, root))
        || facts().flat_map(|facts| &facts.uses).any(|used| used.path.root == root)
        || own.uses.iter().any(is_read_after);
    if is_open || is_known {
        return None;
    }
    let recipe = &plan.unit(*child).name;
    let message = format!("recipe `{recipe}` neither declares nor reads `{root}`");
    let problem = Diagnostic::new(Code::UnknownSetting, *place, message);
    Some(match did_you_mean(root, units().flat_map(|unit| unit.declared()).map(String::as_str)) {
        Some(meant) => problem.label(format!("did you mean `{meant}`?")),
        None => problem
            .label("nothing reads it")
            .help(format!("remove it, or declare `{root}` under `context:` of `{recipe}`")),
    })
}

/// A recipe and those below it.
fn with_children(plan: &Plan, unit: UnitId) -> Vec<UnitId> {
    let mut found = vec![unit];
    let mut next = 0;
    while let Some(id) = found.get(next).copied() {
        let new: Vec<UnitId> = children(plan.unit(id)).filter(|child| !found.contains(child)).collect();
        found.extend(new);
        next += 1;
    }
    found
}

/// The variable that leads to all values.
const CONTEXT_FILE: &str = "RECIPE_CONTEXT_FILE";

fn knows(unit: &Unit, name: &str) -> bool {
    unit.names.iter().chain(unit.rules.iter().map(|(name, _)| name)).any(|known| known == name)
}

/// Whether a command, a prompt or a hook may read the variable from its environment.
fn mentions(unit: &Unit, name: &str) -> bool {
    let upper = name.to_uppercase();
    let in_text = |template: &Template| template.text().contains(name) || template.text().contains(&upper);
    let in_step = |step: &Step| match &step.kind {
        StepKind::Shell { command } => in_text(command),
        StepKind::Agent(agent) => {
            in_text(&agent.prompt) || agent.prompt_file.iter().chain(&agent.args).any(in_text)
        }
        StepKind::Nested { overrides, .. } => overrides.iter().any(|(key, _)| key == name),
        StepKind::Ask(ask) => ask.templates().any(in_text),
    };
    let hooks = [&unit.hooks.pre_step, &unit.hooks.post_step, &unit.hooks.on_error];
    unit.steps.iter().any(|step| in_step(step)) || hooks.into_iter().flatten().any(in_text)
}

fn unknown_tag(tag: &str, known: &BTreeSet<&str>) -> Diagnostic {
    let list: Vec<String> = known.iter().map(|tag| format!("`{tag}`")).collect();
    let help = match (did_you_mean(tag, known.iter().copied()), list.is_empty()) {
        (_, true) => "no step has any tag: add `when_tags: […]` to some steps".to_owned(),
        (Some(meant), _) => format!("did you mean `{meant}`? The tags are {}", list.join(", ")),
        (None, _) => format!("the tags are {}", list.join(", ")),
    };
    Diagnostic::nowhere(Code::UnknownTag, format!("no step has the tag `{tag}`")).help(help)
}
