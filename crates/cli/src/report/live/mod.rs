//! A run on a terminal: running steps are redrawn in place, finished ones scroll away above them.
//!
//! Never mixes a step's output with the block of running steps on one line, and never draws more often than a person
//! can read.

mod rest;
mod screen;
mod steps;
mod text;
mod view;

#[cfg(test)]
mod tests;

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use engine::{Event, Outcome, Record, RunState, RunStatus, StepStatus, run::outcome::StopCause};
use jiff::Timestamp;
use runtime::{
    os::clock,
    run::{Notice, Reporter},
    store::{
        outputs::{Rest, Stream},
        secrets::Mask,
    },
};

pub(crate) use text::{Keep, fit, printable};

use self::{
    screen::{Screen, size},
    steps::{collect, has_company},
    text::{coloured, without_kind},
    view::{Doing, Size, View, lines},
};
use crate::{
    out::Out,
    report::{
        failure::clean,
        hints::Hints,
        hook_failures::HookFailures,
        progress::{Audience, answer, is_agent},
        words::{
            count, counter, duration, ending, ends_block, first_line, fixing, icon, kept, next_attempt,
            processes, recipe_log, run_ending,
        },
    },
};

/// Shortest time between two frames.
const FRAME: Duration = Duration::from_millis(100);
/// The most output that waits for the next frame.
const PENDING: usize = 64 * 1024;
/// The longest line that waits for its end.
const LONGEST: usize = 64 * 1024;

/// Shows a run on a terminal.
pub(crate) struct Live<'a> {
    out: &'a mut Out,
    audience: Audience,
    hints: Hints,
    screen: Screen,
    view: View,
    steps: HashMap<String, Watched>,
    pending: Vec<Chunk>,
    pending_bytes: usize,
    drawn: Option<Instant>,
    hooks: HookFailures,
}

/// The state of a running step.
#[derive(Default)]
struct Watched {
    /// Its last output, or the activity of its agent.
    last: String,
    /// Output that waits for the end of its line.
    held: Vec<u8>,
    /// The time of the next attempt, and why the last one failed.
    wait: Option<(Timestamp, String)>,
    /// Whether its raw output is for machines.
    is_agent: bool,
    /// Whether other steps may run at the same time.
    has_company: bool,
}

/// Something that scrolls away.
enum Chunk {
    /// For stdout.
    Output(String),
    /// For stderr.
    Line(String),
}

