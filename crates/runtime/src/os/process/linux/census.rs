//! Which processes belong to a run or a step. Never sends a signal.

use std::collections::{HashMap, HashSet};

use super::family;
use super::table::{Row, Table, own_pid};
use crate::os::process::{Filter, ProcessId, Survivor};

/// The matching live processes, parents before their children, without this process and `init`.
///
/// `known` are processes that were found before: they and their new descendants still count, even if the trace that led
/// to them is gone.
pub(super) fn members(filter: &Filter, known: &HashSet<ProcessId>) -> Vec<Row> {
    family::claim(filter);
    let census = Census { table: Table::read(), filter, known, own: own_pid() };
    let mut members = census.close(census.seeds());
    members.sort_by_key(|row| (row.id.start_time, row.id.pid));
    members
}

/// The description of a process for users.
pub(super) fn describe(row: &Row, filter: &Filter) -> Survivor {
    let step = row.marker().map(|marker| marker.step).or_else(|| filter.step.clone());
    Survivor { id: row.id, command: row.command(), step }
}

struct Census<'a> {
    table: Table,
    filter: &'a Filter,
    known: &'a HashSet<ProcessId>,
    own: i32,
}

impl Census<'_> {
    /// Processes that match by themselves, without relatives.
    fn seeds(&self) -> HashSet<i32> {
        let mut certain: HashSet<ProcessId> = self.known.clone();
        certain.extend(family::claimed(self.filter));
        certain.extend(family::started(self.filter));
        let mut seeds: HashSet<i32> = self.rows().filter(|row| certain.contains(&row.id)).map(pid).collect();
        seeds.extend(self.marked());
        for group in &self.filter.groups {
            seeds.extend(self.held_group(*group, &seeds));
        }
        seeds
    }

    /// Processes that carry the marker. For a step of this process only its own descendants are searched: no process
    /// can leave the family of a reaper.
    fn marked(&self) -> impl Iterator<Item = i32> {
        let is_near = self.filter.step.is_some() && family::is_reaper();
        self.rows()
            .filter(move |row| !is_near || self.table.descends(row, self.own))
            .filter(|row| row.marker().is_some_and(|marker| self.filter.means(&marker)))
            .map(pid)
    }

    /// The members of a recorded group, if it certainly is still that group: its leader is alive, or one of its members
    /// is known to be ours. A number is not reused while a group has it.
    fn held_group(&self, group: ProcessId, seeds: &HashSet<i32>) -> Vec<i32> {
        let members: Vec<&Row> = self.rows().filter(|row| row.group == group.pid).collect();
        let is_held = family::is_held(group)
            || members.iter().any(|row| row.id == group || seeds.contains(&row.id.pid))
            || members.iter().any(|row| self.table.descends(row, self.own));
        let is_reused = members.iter().any(|row| row.id.pid == group.pid && row.id != group);
        if is_held && !is_reused { members.into_iter().map(pid).collect() } else { Vec::new() }
    }

    /// Adds children, and the groups and sessions that a member leads, until there are no more.
    fn close(&self, mut members: HashSet<i32>) -> Vec<Row> {
        let led: HashMap<i32, u64> = self.known.iter().map(|id| (id.pid, id.start_time)).collect();
        loop {
            let leads = |leader: i32, row: &Row| {
                members.contains(&leader) || led.get(&leader).is_some_and(|since| *since <= row.id.start_time)
            };
            let belongs = |row: &&Row| {
                members.contains(&row.parent) || leads(row.group, row) || leads(row.session, row)
            };
            let news = self.rows().filter(|row| !members.contains(&row.id.pid));
            let news: Vec<i32> = news.filter(belongs).map(pid).collect();
            if news.is_empty() {
                return members.iter().filter_map(|pid| self.table.0.get(pid)).cloned().collect();
            }
            members.extend(news);
        }
    }

    fn rows(&self) -> impl Iterator<Item = &Row> {
        self.table.0.values().filter(|row| row.id.pid > 1 && row.id.pid != self.own)
    }
}

fn pid(row: &Row) -> i32 {
    row.id.pid
}
