//! The loop: decides, records, acts, and takes in results.
//!
//! Record, then act: a process starts only when the decision to start it is on disk. A failed append stops the run; a
//! reporter cannot.

pub mod audit;
mod background_processes;
mod declared_files;
mod drive_error;
mod dry_run;
pub(crate) mod dynamic_recipe;
mod end;
mod hooks;
mod nested_timeout;
mod on_task_done;
mod output;
mod parts;
mod prepared_folder;
mod recover;
pub mod recovery;
mod reporter;
mod retry;
mod signals;
mod start_agent;
mod start_step;
mod supervise;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque},
    ffi::OsString,
    path::PathBuf,
    sync::Arc,
};

use engine::{
    Event, Record, RunState,
    run::{
        decide::{Decision, decide},
        frame::FrameId,
    },
};
use recipe::{check::Loader, plan::Plan, value::Value};
use tokio::{
    sync::{mpsc, watch},
    task::JoinSet,
};

pub use drive_error::DriveError;
pub use dry_run::Preview;
pub use parts::Parts;
use prepared_folder::PreparedFolder;
pub use reporter::{Notice, Reporter};
pub use signals::{Halt, wait_unless_told};
pub(crate) use signals::{INBOX, Signals, TOLD_AGAIN, cancel_requested};
use start_agent::{Spent, Waiting};

use crate::{
    agents::AgentSettings,
    machine::host::Host,
    os::{clock, process},
    run::audit::Audit,
    steps::{
        agent::budget::Ledger,
        shell::{
            attempt::{Finished, Go, Progress},
            context_file::ContextFile,
        },
    },
    store::{
        folder::{FolderError, Options, RunFolder},
        journal::Journal,
        large::LargeFiles,
        outputs::Outputs,
        secrets::{Mask, without_members},
        sources::Recording,
    },
};

/// Everything that a run needs.
pub struct Driver<'a> {
    pub(crate) run_id: String,
    pub(crate) folder: Option<RunFolder>,
    pub(crate) journal: Option<Journal>,
    pub(crate) plan: Plan,
    pub(crate) state: RunState,
    pub(crate) options: Options,
    pub(crate) host: Host,
    pub(crate) base_env: Arc<BTreeMap<OsString, OsString>>,
    pub(crate) working_dir: PathBuf,
    base: PathBuf,
    pub(crate) loader: &'a dyn Loader,
    pub(crate) recording: Option<&'a Recording<'a>>,
    pub(crate) generation: u32,
    pub(crate) reporter: &'a mut dyn Reporter,
    pub(crate) mask: Mask,
    pub(crate) audits: Vec<Audit>,
    pub(crate) agents: AgentSettings,
    seq: u64,
    tasks: JoinSet<TaskDone>,
    gates: BTreeMap<String, watch::Sender<Go>>,
    progress: (mpsc::UnboundedSender<Progress>, mpsc::UnboundedReceiver<Progress>),
    outputs: Outputs,
    contexts: HashMap<FrameId, ContextFile>,
    large: LargeFiles,
    spare: PreparedFolder,
    closing: HashSet<FrameId>,
    running_agents: HashSet<String>,
    waiting_agents: VecDeque<Waiting>,
    ledger: Arc<Ledger>,
    spent_before: Option<Spent>,
    without_cost: HashSet<String>,
    rate_models: HashMap<String, String>,
    hooked: HashSet<String>,
    /// Steps that started a process in any attempt.
    begun: HashSet<String>,
    previews: HashMap<String, Preview>,
    carry: HashMap<(String, bool), Vec<u8>>,
    /// Running steps that print JSON.
    json_steps: HashSet<String>,
    /// The last failed attempts of steps that wait for a retry.
    in_vain: HashMap<String, Finished>,
    /// Processes that were ended before the end of the run.
    cleared: Vec<process::Survivor>,
    halt: Option<Halt>,
    unsettled: Vec<Act>,
    is_due: bool,
    /// Whether nothing was started yet.
    is_first: bool,
    told_secrets: usize,
    env_names: BTreeSet<String>,
    /// Warnings about steps that are being prepared.
    unsaid: Vec<(String, String)>,
    /// Whether the note about values that are not exported was written.
    noted_left_out: bool,
}

