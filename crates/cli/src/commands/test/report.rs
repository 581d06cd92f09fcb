//! What people and programs read about cases: a line as each ends, then failures, coverage and a summary.

use anstyle::{AnsiColor, Style};
use recipe::source::{Place, Sources};
use runtime::os::shell_word::quote;
use serde_json::{Value as Json, json};

use super::{
    coverage::CoverageReport,
    load::LoadedTests,
    outcome::{CaseFailure, CaseOutcome, CaseStatus},
};
use crate::report::{failure::clean, hints::plain};

const GREEN: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Green)));
const RED: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::BrightRed))).bold();
const YELLOW: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Yellow)));
const DIM: Style = Style::new().dimmed();
/// The longest value that is shown whole.
const LONGEST: usize = 2_000;

/// How many cases ended how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) passed: usize,
    pub(super) failed: usize,
    pub(super) errors: usize,
    pub(super) skipped: usize,
    pub(super) flaky: usize,
}

impl Counts {
    pub(super) fn of(outcomes: &[&CaseOutcome]) -> Counts {
        let mut counts = Counts::default();
        for outcome in outcomes {
            let count = match outcome.status {
                CaseStatus::Passed => &mut counts.passed,
                CaseStatus::Failed => &mut counts.failed,
                CaseStatus::Error => &mut counts.errors,
                CaseStatus::Skipped => &mut counts.skipped,
                CaseStatus::Flaky => &mut counts.flaky,
            };
            *count += 1;
        }
        counts
    }

    pub(super) fn all(&self) -> usize {
        self.passed + self.failed + self.errors + self.skipped + self.flaky
    }
}

/// The line of a case.
pub(super) fn line(file: &LoadedTests, outcome: &CaseOutcome) -> String {
    let style = match outcome.status {
        CaseStatus::Passed => GREEN,
        CaseStatus::Skipped => YELLOW,
        CaseStatus::Failed | CaseStatus::Error | CaseStatus::Flaky => RED,
    };
    let case = &file.file.cases[outcome.case];
    let reason = match &case.skip {
        Some(reason) if outcome.status == CaseStatus::Skipped => format!(" ({})", one_line(reason)),
        _ => String::new(),
    };
    let mark = outcome.status.mark();
    let seconds = outcome.duration.as_secs_f64();
    format!(
        "{style}{mark}{style:#} [{seconds:>7.3}s] {}: {}{reason}",
        clean(&file.shown),
        one_line(&case.name)
    )
}

/// A text in one line, without control characters.
pub(super) fn one_line(text: &str) -> String {
    clean(&text.replace(['\n', '\t'], " "))
}

/// Where a failure is: `release.test.yaml:14:30`.
pub(super) fn place_text(sources: &Sources, place: Place) -> String {
    let at = sources.line_column(place);
    format!("{}:{}:{}", sources.file(place.file).path, at.line, at.column)
}

/// The options that a repeated command needs to find the same recipes.
pub(super) struct Repeat<'a> {
    pub(super) recipe_dirs: &'a [std::path::PathBuf],
    pub(super) times: usize,
}

impl Repeat<'_> {
    /// The command that runs a case again.
    pub(super) fn command(&self, file: &LoadedTests, outcome: &CaseOutcome) -> String {
        let case = &file.file.cases[outcome.case];
        let name = match case.name.starts_with('-') {
            true => format!("--case={}", quote(&case.name)),
            false => format!("--case {}", quote(&case.name)),
        };
        let dirs: String =
            self.recipe_dirs.iter().map(|dir| format!(" -R {}", quote(&dir.to_string_lossy()))).collect();
        let times = match outcome.status {
            CaseStatus::Flaky => format!(" --repeat {}", self.times),
            _ => String::new(),
        };
        plain(&format!("test {} {name}{times}{dirs}", quote(&file.shown)))
    }
}

