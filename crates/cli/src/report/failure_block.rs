//! A run that did not complete, in few lines: what failed, its last output, the likely cause, the next command, and
//! where everything is. Names that are for programs stay in the JSON result.

mod quotes;

use anstyle::{AnsiColor, Style};
use engine::{
    RunStatus,
    failure::{Class, Confidence, Diagnosis, Signal},
    run::{cause::Need, next::Next, outcome::OutcomeKind},
};
use runtime::{
    agents::CustomProgram,
    machine::preflight,
    report::{Failure, RunResult, StepResult},
};

use self::quotes::{Quote, quotes, rows_of, take_message};
use crate::report::{
    failure::clean,
    hints::Hints,
    live::fit,
    questions,
    repairs::auto_fix,
    result::find,
    words::{capitalized, count, duration, first_line, kind_of_failure, names},
    wrap::{UNLIMITED, cut_off, wrapped, wrapped_command},
};

/// The most lines of a short report, with the empty one before it.
const MOST: usize = 12;
/// The most lines of a heading.
const HEADING: usize = 4;
/// The most lines of the likely cause.
const CAUSE: usize = 2;
/// The most pieces of advice, and the most failed cleanup steps.
const LISTED: usize = 3;

/// How much of the last output a failure shows.
pub(crate) struct Snippet {
    /// Lines of each stream.
    pub(crate) lines: usize,
    /// Bytes of each stream.
    pub(crate) bytes: u64,
}

/// How much a report says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReportLength {
    /// What fits on a small screen.
    Short,
    /// The command, more output and the evidence too.
    Full,
}

/// How a failure is shown.
pub(crate) struct FailureView<'a> {
    /// The width of a line in columns.
    pub(crate) width: usize,
    pub(crate) length: ReportLength,
    /// How much of the last output.
    pub(crate) snippet: Snippet,
    /// The commands that reach the run.
    pub(crate) hints: &'a Hints,
    /// Agent programs that a configuration describes.
    pub(crate) agents: Vec<CustomProgram>,
    /// A command that continues the run without repeating the work of agents, and why.
    pub(crate) keep: Option<(String, String)>,
}

/// A failed step of a run.
pub(crate) struct FailedStep<'a> {
    pub(crate) path: &'a str,
    /// How it failed, in few words.
    pub(crate) how: String,
    /// Its result; absent if nothing was started.
    pub(crate) step: Option<&'a StepResult>,
    is_waiting: bool,
}

/// The innermost failed steps of a run, the first cause first.
pub(crate) fn failed_steps(result: &RunResult) -> Vec<FailedStep<'_>> {
    let Some(failure) = &result.failure else { return Vec::new() };
    let first = FailedStep {
        path: &failure.step,
        how: failure.how.clone(),
        step: find(&result.step_results, &failure.step).filter(|step| step.path != preflight::STEP),
        is_waiting: failure.outcome == OutcomeKind::NeedsHuman,
    };
    let beside = result.diagnosis.iter().flat_map(|found| &found.beside);
    let others = beside.filter_map(|other| {
        let step = find(&result.step_results, &other.step)?;
        let how = step.failed_how.trim_start_matches(": ").to_owned();
        let is_waiting = step.outcome == Some(OutcomeKind::NeedsHuman);
        Some(FailedStep { path: &other.step, how, step: Some(step), is_waiting })
    });
    std::iter::once(first).chain(others).collect()
}

