//! The evidence of a run, from its journal: started processes, resumes, notes. Never changes it.

use engine::run::{
    ensure::RuleCheck,
    event::OutputRef,
    next::{Next, StartAgain},
    origin::Origin,
    outcome::OutcomeKind,
};
use jiff::Timestamp;
use serde::Serialize;

/// The evidence of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Evidence {
    /// SHA-256 of the recipe that the run uses.
    pub recipe_digest: String,
    /// The recipe's file, as an absolute path.
    pub recipe_path: String,
    /// The original recipe, if it is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub began_with: Option<RecipeRef>,
    pub working_dir: String,
    /// The same run, to start again.
    pub start_again: StartAgain,
    /// Processes that were started for steps, hooks and repairs; absent unless requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spawned: Option<Vec<Process>>,
    /// Every attempt at every step, including those before a resume.
    pub attempts: Vec<Try>,
    /// The resumes, and the steps that each ran again.
    pub resumes: Vec<Continuation>,
    /// Failed attempts that were followed by another one.
    pub retries: Vec<Retry>,
    /// Notes for the user.
    pub notes: Vec<Note>,
}

/// A recipe: its file and the digest of its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RecipeRef {
    /// SHA-256 of its text.
    pub recipe_digest: String,
    /// Its file, as an absolute path.
    pub recipe_path: String,
}

/// A process that was started.
#[derive(Clone, Debug, Serialize)]
pub struct Process {
    pub step: String,
    pub attempt: u32,
    /// Its purpose, if it is not the attempt itself: the name of a hook, `ensure` or `repair`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
    pub pid: u32,
    /// Program and arguments.
    pub argv: Vec<String>,
    pub cwd: String,
    /// The names of its environment variables, never the values; absent if a run has too many processes to list them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env_names: Option<Vec<String>>,
    /// When it was started.
    pub at: Timestamp,
}

/// An attempt at a step.
#[derive(Clone, Debug, Serialize)]
pub struct Try {
    pub step: String,
    /// Which attempt, from 1.
    pub attempt: u32,
    pub started_at: Timestamp,
    /// When it ended; absent if it still runs, or its runner died.
    pub finished_at: Option<Timestamp>,
    pub outcome: Option<OutcomeKind>,
    /// Exit code, if a program ended with one.
    pub exit_code: Option<i32>,
    /// Signal, if a program was ended by one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// The error; empty if there is no error.
    pub error: String,
    /// SHA-256 of its input values.
    pub input_digest: Option<String>,
    pub stdout: Option<OutputRef>,
    pub stderr: Option<OutputRef>,
    /// The last prompt that its agent got, as it was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<OutputRef>,
    /// The results of its `ensure` rules.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ensure: Vec<RuleCheck>,
}

/// A resume of the run.
#[derive(Clone, Debug, Serialize)]
pub struct Continuation {
    /// When it was resumed.
    pub at: Timestamp,
    /// The process that resumed it.
    pub pid: u32,
    /// The generation of sources that it used; 0 is the first.
    pub sources: u32,
    /// The recipe's file that it used, as an absolute path; absent if it is built in.
    pub recipe_path: Option<String>,
    /// SHA-256 of that recipe.
    pub recipe_digest: Option<String>,
    /// Steps that had begun and ran again, including the failed ones.
    pub rerun: Vec<String>,
    /// Interrupted steps that were skipped.
    pub skipped: Vec<String>,
    /// `person` or `auto_fix`.
    pub by: Option<String>,
    /// The step that it resumed at.
    pub anchor: Option<String>,
    /// Where the request came from; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

/// A failed attempt that was followed by another one.
#[derive(Clone, Debug, Serialize)]
pub struct Retry {
    pub step: String,
    pub attempt: u32,
    /// Why it failed.
    pub error: String,
}

/// A note for the user.
#[derive(Clone, Debug, Serialize)]
pub struct Note {
    /// The step that it is about.
    pub step: Option<String>,
    pub message: String,
    /// What the note suggests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<Next>,
}
