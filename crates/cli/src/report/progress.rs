//! Progress on stderr, and the output of steps on stdout, during a run.
//!
//! Never changes a run, and never mixes the two outputs.

mod heartbeat;
mod step_lines;

use std::{
    collections::{HashMap, HashSet},
    time::{Duration, Instant},
};

use engine::{
    Event, Outcome, Record, RunState,
    run::{
        event::{RunFinished, RunResumed, RunStarted},
        frame::StepState,
        message::in_short,
        outcome::{SkipReason, StopCause},
    },
};
use recipe::plan::{JsonMode, StepKind};
use runtime::{
    os::clock,
    run::{Notice, Reporter},
    store::{
        outputs::{Rest, Stream},
        secrets::Mask,
    },
};

use crate::{
    out::Out,
    report::{
        audience::Audience,
        failure::clean,
        github::{END_GROUP, group},
        hints::Hints,
        hook_failures::HookFailures,
        live::has_company,
        prompt::Prompt,
        step_output::Labels,
        words::{
            asked, count, counter, ending, first_line, fixing, iteration_wait, kept, kind_and_role, label,
            last_icon, next_attempt, processes, recipe_log, run_ending, shortened,
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

/// Shows a run line by line.
pub(crate) struct Progress<'a> {
    out: &'a mut Out,
    manner: Manner,
    audience: Audience,
    heartbeat: Option<Duration>,
    hints: Hints,
    beats: HashMap<String, Instant>,
    /// Incomplete lines of steps, by stream.
    lines: HashMap<(String, Stream), Vec<u8>>,
    /// Steps whose lines need a label.
    beside: Labels,
    /// The last output of running steps, or the activity of their agents.
    last: HashMap<String, String>,
    agents: HashSet<String>,
    /// Steps whose stdout is data.
    data: HashSet<String>,
    labels: HashMap<String, String>,
    /// The next attempt, and its time.
    waits: HashMap<String, (u32, Instant)>,
    hooks: HookFailures,
    prompt: Option<Prompt>,
    groups: Groups,
}

/// The groups of GitHub Actions: one for each step that runs alone.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Groups {
    /// There are none.
    Off,
    /// The step whose group is open.
    On(Option<String>),
}

/// How often to look for a typed line.
const TYPED: Duration = Duration::from_millis(100);

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
            beside: Labels::default(),
            last: HashMap::new(),
            agents: HashSet::new(),
            data: HashSet::new(),
            labels: HashMap::new(),
            waits: HashMap::new(),
            hooks: HookFailures::default(),
            prompt: None,
            groups: Groups::Off,
        }
    }

    /// The same, with each step that runs alone in a group of GitHub Actions.
    pub(crate) fn in_groups(mut self) -> Progress<'a> {
        if self.manner != Manner::Quiet {
            self.groups = Groups::On(None);
        }
        self
    }

    /// Ends the group of a step, if it is open.
    fn end_group(&mut self) {
        if let Groups::On(open) = &mut self.groups
            && open.take().is_some()
        {
            self.out.notice(END_GROUP);
        }
    }

    fn line(&mut self, text: &str) {
        if self.manner != Manner::Quiet {
            self.out.notice(&clean(text));
        }
    }

    fn event(&mut self, record: &Record, state: &RunState, mask: &Mask) {
        match &record.event {
            Event::RunStarted(started) => self.run_started(started, state),
            Event::RunResumed(resumed) => self.run_resumed(resumed, state),
            Event::StepStarted { path, attempt, .. } | Event::CheckRepeated { path, attempt } => {
                self.started(path, *attempt, state);
            }
            Event::StepFinished { path, .. } | Event::StepSkipped { path, .. } => {
                self.finished(path, state, mask);
            }
            // the run was stopped: no attempt follows
            Event::AttemptFailed { path, ended, .. } if ended.outcome == Outcome::Cancelled => {
                self.flush(path);
                self.finished(path, state, mask);
            }
            Event::AttemptFailed { path, attempt, ended, retry_in_ms } => {
                let why = mask.quotation(first_line(&in_short(ended))).into_owned();
                let (label, next) = (label(path, state), next_attempt(*retry_in_ms));
                self.line(&format!("{label} attempt {attempt} failed: {why}; {next}"));
                let until = clock::instant() + Duration::from_millis(*retry_in_ms);
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
            event @ (Event::QuestionPut(_) | Event::Answered(_) | Event::QuestionWithdrawn { .. }) => {
                if let Some((path, text)) = asked(event, mask) {
                    self.line(&format!("{} {text}", label(&path, state)));
                }
            }
            event @ (Event::FixWaits { .. } | Event::RepairBegan(_) | Event::RepairEnded { .. }) => {
                self.line(&format!("[auto-fix] {}", mask.quotation(&fixing(event))));
            }
            Event::RunFinished(finished) => self.run_finished(finished, state, mask),
            // not shown, or shown with the end of the step
            _ => {}
        }
    }

    fn run_started(&mut self, started: &RunStarted, state: &RunState) {
        self.audience = self.audience.of_run(state);
        let steps = count(state.root().steps.len(), "step");
        let run = match state.settings.dry_run {
            true => "dry run, nothing is executed".to_owned(),
            false => format!("run {}", started.run_id),
        };
        self.line(&format!("[recipe {}] started: {steps}, {run}", started.recipe));
    }

    fn run_resumed(&mut self, resumed: &RunResumed, state: &RunState) {
        self.audience = self.audience.of_run(state);
        let (recipe, kept) = (&state.root().unit.name, kept(state, resumed));
        self.line(&format!("[recipe {recipe}] resumed: {kept}"));
    }

    fn run_finished(&mut self, finished: &RunFinished, state: &RunState, mask: &Mask) {
        self.end_group();
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
        self.beats.insert(path.to_owned(), clock::instant());
        self.waits.remove(path);
        self.labels.insert(path.to_owned(), label(path, state));
        if has_company(path, state) {
            self.beside.begin(path);
        }
        if is_agent(path, state) {
            self.agents.insert(path.to_owned());
        }
        // the data of a step is not text for people
        if self.audience == Audience::ResultReader && gives_data(path, state) {
            self.data.insert(path.to_owned());
        }
        let Some((frame, at)) = state.locate(path) else { return };
        let has_steps = state.frames[frame].has_steps(at);
        let kind = kind_and_role(&state.frames[frame], at);
        let attempt = attempt.saturating_sub(state.frames[frame].steps[at].other_attempts);
        let again = if attempt > 1 { format!(", attempt {attempt}") } else { String::new() };
        let text = match self.manner {
            Manner::Icons => format!("▶ {path} ({}) {kind}{again}", counter(path, state)),
            // nothing starts in a dry run
            _ if state.settings.dry_run && !has_steps => return,
            _ => format!("{} started ({kind}{again})", label(path, state)),
        };
        match &mut self.groups {
            Groups::On(open) if !has_steps && !self.beside.has(path) => {
                let is_open = open.replace(path.to_owned()).is_some();
                let end = if is_open { format!("{END_GROUP}\n") } else { String::new() };
                self.out.notice(&format!("{end}{}", group(&text)));
            }
            _ => self.line(&text),
        }
    }

    fn finished(&mut self, path: &str, state: &RunState, mask: &Mask) {
        self.beats.remove(path);
        self.labels.remove(path);
        let was_agent = self.agents.remove(path);
        let last = self.last.remove(path);
        let Some((frame, at)) = state.locate(path) else { return };
        let (frame, step) = (&state.frames[frame], &state.frames[frame].steps[at]);
        if was_agent
            && self.audience == Audience::People
            && let Some(answer) = answer(step, mask)
        {
            self.output(path, Stream::Stdout, answer.as_bytes());
            self.flush(path);
        }
        let what = match (&step.skipped, last) {
            (Some(SkipReason::DryRun), Some(preview)) => format!("skipped: dry run, {preview}"),
            _ => ending(frame, at, state, mask),
        };
        self.beside.end(path);
        if self.groups == Groups::On(Some(path.to_owned())) {
            self.end_group();
        }
        let text = match self.manner {
            Manner::Icons => {
                format!("{} {path} ({}) {what}", last_icon(frame.shown_status(at)), counter(path, state))
            }
            _ => format!("{} {what}", label(path, state)),
        };
        self.line(&text);
    }
}

