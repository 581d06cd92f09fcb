//! Declarations of a recipe and its steps: gates stay or get stricter, other settings follow the role of the step.

use recipe::{
    plan::{JsonMode, Limits, Retry, Step, StepKind, Unit},
    syntax::Rule,
};

use super::{ChangedPart, Changes, Pair, ReviewRule, roles::Role};

/// How an upper bound has changed.
fn bound<T: PartialOrd>(old: Option<T>, new: Option<T>) -> Option<ReviewRule> {
    match (old, new) {
        (Some(old), Some(new)) if new > old => Some(ReviewRule::Loosened),
        (Some(old), Some(new)) if new < old => Some(ReviewRule::Stricter),
        (Some(_), None) => Some(ReviewRule::Loosened),
        (None, Some(_)) => Some(ReviewRule::Stricter),
        _ => None,
    }
}

/// Settings of a recipe; `unset` are the limits of a recipe that sets none.
pub(super) fn review_recipe(pair: &Pair<'_>, unset: Limits, changes: &mut Changes) {
    let (old, new) = (pair.old, pair.new);
    let depth = |unit: &Unit| unit.limits.max_depth.or(unset.max_depth);
    let steps = |unit: &Unit| unit.limits.max_total_steps.or(unset.max_total_steps);
    let bounds = [
        ("max_depth", bound(depth(old), depth(new))),
        ("max_total_steps", bound(steps(old), steps(new))),
        ("budget.usd", bound(old.budget.usd, new.budget.usd)),
        ("budget.tokens", bound(old.budget.tokens, new.budget.tokens)),
        ("budget.agent_runs", bound(old.budget.agent_runs, new.budget.agent_runs)),
        ("budget.minutes", bound(old.budget.minutes, new.budget.minutes)),
    ];
    let mut set = |name: &str, rule: Option<ReviewRule>| {
        if let Some(rule) = rule {
            changes.add(ChangedPart::Setting(name.to_owned()), None, rule);
        }
    };
    bounds.into_iter().for_each(|(name, rule)| set(name, rule));
    set("hooks", (hooks(old) != hooks(new)).then_some(ReviewRule::HooksChanged));
    set("secrets", (old.secrets != new.secrets).then_some(ReviewRule::SecretsChanged));
    set("env.files", (old.env_files != new.env_files).then_some(ReviewRule::NoRule));
    let output = |unit: &Unit| unit.output.as_ref().map(|output| output.template.text().to_owned());
    set("output", (output(old) != output(new)).then_some(ReviewRule::NoRule));
    set("env.required", demands(&old.required_env, &new.required_env));
    set("context_validation", rules(old, new));
    set("inputs", inputs(old, new));
    review_values(pair, changes);
}

/// How a list of demands has changed.
fn demands<T: PartialEq>(old: &[T], new: &[T]) -> Option<ReviewRule> {
    let is_kept = old.iter().all(|demand| new.contains(demand));
    (old != new).then_some(if is_kept { ReviewRule::Stricter } else { ReviewRule::NoRule })
}

fn rules(old: &Unit, new: &Unit) -> Option<ReviewRule> {
    let strict = |unit: &Unit| -> Vec<(String, Rule)> {
        unit.rules.iter().filter(|(_, rule)| *rule != Rule::Optional).cloned().collect()
    };
    demands(&strict(old), &strict(new))
}

fn inputs(old: &Unit, new: &Unit) -> Option<ReviewRule> {
    let shape = |unit: &Unit| -> Vec<(String, bool, Option<recipe::value::Value>)> {
        let inputs = unit.inputs.iter();
        inputs.map(|input| (input.name.clone(), input.required, input.default.clone())).collect()
    };
    demands(&shape(old), &shape(new))
}

fn hooks(unit: &Unit) -> [Option<&str>; 3] {
    let hooks = &unit.hooks;
    [&hooks.pre_step, &hooks.post_step, &hooks.on_error].map(|hook| hook.as_ref().map(|hook| hook.text()))
}

/// Values of the context. A new one is accepted where no check reads it, or where a name led nowhere before.
fn review_values(pair: &Pair<'_>, changes: &mut Changes) {
    let (old, new) = (&pair.old.context, &pair.new.context);
    for name in new.iter().filter(|(name, value)| old.get(*name) != Some(value)).map(|(name, _)| name) {
        let checks = pair.old.steps.iter().zip(&pair.roles).filter(|(_, role)| role.verifies);
        let is_checked = checks.into_iter().any(|(step, _)| recipe::graph::reads(step).contains(name));
        let rule = match is_checked || old.contains_key(name) || pair.old.names.contains(name) {
            true => ReviewRule::NoRule,
            false => ReviewRule::NameResolves,
        };
        changes.add(ChangedPart::Value(name.clone()), None, rule);
    }
    for name in old.keys().filter(|name| !new.contains_key(*name)) {
        changes.add(ChangedPart::Value(name.clone()), None, ReviewRule::NoRule);
    }
}

