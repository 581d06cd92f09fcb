//! A slow disk, a failing disk and a clock that is set, for the runner alone: a small library that is compiled here and
//! preloaded into it.
//!
//! Never reaches what the runner starts: the library takes itself out of the environment.

use std::{
    fs::{self, File},
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use testkit::{Started, TestEnv};

use crate::random::Random;

/// What the library is told, and what it tells; the same fields in the same order as in `preload.c`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Control {
    pub(crate) is_loaded: i64,
    /// Seconds that the wall clock is wrong by.
    pub(crate) clock: i64,
    /// Most microseconds that a sync takes longer; other calls a tenth of it.
    pub(crate) delay: i64,
    /// The call that takes so many microseconds longer.
    pub(crate) stall_at: i64,
    pub(crate) stall: i64,
    /// What fails: [`SYNCS`], [`WRITES`], [`NAMES`].
    pub(crate) kinds: i64,
    /// From which of these calls on, and how many of them.
    pub(crate) fail_at: i64,
    pub(crate) times: i64,
    /// With which number.
    pub(crate) error: i64,
    /// How many syncs have failed.
    pub(crate) failed_syncs: i64,
}

/// `fsync` and `fdatasync`.
pub(crate) const SYNCS: i64 = 1;
/// `write`.
pub(crate) const WRITES: i64 = 2;
/// `open` for writing and `rename`.
pub(crate) const NAMES: i64 = 4;

const FIELDS: usize = 10;
const CLOCK: u64 = 1;

impl Control {
    /// A disk that takes its time, and now and then much of it.
    pub(crate) fn slow(random: &mut Random) -> Control {
        let milliseconds = [1, 5, 20, 60, 200][random.below(5)];
        let stall = if random.chance(40) { random.between(300_000, 2_500_000) } else { 0 };
        let stall_at = random.between(1, 60);
        Control {
            delay: milliseconds * 1000,
            stall_at: stall_at as i64,
            stall: stall as i64,
            ..Control::default()
        }
    }

    /// A disk that fails, once or from some moment on: broken, full, beyond the quota, read-only.
    pub(crate) fn failing(random: &mut Random) -> Control {
        Control {
            kinds: *random.pick(&[SYNCS, WRITES, NAMES, SYNCS | WRITES, SYNCS | WRITES | NAMES]),
            fail_at: random.between(1, 30) as i64,
            times: *random.pick(&[1, 2, 1_000_000]),
            error: *random.pick(&[5, 28, 122, 30]),
            ..Control::default()
        }
    }

    /// A clock that is wrong by so many seconds.
    pub(crate) fn clock(wrong_by: i64) -> Control {
        Control { clock: wrong_by, ..Control::default() }
    }

    fn fields(self) -> [i64; FIELDS] {
        let Control { is_loaded, clock, delay, stall_at, stall, kinds, fail_at, times, error, failed_syncs } =
            self;
        [is_loaded, clock, delay, stall_at, stall, kinds, fail_at, times, error, failed_syncs]
    }
}

/// The library at work in one world.
pub(crate) struct Preload {
    file: PathBuf,
}

impl Preload {
    /// Gets it ready for the next program; nothing where it does not work on this machine.
    pub(crate) fn new(env: &TestEnv, control: Control) -> Option<Preload> {
        library()?;
        Some(Preload::at(env.tmp().join("preload"), control))
    }

    fn at(file: PathBuf, control: Control) -> Preload {
        let bytes: Vec<u8> = control.fields().into_iter().flat_map(i64::to_ne_bytes).collect();
        fs::write(&file, bytes).unwrap_or_else(|error| panic!("no control: {error}"));
        Preload { file }
    }

    /// Adds it to the program that a command starts.
    pub(crate) fn add_to(&self, command: &mut Command) {
        command.env("LD_PRELOAD", library().unwrap_or(Path::new(""))).env("PRELOAD_CONTROL", &self.file);
    }

    /// Starts the program with these arguments in this world.
    pub(crate) fn start(&self, env: &TestEnv, arguments: &[&str]) -> Started {
        let mut command = env.runner();
        self.add_to(command.args(arguments));
        env.start(command)
    }

    /// Sets the wall clock of the program.
    pub(crate) fn set_clock(&self, wrong_by: i64) {
        let file = File::options().write(true).open(&self.file);
        let written = file.and_then(|file| file.write_all_at(&wrong_by.to_ne_bytes(), CLOCK * 8));
        written.unwrap_or_else(|error| panic!("no control: {error}"));
    }

    /// How many syncs have failed.
    pub(crate) fn failed_syncs(&self) -> i64 {
        self.field(FIELDS - 1)
    }

    fn field(&self, at: usize) -> i64 {
        let bytes = fs::read(&self.file).unwrap_or_default();
        let field = bytes.get(at * 8..at * 8 + 8).and_then(|bytes| bytes.try_into().ok());
        i64::from_ne_bytes(field.unwrap_or_default())
    }
}

/// Whether it works on this machine.
pub(crate) fn works() -> bool {
    library().is_some()
}

/// The library, compiled once; nothing where there is no compiler, or nothing can be preloaded.
fn library() -> Option<&'static Path> {
    static LIBRARY: OnceLock<Option<PathBuf>> = OnceLock::new();
    let made = LIBRARY.get_or_init(|| {
        let made = compile();
        if made.is_none() {
            eprintln!(
                "skipped: slow and failing disks and set clocks, because nothing can be preloaded here"
            );
        }
        made
    });
    made.as_deref()
}

fn compile() -> Option<PathBuf> {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/property/preload.c");
    // tests beside each other must not write the same file
    let (own, library) = (dir.join(format!("preload-{}.so", std::process::id())), dir.join("preload.so"));
    let mut compiler = Command::new("cc");
    compiler.args(["-std=gnu11", "-Wall", "-Wextra", "-O1", "-shared", "-fPIC", "-o"]).arg(&own);
    let output = compiler.arg(source).output().ok()?;
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    fs::rename(own, &library).ok()?;
    let probe = Preload::at(dir.join(format!("preload-{}", std::process::id())), Control::default());
    let mut program = Command::new(env!("CARGO_BIN_EXE_recipe-runner-rs"));
    program.arg("--version").env("RECIPE_RUNNER_HOME", dir);
    program.env("LD_PRELOAD", &library).env("PRELOAD_CONTROL", &probe.file);
    let works = program.output().is_ok_and(|output| output.status.success()) && probe.field(0) == 1;
    drop(fs::remove_file(&probe.file));
    works.then_some(library)
}