/// The result of a finished task.
pub(crate) enum TaskDone {
    /// An attempt ended.
    Attempt {
        path: String,
        attempt: u32,
        hook: Option<hooks::HookReport>,
        result: Box<Result<Finished, FolderError>>,
    },
    /// A hook ended.
    Hook { report: hooks::HookReport },
    /// The delay before a retry is over.
    Retry { path: String, cleared: Vec<process::Survivor> },
    /// The processes that a failed recipe left running were ended.
    Cleared(Box<background_processes::Cleared>),
    /// A sub-recipe can be entered, or cannot.
    Enter { path: String, hook: Option<hooks::HookReport>, problem: Option<engine::run::cause::Refusal> },
    /// A sub-recipe timed out.
    NestedTimeout { path: String, seconds: f64 },
    /// A recovery agent answered.
    Recovered {
        path: String,
        frame: FrameId,
        answer: crate::run::recovery::Verdict,
        usage: Option<engine::run::event::Usage>,
    },
    /// The remaining processes were killed.
    Killed,
    /// The runner itself failed inside a task.
    Broken(FolderError),
}

/// Something to do once the record is on disk.
pub(crate) enum Act {
    Start { path: String, attempt: u32 },
    Close { path: String, frame: FrameId },
    Hook { path: String, failed: bool },
}

impl<'a> Driver<'a> {
    /// The parts that remain when the run is over: plan, state, secrets, and the previews of a dry run.
    pub fn into_parts(self) -> (Plan, RunState, Mask, HashMap<String, Preview>) {
        (self.plan, self.state, self.mask, self.previews)
    }

    async fn work(&mut self, signals: &mut Signals) -> Result<(), DriveError> {
        let mut ticks = self.reporter.tick().map(tokio::time::interval);
        if let Some(ticks) = &mut ticks {
            ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            ticks.tick().await;
        }
        let mut inbox = signals::inbox();
        let reaper = process::reap_adopted();
        tokio::pin!(reaper);
        loop {
            if self.halt.is_none() && self.advance()? {
                return Ok(());
            }
            if self.halt.is_some() {
                if self.tasks.is_empty() {
                    return Ok(());
                }
                // a result that arrives during the shutdown must be on disk too
                self.settle_journal()?;
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
                _ = inbox.tick(), if self.halt.is_none() && !crate::os::files::is_on() => self.halt(Halt::Cancel),
                () = tick => self.reporter.notice(Notice::Tick { state: &self.state }),
                _ = &mut reaper => {}
            }
        }
    }

    /// Decides and acts until it has to wait; returns whether the run has ended.
    fn advance(&mut self) -> Result<bool, DriveError> {
        loop {
            let closing = &self.closing;
            match decide(&self.state, &|frame| closing.contains(&frame)) {
                Some(Decision::End) => return Ok(true),
                Some(Decision::Record(event)) => self.record(*event, None)?,
                Some(Decision::Start { path, attempt }) => {
                    let inputs = self.inputs(&path);
                    self.record(Event::StepStarted { path: path.clone(), attempt, inputs }, None)?;
                    self.unsettled.push(Act::Start { path, attempt });
                }
                Some(Decision::Close { path, frame }) => {
                    self.closing.insert(frame);
                    self.unsettled.push(Act::Close { path, frame });
                }
                None if self.unsettled.is_empty() => {
                    self.settle_journal()?;
                    return Ok(false);
                }
                None => self.perform()?,
            }
        }
    }

    /// Nothing more to decide for now: what was done must not wait for the next step to be safe on disk.
    pub(super) fn settle_journal(&mut self) -> Result<(), DriveError> {
        match &mut self.journal {
            Some(journal) if std::mem::take(&mut self.is_due) => Ok(journal.sync()?),
            _ => Ok(()),
        }
    }

    /// Syncs the records and prepares their acts in the meantime, then carries out the acts.
    fn perform(&mut self) -> Result<(), DriveError> {
        if self.unsettled.iter().all(|act| self.only_records(act)) {
            return self.prepare_acts();
        }
        if let Some(journal) = &mut self.journal {
            self.is_due = false;
            // the first attempt folder is made after its record is on disk: a folder without a record counts as damage
            match std::mem::take(&mut self.is_first) {
                true => journal.sync()?,
                false => journal.begin_sync()?,
            }
        }
        // processes are started by tasks, and no task runs before this function has returned
        let prepared = self.prepare_acts();
        if let Some(journal) = &mut self.journal
            && let Err(error) = journal.end_sync()
        {
            self.tasks.abort_all();
            return Err(error.into());
        }
        prepared
    }