impl<'a> Live<'a> {
    /// Shows nothing yet.
    pub(crate) fn new(out: &'a mut Out, audience: Audience, hints: Hints) -> Live<'a> {
        Live {
            out,
            audience,
            hints,
            screen: Screen::default(),
            view: View::default(),
            steps: HashMap::new(),
            pending: Vec::new(),
            pending_bytes: 0,
            drawn: None,
            hooks: HookFailures::default(),
        }
    }

    fn push(&mut self, chunk: Chunk) {
        self.pending_bytes += match &chunk {
            Chunk::Output(text) | Chunk::Line(text) => text.len(),
        };
        match (self.pending.last_mut(), chunk) {
            (Some(Chunk::Output(before)), Chunk::Output(more)) => before.push_str(&more),
            (_, chunk) => self.pending.push(chunk),
        }
    }

    fn line(&mut self, icon: char, text: &str) {
        self.push(Chunk::Line(format!("{} {}", coloured(icon), clean(text))));
    }

    /// Shows new output, unless the last frame was just drawn.
    fn refresh(&mut self) {
        let is_due = self.drawn.is_none_or(|at| at.elapsed() >= FRAME);
        if is_due || self.pending_bytes > PENDING {
            self.frame();
        }
    }

    fn frame(&mut self) {
        // a queued frame would be out of date when it is written
        if !self.out.has_room() {
            return;
        }
        let size = size();
        let mut rows = std::mem::take(&mut self.view.rows);
        rows.iter_mut().for_each(|row| row.doing = self.doing(&row.path));
        self.view.rows = rows;
        let mut lines = lines(&self.view, clock::now(), size);
        self.out.stderr_styles(&mut lines);
        if self.pending.is_empty() && self.screen.shows(&lines, size.columns) {
            return;
        }
        self.scroll(size);
        let block = self.screen.draw(lines, size.columns);
        self.out.steer(&block);
        self.drawn = Some(Instant::now());
    }

    /// Writes the waiting output in place of the block, which is removed.
    fn scroll(&mut self, size: Size) {
        if self.pending.is_empty() {
            return;
        }
        self.out.steer(&self.screen.erase(size.columns));
        for chunk in std::mem::take(&mut self.pending) {
            match chunk {
                Chunk::Output(text) => self.out.raw(text.as_bytes()),
                Chunk::Line(text) => self.out.notice(&text),
            }
        }
        self.pending_bytes = 0;
    }

    /// Removes the block; only scrolled output stays on the screen.
    fn end(&mut self) {
        let size = size();
        self.scroll(size);
        self.out.steer(&self.screen.erase(size.columns));
    }

    fn event(&mut self, record: &Record, state: &RunState, mask: &Mask) {
        match &record.event {
            Event::RunStarted(started) => {
                let steps = count(state.root().steps.len(), "step");
                self.line('▶', &format!("{}: {steps}, run {}", started.recipe, started.run_id));
                self.view.since = Some(record.at);
            }
            Event::RunResumed(resumed) => {
                let given_up = resumed.given_up();
                let again = match given_up.len() {
                    0 => String::new(),
                    _ => format!("; re-runs: {}", given_up.join(", ")),
                };
                self.line('▶', &format!("resuming {}: {}{again}", state.root().unit.name, kept(state)));
                self.view.since = Some(record.at);
            }
            Event::StepStarted { path, .. } => {
                let watched = self.steps.entry(path.clone()).or_default();
                watched.wait = None;
                watched.is_agent = is_agent(path, state);
                watched.has_company = has_company(path, state);
            }
            Event::StepFinished { path, .. } | Event::StepSkipped { path, .. } => {
                self.finished(path, state, mask)
            }
            Event::AttemptFailed { ended, .. } if ended.outcome == Outcome::Cancelled => {}
            Event::AttemptFailed { path, attempt, ended, retry_in_ms } => {
                let why = mask.quotation(first_line(ended.error.as_deref().unwrap_or("failed"))).into_owned();
                self.flush(path);
                let next = next_attempt(*retry_in_ms);
                self.line('↻', &format!("{path}: attempt {attempt} failed: {}; {next}", without_kind(&why)));
                let until =
                    record.at.checked_add(Duration::from_millis(*retry_in_ms)).unwrap_or(Timestamp::MAX);
                self.steps.entry(path.clone()).or_default().wait = Some((until, without_kind(&why).into()));
            }
            Event::HookFinished { path, hook, error: Some(error) } if self.hooks.is_first(hook, error) => {
                self.line('⚠', &format!("{path}: hook {hook} failed: {}", mask.quotation(error)));
            }
            Event::Noted { path, message, next } => {
                let path = path.as_ref().map(|path| format!("{path}: ")).unwrap_or_default();
                let note = self.hints.note(message, next.as_ref());
                self.line('·', &format!("{path}{}", mask.quotation(&note)));
            }
            Event::RecipeStopped { path, error, cause: StopCause::Timeout } => {
                self.line('⚠', &format!("{path}: {}: stopping its steps", mask.quotation(error)));
            }
            event @ (Event::FixWaits { .. } | Event::RepairBegan(_) | Event::RepairEnded { .. }) => {
                self.line('·', &format!("auto-fix: {}", mask.quotation(&fixing(event))));
            }
            Event::RunFinished(finished) => {
                let messages = processes(finished).chain(self.hooks.take_repeated());
                messages.for_each(|text| self.line('⚠', &mask.quotation(&text)));
                if !self.out.stdout_is_terminal {
                    self.run_finished(finished.status, state);
                }
            }
            // shown with the end of the step
            Event::RecipeStopped { cause: StopCause::Refused(_), .. }
            | Event::RecipeEntered { .. }
            | Event::Spawned(_)
            | Event::StepNotBegun { .. }
            | Event::AgentUsed { .. }
            | Event::HookFinished { .. } => {}
        }
    }

    /// Shows how the run ended if the result does not go to the same place.
    fn run_finished(&mut self, status: RunStatus, state: &RunState) {
        let icon = if status == RunStatus::Completed { '✓' } else { '✗' };
        self.line(icon, &format!("{} {}", state.root().unit.name, run_ending(status, state)));
    }

    fn finished(&mut self, path: &str, state: &RunState, mask: &Mask) {
        self.flush(path);
        let Some(step) = state.step(path) else { return };
        let is_agent = self.steps.get(path).is_some_and(|watched| watched.is_agent);
        if is_agent
            && self.audience == Audience::People
            && let Some(answer) = answer(step, mask)
        {
            self.print(path, answer.as_bytes());
        }
        self.steps.remove(path);
        let counter = counter(path, state);
        let text = match step.status {
            StepStatus::Completed if !step.recovered => duration(crate::report::words::taken(step)),
            _ => ending(step, mask),
        };
        self.line(icon(step.status), &format!("{path} ({counter}) {text}"));
    }

    fn output(&mut self, path: &str, stream: Stream, bytes: &[u8]) {
        let watched = self.steps.entry(path.to_owned()).or_default();
        if watched.is_agent {
            return;
        }
        let last = bytes.split(|byte| *byte == b'\n').rev().map(|line| printable(line, Keep::Nothing));
        if let Some(last) = last.map(|line| line.trim().to_owned()).find(|line| !line.is_empty()) {
            watched.last = last;
        }
        if stream == Stream::Stdout && self.audience == Audience::People {
            self.print(path, bytes);
        }
    }

    /// Writes a step's output to stdout: whole lines on a terminal, unchanged bytes elsewhere.
    fn print(&mut self, path: &str, bytes: &[u8]) {
        let watched = self.steps.entry(path.to_owned()).or_default();
        if !self.out.stdout_is_terminal && !watched.has_company {
            return self.out.raw(bytes);
        }
        let held = &mut watched.held;
        held.extend_from_slice(bytes);
        let end = match held.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => end + 1,
            None if held.len() > LONGEST => held.len(),
            None => return,
        };
        let whole: Vec<u8> = held.drain(..end).collect();
        self.print_lines(path, &whole);
    }

