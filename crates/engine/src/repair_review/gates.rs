//! Gates that a recipe declares: they stay or get stricter.
//!
//! Compares only declarations; commands are compared elsewhere.

use recipe::{
    plan::{JsonMode, Limits, Retry, Step, StepKind, Unit},
    syntax::{ExitMeaning, Rule},
};

use super::{Findings, steps::Role};

/// Whether an upper bound was raised or removed.
fn is_raised<T: PartialOrd>(old: Option<T>, new: Option<T>) -> bool {
    match (old, new) {
        (Some(old), Some(new)) => new > old,
        (Some(_), None) => true,
        (None, _) => false,
    }
}

/// The objections to changed recipe settings; `unset` are the limits of a recipe that sets none.
pub(super) fn compare_recipes(old: &Unit, new: &Unit, unset: Limits, findings: &mut Findings) {
    let depth = |unit: &Unit| unit.limits.max_depth.or(unset.max_depth);
    let steps = |unit: &Unit| unit.limits.max_total_steps.or(unset.max_total_steps);
    let limits = [
        ("max_depth", is_raised(depth(old), depth(new))),
        ("max_total_steps", is_raised(steps(old), steps(new))),
        ("budget.usd", is_raised(old.budget.usd, new.budget.usd)),
        ("budget.tokens", is_raised(old.budget.tokens, new.budget.tokens)),
        ("budget.agent_runs", is_raised(old.budget.agent_runs, new.budget.agent_runs)),
        ("budget.minutes", is_raised(old.budget.minutes, new.budget.minutes)),
    ];
    for (name, _) in limits.iter().filter(|(_, raised)| *raised) {
        findings.add("limit_loosened", None, format!("the limit `{name}` is higher or gone"));
    }
    for input in old.inputs.iter().filter(|input| input.required) {
        let same = new.inputs.iter().find(|other| other.name == input.name);
        let is_kept =
            same.is_some_and(|other| other.required && (other.default.is_none() || input.default.is_some()));
        if !is_kept {
            findings.add("input_loosened", None, format!("the input `{}` is no longer required", input.name));
        }
    }
    for (name, rule) in old.rules.iter().filter(|(_, rule)| *rule != Rule::Optional) {
        let kept =
            new.rules.iter().any(|(other, now)| other == name && (now == rule || is_stricter(*now, *rule)));
        if !kept {
            findings.add("rule_loosened", None, format!("`{name}` no longer has to be {}", rule.as_str()));
        }
    }
    for name in old.required_env.iter().filter(|name| !new.required_env.contains(name)) {
        findings.add("input_loosened", None, format!("the variable `{name}` is no longer required"));
    }
    for name in old.secrets.iter().filter(|name| !new.secrets.contains(name)) {
        findings.add("secret_exposed", None, format!("the value of `{name}` is no longer secret"));
    }
}

fn is_stricter(new: Rule, old: Rule) -> bool {
    matches!((old, new), (Rule::Nonempty, Rule::Path | Rule::GitRepo) | (Rule::Path, Rule::GitRepo))
}

/// The objections to changed declarations of a step.
pub(super) fn compare_gates(old: &Step, new: &Step, role: Role, findings: &mut Findings) {
    let id = Some(old.id.as_str());
    let mut lose = |lost: bool, code: &str, detail: &str| {
        if lost {
            findings.add(code, id, format!("`{}`: {detail}", old.id));
        }
    };
    lose(is_raised(old.timeout, new.timeout), "timeout_loosened", "the timeout is longer or gone");
    lose(
        strictness(new.json) < strictness(old.json),
        "json_loosened",
        "JSON is no longer demanded as strictly",
    );
    let schema_kept = old.json_schema.is_none() || old.json_schema == new.json_schema;
    lose(!schema_kept, "schema_changed", "the JSON Schema is another one or gone");
    let tolerated = new.continue_on_error && !old.continue_on_error;
    lose(tolerated, "failure_ignored", "its failure no longer stops the run");
    let forgiven = new.exit_codes.iter().any(|(code, meaning)| {
        *meaning == ExitMeaning::Ok && *code != 0 && !old.exit_codes.contains(&(*code, ExitMeaning::Ok))
    });
    lose(forgiven, "failure_ignored", "a failing exit code now counts as success");
    let unasked = old.exit_codes.iter().any(|(code, meaning)| {
        *meaning == ExitMeaning::NeedsHuman && !new.exit_codes.contains(&(*code, ExitMeaning::NeedsHuman))
    });
    lose(unasked, "gate_lost", "a person is no longer asked");
    let undeclared = old.effects.iter().any(|effect| !new.effects.contains(effect));
    lose(undeclared, "effect_undeclared", "an effect is no longer declared");
    lose(
        !old.idempotent && new.idempotent,
        "effect_undeclared",
        "it no longer says that it must not run twice",
    );
    let again = attempts(new.retry.as_ref()) > attempts(old.retry.as_ref());
    lose(again && role.judges, "retry_loosened", "a check is tried more often until it passes");
    lose(again && !old.idempotent, "retry_loosened", "an effect may happen more than once");
    compare_kinds(old, new, findings);
}

fn compare_kinds(old: &Step, new: &Step, findings: &mut Findings) {
    let id = Some(old.id.as_str());
    match (&old.kind, &new.kind) {
        (StepKind::Agent(left), StepKind::Agent(right))
            if is_raised(left.idle_timeout, right.idle_timeout) =>
        {
            let detail = format!("`{}`: the idle timeout is longer or gone", old.id);
            findings.add("timeout_loosened", id, detail);
        }
        (StepKind::Nested { recovery: false, .. }, StepKind::Nested { recovery: true, .. }) => {
            let detail = format!("`{}`: an agent may now declare the failed recipe done", old.id);
            findings.add("recovery_loosened", id, detail);
        }
        _ => {}
    }
}

fn strictness(mode: JsonMode) -> u8 {
    match mode {
        JsonMode::Text => 0,
        JsonMode::Wanted => 1,
        JsonMode::Required => 2,
    }
}

fn attempts(retry: Option<&Retry>) -> u64 {
    retry.map_or(1, |retry| retry.max_attempts)
}
