//! The result of a shell command: its outcome, its value and its message. Starts and ends nothing.

use std::path::Path;

use engine::{
    Outcome,
    run::{
        cause::{NulPlace, Refusal},
        message::{exit_code, step_failed, waiting_for_person},
        outcome::ProgramEnd,
    },
};
use recipe::{
    plan::{JsonMode, Step, StepKind},
    syntax::ExitMeaning,
    value::Value,
};

use super::{AttemptResult, ProcessEnd, StopSignal};
use crate::{
    machine::{
        host::Host,
        missing_tool::{Lookup, missing_program},
    },
    os::process::{self, Exit},
    steps::output_files::Printed,
    store::{
        folder::FolderError,
        values::{self, Captured},
    },
};

/// How much of the last output a message quotes.
#[derive(Clone, Copy, Debug)]
pub struct Quoted {
    lines: usize,
    bytes: u64,
}

impl Quoted {
    const USUAL: Quoted = Quoted { lines: 20, bytes: 8192 };

    /// The amount that the environment asks for.
    pub fn by(host: &Host) -> Quoted {
        let lines = host.number("AMPLIHACK_RECIPE_SNIPPET_LINES").map(|lines| lines as usize);
        let bytes = host.number("AMPLIHACK_RECIPE_SNIPPET_BYTES");
        Quoted { lines: lines.unwrap_or(Quoted::USUAL.lines), bytes: bytes.unwrap_or(Quoted::USUAL.bytes) }
    }

    fn tail(self, file: &Path) -> String {
        values::tail(file, self.lines, self.bytes)
    }
}

/// An attempt whose process has ended.
pub(super) struct EndedAttempt<'a> {
    /// The folder of the attempt.
    pub(super) dir: &'a Path,
    /// Its step.
    pub(super) step: &'a Step,
    /// The request to stop, if there was one.
    pub(super) told: &'a StopSignal,
    /// What its process printed.
    pub(super) printed: &'a Printed<'a>,
    /// How much of that a message quotes.
    pub(super) quoted: Quoted,
    /// Where it looked for programs.
    pub(super) lookup: &'a Lookup,
}

/// Judges the end of a process.
pub(super) fn judge(attempt: &EndedAttempt<'_>, end: ProcessEnd) -> Result<AttemptResult, FolderError> {
    let EndedAttempt { dir, step, printed, quoted, lookup, .. } = *attempt;
    let exit = match end {
        ProcessEnd::NotStarted(error) => {
            return Ok(AttemptResult::failed("bash", Outcome::NotStarted(error.into()), ""));
        }
        ProcessEnd::Stopped(exit) => return stopped(attempt, exit),
        ProcessEnd::TimedOut(seconds) => Err(seconds),
        ProcessEnd::Exited { exit, .. } => Ok(exit),
    };
    let mut missing = None;
    let (outcome, what) = match exit {
        Err(seconds) => (Outcome::TimedOut(seconds), None),
        Ok(Exit::Code(code)) => match (code, step.exit_meaning(code)) {
            (_, Some(ExitMeaning::NeedsHuman)) => (Outcome::NeedsHuman, Some(waiting_for_person(code))),
            (0, None) | (_, Some(ExitMeaning::Ok)) => (Outcome::Ok, None),
            (127, None) => {
                let said = Quoted::USUAL.tail(&dir.join("stderr"));
                let script = match &step.kind {
                    StepKind::Shell { command } => command.text(),
                    _ => "",
                };
                missing = missing_program(script, &said, lookup);
                (Outcome::Exit(127), Some(exit_code(127, missing.as_ref())))
            }
            _ => (Outcome::Exit(code), None),
        },
        Ok(Exit::Signal(signal)) => {
            (Outcome::Signal(signal), Some(format!("ended by {}", signal_words(signal))))
        }
        Ok(Exit::Lost) => (Outcome::Lost, None),
    };
    let captured = printed.capture()?;
    if outcome == Outcome::Ok {
        return Ok(succeed(step, captured));
    }
    let what = what.or_else(|| outcome.cause()).unwrap_or_default();
    let mut finished = fail(dir, outcome, &what, captured, quoted);
    finished.ended.missing = missing;
    Ok(finished)
}

