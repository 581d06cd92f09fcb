//! Systems without `/proc` and without a child subreaper: only process groups are seen and ended.

use std::io;
use std::time::Duration;

use tokio::process::Child;

pub(super) use super::groups::{
    current, drain, has_nothing_left, identify, is_alive, is_running, left, survivors, sweep,
};
use super::{Filter, Marker, ProcessId, groups};

pub(super) fn become_reaper() {}

/// Unknown on this platform: orphans do not come back to this process.
pub(super) fn is_alone() -> bool {
    false
}

pub(super) fn reap() {}

pub(super) fn note_end(id: ProcessId, _: &Filter) -> bool {
    groups::note_end(id);
    false
}

pub(super) fn forget(id: ProcessId) {
    groups::note_end(id);
}

/// Starts nothing: this platform cannot distinguish such a process from one of the run.
pub(super) fn spawn_unmanaged(
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
    marker: &Marker,
    spawn: impl FnOnce() -> io::Result<Child>,
) -> io::Result<(Child, ProcessId)> {
    let child = spawn()?;
    let pid = child.id().and_then(|pid| i32::try_from(pid).ok()).unwrap_or_default();
    let id = ProcessId { pid, start_time: 0 };
    groups::remember(marker, id);
    Ok((child, id))
}

/// Whether this process was started with a signal ignored: unknown here, so a hang-up is obeyed, and ends of children
/// are listened for at once.
pub(super) fn ignores(signal: u32) -> bool {
    signal == super::SIGCHLD
}

/// See [`crate::os::process::pid_namespace`]: there are no namespaces here.
pub(super) fn pid_namespace() -> Option<String> {
    Some("here".to_owned())
}

/// See [`crate::os::process::proc_is_ours`].
pub(super) fn proc_is_ours() -> bool {
    false
}
