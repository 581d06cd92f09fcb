//! `show`: one run with all details for users.

use engine::RunStatus;
use jiff::Timestamp;
use runtime::{
    orchestration::task_report,
    report::{RunResult, StepResult, evidence::Process},
    runs::OpenedRun,
};

use super::{
    run::snippet,
    stored_runs::{find_or_last, runs_at, unreadable},
};
use crate::{
    args::{options::OutputFormat, stored::ShowArgs},
    environment::Environment,
    exit::Exit,
    report::{
        failure::Failure,
        table::{ago, local, origin_words, painted},
    },
};
use crate::{
    out::Out,
    report::{
        failure::clean,
        failure_block::{FailureView, ReportLength, failure},
        hints::Hints,
        json::ResultJson,
        repairs::fixed,
        step_list::all_steps,
        task::block,
        usage::agents,
        words::{count, duration, shortened},
        wrap::UNLIMITED,
    },
};

/// Shows one run.
pub(crate) fn show(args: &ShowArgs, environment: &Environment, out: &mut Out) -> Result<Exit, Failure> {
    let format = args.format.output_format;
    let (shown, hints) = runs_at(args.state.state_dir.as_deref(), environment)
        .and_then(|runs| {
            let folder = find_or_last(&runs, args.run.as_deref(), out)?;
            let shown = runs.open(folder.clone()).map_err(|error| unreadable(&error, &folder))?;
            Ok((shown, runs.hints))
        })
        .map_err(|failure| failure.announce(format, out))?;
    out.hide(&shown.mask);
    let mut result = if args.evidence { shown.result_with_processes() } else { shown.result() };
    shown.add_prompts(&mut result);
    result.task = task_report(&shown).map(Box::new);
    match format {
        OutputFormat::Json => out.json(&ResultJson(&result, &hints)),
        OutputFormat::Text => {
            let view = FailureView {
                width: environment.wrap_width(environment.stdout_is_terminal).unwrap_or(UNLIMITED),
                length: ReportLength::Short,
                snippet: snippet(environment),
                hints: &hints,
                agents: environment.machine.described_agents(&shown.header.working_dir),
                keep: None,
            };
            write(&shown, &result, &view, out);
        }
    }
    Ok(Exit::Success)
}

/// Writes a run to stdout.
fn write(shown: &OpenedRun, result: &RunResult, view: &FailureView<'_>, out: &mut Out) {
    let hints = view.hints;
    // colours are added after control characters of foreign text were removed
    out.result(&format!("run {}: {}", result.run_id.as_deref().unwrap_or("?"), painted(result.status)));
    let mut lines = facts(shown, result);
    lines.extend(fixed(result).iter().map(|line| format!("  {line}")));
    if let Some(task) = &result.task {
        lines.push("task".to_owned());
        lines.extend(block(task, result, hints).lines().map(|line| format!("  {line}")));
    }
    lines.push("steps".to_owned());
    lines.extend(all_steps(result));
    lines.extend(notes(result, hints));
    lines.extend(processes(result));
    if result.evidence.as_ref().is_some_and(|evidence| evidence.spawned.is_some()) {
        lines.extend(prompts(&result.step_results));
    }
    if !result.output.is_empty() {
        lines.push("output".to_owned());
        lines.extend(result.output.lines().map(|line| format!("  {line}")));
    }
    out.result(&clean(&lines.join("\n")));
    match failure(result, view) {
        Some(text) => out.result(&format!("\n{}", text.trim_end())),
        None => out.result(&next(result, hints)),
    }
}

fn facts(shown: &OpenedRun, result: &RunResult) -> Vec<String> {
    let header = &shown.header;
    let now = runtime::os::clock::now();
    let mut facts = vec![
        ("recipe", format!("{} ({})", result.recipe_name, shown.recipe.name())),
        ("started", when(result.started_at.unwrap_or(header.created_at), now)),
        ("took", format!("{}{}", duration(result.duration), so_far(result.status))),
        ("directory", header.working_dir.display().to_string()),
    ];
    if let Some(origin) = &result.origin {
        facts.push(("requested", origin_words(origin)));
    }
    if let Some(origin) = &result.cancelled_by {
        facts.push(("cancelled", origin_words(origin)));
    }
    if result.resumes > 0 {
        facts.push(("resumed", count(result.resumes as usize, "time")));
    }
    if let Some(usage) = &result.usage {
        facts.push(("agents", agents(usage)));
    }
    if !result.ended_processes.is_empty() {
        facts.push(("ended", result.ended_processes.join(", ")));
    }
    if !result.left_processes.is_empty() {
        facts.push(("alive", result.left_processes.join(", ")));
    }
    facts.extend(result.run_dir.clone().map(|dir| ("files", dir)));
    facts.into_iter().map(|(name, text)| format!("  {name:<10} {text}")).collect()
}

/// The notes, as they were shown during the run.
fn notes(result: &RunResult, hints: &Hints) -> Vec<String> {
    let notes = result.evidence.iter().flat_map(|evidence| &evidence.notes);
    let lines: Vec<String> = notes
        .map(|note| {
            let step = note.step.as_ref().map(|step| format!("{step}: ")).unwrap_or_default();
            format!("  {step}{}", shortened(&hints.note(&note.message, note.next.as_ref())))
        })
        .collect();
    let heading = (!lines.is_empty()).then(|| "notes".to_owned());
    heading.into_iter().chain(lines).collect()
}

/// Every started process, if requested.
fn processes(result: &RunResult) -> Vec<String> {
    let Some(spawned) = result.evidence.as_ref().and_then(|evidence| evidence.spawned.as_ref()) else {
        return Vec::new();
    };
    let line = |process: &Process| {
        let purpose = process.purpose.as_ref().map(|purpose| format!(", {purpose}")).unwrap_or_default();
        let names = match &process.env_names {
            Some(names) => names.join(" "),
            None => "not listed here; the journal has them".to_owned(),
        };
        vec![
            format!("  {} (attempt {}{purpose}, process {})", process.step, process.attempt, process.pid),
            format!("    runs in {}: {}", process.cwd, process.argv.join(" ").replace('\n', "⏎")),
            format!("    environment names: {names}"),
        ]
    };
    std::iter::once("processes".to_owned()).chain(spawned.iter().flat_map(line)).collect()
}

/// The last prompt of every agent step, as it was sent.
fn prompts(steps: &[StepResult]) -> Vec<String> {
    let own = |step: &StepResult| -> Vec<String> {
        let lines = step.prompt.iter().flat_map(|prompt| prompt.lines()).map(|line| format!("  {line}"));
        let heading = step.prompt.as_ref().map(|_| format!("prompt of {}", step.path));
        heading.into_iter().chain(lines).chain(prompts(&step.steps)).collect()
    };
    steps.iter().flat_map(own).collect()
}

fn when(at: Timestamp, now: Timestamp) -> String {
    format!("{} ({})", local(at), ago(at, now))
}

fn so_far(status: RunStatus) -> &'static str {
    if status == RunStatus::Running { " so far" } else { "" }
}

/// The possible next commands for a run that did not fail.
fn next(result: &RunResult, hints: &Hints) -> String {
    let run = result.run_id.as_deref().unwrap_or("last");
    match result.status {
        RunStatus::Running => {
            let (watch, stop) = (format!("logs {run} -f"), format!("cancel {run}"));
            format!("\n  watch:   {}\n  stop:    {}", hints.command(&watch), hints.command(&stop))
        }
        _ => format!("\n  logs:    {}", hints.command(&format!("logs {run}"))),
    }
}
