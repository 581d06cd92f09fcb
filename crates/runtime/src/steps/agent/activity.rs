//! Activity of an agent: output, changed files, processor time.
//!
//! An agent counts as idle only if all three have stopped, so a silent agent that works is not ended.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use tokio::time::Instant;

use crate::os::{
    clock,
    process::{self, ProcessId},
};

/// Watches one agent.
#[derive(Debug)]
pub struct Activity {
    /// The process, if a process works.
    process: Option<ProcessId>,
    files: [PathBuf; 2],
    cwd: PathBuf,
    last: Signs,
    since: Instant,
}

/// Activity that is cheap to observe.
#[derive(Clone, Debug, Default, PartialEq)]
struct Signs {
    printed: u64,
    processor: u64,
}

/// The most files to check for changes.
const MAX_FILES: usize = 20_000;

impl Activity {
    /// Watches a process that works in `cwd` and prints into two files.
    pub fn new(process: Option<ProcessId>, cwd: &Path, stdout: &Path, stderr: &Path) -> Activity {
        Activity {
            process,
            files: [stdout.to_owned(), stderr.to_owned()],
            cwd: cwd.to_owned(),
            last: Signs::default(),
            since: Instant::now(),
        }
    }

    /// Returns when the agent has shown no activity for this many seconds; never returns without a limit. Safe to
    /// cancel and to repeat: earlier observations are kept.
    pub async fn idle(&mut self, limit: Option<f64>) -> f64 {
        let Some(seconds) = limit else { return std::future::pending().await };
        let limit = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        loop {
            let rest = limit.saturating_sub(self.since.elapsed());
            let pause = rest.min(limit / 4).max(Duration::from_millis(20));
            tokio::time::sleep(pause).await;
            if self.moved() {
                continue;
            }
            // files last: checking all of them pays off only when everything else is still
            if self.since.elapsed() >= limit {
                match self.process.and_then(|_| quiet_for(&self.cwd)) {
                    Some(quiet) if quiet < limit => {
                        self.since = Instant::now().checked_sub(quiet).unwrap_or(self.since);
                    }
                    _ => return seconds,
                }
            }
        }
    }

    /// Whether something has changed since the last check.
    fn moved(&mut self) -> bool {
        let printed = self.files.iter().map(|file| fs::metadata(file).map_or(0, |meta| meta.len())).sum();
        let now = Signs { printed, processor: self.process.map_or(0, processor_time) };
        let moved = now != self.last;
        if moved {
            self.last = now;
            self.since = Instant::now();
        }
        moved
    }
}

/// Processor time of a process and all its descendants, in clock ticks.
fn processor_time(process: ProcessId) -> u64 {
    let mut total = 0;
    let mut queue: Vec<i32> = process::proc_is_ours().then_some(process.pid).into_iter().collect();
    while let Some(pid) = queue.pop() {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
        // fields 14 to 17: user and system time, own and of children that were waited for
        total += fields.iter().skip(11).take(4).filter_map(|field| field.parse::<u64>().ok()).sum::<u64>();
        let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        for task in tasks {
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            queue.extend(children.split_whitespace().filter_map(|child| child.parse::<i32>().ok()));
        }
    }
    total
}

/// How long nothing below a directory has changed; `None` if that is unknown.
fn quiet_for(cwd: &Path) -> Option<Duration> {
    #[cfg(test)]
    if crate::os::files::is_on() {
        return None;
    }
    // by the current clock, and by the clock as this process found it: it may have been set since
    let clocks = [clock::wall(), SystemTime::from(clock::now())];
    let mut quiet: Option<Duration> = None;
    let mut look = |meta: fs::Metadata| {
        // a time in the future does not say when the file was changed
        let ages = clocks.iter().filter_map(|now| now.duration_since(meta.modified().ok()?).ok());
        quiet = quiet.into_iter().chain(ages).min();
        meta.is_dir()
    };
    look(fs::metadata(cwd).ok()?);
    let mut queue = vec![cwd.to_owned()];
    let mut seen = 0;
    'all: while let Some(dir) = queue.pop() {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            seen += 1;
            if seen > MAX_FILES {
                break 'all;
            }
            let Ok(meta) = entry.metadata() else { continue };
            if look(meta) {
                queue.push(entry.path());
            }
        }
    }
    quiet
}
