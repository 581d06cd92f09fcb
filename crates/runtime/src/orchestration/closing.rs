//! What a task came to, for people and reports: its own text, and what the closing block needs.

use engine::orchestration::{
    CheckResult, ClosingFacts, Orchestration, TaskType, WorkEvidence, closing_block,
};
use serde_json::Value as Json;

use super::{
    caller::{step_in, value_in},
    conclude::orchestration,
    rounds::rounds,
    route::Routed,
};
use crate::{report::TaskReport, runs::OpenedRun};

/// What the task of a run came to, for reports; absent for other runs. Secrets are masked.
pub fn task_report(opened: &OpenedRun) -> Option<TaskReport> {
    let told = orchestration(opened)?;
    let text = own_text(opened, &told).map(|text| opened.mask.text(&text).into_owned());
    let mut json = serde_json::to_value(&told).unwrap_or_default();
    mask(&mut json, opened);
    let told = serde_json::from_value(json).unwrap_or(told);
    let closing = closing_facts(opened, &told);
    Some(TaskReport { told, text, closing })
}

fn mask(json: &mut Json, opened: &OpenedRun) {
    match json {
        Json::String(text) => *text = opened.mask.text(text).into_owned(),
        Json::Array(items) => items.iter_mut().for_each(|item| mask(item, opened)),
        Json::Object(members) => members.values_mut().for_each(|member| mask(member, opened)),
        _ => {}
    }
}

/// The text that is the result: an answer, findings, the report of an operation, or the closing block.
pub(super) fn result_text(opened: &OpenedRun, told: &Orchestration) -> String {
    own_text(opened, told).unwrap_or_else(|| closing_block(told, &closing_facts(opened, told)))
}

/// An answer, findings, or the report of an operation.
fn own_text(opened: &OpenedRun, told: &Orchestration) -> Option<String> {
    let text = match told.task_type {
        _ if is_plan(opened) => plan_text(opened),
        Some(TaskType::Question) => answer(opened),
        Some(TaskType::Investigation) => best_report(opened, told),
        Some(TaskType::Operations) => operation(opened),
        _ => None,
    };
    text.filter(|text| !text.trim().is_empty())
}

/// What the closing block needs besides the object.
fn closing_facts(opened: &OpenedRun, told: &Orchestration) -> ClosingFacts {
    let work = told.rounds.last().map(|round| &round.evidence);
    ClosingFacts {
        agent_calls: opened.usage().runs,
        cost_usd: opened.usage().cost_usd,
        checks: work.map(checks).unwrap_or_default().into_iter().chain(reviews(opened)).collect(),
        checkout_unchanged: !told.ending.notes.iter().any(|note| note.starts_with(MOVED)),
        resume_command: None,
    }
}

/// The beginning of the note that the caller's checkout moved.
const MOVED: &str = "your checkout";

fn checks(work: &WorkEvidence) -> Vec<String> {
    let check = |check: &CheckResult| {
        let took = check.seconds.map(|seconds| format!(" in {seconds:.0} s")).unwrap_or_default();
        match (check.passed, check.preexisting) {
            (true, _) => format!("`{}` passed{took}", check.command),
            (false, true) => format!("`{}` fails, as it does on the base commit", check.command),
            (false, false) => format!("`{}` fails", check.command),
        }
    };
    work.checks.iter().map(check).collect()
}

/// What reviewers said at the end, a sentence for each workstream that was reviewed.
fn reviews(opened: &OpenedRun) -> Vec<String> {
    let all = rounds(&opened.state);
    let Some(round) = all.last() else { return Vec::new() };
    let by = opened.state.root().context.get("review_agent").map(|name| name.render().trim().to_owned());
    let by = by.filter(|name| !name.is_empty()).map(|name| format!(" by {name}")).unwrap_or_default();
    let ends = round.executed().into_iter().filter_map(|executed| executed.ended(round.state)?.approved);
    let word = |approved: bool| if approved { "approved" } else { "changes requested" };
    ends.map(|approved| format!("review{by}: {}", word(approved))).collect()
}

/// Whether the run only plans.
pub(super) fn is_plan(opened: &OpenedRun) -> bool {
    let plan = opened.state.root().context.get("plan_only").map(|value| value.render().into_owned());
    plan.as_deref() == Some("true")
}

/// The plan of a task that is not carried out.
fn plan_text(opened: &OpenedRun) -> Option<String> {
    let routed: Option<Routed> = value_in(opened.state.root(), "route");
    routed.map(|routed| routed.text)
}

fn answer(opened: &OpenedRun) -> Option<String> {
    let step = step_in(opened.state.root(), "answer").filter(|step| step.attempt > 0)?;
    step.value.as_ref().map(|value| value.render().into_owned())
}

/// The findings of the best round.
fn best_report(opened: &OpenedRun, told: &Orchestration) -> Option<String> {
    let all = rounds(&opened.state);
    let best = told.best_round.as_ref().map(|best| best.round);
    let reports = all.iter().flat_map(|round| {
        let number = round.number;
        round.executed().into_iter().filter_map(move |executed| {
            let report = executed.ended(round.state)?.report;
            (!report.is_empty()).then_some((number, report))
        })
    });
    let reports: Vec<(u32, String)> = reports.collect();
    let chosen = best.or_else(|| reports.last().map(|(number, _)| *number));
    let texts: Vec<String> =
        reports.into_iter().filter(|(number, _)| Some(*number) == chosen).map(|(_, text)| text).collect();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}

fn operation(opened: &OpenedRun) -> Option<String> {
    let all = rounds(&opened.state);
    let executed = all.last()?.executed();
    executed.last()?.step.value.as_ref().map(|value| value.render().into_owned())
}