impl Reporter for Progress<'_> {
    fn notice(&mut self, notice: Notice<'_>) {
        self.hear(&notice);
        match notice {
            Notice::Event { record, state, mask } => {
                if let Event::StepFinished { path, .. } = &record.event {
                    self.flush(path);
                }
                self.event(record, state, mask);
            }
            // wrappers look for it, even in quiet modes
            Notice::Log { path } => self.out.notice(&clean(&recipe_log(path))),
            Notice::Output { path, .. } if self.agents.contains(path) => {}
            Notice::Output { path, stream: Stream::Stdout, .. } if self.data.contains(path) => {}
            Notice::Output { path, stream, bytes } => {
                if self.tick().is_some() {
                    self.remember(path, bytes);
                }
                // quiet runs show only the errors of steps that fail, at the end
                if self.audience.place(stream) == Stream::Stdout || self.manner != Manner::Quiet {
                    self.output(path, stream, bytes);
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
            Notice::IterationWait { path, seconds } => {
                self.line(&format!("[step {path}] {}", iteration_wait(seconds)));
            }
            Notice::Secrets { mask } => self.out.hide(mask),
            Notice::Tick { state } => self.beat(state),
            Notice::Stopping { why } => {
                self.out.hurry();
                self.out.notice(&format!("[run] {why}"));
            }
        }
        self.ask_here();
    }

    fn tick(&self) -> Option<Duration> {
        if self.prompt.is_some() {
            return Some(TYPED);
        }
        // often enough to be in time, rarely enough to cost nothing
        self.heartbeat
            .filter(|_| self.manner != Manner::Quiet)
            .map(|interval| (interval / 4).max(Duration::from_millis(50)))
    }

    fn wants_output(&self) -> bool {
        self.audience != Audience::Programs
    }

    fn has_room(&self) -> bool {
        self.out.has_room()
    }

    fn rest(&mut self, path: &str, stream: Stream, rest: Rest) {
        self.output_rest(path, stream, rest);
    }
}

/// Whether a step calls an agent: the output of such a program is for machines, its answer is for users.
pub(crate) fn is_agent(path: &str, state: &RunState) -> bool {
    state.locate(path).is_some_and(|(frame, at)| {
        let step = &state.frames[frame].unit.steps[at];
        matches!(step.kind, StepKind::Agent(_)) && step.looped.is_none()
    })
}

/// Whether the output of a step is read as JSON.
pub(crate) fn gives_data(path: &str, state: &RunState) -> bool {
    state.locate(path).is_some_and(|(frame, at)| state.frames[frame].unit.steps[at].json != JsonMode::Text)
}

/// The answer of an agent.
pub(crate) fn answer(step: &StepState, mask: &Mask) -> Option<String> {
    let text = mask.value("", step.value.as_ref()?).render().into_owned();
    let text = text.trim_end();
    (!text.is_empty()).then(|| format!("{text}\n"))
}
