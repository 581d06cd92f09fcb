//! The last output of a failed step: the lines that matter, in as many lines as there are.

use std::path::Path;

use runtime::{
    agents::transcript,
    report::{Failure, RunResult, StepResult},
    store::values,
};

use super::{FailedStep, FailureView, ReportLength, problem};
use crate::report::{
    live::{Keep, fit, printable},
    result::find,
    wrap::{UNLIMITED, cut_off, wrapped},
};

/// A stream that says this little leaves room for the other one.
const LITTLE: usize = 3;
/// The columns of a line of output, at most.
const LONGEST: usize = 1_000;

/// Lines about a failed step.
pub(super) struct Quote {
    /// Where they are from; may be empty.
    name: String,
    lines: Vec<String>,
    is_output: bool,
    /// Whether its first lines matter more than its last ones.
    is_list: bool,
}

/// Everything that can be quoted, the most important first.
pub(super) fn quotes(
    result: &RunResult,
    failed: &FailedStep<'_>,
    failure: Option<&Failure>,
    written: Option<&str>,
    view: &FailureView<'_>,
) -> Vec<Quote> {
    let mut quotes = Vec::new();
    if let Some(written) = written {
        let name = match failed.step.map(|step| step.kind) {
            Some("agent") => "prompt:",
            Some("ask") => "question:",
            _ => "command:",
        };
        quotes.push(Quote::new(name, written.trim_end().lines().map(str::to_owned).collect()));
    }
    if let Some(failure) = failure.filter(|failure| !failure.problems.is_empty()) {
        let list = failure.problems.iter().map(|lack| format!("- {}", problem(&lack.need, &lack.text)));
        let lines = list.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()).collect();
        quotes.push(Quote { is_list: true, ..Quote::new("", lines) });
        return quotes;
    }
    let mut said = failed.step.map(|step| output(step, result, view)).unwrap_or_default();
    for (path, _) in failure.iter().flat_map(|failure| &failure.cut_short) {
        let Some(step) = find(&result.step_results, path) else { continue };
        said.push(Quote::new("", vec![format!("{path} was still running")]));
        said.extend(output(step, result, view));
    }
    if said.is_empty() {
        // the other lines of the message are its details
        let rest: Vec<String> = failure
            .filter(|failure| failure.outcome != engine::run::outcome::OutcomeKind::Ensure)
            .map(|failure| failure.error.lines().skip(1).map(|line| line.trim().to_owned()).collect())
            .unwrap_or_default();
        said.extend((!rest.is_empty()).then(|| Quote::new("", rest)));
    }
    quotes.extend(said);
    quotes
}

impl Quote {
    fn new(name: &str, lines: Vec<String>) -> Quote {
        Quote { name: name.to_owned(), lines, is_output: false, is_list: false }
    }
}

/// The last line of a step that waits, which says for what.
pub(super) fn take_message(quotes: &mut Vec<Quote>) -> Option<String> {
    let at = quotes.iter().position(|quote| quote.is_output)?;
    let message = quotes[at].lines.pop();
    if quotes[at].lines.is_empty() {
        quotes.remove(at);
    }
    message
}

/// The end of what a step printed, errors first. An agent's output is shown as its transcript.
fn output(step: &StepResult, result: &RunResult, view: &FailureView<'_>) -> Vec<Quote> {
    let Some(dir) = &result.run_dir else { return Vec::new() };
    let is_agent = step.kind == "agent";
    let streams = [("stderr:", &step.stderr), (if is_agent { "agent:" } else { "stdout:" }, &step.stdout)];
    let quote = |(name, output): (&str, &Option<engine::run::event::OutputRef>)| {
        let output = output.as_ref().filter(|output| output.bytes > 0)?;
        let file = Path::new(dir).join(&output.file);
        let tail = match name {
            "agent:" => transcript::tail(&file, view.snippet.lines, &view.agents).join("\n"),
            _ => values::tail(&file, view.snippet.lines, view.snippet.bytes),
        };
        let tail = result.mask.quotation(&tail).into_owned();
        let lines: Vec<String> = tail
            .lines()
            .map(|line| printable(line.as_bytes(), Keep::Nothing).trim_end().to_owned())
            .filter(|line| !line.trim().is_empty())
            .collect();
        (!lines.is_empty()).then(|| Quote { name: name.to_owned(), lines, is_output: true, is_list: false })
    };
    streams.into_iter().filter_map(quote).collect()
}

/// The quotes in at most so many lines: the last lines of each.
pub(super) fn rows_of(quotes: &[Quote], width: usize, room: usize, length: ReportLength) -> Vec<String> {
    let mut rows = Vec::new();
    for quote in quotes {
        let left = room.saturating_sub(rows.len());
        if left == 0 || (length == ReportLength::Short && quote.is_output && rows.len() >= LITTLE) {
            break;
        }
        rows.extend(quote.rows(width, left));
    }
    rows
}

impl Quote {
    fn rows(&self, width: usize, room: usize) -> Vec<String> {
        let indent = if self.name.is_empty() { 4 } else { self.name.len() + 3 };
        let blank = " ".repeat(indent);
        let line =
            |line: &String| wrapped(&format!("{blank}{}", fitting(line, width, indent)), width, indent);
        let mut rows = match self.is_list {
            true => first_rows(self.lines.iter().map(line), self.lines.len(), room),
            false => last_rows(self.lines.iter().map(line), width, room),
        };
        if let Some(first) = rows.first_mut().filter(|_| !self.name.is_empty()) {
            *first = format!("  {} {}", self.name, &first[indent..]);
        }
        rows
    }
}

/// A line without words that are wider than the screen, and not too long.
fn fitting(line: &str, width: usize, indent: usize) -> String {
    if width == UNLIMITED {
        return fit(line, LONGEST).into_owned();
    }
    let room = width.saturating_sub(indent).max(1);
    let words: Vec<_> = line.split(' ').map(|word| fit(word, room)).collect();
    fit(&words.join(" "), 2 * room).into_owned()
}

/// The lines at the end that fit.
fn last_rows(lines: impl DoubleEndedIterator<Item = Vec<String>>, width: usize, room: usize) -> Vec<String> {
    let mut taken: Vec<Vec<String>> = Vec::new();
    let mut used = 0;
    for mut rows in lines.rev() {
        if used > 0 && used + rows.len() > room {
            break;
        }
        if rows.len() > room {
            rows.truncate(room);
            rows.iter_mut().last().into_iter().for_each(|row| *row = cut_off(row, width));
        }
        used += rows.len();
        taken.push(rows);
    }
    taken.into_iter().rev().flatten().collect()
}

/// The lines at the beginning that fit, and how many there are more.
fn first_rows(lines: impl Iterator<Item = Vec<String>>, all: usize, room: usize) -> Vec<String> {
    let mut shown = Vec::new();
    for (at, rows) in lines.enumerate() {
        let mark = usize::from(at + 1 < all);
        if at > 0 && shown.len() + rows.len() + mark > room {
            shown.push(format!("    … and {} more", all - at));
            break;
        }
        shown.extend(rows);
    }
    shown
}
