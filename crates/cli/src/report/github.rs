//! GitHub Actions: groups and annotations as workflow commands, and the summary of a run in Markdown.
//!
//! Returns texts; never decides where they are written, except for the summary, which has its own file.

use std::path::{Path, PathBuf};

use anstream::adapter::strip_str;
use recipe::{
    diagnostic::{Diagnostic, Severity},
    source::{Place, Sources},
};
use runtime::{
    os::files,
    report::{RunResult, StepResult},
    runs::OpenedRun,
};

use super::{
    failure::clean,
    failure_block::{FailedStep, failed_steps},
    step_list::{icon_of, word},
    words::{duration, first_line},
};
use crate::{environment::Environment, out::Out};

/// The end of a group.
pub(crate) const END_GROUP: &str = "::endgroup::";
/// The most annotations: GitHub shows ten of each kind.
const MOST: usize = 10;
/// The most steps of a summary.
const LISTED: usize = 200;

/// The workflow around this program.
pub(crate) struct Workflow {
    /// The directory from which files are named.
    workspace: Option<PathBuf>,
    /// The file for summaries.
    summary: Option<PathBuf>,
}

impl Workflow {
    /// The workflow, if there is one.
    pub(crate) fn around(environment: &Environment) -> Option<Workflow> {
        let path = |name: &str| environment.get(name).map(PathBuf::from);
        (environment.get("GITHUB_ACTIONS") == Some("true"))
            .then(|| Workflow { workspace: path("GITHUB_WORKSPACE"), summary: path("GITHUB_STEP_SUMMARY") })
    }

    /// An annotation for each failed step, at its place in its recipe.
    pub(crate) fn annotations(&self, result: &RunResult, run: Option<&OpenedRun>) -> Vec<String> {
        let failed = failed_steps(result);
        let annotation = |failed: &FailedStep<'_>| {
            let message = match failed.step {
                Some(_) => format!("failed at {}: {}", failed.path, failed.how),
                None => result.failure.as_ref().map(|failure| failure.error.clone()).unwrap_or_default(),
            };
            let place = run.and_then(|run| {
                let (frame, at) = run.state.locate(failed.path)?;
                Some(self.place(run.state.frames[frame].unit.steps[at].place, &run.plan.sources))
            });
            command("error", &place.unwrap_or_default(), &message)
        };
        failed.iter().take(MOST).map(annotation).collect()
    }

    /// An annotation for each problem of a recipe.
    pub(crate) fn problems(&self, diagnostics: &[Diagnostic], sources: &Sources) -> Vec<String> {
        let annotation = |problem: &Diagnostic| {
            let kind = if problem.severity == Severity::Error { "error" } else { "warning" };
            let place = problem.place.map(|place| self.place(place, sources)).unwrap_or_default();
            command(kind, &place, &problem.message)
        };
        diagnostics.iter().take(MOST).map(annotation).collect()
    }

    /// The properties of a place.
    fn place(&self, place: Place, sources: &Sources) -> Vec<(&'static str, String)> {
        let file = sources.file(place.file);
        let line = sources.line_column(place).line;
        let path = Path::new(&file.path);
        let inside = self.workspace.as_ref().and_then(|workspace| path.strip_prefix(workspace).ok());
        vec![("file", inside.unwrap_or(path).display().to_string()), ("line", line.to_string())]
    }

    /// Adds the summary of a run to that of the job.
    pub(crate) fn add_summary(&self, result: &RunResult, failure: Option<&str>, out: &mut Out) {
        let Some(file) = self.summary.as_ref().filter(|_| !result.dry_run) else { return };
        let text = result.mask.text(&summary(result, failure)).into_owned();
        if let Err(error) = files::append(file, text.as_bytes()) {
            out.notice(&format!("warning: the summary cannot be written to `{}`: {error}", file.display()));
        }
    }
}

/// The start of a group.
pub(crate) fn group(title: &str) -> String {
    format!("::group::{}", escaped(&clean(title)))
}

/// A workflow command with its properties.
fn command(name: &str, properties: &[(&str, String)], message: &str) -> String {
    let property = |(key, value): &(&str, String)| {
        format!("{key}={}", escaped(value).replace(':', "%3A").replace(',', "%2C"))
    };
    let properties: Vec<String> = properties.iter().map(property).collect();
    let blank = if properties.is_empty() { "" } else { " " };
    format!("::{name}{blank}{}::{}", properties.join(","), escaped(message))
}

/// Text in a workflow command, which is one line.
fn escaped(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The result of a run in Markdown.
fn summary(result: &RunResult, failure: Option<&str>) -> String {
    let (icon, link) = if result.success { ('✓', "in") } else { ('✗', "after") };
    let status = result.status.as_str();
    let took = duration(result.duration);
    let mut text = format!("### {icon} {}: {status} {link} {took}\n\n", cell(&result.recipe_name));
    let mut rows = Vec::new();
    result.step_results.iter().for_each(|step| add_rows(step, &mut rows));
    if !rows.is_empty() {
        text.push_str("| step | status | took |\n| --- | --- | --- |\n");
        text.extend(rows.iter().take(LISTED).map(|row| format!("{row}\n")));
        if rows.len() > LISTED {
            text.push_str(&format!("\n… and {} more steps\n", rows.len() - LISTED));
        }
        text.push('\n');
    }
    if let Some(failure) = failure {
        text.push_str(&fenced(strip_str(failure).to_string().trim()));
    }
    if let Some(run) = &result.run_id {
        text.push_str(&format!("Run `{run}`\n"));
    }
    text.push('\n');
    text
}

fn add_rows(step: &StepResult, rows: &mut Vec<String>) {
    let (icon, status) = (icon_of(step), word(step));
    let how = cell(first_line(&step.failed_how));
    let took = if step.attempts > 0 { duration(step.duration) } else { String::new() };
    rows.push(format!("| {} | {icon} {status}{how} | {took} |", cell(&step.path)));
    step.steps.iter().for_each(|inner| add_rows(inner, rows));
}

/// Text in a cell of a table.
fn cell(text: &str) -> String {
    let mut cell = String::with_capacity(text.len());
    for c in clean(text).chars() {
        match c {
            '\n' => cell.push(' '),
            '<' => cell.push_str("&lt;"),
            '&' => cell.push_str("&amp;"),
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' => cell.extend(['\\', c]),
            c => cell.push(c),
        }
    }
    cell
}

/// Text as a block that is shown as it is.
fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}text\n{text}\n{fence}\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_escaped() {
        let place = [("file", "a,b:c%.yaml".to_owned()), ("line", "3".to_owned())];
        assert_eq!(
            command("error", &place, "50% of: a\nb\r"),
            "::error file=a%2Cb%3Ac%25.yaml,line=3::50%25 of: a%0Ab%0D"
        );
        assert_eq!(command("error", &[], "x"), "::error::x");
        assert_eq!(group("a\nb"), "::group::a%0Ab");
    }

    #[test]
    fn markdown_shows_text_as_it_is() {
        assert_eq!(cell("a|b\n<b>`x`"), "a\\|b &lt;b>\\`x\\`");
        assert_eq!(fenced("a\n```\nb"), "````text\na\n```\nb\n````\n\n");
        assert_eq!(fenced("a"), "```text\na\n```\n\n");
    }
}
