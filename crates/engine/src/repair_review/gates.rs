//! Declarations of a recipe and its steps: gates stay or get stricter, other settings follow the role of the step.

use recipe::{
    plan::{
        EnsureKind, EnsureRule, Input, JsonMode, Limits, Permissions, Repeat, Retry, Step, StepKind, Unit,
    },
    syntax::{PermissionLevel, Rule, Shell},
};

use super::{ChangedPart, Changes, Pair, ReviewRule, json_schemas, roles::Role};

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
    set("permissions", permissions(old.limits.permissions, new.limits.permissions));
    set("schedule", (old.is_graph != new.is_graph).then_some(ReviewRule::NoRule));
    set("hooks", (hooks(old) != hooks(new)).then_some(ReviewRule::HooksChanged));
    set("secrets", (old.secrets != new.secrets).then_some(ReviewRule::SecretsChanged));
    set("env.files", (old.env.files != new.env.files).then_some(ReviewRule::NoRule));
    set("env.set", (old.env.set_as_written() != new.env.set_as_written()).then_some(ReviewRule::NoRule));
    set("shell", shell(old.shell, new.shell));
    let output =
        |unit: &Unit| (unit.result_template().map(|template| template.text().to_owned()), unit.result_only());
    set("output", (output(old) != output(new)).then_some(ReviewRule::NoRule));
    set("env.required", demands(&old.env.required, &new.env.required));
    set("context_validation", rules(old, new));
    set("inputs", inputs(old, new));
    review_values(pair, changes);
}

