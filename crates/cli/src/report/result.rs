//! The result of a run, for users and programs.

use engine::EndReason;
use runtime::report::{RunResult, StepResult};

use crate::{
    args::options::OutputFormat,
    exit::Exit,
    host::StoredRuns,
    out::Out,
    report::{
        failure::clean,
        failure_block::{FailureView, failure},
        github::Workflow,
        hints::option,
        json::ResultJson,
        repairs::fixed,
        step_list::{INSTANCES, rehearsed, steps, word},
        task,
        usage::agents,
        words::{counts, duration},
        wrap::wrapped,
    },
};

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

/// Where the lines about a run go that are not its result text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SummaryPlace {
    /// After the result text.
    Stdout,
    /// To stderr: stdout is for the result text alone.
    Stderr,
    /// They are left out.
    Nowhere,
}

impl SummaryPlace {
    /// Where they go when a run has just ended.
    pub(crate) fn after(result: &RunResult, quiet: bool) -> SummaryPlace {
        match (result.result_only && !result.dry_run, quiet) {
            (false, _) => SummaryPlace::Stdout,
            (true, false) => SummaryPlace::Stderr,
            (true, true) => SummaryPlace::Nowhere,
        }
    }
}

/// How a result is shown.
pub(crate) struct ResultView<'a> {
    /// For people or for programs.
    pub(crate) format: OutputFormat,
    /// How much of it.
    pub(crate) detail: Detail,
    /// Where the summary goes.
    pub(crate) summary: SummaryPlace,
    /// The width of a line on stdout.
    pub(crate) width: usize,
    /// The part about a failure.
    pub(crate) failure: FailureView<'a>,
}

/// Shows the result and returns the exit code.
pub(crate) fn show(result: &RunResult, view: &ResultView<'_>, out: &mut Out) -> Exit {
    match view.format {
        OutputFormat::Json => out.json(&ResultJson(result, view.failure.hints)),
        OutputFormat::Text => match task::of(result) {
            Some(task) => {
                task::show(task, result, view.failure.hints, view.summary == SummaryPlace::Nowhere, out);
            }
            None => show_text(result, view, out),
        },
    }
    // the block of a task says why it failed, but not what kept it from starting
    let is_told = task::of(result).is_some() && result.reason != Some(EndReason::Blocked);
    if let Some(text) = failure(result, &view.failure).filter(|_| !is_told) {
        out.notice(&format!("\n{text}"));
    }
    result.reason.map_or(Exit::Success, Exit::of)
}

fn show_text(result: &RunResult, view: &ResultView<'_>, out: &mut Out) {
    if !result.output.is_empty() {
        out.result_as_is(&clean(&result.output));
    }
    match view.summary {
        SummaryPlace::Stdout => {
            out.result(&clean(&closing_lines(result, view.detail, view.width).join("\n")));
        }
        SummaryPlace::Stderr => {
            out.notice(&clean(&closing_lines(result, Detail::Brief, view.failure.width).join("\n")));
        }
        SummaryPlace::Nowhere => {}
    }
}

/// Tells the workflow around this program about a result.
pub(crate) fn tell_workflow(
    workflow: &Workflow,
    result: &RunResult,
    runs: &StoredRuns,
    view: &FailureView<'_>,
    out: &mut Out,
) {
    let run = result.run_id.as_ref().filter(|_| result.failure.is_some());
    let opened = run.and_then(|run| runs.open(runs.find(run).ok()?).ok());
    workflow.annotations(result, opened.as_ref()).iter().for_each(|line| out.notice(line));
    workflow.add_summary(result, failure(result, view).as_deref(), out);
}

/// The result in a few lines, without its text.
fn closing_lines(result: &RunResult, detail: Detail, width: usize) -> Vec<String> {
    let mut lines = match result.dry_run {
        true => [super::inputs::block(&result.inputs), rehearsed(result, detail)].concat(),
        false if detail == Detail::Brief => Vec::new(),
        false => steps(result, INSTANCES),
    };
    let counts = counts(result.step_results.iter().map(|step| word(step)));
    let word = match (result.dry_run, result.success) {
        (true, true) => "dry run, nothing was executed",
        (true, false) => "dry run failed, nothing was executed",
        (false, _) => result.status.as_str(),
    };
    let run = result.run_id.as_ref().map(|run| format!(", run {run}")).unwrap_or_default();
    let link = if result.success { "in" } else { "after" };
    let took = duration(result.duration);
    let took = if result.dry_run { String::new() } else { format!(" {link} {took}") };
    let end = format!("recipe '{}': {word}{took} ({counts}{run})", result.recipe_name);
    lines.extend(wrapped(&end, width, 2));
    lines.extend(result.usage.as_ref().map(|usage| format!("agents: {}", agents(usage))));
    lines.extend(fixed(result));
    lines
}

/// The command that continues a run without repeating the work of agents, if a plain resume would repeat it.
pub(crate) fn keeping(runs: &StoredRuns, result: &RunResult) -> Option<(String, String)> {
    let (Some(run), Some(resume), Some(failure)) = (&result.run_id, &result.resume, &result.failure) else {
        return None;
    };
    let again = runs.agents_done_again(run, None);
    // a loop that runs again from its beginning asks its agents again
    let is_kept = !again.is_empty() && runs.agents_done_again(run, Some(&failure.step)).is_empty();
    let command = format!("{} {}", runs.hints.next(resume), option("--from", &failure.step));
    is_kept.then(|| (command, format!("a plain resume re-runs: {}", again.join(", "))))
}

/// The step with this path.
pub(crate) fn find<'a>(steps: &'a [StepResult], path: &str) -> Option<&'a StepResult> {
    steps.iter().find_map(|step| if step.path == path { Some(step) } else { find(&step.steps, path) })
}