/// The report about a run that did not complete.
pub(crate) fn failure(result: &RunResult, view: &FailureView<'_>) -> Option<String> {
    let waiting = |ask| clean(&questions::waiting(ask, result.run_dir.as_deref(), view.hints));
    let mut rows = match (&result.failure, result.status) {
        (Some(failure), _) => failed(result, failure, view),
        (None, RunStatus::Interrupted | RunStatus::Cancelled) => {
            let mut rows = vec![format!("{}. Completed steps are saved", result.status.as_str())];
            rows.extend(cleanup(result, view));
            rows.extend(commands(result, view));
            rows
        }
        (None, RunStatus::Waiting) if result.asks.is_empty() => {
            let words = match result.choices.is_empty() {
                true => "answered; the run is not resumed yet",
                false => "waiting: choose how to continue",
            };
            let mut rows = vec![words.to_owned()];
            rows.extend(commands(result, view));
            rows
        }
        (None, RunStatus::Waiting) => Vec::new(),
        _ => return None,
    };
    // cleanup steps may ask, and so does auto-fix
    rows.extend(result.asks.iter().map(|ask| waiting(ask).trim_end().to_owned()));
    Some(rows.join("\n") + "\n")
}

fn failed(result: &RunResult, failure: &Failure, view: &FailureView<'_>) -> Vec<String> {
    let mut below = cause(result, view);
    below.extend(cleanup(result, view));
    below.extend(auto_fix_rows(result, view));
    let end = commands(result, view);
    // the report of auto-fix is read for itself
    let fixed = if result.auto_fix.is_some() { below.len() } else { 0 };
    // a program that reads the report gets all problems at once
    let is_list = view.width == UNLIMITED && result.run_id.is_none();
    let room = match view.length {
        ReportLength::Short if !is_list => (MOST - 1).saturating_sub(below.len() + end.len() - fixed).max(2),
        _ => UNLIMITED,
    };
    let mut rows = heads(result, failure, view, room);
    rows.append(&mut below);
    rows.extend(end);
    rows
}

/// The failed steps with their last output, in at most so many lines.
fn heads(result: &RunResult, failure: &Failure, view: &FailureView<'_>, room: usize) -> Vec<String> {
    let failed = failed_steps(result);
    let entries: Vec<(Vec<String>, Vec<Quote>)> = failed
        .iter()
        .enumerate()
        .map(|(at, step)| {
            let written = failure.written.as_deref().filter(|_| at == 0 && view.length == ReportLength::Full);
            let about = if at == 0 { Some(failure) } else { None };
            let mut quotes = quotes(result, step, about, written, view);
            let message = if step.is_waiting { take_message(&mut quotes) } else { None };
            (heading(step, message, view), quotes)
        })
        .collect();
    let least =
        |(heading, quotes): &(Vec<String>, Vec<Quote>)| heading.len() + usize::from(!quotes.is_empty());
    let (mut left, mut shown) = (room, 0);
    for (at, entry) in entries.iter().enumerate() {
        let mark = usize::from(at + 1 < entries.len());
        if at > 0 && least(entry) + mark > left {
            break;
        }
        left = left.saturating_sub(least(entry));
        shown = at + 1;
    }
    let more = entries.len() - shown;
    let each =
        if left == UNLIMITED { UNLIMITED } else { left.saturating_sub(usize::from(more > 0)) / shown.max(1) };
    let mut rows = Vec::new();
    for (heading, quotes) in entries.into_iter().take(shown) {
        rows.extend(heading);
        rows.extend(rows_of(&quotes, view.width, each.saturating_add(1), view.length));
    }
    if more > 0 {
        let paths: Vec<&str> = failed[shown..].iter().map(|step| step.path).collect();
        let text = clean(&format!("error: {} failed: {}", count(more, "more step"), paths.join(", ")));
        rows.push(painted(fit(&text, view.width.min(400)).as_ref(), "error", Mark::Error));
    }
    rows
}

