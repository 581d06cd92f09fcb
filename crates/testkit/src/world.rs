//! A hermetic world to run the program in.
//!
//! Never lets the user's own home, recipes or settings reach the program; only `PATH` is kept.
#![expect(clippy::panic, reason = "a test that cannot continue ends by panicking")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// A separate world: home, working directory, state.
#[derive(Debug)]
pub struct TestEnv {
    program: PathBuf,
    root: tempfile::TempDir,
    variables: Vec<(String, String)>,
    dir: PathBuf,
}

/// The result of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Its stdout.
    pub stdout: String,
    /// Its stderr.
    pub stderr: String,
    /// Its exit code; 128 plus the number of the signal if it was killed.
    pub code: i32,
}

impl Output {
    /// stdout as exactly one JSON value.
    pub fn json(&self) -> serde_json::Value {
        match serde_json::from_str(&self.stdout) {
            Ok(value) => value,
            Err(error) => panic!("stdout is not one JSON value: {error}\n{self:?}"),
        }
    }

    /// The result of the step with this path, in the JSON result of a run.
    pub fn step(&self, path: &str) -> serde_json::Value {
        fn find<'a>(steps: &'a serde_json::Value, path: &str) -> Option<&'a serde_json::Value> {
            steps.as_array()?.iter().find_map(|step| match step["path"] == path {
                true => Some(step),
                false => find(&step["steps"], path),
            })
        }
        match find(&self.json()["step_results"], path) {
            Some(step) => step.clone(),
            None => panic!("no step `{path}`\n{}", self.all()),
        }
    }

    /// A value in the context at the end, in the JSON result of a run.
    pub fn value(&self, name: &str) -> serde_json::Value {
        self.json()["context"][name].clone()
    }

    /// Both outputs with the exit code, for messages.
    pub fn all(&self) -> String {
        format!("exit code {}\n--- stdout\n{}--- stderr\n{}", self.code, self.stdout, self.stderr)
    }
}

impl TestEnv {
    /// A new world for the program at `program`, which the test names as `env!("CARGO_BIN_EXE_…")`.
    pub fn new(program: impl Into<PathBuf>) -> TestEnv {
        TestEnv::at(program, must(tempfile::tempdir()))
    }

    /// The same in memory, if this machine has room for it there: for tests that need thousands of worlds and would
    /// wait too long for a disk.
    pub fn in_memory(program: impl Into<PathBuf>) -> TestEnv {
        let root = if has_memory() { tempfile::tempdir_in(MEMORY) } else { tempfile::tempdir() };
        TestEnv::at(program, must(root))
    }

    fn at(program: impl Into<PathBuf>, root: tempfile::TempDir) -> TestEnv {
        for dir in ["home", "work", "state", "tmp"] {
            must(fs::create_dir(root.path().join(dir)));
        }
        let dir = must(root.path().join("work").canonicalize());
        TestEnv { program: program.into(), root, variables: Vec::new(), dir }
    }

    /// The program.
    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    /// The working directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The home directory.
    pub fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    /// The state directory of runs.
    pub fn state(&self) -> PathBuf {
        self.root.path().join("state")
    }

    /// The directory for temporary files.
    pub fn tmp(&self) -> PathBuf {
        self.root.path().join("tmp")
    }

    /// Writes a file, with its parent directories. `~/…` is in the home directory.
    #[must_use]
    pub fn file(self, path: &str, text: impl AsRef<[u8]>) -> TestEnv {
        self.write(path, text);
        self
    }

    /// The same on a world that is already in use.
    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        if let Some(parent) = path.parent() {
            must(fs::create_dir_all(parent));
        }
        must(fs::write(path, text));
    }

    /// The real path for a path of [`TestEnv::file`].
    pub fn path(&self, path: &str) -> PathBuf {
        match path.strip_prefix("~/") {
            Some(below) => self.home().join(below),
            None => self.dir.join(path),
        }
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> TestEnv {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Runs the program with these arguments.
    pub fn run<S: AsRef<str>>(&self, arguments: impl IntoIterator<Item = S>) -> Output {
        let mut command = self.runner();
        command.args(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        finish(&mut command)
    }

    /// Writes a recipe to `recipe.yaml` and runs it with these arguments, in text mode.
    pub fn text(&self, recipe: &str, arguments: &[&str]) -> Output {
        self.write("recipe.yaml", recipe);
        self.run(["recipe.yaml"].iter().chain(arguments))
    }

    /// The same in JSON mode.
    pub fn json(&self, recipe: &str, arguments: &[&str]) -> Output {
        self.write("recipe.yaml", recipe);
        self.run(["recipe.yaml", "--output-format", "json"].iter().chain(arguments))
    }

    /// The program, with the environment of this world.
    pub fn runner(&self) -> Command {
        self.command(&self.program)
    }

    /// Runs a shell command line in which `$RUNNER` is the program.
    pub fn shell(&self, line: &str) -> Output {
        let mut command = self.command(Path::new("/bin/bash"));
        command.args(["-c", line]).env("RUNNER", &self.program);
        finish(&mut command)
    }

    /// A command in this world that the test starts itself.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.dir).stdin(Stdio::null()).env_clear();
        let path = std::env::var_os("PATH").unwrap_or_default();
        command.env("PATH", path).env("HOME", self.home()).env("TMPDIR", self.tmp());
        command.env("RECIPE_RUNNER_HOME", self.state()).env("NO_COLOR", "1").env_remove("COLUMNS");
        command.env("LANG", "C.UTF-8").envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }
}

/// The directory for files in memory, on most machines.
const MEMORY: &str = "/dev/shm";

/// Whether programs can be started from files in memory.
fn has_memory() -> bool {
    let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
    let mut lines = mounts.lines().map(|line| line.split(' ').collect::<Vec<&str>>());
    lines.any(|words| match words[..] {
        [_, place, kind, options, ..] => {
            (place, kind) == (MEMORY, "tmpfs")
                && options.split(',').all(|word| word != "noexec" && word != "ro")
        }
        _ => false,
    })
}

fn finish(command: &mut Command) -> Output {
    use std::os::unix::process::ExitStatusExt as _;
    let output = must(command.output());
    Output {
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        code: output.status.code().unwrap_or_else(|| 128 + output.status.signal().unwrap_or_default()),
    }
}

/// The value, or the end of the test.
pub(crate) fn must<T, E: std::fmt::Display>(result: Result<T, E>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("the test's world is broken: {error}"),
    }
}
