//! The result of a run, for users and programs.

use engine::{
    RunStatus, StepStatus,
    failure::{Class, Confidence, Signal},
    repair_review::ReviewVerdict,
    run::{event::Usage, next::Next},
};
use runtime::{
    machine::preflight,
    report::{Failure, RunResult, StepResult},
    store::values,
};

use crate::{
    args::options::OutputFormat,
    exit::Exit,
    host::StoredRuns,
    out::Out,
    report::{
        failure::clean,
        hints::{Hints, option},
        json::ResultJson,
        words::{count, counts, duration, first_line, icon, kind_of_failure},
    },
};

/// How much of the last output a failure shows.
pub(crate) struct Snippet {
    /// Lines of each stream.
    pub(crate) lines: usize,
    /// Bytes of each stream.
    pub(crate) bytes: u64,
}

/// The most steps that a summary lists one by one.
const LISTED: usize = 60;
/// A recipe with more steps than this is shown with one line per step.
pub(crate) const LONG: usize = 40;
/// The most lines of a command that a failure shows.
const WRITTEN: usize = 6;

/// How much a result shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Every step in full.
    Full,
    /// One line per step, if there are many.
    Lines,
    /// No steps.
    Brief,
}

/// How a result is shown.
pub(crate) struct ResultView<'a> {
    /// For people or for programs.
    pub(crate) format: OutputFormat,
    /// How much of it.
    pub(crate) detail: Detail,
    /// How much of the last output.
    pub(crate) snippet: Snippet,
    /// The commands that reach the run.
    pub(crate) hints: &'a Hints,
}

/// Shows the result and returns the exit code.
pub(crate) fn show(result: &RunResult, look: &ResultView<'_>, out: &mut Out) -> Exit {
    match look.format {
        OutputFormat::Json => out.json(&ResultJson(result, look.hints)),
        OutputFormat::Text => out.result(&clean(&summary(result, look.detail))),
    }
    if let Some(text) = failure(result, &look.snippet, look.hints) {
        out.notice(&clean(&format!("\n{text}")));
    }
    result.reason.map_or(Exit::Success, Exit::of)
}

/// The result in a few lines.
fn summary(result: &RunResult, detail: Detail) -> String {
    let mut lines = Vec::new();
    if !result.output.is_empty() {
        lines.push(result.output.clone());
    }
    lines.extend(match result.dry_run {
        true => rehearsed(result, detail),
        false if detail == Detail::Brief => Vec::new(),
        false => steps(result),
    });
    let counts = counts(result.step_results.iter().map(|step| word(step)));
    let word = match (result.dry_run, result.success) {
        (true, true) => "dry run, nothing was executed",
        (true, false) => "dry run failed, nothing was executed",
        (false, _) => result.status.as_str(),
    };
    let run = result.run_id.as_ref().map(|run| format!(", run {run}")).unwrap_or_default();
    let link = if result.success || result.dry_run { "in" } else { "after" };
    let took = duration(result.duration);
    lines.push(format!("recipe '{}': {word} {link} {took} ({counts}{run})", result.recipe_name));
    lines.extend(result.usage.as_ref().map(|usage| format!("agents: {}", agents(usage))));
    lines.extend(fixed(result));
    lines.join("\n")
}

/// What auto-fix did to complete a run, and the files that it rewrote.
pub(crate) fn fixed(result: &RunResult) -> Vec<String> {
    let Some(fix) = &result.auto_fix else { return Vec::new() };
    let mut lines = Vec::new();
    if result.success && fix.attempts.len() > 1 {
        lines.push(format!("auto-fix: completed after {}", count(fix.attempts.len(), "attempt")));
        lines.extend(fix.failed_attempts().iter().map(|tried| format!("  {tried}")));
    }
    for repair in fix.repairs() {
        if let (Some(file), Some(original)) = (&repair.file, &repair.original) {
            lines.push(format!("auto-fix rewrote `{file}`: {}", repair.summary));
            lines.push(format!("  as it was before: {original}"));
            lines.extend(repair.changes.iter().map(|change| format!("  accepted: {}", change.describe())));
        }
    }
    lines
}

