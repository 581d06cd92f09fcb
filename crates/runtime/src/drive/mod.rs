//! The loop: decides, records, acts, and takes in what comes back.
//!
//! Record, then act: what a decision starts is started only when the decision is on disk. A failed append stops
//! the run; a reporter cannot.

mod act;
mod ask;
mod hooks;
mod recover;
mod take;

use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    ffi::OsString,
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use engine::{
    Event, Record, RunState, RunStatus,
    decide::{Decision, decide},
    event::{RunFinished, Stored},
    frame::FrameId,
};
use recipe::{check::Loader, plan::Plan, value::Value};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::{mpsc, watch},
    task::JoinSet,
};

use crate::{
    agent_attempt::AgentSettings,
    attempt::{Finished, Go, Progress},
    audit::Audit,
    budget::Ledger,
    clock,
    context_file::ContextFile,
    folder::{FolderError, Options, RunFolder},
    host::Host,
    journal::{Journal, JournalError},
    mask::Mask,
    outputs::{Outputs, Stream},
    process,
    sources::Recording,
    values,
};

/// Why the runner itself could not go on.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// The journal failed.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A file of the run failed.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The audit log failed.
    #[error("cannot write the audit log `{}`: {source}", path.display())]
    Audit {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// Signals or tasks of the operating system failed.
    #[error("cannot watch for signals: {0}")]
    Signals(std::io::Error),
}

/// What the loop tells while it runs.
#[derive(Debug)]
pub enum Notice<'a> {
    /// Something happened; the state is the one after it.
    Event {
        /// What.
        record: &'a Record,
        /// The state.
        state: &'a RunState,
    },
    /// A step printed something.
    Output {
        /// The step.
        path: &'a str,
        /// Where.
        stream: Stream,
        /// What; secrets are masked.
        bytes: &'a [u8],
    },
    /// A hook printed something.
    HookOutput {
        /// The step.
        path: &'a str,
        /// What.
        text: &'a str,
    },
    /// What an agent is doing.
    Activity {
        /// The step.
        path: &'a str,
        /// In a few words.
        what: &'a str,
    },
    /// Time has passed.
    Tick {
        /// The state.
        state: &'a RunState,
    },
    /// The run was told to stop and is cleaning up.
    Stopping {
        /// Why.
        why: &'a str,
    },
}

/// Shows a run to somebody. It cannot change or stop it.
pub trait Reporter {
    /// Takes a notice.
    fn notice(&mut self, notice: Notice<'_>);
    /// How often it wants to be told that time has passed.
    fn tick(&self) -> Option<Duration>;
    /// Whether it wants to see what steps print.
    fn wants_output(&self) -> bool;
}

/// Why a run was told to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Halt {
    /// SIGINT.
    Interrupt,
    /// SIGTERM or SIGHUP.
    Terminate,
    /// Another process asked for it.
    Cancel,
}

/// Everything that a run needs to go on.
pub struct Driver<'a> {
    pub(crate) run_id: String,
    pub(crate) folder: Option<RunFolder>,
    pub(crate) journal: Option<Journal>,
    pub(crate) plan: Plan,
    pub(crate) state: RunState,
    pub(crate) options: Options,
    pub(crate) host: Host,
    pub(crate) base_env: BTreeMap<OsString, OsString>,
    pub(crate) working_dir: PathBuf,
    pub(crate) loader: &'a dyn Loader,
    pub(crate) recording: Option<&'a Recording<'a>>,
    pub(crate) generation: u32,
    pub(crate) reporter: &'a mut dyn Reporter,
    pub(crate) mask: Mask,
    pub(crate) audit: Option<Audit>,
    pub(crate) agents: AgentSettings,
    seq: u64,
    tasks: JoinSet<TaskDone>,
    gates: HashMap<String, watch::Sender<Go>>,
    progress: (mpsc::UnboundedSender<Progress>, mpsc::UnboundedReceiver<Progress>),
    outputs: Outputs,
    contexts: HashMap<FrameId, ContextFile>,
    closing: HashSet<FrameId>,
    running_agents: HashSet<String>,
    waiting_agents: VecDeque<(String, u32)>,
    ledger: Arc<Ledger>,
    spent_before: Option<Spent>,
    without_cost: HashSet<String>,
    rate_tries: HashMap<String, u64>,
    rate_models: HashMap<String, String>,
    tries: HashMap<String, u64>,
    hooked: HashSet<String>,
    previews: HashMap<String, String>,
    carry: HashMap<(String, bool), Vec<u8>>,
    halt: Option<Halt>,
    unsettled: Vec<Act>,
}

