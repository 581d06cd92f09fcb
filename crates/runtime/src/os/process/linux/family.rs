//! The children of this process: those it started, and the orphans that it adopted. Never sends a signal; never reaps a
//! process that is still waited for.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{
    Pid, WaitId, WaitIdOptions, WaitIdStatus, WaitOptions, getpid, set_child_subreaper, waitid, waitpid,
};
use tokio::process::Child;

use super::proc_is_ours;
use super::table::{Row, own_children};
use crate::os::process::{Filter, Marker, ProcessId, groups};

/// The children of this process, as far as it remembers them.
#[derive(Default)]
struct Family {
    /// Main processes that were started and not yet waited for.
    live: HashMap<i32, (ProcessId, Marker)>,
    /// When each of them was started.
    births: HashMap<i32, Instant>,
    /// Children that belong to no run.
    aside: HashSet<i32>,
    /// Adopted orphans and their owners. Decided once, while the steps in question are alive.
    adopted: HashMap<ProcessId, OrphanOwner>,
    /// The runs that this process has started a process for.
    runs: HashSet<String>,
    /// When the first child was started: older processes came from elsewhere.
    since: u64,
    /// Whether this process adopts orphans at all.
    is_reaper: bool,
}

/// The owner of an orphan; `None` if more than one run, or step, can have started it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct OrphanOwner {
    run: Option<String>,
    step: Option<String>,
}

impl OrphanOwner {
    fn is_meant(&self, filter: &Filter) -> bool {
        self.run.as_ref() == Some(&filter.run) && (filter.step.is_none() || self.step == filter.step)
    }
}

impl From<&Marker> for OrphanOwner {
    fn from(marker: &Marker) -> Self {
        Self { run: Some(marker.run.clone()), step: Some(marker.step.clone()) }
    }
}

static FAMILY: LazyLock<Mutex<Family>> = LazyLock::new(Mutex::default);

fn family() -> MutexGuard<'static, Family> {
    FAMILY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// See [`crate::os::process::become_reaper`].
pub(in crate::os::process) fn become_reaper() {
    family().is_reaper = set_child_subreaper(Some(getpid())).is_ok();
}

/// Spawns and remembers a child in one step, so that it is never mistaken for an adopted one.
pub(in crate::os::process) fn register(
    marker: &Marker,
    spawn: impl FnOnce() -> io::Result<Child>,
) -> io::Result<(Child, ProcessId)> {
    let mut family = family();
    let child = spawn()?;
    let pid = child.id().and_then(|pid| i32::try_from(pid).ok()).unwrap_or_default();
    let row = if proc_is_ours() { Row::read(pid) } else { None };
    let id = row.map_or(ProcessId { pid, start_time: 0 }, |row| row.id);
    if !proc_is_ours() {
        groups::remember(marker, id);
    }
    if family.runs.is_empty() {
        family.since = id.start_time;
    }
    if !family.runs.contains(&marker.run) {
        family.runs.insert(marker.run.clone());
    }
    family.live.insert(pid, (id, marker.clone()));
    family.births.insert(pid, Instant::now());
    Ok((child, id))
}

/// Spawns a child that belongs to no run and never counts as an orphan of one.
pub(in crate::os::process) fn spawn_unmanaged(
    spawn: impl FnOnce() -> io::Result<std::process::Child>,
) -> io::Result<std::process::Child> {
    if !proc_is_ours() {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let mut family = family();
    let child = spawn()?;
    family.aside.extend(i32::try_from(child.id()));
    Ok(child)
}

/// Forgets a child that belongs to no run and was waited for.
pub(in crate::os::process) fn forget_aside(pid: u32) {
    family().aside.retain(|known| u32::try_from(*known) != Ok(pid));
}

/// See [`crate::os::process::until_lasting`].
pub(in crate::os::process) fn until_lasting(limit: Duration) -> Duration {
    let family = family();
    if !family.adopted.is_empty() {
        return Duration::ZERO;
    }
    let oldest = family.births.values().min();
    oldest.map_or(limit, |since| limit.saturating_sub(since.elapsed()))
}

/// A main process has ended and was waited for: what it left behind is put down to its step. Says whether nothing is
/// left, of this step or of any other.
pub(in crate::os::process) fn note_end(id: ProcessId, filter: &Filter) -> bool {
    let is_last = is_alone();
    if !is_last {
        claim(filter);
    }
    forget(id);
    is_last
}

/// Forgets a child that is not waited for any more.
pub(in crate::os::process) fn forget(id: ProcessId) {
    let mut family = family();
    family.live.remove(&id.pid);
    family.births.remove(&id.pid);
    groups::note_end(id);
}

/// Whether this is our child and its status was not yet collected, so that its number cannot have been reused.
pub(super) fn is_held(id: ProcessId) -> bool {
    family().live.get(&id.pid).is_some_and(|(held, _)| *held == id)
}

/// Whether this process adopts orphans.
pub(super) fn is_reaper() -> bool {
    family().is_reaper
}

/// See [`crate::os::process::is_alone`]. The kernel answers for all children at once, so none can be missed.
pub(in crate::os::process) fn is_alone() -> bool {
    is_reaper() && matches!(ended_child(), Err(Errno::CHILD))
}

/// Reaps adopted orphans that have ended.
pub(in crate::os::process) fn reap() {
    if matches!(ended_child(), Ok(Some(_))) {
        family().orphans();
    }
}

/// A child that has ended and was not waited for; an error if there are no children at all. Leaves the status in place.
/// Saves the many steps that leave nothing behind a look into `/proc`.
fn ended_child() -> rustix::io::Result<Option<WaitIdStatus>> {
    waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT)
}

