//! Runs as they are stored: finding, listing, showing, cancelling, removing them.

use std::{collections::HashMap, fs, path::PathBuf, time::Duration};

use engine::{
    Event, Record, RunSettings, RunState, RunStatus,
    event::{RunFinished, Usage},
};
use jiff::Timestamp;
use recipe::{
    check::{Given, check, graft},
    plan::Plan,
    value::Value,
};
use serde::Serialize;

use super::Runs;
use crate::{
    clock,
    folder::{FolderError, Header, RunFolder},
    journal::{self, Journal, JournalError},
    mask::Mask,
    process,
    report::{self, RunResult, Subject},
    sources::Remembered,
    values,
};

/// Why a run could not be found.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// There is none of that id.
    #[error("run `{0}` not found")]
    None(String),
    /// Several ids begin like that.
    #[error("`{asked}` is the beginning of several runs: {}", found.join(", "))]
    Several {
        /// What was asked for.
        asked: String,
        /// The ids.
        found: Vec<String>,
    },
}

/// One line about a run.
#[derive(Clone, Debug, Serialize)]
pub struct RunSummary {
    /// The run.
    pub run_id: String,
    /// Name of its recipe.
    pub recipe_name: String,
    /// Its status.
    pub status: RunStatus,
    /// When it was created.
    pub started_at: Timestamp,
    /// Seconds that it took so far; absent if nobody knows.
    pub duration: Option<f64>,
    /// Exit code, if it ended.
    pub exit_code: Option<u8>,
    /// What went wrong.
    pub error: Option<String>,
    /// Where it works.
    pub working_dir: PathBuf,
    /// The process that works on it.
    pub pid: Option<u32>,
    /// What its agents used up, if it is over; what is not known is absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// A run, opened for showing.
#[derive(Debug)]
pub struct Shown {
    /// What it was asked to do.
    pub header: Header,
    /// Its folder.
    pub folder: RunFolder,
    /// Its plan.
    pub plan: Plan,
    /// Its state.
    pub state: RunState,
    /// Its secrets.
    pub mask: Mask,
    /// Its events.
    pub records: Vec<Record>,
    /// Its status: what the journal says, corrected by who is alive.
    pub status: RunStatus,
    /// Values that could not be brought back, by step.
    pub lost: HashMap<String, String>,
}

/// Why a run cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Its folder cannot be read.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// Its journal cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Its sources do not make a plan.
    #[error("the sources of run `{run}` cannot be compiled any more: {reason}")]
    Plan {
        /// The run.
        run: String,
        /// Why not.
        reason: String,
    },
    /// It was written by a program that we do not know.
    #[error(
        "run `{run}` has format {found}, but this program knows only {known}: use a newer recipe-runner-rs"
    )]
    Format {
        /// The run.
        run: String,
        /// Its format.
        found: u32,
        /// Ours.
        known: u32,
    },
}

/// What came of a request to cancel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cancelled {
    /// It is stopped, and nothing of it is alive.
    Stopped,
    /// It was over already.
    AlreadyOver(RunStatus),
    /// Its process does not react.
    StillAlive(u32),
}