/// Gates that a step declares.
pub(super) fn review_gates(old: &Step, new: &Step, changes: &mut Changes) {
    let mut set = |name: &str, rule: Option<ReviewRule>| {
        if let Some(rule) = rule {
            changes.add(ChangedPart::Setting(name.to_owned()), Some(&old.id), rule);
        }
    };
    set("timeout", bound(old.timeout, new.timeout));
    set("retry", retry(old.retry.as_ref(), new.retry.as_ref()));
    set(
        "parse_json",
        match strictness(new.json).cmp(&strictness(old.json)) {
            std::cmp::Ordering::Less => Some(ReviewRule::Loosened),
            std::cmp::Ordering::Equal => None,
            std::cmp::Ordering::Greater => Some(ReviewRule::Stricter),
        },
    );
    set(
        "json_schema",
        match (&old.json_schema, &new.json_schema) {
            (None, Some(_)) => Some(ReviewRule::Stricter),
            (Some(_), None) => Some(ReviewRule::Loosened),
            (old, new) => (old != new).then_some(ReviewRule::NoRule),
        },
    );
    set(
        "continue_on_error",
        (old.continue_on_error != new.continue_on_error).then_some(ReviewRule::FailurePolicyChanged),
    );
    let is_undeclared = old.effects.iter().any(|effect| !new.effects.contains(effect));
    set(
        "effects",
        match old.effects == new.effects {
            true => None,
            false if is_undeclared => Some(ReviewRule::EffectLost),
            false => Some(ReviewRule::Stricter),
        },
    );
    set("exit_codes", (old.exit_codes != new.exit_codes).then_some(ReviewRule::NoRule));
    set("idempotent", (old.idempotent != new.idempotent).then_some(ReviewRule::NoRule));
    if let (StepKind::Agent(left), StepKind::Agent(right)) = (&old.kind, &new.kind) {
        set("idle_timeout", bound(left.idle_timeout, right.idle_timeout));
        set("json_retries", bound(Some(left.json_retries), Some(right.json_retries)));
    }
}

fn retry(old: Option<&Retry>, new: Option<&Retry>) -> Option<ReviewRule> {
    let attempts = |retry: Option<&Retry>| retry.map_or(1, |retry| retry.max_attempts);
    let is_same = old == new;
    bound(Some(attempts(old)), Some(attempts(new))).or((!is_same).then_some(ReviewRule::NoRule))
}

fn strictness(mode: JsonMode) -> u8 {
    match mode {
        JsonMode::Text => 0,
        JsonMode::Wanted => 1,
        JsonMode::Required => 2,
    }
}

/// Settings that decide whether, where and with what a step runs.
pub(super) fn review_settings(pair: &Pair<'_>, at: usize, new: &Step, changes: &mut Changes) {
    let (old, role) = (&*pair.old.steps[at], pair.roles[at]);
    let mut set = |name: &str, rule: Option<ReviewRule>| {
        if let Some(rule) = rule {
            changes.add(ChangedPart::Setting(name.to_owned()), Some(&old.id), rule);
        }
    };
    set("condition", condition(pair, old, new, role));
    let has_new_tag = new.tags.iter().any(|tag| !old.tags.contains(tag));
    set("when_tags", (old.tags != new.tags).then(|| skipped(has_new_tag, role)));
    let needs = |unit: &Unit, step: &Step| -> Vec<String> {
        step.depends_on.iter().map(|at| unit.steps[*at].id.clone()).collect()
    };
    let is_moved = needs(pair.old, old) != needs(pair.new, new);
    set("depends_on", is_moved.then_some(ReviewRule::NoRule));
    let group = |step: &Step| step.group.as_ref().map(|group| group.name.clone());
    set("parallel_group", (group(old) != group(new)).then_some(ReviewRule::NoRule));
    let directory = |step: &Step| step.working_dir.as_ref().map(|dir| dir.text().to_owned());
    set("working_dir", (directory(old) != directory(new)).then(|| role.unlisted()));
    let variables = |step: &Step| -> Vec<(String, String)> {
        step.env.iter().map(|(name, value)| (name.clone(), value.text().to_owned())).collect()
    };
    set("env", (variables(old) != variables(new)).then(|| role.unlisted()));
    set("produces", (old.produces != new.produces).then(|| role.unlisted()));
    set("reads", (old.reads != new.reads).then(|| role.unlisted()));
    set("output", (old.store != new.store).then(|| stored(pair, old, new)));
}

/// The rule for a setting by which a step may be skipped.
fn skipped(is_more_often: bool, role: Role) -> ReviewRule {
    match is_more_often && role.effect {
        true => ReviewRule::EffectConditional,
        false => ReviewRule::NoRule,
    }
}

fn condition(pair: &Pair<'_>, old: &Step, new: &Step, role: Role) -> Option<ReviewRule> {
    let squeeze = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").replace('"', "'");
    match (&old.condition, &new.condition) {
        (None, None) => None,
        (None, Some(_)) => Some(skipped(true, role)),
        (Some(_), None) => Some(ReviewRule::NoRule),
        (Some(left), Some(right)) if squeeze(left.text()) == squeeze(right.text()) => None,
        (Some(left), Some(right)) => {
            let is_corrected = super::corrections::names_resolve(
                pair,
                &left.names(),
                left.text(),
                &right.names(),
                right.text(),
            );
            Some(if is_corrected { ReviewRule::NameResolves } else { ReviewRule::NoRule })
        }
    }
}

/// A value under another name: accepted where that name was read and led nowhere.
fn stored(pair: &Pair<'_>, old: &Step, new: &Step) -> ReviewRule {
    let was_unknown = new.store.as_ref().is_some_and(|name| !pair.old.names.contains(name));
    let is_unread = old
        .store
        .as_ref()
        .is_none_or(|name| !pair.old.steps.iter().any(|step| recipe::graph::reads(step).contains(name)));
    if was_unknown && is_unread { ReviewRule::NameResolves } else { ReviewRule::NoRule }
}
