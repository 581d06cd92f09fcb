//! Agents: limits, verdicts, and what their prompts tell them to do.

use recipe::{
    plan::{JsonMode, Step, StepKind},
    scope::Path,
    syntax::PermissionLevel,
    value::Segment,
};

use super::{
    LintCode, Report,
    clauses::PromptClause,
    view::{StepView, UnitView},
};

/// Looks at the agents of a recipe.
pub(super) fn look(view: &UnitView<'_>, report: &mut Report<'_>) {
    for step in &view.steps {
        if step.agent().is_some() {
            unbounded(step, report);
            effects(view, step, report);
        }
        verdicts(view, step.step, report);
    }
}

fn unbounded(step: &StepView<'_>, report: &mut Report<'_>) {
    if step.step.timeout.is_none() {
        let message = format!("the agent of `{}` has no time limit", step.step.id);
        let help = "add `timeout: 30m`, or `default_step_timeout` to the recipe";
        report.at_step(LintCode::UnboundedAgent, step.step, message, help);
    }
}

/// A prompt that tells an agent to change something outside.
fn effects(view: &UnitView<'_>, step: &StepView<'_>, report: &mut Report<'_>) {
    let known = &view.words().effects.agent_effects;
    let is_limited =
        step.agent().is_some_and(|agent| view.permission(agent, None) == Some(PermissionLevel::ReadOnly));
    if is_limited {
        return;
    }
    let told = step.clauses.iter().filter(|clause| !clause.is_negated).find_map(|clause| {
        known.iter().find(|(_, phrases)| tells(clause, phrases)).map(|(name, _)| (name, clause))
    });
    if let Some((name, clause)) = told {
        let text = crate::run::text::shorten(clause.text.trim_end_matches(['.', '!', ' ']), 60);
        let message = format!(
            "the prompt of `{}` tells an agent to change something outside ({name}): \"{text}\"",
            step.step.id
        );
        let help = "forbid it in the prompt, and do it in a bash step with `effects` after the checks";
        report.at_field(LintCode::AgentDoesEffect, (step.step, "prompt"), message, help);
    }
}

/// Whether a clause begins with one of these phrases. A single word counts only alone: "Push notifications" are things.
fn tells(clause: &PromptClause, phrases: &[String]) -> bool {
    let (words, longer): (Vec<String>, Vec<String>) =
        phrases.iter().cloned().partition(|phrase| !phrase.contains(' '));
    clause.starts_with(&longer) || (clause.words.len() == 1 && clause.starts_with(&words))
}

/// Conditions on JSON of an agent that the agent may not have given.
fn verdicts(view: &UnitView<'_>, step: &Step, report: &mut Report<'_>) {
    let until = step.repeat().and_then(|repeat| repeat.until.as_ref());
    for (condition, field) in [(step.condition.as_ref(), "condition"), (until, "repeat")] {
        let paths = condition.into_iter().flat_map(|condition| condition.names());
        let writer = paths.into_iter().find_map(|(path, _)| Some((unsure_writer(view, step, &path)?, path)));
        if let Some((writer, path)) = writer {
            let message = format!(
                "`{path}` may be missing: nothing makes the agent of `{}` answer with JSON",
                writer.id
            );
            let help = format!("add `parse_json_required: true` or a `json_schema` to `{}`", writer.id);
            report.at_field(LintCode::UncheckedVerdict, (step, field), message, help);
        }
    }
}

/// The agent step whose JSON a path reads, if nothing makes sure that there is any.
fn unsure_writer<'a>(view: &UnitView<'a>, reader: &Step, path: &Path) -> Option<&'a Step> {
    let mut writers = view.unit.steps.iter().filter(|step| step.store.as_deref() == Some(&path.root));
    let writer = writers.next().filter(|_| writers.next().is_none())?;
    let is_agent =
        matches!(writer.kind, StepKind::Agent(_)) && (writer.id != reader.id || writer.repeat().is_some());
    let is_sure = writer.json == JsonMode::Required || writer.json_schema.is_some();
    let is_length = path.segments == [Segment::Key("length".to_owned())];
    (is_agent && !path.segments.is_empty() && !is_length && !is_sure).then_some(&**writer)
}
