//! Progress on stderr, and what steps print on stdout, as a run goes on.
//!
//! Never changes a run, and never mixes the two outputs.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use engine::{Event, Outcome, Record, RunState, StepStatus};
use runtime::{
    drive::{Notice, Reporter},
    outputs::Stream,
};

use crate::{failure::clean, out::Out};

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Not at all.
    Quiet,
    /// A line for each thing that happens.
    Lines,
    /// The same with icons.
    Icons,
}

/// Whether the result is for people or for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Audience {
    /// Steps' own output is shown.
    People,
    /// stdout is kept free for one JSON value.
    Programs,
}

/// Shows a run line by line.
pub(crate) struct Progress<'a> {
    out: &'a mut Out,
    manner: Manner,
    audience: Audience,
    heartbeat: Option<Duration>,
    beats: HashMap<String, Instant>,
    /// Output of steps that run beside others waits for the end of its line.
    lines: HashMap<String, Vec<u8>>,
    running: usize,
    at_line_start: bool,
    activity: HashMap<String, String>,
}

impl<'a> Progress<'a> {
    /// Shows nothing yet.
    pub(crate) fn new(
        out: &'a mut Out,
        manner: Manner,
        audience: Audience,
        heartbeat: Option<Duration>,
    ) -> Progress<'a> {
        Progress {
            out,
            manner,
            audience,
            heartbeat,
            beats: HashMap::new(),
            lines: HashMap::new(),
            running: 0,
            at_line_start: true,
            activity: HashMap::new(),
        }
    }

    fn line(&mut self, text: &str) {
        if self.manner != Manner::Quiet {
            self.out.notice(&clean(text));
        }
    }

    fn event(&mut self, record: &Record, state: &RunState) {
        match &record.event {
            Event::RunStarted(started) => {
                let total = state.root().steps.len();
                let word = if total == 1 { "step" } else { "steps" };
                self.line(&format!(
                    "[recipe {}] started: {total} {word}, run {}",
                    started.recipe, started.run_id
                ));
            }
            Event::RunResumed(resumed) => {
                let redone = match resumed.rerun.len() {
                    0 => String::new(),
                    _ => format!("; done again: {}", resumed.rerun.join(", ")),
                };
                self.line(&format!("[recipe {}] resumed{redone}", state.root().unit.name));
            }
            Event::StepStarted { path, attempt } => self.started(path, *attempt, state),
            Event::StepFinished { path, .. } | Event::StepSkipped { path, .. } => self.finished(path, state),
            // the run was told to stop: no attempt follows
            Event::AttemptFailed { ended, .. } if ended.outcome == Outcome::Cancelled => {}
            Event::AttemptFailed { path, attempt, ended, retry_in_ms } => {
                let why = first_line(ended.error.as_deref().unwrap_or("failed"));
                let seconds = *retry_in_ms as f64 / 1000.0;
                let next = if *retry_in_ms == 0 { "at once".to_owned() } else { format!("in {seconds} s") };
                let label = label(path, state);
                self.line(&format!("{label} attempt {attempt} failed: {why}; next attempt {next}"));
            }
            Event::HookFinished { path, hook, error: Some(error) } => {
                let label = label(path, state);
                self.line(&format!("{label} warning: hook {hook} failed: {error}"));
            }
            Event::Noted { path, message } => {
                let label = path.as_ref().map_or_else(|| "[run]".to_owned(), |path| label(path, state));
                self.line(&format!("{label} {message}"));
            }
            Event::RecipeStopped { path, error } => {
                let label = label(path, state);
                self.line(&format!("{label} {error}: ending what runs in it"));
            }
            Event::RunFinished(finished) => {
                for process in &finished.ended_processes {
                    self.line(&format!("[run] ended a background process: {process}"));
                }
            }
            _ => {}
        }
    }

    fn started(&mut self, path: &str, attempt: u32, state: &RunState) {
        self.beats.insert(path.to_owned(), Instant::now());
        let Some((frame, at)) = state.locate(path) else { return };
        let kind = state.frames[frame].unit.steps[at].kind.word();
        let again = if attempt > 1 { format!(", attempt {attempt}") } else { String::new() };
        let text = match self.manner {
            Manner::Icons => format!("▶ {path} ({}) {kind}{again}", counter(path, state)),
            _ => format!("{} started ({kind}{again})", label(path, state)),
        };
        self.line(&text);
    }

    fn finished(&mut self, path: &str, state: &RunState) {
        self.beats.remove(path);
        self.activity.remove(path);
        let Some(step) = state.step(path) else { return };
        let taken = match (step.started_at, step.finished_at) {
            (Some(from), Some(to)) => (to.as_millisecond() - from.as_millisecond()).max(0) as f64 / 1000.0,
            _ => 0.0,
        };
        let error = step.ended.as_ref().and_then(|ended| ended.error.as_deref()).map(first_line);
        let what = match step.status {
            StepStatus::Completed if step.recovered => {
                format!("completed in {taken:.1}s (recovered by an agent)")
            }
            StepStatus::Completed => format!("completed in {taken:.1}s"),
            StepStatus::Degraded => {
                format!("degraded after {taken:.1}s: {}", error.unwrap_or_default())
            }
            StepStatus::Failed => format!("failed after {taken:.1}s: {}", error.unwrap_or_default()),
            StepStatus::Skipped => {
                let reason = step.skipped.as_ref().map(engine::outcome::SkipReason::describe);
                format!("skipped: {}", reason.unwrap_or_default())
            }
            other => other.as_str().to_owned(),
        };
        let text = match self.manner {
            Manner::Icons => format!("{} {path} ({}) {what}", icon(step.status), counter(path, state)),
            _ => format!("{} {what}", label(path, state)),
        };
        self.line(&text);
    }

    fn output(&mut self, path: &str, bytes: &[u8]) {
        if self.running <= 1 && self.lines.is_empty() {
            self.at_line_start = bytes.last().is_none_or(|byte| *byte == b'\n');
            return self.out.raw(bytes);
        }
        if !self.at_line_start {
            self.out.raw(b"\n");
            self.at_line_start = true;
        }
        let held = self.lines.entry(path.to_owned()).or_default();
        held.extend_from_slice(bytes);
        if let Some(end) = held.iter().rposition(|byte| *byte == b'\n') {
            let whole: Vec<u8> = held.drain(..=end).collect();
            self.out.raw(&whole);
        }
    }

    /// Shows what a step printed last without ending its line.
    fn flush(&mut self, path: &str) {
        if let Some(rest) = self.lines.remove(path).filter(|rest| !rest.is_empty()) {
            self.out.raw(&rest);
            self.out.raw(b"\n");
        }
    }

    fn beat(&mut self, state: &RunState) {
        let Some(interval) = self.heartbeat else { return };
        for path in state.running_steps() {
            let due = self.beats.get(&path).is_some_and(|last| last.elapsed() >= interval);
            if !due {
                continue;
            }
            self.beats.insert(path.clone(), Instant::now());
            let elapsed = state
                .step(&path)
                .and_then(|step| step.started_at)
                .map_or(0, |at| (runtime::clock::now().as_millisecond() - at.as_millisecond()).max(0) / 1000);
            let doing = self.activity.get(&path).map(|what| format!(": {what}")).unwrap_or_default();
            let label = label(&path, state);
            self.line(&format!("{label} still running after {elapsed}s{doing}"));
        }
    }
}

