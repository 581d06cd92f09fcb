//! Process trees where there is only the process group. Never sees a process that left its group.

use std::io;
use std::time::Duration;

use rustix::process::{Pid, Signal, getpid, kill_process_group, test_kill_process, test_kill_process_group};
use tokio::process::Child;
use tokio::time::{Instant, sleep};

use super::{Drained, FileId, Filter, Left, Marker, ProcessId, Survivor, Swept};

/// How often to look whether a group has ended.
const POLL: Duration = Duration::from_millis(50);
/// How long a killed group may take.
const KILLING: Duration = Duration::from_secs(5);

pub(super) fn become_reaper() {}

pub(super) fn reap() {}

pub(super) fn note_end(_: ProcessId, _: &Filter) {}

pub(super) fn forget(_: ProcessId) {}

/// Nothing is started aside: nobody here could tell it from a process of the run.
pub(super) fn start_aside(
    _: impl FnOnce() -> io::Result<std::process::Child>,
) -> io::Result<std::process::Child> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(super) fn forget_aside(_: u32) {}

pub(super) fn until_lasting(limit: Duration) -> Duration {
    limit
}

pub(super) fn boot_id() -> Option<String> {
    None
}

pub(super) fn register(
    _: &Marker,
    spawn: impl FnOnce() -> io::Result<Child>,
) -> io::Result<(Child, ProcessId)> {
    let child = spawn()?;
    let pid = child.id().and_then(|pid| i32::try_from(pid).ok()).unwrap_or_default();
    Ok((child, ProcessId { pid, start_time: 0 }))
}

pub(super) fn current() -> ProcessId {
    ProcessId { pid: getpid().as_raw_nonzero().get(), start_time: 0 }
}

pub(super) fn is_alive(id: ProcessId) -> bool {
    is_running(id.pid)
}

pub(super) fn is_running(pid: i32) -> bool {
    Pid::from_raw(pid).is_some_and(|pid| test_kill_process(pid).is_ok())
}

pub(super) fn has_nothing_left(filter: &Filter) -> bool {
    groups(filter).next().is_none()
}

pub(super) fn survivors(filter: &Filter) -> Vec<Survivor> {
    groups(filter).map(|group| describe(group, filter)).collect()
}

/// See [`crate::process::Running::left`]: who has a session of its own cannot be told here.
pub(super) fn left(filter: &Filter, _: &[FileId]) -> Left {
    if has_nothing_left(filter) { Left::Nothing } else { Left::Processes }
}

/// See [`crate::process::Running::drain`]: who reads from whom cannot be told here.
pub(super) async fn drain(filter: &Filter, _: &[FileId]) -> Drained {
    if has_nothing_left(filter) { Drained::Alone } else { Drained::Whole }
}

pub(super) async fn sweep(filter: &Filter, grace: Duration) -> Swept {
    let asked = signal_all(filter, Signal::TERM);
    wait_all(filter, grace).await;
    let killed = signal_all(filter, Signal::KILL);
    wait_all(filter, KILLING).await;
    let left = survivors(filter);
    let killed: Vec<_> = killed.into_iter().filter(|survivor| !left.contains(survivor)).collect();
    let ended = asked.into_iter().filter(|survivor| !killed.contains(survivor) && !left.contains(survivor));
    Swept { ended: ended.collect(), killed, left }
}

fn signal_all(filter: &Filter, signal: Signal) -> Vec<Survivor> {
    let sent = groups(filter).filter(|group| kill_process_group(*group, signal).is_ok());
    sent.map(|group| describe(group, filter)).collect()
}

async fn wait_all(filter: &Filter, limit: Duration) {
    let deadline = Instant::now() + limit;
    while !has_nothing_left(filter) && Instant::now() < deadline {
        sleep(POLL).await;
    }
}

fn groups(filter: &Filter) -> impl Iterator<Item = Pid> {
    let pids = filter.groups.iter().filter_map(|id| Pid::from_raw(id.pid));
    pids.filter(|pid| *pid != Pid::INIT && test_kill_process_group(*pid).is_ok())
}

fn describe(group: Pid, filter: &Filter) -> Survivor {
    let pid = group.as_raw_nonzero().get();
    let command = format!("process group {pid}");
    Survivor { id: ProcessId { pid, start_time: 0 }, command, step: filter.step.clone() }
}

/// See [`crate::process::ignores_hangup`]: nobody can tell here.
pub(super) fn ignores_hangup() -> bool {
    false
}