/// What failed, how, and after how long.
fn heading(failed: &FailedStep<'_>, message: Option<String>, view: &FailureView<'_>) -> Vec<String> {
    let took = failed.step.filter(|step| step.attempts > 0).map(|step| {
        let tries = if step.attempts > 1 && step.kind != "ask" {
            format!("{} attempts, ", step.attempts)
        } else {
            String::new()
        };
        format!(" ({tries}after {})", duration(step.duration))
    });
    let (mark, text) = match failed.is_waiting {
        true => {
            let message = message.map(|message| format!(": {message}")).unwrap_or_default();
            (Mark::Waiting, format!("⏸ {} is waiting for you{message}", failed.path))
        }
        false if failed.step.is_none() => (Mark::Error, format!("error: {}:", failed.how)),
        false => {
            let (first, rest) = failed.how.split_once('\n').unwrap_or((&failed.how, ""));
            let rest = if rest.is_empty() { String::new() } else { format!("\n{rest}") };
            let took = took.unwrap_or_default();
            (Mark::Error, format!("error: failed at {}: {first}{took}{rest}", failed.path))
        }
    };
    let mut rows: Vec<String> = clean(&text).lines().flat_map(|line| wrapped(line, view.width, 4)).collect();
    let is_small = view.length == ReportLength::Short && view.width != UNLIMITED;
    if is_small && rows.len() > HEADING {
        rows.truncate(HEADING);
        if let Some(last) = rows.last_mut() {
            *last = cut_off(last, view.width);
        }
    }
    if let Some(first) = rows.first_mut() {
        let label = if mark == Mark::Waiting { "⏸" } else { "error" };
        *first = painted(first, label, mark);
    }
    rows
}

/// The likely cause and what to do, if the cause is known well enough.
fn cause(result: &RunResult, view: &FailureView<'_>) -> Vec<String> {
    let mut rows = Vec::new();
    let is_told = |failure: &Failure| {
        matches!(failure.outcome, OutcomeKind::Budget | OutcomeKind::NeedsHuman | OutcomeKind::Rejected)
    };
    let found = result.diagnosis.as_ref().filter(|found| {
        found.class != Class::Unknown
            && found.confidence >= Confidence::Medium
            && !result.failure.as_ref().is_some_and(is_told)
    });
    // several problems have no cause in common, and each says what to do
    let blocked = result
        .failure
        .as_ref()
        .filter(|_| result.run_id.is_none())
        .map_or(0, |failure| failure.problems.len());
    if let Some(found) = found.filter(|_| blocked < 2) {
        let text = match blocked {
            0 => with_advice(found, result),
            _ => kind_of_failure(found.class, &found.signals).to_owned(),
        };
        rows = labelled("likely cause:", &text, view);
        if view.length == ReportLength::Short && rows.len() > CAUSE {
            rows.truncate(CAUSE);
            rows[CAUSE - 1] = cut_off(&rows[CAUSE - 1], view.width);
        }
    }
    if view.length == ReportLength::Full {
        rows.extend(result.diagnosis.iter().flat_map(|found| evidence(&found.signals)));
    }
    // a run with an id has its commands below
    if result.run_id.is_none() {
        let most = if blocked > 1 { 1 } else { LISTED };
        let shown =
            result.advice.iter().filter(|advice| advice.next.is_some() || !advice.text.trim().is_empty());
        for (at, advice) in shown.rev().take(most).collect::<Vec<_>>().into_iter().rev().enumerate() {
            let (label, text) = (if at == 0 { "next:" } else { "" }, view.hints.advice(advice));
            rows.extend(match &advice.next {
                Some(_) => command_rows(label, &text, view),
                None => labelled(&format!("{label:<8}"), &text, view),
            });
        }
    }
    rows
}

/// The likely cause with the first piece of advice.
fn with_advice(found: &Diagnosis, result: &RunResult) -> String {
    let kind = kind_of_failure(found.class, &found.signals);
    let advice =
        result.advice.first().filter(|advice| advice.next.is_none()).map(|advice| advice.text.as_str());
    match (found.class, advice) {
        // the advice says it with the name of the step
        (
            Class::Verification
            | Class::AgentDrift
            | Class::AgentOpaque
            | Class::ValidationStrategy
            | Class::Interrupted,
            Some(advice),
        ) => advice.to_owned(),
        (_, Some(advice)) => format!("{kind}. {}", capitalized(advice)),
        (_, None) => kind.to_owned(),
    }
}

/// The strongest evidence.
fn evidence(signals: &[Signal]) -> Vec<String> {
    let shown = signals.iter().take(LISTED).filter(|signal| !signal.quote.is_empty());
    let line =
        |signal: &Signal| format!("    {}: {} ({})", signal.what, first_line(&signal.quote), signal.at);
    shown.map(|signal| clean(&line(signal))).collect()
}

