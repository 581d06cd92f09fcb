//! What really happened in a run, as its journal tells it: started processes, resumes, notes. Never changes it.

use engine::{Outcome, run::event::OutputRef};
use jiff::Timestamp;
use serde::Serialize;

/// What really happened.
#[derive(Clone, Debug, Serialize)]
pub struct Evidence {
    /// SHA-256 of the recipe that the run works with.
    pub recipe_digest: String,
    /// The recipe's file, from anywhere.
    pub recipe_path: String,
    /// The recipe that it began with, where that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub began_with: Option<RecipeRef>,
    /// Where it worked.
    pub working_dir: String,
    /// A command that does the same again from the beginning.
    pub repro_command: String,
    /// Processes that were started: for steps, for hooks and for repairs; absent unless they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spawned: Option<Vec<Process>>,
    /// Every attempt at every step, also those before a resume.
    pub attempts: Vec<Try>,
    /// Who went on with it, and what was done again.
    pub resumes: Vec<Continuation>,
    /// Attempts that failed and were followed by another one.
    pub retries: Vec<Retry>,
    /// Things that people should know.
    pub notes: Vec<Note>,
}

/// A recipe, by its file and what stood in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RecipeRef {
    /// SHA-256 of its text.
    pub recipe_digest: String,
    /// Its file, from anywhere.
    pub recipe_path: String,
}

/// A process that was started.
#[derive(Clone, Debug, Serialize)]
pub struct Process {
    /// The step.
    pub step: String,
    /// The attempt.
    pub attempt: u32,
    /// What for, if not for the attempt itself: the name of a hook, or `repair`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
    /// Its number.
    pub pid: u32,
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Its directory.
    pub cwd: String,
    /// The names of its environment, never the values; absent where a run has too many processes to list them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env_names: Option<Vec<String>>,
    /// When.
    pub at: Timestamp,
}

/// An attempt at a step.
#[derive(Clone, Debug, Serialize)]
pub struct Try {
    /// The step.
    pub step: String,
    /// Which attempt, from 1.
    pub attempt: u32,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended; absent if it goes on, or its runner died.
    pub finished_at: Option<Timestamp>,
    /// How it ended.
    pub outcome: Option<Outcome>,
    /// Exit code, if a program ended with one.
    pub exit_code: Option<i32>,
    /// Signal, if a program was ended by one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// What went wrong; empty if nothing did.
    pub error: String,
    /// SHA-256 of the values that it read.
    pub input_digest: Option<String>,
    /// What it printed.
    pub stdout: Option<OutputRef>,
    /// What it printed on standard error.
    pub stderr: Option<OutputRef>,
}

/// A continuation of the run.
#[derive(Clone, Debug, Serialize)]
pub struct Continuation {
    /// When.
    pub at: Timestamp,
    /// The process that went on.
    pub pid: u32,
    /// Which sources it went on with; 0 is the first.
    pub sources: u32,
    /// The recipe's file that it went on with, from anywhere; absent if it is built in.
    pub recipe_path: Option<String>,
    /// SHA-256 of that recipe.
    pub recipe_digest: Option<String>,
    /// Steps that had begun and were done again, what had failed included.
    pub rerun: Vec<String>,
    /// Interrupted steps that were left out.
    pub skipped: Vec<String>,
    /// `person` or `auto_fix`.
    pub by: Option<String>,
    /// The step that it went on at.
    pub anchor: Option<String>,
}

/// An attempt that failed and was followed by another one.
#[derive(Clone, Debug, Serialize)]
pub struct Retry {
    /// The step.
    pub step: String,
    /// The attempt.
    pub attempt: u32,
    /// Why it failed.
    pub error: String,
}

/// Something that people should know.
#[derive(Clone, Debug, Serialize)]
pub struct Note {
    /// The step that it is about.
    pub step: Option<String>,
    /// What it is.
    pub message: String,
}
