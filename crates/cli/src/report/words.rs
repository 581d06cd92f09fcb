//! The words for events of steps and runs, the same everywhere.
//!
//! Pure: takes states, returns text; never decides where it is shown.

use std::{borrow::Cow, path::Path};

use engine::{
    Event, RunState, RunStatus, StepStatus,
    failure::{Class, Meaning, Signal},
    run::{
        event::{RunFinished, RunResumed, Via},
        frame::Frame,
        message::in_short,
        outcome::SkipReason,
    },
};
use recipe::plan::{Loop, Step, StepKind};
use runtime::store::secrets::Mask;

/// The line that wrappers look for to find the log of a run.
pub(crate) fn recipe_log(path: &Path) -> String {
    format!("[amplihack] recipe log: {}", path.display())
}

/// The icon of a status: `▶ ✓ ✗ ⊘ ⚠ ⏸`.
pub(crate) fn icon(status: StepStatus) -> char {
    match status {
        StepStatus::Pending => '·',
        StepStatus::Running => '▶',
        StepStatus::Waiting => '⏸',
        StepStatus::Completed => '✓',
        StepStatus::Failed => '✗',
        StepStatus::Skipped => '⊘',
        StepStatus::Degraded => '⚠',
    }
}

/// The icon of a status that does not change any more: a step that was running has been interrupted.
pub(crate) fn last_icon(status: StepStatus) -> char {
    if status == StepStatus::Running { '■' } else { icon(status) }
}

/// The icon of a run that has ended.
pub(crate) fn run_icon(status: RunStatus) -> char {
    match status {
        RunStatus::Completed => '✓',
        RunStatus::Waiting => '⏸',
        _ => '✗',
    }
}

/// The position of a step in its recipe: `4/23`.
pub(crate) fn counter(path: &str, state: &RunState) -> String {
    match state.locate(path) {
        Some((frame, at)) => format!("{}/{}", at + 1, state.frames[frame].steps.len()),
        None => "?/?".to_owned(),
    }
}

/// `[step 04/23 build]`.
pub(crate) fn label(path: &str, state: &RunState) -> String {
    match state.locate(path) {
        Some((frame, at)) => {
            let total = state.frames[frame].steps.len();
            let width = total.to_string().len().max(2);
            format!("[step {:0width$}/{total:0width$} {path}]", at + 1)
        }
        None => format!("[step {path}]"),
    }
}

/// The kind of a step, with its loop.
pub(crate) fn kind_words(step: &Step) -> String {
    let kind = step.kind.word();
    match &step.looped {
        None => kind.to_owned(),
        Some(Loop::Each(_)) => format!("{kind}, for_each"),
        Some(Loop::Repeat(_)) => format!("{kind}, repeat"),
    }
}

/// The first line of a text.
pub(crate) fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// A text with a capital at its beginning.
pub(crate) fn capitalized(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map(|first| first.to_uppercase().chain(rest).collect()).unwrap_or_default()
}

/// Names in backticks: `` `a`, `b` ``.
pub(crate) fn names(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// The first line of a text, with how many more there are.
pub(crate) fn shortened(text: &str) -> Cow<'_, str> {
    let text = text.trim_end();
    match text.lines().count() {
        0 | 1 => Cow::Borrowed(text),
        2 => Cow::Owned(format!("{} … (1 more line)", first_line(text))),
        lines => Cow::Owned(format!("{} … ({} more lines)", first_line(text), lines - 1)),
    }
}

/// `0.3s`, `1m 02s`, `1h 02m`.
pub(crate) fn duration(seconds: f64) -> String {
    if seconds < 59.95 {
        return format!("{:.1}s", seconds.max(0.0));
    }
    long(seconds)
}

/// The same without tenths, for times that still grow.
pub(crate) fn so_far(seconds: f64) -> String {
    if seconds < 60.0 {
        return format!("{}s", seconds.max(0.0) as u64);
    }
    long(seconds.floor())
}

fn long(seconds: f64) -> String {
    let seconds = seconds.round() as u64;
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    match hours {
        0 => format!("{minutes}m {:02}s", seconds % 60),
        _ => format!("{hours}h {:02}m", minutes % 60),
    }
}

/// The warning about a process of a run that could not be ended.
pub(crate) fn still_alive(process: &str) -> String {
    format!(
        "{process} is still alive: it runs as another user, or hangs in the kernel; end it with `sudo kill`"
    )
}

/// The messages about the background processes of a finished run.
pub(crate) fn processes(finished: &RunFinished) -> impl Iterator<Item = String> {
    let ended =
        finished.ended_processes.iter().map(|process| format!("ended a background process: {process}"));
    ended.chain(finished.left_processes.iter().map(|process| format!("warning: {}", still_alive(process))))
}