impl Runs {
    /// Ids of all runs, newest first.
    pub fn ids(&self) -> Vec<String> {
        let entries = fs::read_dir(self.dir()).into_iter().flatten().flatten();
        let mut ids: Vec<String> = entries
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| !name.starts_with('.'))
            .collect();
        ids.sort_unstable_by(|a, b| b.cmp(a));
        ids
    }

    /// The folder of the run with this id, a unique beginning of it, or `last`.
    pub fn find(&self, asked: &str) -> Result<RunFolder, FindError> {
        let ids = self.ids();
        if asked == "last" {
            return match ids.first() {
                Some(id) => Ok(RunFolder::at(self.dir().join(id))),
                None => Err(FindError::None(asked.to_owned())),
            };
        }
        let mut found: Vec<String> =
            ids.into_iter().filter(|id| !asked.is_empty() && id.starts_with(asked)).collect();
        if let Some(exact) = found.iter().find(|id| *id == asked) {
            return Ok(RunFolder::at(self.dir().join(exact)));
        }
        match found.len() {
            0 => Err(FindError::None(asked.to_owned())),
            1 => Ok(RunFolder::at(self.dir().join(found.remove(0)))),
            _ => Err(FindError::Several { asked: asked.to_owned(), found }),
        }
    }

    /// All runs, newest first; at most `limit` of them.
    pub fn list(&self, limit: Option<usize>) -> Vec<RunSummary> {
        let ids = self.ids().into_iter().take(limit.unwrap_or(usize::MAX));
        ids.filter_map(|id| summary(&RunFolder::at(self.dir().join(id)))).collect()
    }

    /// The evidence of a run, for its result.
    pub fn evidence(&self, run_id: &str) -> Option<crate::evidence::Evidence> {
        let shown = self.open(self.find(run_id).ok()?).ok()?;
        Some(crate::evidence::gather(&shown.header, &shown.records, &shown.mask))
    }

    /// Opens a run for showing.
    pub fn open(&self, folder: RunFolder) -> Result<Shown, OpenError> {
        let header = folder.header()?;
        let records = match folder.journal().exists() {
            true => journal::read(&folder.journal())?,
            false => Vec::new(),
        };
        fold(folder, header, records)
    }

    /// Stops a run and returns when nothing of it is alive.
    pub fn cancel(&self, folder: &RunFolder, grace: Duration) -> Result<Cancelled, OpenError> {
        let owner = folder.owner();
        match (owner, last_finish(folder)) {
            (Some(_), _) => self.ask_owner(folder, grace),
            (None, Some(finished))
                if !matches!(finished.status, RunStatus::Interrupted | RunStatus::Waiting) =>
            {
                Ok(Cancelled::AlreadyOver(finished.status))
            }
            (None, _) => self.bury(folder, grace),
        }
    }

    /// Asks the process that has the run to stop, and waits until it has let go.
    fn ask_owner(&self, folder: &RunFolder, grace: Duration) -> Result<Cancelled, OpenError> {
        let request = folder.inbox().join("cancel");
        crate::folder::write_new(&request, b"cancel\n")?;
        let deadline = std::time::Instant::now() + grace * 2 + Duration::from_secs(10);
        let mut asked = None;
        while let Some(pid) = folder.owner() {
            // a process that has just taken the run may not have written its number yet
            if asked != Some(pid) {
                ask(pid);
                asked = Some(pid);
            }
            if std::time::Instant::now() > deadline {
                return Ok(Cancelled::StillAlive(pid));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = fs::remove_file(request);
        let outcome = match last_finish(folder) {
            Some(finished) if finished.status == RunStatus::Cancelled => Cancelled::Stopped,
            // it came to its end before it was asked
            Some(finished) if finished.status != RunStatus::Interrupted => {
                Cancelled::AlreadyOver(finished.status)
            }
            // it died, or was interrupted by somebody else
            _ => self.bury(folder, grace)?,
        };
        self.forget(folder);
        Ok(outcome)
    }

    /// Ends what a dead runner left behind, and writes down that the run is over.
    fn bury(&self, folder: &RunFolder, grace: Duration) -> Result<Cancelled, OpenError> {
        let Some(lock) = folder.lock()? else { return Ok(Cancelled::StillAlive(0)) };
        let (mut journal, records) = Journal::open(&folder.journal())?;
        let usage = spent(&records);
        let ended_processes = end_orphans(&fold(folder.clone(), folder.header()?, records)?, grace);
        let finished = RunFinished {
            status: RunStatus::Cancelled,
            exit_code: 130,
            error: Some("cancelled".to_owned()),
            output: None,
            ended_processes,
            usage,
        };
        journal.append(clock::now(), Event::RunFinished(finished));
        journal.sync()?;
        drop(lock);
        self.forget(folder);
        Ok(Cancelled::Stopped)
    }

    /// A cancelled run does not wait for anybody any more.
    fn forget(&self, folder: &RunFolder) {
        if let Ok(header) = folder.header() {
            self.workspace(&header.recipe_path, &header.working_dir).forget(&header.run_id);
        }
    }

    /// Removes old runs, never a live one; says which.
    pub fn prune(
        &self,
        keep: usize,
        before: Option<Timestamp>,
        dry_run: bool,
    ) -> Result<Vec<String>, FolderError> {
        let mut removed = Vec::new();
        for id in self.ids().into_iter().skip(keep) {
            let folder = RunFolder::at(self.dir().join(&id));
            let newest = last_record(&folder).map(|record| record.at);
            let is_old = match (before, newest) {
                (Some(before), Some(at)) => at < before,
                (Some(_), None) => false,
                (None, _) => true,
            };
            if !is_old || folder.owner().is_some() || has_survivors(&folder) {
                continue;
            }
            if !dry_run {
                // the lock keeps a resume out while the folder goes
                let Ok(Some(_lock)) = folder.lock() else { continue };
                fs::remove_dir_all(folder.path()).map_err(FolderError::at("remove", folder.path()))?;
            }
            removed.push(id);
        }
        Ok(removed)
    }
}

/// Asks a runner to look into the inbox of its run.
fn ask(pid: u32) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) {
        // one that is gone in the meantime needs no signal
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::USR1);
    }
}