fn cleanup(result: &RunResult, view: &FailureView<'_>) -> Vec<String> {
    let failed = &result.cleanup_failures;
    let mut rows = Vec::new();
    for failed in failed.iter().take(LISTED) {
        let how = find(&result.step_results, &failed.step).map(|step| step.failed_how.as_str());
        let text = format!("step `{}`{}", failed.step, how.unwrap_or_default());
        let label = if result.failure.is_some() { "cleanup failed too:" } else { "cleanup failed:" };
        rows.extend(labelled(label, &text, view));
    }
    if failed.len() > LISTED {
        rows.push(format!("  {} more failed in cleanup", count(failed.len() - LISTED, "step")));
    }
    rows
}

fn auto_fix_rows(result: &RunResult, view: &FailureView<'_>) -> Vec<String> {
    auto_fix(result, view.hints).lines().map(clean).collect()
}

/// The commands to type next, and where everything is.
fn commands(result: &RunResult, view: &FailureView<'_>) -> Vec<String> {
    let hints = view.hints;
    let mut rows = Vec::new();
    for (at, choice) in result.choices.iter().enumerate() {
        rows.extend(command_rows(if at == 0 { "choose:" } else { "" }, &hints.advice(choice), view));
    }
    if let Some(resume) = result.resume.as_ref().filter(|_| result.choices.is_empty()) {
        rows.extend(command_rows("resume:", &hints.next(resume), view));
    }
    if let Some((command, why)) = &view.keep {
        rows.extend(command_rows("keep the agent's work:", command, view));
        rows.extend(wrapped(&clean(&format!("    ({why})")), view.width, 5));
    }
    if let Some(run) = &result.run_id {
        // several failed steps have no log in common
        let failed = failed_steps(result);
        let only = failed.first().filter(|failed_step| failed.len() == 1 && failed_step.step.is_some());
        let step = only.map(|only| only.path.to_owned());
        rows.extend(command_rows("logs:", &hints.next(&Next::Logs { run: run.clone(), step }), view));
    }
    rows
}

/// What a recipe lacks, for a screen.
fn problem(need: &Need, text: &str) -> String {
    match need {
        Need::Variables(names_of) => {
            let (noun, verb) = if names_of.len() == 1 { ("variable", "is") } else { ("variables", "are") };
            let first = names_of.first().map(String::as_str).unwrap_or_default();
            format!(
                "environment {noun} {} {verb} not set: use `export {first}=…`, or an environment file of the recipe",
                names(names_of)
            )
        }
        _ => text.to_owned(),
    }
}

fn labelled(label: &str, text: &str, view: &FailureView<'_>) -> Vec<String> {
    let mut rows = wrapped(&clean(&format!("  {label} {text}")), view.width, 4);
    if let Some(first) = rows.first_mut() {
        *first = painted(first, label.trim_end(), Mark::Help);
    }
    rows
}

fn command_rows(label: &str, command: &str, view: &FailureView<'_>) -> Vec<String> {
    let mut rows = wrapped_command(&format!("  {label:<8}"), &clean(command), view.width, 11);
    if let Some(first) = rows.first_mut() {
        *first = painted(first, label, Mark::Help);
    }
    rows
}

/// What a label marks; each has the colour that `validate` gives it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Error,
    Waiting,
    Help,
}

/// A line with its label in colour.
fn painted(line: &str, label: &str, mark: Mark) -> String {
    if label.is_empty() {
        return line.to_owned();
    }
    let colour = match mark {
        Mark::Error => AnsiColor::BrightRed,
        Mark::Waiting => AnsiColor::BrightYellow,
        Mark::Help => AnsiColor::BrightCyan,
    };
    let style = Style::new().fg_color(Some(colour.into())).bold();
    line.replacen(label, &format!("{style}{label}{style:#}"), 1)
}
