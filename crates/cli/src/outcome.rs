//! The result of a run, as people and programs read it.

use engine::{RunStatus, StepStatus};
use runtime::{
    report::{RunResult, StepResult},
    values,
};

use crate::{
    args::options::OutputFormat,
    exit::Exit,
    failure::clean,
    out::Out,
    progress::{first_line, icon},
};

/// How much of the last output a failure shows.
pub(crate) struct Snippet {
    /// Lines of each stream.
    pub(crate) lines: usize,
    /// Bytes of each stream.
    pub(crate) bytes: u64,
}

/// Most steps that a summary lists one by one.
const LISTED: usize = 60;

/// Shows the result and gives the exit code.
pub(crate) fn show(result: &RunResult, format: OutputFormat, snippet: &Snippet, out: &mut Out) -> Exit {
    match format {
        OutputFormat::Json => out.json(result),
        OutputFormat::Text => out.result(&clean(&summary(result))),
    }
    if let Some(text) = failure(result, snippet) {
        out.notice(&clean(&text));
    }
    Exit::from_code(result.exit_code)
}

/// Makes the command to resume work for runs that are stored in a place of their own.
pub(crate) fn name_state_dir(result: &mut RunResult, dir: Option<&std::path::Path>) {
    if let Some(command) = &mut result.resume_command {
        command.push_str(&state_dir_flag(dir));
    }
}

/// The flag that leads to runs in a place of their own, as a shell reads it.
pub(crate) fn state_dir_flag(dir: Option<&std::path::Path>) -> String {
    let Some(dir) = dir.map(|dir| dir.to_string_lossy()) else { return String::new() };
    let is_plain = dir.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+=:@%".contains(c));
    match is_plain {
        true => format!(" --state-dir {dir}"),
        false => format!(" --state-dir '{}'", dir.replace('\'', "'\\''")),
    }
}

/// The result in a few lines.
pub(crate) fn summary(result: &RunResult) -> String {
    let mut lines = Vec::new();
    if let Some(output) = result.output.as_ref().filter(|output| !output.is_empty()) {
        lines.push(output.clone());
    }
    let steps = &result.step_results;
    let all = steps.len() <= LISTED;
    for step in steps.iter().filter(|step| all || step.status != StepStatus::Completed).take(LISTED) {
        step_lines(step, 1, &mut lines);
    }
    let count = |status| steps.iter().filter(|step| step.status == status).count();
    let counts: Vec<String> = [
        StepStatus::Completed,
        StepStatus::Degraded,
        StepStatus::Failed,
        StepStatus::Skipped,
        StepStatus::Running,
        StepStatus::Pending,
    ]
    .into_iter()
    .filter(|status| count(*status) > 0)
    .map(|status| format!("{} {}", count(status), status.as_str()))
    .collect();
    let word = if result.dry_run { "dry run, nothing was executed" } else { result.status.as_str() };
    let run = result.run_id.as_ref().map(|run| format!(", run {run}")).unwrap_or_default();
    lines.push(format!(
        "recipe '{}': {word} in {:.1}s ({}{run})",
        result.recipe_name,
        result.duration,
        counts.join(", ")
    ));
    if let Some(usage) = &result.usage {
        let known = |value: Option<String>| value.unwrap_or_else(|| "unknown".to_owned());
        let model = usage.model.as_ref().map(|model| format!(", model {model}")).unwrap_or_default();
        lines.push(format!(
            "agents: {} runs, tokens {}, cost {}{model}",
            usage.runs,
            known(usage.tokens().map(|tokens| tokens.to_string())),
            known(usage.cost_usd.map(|cost| format!("${cost:.4}"))),
        ));
    }
    lines.join("\n")
}

fn step_lines(step: &StepResult, depth: usize, lines: &mut Vec<String>) {
    let note = match (step.status, &step.dry_run, &step.skip_reason) {
        (_, Some(preview), _) => format!(": dry run: {preview}"),
        (StepStatus::Skipped, _, Some(reason)) => format!(": {reason}"),
        (StepStatus::Failed | StepStatus::Degraded, ..) => {
            format!(": {}", first_line(step.error.as_deref().unwrap_or_default()))
        }
        (StepStatus::Completed, ..) if step.recovered => ": recovered by an agent".to_owned(),
        _ => String::new(),
    };
    let indent = "  ".repeat(depth);
    lines.push(format!("{indent}{} {} {}{note}", icon(step.status), step.step_id, step.status.as_str()));
    for nested in &step.steps {
        step_lines(nested, depth + 1, lines);
    }
}

/// What a person needs to know about a failure.
fn failure(result: &RunResult, snippet: &Snippet) -> Option<String> {
    let mut text = String::new();
    match (&result.failure, result.status) {
        (Some(failure), _) => {
            text.push_str(&format!("\nerror: step `{}`: {}\n", failure.step, first_line(&failure.error)));
            match find(&result.step_results, &failure.step) {
                Some(step) => text.push_str(&evidence(step, result, snippet)),
                None => text.push_str(&format!("{}\n", failure.error)),
            }
            let rest: Vec<&str> = failure.error.lines().skip(1).collect();
            if result.run_id.is_none() && !rest.is_empty() {
                text.push_str(&format!("{}\n", rest.join("\n")));
            }
        }
        (None, RunStatus::Interrupted | RunStatus::Cancelled) => {
            text.push_str(&format!("\n{}: what was done is kept\n", result.status.as_str()));
        }
        _ => return None,
    }
    if let Some(run) = &result.run_id {
        text.push_str(&format!("  logs:   recipe-runner-rs logs {run}\n"));
    }
    if let Some(command) = &result.resume_command {
        text.push_str(&format!("  resume: {command}\n"));
    }
    Some(text)
}

fn evidence(step: &StepResult, result: &RunResult, snippet: &Snippet) -> String {
    let mut text = String::new();
    let Some(dir) = &result.run_dir else { return text };
    for (name, output) in [("stdout", &step.stdout), ("stderr", &step.stderr)] {
        let Some(output) = output.as_ref().filter(|output| output.bytes > 0) else { continue };
        let path = std::path::Path::new(dir).join(&output.file);
        let tail = values::tail(&path, snippet.lines, snippet.bytes);
        text.push_str(&format!("  last of {name} ({} bytes in {}):\n", output.bytes, path.display()));
        for line in tail.lines() {
            text.push_str(&format!("    {line}\n"));
        }
    }
    text
}

/// The step with this path.
pub(crate) fn find<'a>(steps: &'a [StepResult], path: &str) -> Option<&'a StepResult> {
    steps.iter().find_map(|step| if step.path == path { Some(step) } else { find(&step.steps, path) })
}