/// A command that no longer ends at its first failure is looser.
fn shell(old: Shell, new: Shell) -> Option<ReviewRule> {
    match (old, new) {
        (Shell::Strict, Shell::Bash) => Some(ReviewRule::Loosened),
        (Shell::Bash, Shell::Strict) => Some(ReviewRule::Stricter),
        (Shell::Bash, Shell::Bash) | (Shell::Strict, Shell::Strict) => None,
    }
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

/// What an input demands; its description demands nothing.
fn demand(input: &Input) -> Input {
    Input { description: String::new(), ..input.clone() }
}

fn inputs(old: &Unit, new: &Unit) -> Option<ReviewRule> {
    demands(
        &old.inputs.iter().map(demand).collect::<Vec<_>>(),
        &new.inputs.iter().map(demand).collect::<Vec<_>>(),
    )
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
pub(super) fn review_gates(pair: &Pair<'_>, old: &Step, new: &Step, changes: &mut Changes) {
    let stricter = if is_proof(pair, old, new) { ReviewRule::NoRule } else { ReviewRule::Stricter };
    let mut set = |name: &str, rule: Option<ReviewRule>| {
        if let Some(rule) = rule {
            changes.add(ChangedPart::Setting(name.to_owned()), Some(&old.id), rule);
        }
    };
    set("timeout", bound(old.timeout, new.timeout));
    set("shell", shell(old.shell, new.shell));
    set("retry", retry(old.retry.as_ref(), new.retry.as_ref()));
    set(
        "parse_json",
        match strictness(new.json).cmp(&strictness(old.json)) {
            std::cmp::Ordering::Less => Some(ReviewRule::Loosened),
            std::cmp::Ordering::Equal => None,
            std::cmp::Ordering::Greater => Some(stricter),
        },
    );
    set(
        "json_schema",
        match (&old.json_schema, &new.json_schema) {
            (None, None) => None,
            (None, Some(_)) => Some(stricter),
            (Some(_), None) => Some(ReviewRule::Loosened),
            (Some(old), Some(new)) => match json_schemas::review_schema(old, new) {
                Some(ReviewRule::Stricter) => Some(stricter),
                rule => rule,
            },
        },
    );
    set("when", (old.when != new.when).then_some(ReviewRule::FailurePolicyChanged));
    set(
        "continue_on_error",
        (old.continue_on_error != new.continue_on_error).then_some(ReviewRule::FailurePolicyChanged),
    );
    set("effects", effects(&old.effects, &new.effects));
    set("ensure", ensure(&old.ensure, &new.ensure));
    set("ensure_retries", bound(Some(old.ensure_retries), Some(new.ensure_retries)));
    set("exit_codes", (old.exit_codes != new.exit_codes).then_some(ReviewRule::NoRule));
    set(
        "idempotent",
        match (old.idempotent, new.idempotent) {
            (false, true) => Some(ReviewRule::Loosened),
            (true, false) => Some(ReviewRule::NoRule),
            _ => None,
        },
    );
    if let (StepKind::Agent(left), StepKind::Agent(right)) = (&old.kind, &new.kind) {
        set("idle_timeout", bound(left.idle_timeout, right.idle_timeout));
        set("json_retries", bound(Some(left.json_retries), Some(right.json_retries)));
        set("permissions", permissions(left.permissions, right.permissions));
    }
}

/// Declared effects stay declared.
fn effects(old: &[String], new: &[String]) -> Option<ReviewRule> {
    let is_undeclared = old.iter().any(|effect| !new.contains(effect));
    match old == new {
        true => None,
        false if is_undeclared => Some(ReviewRule::EffectLost),
        false => Some(ReviewRule::Stricter),
    }
}

/// An agent that may do more, or that is no longer refused, is looser. A step that says nothing may get its level from
/// the recipe or the command line, so leaving one out is looser too.
fn permissions(old: Option<Permissions>, new: Option<Permissions>) -> Option<ReviewRule> {
    let rank = |permissions: Permissions| match permissions.level {
        PermissionLevel::ReadOnly => 0,
        PermissionLevel::Edit => 1,
        PermissionLevel::Full => 2,
    };
    match (old, new) {
        _ if old == new => None,
        (Some(old), Some(new)) if rank(new) <= rank(old) && (new.required || !old.required) => {
            Some(ReviewRule::Stricter)
        }
        (None, Some(new)) if new.level != PermissionLevel::Full => Some(ReviewRule::Stricter),
        _ => Some(ReviewRule::Loosened),
    }
}

/// Whether an `ensure` rule reads the value of a step: another form or name of the value can make the rule pass.
fn is_proof(pair: &Pair<'_>, old: &Step, new: &Step) -> bool {
    let names = [&old.store, &new.store];
    let reads = |rule: &EnsureRule| {
        rule.reads().iter().any(|path| names.into_iter().flatten().any(|name| *name == path.root))
    };
    // a command sees the value in its environment
    let is_own = |rule: &EnsureRule| matches!(rule, EnsureRule::Command(_) | EnsureRule::Condition(_));
    let steps = pair.plan.units.iter().flat_map(|unit| &unit.steps);
    old.ensure.iter().any(is_own) || steps.into_iter().any(|step| step.ensure.iter().any(reads))
}

/// More iterations are looser, and so is a loop that no longer has to reach its condition.
fn repeat(old: &Step, new: &Step) -> Option<ReviewRule> {
    let (Some(old), Some(new)) = (old.repeat(), new.repeat()) else {
        return (old.repeat().is_some() != new.repeat().is_some()).then_some(ReviewRule::NoRule);
    };
    let until = |repeat: &Repeat| repeat.until.as_ref().map(|until| until.text().to_owned());
    if old.on_exhausted != new.on_exhausted {
        return Some(ReviewRule::FailurePolicyChanged);
    }
    let is_same = until(old) == until(new) && old.delay == new.delay;
    bound(Some(old.max), Some(new.max)).or((!is_same).then_some(ReviewRule::NoRule))
}

fn retry(old: Option<&Retry>, new: Option<&Retry>) -> Option<ReviewRule> {
    let attempts = |retry: Option<&Retry>| retry.map_or(1, |retry| retry.max_attempts);
    let on = |retry: Option<&Retry>| retry.map(|retry| retry.on.clone()).unwrap_or_default();
    let is_wider = old.is_some() && on(new).iter().any(|kind| !on(old).contains(kind));
    let is_same = old == new;
    match bound(Some(attempts(old)), Some(attempts(new))) {
        _ if is_wider => Some(ReviewRule::Loosened),
        None => (!is_same).then_some(ReviewRule::NoRule),
        bounded => bounded,
    }
}

/// A rule that is gone or different makes a step looser; a new one makes it stricter.
fn ensure(old: &[EnsureRule], new: &[EnsureRule]) -> Option<ReviewRule> {
    let written = |rules: &[EnsureRule]| -> Vec<(EnsureKind, String)> {
        rules.iter().map(|rule| (rule.kind(), rule.demand())).collect()
    };
    let (old, mut new) = (written(old), written(new));
    let more = new.len() > old.len();
    let is_kept = old.iter().all(|rule| {
        let at = new.iter().position(|known| known == rule);
        at.map(|at| new.remove(at)).is_some()
    });
    match (is_kept, more) {
        (false, _) => Some(ReviewRule::Loosened),
        (true, true) => Some(ReviewRule::Stricter),
        (true, false) => None,
    }
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
    let kept = needs(pair.new, new);
    let is_proof = |at: &usize| pair.roles[*at].verifies && !kept.contains(&pair.old.steps[*at].id);
    let loses_proof = role.effect && old.depends_on.iter().any(is_proof);
    let rule = if loses_proof { ReviewRule::EffectBeforeCheck } else { ReviewRule::NoRule };
    set("depends_on", is_moved.then_some(rule));
    let group = |step: &Step| step.group.as_ref().map(|group| group.name.clone());
    set("parallel_group", (group(old) != group(new)).then_some(ReviewRule::NoRule));
    let directory = |step: &Step| step.working_dir.as_ref().map(|dir| dir.text().to_owned());
    // the commands of `ensure` run in the same directory and environment
    let around = || if old.ensure.is_empty() { role.unlisted() } else { ReviewRule::NoRule };
    set("working_dir", (directory(old) != directory(new)).then(around));
    let variables = |step: &Step| -> Vec<(String, String)> {
        step.env.iter().map(|(name, value)| (name.clone(), value.text().to_owned())).collect()
    };
    set("env", (variables(old) != variables(new)).then(around));
    set("max_env_value_bytes", (old.max_env_value_bytes != new.max_env_value_bytes).then(around));
    let each = |step: &Step| step.each().map(|each| (each.list_digest.clone(), each.item.clone()));
    set("for_each", (each(old) != each(new)).then_some(ReviewRule::NoRule));
    set("repeat", repeat(old, new));
    let keeps_going = |step: &Step| step.each().map(|each| each.keep_going);
    set("keep_going", (keeps_going(old) != keeps_going(new)).then_some(ReviewRule::FailurePolicyChanged));
    let most = |step: &Step| step.each().map(|each| each.max_items);
    set("max_items", bound(most(old), most(new)));
    set("produces", (old.produces != new.produces).then(|| role.unlisted()));
    let undoes = |unit: &Unit, step: &Step| -> Option<Vec<String>> {
        Some(step.undoes.as_ref()?.iter().map(|at| unit.steps[*at].id.clone()).collect())
    };
    set("undoes", (undoes(pair.old, old) != undoes(pair.new, new)).then_some(ReviewRule::NoRule));
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
    if was_unknown && is_unread && !is_proof(pair, old, new) {
        ReviewRule::NameResolves
    } else {
        ReviewRule::NoRule
    }
}
