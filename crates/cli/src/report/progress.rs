//! Progress on stderr, and the output of steps on stdout, during a run.
//!
//! Never changes a run, and never mixes the two outputs.

use std::{
    collections::{HashMap, HashSet},
    time::{Duration, Instant},
};

use engine::{
    Event, Outcome, Record, RunState,
    run::{
        event::RunFinished,
        frame::StepState,
        outcome::{SkipReason, StopCause},
    },
};
use runtime::{
    run::{Notice, Reporter},
    store::{
        outputs::{Rest, Stream},
        secrets::Mask,
    },
};

use crate::{
    out::Out,
    report::{
        failure::clean,
        hints::Hints,
        hook_failures::HookFailures,
        live::{Keep, fit, printable},
        words::{
            count, counter, ending, first_line, fixing, icon, kept, label, next_attempt, processes,
            recipe_log, run_ending, shortened, so_far,
        },
    },
};

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Not at all.
    Quiet,
    /// A line for each event.
    Lines,
    /// The same with icons.
    Icons,
}

/// Whether the result is for users or for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Audience {
    /// The output of steps is shown.
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
    hints: Hints,
    beats: HashMap<String, Instant>,
    /// Incomplete lines of parallel steps.
    lines: HashMap<String, Vec<u8>>,
    running: usize,
    at_line_start: bool,
    /// The last output of running steps, or the activity of their agents.
    last: HashMap<String, String>,
    agents: HashSet<String>,
    labels: HashMap<String, String>,
    /// The next attempt, and its time.
    waits: HashMap<String, (u32, Instant)>,
    hooks: HookFailures,
}

/// The bytes at the end of an output to search for its last line.
const LAST: usize = 1024;
/// The columns of a last line to show.
const SHOWN: usize = 100;

