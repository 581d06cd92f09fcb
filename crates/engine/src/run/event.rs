//! The events of a run: one closed list, as the journal stores them.
//!
//! Events carry facts, never instructions. Output bytes are in files; events refer to them.

mod ended;
mod question;
mod spawned;
mod usage;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::failure::Class;
use crate::run::ending::EndReason;
use crate::run::next::Next;
use crate::run::origin::Origin;
use crate::run::outcome::{RunStatus, SkipReason, StepStatus, StopCause};
use crate::run::override_values::OverrideValue;
pub use ended::{Ended, OutputRef, Stored};
pub use question::{Answered, QuestionField, QuestionPut, ShownPart, Via};
pub use spawned::{NameChange, Spawned};
pub use usage::Usage;

/// Version of the journal's format.
pub const FORMAT: u32 = 2;

/// One line of the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Its number, from 1, without gaps.
    pub seq: u64,
    /// When it happened.
    pub at: Timestamp,
    /// What happened.
    pub event: Event,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The run began.
    RunStarted(RunStarted),
    /// An attempt at a step begins now.
    StepStarted {
        /// The step.
        path: String,
        /// Which attempt, from 1.
        attempt: u32,
        /// SHA-256 of its input values.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        inputs: Option<String>,
    },
    /// The recipe of a recipe step is entered.
    RecipeEntered {
        /// The step.
        path: String,
        /// Path of the recipe file.
        unit: String,
    },
    /// A step with a loop enters it.
    LoopEntered {
        /// The step.
        path: String,
        /// SHA-256 of each item of a `for_each`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        items: Vec<String>,
    },
    /// A process was started for an attempt.
    Spawned(Spawned),
    /// An attempt failed and another one follows.
    AttemptFailed {
        /// The step.
        path: String,
        /// Which attempt.
        attempt: u32,
        /// How it ended.
        ended: Ended,
        /// Milliseconds until the next one.
        retry_in_ms: u64,
    },
    /// The work of an attempt is done. The step ends when its rules have been checked.
    WorkEnded {
        /// The step.
        path: String,
        /// Which attempt.
        attempt: u32,
        /// The status of the step if the rules are met.
        status: StepStatus,
        /// How the attempt ended.
        ended: Ended,
        /// Whether an agent finished the work of a sub-recipe that had failed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        recovered: bool,
    },
    /// The rules of an attempt whose work ended before a resume are checked again.
    CheckRepeated {
        /// The step.
        path: String,
        /// Which attempt.
        attempt: u32,
    },
    /// A step is finished.
    StepFinished {
        /// The step.
        path: String,
        /// Its last attempt; 0 if it never started.
        attempt: u32,
        /// Its status.
        status: StepStatus,
        /// How it ended.
        ended: Ended,
        /// Whether an agent finished the work of a sub-recipe that had failed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        recovered: bool,
    },
    /// The run was stopped before an attempt had begun.
    StepNotBegun {
        /// The step.
        path: String,
        /// The attempt.
        attempt: u32,
    },
    /// A step is not executed.
    StepSkipped {
        /// The step.
        path: String,
        /// The reason.
        reason: SkipReason,
    },
    /// A question was put to a person, or put again with new contents.
    QuestionPut(QuestionPut),
    /// A question was answered.
    Answered(Answered),
    /// A step that waits for an answer is given up, because another step of its group failed.
    QuestionWithdrawn {
        /// The step that asks, or that runs the recipe with the question.
        path: String,
        /// The step that failed.
        because: String,
    },
    /// A hook ran.
    HookFinished {
        /// The step that it belongs to.
        path: String,
        /// Which hook: `pre_step`, `post_step` or `on_error`.
        hook: String,
        /// Why it failed, if it did.
        error: Option<String>,
    },
    /// A sub-recipe is stopped: nothing new starts in it.
    RecipeStopped {
        /// The step that runs it.
        path: String,
        /// The reason, as text.
        error: String,
        /// The reason.
        #[serde(default, skip_serializing_if = "StopCause::is_timeout")]
        cause: StopCause,
    },
    /// The cleanup steps of a recipe begin.
    CleanupBegan {
        /// The step that runs the recipe; empty for the main recipe.
        path: String,
        /// The kind of the failure; absent if the run was stopped.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        class: Option<Class>,
        /// Why the run was stopped, if it was: only `always` steps run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stopped: Option<EndReason>,
    },
    /// A note for the user without any effect.
    Noted {
        /// The step that it is about.
        path: Option<String>,
        /// The note.
        message: String,
        /// What the note suggests.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        next: Option<Next>,
    },
    /// An agent worked for the run outside its steps.
    AgentUsed {
        /// The purpose.
        purpose: String,
        /// Its usage.
        usage: Usage,
    },
    /// The run failed and is retried: the next attempt comes after a wait.
    FixWaits {
        /// Seconds.
        seconds: f64,
        /// The reason for the wait.
        reason: String,
    },
    /// An agent begins to repair the recipe, and may write into its file.
    RepairBegan(RepairBegan),
    /// The repair is over, and the recipe's file is final.
    RepairEnded {
        /// Which repair.
        number: u32,
        /// Whether it was accepted.
        accepted: bool,
    },
    /// A new process continues the run.
    RunResumed(RunResumed),
    /// The process of the run is gone, and another one takes the run over in order to stop it.
    RunTakenOver {
        /// That process.
        pid: u32,
    },
    /// The run ended.
    RunFinished(RunFinished),
}

