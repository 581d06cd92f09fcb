//! Whether a repaired recipe is weaker than the one it replaces.
//!
//! Compares two parsed recipes; never searches their texts for similar words, never runs anything. Each finding is a
//! reason to refuse the repair; an empty list means that nothing was lost.

mod check_names;
pub mod checks;
mod commands;
mod comparisons;
mod conditions;
mod contained;
mod deeds;
pub mod effects;
pub mod flow;
mod forgeries;
mod gates;
mod grep;
mod hooks;
mod known;
mod names;
mod narrowing;
mod notes;
mod order;
pub mod program;
mod reach;
mod redirects;
mod rehearsals;
pub mod script;
mod settings;
pub mod speaker;
mod steps;
pub mod words;
mod world;

#[cfg(test)]
mod tests;

use recipe::plan::{Limits, Plan, Unit};
use serde::{Deserialize, Serialize};

use steps::Role;

/// One way in which a repaired recipe is weaker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Regression {
    /// The code of the loss.
    pub code: String,
    /// The step.
    pub step: Option<String>,
    /// A description for users.
    pub detail: String,
}

/// The regressions found so far.
#[derive(Default)]
struct Findings {
    list: Vec<Regression>,
}

impl Findings {
    fn add(&mut self, code: &str, step: Option<&str>, detail: impl Into<String>) {
        let found =
            Regression { code: code.to_owned(), step: step.map(str::to_owned), detail: detail.into() };
        if !self.list.contains(&found) {
            self.list.push(found);
        }
    }
}

/// Everything in which `after` is weaker than `before`. `failed_step` is the path of the step that failed.
pub fn compare(before: &Plan, after: &Plan, failed_step: &str) -> Vec<Regression> {
    let mut findings = Findings::default();
    compare_units(before, before.root(), after.root(), failed_step, &mut findings);
    let nested = before.units.iter().filter(|unit| unit.path != before.root().path);
    for old in nested {
        let same = after.units.iter().find(|new| new.path == old.path && new.digest != old.digest);
        if let Some(new) = same {
            compare_units(before, old, new, failed_step, &mut findings);
        }
    }
    findings.list
}

fn compare_units(old_plan: &Plan, old: &Unit, new: &Unit, failed: &str, findings: &mut Findings) {
    let roles: Vec<Role> = (0..old.steps.len()).map(|at| steps::role(old, at, failed)).collect();
    compare_presence(old, new, &roles, findings);
    gates::compare_recipes(old, new, unset_limits(old_plan, old), findings);
    world::compare_values(old, new, &roles, findings);
    order::compare_order(old, new, &roles, findings);
    forgeries::find_forgeries(old, new, findings);
    forgeries::find_sayings(old, new, findings);
    hooks::compare_hooks(old, new, findings);
    for (at, step) in old.steps.iter().enumerate() {
        let Some(mended) = new.steps.iter().find(|candidate| candidate.id == step.id) else { continue };
        // a default for all timeouts is not part of the definition
        if step.digest == mended.digest && step.timeout == mended.timeout {
            continue;
        }
        steps::compare_steps(old, at, new, mended, roles[at], findings);
    }
}

/// The limits of a recipe that sets none: only the main recipe has default limits.
fn unset_limits(plan: &Plan, unit: &Unit) -> Limits {
    if unit.path == plan.root().path {
        Limits { max_depth: Some(Limits::DEFAULT_DEPTH), max_total_steps: Some(Limits::DEFAULT_STEPS) }
    } else {
        Limits::default()
    }
}

fn compare_presence(old: &Unit, new: &Unit, roles: &[Role], findings: &mut Findings) {
    let remains = |id: &str| new.steps.iter().any(|step| step.id == id);
    let kept = old.steps.iter().filter(|step| remains(&step.id)).count();
    let needed = old.steps.len().div_ceil(2);
    if old.steps.len() >= 4 && kept < needed {
        let detail = format!("{kept} of {} steps remain, at least {needed} have to", old.steps.len());
        findings.add("steps_lost", None, detail);
    }
    for (step, role) in old.steps.iter().zip(roles).filter(|(step, _)| !remains(&step.id)) {
        let id = Some(step.id.as_str());
        if role.failed {
            findings.add("failed_step_lost", id, format!("the step that failed, `{}`, is gone", step.id));
        }
        if role.effect {
            findings.add("effect_lost", id, format!("`{}` changes the world outside and is gone", step.id));
        }
        if role.check || role.trails {
            findings.add("check_lost", id, format!("`{}` is a check and is gone", step.id));
        }
    }
}