    fn prepare_acts(&mut self) -> Result<(), DriveError> {
        for act in std::mem::take(&mut self.unsettled) {
            match act {
                Act::Start { path, attempt } => self.start(&path, attempt)?,
                Act::Close { path, frame } => self.close(&path, frame)?,
                Act::Hook { path, failed } => self.start_hook(&path, failed),
            }
            self.tell_warnings()?;
        }
        Ok(())
    }

    /// Appends an event to the journal, applies it to the state, and notifies the reporter.
    pub(crate) fn record(&mut self, event: Event, value: Option<Value>) -> Result<(), DriveError> {
        let at = clock::now();
        let record = match &mut self.journal {
            Some(journal) => {
                let record = journal.append(at, event);
                // write before reporting; sync before reporting the end of the run
                match record.event {
                    Event::RunFinished(_) => journal.sync()?,
                    // no later event syncs it
                    Event::AttemptFailed { ref ended, .. } if ended.outcome == engine::Outcome::Cancelled => {
                        journal.sync()?;
                    }
                    _ => journal.write()?,
                }
                record
            }
            None => {
                self.seq += 1;
                Record { seq: self.seq, at, event }
            }
        };
        self.is_due |= !matches!(record.event, Event::Spawned(_) | Event::Noted { .. });
        if let Some(value) = &value {
            self.learn_secret(&record.event, value);
        }
        self.state.apply(&self.plan, &record, value);
        if let Event::StepFinished { path, status, attempt, .. } = &record.event
            && *attempt > 0
            && !self.state.settings.dry_run
            && self.has_hooks(path)
        {
            let failed = *status == engine::StepStatus::Failed;
            self.unsettled.push(Act::Hook { path: path.clone(), failed });
        }
        if let Event::RecipeEntered { path, .. } = &record.event
            && let Some(frame) = self.state.step(path).and_then(|step| step.frame)
        {
            self.mask.learn_frame(&self.state.frames[frame]);
        }
        if let Event::RunResumed(_) = &record.event {
            self.mask.learn_frame(self.state.root());
        }
        for audit in &mut self.audits {
            audit.record(&record.event, &self.state, &self.mask)?;
        }
        self.tell_secrets();
        self.reporter.notice(Notice::Event { record: &record, state: &self.state, mask: &self.mask });
        Ok(())
    }

    /// Tells the reporter which values must not be shown.
    pub(crate) fn tell_secrets(&mut self) {
        if self.told_secrets != self.mask.len() {
            self.told_secrets = self.mask.len();
            self.reporter.notice(Notice::Secrets { mask: &self.mask });
        }
    }

    fn has_hooks(&self, path: &str) -> bool {
        self.state.locate(path).is_some_and(|(frame, _)| {
            let hooks = &self.state.frames[frame].unit.hooks;
            hooks.post_step.is_some() || hooks.on_error.is_some()
        })
    }

    fn take_progress(&mut self, progress: Progress) -> Result<(), DriveError> {
        match progress {
            Progress::Spawned(started) => {
                if started.purpose.is_none() {
                    self.begun.insert(started.path.clone());
                }
                let spawned = started.recorded(&mut self.env_names);
                self.record(Event::Spawned(spawned), None)?;
                // the step runs now, and there is nothing else to do
                self.spare.clear();
                if self.state.has_more() {
                    self.spare.prepare();
                }
            }
            Progress::Activity { path, what } => {
                let what = without_members(self.mask.text(&what).into_owned().into_bytes());
                let what = String::from_utf8_lossy(&what);
                self.reporter.notice(Notice::Activity { path: &path, what: &what });
            }
        }
        Ok(())
    }

    pub(crate) fn run_dir(&self) -> PathBuf {
        self.folder.as_ref().map(|folder| folder.path().to_owned()).unwrap_or_default()
    }

    pub(crate) fn unit_of(&self, frame: FrameId) -> Arc<recipe::plan::Unit> {
        Arc::clone(&self.state.frames[frame].unit)
    }
}
