//! One step before and after: its role, and what it must keep.
//!
//! Never compares a step with its neighbours; that is done where order counts.

use recipe::plan::{AgentStep, Recoverer, Step, StepKind, Target, Unit};

use super::{
    Findings,
    checks::{self, CheckKind},
    commands, conditions, effects,
    flow::{Level, follow},
    gates,
    program::Call,
};

/// The role of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Role {
    pub(super) failed: bool,
    pub(super) check: bool,
    pub(super) effect: bool,
    /// Whether the recipe itself declares that it changes the world outside.
    pub(super) declared: bool,
    /// Whether it comes right after the work of an agent or a sub-recipe, and does more than print.
    pub(super) trails: bool,
    /// Whether it only judges, so that retrying it until it passes would weaken it.
    pub(super) judges: bool,
}

impl Role {
    pub(super) fn is_protected(self) -> bool {
        self.failed || self.check || self.effect || self.trails
    }
}

/// The role of the step at this index.
pub(super) fn role(unit: &Unit, at: usize, failed: &str) -> Role {
    let step = &unit.steps[at];
    let failed = failed.split('/').any(|part| part == step.id);
    let declared = !step.effects.is_empty() || !step.idempotent;
    let StepKind::Shell { command } = &step.kind else {
        return Role { failed, effect: declared, declared, ..Role::default() };
    };
    let flow = follow(command.text());
    let counted = || flow.found.iter().filter(|found| found.level != Level::Ignored);
    let acts = flow.found.iter().any(|found| effects::effect(&found.call).is_some());
    let checks = counted().any(|found| checks::judged(&found.call).is_some());
    let works = counted().any(|found| !found.call.is_toothless());
    let speaks = counted().any(|found| !Call::is_talk(&found.call.program));
    let after_producer = at > 0 && !matches!(unit.steps[at - 1].kind, StepKind::Shell { .. });
    let judges =
        counted().any(|found| checks::judged(&found.call).is_some_and(|kind| kind != CheckKind::Build));
    Role {
        failed,
        check: checks || (after_producer && works && !acts),
        effect: declared || acts,
        declared,
        trails: after_producer && speaks && !acts,
        judges,
    }
}

/// The objections to a changed step.
pub(super) fn compare_steps(
    before: &Unit,
    at: usize,
    after: &Unit,
    new: &Step,
    role: Role,
    findings: &mut Findings,
) {
    let old = &*before.steps[at];
    gates::compare_gates(old, new, role, findings);
    if role.is_protected() {
        conditions::compare_conditions(before, old, after, new, role, findings);
        compare_tags(old, new, findings);
        compare_dependencies(before, old, after, new, findings);
        compare_place(before, old, new, role, findings);
        compare_env(old, new, role, findings);
    }
    let id = Some(old.id.as_str());
    match (&old.kind, &new.kind) {
        (StepKind::Shell { command: left }, StepKind::Shell { command: right }) => {
            if role.is_protected() && left.text() != right.text() {
                commands::compare_commands(before, old, left.text(), right.text(), role, findings);
            }
        }
        (StepKind::Agent(left), StepKind::Agent(right)) => {
            compare_agents(before, at, left, right, role, findings);
        }
        (
            StepKind::Nested { target: left, recoverer: old_agent, .. },
            StepKind::Nested { target: right, recoverer: new_agent, .. },
        ) => {
            if !role.failed && target_name(left) != target_name(right) {
                let detail =
                    format!("`{}` ran `{}` and now runs `{}`", old.id, target_name(left), target_name(right));
                findings.add("recipe_changed", id, detail);
            }
            if !role.failed {
                compare_recoverers(&old.id, old_agent, new_agent, findings);
            }
        }
        (left, right) => {
            let detail =
                format!("`{}` was a {} step and is a {} step now", old.id, left.word(), right.word());
            findings.add("kind_changed", id, detail);
        }
    }
}

fn compare_recoverers(id: &str, old: &Recoverer, new: &Recoverer, findings: &mut Findings) {
    let model = |agent: &Recoverer| agent.model.as_ref().map(|model| model.text().to_owned());
    if old.program != new.program {
        findings.add("agent_changed", Some(id), format!("another agent recovers `{id}`"));
    }
    if model(old) != model(new) {
        findings.add("model_changed", Some(id), format!("another model recovers `{id}`"));
    }
}

