//! One attempt at a shell command: prepared from the state, then run to its end.
//!
//! Preparation reads the state and writes private files; running touches only the process and its files.

mod judge;

use std::{
    ffi::OsString,
    fs::File,
    path::{Path, PathBuf},
    pin::pin,
    sync::Arc,
    time::Duration,
};

use engine::{Outcome, run::event::OutputRef};
use recipe::plan::{Step, StepKind};
use tokio::sync::watch;

pub use engine::run::{attempt::AttemptResult, text::shorten};
use judge::EndedAttempt;
pub use judge::{Quoted, json_value, read_json, signal_words};

use crate::{
    machine::missing_tool::Lookup,
    os::{
        environment::Environment,
        process::{self, Exit, Left, Marker, OutputComplete, StartError, Stdin},
        stage::RealTime,
    },
    steps::{
        output_files::OutputFiles,
        performer::{Performance, PreparedPerformance},
        spawn::Started,
    },
    store::{
        folder::{FolderError, check_room, is_tight},
        values,
    },
};

/// The shell that runs commands.
pub const SHELL: &str = "/bin/bash";
/// How long a hook may take.
pub const HOOK_TIME: Duration = Duration::from_secs(30);
/// Whether an attempt may continue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StopSignal {
    /// It continues.
    #[default]
    None,
    /// It stops with the run.
    Run,
    /// It stops because a recipe around it timed out; the text names the timeout.
    Timeout(Arc<str>),
}

impl StopSignal {
    /// Why a started attempt was stopped.
    pub fn ended(&self) -> String {
        match self {
            StopSignal::Timeout(why) => format!("ended because {why}"),
            StopSignal::None | StopSignal::Run => "stopped with the run".to_owned(),
        }
    }

    /// Why an attempt does not start.
    pub fn not_begun(&self) -> String {
        match self {
            StopSignal::Timeout(why) => format!("not begun because {why}"),
            StopSignal::None | StopSignal::Run => "stopped with the run".to_owned(),
        }
    }
}

/// Returns when the gate says stop.
pub async fn stopped(go: &mut watch::Receiver<StopSignal>) {
    // a dropped gate stops too: its owner cannot ask for the result any more
    let _ = go.wait_for(|go| *go != StopSignal::None).await;
}

/// Waits until no process passes on the output of this one any more; `None` if the gate says stop first.
pub(crate) async fn drained(
    running: &Performance,
    go: &mut watch::Receiver<StopSignal>,
) -> Option<OutputComplete> {
    tokio::select! {
        biased;
        drained = running.drain() => Some(drained),
        () = stopped(go) => None,
    }
}

/// A process that is ready to be started.
#[derive(Debug)]
pub struct Command {
    /// Program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its environment.
    pub env: Arc<Environment>,
    /// Its directory.
    pub cwd: PathBuf,
    /// Its standard input.
    pub stdin: Stdin,
    /// The file of its standard output, relative to the run's folder.
    pub stdout: PathBuf,
    /// The file of its standard error, relative to the run's folder.
    pub stderr: PathBuf,
    /// The marker by which its processes are found.
    pub marker: Marker,
}

impl Command {
    /// A script whose output goes to the files `stdout` and `stderr` of a folder.
    pub fn shell(
        args: Vec<String>,
        env: Arc<Environment>,
        cwd: PathBuf,
        dir: &Path,
        marker: Marker,
    ) -> Command {
        Command {
            program: SHELL.into(),
            args: args.into_iter().map(Into::into).collect(),
            env,
            cwd,
            stdin: Stdin::Null,
            stdout: dir.join("stdout"),
            stderr: dir.join("stderr"),
            marker,
        }
    }
}

/// Progress of a running attempt.
#[derive(Debug)]
pub enum Progress {
    /// A process was started.
    Spawned(Started),
    /// An agent does something.
    Activity {
        /// The step.
        path: String,
        /// A few words about it.
        what: String,
    },
    /// Something that the record of the run must have.
    Noted {
        /// The step.
        path: String,
        /// The note.
        message: String,
    },
}

/// How a process ended.
#[derive(Debug)]
pub enum ProcessEnd {
    /// It exited by itself.
    Exited {
        /// Its exit status.
        exit: Exit,
        /// Child processes still running after exit.
        left: Left,
        /// Whether all of its output has arrived.
        drained: OutputComplete,
    },
    /// It timed out.
    TimedOut(f64),
    /// It was stopped; with its exit status, if it had started.
    Stopped(Option<Exit>),
    /// It could not start.
    NotStarted(StartError),
}