/// Ends every process that a dead runner left behind.
pub(super) fn end_orphans(shown: &Shown, grace: Duration) -> Vec<String> {
    let Ok(event_loop) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        return Vec::new();
    };
    let mut filter = process::Filter::run(&shown.header.run_id);
    filter.groups = in_flight(shown);
    let swept = event_loop.block_on(process::end_marked(&filter, grace));
    swept.ended.iter().chain(&swept.killed).map(|survivor| survivor.command.clone()).collect()
}

/// Main processes of the steps that were not over: their groups are searched too, for what hides its marker.
fn in_flight(shown: &Shown) -> Vec<process::ProcessId> {
    // numbers of another boot mean nothing
    if shown.header.boot_id.is_none() || shown.header.boot_id != process::boot_id() {
        return Vec::new();
    }
    let running: Vec<String> = shown.state.running_steps();
    let spawned = shown.records.iter().filter_map(|record| match &record.event {
        Event::Spawned(spawned) if running.contains(&spawned.path) => Some(spawned),
        _ => None,
    });
    let id = |spawned: &engine::event::Spawned| {
        let pid = i32::try_from(spawned.pid).ok()?;
        Some(process::ProcessId { pid, start_time: spawned.start_time })
    };
    spawned.filter_map(id).collect()
}

/// What the agents of a run used up, as far as its journal says.
fn spent(records: &[Record]) -> Option<Usage> {
    let mut used = Usage::default();
    for record in records {
        if let Event::StepFinished { ended, .. } | Event::AttemptFailed { ended, .. } = &record.event
            && let Some(usage) = &ended.usage
        {
            used.add(usage);
        }
    }
    (used.runs > 0).then_some(used)
}

/// Whether processes of a run whose runner is gone are still alive: its folder leads to them.
fn has_survivors(folder: &RunFolder) -> bool {
    last_finish(folder).is_none() && !process::survivors(&process::Filter::run(folder.id())).is_empty()
}

fn last_record(folder: &RunFolder) -> Option<Record> {
    journal::read_last(&folder.journal())
}

fn last_finish(folder: &RunFolder) -> Option<RunFinished> {
    match last_record(folder)?.event {
        Event::RunFinished(finished) => Some(finished),
        _ => None,
    }
}

fn summary(folder: &RunFolder) -> Option<RunSummary> {
    let header = folder.header().ok()?;
    let last = last_record(folder);
    let at = last.as_ref().map(|record| record.at);
    let finished = match last.map(|record| record.event) {
        Some(Event::RunFinished(finished)) => Some(finished),
        _ => None,
    };
    let pid = if finished.is_some() { None } else { folder.owner() };
    let status = match (&finished, pid) {
        (Some(finished), _) => finished.status,
        (None, Some(_)) => RunStatus::Running,
        (None, None) => RunStatus::Interrupted,
    };
    let until = if pid.is_some() { Some(clock::now()) } else { at };
    let mask = secrets(&header);
    Some(RunSummary {
        run_id: folder.id(),
        recipe_name: header.recipe_name,
        status,
        started_at: header.created_at,
        duration: until.map(|until| {
            (until.as_millisecond() - header.created_at.as_millisecond()).max(0) as f64 / 1000.0
        }),
        exit_code: finished.as_ref().map(|finished| finished.exit_code),
        usage: finished.as_ref().and_then(|finished| finished.usage.clone()),
        error: finished.and_then(|finished| finished.error).map(|error| mask.text(&error).into_owned()),
        working_dir: header.working_dir,
        pid,
    })
}

fn secrets(header: &Header) -> Mask {
    let mut mask = Mask::default();
    mask.learn(&header.given());
    mask
}

/// Compiles the stored sources of a run, with recipes that became known only while it ran.
pub(super) fn compile(
    folder: &RunFolder,
    generation: u32,
    header: &Header,
    records: &[Record],
) -> Result<Plan, OpenError> {
    let bad = |reason: String| OpenError::Plan { run: header.run_id.clone(), reason };
    let remembered = Remembered::open(&folder.sources(generation), None)?;
    let names = header.given.iter().map(|(name, _)| name.clone()).collect();
    let given = Given { names, ..Given::default() };
    let checked = check(remembered.root()?, &remembered, &given);
    let messages: Vec<String> = checked.diagnostics.iter().map(|problem| problem.message.clone()).collect();
    let mut plan = checked.plan.ok_or_else(|| bad(messages.join("; ")))?;
    for record in records {
        let Event::RecipeEntered { unit, .. } = &record.event else { continue };
        if plan.units.iter().any(|known| known.path == *unit) {
            continue;
        }
        // entered with sources of another generation: the fold does not need it
        let Some(found) = remembered.by_path(unit) else { continue };
        let grafted =
            graft(&plan, found, &remembered, &given).map_err(|_| bad(format!("`{unit}` is invalid")))?;
        plan = grafted.0;
    }
    Ok(plan)
}

