//! Ending a run from outside.

use std::time::Duration;

use engine::{
    EndReason, Event, RunStatus,
    run::{event::RunFinished, origin::Origin},
};

use super::{
    FindError, Job, OpenError, OpenedRun, Resume, ResumeError, Runs,
    list::last_finish,
    open::spent,
    orphans::end_orphans,
    resume::own,
    start::{create_audit, open_log},
};
use crate::{
    os::{clock, process::Survivor},
    run::{CLEANUP_TIME, Reporter},
    store::{
        cancel_request::{self, CleanupChoice},
        folder::RunFolder,
        sources::{Recording, Remembered},
    },
};

/// A request to cancel a run.
#[derive(Clone, Debug)]
pub struct CancelRequest {
    /// The run: its id, a unique beginning of it, or `last`.
    pub run: String,
    /// Where the request comes from.
    pub origin: Option<Origin>,
    /// Whether its cleanup steps run.
    pub cleanup: CleanupChoice,
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
    /// Stops a run and returns when all its processes have ended. One that no process works on does not clean up.
    pub(crate) fn end(&self, request: &CancelRequest, grace: Duration) -> Result<Cancelled, CancelError> {
        let (folder, origin) = (&self.find(&request.run)?, request.origin.as_ref());
        let cleanup = request.cleanup;
        let owner = folder.owner();
        Ok(match (owner, last_finish(folder)) {
            (Some(_), _) => self.ask_owner(folder, origin, cleanup, grace)?,
            (None, Some(finished))
                if !matches!(finished.status, RunStatus::Interrupted | RunStatus::Waiting) =>
            {
                Cancelled::AlreadyOver(finished.status)
            }
            (None, _) => self.bury(folder, origin, grace)?,
        })
    }

    /// Whether a run that no process works on has cleanup steps that have to run before it ends.
    pub(crate) fn needs_cleanup(&self, folder: &RunFolder) -> Result<bool, OpenError> {
        let is_idle = folder.owner().is_none()
            && last_finish(folder).is_none_or(|finished| finished.status == RunStatus::Waiting);
        Ok(is_idle && self.open(folder.clone())?.state.has_cleanup())
    }

    /// Ends a run that no process works on, with its cleanup steps.
    pub(crate) fn stop_idle(
        &self,
        opened: OpenedRun,
        resume: Resume<'_>,
        origin: Option<&Origin>,
        reporter: &mut dyn Reporter,
    ) -> Result<Cancelled, ResumeError> {
        let hold = own(&opened.folder)?;
        let (shown, journal) = self.take_opened(opened)?;
        end_orphans(&shown, resume.host.grace);
        cancel_request::write(&shown.folder, origin, CleanupChoice::Wanted).map_err(OpenError::from)?;
        let sources = shown.folder.sources(shown.generation);
        let remembered = Remembered::open(&sources, Some(resume.loader)).map_err(OpenError::from)?;
        let base = shown.recipe.base(&shown.header.working_dir);
        let options = &shown.header.options;
        let audit = create_audit(options, &shown.plan.root().name, &shown.folder.id())?;
        let log = open_log(&shown.folder, options)?;
        let recipe = shown.recipe.name();
        let OpenedRun { folder, header, state, plan, generation, .. } = shown;
        let job = Job {
            performer: self.performer.clone(),
            run_id: folder.id(),
            tracking_id: header.tracking_id,
            folder: Some(folder.clone()),
            journal: Some(journal),
            plan,
            state,
            options: header.options,
            host: resume.host,
            working_dir: header.working_dir,
            base,
            recording: &Recording::going_on(&remembered),
            generation,
            audits: audit.into_iter().chain(log).collect(),
            agents: resume.agents,
            knowledge: self.knowledge.clone(),
            recipe,
            origin: header.origin,
        };
        let result = job.run(vec![Event::RunTakenOver { pid: std::process::id() }], reporter)?;
        cancel_request::remove(&folder);
        hold.release(result.status);
        self.forget(&folder);
        Ok(last_finish(&folder).as_ref().map_or(Cancelled::Stopped, Cancelled::of))
    }

    /// Asks the process that owns the run to stop, and waits until it has released the run.
    fn ask_owner(
        &self,
        folder: &RunFolder,
        origin: Option<&Origin>,
        cleanup: CleanupChoice,
        grace: Duration,
    ) -> Result<Cancelled, OpenError> {
        cancel_request::write(folder, origin, cleanup)?;
        let cleanup = match cleanup {
            CleanupChoice::Wanted => CLEANUP_TIME + grace,
            CleanupChoice::Skipped => Duration::ZERO,
        };
        let deadline = clock::instant() + grace * 2 + Duration::from_secs(10) + cleanup;
        let mut asked = None;
        while let Some(pid) = folder.owner() {
            // a process that has just taken the run may not have written its pid yet
            if asked != Some(pid) {
                ask_owner_to_look(pid);
                asked = Some(pid);
            }
            if clock::instant() > deadline {
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
        if let Some(message) = super::owned_run::undo(&mut shown, &mut journal, grace)? {
            journal.append(clock::now(), Event::Noted { path: None, message, next: None });
        }
        let swept = end_orphans(&shown, grace);
        let finished = RunFinished {
            ended_processes: swept.gone().map(|survivor| survivor.command.clone()).collect(),
            left_processes: swept.left.iter().map(Survivor::words).collect(),
            usage,
            worked_ms: Some(shown.state.work.recorded()),
            origin: origin.cloned(),
            ..RunFinished::new(EndReason::Cancelled, Some("cancelled".to_owned()))
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
            let workspace = self.workspace(&header.recipe_path, &header.working_dir, &header.given());
            workspace.forget(&header.run_id);
        }
    }
}

/// Asks a runner to check the inbox of its run.
pub(super) fn ask_owner_to_look(pid: u32) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) {
        // a runner that is gone needs no signal; a suspended one must be continued to receive it
        for signal in [rustix::process::Signal::USR1, rustix::process::Signal::CONT] {
            let _ = rustix::process::kill_process(pid, signal);
        }
    }
}
