//! Process trees on Linux, through `/proc`, process handles and the child subreaper. Never used elsewhere.

mod census;
mod family;
mod filters;
mod sweep;
mod table;
mod target;

use std::os::unix::fs::MetadataExt as _;
use std::sync::LazyLock;
use std::time::Duration;

use super::{FileId, Filter, Left, OutputComplete, ProcessId, Survivor, Swept, groups};

pub(super) use family::{
    become_reaper, forget, forget_aside, is_alone, note_end, reap, register, spawn_unmanaged, until_lasting,
};

/// See [`crate::os::process::proc_is_ours`].
pub(super) fn proc_is_ours() -> bool {
    static SHOWS: LazyLock<bool> = LazyLock::new(|| {
        let own = table::own_pid().to_string();
        std::fs::read_link("/proc/self").is_ok_and(|shown| shown.as_os_str() == own.as_str())
    });
    *SHOWS
}

/// See [`crate::os::process::pid_namespace`].
pub(super) fn pid_namespace() -> Option<String> {
    static PLACE: LazyLock<Option<String>> = LazyLock::new(|| {
        let namespace = std::fs::metadata("/proc/self/ns/pid").ok()?.ino();
        Some(format!("{}/{namespace}", boot_id()?))
    });
    PLACE.clone()
}

/// See [`crate::os::process::survivors`].
pub(super) fn survivors(filter: &Filter) -> Vec<Survivor> {
    if proc_is_ours() { sweep::survivors(filter) } else { groups::survivors(filter) }
}

/// See [`crate::os::process::end_marked`].
pub(super) async fn sweep(filter: &Filter, grace: Duration) -> Swept {
    if proc_is_ours() { sweep::sweep(filter, grace).await } else { groups::sweep(filter, grace).await }
}

/// See [`crate::os::process::Running::left`].
pub(super) fn left(filter: &Filter, outputs: &[FileId]) -> Left {
    if proc_is_ours() { sweep::left(filter, outputs) } else { groups::left(filter, outputs) }
}

/// See [`crate::os::process::Running::drain`].
pub(super) async fn drain(filter: &Filter, outputs: &[FileId]) -> OutputComplete {
    if proc_is_ours() { filters::drain(filter, outputs).await } else { groups::drain(filter, outputs).await }
}

/// Whether a step whose main process has ended certainly left no process alive.
pub(super) fn has_nothing_left(filter: &Filter) -> bool {
    if proc_is_ours() { family::has_nothing_left(filter) } else { groups::has_nothing_left(filter) }
}

/// See [`ProcessId::is_alive`].
pub(super) fn is_alive(id: ProcessId) -> bool {
    if proc_is_ours() { target::is_alive(id) } else { groups::is_alive(id) }
}

/// See [`crate::os::process::is_running`].
pub(super) fn is_running(pid: i32) -> bool {
    if proc_is_ours() { target::is_running(pid) } else { groups::is_running(pid) }
}

/// See [`ProcessId::current`].
pub(super) fn current() -> ProcessId {
    table::Row::own().map_or_else(groups::current, |row| row.id)
}

/// See [`crate::os::process::identify`].
pub(super) fn identify(pid: i32) -> Option<ProcessId> {
    if proc_is_ours() { table::Row::read(pid).map(|row| row.id) } else { groups::identify(pid) }
}

/// See [`crate::os::process::boot_id`].
pub(super) fn boot_id() -> Option<String> {
    // start times distinguish process numbers of different boots; without a matching `/proc` they are unknown
    proc_is_ours()
        .then(|| std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok())?
        .map(|id| id.trim().to_owned())
}

/// Whether this process was started with a signal ignored.
pub(super) fn ignores(signal: u32) -> bool {
    static MASK: LazyLock<u64> = LazyLock::new(|| {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
    });
    *MASK >> (signal - 1) & 1 != 0
}
