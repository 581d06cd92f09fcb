//! One attempt at a shell command: prepared from the state, then run to its end.
//!
//! Preparing reads the state and writes private files; running touches only the process and its files.

use std::{
    ffi::OsString,
    fs::File,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use engine::{
    Outcome,
    event::{Ended, OutputRef},
    outcome::ProgramEnd,
};
use recipe::{
    plan::{JsonMode, Step, StepKind},
    syntax::ExitMeaning,
    value::Value,
};
use tokio::sync::watch;

use crate::{
    environment::Environment,
    folder::{FolderError, check_room},
    host::Host,
    output_files::OutputFiles,
    process::{self, Exit, Marker, Prepared, StartError, Stdin},
    started::Started,
    tools::{Lookup, exit_127},
    values::{self, Captured},
};

/// The shell that runs commands.
pub const SHELL: &str = "/bin/bash";
/// How long a hook may take.
pub const HOOK_TIME: Duration = Duration::from_secs(30);
/// What of the last output a message quotes.
#[derive(Clone, Copy, Debug)]
pub struct Quoted {
    lines: usize,
    bytes: u64,
}

impl Quoted {
    const USUAL: Quoted = Quoted { lines: 20, bytes: 2048 };

    /// As much as the environment wants.
    pub fn by(host: &Host) -> Quoted {
        let lines = host.number("AMPLIHACK_RECIPE_SNIPPET_LINES").map(|lines| lines as usize);
        let bytes = host.number("AMPLIHACK_RECIPE_SNIPPET_BYTES");
        Quoted { lines: lines.unwrap_or(Quoted::USUAL.lines), bytes: bytes.unwrap_or(Quoted::USUAL.bytes) }
    }

    fn tail(self, file: &Path) -> String {
        values::tail(file, self.lines, self.bytes)
    }
}

/// Whether an attempt goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Go {
    /// It goes on.
    #[default]
    On,
    /// It stops.
    Stop,
}

/// Returns when the gate says stop.
pub async fn stopped(go: &mut watch::Receiver<Go>) {
    // a gate that is gone stops too: nobody is left who could ask for the result
    let _ = go.wait_for(|go| *go == Go::Stop).await;
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
    /// What it reads.
    pub stdin: Stdin,
    /// Where its output goes, relative to the run's folder.
    pub stdout: PathBuf,
    /// Where its complaints go, relative to the run's folder.
    pub stderr: PathBuf,
    /// How it is found again.
    pub marker: Marker,
}

/// What a running attempt reports before its end.
#[derive(Debug)]
pub enum Progress {
    /// A process was started.
    Spawned(Started),
    /// What an agent is doing.
    Activity {
        /// The step.
        path: String,
        /// In a few words.
        what: String,
    },
}

/// How an attempt came out.
#[derive(Debug)]
pub struct Finished {
    /// For the journal; its `value` is still missing.
    pub ended: Ended,
    /// The value for the context.
    pub value: Option<Value>,
    /// Whether the step is merely degraded.
    pub degraded: bool,
    /// Things that people should know.
    pub notes: Vec<String>,
}

impl Finished {
    /// An attempt that went well; its value is still missing.
    pub fn ok() -> Finished {
        Finished { ended: Ended::new(Outcome::Ok, None), value: None, degraded: false, notes: Vec::new() }
    }

    /// An attempt that could not even begin.
    pub fn refused(outcome: Outcome, error: String) -> Finished {
        Finished { ended: Ended::new(outcome, Some(error)), value: None, degraded: false, notes: Vec::new() }
    }
}

/// How a process came to its end.
#[derive(Debug)]
pub enum ProcessEnd {
    /// By itself.
    Exited {
        /// How.
        exit: Exit,
        /// Whether others that it had started went on.
        left_running: bool,
    },
    /// It took too long.
    TimedOut(f64),
    /// It was told to stop; how it ended then, if it had begun.
    Stopped(Option<Exit>),
    /// It never began.
    NotStarted(StartError),
}