/// `1 step`, `2 steps`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    let end = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{end}")
}

/// The kind of a step, and whether it cleans up: `bash`, `bash, for_each, cleanup`.
pub(crate) fn kind_and_role(frame: &Frame, at: usize) -> String {
    let kind = kind_words(&frame.unit.steps[at]);
    if frame.steps[at].is_cleanup { format!("{kind}, cleanup") } else { kind }
}

/// How a step ended: `failed after 1.2s: exit code 3`, `failed after 1.2s at a/b: exit code 3`.
pub(crate) fn ending(frame: &Frame, at: usize, state: &RunState, mask: &Mask) -> String {
    let step = &frame.steps[at];
    let what = match frame.shown_status(at) {
        StepStatus::Waiting => {
            step.ended.as_deref().map_or_else(|| StepStatus::Waiting.as_str().to_owned(), in_short)
        }
        _ => end_of(frame, at, state, mask),
    };
    if step.is_cleanup { format!("cleanup {what}") } else { what }
}

fn end_of(frame: &Frame, at: usize, state: &RunState, mask: &Mask) -> String {
    let step = &frame.steps[at];
    let is_question = matches!(frame.unit.steps[at].kind, StepKind::Ask(_));
    let took = duration(step.taken_until(state.work.last()).unwrap_or(0.0));
    let how = || mask.quotation(first_line(&state.failed_how(step))).into_owned();
    match step.status {
        StepStatus::Completed if step.recovered => format!("completed in {took} (recovered by an agent)"),
        StepStatus::Completed if step.attempts() > 1 && !is_question => {
            format!("completed in {took} (attempt {})", step.attempts())
        }
        StepStatus::Completed => format!("completed in {took}"),
        StepStatus::Degraded => format!("degraded after {took}{}", how()),
        StepStatus::Failed => format!("failed after {took}{}", how()),
        StepStatus::Skipped => {
            format!("skipped: {}", step.skipped.as_ref().map(SkipReason::describe).unwrap_or_default())
        }
        StepStatus::Running => format!("interrupted after {took}"),
        other => other.as_str().to_owned(),
    }
}

/// How a run ended: `failed after 1.2s: 3 completed, 1 failed`.
pub(crate) fn run_ending(status: RunStatus, state: &RunState) -> String {
    let seconds = state.work.recorded() as f64 / 1000.0;
    let link = if status == RunStatus::Completed { "in" } else { "after" };
    let root = state.root();
    let counts = counts((0..root.steps.len()).map(|at| match root.shown_status(at) {
        StepStatus::Running if status == RunStatus::Waiting && state.is_waiting() => "waiting",
        StepStatus::Running => "interrupted",
        status => status.as_str(),
    }));
    format!("{} {link} {}: {counts}", status.as_str(), duration(seconds))
}

/// What happened to a question, if an event is about one.
pub(crate) fn asked(event: &Event, mask: &Mask) -> Option<(String, String)> {
    let quoted = |text: &str| mask.quotation(text).into_owned();
    match event {
        Event::QuestionPut(put) => {
            let choices = put.choices.join(" or ");
            let question = quoted(put.question.trim_end());
            Some((put.path.clone(), format!("waiting for a person ({choices}): {question}")))
        }
        Event::Answered(answered) if answered.via == Via::Timeout => {
            Some((answered.path.clone(), format!("not answered in time: `{}`", answered.choice)))
        }
        Event::Answered(answered) => {
            let (by, via) = (quoted(&answered.by), answered.via.as_str());
            Some((answered.path.clone(), format!("answered `{}` by {by} via {via}", answered.choice)))
        }
        Event::QuestionWithdrawn { path, because } => {
            Some((path.clone(), format!("question withdrawn: `{because}` failed")))
        }
        _ => None,
    }
}

/// What a resume keeps and runs again: `2 of 3 steps already done; re-runs: build`.
pub(crate) fn kept(state: &RunState, resumed: &RunResumed) -> String {
    let steps = count(state.root().steps.len(), "step");
    let again = match resumed.given_up().join(", ") {
        paths if paths.is_empty() => paths,
        paths => format!("; re-runs: {paths}"),
    };
    format!("{} of {steps} already done{again}", state.kept_steps())
}

/// The text about the next attempt.
pub(crate) fn next_attempt(retry_in_ms: u64) -> String {
    match retry_in_ms {
        0 => "trying again now".to_owned(),
        ms => format!("trying again in {}", duration(ms as f64 / 1000.0)),
    }
}

