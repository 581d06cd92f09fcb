//! Child processes: starting them, waiting for them, and ending them with everything they started.
//! Never pipes output, never prints, and never lets a child at the terminal.
//!
//! Each child leads its own process group (and session, where there is a terminal), writes straight into files, and carries a [`Marker`] in its
//! environment. Descendants that leave the group are found again by three independent traces: the chain of
//! parents (the runner is a child subreaper, so that orphans come back to it), groups and sessions led by
//! known members, and the marker, which survives the runner itself.
//!
//! What things cost: [`start`] is one `posix_spawn` and one read of `/proc/PID/stat`; [`Running::wait`] and
//! [`Running::survivors`] of a step that leaves nothing behind read one small file per thread of the runner;
//! only when something is left, or when something has to be ended, is `/proc` scanned.
//!
//! Where no `/proc` shows this process (outside Linux, or where it is not mounted or that of another pid namespace) only
//! the process groups that it has started are seen and ended: see [`shows_us`].

mod exit;
mod groups;
mod launch;
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

pub use exit::{Exit, signal_name};
pub use launch::{Launch, StartError, Stdin, open_output};
pub use running::Ended;
#[cfg(not(test))]
pub use running::{Prepared, Running, prepare, start};

#[cfg(test)]
pub use crate::simulation::process::{Prepared, Running, prepare, start};

/// The environment variable that names the run, in every process of it.
pub const RUN_VARIABLE: &str = "RECIPE_RUNNER_RUN";
/// The environment variable that names the run and every run around it, outermost first, separated by spaces.
pub const CHAIN_VARIABLE: &str = "RECIPE_RUNNER_CHAIN";
/// The environment variable that names the step and its attempt (`path#attempt`).
pub const STEP_VARIABLE: &str = "RECIPE_RUNNER_STEP";

/// What a child and its descendants carry in their environment, so that they can be found again.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Marker {
    /// The run id.
    pub run: String,
    /// The step path and the attempt: `build/test#1`.
    pub step: String,
}

/// A process, and not another one that was later given the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcessId {
    /// The process number.
    pub pid: i32,
    /// When it started, in clock ticks since boot (0 where the system does not tell).
    pub start_time: u64,
}

impl ProcessId {
    /// Whether this very process is alive (a zombie is not).
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

/// Whether a process of this number is alive (a zombie is not), whoever it is.
pub(crate) fn is_running(pid: u32) -> bool {
    i32::try_from(pid).is_ok_and(platform::is_running)
}

/// A process that is alive although nobody waits for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survivor {
    /// Which process.
    pub id: ProcessId,
    /// Its command line, shortened; its name in brackets where there is none.
    pub command: String,
    /// The step (`path#attempt`) that it belongs to, where that is known.
    pub step: Option<String>,
}

impl Survivor {
    /// The process for people who have to end it themselves.
    #[must_use]
    pub fn words(&self) -> String {
        format!("process {} (`{}`)", self.id.pid, self.command)
    }
}

/// Whether all that a step has printed is in its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drained {
    /// It is, and nobody of the step is left.
    Alone,
    /// It is.
    Whole,
    /// Somebody still passes it on.
    InPart,
}

/// A file, whatever it is called.
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

/// What a step left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// Nothing.
    Nothing,
    /// Only processes that made sessions of their own, as daemons do, or that end when they have read what they were
    /// given.
    Daemons,
    /// Processes, as the shell starts them with `&`.
    Processes,
}

/// Which processes are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// The run that they belong to.
    pub run: String,
    /// Only this step (`path#attempt`), or all of the run.
    pub step: Option<String>,
    /// Recorded main processes, whose groups are searched too. Those of an earlier boot (see [`boot_id`])
    /// must be left out by the caller.
    pub groups: Vec<ProcessId>,
}

impl Filter {
    fn means(&self, marker: &Marker) -> bool {
        self.run == marker.run && self.step.as_ref().is_none_or(|step| *step == marker.step)
    }

    /// Everything of one run.
    pub fn run(run: impl Into<String>) -> Self {
        Self { run: run.into(), step: None, groups: Vec::new() }
    }
}

/// What became of the processes that were to be ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Swept {
    /// Went when they were asked to, or by themselves in the meantime.
    pub ended: Vec<Survivor>,
    /// Had to be killed.
    pub killed: Vec<Survivor>,
    /// Are still alive: they belong to somebody else, or hang inside the kernel.
    pub left: Vec<Survivor>,
}