fn target_name(target: &Target) -> &str {
    match target {
        Target::Known { name, .. } => name,
        Target::Dynamic { name, .. } => name.text(),
    }
}

fn compare_tags(old: &Step, new: &Step, findings: &mut Findings) {
    if let Some(tag) = new.tags.iter().find(|tag| !old.tags.contains(tag)) {
        let detail = format!("the new tag `{tag}` can keep `{}` from running", old.id);
        findings.add("tag_added", Some(&old.id), detail);
    }
}

/// A step that depends on one that may be skipped is skipped with it.
fn compare_dependencies(before: &Unit, old: &Step, after: &Unit, new: &Step, findings: &mut Findings) {
    let had: Vec<&str> = old.depends_on.iter().map(|at| before.steps[*at].id.as_str()).collect();
    for needed in
        new.depends_on.iter().map(|at| &after.steps[*at]).filter(|step| !had.contains(&step.id.as_str()))
    {
        let may_be_missing =
            needed.condition.is_some() || needed.continue_on_error || !needed.tags.is_empty();
        if may_be_missing {
            let detail = format!("`{}` now depends on `{}`, which may not run", old.id, needed.id);
            findings.add("dependency_added", Some(&old.id), detail);
        }
    }
}

fn compare_place(before: &Unit, old: &Step, new: &Step, role: Role, findings: &mut Findings) {
    let text = |step: &Step| step.working_dir.as_ref().map(|dir| dir.text().trim_end_matches('/').to_owned());
    let (left, right) = (text(old), text(new));
    if left == right {
        return;
    }
    let is_used = before.steps.iter().any(|step| step.id != old.id && text(step) == right);
    let compares = matches!(&old.kind, StepKind::Shell { command } if commands::compares(command.text()));
    if !role.failed || (compares && !is_used) {
        let detail = format!("`{}` looks at another directory now", old.id);
        findings.add("expectation_changed", Some(&old.id), detail);
    }
}

fn compare_env(old: &Step, new: &Step, role: Role, findings: &mut Findings) {
    let find = |step: &Step, name: &str| {
        step.env.iter().find(|(key, _)| key == name).map(|(_, value)| value.text().to_owned())
    };
    let changed = old.env.iter().any(|(name, value)| find(new, name).as_deref() != Some(value.text()));
    if changed && (role.check || role.effect) {
        let detail = format!("`{}` runs with other environment variables", old.id);
        findings.add("expectation_changed", Some(&old.id), detail);
    }
    for (name, _) in new.env.iter().filter(|(name, _)| find(old, name).is_none()) {
        if !role.failed || commands::is_switch(name) {
            let detail = format!("the new variable `{name}` can change what `{}` does", old.id);
            findings.add("switch_added", Some(&old.id), detail);
        }
    }
}

fn compare_agents(
    unit: &Unit,
    at: usize,
    old: &AgentStep,
    new: &AgentStep,
    role: Role,
    findings: &mut Findings,
) {
    let id = unit.steps[at].id.as_str();
    if !role.failed {
        let model = |agent: &AgentStep| agent.model.as_ref().map(|model| model.text().to_owned());
        if old.reference != new.reference || old.program != new.program || old.mode != new.mode {
            findings.add("agent_changed", Some(id), format!("`{id}` asks another agent"));
        }
        if model(old) != model(new) {
            findings.add("model_changed", Some(id), format!("`{id}` asks another model"));
        }
    }
    let kept = kept_words(old.prompt.text(), new.prompt.text());
    let needed = if role.failed { 0.34 } else { 0.6 };
    if kept < needed {
        let percent = (kept * 100.0).round();
        findings.add("prompt_changed", Some(id), format!("{percent} % of the prompt of `{id}` is left"));
    }
}

/// The share of the words of a text that are still there.
fn kept_words(old: &str, new: &str) -> f64 {
    let words = |text: &str| -> Vec<String> {
        let parts = text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.'));
        parts.filter(|word| word.len() > 2).map(str::to_lowercase).collect()
    };
    let (old, new) = (words(old), words(new));
    if old.is_empty() {
        return 1.0;
    }
    let new: std::collections::HashSet<String> = new.into_iter().collect();
    old.iter().filter(|word| new.contains(*word)).count() as f64 / old.len() as f64
}
