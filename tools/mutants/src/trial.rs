//! Builds the tests once and runs them with one mutant at a time.
//!
//! A mutant may make a test loop or eat memory, so every run has limits: processor time (which a loaded machine does
//! not use up), memory, and a generous time by the clock. The first test that fails ends the run.

use std::{
    collections::HashMap,
    io::{self, BufRead, BufReader},
    os::unix::process::{CommandExt, ExitStatusExt},
    path::PathBuf,
    process::{Command, Stdio},
    sync::Mutex,
    time::{Duration, Instant},
};

use crate::{
    mutant::Mutant,
    project::{CRATES, Project, crate_of},
};

/// Most address space of a run, in KiB: what a loop that collects may take before it is ended.
const MOST_MEMORY: u64 = 6_000_000;
/// Sets the limits `$0` (processor seconds) and `$1` (KiB) and becomes the program `$2`.
const LIMITED: &str = r#"ulimit -t "$0"; ulimit -v "$1"; ulimit -c 0; exec "$2""#;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Every test passed.
    Left,
    /// A test failed.
    Noticed,
    /// The tests did not end.
    TimedOut,
}

/// The program of some tests.
struct Binary {
    path: PathBuf,
    krate: String,
    /// Most processor time with a mutant, in seconds.
    limit: u64,
    took: Duration,
}

/// The programs of all tests, the fastest first.
pub(crate) struct Tests {
    tree: PathBuf,
    binaries: Vec<Binary>,
    /// Which noticed the last mutant of a file; likely to notice the next one too.
    telling: Mutex<HashMap<String, usize>>,
}

impl Tests {
    /// Builds the tests of the crates in the project's copy.
    pub(crate) fn build(project: &Project, crates: &[&str]) -> io::Result<Self> {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args([
            "test",
            "--no-run",
            "--profile",
            "simulation",
            "--message-format",
            "json-render-diagnostics",
        ]);
        cargo.args(crates.iter().flat_map(|krate| ["-p", krate]));
        cargo.env("RUSTFLAGS", "--cap-lints allow").env("CARGO_PROFILE_SIMULATION_DEBUG", "0");
        cargo.env("CARGO_TARGET_DIR", project.scratch().join("build"));
        let output = cargo.current_dir(project.tree()).stderr(Stdio::inherit()).output()?;
        if !output.status.success() {
            return Err(io::Error::other("the tests with the mutants do not build"));
        }
        let mut binaries: Vec<Binary> =
            String::from_utf8_lossy(&output.stdout).lines().filter_map(built).collect();
        binaries.sort_by(|a, b| a.path.cmp(&b.path));
        binaries.dedup_by(|a, b| a.path == b.path);
        Ok(Self { tree: project.tree(), binaries, telling: Mutex::default() })
    }

    /// Runs the tests as they are. They must pass; how long they take decides their order and their limits.
    pub(crate) fn run_unchanged(&mut self, seconds: Option<u64>) -> io::Result<()> {
        for binary in &mut self.binaries {
            binary.limit = 600;
            let start = Instant::now();
            if run(&self.tree, binary, 0)? != Verdict::Left {
                return Err(io::Error::other(format!("{} fails without a mutant", binary.path.display())));
            }
            binary.took = start.elapsed();
            binary.limit = seconds.unwrap_or((3.0 + 8.0 * binary.took.as_secs_f64()).ceil() as u64);
        }
        self.binaries.sort_by_key(|binary| binary.took);
        Ok(())
    }

    /// What each program is and how long it takes.
    pub(crate) fn summary(&self) -> impl Iterator<Item = String> {
        self.binaries.iter().map(|binary| {
            let name = binary.path.file_name().unwrap_or_default().to_string_lossy();
            format!("{}/{name}: {:.1} s, limit {} s", binary.krate, binary.took.as_secs_f64(), binary.limit)
        })
    }

    /// Runs the tests of a mutant's crate with it, until one fails.
    pub(crate) fn try_one(&self, mutant: &Mutant) -> io::Result<Verdict> {
        let known = |found: &mut HashMap<String, usize>| found.get(&mutant.file).copied();
        let first = self.telling.lock().ok().and_then(|mut found| known(&mut found));
        let own = |at: &usize| self.binaries[*at].krate == crate_of(&mutant.file);
        let others = (0..self.binaries.len()).filter(|at| Some(*at) != first);
        for at in first.into_iter().chain(others).filter(own) {
            let verdict = run(&self.tree, &self.binaries[at], mutant.number)?;
            if verdict != Verdict::Left {
                if let Ok(mut found) = self.telling.lock() {
                    found.insert(mutant.file.clone(), at);
                }
                return Ok(verdict);
            }
        }
        Ok(Verdict::Left)
    }
}

/// The program that a message of cargo speaks of.
fn built(message: &str) -> Option<Binary> {
    let field = |name: &str| {
        let (_, after) = message.split_once(&format!("\"{name}\":\""))?;
        after.split_once('"').map(|(value, _)| value)
    };
    let (path, source) = (field("executable")?, field("src_path")?);
    let krate = CRATES.iter().find(|krate| source.contains(&format!("/crates/{krate}/")))?;
    Some(Binary { path: path.into(), krate: (*krate).to_owned(), limit: 0, took: Duration::ZERO })
}

/// Runs one program with one mutant; 0 is none.
fn run(tree: &std::path::Path, binary: &Binary, mutant: usize) -> io::Result<Verdict> {
    let clock = (60 + 2 * binary.limit).to_string();
    let mut command = Command::new("timeout");
    command.args(["--signal=KILL", &clock, "sh", "-c", LIMITED]);
    command.args([binary.limit.to_string(), MOST_MEMORY.to_string()]).arg(&binary.path);
    command.env("MUTANT", mutant.to_string()).envs([
        ("RECIPE_RUNNER_FUZZ_SECONDS", "0"),
        ("PROPTEST_CASES", "32"),
        ("PROPTEST_RNG_SEED", "1"),
        ("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1"),
        ("RUST_BACKTRACE", "0"),
    ]);
    command.current_dir(tree.join("crates").join(&binary.krate)).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    let lines = BufReader::new(child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?).lines();
    let failed =
        lines.map_while(Result::ok).any(|line| line.starts_with("test ") && line.ends_with("FAILED"));
    if failed {
        end(child.id())?;
    }
    let status = child.wait()?;
    Ok(match status.code() {
        _ if failed => Verdict::Noticed,
        Some(0) => Verdict::Left,
        Some(124 | 137) => Verdict::TimedOut,
        None if status.signal() == Some(9) => Verdict::TimedOut,
        _ => Verdict::Noticed,
    })
}

/// Ends the process group of a run.
fn end(group: u32) -> io::Result<()> {
    Command::new("kill").args(["-KILL", "--", &format!("-{group}")]).stderr(Stdio::null()).status().map(drop)
}
