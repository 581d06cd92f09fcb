//! Judging a proposed recipe: it must differ and be complete, and each change gets a verdict.
//!
//! Never writes a file.

use std::path::Path;

use engine::{
    knowledge::Knowledge,
    repair_review::{Change, ReviewVerdict, review},
};
use recipe::{
    check::Checked,
    diagnostic::Severity,
    plan::{Input, Plan, Unit},
};

use super::{
    Regression,
    target_recipe::{RepairTarget, unit},
    workspace_snapshot,
};

/// The result of an examination.
pub(super) struct Examined {
    /// The objections; one is enough to refuse the proposal.
    pub(super) objections: Vec<Regression>,
    /// Every change, with its verdict.
    pub(super) changes: Vec<Change>,
}

/// Examines a proposal.
pub(super) fn examine(
    knowledge: &Knowledge,
    subject: &RepairTarget,
    before: &Plan,
    checked: &Checked,
    failed: &str,
) -> Examined {
    let problems = checked.diagnostics.iter().filter(|problem| problem.severity == Severity::Error);
    let mut objections: Vec<Regression> =
        problems.map(|problem| regression("invalid", None, &problem.message)).collect();
    let Some(after) = &checked.plan else { return Examined { objections, changes: Vec::new() } };
    let (old, new) = (unit(before, &subject.path), unit(after, &subject.path));
    if let (Some(old), Some(new)) = (old, new) {
        if is_same(old, new) {
            let detail = match old.digest == new.digest {
                true => "it proposes no change",
                false => "it changes only text that no step uses: names, descriptions, comments",
            };
            objections.push(regression("unchanged", None, detail));
        }
        objections.extend(other_programs(old, new));
        if !subject.parents.is_empty() {
            objections.extend(not_composed(old, new));
        }
    }
    let changes = review(knowledge, before, after, failed);
    objections.extend(refusals(&changes));
    Examined { objections, changes }
}

/// The refused changes as objections.
pub(super) fn refusals(changes: &[Change]) -> Vec<Regression> {
    let refused = changes.iter().filter(|change| change.verdict == ReviewVerdict::Refused);
    refused.map(|change| regression(change.rule.code(), change.step.as_deref(), &change.describe())).collect()
}

/// The parts that a recipe which extends others has lost: replacing it by one of its parents is not a repair.
fn not_composed(before: &Unit, after: &Unit) -> Vec<Regression> {
    let mut found = Vec::new();
    if before.name != after.name {
        let detail = format!("the recipe is `{}`, and would become `{}`", before.name, after.name);
        found.push(regression("name_changed", None, &detail));
    }
    let is_gone = |id: &str| !after.steps.iter().any(|step| step.id == id);
    for step in before.steps.iter().filter(|step| is_gone(&step.id)) {
        let detail = format!("`{}`, a step of the recipe with what it extends, is gone", step.id);
        found.push(regression("step_lost", Some(&step.id), &detail));
    }
    found
}

/// Forbidden changes of a repair outside the recipe.
pub(super) fn outside(changes: &[workspace_snapshot::Change], aside: &Path) -> Vec<Regression> {
    let detail = |change: &workspace_snapshot::Change| match change.is_put_back {
        true => format!(
            "it changed `{}`, which is put back; the change is kept in {}",
            change.name,
            aside.display()
        ),
        false => format!("it changed `{}`, which cannot be put back: look at it", change.name),
    };
    changes.iter().map(|change| regression("outside_surface", None, &detail(change))).collect()
}

/// Whether two recipes do the same.
fn is_same(before: &Unit, after: &Unit) -> bool {
    let steps = |unit: &Unit| {
        unit.steps.iter().map(|step| (step.digest.clone(), step.timeout, step.shell)).collect::<Vec<_>>()
    };
    let output = |unit: &Unit| {
        let text = |output: &recipe::plan::Output| {
            output.template.as_ref().map(|template| template.text().to_owned())
        };
        unit.output.as_ref().map(|output| (output.format.clone(), text(output), output.only))
    };
    steps(before) == steps(after)
        && before.context == after.context
        && inputs(before).eq(inputs(after))
        && before.rules == after.rules
        && (&before.env.files, &before.env.required) == (&after.env.files, &after.env.required)
        && before.env.set_as_written() == after.env.set_as_written()
        && before.shell == after.shell
        && before.secrets == after.secrets
        && (before.limits, before.budget) == (after.limits, after.budget)
        && output(before) == output(after)
        && hook_texts(before) == hook_texts(after)
}

/// The inputs of a recipe, without their descriptions.
fn inputs(unit: &Unit) -> impl Iterator<Item = Input> {
    unit.inputs.iter().map(|input| Input { description: String::new(), ..input.clone() })
}

fn hook_texts(unit: &Unit) -> [Option<String>; 3] {
    let hooks = &unit.hooks;
    [&hooks.pre_step, &hooks.post_step, &hooks.on_error]
        .map(|hook| hook.as_ref().map(|hook| hook.text().to_owned()))
}

/// Variables that select other programs: they bypass a check without touching it.
fn other_programs(before: &Unit, after: &Unit) -> Vec<Regression> {
    let mut found = Vec::new();
    let of_recipe = after.env.set.iter().map(|(name, _)| name);
    for name in of_recipe.filter(|name| recipe::env_name::is_protected(name) && !before.env.sets(name)) {
        let detail = format!("it sets `{name}`, which decides what programs the steps run");
        found.push(regression("environment_changed", None, &detail));
    }
    for step in &after.steps {
        let old = before.steps.iter().find(|old| old.id == step.id);
        let known = |name: &str| old.is_some_and(|old| old.env.iter().any(|(known, _)| known == name));
        for (name, _) in
            step.env.iter().filter(|(name, _)| recipe::env_name::is_protected(name) && !known(name))
        {
            let detail = format!("it sets `{name}`, which decides what programs the step runs");
            found.push(regression("environment_changed", Some(&step.id), &detail));
        }
    }
    found
}

pub(super) fn regression(code: &str, step: Option<&str>, detail: &str) -> Regression {
    Regression { code: code.to_owned(), step: step.map(str::to_owned), detail: detail.to_owned() }
}
