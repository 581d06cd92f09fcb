//! The result as JUnit XML: one suite for each test file.
//!
//! Every name and text becomes valid XML, whatever bytes it has.

use super::{
    load::LoadedTests,
    outcome::{CaseFailure, CaseOutcome, CaseStatus},
    report::{Counts, place_text},
};

/// The document.
pub(super) fn junit(files: &[LoadedTests], outcomes: &[CaseOutcome]) -> String {
    let seconds =
        |outcomes: &[&CaseOutcome]| -> f64 { outcomes.iter().map(|one| one.duration.as_secs_f64()).sum() };
    let all: Vec<&CaseOutcome> = outcomes.iter().collect();
    let counts = Counts::of(&all);
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    text.push_str(&format!("<testsuites{} time=\"{:.3}\">\n", totals(&counts), seconds(&all)));
    for (at, file) in files.iter().enumerate() {
        let cases: Vec<&CaseOutcome> = outcomes.iter().filter(|one| one.file == at).collect();
        if cases.is_empty() {
            continue;
        }
        let name = escape(&file.shown);
        let totals = totals(&Counts::of(&cases));
        text.push_str(&format!("  <testsuite name=\"{name}\"{totals} time=\"{:.3}\">\n", seconds(&cases)));
        cases.iter().for_each(|one| text.push_str(&case(file, one)));
        text.push_str("  </testsuite>\n");
    }
    text.push_str("</testsuites>\n");
    text
}

fn totals(counts: &Counts) -> String {
    format!(
        " tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"",
        counts.all(),
        counts.failed + counts.flaky,
        counts.errors,
        counts.skipped
    )
}

fn case(file: &LoadedTests, outcome: &CaseOutcome) -> String {
    let case = &file.file.cases[outcome.case];
    let start = format!(
        "    <testcase name=\"{}\" classname=\"{}\" time=\"{:.3}\"",
        escape(&case.name),
        escape(&file.shown),
        outcome.duration.as_secs_f64()
    );
    let inside = match outcome.status {
        CaseStatus::Passed => return format!("{start}/>\n"),
        CaseStatus::Skipped => {
            format!("      <skipped message=\"{}\"/>\n", escape(case.skip.as_deref().unwrap_or_default()))
        }
        CaseStatus::Failed => failures(file, outcome, "failure", "failed"),
        CaseStatus::Flaky => failures(file, outcome, "failure", "flaky"),
        CaseStatus::Error => failures(file, outcome, "error", "error"),
    };
    format!("{start}>\n{inside}    </testcase>\n")
}

/// One element for the case, so that its number equals that of the summary.
fn failures(file: &LoadedTests, outcome: &CaseOutcome, element: &str, kind: &str) -> String {
    let title = |failure: &CaseFailure| match failure {
        CaseFailure::Unmet(unmet) => {
            format!("{}: expected {}, actual {}", unmet.what, unmet.expected, unmet.actual)
        }
        CaseFailure::Wrong { message, .. } => message.clone(),
    };
    let first = outcome.failures.first().map(&title).unwrap_or_default();
    let line = |failure: &CaseFailure| match failure.place() {
        Some(place) => format!("{} ({})", title(failure), place_text(&file.sources, place)),
        None => title(failure),
    };
    let lines: Vec<String> = outcome.failures.iter().map(line).collect();
    let (first, lines) = (escape(first.lines().next().unwrap_or_default()), escape(&lines.join("\n")));
    format!("      <{element} message=\"{first}\" type=\"{kind}\">{lines}</{element}>\n")
}

/// Text as XML can hold it: characters that XML forbids are replaced.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            '\n' => escaped.push_str("&#10;"),
            '\t' => escaped.push_str("&#9;"),
            '\r' => escaped.push_str("&#13;"),
            '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn a14_no_character_breaks_the_document() {
        assert_eq!(escape("a<b>&\"'\u{1}\u{ffff}\n"), "a&lt;b&gt;&amp;&quot;&apos;\u{fffd}\u{fffd}&#10;");
    }
}
