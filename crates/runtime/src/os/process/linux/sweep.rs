//! Ending process trees: ask, wait, kill, and look again until no process is left. Never gives up early and never runs
//! for ever.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::time::{Instant, timeout_at};

use super::target::{Pressure, Target};
use super::{census, family, filters, table::Row};
use crate::os::process::{FileId, Filter, Left, ProcessId, Survivor, Swept};

/// How long to keep killing. Only a process that hangs in the kernel, or one that forks faster than it is killed, needs
/// more than an instant.
const KILLING: Duration = Duration::from_secs(5);
/// How long a killed process may take before the next scan.
const ROUND: Duration = Duration::from_millis(500);
/// The empty scans in a row that count as an end: a process that forks during a scan can escape one, hardly two.
const EMPTY_LOOKS: u32 = 2;

/// See [`crate::os::process::survivors`].
pub(in crate::os::process) fn survivors(filter: &Filter) -> Vec<Survivor> {
    let members = census::members(filter, &HashSet::new());
    members.iter().map(|row| census::describe(row, filter)).collect()
}

/// See [`crate::os::process::Running::left`].
pub(in crate::os::process) fn left(filter: &Filter, outputs: &[FileId]) -> Left {
    let members = census::members(filter, &HashSet::new());
    let own = Row::own().map_or(0, |own| own.session);
    // a process of a step has our session, or leads one
    let is_of_step = |row: &Row| row.session == own || filter.groups.iter().any(|id| id.pid == row.session);
    let filters = filters::filters(&members, outputs);
    let serves = |row: &Row| is_of_step(row) && !filters.contains(&row.id.pid);
    match members.iter().any(serves) {
        true => Left::Processes,
        false if members.is_empty() => Left::Nothing,
        false => Left::Daemons,
    }
}

/// See [`crate::os::process::end_marked`].
pub(in crate::os::process) async fn sweep(filter: &Filter, grace: Duration) -> Swept {
    let mut sweep = Sweep { filter, targets: BTreeMap::new(), known: HashSet::new() };
    // scanning all processes is expensive; skip it when no process is left
    if sweep.ask(Instant::now() + grace).await == AskedToEnd::SomeStayed {
        sweep.kill(Instant::now() + KILLING).await;
    }
    family::reap();
    sweep.report()
}

/// The result of asking.
#[derive(PartialEq, Eq)]
enum AskedToEnd {
    AllGone,
    SomeStayed,
}

struct Sweep<'a> {
    filter: &'a Filter,
    targets: BTreeMap<ProcessId, Target>,
    known: HashSet<ProcessId>,
}

impl Sweep<'_> {
    /// Asks all processes to end. New ones are left alone while one of those that were asked is alive: they may be part
    /// of its cleanup.
    async fn ask(&mut self, deadline: Instant) -> AskedToEnd {
        let mut empty = 0;
        while empty < EMPTY_LOOKS {
            if Instant::now() >= deadline {
                return AskedToEnd::SomeStayed;
            }
            if self.look() == 0 {
                empty += 1;
                continue;
            }
            empty = 0;
            self.ask_all();
            // After the deadline the loop ends, and killing begins.
            let _ = timeout_at(deadline, all_gone(self.targets.values())).await;
        }
        AskedToEnd::AllGone
    }

    async fn kill(&mut self, deadline: Instant) {
        let mut empty = 0;
        while empty < EMPTY_LOOKS && Instant::now() < deadline {
            if self.look() == 0 {
                empty += 1;
                continue;
            }
            empty = 0;
            self.kill_all();
            let killed = self.targets.values().filter(|target| target.pressure == Pressure::Killed);
            let _ = timeout_at(Instant::now() + ROUND, all_gone(killed)).await;
            if self.has_only_refused() {
                return;
            }
        }
    }

    /// Adds newly found processes; returns how many are alive.
    fn look(&mut self) -> usize {
        family::reap();
        for row in census::members(self.filter, &self.known) {
            if self.known.insert(row.id) {
                let target = Target::new(&row, census::describe(&row, self.filter));
                self.targets.extend(target.map(|target| (target.id(), target)));
            }
        }
        self.alive().count()
    }

    fn alive(&self) -> impl Iterator<Item = &Target> {
        self.targets.values().filter(|target| target.is_alive())
    }

    /// Signals a group whose leader was not waited for as a whole, so that a shell cannot continue with its next
    /// command between its child's end and its own.
    fn ask_all(&mut self) {
        let signalled = self.signal_groups(Signal::TERM);
        for target in self.targets.values_mut().filter(|target| target.pressure == Pressure::None) {
            if target.shares(&signalled) {
                target.pressure = Pressure::Asked;
            } else {
                target.press(Signal::TERM, Pressure::Asked);
            }
            target.resume();
        }
    }

    fn kill_all(&mut self) {
        for target in self.targets.values_mut().filter(|target| target.is_alive()) {
            target.press(Signal::KILL, Pressure::Killed);
        }
    }

    fn signal_groups(&self, signal: Signal) -> Vec<i32> {
        let news = self.targets.values().filter(|target| target.pressure == Pressure::None);
        let leaders = news.map(Target::id).filter(|id| family::is_held(*id));
        let groups = leaders.filter_map(|id| Pid::from_raw(id.pid));
        let sent = groups.filter(|group| kill_process_group(*group, signal).is_ok());
        sent.map(|group| group.as_raw_nonzero().get()).collect()
    }

    /// Whether all live processes refuse our signals.
    fn has_only_refused(&self) -> bool {
        let mut alive = self.alive().peekable();
        alive.peek().is_some() && alive.all(|target| target.pressure == Pressure::Refused)
    }

    fn report(self) -> Swept {
        let mut swept = Swept::default();
        for target in self.targets.into_values() {
            let place = match target.pressure {
                _ if target.is_alive() => &mut swept.left,
                Pressure::Killed => &mut swept.killed,
                _ => &mut swept.ended,
            };
            place.push(target.survivor);
        }
        swept
    }
}

async fn all_gone(targets: impl Iterator<Item = &Target>) {
    for target in targets {
        target.gone().await;
    }
}