/// The beginning of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunStarted {
    /// Version of the format.
    pub format: u32,
    /// Version of the program.
    pub program: String,
    /// The run.
    pub run_id: String,
    /// Name of the recipe.
    pub recipe: String,
    /// Process that works on it.
    pub pid: u32,
    /// Where the request came from; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// Who performs its attempts.
    #[serde(default, skip_serializing_if = "PerformerKind::is_process")]
    pub performer: PerformerKind,
}

/// Who performs the attempts of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PerformerKind {
    /// Processes.
    #[default]
    Process,
    /// The stubs of a test case.
    Stub,
}

impl PerformerKind {
    /// Whether processes do.
    pub fn is_process(&self) -> bool {
        *self == PerformerKind::Process
    }
}

/// The beginning of a repair: enough to restore the recipe, even if the runner dies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepairBegan {
    /// Which repair, from 1.
    pub number: u32,
    /// The recipe's file.
    pub file: String,
    /// SHA-256 of its old content.
    pub digest: String,
    /// A copy of its old content, relative to the run folder.
    pub original: String,
}

/// A resume of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunResumed {
    /// Process that works on it now.
    pub pid: u32,
    /// The generation of sources that it uses; 0 is the first.
    pub sources: u32,
    /// Finished steps whose results are discarded.
    pub rerun: Vec<String>,
    /// Cleanup steps that ran when the run ended before: their results are discarded too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cleanup: Vec<String>,
    /// Failed steps that stay failed, because the cleanup of their recipe continues where it was cut off.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<String>,
    /// Steps that had begun and run again, including the failed ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub again: Vec<String>,
    /// Why steps that had begun run again, by their paths; absent in old journals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasons: Option<BTreeMap<String, String>>,
    /// The absolute path of the recipe that it uses, unless that is built in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recipe_file: Option<String>,
    /// SHA-256 of that recipe's text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recipe_digest: Option<String>,
    /// Interrupted steps that a person chose to skip.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skip: Vec<String>,
    /// The kind of resume: `person` or `auto_fix`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The step that it resumes at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<String>,
    /// Given values that replace those of the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub given: Vec<(String, OverrideValue)>,
    /// Whether the user switched auto-fix off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_auto_fix: bool,
    /// Where the request came from; absent if unknown, and if auto-fix resumed the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

impl RunResumed {
    /// The steps whose results are discarded. A recipe that is only entered again, as `path/`, keeps its finished
    /// steps.
    pub fn given_up(&self) -> Vec<&str> {
        self.rerun.iter().map(String::as_str).filter(|path| !path.ends_with('/')).collect()
    }
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunFinished {
    /// Its status.
    pub status: RunStatus,
    /// Why it ended.
    pub reason: EndReason,
    /// The reason, if it did not succeed.
    pub error: Option<String>,
    /// Result text of the recipe.
    #[serde(default)]
    pub output: Option<Stored>,
    /// Background processes that were ended with the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ended_processes: Vec<String>,
    /// Processes of the run that could not be ended, as text for users.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_processes: Vec<String>,
    /// The steps (`path#attempt`) that had left them; absent where this was not determined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_steps: Option<Vec<String>>,
    /// The usage of agents in the whole run, over all resumes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Milliseconds that processes worked on the run; absent in old journals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worked_ms: Option<u64>,
    /// The question to a person, if a resume stopped for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asks: Option<Question>,
    /// Where the request to cancel the run came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

impl RunFinished {
    /// An end for this reason, about which nothing else is known.
    pub fn new(reason: EndReason, error: Option<String>) -> RunFinished {
        RunFinished {
            status: reason.status(),
            reason,
            error,
            output: None,
            ended_processes: Vec::new(),
            left_processes: Vec::new(),
            ended_steps: None,
            usage: None,
            worked_ms: None,
            asks: None,
            origin: None,
        }
    }
}

/// A decision of a person that a run waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// What happens to interrupted steps that are not idempotent.
    Interrupted,
    /// Whether completed side effects may be repeated.
    Effects,
}
