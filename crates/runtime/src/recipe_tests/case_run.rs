//! What came of a test case, as facts.

use engine::Record;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{CaseError, ScratchFolder, StubCalled};

/// What came of a test case.
#[derive(Debug)]
pub struct CaseRun {
    /// How its run ended; absent if there was none, and then `errors` says why.
    pub ended: Option<CaseEnd>,
    /// The journal of the run.
    pub events: Vec<Record>,
    /// The calls of steps, in their order: those that stubs answered, and commands that ran.
    pub calls: Vec<StubCalled>,
    /// The calls of programs in `programs`: names and arguments.
    pub commands: Vec<Vec<String>>,
    /// Paths that differ from the files that the case began with, sorted.
    pub changed: Vec<String>,
    /// Mistakes of the case.
    pub errors: Vec<CaseError>,
    /// Whether its commands could reach the network.
    pub network: Network,
    /// Seconds of real time that it took.
    pub seconds: f64,
    /// Its folder, which is removed when this is dropped.
    pub scratch: ScratchFolder,
}

impl CaseRun {
    /// The prompts that agents got, in their order, with the steps.
    pub fn prompts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.calls.iter().filter_map(|call| Some((call.path.as_str(), call.prompt.as_deref()?)))
    }
}

/// How the run of a case ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CaseEnd {
    /// With the result that a run prints.
    Result(Box<Json>),
    /// The request was refused.
    Failure {
        /// The exit code.
        exit: u8,
        /// The message.
        message: String,
    },
}

/// Whether the commands of a case can reach the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// They reach only this machine, through a network of their own.
    Isolated,
    /// This system does not allow that, so they can.
    NotIsolated,
}

/// What a worker reports about a case.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CaseReport {
    pub(super) ended: Option<CaseEnd>,
    pub(super) events: Vec<Record>,
    pub(super) calls: Vec<StubCalled>,
    pub(super) commands: Vec<Vec<String>>,
    pub(super) changed: Vec<String>,
    pub(super) errors: Vec<CaseError>,
}

impl CaseReport {
    /// The report about a case that could not be performed.
    pub(super) fn broken(error: CaseError) -> CaseReport {
        let (events, calls, commands, changed) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        CaseReport { ended: None, events, calls, commands, changed, errors: vec![error] }
    }

    /// The same with what the worker does not know.
    pub(super) fn into_run(self, scratch: ScratchFolder, network: Network, seconds: f64) -> CaseRun {
        let CaseReport { ended, events, calls, commands, changed, errors } = self;
        CaseRun { ended, events, calls, commands, changed, errors, network, seconds, scratch }
    }
}
