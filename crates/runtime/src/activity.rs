//! Signs of life of an agent: output, files that change, processor time.
//!
//! A silent agent that works is never taken for a dead one: all three must be still.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use crate::process::ProcessId;

/// Watches one agent.
#[derive(Debug)]
pub struct Activity {
    process: ProcessId,
    files: [PathBuf; 2],
    cwd: PathBuf,
    last: Signs,
}

/// What can be seen of an agent from outside.
#[derive(Clone, Debug, Default, PartialEq)]
struct Signs {
    printed: u64,
    processor: u64,
    changed: Option<SystemTime>,
}

/// How many files are looked at for changes.
const MAX_FILES: usize = 20_000;

impl Activity {
    /// Watches a process that works in `cwd` and prints into two files.
    pub fn new(process: ProcessId, cwd: &Path, stdout: &Path, stderr: &Path) -> Activity {
        Activity {
            process,
            files: [stdout.to_owned(), stderr.to_owned()],
            cwd: cwd.to_owned(),
            last: Signs::default(),
        }
    }

    /// Returns when the agent has shown no sign of life for so many seconds; never without a limit.
    pub async fn idle(&mut self, limit: Option<f64>) -> f64 {
        let Some(seconds) = limit else { return std::future::pending().await };
        self.last = self.signs();
        loop {
            tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
            let now = self.signs();
            if now == self.last {
                return seconds;
            }
            self.last = now;
        }
    }

    fn signs(&self) -> Signs {
        let printed = self.files.iter().map(|file| fs::metadata(file).map_or(0, |meta| meta.len())).sum();
        Signs { printed, processor: processor_time(self.process), changed: newest_change(&self.cwd) }
    }
}

/// Processor time of a process and all its descendants, in clock ticks.
fn processor_time(process: ProcessId) -> u64 {
    let mut total = 0;
    let mut queue = vec![process.pid];
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

/// When a file below a directory was last changed.
fn newest_change(cwd: &Path) -> Option<SystemTime> {
    let mut newest = None;
    let mut queue = vec![cwd.to_owned()];
    let mut seen = 0;
    while let Some(dir) = queue.pop() {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            seen += 1;
            if seen > MAX_FILES {
                return newest;
            }
            let Ok(meta) = entry.metadata() else { continue };
            newest = newest.max(meta.modified().ok());
            if meta.is_dir() {
                queue.push(entry.path());
            }
        }
    }
    newest
}
