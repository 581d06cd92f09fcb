//! The process table, as `/proc` shows it. Only reads; never signals and never decides which process belongs to which
//! run.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read;
use std::time::Duration;

use rustix::process::getpid;

use crate::os::process::{CASE_VARIABLE, Marker, ProcessId, RUN_VARIABLE, STEP_VARIABLE};
use crate::os::stage;

/// The number of this process.
pub(super) fn own_pid() -> i32 {
    getpid().as_raw_nonzero().get()
}

/// One process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) id: ProcessId,
    pub(super) parent: i32,
    pub(super) group: i32,
    pub(super) session: i32,
    pub(super) state: u8,
    threads: u32,
    flags: u32,
    name: String,
}

/// The flag of kernel threads; they have neither environment nor command line.
const KERNEL_THREAD: u32 = 0x0020_0000;
/// How long, in steps of [`EXEC_STEP`], a process may take to execute another program.
const EXEC_STEPS: u32 = 50;
const EXEC_STEP: Duration = Duration::from_micros(200);

impl Row {
    /// Reads one process; `None` if no process has this number.
    pub(super) fn read(pid: i32) -> Option<Self> {
        // one read: the line is never longer, and the kernel returns it at once
        let mut line = [0; 2048];
        let length =
            File::open(format!("/proc/{pid}/stat")).and_then(|mut file| file.read(&mut line)).ok()?;
        Self::parse(&line[..length])
    }

    /// This process; `None` if `/proc` shows it under another number, or not at all. Its group and its session can be 0
    /// if their leader is outside its pid namespace, as in many containers. The system calls for them do not expect
    /// that.
    pub(super) fn own() -> Option<Self> {
        super::proc_is_ours().then(|| Self::read(own_pid()))?
    }

    /// The name is in parentheses and may itself contain them, so the fields are counted from the last one.
    fn parse(stat: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(stat);
        let (pid, rest) = text.split_once(" (")?;
        let (name, rest) = rest.rsplit_once(") ")?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let number = |index: usize| fields.get(index)?.parse::<i32>().ok();
        Some(Self {
            id: ProcessId { pid: pid.parse().ok()?, start_time: fields.get(19)?.parse().ok()? },
            parent: number(1)?,
            group: number(2)?,
            session: number(3)?,
            state: *fields.first()?.as_bytes().first()?,
            threads: fields.get(17)?.parse().ok()?,
            flags: fields.get(6)?.parse().ok()?,
            name: name.to_owned(),
        })
    }

    /// A zombie is not alive, unless only its first thread has ended.
    pub(super) fn is_alive(&self) -> bool {
        match self.state {
            b'Z' => self.threads > 1,
            b'X' | b'x' => false,
            _ => true,
        }
    }

    /// Whether it is a shell, or a child of one that has not executed its program yet.
    pub(super) fn is_shell(&self) -> bool {
        self.name == "bash" || self.name == "sh"
    }

    /// The marker in the environment with which it was executed.
    pub(super) fn marker(&self) -> Option<Marker> {
        let environment = self.environment()?;
        Some(Marker {
            run: stage::mark(variable(&environment, RUN_VARIABLE)?, variable(&environment, CASE_VARIABLE)),
            step: variable(&environment, STEP_VARIABLE)?,
        })
    }

    /// A process that is just executing another program has no environment for an instant, and no command line either.
    /// The missing command line distinguishes it from one with a cleared environment.
    fn environment(&self) -> Option<Vec<u8>> {
        let mut steps = if self.flags & KERNEL_THREAD == 0 { EXEC_STEPS } else { 0 };
        loop {
            let environment = self.file("environ")?;
            if !environment.is_empty() || steps == 0 {
                return Some(environment);
            }
            if !self.file("cmdline")?.is_empty() {
                return self.file("environ");
            }
            Self::read(self.id.pid).filter(|row| row.id == self.id && row.is_alive())?;
            steps -= 1;
            std::thread::sleep(EXEC_STEP);
        }
    }