/// Starts a process, and waits for its end.
pub async fn run_command(
    prepared: Result<Prepared, StartError>,
    timeout: Option<f64>,
    grace: Duration,
    mut go: watch::Receiver<Go>,
    spawned: impl FnOnce(&process::Running),
) -> ProcessEnd {
    // told to stop while a hook ran, or before this task had its first turn: nothing new begins
    if *go.borrow() == Go::Stop {
        return ProcessEnd::Stopped(None);
    }
    let mut running = match prepared.and_then(Prepared::start) {
        Ok(running) => running,
        Err(error) => return ProcessEnd::NotStarted(error),
    };
    spawned(&running);
    let limit = async {
        match timeout {
            Some(seconds) => tokio::time::sleep(Duration::from_secs_f64(seconds)).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        exit = running.wait() => {
            ProcessEnd::Exited { exit, left_running: !running.survivors().is_empty() }
        }
        () = stopped(&mut go) => {
            ProcessEnd::Stopped(running.end(grace).await.exit)
        }
        () = limit => {
            running.end(grace).await;
            ProcessEnd::TimedOut(timeout.unwrap_or_default())
        }
    }
}

/// What the outcome of a shell command is judged by.
#[derive(Debug)]
pub struct ShellTask {
    /// The run's folder.
    pub run: PathBuf,
    /// The step's definition.
    pub step: Arc<Step>,
    /// The folder of the attempt, relative to the run's.
    pub dir: PathBuf,
    /// What it prints into.
    pub outputs: OutputFiles,
    /// Seconds after which it is ended.
    pub timeout: Option<f64>,
    /// How long it has to end itself.
    pub grace: Duration,
    /// What its message quotes.
    pub quoted: Quoted,
    /// Where it looks for programs.
    pub lookup: Lookup,
}

/// Runs a shell step to its end.
pub async fn run_shell(
    task: ShellTask,
    prepared: Result<Prepared, StartError>,
    go: watch::Receiver<Go>,
    report: impl FnOnce(&process::Running),
) -> Result<Finished, FolderError> {
    let ShellTask { run, step, dir, outputs, timeout, grace, quoted, lookup } = task;
    let end = run_command(prepared, timeout, grace, go, report).await;
    let left_running = matches!(end, ProcessEnd::Exited { left_running: true, .. });
    let code = match end {
        ProcessEnd::Exited { exit: Exit::Code(code), .. } => Some(code),
        _ => None,
    };
    let mut finished = judge(&run.join(&dir), &step, end, &outputs, quoted, &lookup)?;
    finished.ended.left_running = left_running;
    finished.ended.note_code(code);
    if !matches!(finished.ended.outcome, Outcome::Ok | Outcome::Cancelled) {
        // a step that cannot print fails for that reason alone: it is not the recipe's failure
        check_room(&run)?;
    }
    [finished.ended.stdout, finished.ended.stderr] = outputs.references(&dir)?;
    Ok(finished)
}

fn judge(
    dir: &Path,
    step: &Step,
    end: ProcessEnd,
    outputs: &OutputFiles,
    quoted: Quoted,
    lookup: &Lookup,
) -> Result<Finished, FolderError> {
    let exit = match end {
        ProcessEnd::NotStarted(error) => {
            return Ok(Finished::refused(Outcome::NotStarted, format!("bash step failed: {error}")));
        }
        ProcessEnd::Stopped(exit) => {
            let error = "bash step failed: stopped with the run".to_owned();
            let mut finished = Finished::refused(Outcome::Cancelled, error);
            finished.ended.stopped = exit.and_then(program_end);
            return Ok(finished);
        }
        ProcessEnd::TimedOut(seconds) => Err(seconds),
        ProcessEnd::Exited { exit, .. } => Ok(exit),
    };
    let (outcome, what) = match exit {
        Err(seconds) => (Outcome::TimedOut(seconds), format!("timed out after {} s", number(seconds))),
        Ok(Exit::Code(code)) => match (code, step.exit_meaning(code)) {
            (_, Some(ExitMeaning::NeedsHuman)) => {
                (Outcome::NeedsHuman, format!("exit code {code}: a person has to look at it"))
            }
            (0, None) | (_, Some(ExitMeaning::Ok)) => (Outcome::Ok, String::new()),
            (127, None) => {
                let said = Quoted::USUAL.tail(&dir.join("stderr"));
                let script = match &step.kind {
                    StepKind::Shell { command } => command.text(),
                    _ => "",
                };
                (Outcome::Exit(127), exit_127(script, &said, lookup))
            }
            _ => (Outcome::Exit(code), format!("exit code {code}")),
        },
        Ok(Exit::Signal(signal)) => (Outcome::Signal(signal), format!("ended by {}", signal_words(signal))),
        Ok(Exit::Lost) => (Outcome::Lost, "its exit status was lost".to_owned()),
    };
    let captured = outputs.capture()?;
    if outcome == Outcome::Ok {
        return Ok(succeed(step, captured));
    }
    let error = format!("bash step failed: {what}{}", last_words(dir, &outcome, quoted));
    let mut finished = Finished::refused(outcome, error);
    finished.ended.cut_bytes = captured.cut;
    // a tolerated failure keeps what it printed
    finished.value = captured.nul.is_none().then(|| Value::from(captured.text));
    Ok(finished)
}

/// How a program ended, if that is known.
fn program_end(exit: Exit) -> Option<ProgramEnd> {
    match exit {
        Exit::Code(code) => Some(ProgramEnd::Exit(code)),
        Exit::Signal(signal) => Some(ProgramEnd::Signal(signal)),
        Exit::Lost => None,
    }
}

fn succeed(step: &Step, captured: Captured) -> Finished {
    let mut finished = Finished::ok();
    finished.ended.cut_bytes = captured.cut;
    finished.notes.extend(captured.cut.map(values::cut_note));
    if let Some(at) = captured.nul {
        let message = format!(
            "the output has a NUL byte at offset {at}, so it cannot become a value; remove it, for example with `| tr -d '\\0'`"
        );
        return Finished::refused(Outcome::Refused, format!("bash step failed: {message}"));
    }
    read_json(step, captured.text, "bash", &mut finished);
    finished
}

/// Turns the text of a successful step into its value, by its JSON mode.
pub fn read_json(step: &Step, text: String, kind: &str, finished: &mut Finished) {
    if step.json == JsonMode::Text {
        finished.value = Some(Value::from(text));
        return;
    }
    let read = match finished.ended.cut_bytes {
        // before the cut, whatever would be found may be a part of what was meant
        Some(cut) => json_value(step, values::after_cut(&text, cut)).map_err(|_| {
            format!("{cut} bytes in the middle of the output were cut, so its JSON cannot be read")
        }),
        None => json_value(step, &text),
    };
    match read {
        Ok(value) if value.holds_nul() => {
            finished.ended.outcome = Outcome::Refused;
            finished.ended.error = Some(format!(
                "{kind} step failed: a text in its JSON has a NUL character, so it cannot become a value"
            ));
        }
        Ok(value) => finished.value = Some(value),
        Err(problem) => {
            let required = step.json == JsonMode::Required;
            let error = match required {
                true => format!("{kind} step failed: parse_json failed: {problem}"),
                false => format!("parse_json failed: {problem}; the raw output is kept"),
            };
            finished.ended.error = Some(error);
            finished.ended.outcome = Outcome::NotJson;
            finished.degraded = !required;
            finished.value = Some(Value::from(text));
        }
    }
}

/// The JSON in a text, if it is what the step asks for.
pub fn json_value(step: &Step, text: &str) -> Result<Value, String> {
    let value = recipe::json::extract(text).ok_or_else(|| {
        let start: String = text.chars().take(120).collect();
        format!("there is no JSON in the output, which begins with `{}`", start.escape_debug())
    })?;
    match &step.json_schema {
        Some(schema) => crate::json_schema::check(schema, &value).map(|()| value),
        None => Ok(value),
    }
}

/// A reference to an output file for the journal.
pub fn reference(run: &Path, relative: &Path) -> Result<Option<OutputRef>, FolderError> {
    let path = run.join(relative);
    let Ok(file) = File::open(&path) else { return Ok(None) };
    values::output_ref(relative, &file).map(Some).map_err(FolderError::at("read", &path))
}

/// The last thing that a failed step said, for its message.
fn last_words(dir: &Path, outcome: &Outcome, quoted: Quoted) -> String {
    if quoted.lines == 0 || quoted.bytes == 0 {
        return String::new();
    }
    let [said, printed] = ["stderr", "stdout"].map(|name| quoted.tail(&dir.join(name)));
    let quote = |stream: &str, text: &str| match text {
        "" => String::new(),
        text => format!("\nlast on {stream}:\n{text}"),
    };
    match quote("stdout", &printed) + &quote("stderr", &said) {
        quoted if !quoted.is_empty() => quoted,
        _ if matches!(outcome, Outcome::TimedOut(_)) => "; it printed nothing".to_owned(),
        _ => "; it said nothing".to_owned(),
    }
}

/// `SIGKILL (signal 9)`.
pub fn signal_words(signal: i32) -> String {
    match process::signal_name(signal) {
        "" => format!("signal {signal}"),
        name => format!("{name} (signal {signal})"),
    }
}

/// A number of seconds without needless decimals.
pub fn number(seconds: f64) -> String {
    format!("{seconds}")
}

/// A value as a message quotes it: nobody reads more of it there.
pub(crate) fn brief(value: &str) -> String {
    shorten(value, 200)
}

/// The first bytes of a text.
pub fn shorten(text: &str, bytes: usize) -> String {
    match text.char_indices().nth(bytes) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