fn fail(dir: &Path, outcome: Outcome, what: &str, captured: Captured, quoted: Quoted) -> AttemptResult {
    let error = step_failed("bash", format!("{what}{}", last_words(dir, quoted)));
    let mut finished = AttemptResult::refused(outcome, error);
    finished.ended.cut_bytes = captured.cut;
    // a tolerated failure keeps its output
    finished.value = captured.nul.is_none().then(|| Value::from(captured.text));
    finished
}

/// The end of a stopped command. A command that stopped with the run is continued by a resume; one that timed out is a
/// failure.
fn stopped(attempt: &EndedAttempt<'_>, exit: Option<Exit>) -> Result<AttemptResult, FolderError> {
    let EndedAttempt { dir, told, printed, quoted, .. } = *attempt;
    let mut finished = match (told, exit) {
        (StopSignal::Timeout(_), Some(_)) => {
            fail(dir, Outcome::Cancelled, &told.ended(), printed.capture()?, quoted)
        }
        _ => AttemptResult::refused(Outcome::Cancelled, step_failed("bash", told.not_begun())),
    };
    finished.ended.stopped = exit.and_then(program_end);
    Ok(finished)
}

/// How a program ended, if known.
fn program_end(exit: Exit) -> Option<ProgramEnd> {
    match exit {
        Exit::Code(code) => Some(ProgramEnd::Exit(code)),
        Exit::Signal(signal) => Some(ProgramEnd::Signal(signal)),
        Exit::Lost => None,
    }
}

fn succeed(step: &Step, captured: Captured) -> AttemptResult {
    let mut finished = AttemptResult::ok();
    finished.ended.cut_bytes = captured.cut;
    finished.notes.extend(captured.cut.map(values::cut_note));
    if let Some(at) = captured.nul {
        return AttemptResult::failed("bash", Outcome::Refused(Refusal::Nul(NulPlace::Output(at))), "");
    }
    read_json(step, captured.text, "bash", &mut finished);
    finished
}

/// Turns the text of a successful step into its value, by its JSON mode.
pub fn read_json(step: &Step, text: String, kind: &str, finished: &mut AttemptResult) {
    if step.json == JsonMode::Text {
        finished.value = Some(Value::from(text));
        return;
    }
    let read = match finished.ended.cut_bytes {
        // before the cut, any JSON that is found may be only a part of the intended value
        Some(cut) => json_value(step, values::after_cut(&text, cut)).map_err(|_| {
            format!("{cut} bytes in the middle of the output were cut, so its JSON cannot be read")
        }),
        None => json_value(step, &text),
    };
    match read {
        Ok(value) if value.holds_nul() => {
            let refusal = Refusal::Nul(NulPlace::Json);
            finished.ended.error = Some(step_failed(kind, &refusal));
            finished.ended.outcome = Outcome::Refused(refusal);
        }
        Ok(value) => finished.value = Some(value),
        Err(problem) => {
            let required = step.json == JsonMode::Required;
            let outcome = Outcome::NotJson { problem };
            let cause = outcome.cause().unwrap_or_default();
            let error = match required {
                true => step_failed(kind, cause),
                false => format!("{cause}; the raw output is kept"),
            };
            finished.ended.error = Some(error);
            finished.ended.outcome = outcome;
            finished.degraded = !required;
            finished.value = Some(Value::from(text));
        }
    }
}

/// The JSON in a text, if it matches what the step asks for.
pub fn json_value(step: &Step, text: &str) -> Result<Value, String> {
    let value = recipe::json::extract(text).ok_or_else(|| {
        // quotes and backslashes stay as printed
        let shown = |c: char| if c.is_control() { c.escape_debug().to_string() } else { c.to_string() };
        let start: String = text.chars().take(120).map(shown).collect();
        format!("there is no JSON in the output, which begins with `{start}`")
    })?;
    match &step.json_schema {
        Some(schema) => crate::steps::shell::json_schema::check(schema, &value).map(|()| value),
        None => Ok(value),
    }
}

/// The last output of a failed step, for its message.
fn last_words(dir: &Path, quoted: Quoted) -> String {
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
        _ => ", no output".to_owned(),
    }
}

/// A signal as text: `SIGKILL (signal 9)`.
pub fn signal_words(signal: i32) -> String {
    match process::signal_name(signal) {
        "" => format!("signal {signal}"),
        name => format!("{name} (signal {signal})"),
    }
}