impl Reporter for Progress<'_> {
    fn notice(&mut self, notice: Notice<'_>) {
        match notice {
            Notice::Event { record, state } => {
                self.running = state.running;
                if let Event::StepFinished { path, .. } = &record.event {
                    self.flush(path);
                }
                self.event(record, state);
            }
            Notice::Output { path, stream: Stream::Stdout, bytes } => self.output(path, bytes),
            Notice::Output { .. } => {}
            Notice::HookOutput { text, .. } => self.line(text),
            Notice::Activity { path, what } => {
                self.line(&format!("[{path}] {}", first_line(what)));
                self.activity.insert(path.to_owned(), first_line(what).to_owned());
            }
            Notice::Tick { state } => self.beat(state),
            Notice::Stopping { why } => self.out.notice(&format!("[run] {why}")),
        }
    }

    fn tick(&self) -> Option<Duration> {
        // often enough to be in time, seldom enough to cost nothing
        self.heartbeat
            .filter(|_| self.manner != Manner::Quiet)
            .map(|interval| (interval / 4).max(Duration::from_millis(50)))
    }

    fn wants_output(&self) -> bool {
        self.audience == Audience::People
    }
}

/// `▶ ✓ ✗ ⊘ ⚠`.
pub(crate) fn icon(status: StepStatus) -> char {
    match status {
        StepStatus::Pending => '·',
        StepStatus::Running => '▶',
        StepStatus::Completed => '✓',
        StepStatus::Failed => '✗',
        StepStatus::Skipped => '⊘',
        StepStatus::Degraded => '⚠',
    }
}

/// `4/23`: which of its recipe's steps it is.
fn counter(path: &str, state: &RunState) -> String {
    match state.locate(path) {
        Some((frame, at)) => format!("{}/{}", at + 1, state.frames[frame].steps.len()),
        None => "?/?".to_owned(),
    }
}

/// `[step 04/23 build]`.
fn label(path: &str, state: &RunState) -> String {
    match state.locate(path) {
        Some((frame, at)) => {
            let total = state.frames[frame].steps.len();
            let width = total.to_string().len().max(2);
            format!("[step {:0width$}/{total:0width$} {path}]", at + 1)
        }
        None => format!("[step {path}]"),
    }
}

/// The first line of a text.
pub(crate) fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