    fn print_lines(&mut self, path: &str, bytes: &[u8]) {
        if !self.out.stdout_is_terminal {
            self.out.raw(bytes);
            return if bytes.last() != Some(&b'\n') {
                self.out.raw(b"\n")
            };
        }
        let keep = if self.out.stdout_colour { Keep::Colours } else { Keep::Nothing };
        // next to other steps, a line has to name its step
        let has_company = self.steps.get(path).is_some_and(|watched| watched.has_company);
        let whose = if has_company { format!("{} │ ", clean(path)) } else { String::new() };
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        for line in bytes.split(|byte| *byte == b'\n') {
            self.push(Chunk::Output(format!("{whose}{}\n", printable(line, keep))));
        }
    }

    /// Shows the last incomplete line of a step.
    fn flush(&mut self, path: &str) {
        let Some(watched) = self.steps.get_mut(path) else { return };
        let rest = std::mem::take(&mut watched.held);
        if !rest.is_empty() {
            self.print_lines(path, &rest);
        }
    }

    fn look(&mut self, state: &RunState) {
        let root = state.root();
        self.view.recipe = clean(&root.unit.name);
        self.view.total = root.steps.len();
        self.view.done = root.steps.iter().filter(|step| step.status.is_final()).count();
        self.view.rows.clear();
        collect(state, 0, 0, &mut self.view.rows);
    }

    fn doing(&self, path: &str) -> Doing {
        match self.steps.get(path) {
            Some(Watched { wait: Some((until, why)), .. }) => {
                Doing::Waiting { until: *until, why: clean(why) }
            }
            Some(watched) if !watched.last.is_empty() => Doing::At(watched.last.clone()),
            _ => Doing::Nothing,
        }
    }
}

impl Reporter for Live<'_> {
    fn notice(&mut self, notice: Notice<'_>) {
        match notice {
            Notice::Event { record, state, mask } => {
                self.event(record, state, mask);
                if ends_block(&record.event) {
                    return self.end();
                }
                if self.drawn.is_none_or(|at| at.elapsed() >= FRAME) {
                    self.look(state);
                }
            }
            Notice::Log { path } => return self.push(Chunk::Line(clean(&recipe_log(path)))),
            Notice::Output { path, stream, bytes } => self.output(path, stream, bytes),
            Notice::HookOutput { path, text } => {
                text.trim_end().lines().for_each(|line| self.line('·', &format!("{path}: {line}")));
            }
            Notice::Activity { path, what } => {
                self.steps.entry(path.to_owned()).or_default().last = clean(first_line(what));
            }
            Notice::Secrets { mask } => self.out.hide(mask),
            Notice::Tick { state } => self.look(state),
            Notice::Stopping { why } => {
                self.out.hurry();
                self.line('⚠', why);
                self.view.stopping = Some("stopping".to_owned());
            }
        }
        self.refresh();
    }

    fn tick(&self) -> Option<Duration> {
        Some(FRAME)
    }

    fn wants_output(&self) -> bool {
        true
    }

    fn has_room(&self) -> bool {
        self.out.has_room()
    }

    fn rest(&mut self, path: &str, stream: Stream, rest: Rest) {
        if stream == Stream::Stdout && self.audience == Audience::People {
            self.print_rest(path, rest);
        }
    }
}

impl Drop for Live<'_> {
    fn drop(&mut self) {
        self.end();
    }
}
