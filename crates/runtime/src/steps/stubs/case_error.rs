//! Why a test case cannot be judged. These are mistakes of the case, never of the recipe.

use serde::{Deserialize, Serialize};

/// A number of answers.
fn answers(number: usize) -> String {
    if number == 1 { "1 answer".to_owned() } else { format!("{number} answers") }
}

/// Why a test case cannot be judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum CaseError {
    /// An agent has no stub.
    #[error("{what} `{path}` has no stub, and a test starts no agent; add:\n{lines}")]
    MissingStub {
        /// The step.
        path: String,
        /// What it is: `agent step`, `the recovery of`, `the repair of`.
        what: String,
        /// The lines that a test file needs.
        lines: String,
    },
    /// A step that changes the world outside has no stub.
    #[error("step `{path}` has an effect ({why}) and no stub, so it was not run; add:\n{lines}")]
    Effect {
        /// The step.
        path: String,
        /// Why it is one.
        why: String,
        /// The lines that a test file needs.
        lines: String,
    },
    /// A step with an effect runs for real, and calls a program that is not replaced.
    #[error("{what} `{path}` has an effect ({why}), so it may run for real only if `programs` has {missing}")]
    RealProgram {
        /// The step.
        path: String,
        /// What runs: `step`, `a hook of`, `a check of`.
        what: String,
        /// Why it is an effect.
        why: String,
        /// What is missing.
        missing: String,
    },
    /// `bash: forbid` and a command without a stub.
    #[error("{what} `{path}` has no stub, and the case says `bash: forbid`")]
    BashForbidden {
        /// The step.
        path: String,
        /// What would run.
        what: String,
    },
    /// Two keys name a step equally precisely.
    #[error("the stubs `{first}` and `{second}` both answer for `{path}`, and none is more precise")]
    Tie {
        /// The step.
        path: String,
        /// One of them.
        first: String,
        /// The other one.
        second: String,
    },
    /// A stub cannot answer for a step of this kind.
    #[error("the stub `{key}` cannot answer for `{path}`, which is {kind}")]
    Unfit {
        /// The key of the stub.
        key: String,
        /// The step.
        path: String,
        /// What the step is.
        kind: String,
    },
    /// A list of answers is used up.
    #[error("the stub `{key}` has only {}, and `{path}` needs one more", answers(*entries))]
    UsedUp {
        /// The key of the stub.
        key: String,
        /// The step.
        path: String,
        /// How many answers it has.
        entries: usize,
    },
    /// A stub was never used.
    #[error("the stub `{key}` was not used; `optional: true` allows that")]
    Unused {
        /// The key of the stub.
        key: String,
        /// Its number in the case.
        number: usize,
    },
    /// `auto` finds no value.
    #[error("`auto` finds no value for the `json_schema` of `{path}`: {why}")]
    Auto {
        /// The step.
        path: String,
        /// Why not.
        why: String,
    },
    /// A stub cannot change a file.
    #[error("the stub of `{path}` cannot change `{file}`: {why}")]
    File {
        /// The step.
        path: String,
        /// The file.
        file: String,
        /// Why not.
        why: String,
    },
    /// A patch cannot be applied.
    #[error("the patch of the stub of `{path}` cannot be applied: {why}")]
    Patch {
        /// The step.
        path: String,
        /// Why not.
        why: String,
    },
    /// A stub hangs, and nothing ends it.
    #[error("the stub of `{path}` never ends: the step has no timeout that would end it")]
    NeverEnds {
        /// The step.
        path: String,
    },
    /// A program was called with other arguments.
    #[error("`{}` was called, and no reply in `programs` fits these arguments", argv.join(" "))]
    UnknownCall {
        /// The program and its arguments.
        argv: Vec<String>,
    },
    /// The moment of a `kill` never came.
    #[error("the runner was not killed at `{at}`: that moment never came")]
    NotKilled {
        /// The step.
        at: String,
        /// Its number in the case.
        number: usize,
    },
    /// The script before the case failed.
    #[error("`setup` failed: {why}")]
    Setup {
        /// How.
        why: String,
    },
    /// The case took too long.
    #[error("the case took longer than {seconds} s of real time and was ended")]
    TimedOut {
        /// Its limit.
        seconds: String,
    },
    /// The scratch folder cannot be made, or the run cannot be performed.
    #[error("{0}")]
    Broken(String),
}
