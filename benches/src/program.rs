//! Running programs and taking their time and memory. Never judges.

use std::{
    cell::Cell,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use crate::turns::{Pair, take_turns};

/// Where everything is measured. All of it is deleted at the end and nothing before: on ext4, making files right after
/// many were deleted is slow, and a user who runs one recipe after the other does not meet that.
pub(crate) struct Bench {
    pub(crate) program: PathBuf,
    home: tempfile::TempDir,
    /// How many state directories there were.
    states: Cell<usize>,
    most_rounds: usize,
}

/// What a program used.
pub(crate) struct Used {
    pub(crate) seconds: f64,
    pub(crate) megabytes: f64,
    /// Seconds of processor time, with those of the programs that it started and waited for.
    pub(crate) cpu: f64,
    pub(crate) code: Option<i32>,
    /// The beginning of its output.
    pub(crate) stdout: String,
    /// Bytes that it printed.
    pub(crate) printed: u64,
    /// Seconds since 1970.
    pub(crate) started: f64,
}

impl Bench {
    /// Measures the program that was built beside this one, and nothing more often than this.
    pub(crate) fn new(most_rounds: usize) -> Bench {
        let own = std::env::current_exe().expect("this program has a path");
        let program = own.with_file_name("recipe-runner-rs");
        assert!(program.exists(), "build `{}` first: cargo build --release", program.display());
        let home = tempfile::Builder::new().prefix("bench-").tempdir().expect("there is room for files");
        Bench { program, home, states: Cell::new(0), most_rounds }
    }

    /// Measures things in turn, so often; the times of each.
    pub(crate) fn in_turn<T>(&self, rounds: usize, things: &[&dyn Fn() -> T]) -> Vec<Vec<T>> {
        take_turns(rounds.min(self.most_rounds), things)
    }

    /// Measures something against its floor.
    pub(crate) fn compare(&self, rounds: usize, one: &dyn Fn() -> f64, floor: &dyn Fn() -> f64) -> Pair {
        let times = self.in_turn(rounds, &[one, floor]);
        Pair::of(&times[0], &times[1])
    }

    /// Waits until all writes are on disk: they must not slow down the next measurement.
    pub(crate) fn settle(&self) {
        measure(Command::new("sync").arg("-f").arg(self.home.path()));
    }

    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    /// A file to measure with.
    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.home.path().join(name);
        fs::write(&path, text).expect("the file can be written");
        path
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.home.path().join(format!("state-{}", self.states.get()))
    }

    /// From here on there are no runs.
    pub(crate) fn start_afresh(&self) {
        self.states.set(self.states.get() + 1);
    }

    /// The recipe runner with these arguments.
    pub(crate) fn runner<S: AsRef<std::ffi::OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).current_dir(self.home.path()).env("RECIPE_RUNNER_HOME", self.state());
        command.env("HOME", self.home.path()).env_remove("RECIPE_RUNNER_RECIPE_DIRS");
        command
    }

    /// Runs a recipe quietly, as the first one ever; it has to succeed.
    pub(crate) fn run(&self, recipe: &Path, more: &[&str]) -> Used {
        self.start_afresh();
        let mut command = self.runner([recipe.as_os_str()]);
        let used = measure(command.arg("--quiet").args(more));
        assert_eq!(used.code, Some(0), "{} {more:?}", recipe.display());
        used
    }
}

/// Bash with a script.
pub(crate) fn bash(script: &str) -> Command {
    let mut command = Command::new("/bin/bash");
    command.args(["-c", script]);
    command
}

/// Runs a program to its end.
#[expect(clippy::zombie_processes, reason = "`wait` below waits for it, and asks what it used")]
pub(crate) fn measure(command: &mut Command) -> Used {
    // until a process executes a program, the peak of its parent counts as its own: reset it
    let _ = fs::write("/proc/self/clear_refs", "5");
    let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64());
    let clock = Instant::now();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("the program can be started");
    let (mut stdout, mut printed) = (String::new(), 0);
    if let Some(mut pipe) = child.stdout.take() {
        let mut bytes = Vec::new();
        printed = std::io::copy(&mut pipe, &mut Head(&mut bytes)).expect("its output can be read");
        stdout = String::from_utf8_lossy(&bytes).into_owned();
    }
    let (code, usage) = wait(&child);
    let time = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Used {
        seconds: clock.elapsed().as_secs_f64(),
        megabytes: usage.ru_maxrss as f64 / 1024.0,
        cpu: time(usage.ru_utime) + time(usage.ru_stime),
        code,
        stdout,
        printed,
        started,
    }
}

/// Keeps the beginning and lets the rest go: memory of this program must not count against the other one.
struct Head<'a>(&'a mut Vec<u8>);

impl std::io::Write for Head<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let room = (64 * 1024usize).saturating_sub(self.0.len()).min(bytes.len());
        self.0.extend_from_slice(&bytes[..room]);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Waits for a child; its exit code, and its use of resources as the kernel counted it.
fn wait(child: &std::process::Child) -> (Option<i32>, libc::rusage) {
    let mut status = 0;
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    #[expect(unsafe_code, reason = "the standard library waits without asking what the child has used")]
    // SAFETY: both pointers are valid for writing, and a zeroed `rusage` is a valid one.
    let usage = unsafe {
        libc::wait4(child.id().cast_signed(), &raw mut status, 0, usage.as_mut_ptr());
        usage.assume_init()
    };
    let code = libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status));
    (code, usage)
}
