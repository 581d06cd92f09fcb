//! Child processes: starting them, waiting for them, and ending them with everything they started. Never pipes output,
//! never prints, and never gives a child access to the terminal.
//!
//! Each child leads its own process group (and session, where there is a terminal), writes straight into files, and
//! carries a [`Marker`] in its environment. Descendants that leave the group are found by three independent traces: the
//! chain of parents (the runner is a child subreaper, so it adopts orphans), groups and sessions led by known members,
//! and the marker, which survives the runner itself.
//!
//! Cost: [`start`] is one `posix_spawn` and one read of `/proc/PID/stat`; [`Running::wait`] and [`Running::survivors`]
//! of a step that leaves nothing behind read one small file per thread of the runner. `/proc` is scanned only when a
//! process is left or has to be ended.
//!
//! Without a usable `/proc` (outside Linux, or where it is not mounted or belongs to another pid namespace) only the
//! process groups that this process has started are seen and ended: see [`proc_is_ours`].

mod exit;
mod groups;
mod launch;
mod requests;
pub(crate) mod running;
mod terminal;

#[cfg(target_os = "linux")]
#[path = "linux/mod.rs"]
mod platform;
#[cfg(not(target_os = "linux"))]
#[path = "portable.rs"]
mod platform;

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::process::{Child, Command};
use std::time::Duration;

use nix::sys::signal::SigSet;
use tokio::signal::unix::{SignalKind, signal};

use super::stage::{self, RealTime};

pub use exit::{Exit, signal_name};
pub use launch::{Launch, StartError, Stdin, open_output};
pub(crate) use requests::survive_requests;
pub use running::EndedProcess;
#[cfg(not(test))]
pub use running::{Prepared, Running, prepare, start};

#[cfg(test)]
pub use crate::simulation::process::{Prepared, Running, prepare, start};

/// The environment variable with the run id, in every process of the run.
pub const RUN_VARIABLE: &str = "RECIPE_RUNNER_RUN";
/// The environment variable with the ids of the run and every run around it, outermost first, separated by spaces.
pub const CHAIN_VARIABLE: &str = "RECIPE_RUNNER_CHAIN";
/// The environment variable with the session of the workstream that a step belongs to.
pub const SESSION_VARIABLE: &str = "RECIPE_RUNNER_SESSION";
/// The environment variable with the folder of the run.
pub const RUN_DIR_VARIABLE: &str = "RECIPE_RUNNER_RUN_DIR";
/// The environment variable with the step and its attempt (`path#attempt`).
pub const STEP_VARIABLE: &str = "RECIPE_RUNNER_STEP";
/// The environment variable with the test case, in every process of its runs.
pub(crate) const CASE_VARIABLE: &str = "RECIPE_RUNNER_CASE";

/// The marker in the environment of a child and its descendants, by which they are found.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Marker {
    pub run: String,
    /// The step path and the attempt: `build/test#1`.
    pub step: String,
}

/// A process, and not a later one with the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcessId {
    pub pid: i32,
    /// When it started, in clock ticks since boot (0 where the system does not tell).
    pub start_time: u64,
}

impl ProcessId {
    /// Whether exactly this process is alive (a zombie is not).
    #[must_use]
    pub fn is_alive(self) -> bool {
        platform::is_alive(self)
    }

    /// The calling process.
    #[must_use]
    pub fn current() -> Self {
        platform::current()
    }
}

/// Whether any process with this number is alive (a zombie is not).
pub(crate) fn is_running(pid: u32) -> bool {
    i32::try_from(pid).is_ok_and(platform::is_running)
}

/// The live process with this number.
pub(crate) fn identify(pid: u32) -> Option<ProcessId> {
    i32::try_from(pid).ok().and_then(platform::identify).filter(|id| id.is_alive())
}

/// A process that is alive although it is not waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survivor {
    pub id: ProcessId,
    /// Its command line, shortened; its name in brackets if the command line is empty.
    pub command: String,
    /// The step (`path#attempt`) that it belongs to, where that is known.
    pub step: Option<String>,
}

