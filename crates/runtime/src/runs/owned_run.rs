//! Owning a run: its lock and its workspace together, from the first attempt to the final report.
//!
//! The owner may write the journal, even while no attempt is under way. Never starts a process.

use std::{path::Path, time::Duration};

use engine::{
    EndReason, Event, RunStatus,
    run::{
        event::{RepairBegan, RunFinished},
        next::{Advice, Next},
    },
};
use recipe::digest::sha256;

use super::{
    OpenError, OpenedRun, Runs, list::last_finish, open::spent, orphans::end_orphans, session::RunSession,
};
use crate::{
    os::{clock, held_lock::HeldLock},
    report::RunResult,
    run::{Notice, Reporter},
    store::{
        cancel_request::cancelled_by,
        folder::{FolderError, RunFolder, write_new},
        journal::{self, Journal},
        workspace::Claim,
    },
};

/// A run that this process owns, and its workspace. Dropping it releases both.
pub(crate) struct OwnedRun {
    _lock: HeldLock,
    claim: Option<Claim>,
    session: Option<RunSession>,
}

impl OwnedRun {
    /// A run by its lock, without a workspace.
    pub(super) fn new(lock: HeldLock) -> OwnedRun {
        OwnedRun { _lock: lock, claim: None, session: None }
    }

    /// The same with a workspace.
    pub(super) fn with(self, claim: Option<Claim>) -> OwnedRun {
        OwnedRun { claim, ..self }
    }

    /// The same with its session.
    pub(super) fn in_session(self, session: Option<RunSession>) -> OwnedRun {
        OwnedRun { session, ..self }
    }

    /// The note about its session for the journal, once.
    pub(super) fn session_note(&mut self) -> Option<Event> {
        self.session.as_mut().and_then(RunSession::take_note)
    }

    /// Its session.
    pub(super) fn session(&mut self) -> &mut Option<RunSession> {
        &mut self.session
    }

    /// Releases the run. The workspace marker of a run that ended is removed.
    pub(crate) fn release(self, status: RunStatus) {
        let is_over = matches!(status, RunStatus::Completed | RunStatus::Failed | RunStatus::Cancelled);
        if let Some(claim) = self.claim.filter(|_| is_over) {
            claim.clear();
        }
    }
}

impl Runs {
    /// Appends an event between two attempts, and notifies the reporter. The caller must own the run.
    pub(crate) fn append(
        &self,
        folder: &RunFolder,
        event: Event,
        reporter: &mut dyn Reporter,
    ) -> Result<(), OpenError> {
        let (mut shown, mut journal) = self.take(folder.clone())?;
        tell(&mut shown, &mut journal, event, reporter)
    }

    /// Records the final end of a run, unless its journal already has it; returns the result that `show` gives. The
    /// caller must own the run.
    pub(crate) fn conclude(
        &self,
        folder: &RunFolder,
        end: Conclusion,
        reporter: &mut dyn Reporter,
    ) -> Result<RunResult, OpenError> {
        let (mut shown, mut journal) = self.take(folder.clone())?;
        let last = shown.records.iter().rev().find_map(|record| match &record.event {
            Event::RunFinished(finished) => Some(finished.clone()),
            _ => None,
        });
        let is_said = shown.state.finished.as_ref().is_some_and(|said| said.status == end.reason.status());
        if !is_said {
            let finished = RunFinished {
                ended_processes: last.as_ref().map(|last| last.ended_processes.clone()).unwrap_or_default(),
                left_processes: last.map(|last| last.left_processes).unwrap_or_default(),
                usage: spent(&shown.records),
                worked_ms: Some(shown.state.work.until(clock::now())),
                origin: cancelled_by(end.reason, folder),
                ..RunFinished::new(end.reason, end.error)
            };
            tell(&mut shown, &mut journal, Event::RunFinished(finished), reporter)?;
        }
        shown.status = end.reason.status();
        Ok(shown.result())
    }