impl<'a> Progress<'a> {
    /// Shows nothing yet.
    pub(crate) fn new(
        out: &'a mut Out,
        manner: Manner,
        audience: Audience,
        heartbeat: Option<Duration>,
        hints: Hints,
    ) -> Progress<'a> {
        Progress {
            out,
            manner,
            audience,
            heartbeat,
            hints,
            beats: HashMap::new(),
            lines: HashMap::new(),
            running: 0,
            at_line_start: true,
            last: HashMap::new(),
            agents: HashSet::new(),
            labels: HashMap::new(),
            waits: HashMap::new(),
            hooks: HookFailures::default(),
        }
    }

    fn line(&mut self, text: &str) {
        if self.manner != Manner::Quiet {
            self.out.notice(&clean(text));
        }
    }

    fn event(&mut self, record: &Record, state: &RunState, mask: &Mask) {
        match &record.event {
            Event::RunStarted(started) => {
                let steps = count(state.root().steps.len(), "step");
                let run = match state.settings.dry_run {
                    true => "dry run, nothing is executed".to_owned(),
                    false => format!("run {}", started.run_id),
                };
                self.line(&format!("[recipe {}] started: {steps}, {run}", started.recipe));
            }
            Event::RunResumed(resumed) => {
                let given_up = resumed.given_up();
                let redone = match given_up.len() {
                    0 => String::new(),
                    _ => format!("; re-runs: {}", given_up.join(", ")),
                };
                let (recipe, kept) = (&state.root().unit.name, kept(state));
                self.line(&format!("[recipe {recipe}] resumed: {kept}{redone}"));
            }
            Event::StepStarted { path, attempt, .. } => self.started(path, *attempt, state),
            Event::StepFinished { path, .. } | Event::StepSkipped { path, .. } => {
                self.finished(path, state, mask);
            }
            // the run was stopped: no attempt follows
            Event::AttemptFailed { ended, .. } if ended.outcome == Outcome::Cancelled => {}
            Event::AttemptFailed { path, attempt, ended, retry_in_ms } => {
                let why = mask.quotation(first_line(ended.error.as_deref().unwrap_or("failed"))).into_owned();
                let (label, next) = (label(path, state), next_attempt(*retry_in_ms));
                self.line(&format!("{label} attempt {attempt} failed: {why}; {next}"));
                let until = Instant::now() + Duration::from_millis(*retry_in_ms);
                self.waits.insert(path.clone(), (attempt + 1, until));
            }
            Event::HookFinished { path, hook, error: Some(error) } if self.hooks.is_first(hook, error) => {
                let (label, error) = (label(path, state), mask.quotation(error));
                // shown even in quiet modes: the hook may have been meant to alert a person
                self.out.notice(&clean(&format!("{label} warning: hook {hook} failed: {error}")));
            }
            // shown together with the skipped step
            Event::Noted { path: Some(path), message, .. } if state.settings.dry_run => {
                self.last.insert(path.clone(), shortened(&mask.quotation(message)).into_owned());
            }
            Event::Noted { path, message, next } => {
                let label = path.as_ref().map_or_else(|| "[run]".to_owned(), |path| label(path, state));
                let note = self.hints.note(message, next.as_ref());
                self.line(&format!("{label} {}", mask.quotation(&note)));
            }
            Event::RecipeStopped { path, error, cause: StopCause::Timeout } => {
                let label = label(path, state);
                self.line(&format!("{label} {}: stopping its steps", mask.quotation(error)));
            }
            event @ (Event::FixWaits { .. } | Event::RepairBegan(_) | Event::RepairEnded { .. }) => {
                self.line(&format!("[auto-fix] {}", mask.quotation(&fixing(event))));
            }
            Event::RunFinished(finished) => self.run_finished(finished, state, mask),
            // shown with the end of the step
            Event::RecipeStopped { cause: StopCause::Refused(_), .. }
            | Event::RecipeEntered { .. }
            | Event::Spawned(_)
            | Event::StepNotBegun { .. }
            | Event::AgentUsed { .. }
            | Event::HookFinished { .. } => {}
        }
    }

    fn run_finished(&mut self, finished: &RunFinished, state: &RunState, mask: &Mask) {
        for text in processes(finished) {
            self.line(&format!("[run] {}", mask.quotation(&text)));
        }
        for text in self.hooks.take_repeated() {
            self.out.notice(&clean(&format!("[run] {}", mask.quotation(&text))));
        }
        let ending = match (state.settings.dry_run, finished.status) {
            (true, engine::RunStatus::Completed) => "dry run completed, nothing was executed".to_owned(),
            (true, _) => "dry run failed, nothing was executed".to_owned(),
            (false, status) => run_ending(status, state),
        };
        self.line(&format!("[recipe {}] {ending}", state.root().unit.name));
    }

    fn started(&mut self, path: &str, attempt: u32, state: &RunState) {
        self.beats.insert(path.to_owned(), Instant::now());
        self.waits.remove(path);
        self.labels.insert(path.to_owned(), label(path, state));
        if is_agent(path, state) {
            self.agents.insert(path.to_owned());
        }
        let Some((frame, at)) = state.locate(path) else { return };
        let is_nested = state.frames[frame].is_nested(at);
        let kind = state.frames[frame].unit.steps[at].kind.word();
        let again = if attempt > 1 { format!(", attempt {attempt}") } else { String::new() };
        let text = match self.manner {
            Manner::Icons => format!("▶ {path} ({}) {kind}{again}", counter(path, state)),
            // nothing starts in a dry run
            _ if state.settings.dry_run && !is_nested => return,
            _ => format!("{} started ({kind}{again})", label(path, state)),
        };
        self.line(&text);
    }

    fn finished(&mut self, path: &str, state: &RunState, mask: &Mask) {
        self.beats.remove(path);
        self.labels.remove(path);
        let was_agent = self.agents.remove(path);
        let last = self.last.remove(path);
        let Some(step) = state.step(path) else { return };
        if was_agent
            && self.audience == Audience::People
            && let Some(answer) = answer(step, mask)
        {
            self.output(path, answer.as_bytes());
            self.flush(path);
        }
        let what = match (&step.skipped, last) {
            (Some(SkipReason::DryRun), Some(preview)) => format!("skipped: dry run, {preview}"),
            _ => ending(step, mask),
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
        self.begin_line();
        let held = self.lines.entry(path.to_owned()).or_default();
        held.extend_from_slice(bytes);
        if let Some(end) = held.iter().rposition(|byte| *byte == b'\n') {
            let whole: Vec<u8> = held.drain(..=end).collect();
            self.out.raw(&whole);
        }
    }

    fn begin_line(&mut self) {
        if !std::mem::replace(&mut self.at_line_start, true) {
            self.out.raw(b"\n");
        }
    }

    /// Shows the last incomplete line of a step.
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
            let elapsed = state.step(&path).and_then(|step| step.started_at).map_or(0.0, |at| {
                (runtime::os::clock::now().as_millisecond() - at.as_millisecond()) as f64 / 1000.0
            });
            let (label, elapsed) = (label(&path, state), so_far(elapsed));
            let text = match self.waits.get(&path) {
                Some((attempt, until)) => {
                    let left = so_far(until.saturating_duration_since(Instant::now()).as_secs_f64().ceil());
                    format!("{label} waiting after {elapsed}: attempt {attempt} starts in {left}")
                }
                None => format!("{label} still running after {elapsed}{}", self.doing(&path)),
            };
            self.line(&text);
        }
    }

    fn doing(&self, path: &str) -> String {
        match self.last.get(path) {
            Some(what) if self.agents.contains(path) => format!("; now: {what}"),
            Some(what) => format!("; last line: {what}"),
            None if self.wants_output() && !self.agents.contains(path) => "; no output so far".to_owned(),
            None => String::new(),
        }
    }

    fn remember(&mut self, path: &str, bytes: &[u8]) {
        let end = &bytes[bytes.len().saturating_sub(LAST)..];
        let lines = end.split(|byte| *byte == b'\n').rev().map(|line| printable(line, Keep::Nothing));
        if let Some(line) =
            lines.map(|line| fit(line.trim(), SHOWN).into_owned()).find(|line| !line.is_empty())
        {
            self.last.insert(path.to_owned(), line);
        }
    }
}