/// Whether a step of this process, whose main process has ended, certainly left no process alive: every live descendant
/// of it is below an orphan that this process adopted.
pub(in crate::os::process) fn has_nothing_left(filter: &Filter) -> bool {
    let mut family = family();
    if !family.is_reaper {
        return false;
    }
    let Some(orphans) = family.orphans() else { return false };
    orphans.iter().all(|row| family.adopted.get(&row.id).is_some_and(|owner| !owner.is_meant(filter)))
}

/// Assigns new orphans to the step that they came from, if that is known.
pub(super) fn claim(filter: &Filter) {
    let Some(step) = &filter.step else { return };
    let asking = Marker { run: filter.run.clone(), step: step.clone() };
    let mut family = family();
    for row in family.orphans().unwrap_or_default() {
        if !family.adopted.contains_key(&row.id) {
            let owner = family.owner(&row, &asking, &filter.groups);
            family.adopted.insert(row.id, owner);
        }
    }
}

/// The orphans that match: those assigned to the step or run, and for a whole run also the unassigned ones if this
/// process has worked for no other run.
pub(super) fn claimed(filter: &Filter) -> Vec<ProcessId> {
    let mut family = family();
    let is_only_run = family.runs.len() == 1 && family.runs.contains(&filter.run);
    let orphans = family.orphans().unwrap_or_default();
    let belongs = |row: &Row| match family.adopted.get(&row.id) {
        Some(owner) => owner.is_meant(filter),
        None => filter.step.is_none() && is_only_run,
    };
    orphans.into_iter().filter(belongs).map(|row| row.id).collect()
}

/// The matching main processes of this process.
pub(super) fn started(filter: &Filter) -> Vec<ProcessId> {
    let family = family();
    family.live.values().filter(|(_, marker)| filter.means(marker)).map(|(id, _)| *id).collect()
}

impl Family {
    /// Live orphans that this process adopted; those that have ended are reaped. `None` if they cannot be listed.
    ///
    /// Everything that we start leads its own group, so a child in *our* group was started by other code of this
    /// program and is left alone, as is one that is older than our first child.
    fn orphans(&mut self) -> Option<Vec<Row>> {
        if !proc_is_ours() {
            return None;
        }
        if self.runs.is_empty() || matches!(ended_child(), Err(Errno::CHILD)) {
            return Some(Vec::new());
        }
        let is_strange = |pid: &i32| !self.live.contains_key(pid) && !self.aside.contains(pid);
        let strange: Vec<i32> = own_children()?.into_iter().filter(is_strange).collect();
        if strange.is_empty() {
            return Some(Vec::new());
        }
        let own_group = Row::own()?.group;
        let mut orphans = Vec::new();
        for pid in strange {
            let Some(number) = Pid::from_raw(pid) else { continue };
            let Some(row) = Row::read(pid) else { continue };
            if row.id.start_time < self.since || row.group == own_group {
                continue;
            }
            match waitpid(Some(number), WaitOptions::NOHANG) {
                Ok(None) => orphans.push(row),
                _ => drop(self.adopted.remove(&row.id)),
            }
        }
        Some(orphans)
    }

    /// The owner of an orphan: by its marker, by its group, or because only one step can have started it.
    fn owner(&self, orphan: &Row, asking: &Marker, groups: &[ProcessId]) -> OrphanOwner {
        if let Some(marker) = orphan.marker() {
            return OrphanOwner::from(&marker);
        }
        if groups.iter().any(|group| group.pid == orphan.group) {
            return OrphanOwner::from(asking);
        }
        if let Some((_, marker)) = self.live.get(&orphan.group) {
            return OrphanOwner::from(marker);
        }
        let older = self.live.values().filter(|(id, _)| id.start_time <= orphan.id.start_time);
        let mut owner = OrphanOwner::from(asking);
        for (_, other) in older {
            owner.run = owner.run.filter(|run| *run == other.run);
            owner.step = owner.step.filter(|step| *step == other.step);
        }
        owner
    }
}
