//! Reviews a repaired recipe: every change gets one of three verdicts, by declared rules.
//!
//! Never guesses what a script is for, and never runs anything. A change that no rule decides is a question: a second
//! agent or a person answers it.

mod change;
mod commands;
mod corrections;
mod gates;
mod json_schemas;
mod looked_at;
mod outside_effects;
mod presence;
mod reliability;
mod roles;

pub use change::{Change, ChangedPart, DecidedBy, ReviewRule, ReviewVerdict};
pub use outside_effects::has_effect;
pub use reliability::cannot_fail;

use recipe::plan::{Limits, Plan, StepKind, Unit};

use crate::knowledge::Knowledge;
use looked_at::LookedAt;
use roles::{Role, role};

/// Both versions of one recipe, and what the rules need to know about its steps.
struct Pair<'a> {
    knowledge: &'a Knowledge,
    old: &'a Unit,
    new: &'a Unit,
    /// The roles of the old steps.
    roles: Vec<Role>,
    /// The plan of the old recipe.
    plan: &'a Plan,
    /// What the checks of that plan look at.
    looked_at: &'a LookedAt,
}

/// The changes found so far.
#[derive(Default)]
struct Changes {
    list: Vec<Change>,
}

impl Changes {
    fn add(&mut self, part: ChangedPart, step: Option<&str>, rule: ReviewRule) {
        let change = Change {
            what: part,
            step: step.map(str::to_owned),
            verdict: rule.verdict(),
            rule,
            decided_by: DecidedBy::Rule,
        };
        if !self.list.contains(&change) {
            self.list.push(change);
        }
    }
}

/// Every change between two versions of a recipe and its sub-recipes. `failed_step` is the path of the step that failed.
pub fn review(knowledge: &Knowledge, before: &Plan, after: &Plan, failed_step: &str) -> Vec<Change> {
    let mut changes = Changes::default();
    let looked_at = LookedAt::of(knowledge, before, failed_step);
    let nested = before.units.iter().filter(|unit| unit.path != before.root().path);
    let same = nested.filter_map(|old| Some((old, after.units.iter().find(|new| new.path == old.path)?)));
    for (old, new) in [(before.root(), after.root())].into_iter().chain(same) {
        let roles = (0..old.steps.len()).map(|at| role(knowledge, before, old, at, failed_step)).collect();
        let pair = Pair { knowledge, old, new, roles, plan: before, looked_at: &looked_at };
        presence::review_presence(&pair, &mut changes);
        presence::review_order(&pair, &mut changes);
        gates::review_recipe(&pair, unset_limits(before, old), &mut changes);
        for (at, step) in old.steps.iter().enumerate() {
            if let Some(repaired) = new.steps.iter().find(|candidate| candidate.id == step.id) {
                review_step(&pair, at, repaired, &mut changes);
            }
        }
    }
    changes.list
}

fn review_step(pair: &Pair<'_>, at: usize, new: &recipe::plan::Step, changes: &mut Changes) {
    let old = &*pair.old.steps[at];
    // a default for all timeouts is not part of the definition
    if old.digest == new.digest && old.timeout == new.timeout {
        return;
    }
    let before = changes.list.len();
    gates::review_gates(pair, old, new, changes);
    gates::review_settings(pair, at, new, changes);
    commands::review_work(pair, at, new, changes);
    if changes.list.len() == before {
        changes.add(ChangedPart::Setting("definition".to_owned()), Some(&old.id), pair.roles[at].unlisted());
    }
    if matches!(old.kind, StepKind::Ask(_)) {
        // a shorter time is stricter for a program, but a person may be the one who loses it
        let own = changes.list[before..].iter_mut();
        own.filter(|change| change.verdict == ReviewVerdict::Accepted).for_each(Change::doubt);
    }
}

/// The limits of a recipe that sets none: only the main recipe has default limits.
fn unset_limits(plan: &Plan, unit: &Unit) -> Limits {
    if unit.path == plan.root().path {
        Limits {
            max_depth: Some(Limits::DEFAULT_DEPTH),
            max_total_steps: Some(Limits::DEFAULT_STEPS),
            permissions: None,
        }
    } else {
        Limits::default()
    }
}
