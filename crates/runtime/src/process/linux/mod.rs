//! Process trees on Linux, through `/proc`, process handles and the child subreaper. Never used elsewhere.

mod census;
mod family;
mod filters;
mod sweep;
mod table;
mod target;

use super::ProcessId;

pub(super) use family::{
    become_reaper, forget, forget_aside, has_nothing_left, note_end, reap, register, start_aside,
    until_lasting,
};
pub(super) use filters::drain;
pub(super) use sweep::{left, survivors, sweep};
pub(super) use target::{is_alive, is_running};

/// See [`ProcessId::current`].
pub(super) fn current() -> ProcessId {
    let pid = rustix::process::getpid().as_raw_nonzero().get();
    table::Row::read(pid).map_or(ProcessId { pid, start_time: 0 }, |row| row.id)
}

/// See [`crate::process::boot_id`].
pub(super) fn boot_id() -> Option<String> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().to_owned())
}

/// See [`crate::process::ignores_hangup`].
pub(super) fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 != 0)
}