/// Starts a process, and waits for its end.
pub(crate) async fn run_command(
    prepared: Result<PreparedPerformance, StartError>,
    timeout: Option<f64>,
    grace: Duration,
    mut go: watch::Receiver<StopSignal>,
    spawned: impl FnOnce(&process::Running),
) -> ProcessEnd {
    // stopped while a hook ran, or before this task first ran: start nothing
    if *go.borrow() != StopSignal::None {
        return ProcessEnd::Stopped(None);
    }
    let mut running = match prepared.and_then(PreparedPerformance::start) {
        Ok(running) => running,
        Err(error) => return ProcessEnd::NotStarted(error),
    };
    if let Some(process) = running.process() {
        spawned(process);
    }
    let mut limit = pin!(async {
        match timeout {
            Some(seconds) => tokio::time::sleep(duration(seconds)).await,
            None => std::future::pending().await,
        }
    });
    let exit = tokio::select! {
        biased;
        exit = running.wait() => exit,
        () = stopped(&mut go) => {
            return ProcessEnd::Stopped(running.end(grace).await.exit.or(Some(Exit::Lost)));
        }
        () = &mut limit => {
            running.end(grace).await;
            return ProcessEnd::TimedOut(timeout.unwrap_or_default());
        }
    };
    let drained = tokio::select! {
        biased;
        drained = drained(&running, &mut go) => drained,
        () = &mut limit => Some(OutputComplete::InPart),
    };
    match drained {
        // scanning `/proc` is expensive; skip it when no child is left
        Some(OutputComplete::Alone) => {
            ProcessEnd::Exited { exit, left: Left::Nothing, drained: OutputComplete::Alone }
        }
        Some(drained) => {
            let left = running.left();
            if left != Left::Nothing {
                RealTime::stays();
            }
            ProcessEnd::Exited { exit, left, drained }
        }
        // its output is incomplete
        None => ProcessEnd::Stopped(running.end(grace).await.exit.or(Some(Exit::Lost))),
    }
}

/// The inputs for the judgement of a shell command.
#[derive(Debug)]
pub struct ShellTask {
    /// The run's folder.
    pub run: PathBuf,
    /// The step's definition.
    pub step: Arc<Step>,
    /// The folder of the attempt, relative to the run's.
    pub dir: PathBuf,
    /// Its output files.
    pub outputs: OutputFiles,
    /// Seconds after which it is ended.
    pub timeout: Option<f64>,
    /// How long it has to end by itself.
    pub grace: Duration,
    /// How much of its output the message quotes.
    pub quoted: Quoted,
    /// Where it looks for programs.
    pub lookup: Lookup,
}

/// Runs a shell step to its end.
pub(crate) async fn run_shell(
    task: ShellTask,
    prepared: Result<PreparedPerformance, StartError>,
    go: watch::Receiver<StopSignal>,
    report: impl FnOnce(&process::Running),
) -> Result<AttemptResult, FolderError> {
    let ShellTask { run, step, dir, outputs, timeout, grace, quoted, lookup } = task;
    let end = run_command(prepared, timeout, grace, go.clone(), report).await;
    let (left, drained) = match end {
        ProcessEnd::Exited { left, drained, .. } => (left, drained),
        _ => (Left::Nothing, OutputComplete::Alone),
    };
    let code = match end {
        ProcessEnd::Exited { exit: Exit::Code(code), .. } => Some(code),
        _ => None,
    };
    let told = go.borrow().clone();
    let printed = outputs.printed()?;
    let attempt = EndedAttempt {
        dir: &run.join(&dir),
        step: &step,
        told: &told,
        printed: &printed,
        quoted,
        lookup: &lookup,
    };
    let mut finished = judge::judge(&attempt, end)?;
    finished.ended.left_running = left != Left::Nothing;
    // a step that writes `setsid` starts its daemons on purpose
    let is_meant = matches!(&step.kind, StepKind::Shell { command } if command.text().contains("setsid"));
    finished.ended.left_daemons = left == Left::Daemons && !is_meant;
    if drained == OutputComplete::InPart {
        let note = "warning: a process that forwards the step's output was still running: its later output is \
                    in the log, but not in the value";
        finished.notes.push(note.to_owned());
    }
    finished.ended.note_code(code);
    let is_suspect = match finished.ended.outcome {
        Outcome::Cancelled => false,
        // a script may succeed after a command whose output was lost, and then its value is incomplete
        Outcome::Ok => is_tight(&run),
        // a step that cannot write its output fails because of that, not because of the recipe
        _ => true,
    };
    if is_suspect {
        check_room(&run)?;
    }
    [finished.ended.stdout, finished.ended.stderr] = printed.references(&dir)?;
    Ok(finished)
}

/// A reference to an output file for the journal.
pub fn reference(run: &Path, relative: &Path) -> Result<Option<OutputRef>, FolderError> {
    let path = run.join(relative);
    let Ok(file) = File::open(&path) else { return Ok(None) };
    values::output_ref(relative, &file).map(Some).map_err(FolderError::at("read", &path))
}

/// Seconds as a `Duration`; invalid or huge values mean "no limit".
pub(crate) fn duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}