/// What a finished task brings.
pub(crate) enum TaskDone {
    /// An attempt came to its end.
    Attempt {
        path: String,
        attempt: u32,
        hook: Option<hooks::HookReport>,
        result: Box<Result<Finished, FolderError>>,
    },
    /// A hook came to its end.
    Hook { report: hooks::HookReport },
    /// The time before another attempt is over.
    Retry { path: String },
    /// A nested recipe can be entered, or cannot.
    Enter { path: String, hook: Option<hooks::HookReport>, problem: Option<String> },
    /// A nested recipe took too long.
    NestedTimeout { path: String, seconds: f64 },
    /// A recovery agent gave its answer.
    Recovered {
        path: String,
        frame: FrameId,
        answer: crate::recovery::Verdict,
        usage: Option<engine::event::Usage>,
    },
    /// The runner itself failed inside a task.
    Broken(FolderError),
}

/// What agents had used up before this process: in all, and below every recipe step.
#[derive(Clone, Debug)]
struct Spent {
    all: engine::event::Usage,
    below: HashMap<String, engine::event::Usage>,
}

/// Something to do once the record is on disk.
pub(crate) enum Act {
    Start { path: String, attempt: u32 },
    Close { path: String, frame: FrameId },
    Hook { path: String, failed: bool },
}

/// Parts that a driver is made of.
pub struct Parts<'a> {
    /// The run.
    pub run_id: String,
    /// Its folder; without one nothing is written.
    pub folder: Option<RunFolder>,
    /// Its journal.
    pub journal: Option<Journal>,
    /// Its plan.
    pub plan: Plan,
    /// Its state.
    pub state: RunState,
    /// Its options.
    pub options: Options,
    /// The machine.
    pub host: Host,
    /// Where it works.
    pub working_dir: PathBuf,
    /// Brings recipes whose names become known later.
    pub loader: &'a dyn Loader,
    /// Remembers what the loader brings.
    pub recording: Option<&'a Recording<'a>>,
    /// Which sources it works with.
    pub generation: u32,
    /// Shows it to somebody.
    pub reporter: &'a mut dyn Reporter,
    /// Its audit log.
    pub audit: Option<Audit>,
    /// How agents are run.
    pub agents: AgentSettings,
}

