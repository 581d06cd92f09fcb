//! One run, with everything that a person may want to know of it.

use engine::RunStatus;
use jiff::Timestamp;
use runtime::{report::RunResult, runs::Shown};

use super::table::{ago, local, painted};
use crate::{
    failure::clean,
    out::Out,
    outcome::{Snippet, agents, failure, fixed, steps},
    words::{count, duration, shortened},
};

/// Writes a run to stdout.
pub(super) fn write(shown: &Shown, snippet: &Snippet, out: &mut Out) {
    let result = shown.result();
    // colours are added after what comes from outside was made harmless
    out.result(&format!("run {}: {}", result.run_id.as_deref().unwrap_or("?"), painted(result.status)));
    let mut lines = facts(shown, &result);
    lines.extend(fixed(&result).iter().map(|line| format!("  {line}")));
    lines.push("steps".to_owned());
    lines.extend(steps(&result));
    lines.extend(notes(&result));
    if let Some(text) = result.output.as_ref().filter(|text| !text.is_empty()) {
        lines.push("output".to_owned());
        lines.extend(text.lines().map(|line| format!("  {line}")));
    }
    out.result(&clean(&lines.join("\n")));
    match failure(&result, snippet) {
        Some(text) => out.result(&clean(&format!("\n{}", text.trim_end()))),
        None => out.result(&next(&result)),
    }
}

fn facts(shown: &Shown, result: &RunResult) -> Vec<String> {
    let header = &shown.header;
    let now = runtime::clock::now();
    let mut facts = vec![
        ("recipe", format!("{} ({})", result.recipe_name, shown.recipe.name())),
        ("started", when(result.started_at.unwrap_or(header.created_at), now)),
        ("took", format!("{}{}", duration(result.duration), so_far(result.status))),
        ("directory", header.working_dir.display().to_string()),
    ];
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

/// What people should know, as they were told while it ran.
fn notes(result: &RunResult) -> Vec<String> {
    let notes = result.evidence.iter().flat_map(|evidence| &evidence.notes);
    let lines: Vec<String> = notes
        .map(|note| {
            let step = note.step.as_ref().map(|step| format!("{step}: ")).unwrap_or_default();
            format!("  {step}{}", shortened(&note.message))
        })
        .collect();
    let heading = (!lines.is_empty()).then(|| "notes".to_owned());
    heading.into_iter().chain(lines).collect()
}

fn when(at: Timestamp, now: Timestamp) -> String {
    format!("{} ({})", local(at), ago(at, now))
}

fn so_far(status: RunStatus) -> &'static str {
    if status == RunStatus::Running { " so far" } else { "" }
}

/// What can be done with a run that did not fail.
fn next(result: &RunResult) -> String {
    let run = result.run_id.as_deref().unwrap_or("last");
    match result.status {
        RunStatus::Running => {
            let (watch, stop) = (format!("logs {run} -f"), format!("cancel {run}"));
            format!(
                "\n  watch:   {}\n  stop:    {}",
                result.reach.command(&watch),
                result.reach.command(&stop)
            )
        }
        _ => format!("\n  logs:    {}", result.reach.command(&format!("logs {run}"))),
    }
}