/// Folds the events of a run into its state.
pub(super) fn fold(folder: RunFolder, header: Header, records: Vec<Record>) -> Result<Shown, OpenError> {
    if header.format > crate::folder::FORMAT {
        let (run, found) = (header.run_id, header.format);
        return Err(OpenError::Format { run, found, known: crate::folder::FORMAT });
    }
    let mut plan = compile(&folder, 0, &header, &records)?;
    let settings = RunSettings {
        given: header.given(),
        include_tags: header.options.include_tags.clone(),
        exclude_tags: header.options.exclude_tags.clone(),
        max_parallel: header.options.max_parallel,
        dry_run: false,
    };
    let mut state = RunState::new(&plan, settings);
    let mut lost = HashMap::new();
    let mut generation = 0;
    let mut mask = Mask::new(plan.units.iter().flat_map(|unit| unit.secrets.clone()));
    mask.learn(&state.root().context);
    for record in &records {
        let mut value = None;
        match &record.event {
            Event::RunResumed(resumed) if resumed.sources != generation => {
                generation = resumed.sources;
                plan = compile(&folder, generation, &header, &records)?;
            }
            Event::StepFinished { path, ended, .. } => {
                if let Some(stored) = &ended.value {
                    match values::load(folder.path(), stored) {
                        Ok(loaded) => {
                            lost.remove(path);
                            value = Some(loaded);
                        }
                        Err(reason) => {
                            lost.insert(path.clone(), reason);
                        }
                    }
                }
            }
            _ => {}
        }
        learn_step(&mut mask, &state, &record.event, value.as_ref());
        state.apply(&plan, record, value);
        if matches!(record.event, Event::RecipeEntered { .. }) {
            state.frames.last().iter().for_each(|frame| mask.learn(&frame.context));
        }
    }
    let status = match (&state.finished, folder.owner()) {
        (Some(finished), None) => finished.status,
        (_, Some(_)) => RunStatus::Running,
        (None, None) => RunStatus::Interrupted,
    };
    Ok(Shown { header, folder, plan, state, mask, records, status, lost })
}

/// Learns the secrets that a step was given, or made.
fn learn_step(mask: &mut Mask, state: &RunState, event: &Event, value: Option<&Value>) {
    let (Event::StepStarted { path, .. } | Event::StepFinished { path, .. }) = event else { return };
    let Some((frame, at)) = state.locate(path) else { return };
    let frame = &state.frames[frame];
    let step = &frame.unit.steps[at];
    match (value, &step.store) {
        (Some(value), Some(name)) => mask.learn_value(name, value),
        (Some(_), None) => {}
        (None, _) => {
            for (name, template) in
                step.env.iter().filter(|(name, _)| mask.is_secret(name)).collect::<Vec<_>>()
            {
                mask.learn_value(name, &Value::from(template.render(frame)));
            }
        }
    }
}

impl Shown {
    /// The object that the run printed, or its state so far.
    pub fn result(&self) -> RunResult {
        let output = self.state.finished.as_ref().and_then(|finished| finished.output.as_ref());
        let mut result = report::result(&Subject {
            plan: &self.plan,
            run_id: Some(&self.header.run_id),
            tracking_id: Some(&self.header.tracking_id),
            state: &self.state,
            mask: &self.mask,
            status: self.status,
            now: match self.status {
                RunStatus::Running => clock::now(),
                _ => self.records.last().map_or(self.header.created_at, |record| record.at),
            },
            previews: &HashMap::new(),
            run_dir: Some(self.folder.path().to_string_lossy().into_owned()),
            output: output.and_then(|stored| values::load(self.folder.path(), stored).ok()),
        });
        result.auto_fix = crate::autofix::load(&self.folder);
        result.evidence = Some(crate::evidence::gather(&self.header, &self.records, &self.mask));
        result
    }

    /// What its agents used up.
    pub fn usage(&self) -> &Usage {
        &self.state.used
    }
}