/// Usage of the agents; values that were not reported are shown as unknown.
pub(crate) fn agents(usage: &Usage) -> String {
    let calls = count(usage.runs as usize, "call");
    if usage.tokens().is_none() && usage.cost_usd.is_none() {
        return format!("{calls} (usage not reported)");
    }
    let model = usage.model.as_ref().map(|model| format!("model {model}"));
    let tokens = usage.tokens().map(|tokens| format!("tokens {tokens}"));
    let cost = format!("cost {}", cost(usage.cost_usd, usage.runs_without_cost));
    [Some(calls), model, tokens, Some(cost)].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The same in few words: values that were not reported are left out.
pub(crate) fn known_usage(usage: &Usage) -> String {
    let runs = Some(format!("agents: {}", count(usage.runs as usize, "call")));
    let tokens = usage.tokens().map(|tokens| format!("{tokens} tokens"));
    let cost = usage.cost_usd.map(|_| cost(usage.cost_usd, usage.runs_without_cost));
    [runs, usage.model.clone(), tokens, cost].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Shows how to continue without repeating the work of agents, if a plain resume would repeat it.
pub(crate) fn offer_to_keep(runs: &StoredRuns, result: &RunResult, out: &mut Out) {
    let (Some(run), Some(resume), Some(failure)) = (&result.run_id, &result.resume, &result.failure) else {
        return;
    };
    let again = runs.agents_done_again(run);
    if !again.is_empty() {
        let (agents, step) = (again.join(", "), &failure.step);
        let command = runs.hints.next(resume);
        out.notice(&clean(&format!(
            "  keep the agent's work: {command} {}   # a plain resume re-runs: {agents}",
            option("--from", step)
        )));
    }
}

/// The cost in dollars, and how many calls did not report theirs.
pub(crate) fn cost(known: Option<f64>, silent: u64) -> String {
    match (known, silent) {
        (None, _) => "unknown".to_owned(),
        (Some(cost), 0) => format!("${cost:.4}"),
        (Some(cost), silent) => {
            format!("at least ${cost:.4} (not reported for {})", count(silent as usize, "call"))
        }
    }
}

/// One line per step, or only the notable ones if there are very many.
pub(crate) fn steps(result: &RunResult) -> Vec<String> {
    let steps = &result.step_results;
    let all = steps.len() <= LISTED;
    let mut lines = Vec::new();
    let worth: Vec<&StepResult> =
        steps.iter().filter(|step| all || step.status != StepStatus::Completed).take(LISTED).collect();
    worth.iter().for_each(|step| step_lines(step, 1, &mut lines));
    if worth.len() < steps.len() {
        lines.push(format!("  … and {} more", steps.len() - worth.len()));
    }
    lines
}

/// What every step would do. In a long recipe each step has one line, unless all details are requested.
fn rehearsed(result: &RunResult, detail: Detail) -> Vec<String> {
    let mut lines = Vec::new();
    result.step_results.iter().for_each(|step| step_lines(step, 1, &mut lines));
    if lines.len() > LONG && detail != Detail::Full {
        let steps: Vec<StepResult> = result.step_results.iter().map(in_one_line).collect();
        lines.clear();
        steps.iter().for_each(|step| step_lines(step, 1, &mut lines));
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

/// The word for a step's status: no step is running when the run is over.
fn word(step: &StepResult) -> &'static str {
    if step.interrupted { "interrupted" } else { step.status.as_str() }
}

fn step_lines(step: &StepResult, depth: usize, lines: &mut Vec<String>) {
    let indent = "  ".repeat(depth);
    let (icon, id, status) = (icon(step.status), &step.step_id, word(step));
    let icon = if status == "interrupted" { '■' } else { icon };
    let text = format!("{indent}{icon} {id} {status}{}", note(step));
    // lines of a step are indented below it
    lines.push(text.trim_end().replace('\n', &format!("\n{indent}    ")));
    for nested in &step.steps {
        step_lines(nested, depth + 1, lines);
    }
}

fn note(step: &StepResult) -> String {
    let took = duration(step.duration);
    let error = || first_line(&step.error);
    match (step.status, &step.skip_reason) {
        (StepStatus::Skipped, Some(reason)) => format!(": {reason}"),
        (StepStatus::Failed | StepStatus::Degraded, _) => {
            format!(" after {took}{}: {}", attempts(step), error())
        }
        (StepStatus::Completed, _) if step.recovered => format!(" in {took}: recovered by an agent"),
        (StepStatus::Completed, _) => format!(" in {took}{}", attempts(step)),
        (StepStatus::Running | StepStatus::Pending, _) if step.attempts > 0 => {
            format!(" after {took}{}", attempts(step))
        }
        _ => String::new(),
    }
}

fn attempts(step: &StepResult) -> String {
    if step.attempts > 1 { format!(", {} attempts", step.attempts) } else { String::new() }
}

/// The report about a failure.
pub(crate) fn failure(result: &RunResult, snippet: &Snippet, hints: &Hints) -> Option<String> {
    let mut text = String::new();
    match (&result.failure, result.status) {
        (Some(failure), _) => {
            text.push_str(&format!("error: step `{}`: {}\n", failure.step, first_line(&failure.error)));
            text.push_str(&evidence(failure, result, snippet));
            text.push_str(&diagnosis(result, hints));
        }
        (None, RunStatus::Interrupted | RunStatus::Cancelled) => {
            text.push_str(&format!("{}. Completed steps are saved\n", result.status.as_str()));
        }
        (None, RunStatus::Waiting) => {
            text.push_str("waiting: choose how to continue\n");
        }
        _ => return None,
    }
    if let Some(run) = &result.run_id {
        let failed =
            result.failure.as_ref().filter(|failure| find(&result.step_results, &failure.step).is_some());
        let step = failed.filter(|failure| failure.step != preflight::STEP);
        let logs = Next::Logs { run: run.clone(), step: step.map(|failure| failure.step.clone()) };
        text.push_str(&format!("  logs:    {}\n", hints.next(&logs)));
    }
    for (at, choice) in result.choices.iter().enumerate() {
        let choice = hints.advice(choice);
        text.push_str(&format!("  {:<8} {choice}\n", if at == 0 { "choose:" } else { "" }));
    }
    if let Some(resume) = result.resume.as_ref().filter(|_| result.choices.is_empty()) {
        text.push_str(&format!("  resume:  {}\n", hints.next(resume)));
    }
    Some(text)
}

/// The diagnosis of the failure, with the evidence, and what auto-fix did about it.
fn diagnosis(result: &RunResult, hints: &Hints) -> String {
    let mut text = String::new();
    if let Some(found) = &result.diagnosis {
        text.push_str(&format!("  likely cause: {}\n", cause(found.class, found.confidence)));
        text.push_str(&signals(&found.signals));
        for other in &found.beside {
            let cause = cause(other.class, other.confidence);
            text.push_str(&format!("  failed too: step `{}`: {cause}\n", other.step));
            text.push_str(&signals(&other.signals));
        }
        // a run with an id has its commands below
        let shown = if result.run_id.is_some() { 1 } else { result.advice.len() };
        for (at, advice) in result.advice.iter().take(shown).enumerate() {
            let advice = hints.advice(advice);
            text.push_str(&format!("  {:<8} {advice}\n", if at == 0 { "next:" } else { "" }));
        }
    }
    let Some(fix) = &result.auto_fix else { return text };
    if let Some(reason) = &fix.reason {
        text.push_str(&format!("  auto-fix: {reason}\n"));
    }
    if let Some(escalation) = &fix.escalation {
        text.push_str(&format!("  auto-fix gave up: {}. Over to you\n", escalation.reason));
        for tried in &escalation.attempted {
            text.push_str(&format!("    {tried}\n"));
        }
        for repair in fix.attempts.iter().filter_map(|attempt| attempt.repair.as_ref()) {
            for change in repair.changes.iter().filter(|change| change.verdict == ReviewVerdict::Ask) {
                text.push_str(&format!("    to decide: {}\n", change.describe()));
            }
            for found in &repair.regressions {
                let step = found.step.as_ref().map(|step| format!(" `{step}`")).unwrap_or_default();
                text.push_str(&format!("    refused: {}{step}: {}\n", found.code, found.detail));
            }
        }
        for option in &escalation.options {
            text.push_str(&format!("    $ {}\n", hints.next(option)));
        }
    }
    text
}

/// A kind of failure in words, with its name and how sure that is.
fn cause(class: Class, confidence: Confidence) -> String {
    if class == Class::Unknown {
        return class.as_str().to_owned();
    }
    let sure = format!("{confidence:?}").to_lowercase();
    format!("{} ({}, {sure} confidence)", kind_of_failure(class), class.as_str())
}

/// The strongest evidence.
fn signals(signals: &[Signal]) -> String {
    let shown = signals.iter().take(3).filter(|signal| !signal.quote.is_empty());
    shown
        .map(|signal| format!("    {}: {} ({})\n", signal.what, first_line(&signal.quote), signal.at))
        .collect()
}

/// The step, and its output.
fn evidence(failure: &Failure, result: &RunResult, snippet: &Snippet) -> String {
    let step = find(&result.step_results, &failure.step);
    let text = written(step, failure.written.as_deref());
    let outputs = step.map(|step| said(step, result, snippet)).unwrap_or_default();
    let below: String = failure.cut_short.iter().map(|below| cut_short(below, result, snippet)).collect();
    if outputs.is_empty() && below.is_empty() {
        let rest: Vec<&str> = failure.error.lines().skip(1).collect();
        return text + &indented(&rest.join("\n"));
    }
    text + &outputs + &below
}

/// A step that was stopped by the timeout of the recipe step around it, and its output.
fn cut_short((path, text): &(String, Option<String>), result: &RunResult, snippet: &Snippet) -> String {
    let Some(step) = find(&result.step_results, path) else { return String::new() };
    let error = first_line(&step.error);
    let head = format!("  step `{path}`: {error}\n");
    head + &written(Some(step), text.as_deref()) + &said(step, result, snippet)
}

/// The command or the prompt of a step.
fn written(step: Option<&StepResult>, text: Option<&str>) -> String {
    let Some(text) = text else { return String::new() };
    let what = if step.is_some_and(|step| step.kind == "agent") { "prompt" } else { "command" };
    format!("  {what}:\n{}", indented(&abridged(text.trim_end())))
}

fn said(step: &StepResult, result: &RunResult, snippet: &Snippet) -> String {
    let mut text = String::new();
    let Some(dir) = &result.run_dir else { return text };
    for (name, output) in [("stdout", &step.stdout), ("stderr", &step.stderr)] {
        let Some(output) = output.as_ref().filter(|output| output.bytes > 0) else { continue };
        let path = std::path::Path::new(dir).join(&output.file);
        let tail = values::tail(&path, snippet.lines, snippet.bytes);
        let size = output.bytes;
        let part = if (tail.len() as u64) + 1 < size { "last of " } else { "" };
        text.push_str(&format!("  {part}{name} ({size} bytes in {}):\n", path.display()));
        text.push_str(&indented(&result.mask.quotation(&tail)));
    }
    text
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}

/// The first lines of a long text.
fn abridged(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    if lines.len() <= WRITTEN {
        return lines.join("\n");
    }
    format!("{}\n… ({} more lines)", lines[..WRITTEN - 1].join("\n"), lines.len() + 1 - WRITTEN)
}

/// The step with this path.
pub(crate) fn find<'a>(steps: &'a [StepResult], path: &str) -> Option<&'a StepResult> {
    steps.iter().find_map(|step| if step.path == path { Some(step) } else { find(&step.steps, path) })
}