    /// The message about a run that never ended.
    pub(super) fn name_dead(&self, run: &str) -> Advice {
        let folder = RunFolder::at(self.dir().join(run));
        let state = folder.path().display();
        let text = match pending_repair(&folder) {
            Some(began) => format!(
                "run {run} of this recipe was interrupted here while an agent repaired `{}`, so that file may have changed. The original is in `{}`. To put it back and resume",
                began.file,
                folder.path().join(&began.original).display()
            ),
            None => {
                let is_waiting = last_finish(&folder).is_some_and(|last| last.status == RunStatus::Waiting);
                let what = if is_waiting { "is waiting for a person" } else { "was interrupted" };
                format!("run {run} of this recipe {what} here; its state is in {state}. To resume it")
            }
        };
        Advice::with(text, Next::resume(run))
    }

    /// Restores the recipe that an agent was repairing when its runner died; returns a message about it. Does nothing
    /// to a run that a live process owns.
    pub fn undo_repair(&self, folder: &RunFolder, grace: Duration) -> Result<Option<String>, OpenError> {
        if pending_repair(folder).is_none() {
            return Ok(None);
        }
        let Some(_lock) = folder.lock()? else { return Ok(None) };
        let (mut shown, mut journal) = self.take(folder.clone())?;
        let said = undo(&mut shown, &mut journal, grace)?;
        if let Some(message) = &said {
            journal.append(clock::now(), Event::Noted { path: None, message: message.clone(), next: None });
            journal.sync()?;
        }
        Ok(said)
    }
}

/// A note about the whole run.
pub(super) fn noted(advice: Advice) -> Event {
    Event::Noted { path: None, message: advice.text, next: advice.next }
}

/// Appends an event, applies it, and notifies the reporter.
pub(super) fn tell(
    shown: &mut OpenedRun,
    journal: &mut Journal,
    event: Event,
    reporter: &mut dyn Reporter,
) -> Result<(), OpenError> {
    let record = journal.append(clock::now(), event);
    journal.sync()?;
    shown.follow(record.clone())?;
    reporter.notice(Notice::Event { record: &record, state: &shown.state, mask: &shown.mask });
    Ok(())
}

/// The final end of a run.
pub(crate) struct Conclusion {
    pub(crate) reason: EndReason,
    pub(crate) error: Option<String>,
}

/// Ends the processes of an interrupted repair and undoes its changes. The caller must own the run.
pub(super) fn undo(
    shown: &mut OpenedRun,
    journal: &mut Journal,
    grace: Duration,
) -> Result<Option<String>, OpenError> {
    let Some(began) = shown.state.repair.take() else { return Ok(None) };
    // a live agent would write into the file again
    end_orphans(shown, grace);
    let message = put_back(&shown.folder, &began)?;
    journal.append(clock::now(), Event::RepairEnded { number: began.number, accepted: false });
    journal.sync()?;
    Ok(Some(message))
}

/// Restores the recipe's file to its content before a repair; the repaired version is kept.
fn put_back(folder: &RunFolder, began: &RepairBegan) -> Result<String, FolderError> {
    let file = Path::new(&began.file);
    let copy = folder.path().join(&began.original);
    let original = std::fs::read(&copy).map_err(FolderError::at("read", &copy))?;
    if sha256(&original) != began.digest {
        let damaged = std::io::Error::other("it differs from the copy made before the repair");
        return Err(FolderError::at("put back the recipe from", &copy)(damaged));
    }
    let now = std::fs::read(file).ok();
    if now.as_ref() == Some(&original) {
        return Ok(format!("a repair of `{}` was interrupted before it changed anything", began.file));
    }
    let mut kept = String::new();
    if let Some(now) = now {
        let candidate = copy.with_file_name("candidate.yaml");
        write_new(&candidate, &now)?;
        kept = format!("; its changes are kept in `{}`", candidate.display());
    }
    write_new(file, &original)?;
    Ok(format!("a repair of `{}` was interrupted: the original recipe is restored{kept}", began.file))
}

/// A repair of a run that did not end, as far as its journal can be read.
pub(super) fn pending_repair(folder: &RunFolder) -> Option<RepairBegan> {
    if !folder.path().join("repairs").exists() {
        return None;
    }
    let records = journal::read(&folder.journal()).ok()?;
    records
        .into_iter()
        .rev()
        .find_map(|record| match record.event {
            Event::RepairBegan(began) => Some(Some(began)),
            Event::RepairEnded { .. } => Some(None),
            _ => None,
        })
        .flatten()
}
