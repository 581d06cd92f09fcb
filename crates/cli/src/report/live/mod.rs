//! A run on a terminal: running steps are redrawn in place, finished ones scroll away above them.
//!
//! Never mixes a step's output with the block of running steps on one line, and never draws more often than a person
//! can read.

mod asking;
mod rest;
mod screen;
mod signals;
mod steps;
mod text;
mod view;

#[cfg(test)]
mod tests;

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use engine::{
    Event, Outcome, Record, RunState, StepStatus,
    run::{event::RunFinished, message::in_short, outcome::StopCause},
};
use jiff::Timestamp;
use runtime::{
    os::clock,
    run::{Notice, Reporter},
    store::{
        outputs::{Rest, Stream},
        secrets::Mask,
    },
};

pub(crate) use steps::has_company;
pub(crate) use text::{Keep, columns, fit, printable, squeeze};

use self::{
    screen::{Screen, size},
    signals::Signals,
    steps::{Watched, collect},
    text::coloured,
    view::{Doing, Size, View, lines},
};
use crate::{
    environment::TerminalFeatures,
    out::Out,
    report::{
        audience::Audience,
        failure::clean,
        hints::Hints,
        hook_failures::HookFailures,
        progress::{answer, gives_data, is_agent},
        prompt::Prompt,
        step_output::Labels,
        words::{
            count, counter, duration, ending, ends_block, first_line, fixing, iteration_wait, kept,
            last_icon, next_attempt, processes, recipe_log, run_ending, run_icon,
        },
    },
};

/// Shortest time between two frames.
const FRAME: Duration = Duration::from_millis(100);
/// The most output that waits for the next frame.
const PENDING: usize = 64 * 1024;