impl Swept {
    /// Those that are gone.
    pub fn gone(&self) -> impl Iterator<Item = &Survivor> {
        self.ended.iter().chain(&self.killed)
    }

    /// Whether nothing is left alive.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.left.is_empty()
    }
}

/// The processes that match, alive now. Scans `/proc`; after a step, ask [`Running::survivors`] instead.
#[must_use]
pub fn survivors(filter: &Filter) -> Vec<Survivor> {
    #[cfg(test)]
    if crate::os::files::is_on() {
        return crate::simulation::process::survivors(filter);
    }
    platform::survivors(filter)
}

/// Ends all processes that match: asks them with SIGTERM, and kills what is alive after `grace`.
///
/// Works from any process of the same user, also after the runner that started them was killed. Returns as
/// soon as everything is gone.
pub async fn end_marked(filter: &Filter, grace: Duration) -> Swept {
    #[cfg(test)]
    if crate::os::files::is_on() {
        return crate::simulation::process::sweep(filter, grace).await;
    }
    platform::sweep(filter, grace).await
}

/// Lets all signals through: whoever starts programs from where signals are blocked hands that on, and nobody could stop
/// this one, or what it starts. Call it before there is a second thread.
pub fn hear_signals() {
    // an empty set is never refused
    let _ = SigSet::empty().thread_set_mask();
}

/// Makes this process the one to which orphaned descendants return. Call it once, before the first [`start`].
///
/// Without it (or where the system has no such thing) descendants that left their group are found by their
/// marker only.
pub fn become_reaper() {
    #[cfg(test)]
    if crate::os::files::is_on() {
        return;
    }
    platform::become_reaper();
}

/// Reaps adopted orphans as they end, until dropped; run it beside the loop.
///
/// Only processes outside our own process group that [`start`] did not start are touched, so no exit status
/// is taken away from anybody who waits for it.
pub async fn reap_adopted() -> io::Result<()> {
    #[cfg(test)]
    if crate::os::files::is_on() {
        return std::future::pending().await;
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
pub(crate) fn start_aside(command: &mut Command) -> io::Result<Child> {
    platform::start_aside(|| command.spawn())
}

/// A child that was started aside has ended and was waited for.
pub(crate) fn forget_aside(child: &Child) {
    platform::forget_aside(child.id());
}

/// How long until something that this process started has been running for `limit`; nothing at all when it has, or
/// when a step has left something behind.
pub(crate) fn until_lasting(limit: Duration) -> Duration {
    platform::until_lasting(limit)
}

/// Whether `/proc` shows this process under its own number, and so those that it starts. In a pid namespace of our own
/// `/proc` can be that of the namespace outside: whoever is killed by a number from there is somebody else.
#[must_use]
pub fn shows_us() -> bool {
    platform::shows_us()
}

/// What people should know where processes cannot be seen as they can elsewhere on this system.
#[must_use]
pub fn blindness() -> Option<&'static str> {
    let is_blind = cfg!(target_os = "linux") && !shows_us();
    is_blind.then_some(
        "`/proc` is missing, or shows the processes of another container: processes that steps start in their own \
         sessions, or that a killed run left, are neither found nor ended; mount a `/proc` for this one",
    )
}

/// Where the numbers of processes mean the same as here: this boot of this machine, and this pid namespace. `None` where
/// nobody can tell.
#[must_use]
pub(crate) fn place() -> Option<String> {
    platform::place()
}

/// Whether this process was started so that it outlives its terminal (`nohup`).
#[must_use]
pub fn ignores_hangup() -> bool {
    platform::ignores_hangup()
}

/// How many children the descriptors of this process suffice for.
#[must_use]
pub fn room() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let free = limit.unwrap_or(u64::MAX).saturating_sub(OWN_DESCRIPTORS);
    usize::try_from(free / CHILD_DESCRIPTORS).unwrap_or(usize::MAX).max(1)
}

/// What the runner itself holds open, with some room for what it opens for an instant.
const OWN_DESCRIPTORS: u64 = 26;
/// What the runner holds open for one running child: its process handle and its two outputs, rounded up.
const CHILD_DESCRIPTORS: u64 = 4;

/// Names this boot of the machine; a [`ProcessId`] means nothing in another one.
#[must_use]
pub fn boot_id() -> Option<String> {
    #[cfg(test)]
    if crate::os::files::is_on() {
        return Some(crate::simulation::boot_id());
    }
    platform::boot_id()
}