impl Survivor {
    /// The process as text, for users who have to end it themselves.
    #[must_use]
    pub fn words(&self) -> String {
        format!("process {} (`{}`)", self.id.pid, self.command)
    }
}

/// Whether all output of a step is in its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputComplete {
    /// All of it, and no process of the step is left.
    Alone,
    /// All of it.
    Whole,
    /// A process still passes it on.
    InPart,
}

/// A file, independent of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileId {
    device: u64,
    number: u64,
}

impl FileId {
    fn of(file: &std::fs::File) -> Option<FileId> {
        file.metadata().ok().map(|known| FileId { device: known.dev(), number: known.ino() })
    }

    #[cfg(target_os = "linux")]
    fn at(path: &str) -> Option<FileId> {
        std::fs::metadata(path).ok().map(|known| FileId { device: known.dev(), number: known.ino() })
    }
}

/// The processes that a step left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    Nothing,
    /// Only processes that made their own sessions, as daemons do, or that end when they have read their input.
    Daemons,
    /// Ordinary background processes, as the shell starts them with `&`.
    Processes,
}

/// A selection of processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// The run that they belong to.
    pub run: String,
    /// Only this step (`path#attempt`), or all of the run.
    pub step: Option<String>,
    /// Recorded main processes, whose groups are searched too. The caller must leave out those of an earlier boot (see
    /// [`boot_id`]).
    pub groups: Vec<ProcessId>,
}

impl Filter {
    fn means(&self, marker: &Marker) -> bool {
        stage::means(&self.run, &marker.run) && self.step.as_ref().is_none_or(|step| *step == marker.step)
    }

    /// The same with the mark that the processes of its run have.
    fn marked(&self) -> Filter {
        Filter { run: stage::wanted(&self.run), ..self.clone() }
    }

    /// All processes of one run.
    pub fn run(run: impl Into<String>) -> Self {
        Self { run: run.into(), step: None, groups: Vec::new() }
    }
}

/// The result of ending processes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Swept {
    /// EndedProcess when asked, or by themselves in the meantime.
    pub ended: Vec<Survivor>,
    pub killed: Vec<Survivor>,
    /// Still alive: they belong to another user, or hang inside the kernel.
    pub left: Vec<Survivor>,
}

impl Swept {
    /// Those that are gone.
    pub fn gone(&self) -> impl Iterator<Item = &Survivor> {
        self.ended.iter().chain(&self.killed)
    }

    /// Whether no process is left alive.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.left.is_empty()
    }
}

/// The matching processes that are alive now. Scans `/proc`; after a step, use [`Running::survivors`] instead.
#[must_use]
pub fn survivors(filter: &Filter) -> Vec<Survivor> {
    #[cfg(test)]
    if crate::os::files::is_on() {
        return crate::simulation::process::survivors(filter);
    }
    platform::survivors(&filter.marked())
}

/// Ends all matching processes: asks them with SIGTERM, and kills those that are alive after `grace`.
///
/// Works from any process of the same user, also after the runner that started them was killed. Returns as soon as all
/// have ended.
pub async fn end_marked(filter: &Filter, grace: Duration) -> Swept {
    #[cfg(test)]
    if crate::os::files::is_on() {
        return crate::simulation::process::sweep(filter, grace).await;
    }
    let _real = RealTime::begin();
    platform::sweep(&filter.marked(), grace).await
}

/// Unblocks all signals. A parent that blocks signals passes that on to its children, so neither this program nor its
/// own children could be stopped. Call it before there is a second thread.
pub fn unblock_signals() {
    // an empty set is always accepted
    let _ = SigSet::empty().thread_set_mask();
}

/// Makes this process adopt orphaned descendants. Call it once, before the first [`start`].
///
/// Without it (or on systems without this feature) descendants that left their group are found only by their marker.
pub fn become_reaper() {
    #[cfg(test)]
    if crate::os::files::is_on() {
        return;
    }
    platform::become_reaper();
}