/// When the next iteration of a loop begins.
pub(crate) fn iteration_wait(seconds: f64) -> String {
    format!("begins in {}", duration(seconds))
}

/// Whether the live view is empty after this event: between two attempts of auto-fix no step runs.
pub(crate) fn ends_block(event: &Event) -> bool {
    matches!(
        event,
        Event::RunFinished(_) | Event::FixWaits { .. } | Event::RepairBegan(_) | Event::RepairEnded { .. }
    )
}

/// The message about an action of auto-fix between two attempts.
pub(crate) fn fixing(event: &Event) -> String {
    match event {
        Event::FixWaits { seconds, reason } => {
            format!("{reason}; {}", next_attempt((seconds * 1000.0) as u64))
        }
        Event::RepairBegan(began) => {
            format!("an agent repairs `{}` (repair {})", began.file, began.number)
        }
        Event::RepairEnded { number, accepted: true } => format!("repair {number} accepted"),
        Event::RepairEnded { number, .. } => {
            format!("repair {number} not applied; the recipe is unchanged")
        }
        _ => String::new(),
    }
}

/// What a kind of failure means.
pub(crate) fn kind_of_failure(class: Class, signals: &[Signal]) -> &'static str {
    let is_unfit = |signal: &Signal| signal.meaning == Some(Meaning::UnfitValue);
    match class {
        Class::MissingEnv if !signals.is_empty() && signals.iter().all(is_unfit) => {
            "a given value does not fit its input"
        }
        Class::Verification if signals.iter().any(|signal| signal.meaning == Some(Meaning::Rejected)) => {
            "a person rejected it"
        }
        Class::Timeout => "the step took too long",
        Class::AgentOpaque => "the agent showed no activity",
        Class::MissingEnv => "a required value is not set",
        Class::MissingBinary => "a program is missing or cannot be executed",
        Class::MissingPath => "a file or directory is missing",
        Class::Credentials => "a login is missing or was refused",
        Class::RateLimit => "a service limits the number of requests",
        Class::Network => "a service cannot be reached",
        Class::Disk => "the disk is full",
        Class::Memory => "not enough memory or processes",
        Class::WorkdirDirty => "uncommitted changes are in the way",
        Class::StaleState => "a dead process left a lock",
        Class::AlreadyRunning => "another process is in the way",
        Class::Structure => "the recipe is invalid or exceeds a limit",
        Class::Verification => "a check found a real problem",
        Class::ValidationStrategy => "the command cannot work here",
        Class::AgentDrift => "the agent's work does not pass the check",
        Class::HollowSuccess => "the agent did no work",
        Class::Deadlock => "steps wait for each other",
        Class::RetryExhausted => "a budget or all attempts are used up",
        Class::Interrupted => "the run was stopped",
        Class::Unknown => "unknown",
    }
}

/// `3 completed, 1 skipped`.
pub(crate) fn counts(statuses: impl Iterator<Item = &'static str> + Clone) -> String {
    let order =
        ["completed", "degraded", "failed", "skipped", "running", "waiting", "interrupted", "pending"];
    let parts = order
        .into_iter()
        .map(|status| (statuses.clone().filter(|other| *other == status).count(), status))
        .filter(|(number, _)| *number > 0)
        .map(|(number, status)| format!("{number} {status}"));
    parts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short() {
        for (seconds, whole, running) in [
            (0.04, "0.0s", "0s"),
            (1.26, "1.3s", "1s"),
            (59.94, "59.9s", "59s"),
            (59.96, "1m 00s", "59s"),
            (62.0, "1m 02s", "1m 02s"),
            (3599.4, "59m 59s", "59m 59s"),
            (3720.0, "1h 02m", "1h 02m"),
            (-3.0, "0.0s", "0s"),
        ] {
            assert_eq!((duration(seconds).as_str(), so_far(seconds).as_str()), (whole, running));
        }
    }

    #[test]
    fn long_texts_say_how_long_they_are() {
        for (text, expected) in [
            ("", ""),
            ("a", "a"),
            ("a\n", "a"),
            ("a\nb", "a … (1 more line)"),
            ("a\nb\nc\n", "a … (2 more lines)"),
        ] {
            assert_eq!(shortened(text), expected);
        }
    }

    #[test]
    fn statuses_are_counted_in_a_fixed_order() {
        let statuses = ["skipped", "completed", "failed", "completed"];
        assert_eq!(counts(statuses.into_iter()), "2 completed, 1 failed, 1 skipped");
        assert_eq!(counts([].into_iter()), "");
    }
}
