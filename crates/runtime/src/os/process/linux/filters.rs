//! Processes that only pass on what a step has printed, as `exec > >(tee log)` starts them: they end when they have
//! read everything. Only looks; never sends a signal.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::time::Duration;

use rustix::io::ioctl_fionread;
use tokio::time::{Instant, sleep};

use super::{census, family, table::Row};
use crate::os::process::{FileId, Filter, OutputComplete};

/// How long to wait for filters whose pipe has no writer left.
const TO_THE_END: Duration = Duration::from_secs(5);
/// How long a newly started shell has to become a filter.
const TO_BEGIN: Duration = Duration::from_secs(1);
/// How long filters whose pipe may still have a writer have to read what is in it.
const TO_SETTLE: Duration = Duration::from_millis(500);
/// The shortest and the longest pause between two scans.
const LOOKS: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(50));

/// How many scans in a row must find no filter: one scan can miss processes and files that change while they are
/// listed.
const QUIET_LOOKS: u32 = 3;

/// See [`crate::os::process::Running::drain`].
pub(in crate::os::process) async fn drain(filter: &Filter, outputs: &[FileId]) -> OutputComplete {
    let (begun, mut pause, mut quiet) = (Instant::now(), LOOKS.0, 0);
    while quiet < QUIET_LOOKS {
        if family::has_nothing_left(filter) {
            return OutputComplete::Alone;
        }
        let members = census::members(filter, &HashSet::new());
        let pipes = Pipes::of(&members, outputs);
        let is_late = begun.elapsed() >= pipes.patience();
        if is_late && !pipes.filters().is_empty() {
            return OutputComplete::InPart;
        }
        quiet = if is_late { quiet + 1 } else { 0 };
        sleep(pause).await;
        pause = (pause * 2).min(LOOKS.1);
    }
    OutputComplete::Whole
}

/// The numbers of the processes that only pass on output of others into these files.
pub(super) fn filters(rows: &[Row], outputs: &[FileId]) -> HashSet<i32> {
    Pipes::of(rows, outputs).filters()
}

/// Which processes read from which pipes, and which write to them.
struct Pipes<'a> {
    rows: &'a [Row],
    /// The pipes that each process reads from, with the file that leads to each.
    read: HashMap<i32, Vec<(String, String)>>,
    written: HashMap<String, HashSet<i32>>,
    /// Processes that can write to the output of the step.
    printing: HashSet<i32>,
}

impl Pipes<'_> {
    fn of<'a>(rows: &'a [Row], outputs: &[FileId]) -> Pipes<'a> {
        let mut pipes =
            Pipes { rows, read: HashMap::new(), written: HashMap::new(), printing: HashSet::new() };
        for pid in rows.iter().map(|row| row.id.pid) {
            let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
            for number in files.filter_map(|file| file.file_name().into_string().ok()) {
                let file = format!("/proc/{pid}/fd/{number}");
                let Some(pipe) =
                    fs::read_link(&file).ok().and_then(|to| to.into_os_string().into_string().ok())
                else {
                    continue;
                };
                if number == "1" && FileId::at(&file).is_some_and(|id| outputs.contains(&id)) {
                    pipes.printing.insert(pid);
                }
                match access(pid, &number).filter(|_| pipe.starts_with("pipe:")) {
                    Some(0) => pipes.read.entry(pid).or_default().push((pipe, file)),
                    Some(_) => _ = pipes.written.entry(pipe).or_default().insert(pid),
                    None => {}
                }
            }
        }
        pipes
    }

    /// Processes that read from a pipe whose only writers, if any, are such processes too.
    fn draining(&self) -> HashSet<i32> {
        let mut draining: HashSet<i32> = self.read.keys().copied().collect();
        loop {
            let ends = |pid: &i32| {
                let is_dry = |(pipe, _): &(String, String)| {
                    let mut writers = self.written.get(pipe).into_iter().flatten();
                    writers.all(|writer| writer != pid && draining.contains(writer))
                };
                self.read.get(pid).into_iter().flatten().any(is_dry)
            };
            let left: HashSet<i32> = draining.iter().copied().filter(ends).collect();
            if left.len() == draining.len() {
                return draining;
            }
            draining = left;
        }
    }

    /// Those of them whose output ends up in the output of the step.
    fn filters(&self) -> HashSet<i32> {
        let draining = self.draining();
        let mut filters: HashSet<i32> = draining.intersection(&self.printing).copied().collect();
        loop {
            let feeds = |pid: &i32| {
                let read = filters.iter().filter_map(|filter| self.read.get(filter)).flatten();
                read.into_iter().any(|(pipe, _)| self.written.get(pipe).is_some_and(|all| all.contains(pid)))
            };
            let more: Vec<i32> = draining.difference(&filters).copied().filter(feeds).collect();
            if more.is_empty() {
                return filters;
            }
            filters.extend(more);
        }
    }

    /// How long to wait for these processes, from the end of the step.
    fn patience(&self) -> Duration {
        if !self.filters().is_empty() {
            return TO_THE_END;
        }
        let any = |waits: &dyn Fn(&Row, &str, &str) -> bool| {
            self.rows.iter().filter(|row| self.printing.contains(&row.id.pid)).any(|row| {
                let mut ends = self.read.get(&row.id.pid).into_iter().flatten();
                ends.any(|(pipe, file)| waits(row, pipe, file))
            })
        };
        // the shell still holds the write end that others will use
        let has_both = |row: &Row, pipe: &str, _: &str| {
            row.is_shell() && self.written.get(pipe).is_some_and(|writers| writers.contains(&row.id.pid))
        };
        let is_busy = |row: &Row, _: &str, file: &str| row.state != b'S' || has_bytes(file);
        match () {
            () if any(&has_both) => TO_BEGIN,
            () if any(&is_busy) => TO_SETTLE,
            () => Duration::ZERO,
        }
    }
}

/// The access mode of an open file: 0 is read-only.
fn access(pid: i32, number: &str) -> Option<u32> {
    let info = fs::read_to_string(format!("/proc/{pid}/fdinfo/{number}")).ok()?;
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"))?;
    u32::from_str_radix(flags.trim(), 8).ok().map(|flags| flags & 3)
}

fn has_bytes(pipe: &str) -> bool {
    File::open(pipe).is_ok_and(|pipe| ioctl_fionread(&pipe).is_ok_and(|bytes| bytes > 0))
}
