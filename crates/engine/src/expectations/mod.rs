//! What came of a case beside what its test file expects.
//!
//! Never runs anything and never prints: the facts come from the caller, the failures go back to it.

mod judge;
mod snapshot;

use recipe::{
    source::Place,
    value::{Map, Value},
};

pub use judge::{judge, vocabulary};
pub use snapshot::snapshot;

/// What came of a case.
#[derive(Clone, Debug, Default)]
pub struct CaseFacts {
    /// The exit code that the program would have.
    pub exit: i32,
    /// The status of the run.
    pub status: String,
    /// The outcome of the run.
    pub outcome: String,
    /// How far the goal of a task is reached, if the run was for a task.
    pub goal: Option<String>,
    /// The steps that the result has, also those inside recipe steps and loops.
    pub steps: Vec<StepFact>,
    /// The final context.
    pub context: Map,
    /// The result text.
    pub output: String,
    /// The error of the run.
    pub error: Option<String>,
    /// The class of the failure.
    pub diagnosis: Option<String>,
    /// The paths of the steps that started, in this order.
    pub started: Vec<String>,
    /// The paths of the steps for each call of an agent or a command, and of a stub in their place.
    pub calls: Vec<String>,
    /// Every prompt, with the path of its step.
    pub prompts: Vec<(String, String)>,
    /// Every call of a program of the case: its name and its arguments.
    pub commands: Vec<Vec<String>>,
    /// Files of the scratch folder that an expectation names or that changed: the contents, or what is there instead.
    pub files: Vec<(String, FileFact)>,
    /// The paths that differ from those before the case, sorted.
    pub changed: Vec<String>,
    /// The scratch folder, which has another name each time.
    pub scratch: String,
}

/// How a step ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepFact {
    /// Its path.
    pub path: String,
    /// Its status.
    pub status: String,
    /// How often it was tried, for steps that call nothing themselves.
    pub attempts: u32,
}

/// What is at a path of the scratch folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileFact {
    /// Nothing.
    Absent,
    /// A text.
    Text(String),
    /// Bytes that are no text, by their digest.
    Bytes(String),
    /// A folder.
    Folder,
}

impl FileFact {
    /// As a value to compare.
    pub fn to_value(&self) -> Option<Value> {
        match self {
            FileFact::Absent => None,
            FileFact::Text(text) => Some(Value::text(text.as_str())),
            FileFact::Bytes(digest) => Some(Value::text(format!("(binary, sha256 {digest})"))),
            FileFact::Folder => Some(Value::text("(folder)")),
        }
    }
}

/// An expectation that was not met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmet {
    /// What was looked at: `exit`, `steps.review[1]`, `files.CHANGELOG.md`.
    pub what: String,
    /// What was expected.
    pub expected: String,
    /// What was found.
    pub actual: String,
    /// The place in the test file.
    pub place: Option<Place>,
}
