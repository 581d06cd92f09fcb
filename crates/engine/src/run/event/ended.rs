//! How one attempt at a step ended, and where its output is. Facts only.

use recipe::value::{Map, Value};
use serde::{Deserialize, Serialize};

use super::{Usage, usage::is_zero};
use crate::run::cause::MissingProgram;
use crate::run::ensure::RuleCheck;
use crate::run::outcome::{AgentTrouble, KnownBy, Outcome, ProgramEnd};

/// The end of an attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    /// The outcome.
    pub outcome: Outcome,
    /// The complete error message, for people: code reads the outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The exit code of its process, if the outcome does not contain it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    /// What its script did not find, if it exited with code 127.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<MissingProgram>,
    /// How its program ended when it was stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<ProgramEnd>,
    /// Its standard output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdout: Option<OutputRef>,
    /// Its standard error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<OutputRef>,
    /// Its value for the context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Stored>,
    /// What a sub-recipe left, if a stub stood in for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Map>,
    /// Bytes that were cut out of the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_bytes: Option<u64>,
    /// The usage of an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The problem of an agent's service, if that is why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<AgentTrouble>,
    /// The evidence for that problem.
    #[serde(default, skip_serializing_if = "KnownBy::is_result")]
    pub trouble_by: KnownBy,
    /// Files that the step declares as produced, by their paths from its directory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub produced: Vec<OutputRef>,
    /// Whether files changed while an agent worked, if its answer says that it could not reach them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files_changed: Option<bool>,
    /// The results of the step's `ensure` rules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ensure: Vec<RuleCheck>,
    /// How often an agent was asked again for JSON.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub asked_for_json: u64,
    /// Whether a `repeat` ended without reaching its condition, where its step allows that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_exhausted: bool,
    /// Whether processes that it had started were still running when it ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub left_running: bool,
    /// Whether all of them had made sessions of their own, as daemons do, or only passed on its output: the step did
    /// not leave them for later steps.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub left_daemons: bool,
}

impl Ended {
    /// An end without output.
    pub fn new(outcome: Outcome, error: Option<String>) -> Ended {
        Ended {
            outcome,
            error,
            code: None,
            missing: None,
            stopped: None,
            stdout: None,
            stderr: None,
            value: None,
            context: None,
            cut_bytes: None,
            usage: None,
            trouble: None,
            trouble_by: KnownBy::Result,
            produced: Vec::new(),
            files_changed: None,
            ensure: Vec::new(),
            asked_for_json: 0,
            is_exhausted: false,
            left_running: false,
            left_daemons: false,
        }
    }

    /// Takes in the exit code of a process that ended by itself.
    pub fn note_code(&mut self, code: Option<i32>) {
        let is_told = match self.outcome {
            Outcome::Ok => code == Some(0),
            Outcome::Exit(_) => true,
            _ => false,
        };
        self.code = code.filter(|_| !is_told);
    }

    /// Whether its program printed nothing.
    pub fn is_silent(&self) -> bool {
        let is_empty = |output: &Option<OutputRef>| output.as_ref().is_some_and(|output| output.bytes == 0);
        is_empty(&self.stdout) && is_empty(&self.stderr)
    }

    /// The signal that ended its process.
    pub fn signal(&self) -> Option<i32> {
        match self.outcome {
            Outcome::Signal(signal) => Some(signal),
            _ => self.stopped.and_then(ProgramEnd::signal),
        }
    }

    /// The exit code of a process that ended by itself; absent if there was no process or the code is unknown.
    pub fn exit_code(&self) -> Option<i32> {
        match self.outcome {
            Outcome::Ok => Some(self.code.unwrap_or(0)),
            Outcome::Exit(code) => Some(code),
            _ => self.code.or_else(|| self.stopped.and_then(ProgramEnd::code)),
        }
    }
}

/// Bytes in a file of the run folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputRef {
    /// The file, relative to the run folder.
    pub file: String,
    /// Its size.
    pub bytes: u64,
    /// SHA-256 of its bytes, unless it is too large.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// A value: in the journal itself if it is small, otherwise in a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stored {
    /// The value itself.
    Inline(Value),
    /// Text in a file.
    Text(OutputRef),
    /// JSON in a file.
    Json(OutputRef),
}
