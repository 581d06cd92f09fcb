//! The process groups that this process has started: all that is visible without a usable `/proc`. Never sees a process
//! that left its group.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{
    Pid, Signal, WaitOptions, getpid, kill_process_group, test_kill_process, test_kill_process_group,
    waitpgid,
};
use tokio::time::{Instant, sleep};

use super::{FileId, Filter, Left, Marker, OutputComplete, ProcessId, Survivor, Swept};

/// How often to check whether a group has ended.
const POLL: Duration = Duration::from_millis(50);
/// How long a killed group may take to end.
const KILLING: Duration = Duration::from_secs(5);

/// A group that may have members.
struct Group {
    marker: Marker,
    /// Whether the status of its first process was collected, or never will be.
    is_over: bool,
}

static GROUPS: LazyLock<Mutex<HashMap<i32, Group>>> = LazyLock::new(Mutex::default);

fn known() -> MutexGuard<'static, HashMap<i32, Group>> {
    GROUPS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Remembers a child that leads a group.
pub(super) fn remember(marker: &Marker, id: ProcessId) {
    known().insert(id.pid, Group { marker: marker.clone(), is_over: false });
}

/// The leader of a group is not waited for any more. Other processes of the group may still run.
pub(super) fn note_end(id: ProcessId) {
    let mut known = known();
    if let Some(group) = known.get_mut(&id.pid) {
        group.is_over = true;
    }
    forget_empty(&mut known);
}

pub(super) fn current() -> ProcessId {
    ProcessId { pid: getpid().as_raw_nonzero().get(), start_time: 0 }
}

/// The start time is unknown here.
pub(super) fn identify(pid: i32) -> Option<ProcessId> {
    Some(ProcessId { pid, start_time: 0 })
}

pub(super) fn is_alive(id: ProcessId) -> bool {
    is_running(id.pid)
}

pub(super) fn is_running(pid: i32) -> bool {
    Pid::from_raw(pid).is_some_and(|pid| test_kill_process(pid).is_ok())
}

pub(super) fn has_nothing_left(filter: &Filter) -> bool {
    groups(filter).is_empty()
}

pub(super) fn survivors(filter: &Filter) -> Vec<Survivor> {
    groups(filter).into_iter().map(|group| describe(group, filter)).collect()
}

/// See [`crate::os::process::Running::left`]: sessions of processes are unknown here.
pub(super) fn left(filter: &Filter, _: &[FileId]) -> Left {
    if has_nothing_left(filter) { Left::Nothing } else { Left::Processes }
}

/// See [`crate::os::process::Running::drain`]: which process reads which pipe is unknown here.
pub(super) async fn drain(filter: &Filter, _: &[FileId]) -> OutputComplete {
    if has_nothing_left(filter) { OutputComplete::Alone } else { OutputComplete::Whole }
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
    let sent = groups(filter).into_iter().filter(|group| kill_process_group(*group, signal).is_ok());
    sent.map(|group| describe(group, filter)).collect()
}

async fn wait_all(filter: &Filter, limit: Duration) {
    let deadline = Instant::now() + limit;
    while !has_nothing_left(filter) && Instant::now() < deadline {
        sleep(POLL).await;
    }
}

/// The matching groups that have members.
fn groups(filter: &Filter) -> Vec<Pid> {
    let mut known = known();
    forget_empty(&mut known);
    let meant = known.iter().filter(|(_, group)| filter.means(&group.marker));
    meant.filter_map(|(pid, _)| Pid::from_raw(*pid)).collect()
}

/// Forgets groups without members: the system soon reuses their numbers.
fn forget_empty(known: &mut HashMap<i32, Group>) {
    known.retain(|pid, group| Pid::from_raw(*pid).is_some_and(|pid| has_members(pid, group)));
}

fn has_members(pid: Pid, group: &Group) -> bool {
    // orphans are adopted by this process, and stay members until it collects their status
    while group.is_over && matches!(waitpgid(pid, WaitOptions::NOHANG), Ok(Some(_))) {}
    !group.is_over || test_kill_process_group(pid).is_ok()
}

fn describe(group: Pid, filter: &Filter) -> Survivor {
    let pid = group.as_raw_nonzero().get();
    let command = format!("process group {pid}");
    Survivor { id: ProcessId { pid, start_time: 0 }, command, step: filter.step.clone() }
}
