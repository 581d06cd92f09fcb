//! What the engine tells its driver to do, and what the driver tells the engine. Both are data.
//!
//! A driver records events, and carries out everything else only after the records are on disk. It reports what came
//! of it as a [`Happening`]. Nothing here names a process, a folder or a machine, so a driver may run anywhere.

use crate::failure::Class;
use crate::run::{
    attempt::AttemptResult,
    cause::Refusal,
    ending::Halt,
    ensure::CheckEnd,
    event::{Answered, Ended, Event, QuestionPut, Usage},
    frame::FrameId,
    outcome::StepStatus,
    state::RunState,
};
use jiff::Timestamp;
use recipe::{
    plan::{EnsureRule, StepKind, Target},
    value::Value,
};

/// Something to do.
#[derive(Debug)]
pub enum Action {
    /// Record this event.
    Record(Box<Event>),
    /// Record a note about a step, without secrets.
    Note {
        /// The step.
        path: String,
        /// The note.
        message: String,
    },
    /// Store the value of a step, and record the end of the step.
    FinishStep(Box<StepEnd>),
    /// Do the work of a step. The driver reports [`Happening::AttemptEnded`], [`Happening::RecipeChecked`] if the step
    /// runs a recipe, or [`Happening::QuestionReady`] if it asks a person.
    StartStep {
        /// The step.
        path: String,
        /// Which attempt.
        attempt: u32,
        /// Whether the hook before the step runs first.
        pre_hook: bool,
        /// The model to use instead of that of the step, after a rate limit.
        model: Option<String>,
    },
    /// Store the value of a step, and record that its work is done. Its rules are checked after that.
    EndWork(Box<StepEnd>),
    /// Check the `ensure` rules of a step whose work is done, except conditions. The driver reports
    /// [`Happening::EnsureChecked`].
    CheckEnsure {
        /// The step.
        path: String,
        /// Which attempt.
        attempt: u32,
    },
    /// Run a hook of a step. The driver reports [`Happening::HookEnded`].
    StartHook {
        /// The step.
        path: String,
        /// Which hook.
        hook: HookKind,
    },
    /// Collect the result of a sub-recipe that has ended. The driver reports [`Happening::RecipeEnded`].
    CloseRecipe {
        /// The step that runs it.
        path: String,
        /// Its frame.
        frame: FrameId,
    },
    /// Ask an agent to finish the work of a failed sub-recipe. The driver reports [`Happening::RecoveryAnswered`].
    AskRecovery {
        /// The step that runs it.
        path: String,
        /// Its frame.
        frame: FrameId,
    },
    /// Wait before the next attempt at a step, and meanwhile end the processes that the last one left running. The
    /// driver reports [`Happening::RetryDue`].
    WaitForRetry {
        /// The step.
        path: String,
        /// How long to wait.
        milliseconds: u64,
        /// The processes to end, by step and attempt (`path#attempt`).
        leftovers: Vec<String>,
    },
    /// Wait until this time before the next iteration of a loop. The driver reports [`Happening::IterationDue`].
    WaitForIteration {
        /// The instance.
        path: String,
        /// When it is due.
        due: Timestamp,
    },
    /// Start the timeout of a recipe step. The driver reports [`Happening::RecipeTimedOut`] unless the recipe ends
    /// first.
    LimitRecipe {
        /// The step.
        path: String,
        /// Its timeout.
        seconds: f64,
    },
    /// Stop everything that runs inside the recipe of a step.
    StopBelow {
        /// The step.
        path: String,
        /// Why, as the end of a sentence that begins with "because".
        why: String,
        /// Cleanup steps inside it, which come to their end.
        spared: Vec<String>,
    },
    /// End the processes that a failed sub-recipe left running. The driver reports [`Happening::LeftoversEnded`].
    EndLeftovers {
        /// The processes, by step and attempt (`path#attempt`).
        leftovers: Vec<String>,
        /// The recipe step that ends after that.
        failed: Box<FailedRecipe>,
    },
    /// Determine the kind of the failure of a recipe. The driver reports [`Happening::Diagnosed`].
    Diagnose {
        /// The step that runs the recipe; empty for the main recipe.
        path: String,
        /// Its frame.
        frame: FrameId,
    },
    /// End the run.
    Finish,
}

impl Action {
    /// Whether an action only leads to further records: a sub-recipe is entered, or has come to its end. What that
    /// leads to outside of the journal waits for the disk, and so for these records too.
    pub fn only_records(&self, state: &RunState) -> bool {
        match self {
            Action::StartStep { path, pre_hook, .. } => state.planned(path).is_some_and(|step| {
                let is_known = matches!(&step.kind, StepKind::Nested { target: Target::Known { .. }, .. });
                is_known && !pre_hook && !step.ensure.iter().any(EnsureRule::compares_files)
            }),
            Action::CloseRecipe { frame, .. } => state.frames[*frame].has_succeeded(),
            Action::Record(_)
            | Action::Note { .. }
            | Action::FinishStep(_)
            | Action::EndWork(_)
            | Action::Diagnose { .. } => true,
            _ => false,
        }
    }
}