/// A failed case: each failure with its place, and the command that repeats it.
pub(super) fn failure(file: &LoadedTests, outcome: &CaseOutcome, repeat: &Repeat<'_>) -> String {
    let name = &file.file.cases[outcome.case].name;
    let mark = outcome.status.mark();
    let mut text = format!("\n{RED}{mark}{RED:#} {}: {}\n", clean(&file.shown), one_line(name));
    for failure in &outcome.failures {
        match failure {
            CaseFailure::Unmet(unmet) => {
                text.push_str(&format!("  {}\n", one_line(&unmet.what)));
                text.push_str(&format!("    expected: {}\n", indented(&unmet.expected, 14)));
                text.push_str(&format!("    actual:   {}\n", indented(&unmet.actual, 14)));
            }
            CaseFailure::Wrong { message, .. } => text.push_str(&format!("  {}\n", indented(message, 2))),
        }
        if let Some(place) = failure.place() {
            text.push_str(&format!("    {DIM}at {}{DIM:#}\n", clean(&place_text(&file.sources, place))));
        }
    }
    text.push_str(&format!("  repeat: {}\n", clean(&repeat.command(file, outcome))));
    if let Some(kept) = &outcome.kept {
        text.push_str(&format!("  kept:   {}\n", kept.display()));
    }
    text
}

/// A text whose further lines are below its first one, cut if it is very long.
fn indented(text: &str, margin: usize) -> String {
    let text = match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], text.len()),
        None => text.to_owned(),
    };
    clean(&text).trim_end().replace('\n', &format!("\n{}", " ".repeat(margin)))
}

/// The last line: how many cases ended how.
pub(super) fn summary(counts: &Counts, seconds: f64) -> String {
    let parts = [
        (counts.passed, "passed", GREEN),
        (counts.failed, "failed", RED),
        (counts.errors, "with errors", RED),
        (counts.flaky, "flaky", RED),
        (counts.skipped, "skipped", YELLOW),
    ];
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|(count, word, _)| *count > 0 || *word == "passed")
        .map(|(count, word, style)| format!("{style}{count} {word}{style:#}"))
        .collect();
    let plural = if counts.all() == 1 { "" } else { "s" };
    format!("\n{} case{plural}: {} in {seconds:.3} s", counts.all(), parts.join(", "))
}

/// The table of the coverage, with the branches that are missing.
pub(super) fn coverage(report: &CoverageReport) -> String {
    let width = report.recipes.iter().map(|recipe| recipe.file.chars().count()).max().unwrap_or(0).max(6);
    let mut text = format!("\nCoverage  {:>5.1} %\n", report.percent);
    for recipe in &report.recipes {
        let percent = super::coverage::percent(&[recipe]);
        let (covered, total) = (recipe.covered, recipe.total);
        text.push_str(&format!("  {:<width$}  {percent:>5.1} %  {covered}/{total}\n", clean(&recipe.file)));
        for missing in &recipe.missing {
            text.push_str(&format!(
                "    {YELLOW}missing{YELLOW:#} {} (line {})\n",
                clean(&missing.name),
                missing.line
            ));
        }
        for allowed in &recipe.allowed {
            text.push_str(&format!("    allowed {} ({})\n", clean(&allowed.name), one_line(&allowed.reason)));
        }
    }
    text.trim_end().to_owned()
}

/// A case as JSON.
pub(super) fn case_json(file: &LoadedTests, outcome: &CaseOutcome, repeat: &Repeat<'_>) -> Json {
    let case = &file.file.cases[outcome.case];
    let failures: Vec<Json> = outcome.failures.iter().map(|failure| failure_json(file, failure)).collect();
    let mut json = json!({
        "file": file.shown,
        "name": case.name,
        "status": outcome.status.as_str(),
        "duration": (outcome.duration.as_secs_f64() * 1e6).round() / 1e6,
        "failures": failures,
    });
    if outcome.status == CaseStatus::Skipped {
        json["reason"] = json!(case.skip);
    }
    if outcome.status.is_bad() {
        json["repeat"] = json!(repeat.command(file, outcome));
    }
    if let Some(kept) = &outcome.kept {
        json["kept"] = json!(kept.to_string_lossy());
    }
    json
}

fn failure_json(file: &LoadedTests, failure: &CaseFailure) -> Json {
    let at = failure.place().map(|place| file.sources.line_column(place));
    let mut json = match failure {
        CaseFailure::Unmet(unmet) => {
            json!({ "what": unmet.what, "expected": unmet.expected, "actual": unmet.actual })
        }
        CaseFailure::Wrong { message, .. } => json!({ "what": "case", "message": message }),
    };
    json["file"] = json!(file.shown);
    json["line"] = json!(at.map(|at| at.line));
    json["column"] = json!(at.map(|at| at.column));
    json
}