/// Whether this process certainly has no living descendant: it has no children, and orphans would have come back to it.
#[must_use]
pub(crate) fn is_alone() -> bool {
    #[cfg(test)]
    if crate::os::files::is_on() {
        return false;
    }
    stage::is_without_processes() || platform::is_alone()
}

/// Reaps adopted orphans as they end, until dropped; run it beside the loop.
///
/// Only processes outside our own process group that [`start`] did not start are touched, so no other part of the
/// program loses an exit status that it waits for.
pub async fn reap_adopted() -> io::Result<()> {
    #[cfg(test)]
    if crate::os::files::is_on() {
        return std::future::pending().await;
    }
    // the end of a step reaps too, and with the clock of a test case there is nothing to look at now and then
    if stage::is_on() {
        return std::future::pending().await;
    }
    // the end of a step reaps too, so a signal for every child that ends is worth its price only where steps last;
    // where such signals are ignored no status can be taken, and listening for them ends that
    let mut rest = if platform::ignores(SIGCHLD) { Duration::ZERO } else { BRIEF };
    while !rest.is_zero() {
        tokio::time::sleep(rest).await;
        rest = platform::until_lasting(BRIEF);
    }
    let mut ended = signal(SignalKind::child())?;
    loop {
        platform::reap();
        if ended.recv().await.is_none() {
            return Ok(());
        }
    }
}

/// Starts a child that belongs to no run: it is neither found nor ended with one. Linux only.
pub(crate) fn spawn_unmanaged(command: &mut Command) -> io::Result<Child> {
    platform::spawn_unmanaged(|| command.spawn())
}

/// Forgets a child of [`spawn_unmanaged`] that has ended and was waited for.
pub(crate) fn forget_aside(child: &Child) {
    platform::forget_aside(child.id());
}

/// How long until a child of this process has been running for `limit`; zero if one already has, or if a step has left
/// a process behind.
pub(crate) fn until_lasting(limit: Duration) -> Duration {
    platform::until_lasting(limit)
}

/// Whether `/proc` shows this process, and so its children, under their own numbers. In a pid namespace of our own
/// `/proc` can be that of the outer namespace: a number from there would kill an unrelated process.
#[must_use]
pub fn proc_is_ours() -> bool {
    platform::proc_is_ours()
}

/// A warning if this Linux system does not show our processes.
#[must_use]
pub fn visibility_warning() -> Option<&'static str> {
    let is_blind = cfg!(target_os = "linux") && !proc_is_ours();
    is_blind.then_some(
        "`/proc` is missing, or shows the processes of another container: processes that steps start in their own \
         sessions, or that a killed run left, are neither found nor ended; mount a `/proc` for this one",
    )
}

/// Where process numbers have the same meaning as here: this boot of this machine, and this pid namespace. `None` if
/// that is unknown.
#[must_use]
pub(crate) fn pid_namespace() -> Option<String> {
    platform::pid_namespace()
}

/// Whether this process was started so that it outlives its terminal (`nohup`).
#[must_use]
pub fn ignores_hangup() -> bool {
    platform::ignores(SIGHUP)
}

const SIGHUP: u32 = 1;
const SIGCHLD: u32 = if cfg!(target_os = "linux") { 17 } else { 20 };
/// A child that runs for so long is no short step.
const BRIEF: Duration = Duration::from_millis(50);

/// How many children the descriptors of this process suffice for.
#[must_use]
pub fn max_children() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let free = limit.unwrap_or(u64::MAX).saturating_sub(OWN_DESCRIPTORS);
    usize::try_from(free / CHILD_DESCRIPTORS).unwrap_or(usize::MAX).max(1)
}

/// Descriptors of the runner itself, with some room for short-lived ones.
const OWN_DESCRIPTORS: u64 = 26;
/// Descriptors of one running child: its process handle and its two outputs, rounded up.
const CHILD_DESCRIPTORS: u64 = 4;

/// The id of this boot of the machine; a [`ProcessId`] is valid only within one boot.
#[must_use]
pub fn boot_id() -> Option<String> {
    #[cfg(test)]
    if crate::os::files::is_on() {
        return Some(crate::simulation::boot_id());
    }
    platform::boot_id()
}
