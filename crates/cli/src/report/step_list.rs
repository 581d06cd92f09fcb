//! The steps of a result, one line each. Long lists are folded.

use engine::{StepStatus, run::step_path::split_instance};
use runtime::report::{RunResult, StepResult};

use super::{
    result::Detail,
    usage::spent,
    words::{counts, duration, first_line, icon, last_icon},
};

/// The most steps that are listed one by one.
const LISTED: usize = 60;
/// The most instances of one step that a summary lists one by one.
pub(super) const INSTANCES: usize = 12;
/// How many notable instances it names if there are more.
const NAMED: usize = 8;
/// A recipe with more steps than this is shown with one line per step.
pub(crate) const LONG: usize = 40;
/// One line per step, or only the notable ones if there are very many.
pub(crate) fn all_steps(result: &RunResult) -> Vec<String> {
    steps(result, LISTED)
}

/// The same, with at most this many instances of each step.
pub(super) fn steps(result: &RunResult, instances: usize) -> Vec<String> {
    let steps = &result.step_results;
    let all = steps.len() <= LISTED;
    let mut lines = Vec::new();
    let worth: Vec<&StepResult> =
        steps.iter().filter(|step| all || step.status != StepStatus::Completed).take(LISTED).collect();
    worth.iter().for_each(|step| step_lines(step, 1, instances, &mut lines));
    if worth.len() < steps.len() {
        lines.push(format!("  … and {} more", steps.len() - worth.len()));
    }
    lines
}

/// What every step would do. In a long recipe each step has one line, unless all details are requested.
pub(super) fn rehearsed(result: &RunResult, detail: Detail) -> Vec<String> {
    let mut lines = Vec::new();
    result.step_results.iter().for_each(|step| step_lines(step, 1, LISTED, &mut lines));
    if lines.len() > LONG && detail != Detail::Full {
        let steps: Vec<StepResult> = result.step_results.iter().map(in_one_line).collect();
        lines.clear();
        steps.iter().for_each(|step| step_lines(step, 1, LISTED, &mut lines));
        lines.push("  (one line a step; `--verbose` shows commands and prompts in full)".to_owned());
    }
    lines
}

/// The same step with the first line of its command or prompt. The notes about it stay.
fn in_one_line(step: &StepResult) -> StepResult {
    let mut step = step.clone();
    if let Some(preview) = &step.preview
        && let Some(text) = preview.rendered.as_deref().filter(|text| text.trim().contains('\n'))
    {
        let short = format!("{} …", text.trim().lines().next().unwrap_or_default());
        step.skip_reason = Some(preview.skip_reason(Some(&short)));
    }
    step.steps = step.steps.iter().map(in_one_line).collect();
    step
}

/// The icon for a step's status.
pub(super) fn icon_of(step: &StepResult) -> char {
    if step.interrupted { last_icon(StepStatus::Running) } else { icon(step.status) }
}

/// The word for a step's status: no step is running when the run is over.
pub(super) fn word(step: &StepResult) -> &'static str {
    if step.interrupted { "interrupted" } else { step.status.as_str() }
}

fn step_lines(step: &StepResult, depth: usize, instances: usize, lines: &mut Vec<String>) {
    let indent = "  ".repeat(depth);
    let (icon, id, status) = (icon_of(step), &step.step_id, word(step));
    let role = if step.cleanup { " (cleanup)" } else { "" };
    let used = step.usage.as_ref().and_then(spent).map(|used| format!(" [{used}]")).unwrap_or_default();
    let text = format!("{indent}{icon} {id}{role} {status}{}{used}", note(step));
    // lines of a step are indented below it
    lines.push(text.trim_end().replace('\n', &format!("\n{indent}    ")));
    let is_loop = step.steps.iter().all(|inner| split_instance(&inner.path).is_some());
    match is_loop && step.steps.len() > instances {
        true => lines.extend(folded(step, depth + 1)),
        false => step.steps.iter().for_each(|inner| step_lines(inner, depth + 1, instances, lines)),
    }
}

/// The notable ones of many instances, each in one line, and how many more there are.
fn folded(step: &StepResult, depth: usize) -> Vec<String> {
    let indent = "  ".repeat(depth);
    let is_notable =
        |inner: &&StepResult| !matches!(inner.status, StepStatus::Completed | StepStatus::Pending);
    let (notable, others): (Vec<&StepResult>, Vec<&StepResult>) = step.steps.iter().partition(is_notable);
    let (shown, hidden) = notable.split_at(notable.len().min(NAMED));
    let mut lines = Vec::new();
    for inner in shown {
        let inner = StepResult { steps: Vec::new(), ..(*inner).clone() };
        step_lines(&inner, depth, 0, &mut lines);
    }
    let more = counts(hidden.iter().chain(&others).map(|inner| word(inner)));
    let rest = hidden.len() + others.len();
    match (shown.len(), rest) {
        (_, 0) => {}
        (0, _) => lines.push(format!("{indent}{rest} instances: {more}")),
        _ => lines.push(format!("{indent}… and {rest} more: {more}")),
    }
    lines
}

fn note(step: &StepResult) -> String {
    let took = duration(step.duration);
    match (step.status, &step.skip_reason) {
        (StepStatus::Skipped, Some(reason)) => format!(": {reason}"),
        (StepStatus::Failed | StepStatus::Degraded, _) => {
            format!(" after {took}{}{}", attempts(step), first_line(&step.failed_how))
        }
        (StepStatus::Completed, _) if step.recovered => format!(" in {took}: recovered by an agent"),
        (StepStatus::Completed, _) => format!(" in {took}{}", attempts(step)),
        (StepStatus::Waiting, _) => " for a person".to_owned(),
        (StepStatus::Running | StepStatus::Pending, _) if step.attempts > 0 => {
            format!(" after {took}{}", attempts(step))
        }
        _ => String::new(),
    }
}

fn attempts(step: &StepResult) -> String {
    // a question that is put again is no other try
    let is_question = step.kind == "ask";
    if step.attempts > 1 && !is_question { format!(", {} attempts", step.attempts) } else { String::new() }
}
