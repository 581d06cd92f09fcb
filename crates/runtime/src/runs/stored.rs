//! Runs as they are stored: finding, listing, showing, cancelling, removing them.

use std::{
    collections::HashMap,
    fs,
    path::PathBuf,
    sync::{Mutex, PoisonError},
    time::Duration,
};

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
    command_line::Reach,
    folder::{FolderError, Header, RunFolder},
    journal::{self, JournalError},
    mask::Mask,
    process,
    report::{self, RunResult, Subject},
    sources::Remembered,
    values,
};

/// Most ids that a message lists.
const LISTED: usize = 3;

/// Why a run could not be found.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// There is none of that id.
    #[error("run `{0}` not found")]
    None(String),
    /// Several ids begin like that.
    #[error("`{asked}` is the beginning of several runs, {} in all: {}", found.len(), some(found))]
    Several {
        /// What was asked for.
        asked: String,
        /// The ids.
        found: Vec<String>,
    },
}

/// The first few ids of a list.
fn some(ids: &[String]) -> String {
    let shown = ids.iter().take(LISTED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match ids.len().saturating_sub(LISTED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
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
    /// How a command line reaches it.
    pub reach: Reach,
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
        Ok(Shown { reach: self.reach.clone(), ..fold(folder, header, records)? })
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

/// Ends every process that a dead runner left behind. Only for who has taken the run.
pub(super) fn end_orphans(shown: &Shown, grace: Duration) -> Vec<String> {
    // it is doing the same, and would end what is started from now on
    shown.folder.await_guardian();
    let swept = clock::block_on(process::end_marked(&orphans(shown), grace)).unwrap_or_default();
    swept.ended.iter().chain(&swept.killed).map(|survivor| survivor.command.clone()).collect()
}

/// Everything that a dead runner left behind.
fn orphans(shown: &Shown) -> process::Filter {
    let mut filter = process::Filter::run(&shown.header.run_id);
    filter.groups = in_flight(shown);
    filter
}

/// Everything that a dead runner left behind, as far as the folder of the run can still be read.
pub(crate) fn left_behind(folder: &RunFolder) -> process::Filter {
    let read = || fold(folder.clone(), folder.header()?, journal::read(&folder.journal())?);
    read().map_or_else(|_: OpenError| process::Filter::run(folder.id()), |shown| orphans(&shown))
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
pub(super) fn spent(records: &[Record]) -> Option<Usage> {
    let mut used = Usage::default();
    for record in records {
        let usage = match &record.event {
            Event::StepFinished { ended, .. } | Event::AttemptFailed { ended, .. } => ended.usage.as_ref(),
            Event::AgentUsed { usage, .. } => Some(usage),
            _ => None,
        };
        usage.into_iter().for_each(|usage| used.add(usage));
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

pub(super) fn last_finish(folder: &RunFolder) -> Option<RunFinished> {
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
    // a run that failed and has an owner is being mended
    let pid = folder.owner();
    let finished = finished.filter(|_| pid.is_none());
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

/// The plan that was compiled last: a resume looks at the same run several times, and stored sources never change.
struct Compiled {
    key: Key,
    plan: Plan,
}

type Key = (PathBuf, u32, String, Vec<String>);

static COMPILED: Mutex<Option<Compiled>> = Mutex::new(None);

impl Compiled {
    fn key(folder: &RunFolder, generation: u32, header: &Header) -> Key {
        let names = header.given.iter().map(|(name, _)| name.clone()).collect();
        (folder.path().to_owned(), generation, header.recipe_digest.clone(), names)
    }

    fn recall(key: &Key) -> Option<Plan> {
        let last = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
        last.as_ref().filter(|last| last.key == *key).map(|last| last.plan.clone())
    }

    fn keep(key: Key, plan: &Plan) {
        let compiled = Compiled { key, plan: plan.clone() };
        *COMPILED.lock().unwrap_or_else(PoisonError::into_inner) = Some(compiled);
    }
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
    let key = Compiled::key(folder, generation, header);
    let mut plan = match Compiled::recall(&key) {
        Some(plan) => plan,
        None => {
            let checked = check(remembered.root()?, &remembered, &given);
            let problems = checked.diagnostics.iter().map(|problem| problem.message.clone());
            let messages: Vec<String> = problems.collect();
            let plan = checked.plan.ok_or_else(|| bad(messages.join("; ")))?;
            Compiled::keep(key, &plan);
            plan
        }
    };
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
    let reach = Reach::default();
    Ok(Shown { header, folder, plan, state, mask, records, status, lost, reach })
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
            reach: &self.reach,
            recipe: match &self.header.recipe_file {
                Some(file) => file.to_string_lossy().into_owned(),
                None => super::canonical_recipe(&self.header.recipe_path),
            },
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
        let is_last =
            |fix: &crate::autofix::Report| fix.outcome == "blocked" && fix.resumes == result.resumes;
        if self.status == RunStatus::Failed && result.auto_fix.as_ref().is_some_and(is_last) {
            result.outcome = "blocked";
        }
        result.evidence = Some(crate::evidence::gather(&self.header, &self.records, &self.mask));
        result
    }

    /// The recipe's file, if it is not what the run goes on with any more.
    pub fn changed_recipe(&self) -> Option<PathBuf> {
        let file = self.header.recipe_file.clone()?;
        let now = recipe::digest::sha256(&fs::read(&file).ok()?);
        (now != self.plan.root().digest).then_some(file)
    }

    /// What its agents used up.
    pub fn usage(&self) -> &Usage {
        &self.state.used
    }
}
