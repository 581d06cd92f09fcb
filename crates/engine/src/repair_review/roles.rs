//! What a step is for, as far as its declaration and its links to other steps tell.

use std::collections::HashSet;

use recipe::{
    graph,
    plan::{Plan, Step, StepKind, Unit},
    scope::Path,
    shell::syntax,
    step_facts::reads_output,
};

use super::{ReviewRule, outside_effects, reliability::cannot_fail};
use crate::{
    knowledge::Knowledge,
    run::{state::effects::is_for_once, step_path::split_instance},
};

/// What a step is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Role {
    /// It failed, or contains the step that failed.
    pub(super) failed: bool,
    /// It verifies: it failed, or its exit code is its only product.
    pub(super) verifies: bool,
    /// It changes the world outside.
    pub(super) effect: bool,
}

impl Role {
    /// The rule for a change that no other rule decides.
    pub(super) fn unlisted(self) -> ReviewRule {
        match self {
            Role { effect: true, .. } => ReviewRule::EffectChanged,
            Role { verifies: true, .. } => ReviewRule::CheckChanged,
            _ => ReviewRule::NotAVerification,
        }
    }
}

/// The role of the step at this index.
pub(super) fn role(knowledge: &Knowledge, plan: &Plan, unit: &Unit, at: usize, failed: &str) -> Role {
    let step = &unit.steps[at];
    let is_it = |part: &str| {
        let instance_of = |(id, _)| id == step.id && step.looped.is_some();
        part == step.id || split_instance(part).is_some_and(instance_of)
    };
    let failed = failed.split('/').any(is_it);
    let effect = is_for_once(step) || acts(knowledge, step);
    let can_fail = matches!(&step.kind, StepKind::Shell { command } if may_fail(knowledge, command.text()));
    let has_product = !step.produces.is_empty() || is_read(plan, unit, step);
    let is_asked = matches!(step.kind, StepKind::Ask(_));
    Role { failed, verifies: is_asked || (can_fail && (failed || !(has_product || effect))), effect }
}

/// Whether a command can fail: one that only prints verifies nothing.
fn may_fail(knowledge: &Knowledge, command: &str) -> bool {
    !syntax::parse(command).is_some_and(|list| cannot_fail(knowledge, &list))
}

/// Whether its command is known to change the world outside.
fn acts(knowledge: &Knowledge, step: &Step) -> bool {
    let StepKind::Shell { command } = &step.kind else { return false };
    outside_effects::has_effect(knowledge, command.text())
}

/// Whether another step, or the result of the recipe, reads the value of a step.
fn is_read(plan: &Plan, unit: &Unit, step: &Step) -> bool {
    let names: HashSet<String> = step.store.iter().cloned().collect();
    let shows = |path: &Path| names.contains(&path.root) || reads_output(path, &step.id);
    let mut shown = unit.result_template().into_iter().flat_map(|template| template.names());
    let is_shown = shown.any(|(path, _)| shows(path));
    let reads = |other: &Step| graph::step_reads(other).iter().any(|path| reads_output(path, &step.id));
    let mut others = unit.steps.iter().filter(|other| other.id != step.id);
    is_shown || others.any(|other| reads(other) || graph::reads_one_of(plan, other, &names).is_some())
}
