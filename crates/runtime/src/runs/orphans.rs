//! Processes that a dead runner left alive: finds and ends them. Never touches a run that a live process owns.

use std::{collections::BTreeMap, time::Duration};

use engine::Event;

use super::{OpenedRun, list::last_finish, open::assemble};
use crate::{
    os::{clock, process},
    store::{folder::RunFolder, journal},
};

/// Ends every process that a dead runner left behind. The caller must own the run.
pub(super) fn end_orphans(shown: &OpenedRun, grace: Duration) -> process::Swept {
    // the guardian does the same, and would also end newly started processes
    shown.folder.await_guardian();
    clock::block_on(process::end_marked(&orphans(shown), grace)).unwrap_or_default()
}

/// Every process that a dead runner left behind.
fn orphans(shown: &OpenedRun) -> process::Filter {
    let mut filter = process::Filter::run(&shown.header.run_id);
    filter.groups = in_flight(shown);
    filter
}

/// Every process that a dead runner left behind, as far as the folder of the run can still be read.
pub(crate) fn left_behind(folder: &RunFolder) -> process::Filter {
    let opened = assemble(folder.clone(), &BTreeMap::new(), || journal::look(&folder.journal()));
    opened.map_or_else(|_| process::Filter::run(folder.id()), |(shown, _)| orphans(&shown))
}

/// Main processes of unfinished steps: their groups are searched too, for processes without the marker.
fn in_flight(shown: &OpenedRun) -> Vec<process::ProcessId> {
    // process numbers of another boot are meaningless
    if shown.header.boot_id.is_none() || shown.header.boot_id != process::boot_id() {
        return Vec::new();
    }
    let running: Vec<String> = shown.state.running_steps();
    let spawned = shown.records.iter().filter_map(|record| match &record.event {
        Event::Spawned(spawned) if running.contains(&spawned.path) => Some(spawned),
        _ => None,
    });
    let id = |spawned: &engine::run::event::Spawned| {
        let pid = i32::try_from(spawned.pid).ok()?;
        Some(process::ProcessId { pid, start_time: spawned.start_time })
    };
    spawned.filter_map(id).collect()
}

/// Whether processes of a run without a runner are still alive.
pub(super) fn has_survivors(folder: &RunFolder) -> bool {
    last_finish(folder).is_none() && !process::survivors(&process::Filter::run(folder.id())).is_empty()
}
