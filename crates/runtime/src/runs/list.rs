//! Stored runs: finding, listing and removing them. Reads only the last record of the journal of a run
//! that has ended.

use std::{fs, path::PathBuf};

use engine::{
    EndReason, Event, Record, RunStatus,
    run::{
        event::{RunFinished, Usage},
        origin::Origin,
        state::Pauses,
    },
};
use jiff::Timestamp;
use serde::Serialize;

use super::{Runs, orphans::has_survivors};
use crate::{
    os::{clock, files},
    store::{
        folder::{FolderError, Header, RunFolder},
        journal,
        secrets::{Fingerprints, Mask},
    },
};

/// The most ids that a message lists.
const LISTED: usize = 3;

/// Why a run could not be found.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// No run has that id.
    #[error("run `{0}` not found")]
    None(String),
    /// Several ids begin with this text.
    #[error("`{asked}` matches {} runs: {}", found.len(), some(found))]
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

/// Summary of a run.
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
    /// Seconds that it took so far; absent if unknown.
    pub duration: Option<f64>,
    /// Why it ended.
    pub reason: Option<EndReason>,
    /// What went wrong.
    pub error: Option<String>,
    /// Where it works.
    pub working_dir: PathBuf,
    /// The process that works on it.
    pub pid: Option<u32>,
    /// The usage of its agents, if it has ended; unknown values are absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Where the request for it came from; absent if unknown.
    pub origin: Option<Origin>,
}

/// The runs that a removal of old runs has found.
#[derive(Clone, Debug, Default)]
pub struct PrunedRuns {
    /// Those that were removed.
    pub removed: Vec<String>,
    /// Those that are kept because they wait for a person.
    pub waiting: Vec<String>,
}

impl Runs {
    /// Ids of all runs, newest first.
    pub fn ids(&self) -> Vec<String> {
        let entries = fs::read_dir(self.dir()).into_iter().flatten().flatten();
        let mut ids: Vec<String> = entries
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| !name.starts_with('.'))
            .collect();
        ids.sort_unstable_by(|a, b| b.cmp(a));
        ids
    }

    /// The folder of the run with this whole id.
    pub(crate) fn folder(&self, id: &str) -> RunFolder {
        RunFolder::at(self.dir().join(id))
    }

    /// The folder of the run with this id, a unique beginning of it, or `last`.
    pub fn find(&self, asked: &str) -> Result<RunFolder, FindError> {
        let ids = self.ids();
        if asked == "last" {
            // folders that are not runs are skipped, as in the list
            let mut folders = ids.iter().map(|id| self.folder(id));
            return folders.find(RunFolder::is_run).ok_or_else(|| FindError::None(asked.to_owned()));
        }
        let found: Vec<String> =
            ids.into_iter().filter(|id| !asked.is_empty() && id.starts_with(asked)).collect();
        if let Some(exact) = found.iter().find(|id| *id == asked) {
            return Ok(self.folder(exact));
        }
        match found.len() {
            0 => Err(FindError::None(asked.to_owned())),
            1 => Ok(self.folder(&found[0])),
            _ => Err(FindError::Several { asked: asked.to_owned(), found }),
        }
    }

    /// All runs, newest first; at most `limit` of them.
    pub fn list(&self, limit: Option<usize>) -> Vec<RunSummary> {
        let ids = self.ids().into_iter().take(limit.unwrap_or(usize::MAX));
        ids.filter_map(|id| summary(&self.folder(&id))).collect()
    }

    /// Removes old runs, never a live one or one that waits for a person.
    pub fn prune(
        &self,
        keep: usize,
        before: Option<Timestamp>,
        dry_run: bool,
    ) -> Result<PrunedRuns, FolderError> {
        let mut pruned = PrunedRuns::default();
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
            if last_finish(&folder).is_some_and(|finished| finished.status == RunStatus::Waiting) {
                pruned.waiting.push(id);
                continue;
            }
            if !dry_run {
                // the lock prevents a resume while the folder is removed
                let Some(_lock) = folder.lock()? else { continue };
                files::remove_dir(folder.path()).map_err(FolderError::at("remove", folder.path()))?;
            }
            pruned.removed.push(id);
        }
        Ok(pruned)
    }
}

pub(super) fn last_record(folder: &RunFolder) -> Option<Record> {
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
    let pid = folder.owner();
    let last = last_record(folder);
    let without_steps = match &last {
        None => Some(0),
        Some(Record { event: Event::RunStarted(_), .. }) => Some(1),
        Some(_) => None,
    };
    let damage = without_steps
        .filter(|_| pid.is_none() && folder.has_attempts())
        .map(|records| journal::without_steps(&folder.journal(), records).to_string());
    let at = last.as_ref().map(|record| record.at);
    let finished = match last.map(|record| record.event) {
        Some(Event::RunFinished(finished)) => Some(finished),
        _ => None,
    };
    // a failed run that has an owner is being repaired
    let finished = finished.filter(|_| pid.is_none());
    let status = match (&finished, pid) {
        (Some(finished), _) => finished.status,
        (None, Some(_)) => RunStatus::Running,
        (None, None) => RunStatus::Interrupted,
    };
    let until = match pid {
        Some(pid) => Some(clock::now_beside(pid, at.unwrap_or(header.created_at))),
        None => at,
    };
    let idle = match &finished {
        Some(finished) => finished.idle,
        None => idle_seconds(folder),
    };
    let (mask, damage) = match Fingerprints::load(folder.path()) {
        Ok(kept) => (secrets(&header).with_kept(kept), damage),
        Err(error) => (Mask::default(), damage.or(Some(error.to_string()))),
    };
    let error = damage.or_else(|| finished.as_ref().and_then(|finished| finished.error.clone()));
    Some(RunSummary {
        run_id: folder.id(),
        recipe_name: header.recipe_name,
        status,
        started_at: header.created_at,
        duration: until.map(|until| {
            let all = (until.as_millisecond() - header.created_at.as_millisecond()).max(0) as f64 / 1000.0;
            (all - idle).max(0.0)
        }),
        reason: finished.as_ref().map(|finished| finished.reason),
        usage: finished.as_ref().and_then(|finished| finished.usage.clone()),
        error: error.map(|error| mask.quotation(&error).into_owned()),
        working_dir: header.working_dir,
        origin: header.origin,
        pid,
    })
}

/// Seconds in which no process worked on a run that has not ended.
fn idle_seconds(folder: &RunFolder) -> f64 {
    let mut pauses = Pauses::default();
    journal::read(&folder.journal()).unwrap_or_default().iter().for_each(|record| pauses.take(record));
    pauses.seconds()
}

fn secrets(header: &Header) -> Mask {
    let mut mask = Mask::default();
    mask.learn(&header.given());
    mask
}