/// The end of a step.
#[derive(Debug)]
pub struct StepEnd {
    /// The step.
    pub path: String,
    /// Its last attempt.
    pub attempt: u32,
    /// Its status.
    pub status: StepStatus,
    /// How it ended.
    pub ended: Ended,
    /// Its value.
    pub value: Option<Value>,
    /// Whether an agent finished the work of its sub-recipe.
    pub recovered: bool,
}

/// A recipe step that has failed and is recorded once its processes have ended.
#[derive(Debug)]
pub struct FailedRecipe {
    /// The step.
    pub path: String,
    /// Its attempt.
    pub attempt: u32,
    /// The frame of its recipe.
    pub frame: FrameId,
    /// How it ended.
    pub result: AttemptResult,
}

/// A command around a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookKind {
    /// Before the step.
    PreStep,
    /// After a step that did not fail.
    PostStep,
    /// After a step that failed.
    OnError,
}

impl HookKind {
    /// Its name in a recipe.
    pub fn as_str(self) -> &'static str {
        match self {
            HookKind::PreStep => "pre_step",
            HookKind::PostStep => "post_step",
            HookKind::OnError => "on_error",
        }
    }
}

/// Something that happened outside the engine.
#[derive(Debug)]
pub enum Happening {
    /// An attempt at a step ended.
    AttemptEnded {
        /// The step.
        path: String,
        /// Which attempt.
        attempt: u32,
        /// How it ended.
        result: Box<AttemptResult>,
    },
    /// The rules of a step were checked, or the check was stopped.
    EnsureChecked {
        /// The step.
        path: String,
        /// Which attempt.
        attempt: u32,
        /// The end of the check.
        end: CheckEnd,
    },
    /// A hook ended.
    HookEnded {
        /// The step.
        path: String,
        /// Which hook.
        hook: HookKind,
        /// Why it failed, if it did.
        error: Option<String>,
    },
    /// The wait before a retry is over.
    RetryDue {
        /// The step.
        path: String,
    },
    /// The wait before an iteration of a loop is over.
    IterationDue {
        /// The instance.
        path: String,
    },
    /// The recipe of a step was looked up, and its context was checked.
    RecipeChecked {
        /// The step.
        path: String,
        /// The recipe, if it was found.
        unit: Option<String>,
        /// Why it cannot be entered, if it cannot.
        problem: Option<Refusal>,
    },
    /// The timeout of a recipe step has passed.
    RecipeTimedOut {
        /// The step.
        path: String,
        /// The timeout.
        seconds: f64,
    },
    /// A sub-recipe has ended.
    RecipeEnded {
        /// The step that runs it.
        path: String,
        /// Its frame.
        frame: FrameId,
        /// Its result; absent if it did not succeed.
        result: Option<Box<AttemptResult>>,
    },
    /// The processes that a failed sub-recipe left running have ended.
    LeftoversEnded(Box<FailedRecipe>),
    /// A recovery agent answered, or could not be asked.
    RecoveryAnswered {
        /// The step whose recipe failed.
        path: String,
        /// The frame of the recipe.
        frame: FrameId,
        /// The meaning of the answer.
        answer: RecoveryAnswer,
        /// The usage of the agent.
        usage: Option<Usage>,
    },
    /// The kind of the failure of a recipe was determined.
    Diagnosed {
        /// The step that runs the recipe; empty for the main recipe.
        path: String,
        /// Its frame.
        frame: FrameId,
        /// The kind.
        class: Class,
    },
    /// A question can be put: everything that belongs to it is in the run folder.
    QuestionReady {
        /// The question; its deadline is still missing.
        put: Box<QuestionPut>,
        /// The time.
        now: Timestamp,
    },
    /// A person answered a question, and the answer fits.
    AnswerGiven(Box<Answered>),
    /// Time has passed: questions may be overdue.
    QuestionsDue {
        /// The time.
        now: Timestamp,
    },
    /// A person or the system asked the run to stop. `always` steps that are running continue.
    StopRequested(Halt),
    /// All work has ended after a request to stop: what is left to clean up begins.
    CameToRest,
    /// No cleanup step runs any more after a request to stop.
    CleanupForbidden,
}

/// The meaning of a recovery agent's answer.
#[derive(Debug)]
pub enum RecoveryAnswer {
    /// The work is done, with this result.
    Recovered(Box<AttemptResult>),
    /// It is not done, for this reason.
    NotRecovered(String),
    /// The agent was stopped.
    Stopped,
}