/// Shows a run on a terminal.
pub(crate) struct Live<'a> {
    out: &'a mut Out,
    audience: Audience,
    hints: Hints,
    screen: Screen,
    signals: Signals,
    view: View,
    steps: HashMap<String, Watched>,
    labels: Labels,
    pending: Vec<Chunk>,
    pending_bytes: usize,
    drawn: Option<Instant>,
    hooks: HookFailures,
    prompt: Option<Prompt>,
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
    pub(crate) fn new(
        out: &'a mut Out,
        audience: Audience,
        hints: Hints,
        features: TerminalFeatures,
    ) -> Live<'a> {
        Live {
            out,
            audience,
            hints,
            screen: Screen::default(),
            signals: Signals::new(features),
            view: View::default(),
            steps: HashMap::new(),
            labels: Labels::default(),
            pending: Vec::new(),
            pending_bytes: 0,
            drawn: None,
            hooks: HookFailures::default(),
            prompt: None,
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
        if self.ask_here(size) {
            return;
        }
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
        let signals = self.signals.update(&self.view);
        self.out.steer(&(block + &signals));
        self.drawn = Some(clock::instant());
    }

    /// Writes the waiting output in place of the block, which is removed.
    fn scroll(&mut self, size: Size) {
        if self.pending.is_empty() {
            return;
        }
        self.take_prompt_away();
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
        let erased = self.screen.erase(size.columns) + &self.signals.end();
        self.out.steer(&erased);
    }

    fn event(&mut self, record: &Record, state: &RunState, mask: &Mask) {
        match &record.event {
            Event::RunStarted(started) => {
                self.audience = self.audience.of_run(state);
                let steps = count(state.root().steps.len(), "step");
                self.line('▶', &format!("{}: {steps}, run {}", started.recipe, started.run_id));
                self.view.since = Some(record.at);
            }
            Event::RunResumed(resumed) => {
                self.audience = self.audience.of_run(state);
                self.line('▶', &format!("resuming {}: {}", state.root().unit.name, kept(state, resumed)));
                self.view.since = Some(record.at);
            }
            Event::StepStarted { path, .. } | Event::CheckRepeated { path, .. } => {
                self.started(path, state);
            }
            Event::StepFinished { path, .. } | Event::StepSkipped { path, .. } => {
                self.finished(path, state, mask)
            }
            // the run was stopped: no attempt follows
            Event::AttemptFailed { path, ended, .. } if ended.outcome == Outcome::Cancelled => {
                self.finished(path, state, mask);
            }
            Event::AttemptFailed { path, attempt, ended, retry_in_ms } => {
                let why = mask.quotation(first_line(&in_short(ended))).into_owned();
                let next = next_attempt(*retry_in_ms);
                self.flush(path);
                self.line('↻', &format!("{path}: attempt {attempt} failed: {why}; {next}"));
                let pause = Duration::from_millis(*retry_in_ms);
                let until = record.at.checked_add(pause).unwrap_or(Timestamp::MAX);
                self.steps.entry(path.clone()).or_default().wait = Some((until, why));
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
            event @ (Event::QuestionPut(_) | Event::Answered(_) | Event::QuestionWithdrawn { .. }) => {
                self.question(event, mask);
            }
            event @ (Event::FixWaits { .. } | Event::RepairBegan(_) | Event::RepairEnded { .. }) => {
                self.line('·', &format!("auto-fix: {}", mask.quotation(&fixing(event))));
            }
            Event::RunFinished(finished) => self.run_finished(finished, state, mask),
            // not shown, or shown with the end of the step
            _ => {}
        }
    }

    /// Shows the warnings about a run that ended, and how it ended if the result does not go to the same place.
    fn run_finished(&mut self, finished: &RunFinished, state: &RunState, mask: &Mask) {
        let messages = processes(finished).chain(self.hooks.take_repeated());
        messages.for_each(|text| self.line('⚠', &mask.quotation(&text)));
        if !self.out.stdout_is_terminal {
            self.line(
                run_icon(finished.status),
                &format!("{} {}", state.root().unit.name, run_ending(finished.status, state)),
            );
        }
    }

    fn started(&mut self, path: &str, state: &RunState) {
        let watched = self.steps.entry(path.to_owned()).or_default();
        watched.wait = None;
        watched.is_agent = is_agent(path, state);
        watched.is_data = self.audience == Audience::ResultReader && gives_data(path, state);
        if has_company(path, state) {
            self.labels.begin(path);
        }
    }

    fn finished(&mut self, path: &str, state: &RunState, mask: &Mask) {
        self.flush(path);
        let Some((frame, at)) = state.locate(path) else { return };
        let (frame, step) = (&state.frames[frame], &state.frames[frame].steps[at]);
        let is_agent = self.steps.get(path).is_some_and(|watched| watched.is_agent);
        if is_agent
            && self.audience == Audience::People
            && let Some(answer) = answer(step, mask)
        {
            let answer = self.wrapped_answer(path, answer);
            self.print(path, Stream::Stdout, answer.as_bytes());
        }
        self.steps.remove(path);
        self.labels.end(path);
        let counter = counter(path, state);
        let text = match step.status {
            StepStatus::Completed if !step.recovered => duration(step.taken().unwrap_or(0.0)),
            _ => ending(frame, at, state, mask),
        };
        self.line(last_icon(frame.shown_status(at)), &format!("{path} ({counter}) {text}"));
    }

    fn output(&mut self, path: &str, stream: Stream, bytes: &[u8]) {
        let watched = self.steps.entry(path.to_owned()).or_default();
        if watched.is_agent || (watched.is_data && stream == Stream::Stdout) {
            return;
        }
        let last = bytes.split(|byte| *byte == b'\n').rev().map(|line| printable(line, Keep::Nothing));
        let last = last.map(|line| line.trim().to_owned()).find(|line| !line.is_empty());
        watched.last = last.unwrap_or_else(|| std::mem::take(&mut watched.last));
        if self.audience != Audience::Programs {
            self.print(path, stream, bytes);
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
        self.hear(&notice);
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
            Notice::IterationWait { path, seconds } => {
                self.line('↻', &format!("{path}: {}", iteration_wait(seconds)));
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
        if self.audience != Audience::Programs {
            self.print_rest(path, stream, rest);
        }
    }
}

impl Drop for Live<'_> {
    fn drop(&mut self) {
        self.end();
    }
}
