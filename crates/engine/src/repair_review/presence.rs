//! Which steps remain, which are new, and their order.

use recipe::{
    plan::{Step, StepKind, Unit},
    shell::syntax,
};

use super::{ChangedPart, Changes, Pair, ReviewRule, outside_effects};

/// The half rule holds for recipes with at least this many steps.
const HALF_RULE_FROM: usize = 4;
/// Steps that are gone, and steps that are new.
pub(super) fn review_presence(pair: &Pair<'_>, changes: &mut Changes) {
    let remains = |id: &str| pair.new.steps.iter().any(|step| step.id == id);
    let steps = &pair.old.steps;
    let kept = steps.iter().filter(|step| remains(&step.id)).count();
    if steps.len() >= HALF_RULE_FROM && kept < steps.len().div_ceil(2) {
        changes.add(ChangedPart::Steps, None, ReviewRule::StepsLost);
    }
    for (step, role) in steps.iter().zip(&pair.roles).filter(|(step, _)| !remains(&step.id)) {
        let rule = match role {
            role if role.effect => ReviewRule::EffectLost,
            _ if !step.ensure.is_empty() => ReviewRule::CheckRemoved,
            role if role.verifies && !role.failed => ReviewRule::CheckRemoved,
            role if role.failed => ReviewRule::CheckChanged,
            _ => ReviewRule::NoRule,
        };
        changes.add(ChangedPart::RemovedStep, Some(&step.id), rule);
    }
    let is_new = |step: &&Step| !steps.iter().any(|old| old.id == step.id);
    for step in pair.new.steps.iter().map(|step| &**step).filter(is_new) {
        changes.add(ChangedPart::AddedStep, Some(&step.id), added(pair, step));
    }
}

/// The rule for a new step: accepted if it changes nothing outside and touches nothing that a check looks at.
fn added(pair: &Pair<'_>, step: &Step) -> ReviewRule {
    let StepKind::Shell { command } = &step.kind else { return ReviewRule::MayHaveEffects };
    let Some(list) = syntax::parse(command.text()) else { return ReviewRule::NotParsed };
    let hides_a_value = step.store.as_ref().is_some_and(|name| pair.old.names.contains(name));
    let is_plain = step.effects.is_empty() && step.env.is_empty() && !hides_a_value;
    let is_local = is_plain && outside_effects::find(pair.knowledge, &list).is_empty();
    match is_local && !pair.looked_at.may_be_touched_by(command.text(), &list) {
        true => ReviewRule::NoEffects,
        false => ReviewRule::MayHaveEffects,
    }
}

/// Checks come after the work that they check, and before the effects that wait for them.
pub(super) fn review_order(pair: &Pair<'_>, changes: &mut Changes) {
    for (later, role) in pair.roles.iter().enumerate().filter(|(_, role)| role.verifies || role.effect) {
        for (earlier, before) in pair.roles.iter().enumerate().take(later) {
            if !(precedes(pair.old, earlier, later) && is_swapped(pair, earlier, later)) {
                continue;
            }
            let rule = match role.effect && before.verifies {
                true => ReviewRule::EffectBeforeCheck,
                false => ReviewRule::NoRule,
            };
            changes.add(ChangedPart::Order, Some(&pair.old.steps[later].id), rule);
        }
    }
}

fn precedes(unit: &Unit, first: usize, second: usize) -> bool {
    let group = |at: usize| unit.steps[at].group.as_ref().map(|group| group.number);
    first < second && (group(first).is_none() || group(first) != group(second))
}

fn is_swapped(pair: &Pair<'_>, earlier: usize, later: usize) -> bool {
    let find = |at: usize| pair.new.steps.iter().position(|step| step.id == pair.old.steps[at].id);
    match (find(earlier), find(later)) {
        (Some(first), Some(second)) => !precedes(pair.new, first, second),
        _ => false,
    }
}
