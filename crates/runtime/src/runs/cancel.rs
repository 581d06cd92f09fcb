//! Ending a run from outside.

use std::time::Duration;

use engine::{
    EndReason, Event, RunStatus,
    run::{event::RunFinished, origin::Origin},
};

use super::{FindError, OpenError, Runs, list::last_finish, open::spent, orphans::end_orphans};
use crate::{
    os::{clock, process::Survivor},
    store::{cancel_request, folder::RunFolder},
};

/// A request to cancel a run.
#[derive(Clone, Debug)]
pub struct CancelRequest {
    /// The run: its id, a unique beginning of it, or `last`.
    pub run: String,
    /// Where the request comes from.
    pub origin: Option<Origin>,
}

/// Why a run could not be cancelled.
#[derive(Debug, thiserror::Error)]
pub enum CancelError {
    /// It could not be found.
    #[error(transparent)]
    Find(#[from] FindError),
    /// It cannot be read or written.
    #[error(transparent)]
    Open(#[from] OpenError),
}

/// The result of a request to cancel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cancelled {
    /// It is stopped, and all its processes have ended.
    Stopped,
    /// It is stopped, but these processes could not be ended.
    Left(Vec<String>),
    /// It had already ended.
    AlreadyOver(RunStatus),
    /// Its process does not react.
    StillAlive(u32),
}

impl Cancelled {
    fn of(finished: &RunFinished) -> Cancelled {
        match finished.left_processes.is_empty() {
            true => Cancelled::Stopped,
            false => Cancelled::Left(finished.left_processes.clone()),
        }
    }
}

impl Runs {
    /// Stops a run and returns when all its processes have ended.
    pub fn cancel(&self, request: &CancelRequest, grace: Duration) -> Result<Cancelled, CancelError> {
        let (folder, origin) = (&self.find(&request.run)?, request.origin.as_ref());
        let owner = folder.owner();
        Ok(match (owner, last_finish(folder)) {
            (Some(_), _) => self.ask_owner(folder, origin, grace)?,
            (None, Some(finished))
                if !matches!(finished.status, RunStatus::Interrupted | RunStatus::Waiting) =>
            {
                Cancelled::AlreadyOver(finished.status)
            }
            (None, _) => self.bury(folder, origin, grace)?,
        })
    }

    /// Asks the process that owns the run to stop, and waits until it has released the run.
    fn ask_owner(
        &self,
        folder: &RunFolder,
        origin: Option<&Origin>,
        grace: Duration,
    ) -> Result<Cancelled, OpenError> {
        cancel_request::write(folder, origin)?;
        let deadline = std::time::Instant::now() + grace * 2 + Duration::from_secs(10);
        let mut asked = None;
        while let Some(pid) = folder.owner() {
            // a process that has just taken the run may not have written its pid yet
            if asked != Some(pid) {
                ask(pid);
                asked = Some(pid);
            }
            if std::time::Instant::now() > deadline {
                return Ok(Cancelled::StillAlive(pid));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        cancel_request::remove(folder);
        let outcome = match last_finish(folder) {
            Some(finished) if finished.status == RunStatus::Cancelled => Cancelled::of(&finished),
            // it ended before the request
            Some(finished) if finished.status != RunStatus::Interrupted => {
                Cancelled::AlreadyOver(finished.status)
            }
            // it died, or was interrupted by another request
            _ => self.bury(folder, origin, grace)?,
        };
        self.forget(folder);
        Ok(outcome)
    }

    /// Ends the processes that a dead runner left behind, and records the end of the run.
    fn bury(
        &self,
        folder: &RunFolder,
        origin: Option<&Origin>,
        grace: Duration,
    ) -> Result<Cancelled, OpenError> {
        let Some(lock) = folder.lock()? else { return Ok(Cancelled::StillAlive(0)) };
        let (mut shown, mut journal) = self.take(folder.clone())?;
        let usage = spent(&shown.records);
        super::owned_run::undo(&mut shown, &mut journal, grace)?;
        let swept = end_orphans(&shown, grace);
        let finished = RunFinished {
            status: RunStatus::Cancelled,
            reason: EndReason::Cancelled,
            error: Some("cancelled".to_owned()),
            output: None,
            ended_processes: swept.gone().map(|survivor| survivor.command.clone()).collect(),
            left_processes: swept.left.iter().map(Survivor::words).collect(),
            ended_steps: None,
            usage,
            asks: None,
            origin: origin.cloned(),
        };
        let outcome = Cancelled::of(&finished);
        journal.append(clock::now(), Event::RunFinished(finished));
        journal.sync()?;
        drop(lock);
        self.forget(folder);
        Ok(outcome)
    }

    /// Removes the workspace marker of a cancelled run.
    fn forget(&self, folder: &RunFolder) {
        if let Ok(header) = folder.header() {
            self.workspace(&header.recipe_path, &header.working_dir).forget(&header.run_id);
        }
    }
}

/// Asks a runner to check the inbox of its run.
fn ask(pid: u32) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) {
        // a runner that is gone needs no signal; a suspended one must be continued to receive it
        for signal in [rustix::process::Signal::USR1, rustix::process::Signal::CONT] {
            let _ = rustix::process::kill_process(pid, signal);
        }
    }
}
