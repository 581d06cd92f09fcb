//! One started child: waiting for it and ending it. Never touches processes of other steps.

use std::fs::File;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::process::Child;

use crate::os::stage::{self, RealTime};

use super::launch::Origin;
use super::{
    Exit, FileId, Filter, Launch, Left, Marker, OutputComplete, ProcessId, StartError, Survivor, Swept,
    platform, terminal,
};

/// A started child. Dropping it leaves the process running; it can still be found by its marker.
#[derive(Debug)]
pub struct Running {
    child: Child,
    id: ProcessId,
    filter: Filter,
    outputs: [Arc<File>; 2],
    exit: Option<Exit>,
    /// Whether this process had no children at all when the main process had ended.
    was_last: bool,
    /// Keeps the clock of a test case real.
    _real: Option<RealTime>,
}

/// The result of ending a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedProcess {
    /// How the main process ended; `None` if it could not be ended. A program may report success after it was asked to
    /// stop, so an exit code of 0 means nothing here.
    pub exit: Option<Exit>,
    /// The result for it and its descendants.
    pub swept: Swept,
}

/// A child that is fully prepared and can be started at once.
pub struct Prepared {
    command: tokio::process::Command,
    origin: Origin,
    marker: Marker,
    outputs: [Arc<File>; 2],
}

/// Prepares a child. No process exists yet.
#[cfg_attr(test, expect(unreachable_pub, reason = "in tests it stands behind another face"))]
pub fn prepare(launch: Launch) -> Result<Prepared, StartError> {
    let mut launch = launch;
    launch.marker.run = stage::marked(&launch.marker.run);
    let marker = launch.marker.clone();
    let outputs = launch.kept.clone();
    let (mut command, origin) = launch.into_command()?;
    terminal::set_apart(&mut command);
    Ok(Prepared { command: command.into(), origin, marker, outputs })
}

/// Starts a child in a process group of its own. Must be called inside a tokio runtime.
#[cfg_attr(test, expect(unreachable_pub, reason = "in tests it stands behind another face"))]
pub fn start(launch: Launch) -> Result<Running, StartError> {
    prepare(launch)?.start()
}

impl Prepared {
    /// Starts it in a process group of its own. Must be called inside a tokio runtime.
    pub fn start(self) -> Result<Running, StartError> {
        let Prepared { mut command, origin, marker, outputs } = self;
        let spawned = platform::register(&marker, || command.spawn());
        let (child, id) = spawned.map_err(|source| origin.explain(source))?;
        let filter = Filter { run: marker.run, step: Some(marker.step), groups: vec![id] };
        Ok(Running { child, id, filter, outputs, exit: None, was_last: false, _real: RealTime::begin() })
    }
}

impl Running {
    /// The main process; its number is that of the process group too.
    #[must_use]
    pub fn identity(&self) -> ProcessId {
        self.id
    }

    /// Waits until the main process ends, whatever its descendants do. Safe to cancel and to repeat.
    pub async fn wait(&mut self) -> Exit {
        if let Some(exit) = self.exit {
            return exit;
        }
        let exit = self.child.wait().await.map_or(Exit::Lost, Exit::from);
        self.was_last = platform::note_end(self.id, &self.filter);
        *self.exit.insert(exit)
    }

    /// The processes of this step that are alive. After [`Self::wait`], those that it left behind.
    #[must_use]
    pub fn survivors(&self) -> Vec<Survivor> {
        if self.has_nothing_left() { Vec::new() } else { platform::survivors(&self.filter) }
    }

    /// After [`Self::wait`], waits for processes that pass on the output of the step, as `exec > >(tee log)` starts
    /// them. The wait is short, and processes that do other work are not waited for. Only where the system shows which
    /// process reads which pipe.
    pub async fn drain(&self) -> OutputComplete {
        match self.was_last {
            true => OutputComplete::Alone,
            false => platform::drain(&self.filter, &self.output_ids()).await,
        }
    }

    /// The processes that the step left behind, after [`Self::wait`].
    #[must_use]
    pub fn left(&self) -> Left {
        platform::left(&self.filter, &self.output_ids())
    }

    fn output_ids(&self) -> Vec<FileId> {
        self.outputs.iter().filter_map(|file| FileId::of(file)).collect()
    }

    /// Ends the main process and all its descendants; after [`Self::wait`], the processes that the step left behind.
    ///
    /// SIGTERM first, SIGKILL for those that are alive after `grace`. Returns as soon as all have ended.
    pub async fn end(&mut self, grace: Duration) -> EndedProcess {
        if self.has_nothing_left() {
            return EndedProcess { exit: self.exit, swept: Swept::default() };
        }
        let swept = self.sweep(grace).await;
        // It has ended, so this returns at once unless the process cannot be ended at all.
        let exit = tokio::time::timeout(LAST_WAIT, self.wait()).await.ok();
        EndedProcess { exit, swept }
    }

    /// Collects the status of the main process as soon as it ends: where only groups are visible, it would look alive
    /// until then.
    async fn sweep(&mut self, grace: Duration) -> Swept {
        let filter = self.filter.clone();
        let mut sweep = pin!(platform::sweep(&filter, grace));
        loop {
            tokio::select! {
                biased;
                swept = &mut sweep => return swept,
                _ = self.wait(), if self.exit.is_none() => {}
            }
        }
    }

    fn has_nothing_left(&self) -> bool {
        self.was_last || (self.exit.is_some() && platform::has_nothing_left(&self.filter))
    }
}

/// How long to wait for the status of a main process after it was killed.
const LAST_WAIT: Duration = Duration::from_secs(1);

impl Drop for Running {
    fn drop(&mut self) {
        if self.exit.is_none() {
            platform::forget(self.id);
        }
    }
}
