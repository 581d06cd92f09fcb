//! A program that runs in parallel with its test, and the processes that it leaves alive.
//!
//! Never waits for ever: a wait of more than a minute fails the test.
#![expect(clippy::panic, reason = "a test that cannot continue ends by panicking")]

use std::{
    fs::{self, File},
    io::Write as _,
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus},
    time::{Duration, Instant},
};

use crate::{Output, TestEnv};

/// The longest wait.
const PATIENCE: Duration = Duration::from_secs(60);

/// A started program that was not waited for yet. It is killed when the test drops it.
#[derive(Debug)]
pub struct Started {
    child: Child,
    outputs: tempfile::TempDir,
}

impl Started {
    /// Its process number.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal: `INT`, `TERM`, `KILL`, ….
    pub fn signal(&self, name: &str) {
        let status = Command::new("kill").args([&format!("-{name}"), &self.pid().to_string()]).status();
        assert!(status.is_ok_and(|status| status.success()), "cannot signal {}", self.pid());
    }

    /// Writes to its stdin, if that is a pipe.
    pub(crate) fn input(&mut self, text: &str) {
        if let Some(stdin) = &mut self.child.stdin {
            crate::world::must(stdin.write_all(text.as_bytes()).and_then(|()| stdin.flush()));
        }
    }

    /// Whether it is still running.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Its stdout so far.
    pub fn stdout(&self) -> String {
        self.text("stdout")
    }

    /// Its stderr so far.
    pub fn stderr(&self) -> String {
        self.text("stderr")
    }

    /// Waits for its end.
    pub fn wait(mut self) -> Output {
        let mut status = None;
        until("the program ends", || {
            status = self.child.try_wait().ok().flatten();
            status.is_some()
        });
        let code = status.map_or(-1, |status: ExitStatus| {
            status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
        });
        Output { stdout: self.text("stdout"), stderr: self.text("stderr"), code }
    }

    /// Kills it with SIGKILL and collects its status.
    pub fn kill(mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }

    fn text(&self, name: &str) -> String {
        String::from_utf8_lossy(&fs::read(self.outputs.path().join(name)).unwrap_or_default()).into_owned()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl TestEnv {
    /// Starts the program with these arguments and does not wait for it.
    pub fn spawn<S: AsRef<str>>(&self, arguments: impl IntoIterator<Item = S>) -> Started {
        let mut command = self.runner();
        command.args(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        self.start(command)
    }

    /// Starts a command of this world and does not wait for it.
    pub fn start(&self, mut command: Command) -> Started {
        let outputs = tempfile::tempdir().unwrap_or_else(|error| panic!("no place for outputs: {error}"));
        let open = |name: &str| {
            File::create(outputs.path().join(name)).unwrap_or_else(|error| panic!("no {name}: {error}"))
        };
        command.stdout(open("stdout")).stderr(open("stderr"));
        let child = command.spawn().unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        Started { child, outputs }
    }

    /// Waits until a file exists and is not empty; returns its text.
    pub fn wait_for(&self, path: &str) -> String {
        let path = self.path(path);
        until(&format!("{} is there", path.display()), || {
            fs::metadata(&path).is_ok_and(|meta| meta.len() > 0)
        });
        fs::read_to_string(&path).unwrap_or_default()
    }

    /// Text of a file; empty if the file is missing.
    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_default()
    }

    /// Ids of the stored runs, oldest first.
    pub fn run_ids(&self) -> Vec<String> {
        let entries = fs::read_dir(self.state().join("runs")).into_iter().flatten().flatten();
        let mut ids: Vec<String> = entries
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| !name.starts_with('.'))
            .collect();
        ids.sort();
        ids
    }

    /// The folder of the newest run.
    pub fn run_dir(&self) -> PathBuf {
        match self.run_ids().last() {
            Some(id) => self.state().join("runs").join(id),
            None => panic!("there is no run"),
        }
    }

    /// The records of the newest run's journal, without an incomplete last line: a resume drops it.
    pub fn records(&self) -> Vec<serde_json::Value> {
        let journal = fs::read_to_string(self.run_dir().join("events.jsonl")).unwrap_or_default();
        let whole = journal.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        whole.filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Command lines of living processes that belong to a run of this world.
    pub fn survivors(&self) -> Vec<String> {
        self.members().iter().map(|process| command_line(process)).collect()
    }

    /// Numbers of living processes that belong to a run of this world.
    pub fn pids(&self) -> Vec<String> {
        let number = |process: &PathBuf| Some(process.file_name()?.to_str()?.to_owned());
        self.members().iter().filter_map(number).collect()
    }

    /// Whether a process of the step with this id is alive in this world.
    pub fn is_at_work(&self, step: &str) -> bool {
        let is_of_step = |process: &PathBuf| {
            let environment = fs::read(process.join("environ")).unwrap_or_default();
            let text = String::from_utf8_lossy(&environment);
            let path = text.split('\0').find_map(|entry| entry.strip_prefix("RECIPE_RUNNER_STEP="));
            path.is_some_and(|path| {
                path.split('#').next().and_then(|path| path.rsplit('/').next()) == Some(step)
            })
        };
        self.members().iter().any(is_of_step)
    }

    /// Numbers of the living guardians of runs of this world.
    pub fn guardians(&self) -> Vec<String> {
        let run = format!(" __guard {}/", self.state().display());
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
        let guards = processes.filter(|process| command_line(process).contains(&run));
        guards.filter_map(|process| Some(process.file_name()?.to_str()?.to_owned())).collect()
    }

    /// Folders in `/proc` of living processes that belong to a run of this world.
    fn members(&self) -> Vec<PathBuf> {
        let home = format!("RECIPE_RUNNER_HOME={}", self.state().display());
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
        let belongs = |process: &PathBuf| {
            let environment = fs::read(process.join("environ")).unwrap_or_default();
            let entries: Vec<&[u8]> = environment.split(|byte| *byte == 0).collect();
            entries.iter().any(|entry| entry.starts_with(b"RECIPE_RUNNER_RUN="))
                && entries.contains(&home.as_bytes())
        };
        processes.filter(belongs).collect()
    }
}

/// A failed test leaves no processes either.
impl Drop for TestEnv {
    fn drop(&mut self) {
        for process in self.members() {
            let pid = process.file_name().unwrap_or_default().to_owned();
            drop(Command::new("kill").arg("-9").arg(pid).output());
        }
    }
}

fn command_line(process: &Path) -> String {
    let line = fs::read(process.join("cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).replace('\0', " ").trim().to_owned()
}

/// Waits until a condition holds.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "it takes too long until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a process is alive; a zombie is not.
pub fn is_alive(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}