impl<'a> Driver<'a> {
    /// A driver; must be made inside a tokio runtime.
    pub fn new(parts: Parts<'a>) -> Driver<'a> {
        let tree = parts.host.tree(&parts.run_id);
        let mut mask = Mask::new(parts.plan.units.iter().flat_map(|unit| unit.secrets.clone()));
        parts.state.frames.iter().for_each(|frame| mask.learn(&frame.context));
        let base_env = parts.host.step_env(&tree);
        Driver {
            run_id: parts.run_id,
            folder: parts.folder,
            journal: parts.journal,
            plan: parts.plan,
            state: parts.state,
            options: parts.options,
            base_env,
            host: parts.host,
            working_dir: parts.working_dir,
            loader: parts.loader,
            recording: parts.recording,
            generation: parts.generation,
            reporter: parts.reporter,
            mask,
            audit: parts.audit,
            agents: parts.agents,
            seq: 0,
            tasks: JoinSet::new(),
            gates: HashMap::new(),
            progress: mpsc::unbounded_channel(),
            outputs: Outputs::new(),
            contexts: HashMap::new(),
            closing: HashSet::new(),
            running_agents: HashSet::new(),
            waiting_agents: VecDeque::new(),
            ledger: Arc::default(),
            spent_before: None,
            without_cost: HashSet::new(),
            rate_tries: HashMap::new(),
            rate_models: HashMap::new(),
            tries: HashMap::new(),
            hooked: HashSet::new(),
            previews: HashMap::new(),
            carry: HashMap::new(),
            halt: None,
            unsettled: Vec::new(),
        }
    }

    /// What is left when the run is over: plan, state, secrets, and what a dry run would have done.
    pub fn into_parts(self) -> (Plan, RunState, Mask, HashMap<String, String>) {
        (self.plan, self.state, self.mask, self.previews)
    }

    /// Runs to the end, or until told to stop. `first` are events to begin with.
    pub async fn run(&mut self, first: Vec<Event>) -> Result<(), DriveError> {
        process::become_reaper();
        let mut signals = Signals::new().map_err(DriveError::Signals)?;
        for event in first {
            self.record(event, None)?;
        }
        let worked = self.work(&mut signals).await;
        if let Err(error) = worked {
            self.stop_everything().await;
            return Err(error);
        }
        self.finish().await
    }

    async fn work(&mut self, signals: &mut Signals) -> Result<(), DriveError> {
        let mut ticks = self.reporter.tick().map(tokio::time::interval);
        if let Some(ticks) = &mut ticks {
            ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            ticks.tick().await;
        }
        let reaper = process::reap_adopted();
        tokio::pin!(reaper);
        loop {
            if self.halt.is_none() && self.advance()? {
                return Ok(());
            }
            if self.halt.is_some() && self.tasks.is_empty() {
                return Ok(());
            }
            let tick = async {
                match &mut ticks {
                    Some(ticks) => drop(ticks.tick().await),
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                halt = signals.next() => self.halt(halt),
                Some(progress) = self.progress.1.recv() => self.take_progress(progress)?,
                Some(done) = self.tasks.join_next() => self.take(done)?,
                () = self.outputs.changed() => self.forward_output(),
                () = tick => self.reporter.notice(Notice::Tick { state: &self.state }),
                _ = &mut reaper => {}
            }
        }
    }

    /// Decides and acts until something has to happen first; says whether the run has come to its end.
    fn advance(&mut self) -> Result<bool, DriveError> {
        loop {
            let closing = &self.closing;
            match decide(&self.state, &|frame| closing.contains(&frame)) {
                Some(Decision::End) => return Ok(true),
                Some(Decision::Record(event)) => self.record(*event, None)?,
                Some(Decision::Start { path, attempt }) => {
                    self.record(Event::StepStarted { path: path.clone(), attempt }, None)?;
                    self.unsettled.push(Act::Start { path, attempt });
                }
                Some(Decision::Close { path, frame }) => {
                    self.closing.insert(frame);
                    self.unsettled.push(Act::Close { path, frame });
                }
                None if self.unsettled.is_empty() => return Ok(false),
                None => self.perform()?,
            }
        }
    }

    /// Brings the records to disk, then does what they promise.
    fn perform(&mut self) -> Result<(), DriveError> {
        if let Some(journal) = &mut self.journal {
            journal.sync()?;
        }
        for act in std::mem::take(&mut self.unsettled) {
            match act {
                Act::Start { path, attempt } => self.start(&path, attempt)?,
                Act::Close { path, frame } => self.close(&path, frame)?,
                Act::Hook { path, failed } => self.start_hook(&path, failed),
            }
        }
        Ok(())
    }

    /// Appends an event to the journal, changes the state by it, and tells about it.
    pub(crate) fn record(&mut self, event: Event, value: Option<Value>) -> Result<(), DriveError> {
        let at = clock::now();
        let record = match &mut self.journal {
            Some(journal) => journal.append(at, event),
            None => {
                self.seq += 1;
                Record { seq: self.seq, at, event }
            }
        };
        if let Some(value) = &value {
            self.learn_secret(&record.event, value);
        }
        self.state.apply(&self.plan, &record, value);
        if let Event::StepFinished { path, status, attempt, .. } = &record.event
            && *attempt > 0
            && self.has_hooks(path)
        {
            let failed = *status == engine::StepStatus::Failed;
            self.unsettled.push(Act::Hook { path: path.clone(), failed });
        }
        if let Event::RecipeEntered { path, .. } = &record.event
            && let Some(frame) = self.state.step(path).and_then(|step| step.frame)
        {
            self.mask.learn(&self.state.frames[frame].context);
        }
        if let Some(audit) = &mut self.audit {
            audit.record(&record.event, &self.state, &self.mask)?;
        }
        self.reporter.notice(Notice::Event { record: &record, state: &self.state });
        Ok(())
    }

    fn has_hooks(&self, path: &str) -> bool {
        self.state.locate(path).is_some_and(|(frame, _)| {
            let hooks = &self.state.frames[frame].unit.hooks;
            hooks.post_step.is_some() || hooks.on_error.is_some()
        })
    }

    fn learn_secret(&mut self, event: &Event, value: &Value) {
        let Event::StepFinished { path, .. } = event else { return };
        let store = self
            .state
            .locate(path)
            .and_then(|(frame, at)| self.state.frames[frame].unit.steps[at].store.clone());
        if let Some(name) = store {
            self.mask.learn_value(&name, value);
        }
    }

    fn take_progress(&mut self, progress: Progress) -> Result<(), DriveError> {
        match progress {
            Progress::Spawned { path, attempt, id, argv, cwd } => {
                let spawned = engine::event::Spawned {
                    path,
                    attempt,
                    pid: id.pid.unsigned_abs(),
                    start_time: id.start_time,
                    argv,
                    cwd,
                };
                self.record(Event::Spawned(spawned), None)?;
                if let Some(journal) = &mut self.journal {
                    journal.write()?;
                }
            }
            Progress::Activity { path, what } => {
                let what = self.mask.text(&what).into_owned();
                self.reporter.notice(Notice::Activity { path: &path, what: &what });
            }
        }
        Ok(())
    }

    fn halt(&mut self, halt: Halt) {
        let halt = match halt {
            Halt::Cancel if !self.cancel_requested() => return,
            halt => halt,
        };
        let why = match halt {
            Halt::Interrupt => "interrupted: ending what is running",
            Halt::Terminate => "told to terminate: ending what is running",
            Halt::Cancel => "cancelled: ending what is running",
        };
        self.reporter.notice(Notice::Stopping { why });
        self.halt.get_or_insert(halt);
        for gate in self.gates.values() {
            let _ = gate.send(Go::Stop);
        }
    }

    /// Whether another process left a request to cancel in the inbox.
    fn cancel_requested(&self) -> bool {
        self.folder.as_ref().is_some_and(|folder| folder.inbox().join("cancel").exists())
    }

    /// Ends every process of the run, when the runner itself cannot go on.
    async fn stop_everything(&mut self) {
        for gate in self.gates.values() {
            let _ = gate.send(Go::Stop);
        }
        process::end_marked(&process::Filter::run(&self.run_id), self.host.grace).await;
        self.tasks.abort_all();
    }

    /// Ends what is left of the run's processes and writes its last record.
    async fn finish(&mut self) -> Result<(), DriveError> {
        let mut ended_processes = Vec::new();
        if self.folder.is_some() {
            let swept = process::end_marked(&process::Filter::run(&self.run_id), self.host.grace).await;
            let ended = swept.ended.iter().chain(&swept.killed).chain(&swept.left);
            ended_processes = ended.map(|survivor| survivor.command.clone()).collect();
        }
        self.forward_output();
        let finished = self.result(ended_processes)?;
        self.record(Event::RunFinished(finished), None)?;
        if let Some(journal) = &mut self.journal {
            journal.sync()?;
        }
        Ok(())
    }

    fn result(&self, ended_processes: Vec<String>) -> Result<RunFinished, DriveError> {
        let (status, exit_code) = match self.halt {
            Some(Halt::Interrupt) => (RunStatus::Interrupted, 130),
            Some(Halt::Terminate) => (RunStatus::Interrupted, 143),
            Some(Halt::Cancel) => (RunStatus::Cancelled, 130),
            None if self.state.root().failed_at.is_none() => (RunStatus::Completed, 0),
            None if self.state.needs_human() => (RunStatus::Waiting, 6),
            None => (RunStatus::Failed, 1),
        };
        let root = self.state.root();
        let error = match (status, root.failed_at) {
            (RunStatus::Completed, _) => None,
            (RunStatus::Failed | RunStatus::Waiting, Some(at)) => {
                root.steps[at].ended.as_ref().and_then(|ended| ended.error.clone())
            }
            (RunStatus::Interrupted, _) => {
                Some(format!("interrupted by {}", if exit_code == 130 { "SIGINT" } else { "SIGTERM" }))
            }
            _ => Some("cancelled".to_owned()),
        };
        let usage = (self.state.used.runs > 0).then(|| self.state.used.clone());
        Ok(RunFinished { status, exit_code, error, output: self.final_output()?, ended_processes, usage })
    }

    fn final_output(&self) -> Result<Option<Stored>, DriveError> {
        let root = self.state.root();
        if root.unit.output.is_none() || !root.is_complete() {
            return Ok(None);
        }
        let Some(value) = engine::decide::result(root) else { return Ok(None) };
        match &self.folder {
            Some(folder) => Ok(Some(values::store(folder.path(), std::path::Path::new("."), &value)?)),
            None => Ok(Some(Stored::Inline(value))),
        }
    }

    /// Hands on what steps have printed, with secrets masked.
    fn forward_output(&mut self) {
        let Driver { outputs, reporter, mask, carry, .. } = self;
        let wants = reporter.wants_output();
        outputs.drain(&mut |path, stream, bytes| {
            if wants {
                forward(*reporter, mask, carry, path, stream, bytes);
            }
        });
    }

    /// Stops following a step, after a last look.
    pub(crate) fn end_output(&mut self, path: &str) {
        let Driver { outputs, reporter, mask, carry, .. } = self;
        let wants = reporter.wants_output();
        outputs.forget(path, &mut |path, stream, bytes| {
            if wants {
                forward(*reporter, mask, carry, path, stream, bytes);
            }
        });
        for is_stdout in [true, false] {
            if let Some(rest) = carry.remove(&(path.to_owned(), is_stdout)) {
                let stream = if is_stdout { Stream::Stdout } else { Stream::Stderr };
                let text = String::from_utf8_lossy(&rest).into_owned();
                reporter.notice(Notice::Output { path, stream, bytes: mask.text(&text).as_bytes() });
            }
        }
    }

    /// Whether a step runs beside others.
    pub(crate) fn runs_beside_others(&self, frame: FrameId, at: usize) -> bool {
        let mut id = Some((frame, at));
        while let Some((frame, at)) = id {
            if self.state.frames[frame].unit.steps[at].group.is_some() {
                return true;
            }
            id = self.state.frames[frame].parent;
        }
        false
    }

    pub(crate) fn run_dir(&self) -> PathBuf {
        self.folder.as_ref().map(|folder| folder.path().to_owned()).unwrap_or_default()
    }

    pub(crate) fn unit_of(&self, frame: FrameId) -> Arc<recipe::plan::Unit> {
        Arc::clone(&self.state.frames[frame].unit)
    }
}

/// Hands on bytes; while there are secrets, only up to the last line end, so that none is cut in two.
fn forward(
    reporter: &mut dyn Reporter,
    mask: &Mask,
    carry: &mut HashMap<(String, bool), Vec<u8>>,
    path: &str,
    stream: Stream,
    bytes: &[u8],
) {
    if mask.is_idle() {
        return reporter.notice(Notice::Output { path, stream, bytes });
    }
    if stream == Stream::Transcript {
        return;
    }
    let held = carry.entry((path.to_owned(), stream == Stream::Stdout)).or_default();
    held.extend_from_slice(bytes);
    let limit = 64 * 1024 + mask.longest();
    let end = match held.iter().rposition(|byte| *byte == b'\n') {
        Some(at) => at + 1,
        None if held.len() > limit => held.len() - mask.longest(),
        None => return,
    };
    let text = String::from_utf8_lossy(&held[..end]).into_owned();
    held.drain(..end);
    reporter.notice(Notice::Output { path, stream, bytes: mask.text(&text).as_bytes() });
}

/// The signals that concern a run.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
    request: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Signals> {
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
            request: signal(SignalKind::user_defined1())?,
        })
    }

    async fn next(&mut self) -> Halt {
        tokio::select! {
            _ = self.interrupt.recv() => Halt::Interrupt,
            _ = self.terminate.recv() => Halt::Terminate,
            _ = self.hangup.recv() => Halt::Terminate,
            _ = self.request.recv() => Halt::Cancel,
        }
    }
}