impl Reporter for Progress<'_> {
    fn notice(&mut self, notice: Notice<'_>) {
        match notice {
            Notice::Event { record, state, mask } => {
                self.running = state.running;
                if let Event::StepFinished { path, .. } = &record.event {
                    self.flush(path);
                }
                self.event(record, state, mask);
            }
            // wrappers look for it, even in quiet modes
            Notice::Log { path } => self.out.notice(&clean(&recipe_log(path))),
            Notice::Output { path, .. } if self.agents.contains(path) => {}
            Notice::Output { path, stream, bytes } => {
                if self.tick().is_some() {
                    self.remember(path, bytes);
                }
                if stream == Stream::Stdout {
                    self.output(path, bytes);
                }
            }
            Notice::HookOutput { path, text } => {
                let text = text.trim_end().lines().map(|line| format!("[hook of {path}] {line}\n"));
                self.line(&text.collect::<String>());
            }
            Notice::Activity { path, what } => {
                let what = first_line(what);
                let label = self.labels.get(path).cloned().unwrap_or_else(|| format!("[step {path}]"));
                self.line(&format!("{label} {what}"));
                self.last.insert(path.to_owned(), what.to_owned());
            }
            Notice::Secrets { mask } => self.out.hide(mask),
            Notice::Tick { state } => self.beat(state),
            Notice::Stopping { why } => {
                self.out.hurry();
                self.out.notice(&format!("[run] {why}"));
            }
        }
    }

    fn tick(&self) -> Option<Duration> {
        // often enough to be in time, rarely enough to cost nothing
        self.heartbeat
            .filter(|_| self.manner != Manner::Quiet)
            .map(|interval| (interval / 4).max(Duration::from_millis(50)))
    }

    fn wants_output(&self) -> bool {
        self.audience == Audience::People
    }

    fn has_room(&self) -> bool {
        self.out.has_room()
    }

    fn rest(&mut self, path: &str, stream: Stream, rest: Rest) {
        if stream != Stream::Stdout || self.agents.contains(path) || self.out.leaves_out(path, &rest) {
            return;
        }
        let ends_line = rest.ends_line();
        if self.running <= 1 && self.lines.is_empty() {
            self.at_line_start = ends_line;
            return self.out.rest(rest);
        }
        self.begin_line();
        self.out.raw(&self.lines.remove(path).unwrap_or_default());
        self.out.rest(rest);
        if !ends_line {
            self.out.raw(b"\n");
        }
    }
}

/// Whether a step calls an agent: the output of such a program is for machines, its answer is for users.
pub(crate) fn is_agent(path: &str, state: &RunState) -> bool {
    state.locate(path).is_some_and(|(frame, at)| {
        matches!(state.frames[frame].unit.steps[at].kind, recipe::plan::StepKind::Agent(_))
    })
}

/// The answer of an agent.
pub(crate) fn answer(step: &StepState, mask: &Mask) -> Option<String> {
    let text = mask.value("", step.value.as_ref()?).render().into_owned();
    let text = text.trim_end();
    (!text.is_empty()).then(|| format!("{text}\n"))
}