    /// A file of the process. Files here have no size, so the buffer has to: else they are read in very small pieces.
    fn file(&self, name: &str) -> Option<Vec<u8>> {
        let mut bytes = Vec::with_capacity(8 * 1024);
        let file = File::open(format!("/proc/{}/{name}", self.id.pid)).ok()?;
        file.take(u64::MAX).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// Its command line for users, at most 200 characters.
    pub(super) fn command(&self) -> String {
        let line = self.file("cmdline").unwrap_or_default();
        let words: Vec<_> = line.split(|byte| *byte == 0).map(String::from_utf8_lossy).collect();
        let text = words.join(" ");
        match text.trim() {
            "" => format!("[{}]", self.name),
            text => text.chars().take(200).collect(),
        }
    }
}

fn variable(environment: &[u8], name: &str) -> Option<String> {
    let value = environment
        .split(|byte| *byte == 0)
        .find_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
    Some(String::from_utf8_lossy(value).into_owned())
}

/// All live processes at nearly one moment.
pub(super) struct Table(pub(super) HashMap<i32, Row>);

impl Table {
    pub(super) fn read() -> Self {
        let Ok(folder) = fs::read_dir("/proc") else { return Self(HashMap::new()) };
        let pids = folder.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let rows = pids.filter_map(Row::read).filter(Row::is_alive);
        Self(rows.map(|row| (row.id.pid, row)).collect())
    }

    /// Whether `ancestor` is among the ancestors of this process.
    pub(super) fn descends(&self, row: &Row, ancestor: i32) -> bool {
        let mut parent = row.parent;
        // The table is not a snapshot: a number that was reused during the scan could form a circle.
        for _ in 0..self.0.len() {
            match self.0.get(&parent) {
                _ if parent == ancestor => return true,
                Some(above) => parent = above.parent,
                None => return false,
            }
        }
        false
    }
}

/// The children of all threads of this process; `None` where the kernel does not list them.
///
/// The kernel can skip one child while another is reaped, so the list is exact only if no child is reaped meanwhile. A
/// program that waits for its children on one thread is safe.
pub(super) fn own_children() -> Option<Vec<i32>> {
    let mut children = Vec::new();
    for thread in fs::read_dir("/proc/self/task").ok()?.flatten() {
        // A thread that has just ended handed its children to another one.
        match fs::read_to_string(thread.path().join("children")) {
            Ok(list) => {
                children.extend(list.split_ascii_whitespace().filter_map(|pid| pid.parse::<i32>().ok()))
            }
            Err(_) if thread.path().exists() => return None,
            Err(_) => {}
        }
    }
    Some(children)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_lines() {
        let check = |line: &str, expected: Option<(i32, u64, i32, &str, bool)>| {
            let row = Row::parse(line.as_bytes());
            let seen = row
                .as_ref()
                .map(|row| (row.id.pid, row.id.start_time, row.group, row.name.as_str(), row.is_alive()));
            assert_eq!(seen, expected, "{line}");
        };
        let rest = "1 40 41 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 777 9 9";
        check(&format!("42 (sleep) S {rest}"), Some((42, 777, 40, "sleep", true)));
        check(&format!("42 (a) b (c) R {rest}"), Some((42, 777, 40, "a) b (c", true)));
        check(&format!("42 (gone) Z {rest}"), Some((42, 777, 40, "gone", false)));
        check(
            &format!("42 (half) Z {}", rest.replace("20 0 1 0", "20 0 3 0")),
            Some((42, 777, 40, "half", true)),
        );
        check("42 (short) S 1 2", None);
        check("", None);
    }

    #[test]
    fn environment_variables_match_whole_names() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(variable(text.as_bytes(), RUN_VARIABLE).as_deref(), expected, "{text:?}");
        };
        check("A=1\0RECIPE_RUNNER_RUN=r1\0B=2\0", Some("r1"));
        check("RECIPE_RUNNER_RUN=\0", Some(""));
        check("RECIPE_RUNNER_RUNS=r1\0XRECIPE_RUNNER_RUN=r2\0", None);
        check("", None);
    }

    #[test]
    fn we_are_in_the_table() {
        let table = Table::read();
        let own = &table.0[&(std::process::id() as i32)];
        assert!(own.is_alive());
        assert!(!own.command().is_empty());
    }
}
