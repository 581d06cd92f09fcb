//! The `orchestration` object of a result: what an orchestrated run came to, as data.

use serde::{Deserialize, Serialize};

use super::{
    facts::{Execution, Reflection, WorkEvidence, WorkstreamResult},
    kinds::{Basis, Cap, FailureMode, GoalStatus, Guard, Publish, RouteKind, StopReason, TaskType},
};
use crate::failure::Class;

/// The version of the object.
pub const ORCHESTRATION_VERSION: u32 = 1;

/// What an orchestrated run came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Orchestration {
    /// The version of this object.
    pub schema_version: u32,
    /// The task in the words of the user.
    pub task: String,
    /// Its type; absent before it is known.
    pub task_type: Option<TaskType>,
    /// The goal.
    pub goal: String,
    /// When the goal counts as reached.
    pub success_criteria: Vec<String>,
    /// Where the type comes from.
    pub classification: Option<Classification>,
    /// How the task is carried out; absent before it is decided.
    pub route: Option<Route>,
    /// How far the goal was reached.
    pub goal_status: GoalStatus,
    /// What is missing, or a summary.
    pub detail: String,
    /// Whether the result counts as a success.
    pub accepted: bool,
    /// Why no further round follows; absent while it runs.
    pub stop_reason: Option<StopReason>,
    /// The rounds.
    pub rounds: Vec<Round>,
    /// An earlier round whose state was better than the final one.
    pub best_round: Option<BestRound>,
    /// The mode of the last failure that was not recovered.
    pub failure_mode: Option<FailureMode>,
    /// All failures.
    pub failures: Vec<FailureEntry>,
    /// What was done about failures.
    pub recovery: Vec<RecoveryEntry>,
    /// The workstreams; a single route has one.
    pub workstreams: Vec<WorkstreamResult>,
    /// What was published.
    #[serde(flatten)]
    pub ending: EndingFacts,
}

/// The rest of the object: publishing, permissions, session and notes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndingFacts {
    /// What was published.
    pub publish: PublishResult,
    /// Whether merging is forbidden.
    pub no_merge: bool,
    /// Whether a task may end without a change.
    pub allow_no_op: bool,
    /// The session of the run.
    pub session: Option<SessionEntry>,
    /// Remarks for the user.
    pub notes: Vec<String>,
}

/// Where a task type comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Classification {
    /// The type in the words of the agent or the user.
    pub said: Option<String>,
    /// How it became known.
    pub basis: Basis,
    /// The rule that made it Development.
    pub promoted_by: Option<String>,
}

/// How a task is carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    /// The type of the task.
    pub task_type: TaskType,
    /// How it is carried out.
    pub kind: RouteKind,
    /// The goal.
    pub goal: String,
    /// When the goal counts as reached.
    pub success_criteria: Vec<String>,
    /// The workstreams; one unless the kind is parallel.
    pub workstreams: Vec<RoutedWorkstream>,
    /// What is published.
    pub publish: Publish,
    /// Whether merging is forbidden.
    pub no_merge: bool,
    /// Whether the task may end without a change.
    pub allow_no_op: bool,
    /// Whether the task may be split.
    pub guard: Guard,
}

/// A part of a task with its own branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoutedWorkstream {
    /// Its name.
    pub name: String,
    /// What is to be done.
    pub description: String,
    /// Its own type.
    pub classification: TaskType,
    /// The workflow that does it; Q&A and Operations have none.
    pub recipe: Option<String>,
}

/// One round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Round {
    /// Its number, from 1.
    pub round: u32,
    /// What was executed.
    pub executed: Vec<Execution>,
    /// What was done.
    pub evidence: WorkEvidence,
    /// The verdict before facts lowered it.
    pub reflection: Option<Reflection>,
    /// Why the verdict was lowered.
    pub capped_by: Vec<Cap>,
    /// The verdict.
    pub status: GoalStatus,
    /// What is missing, or a summary.
    pub detail: String,
    /// The state that the verdict belongs to.
    pub state_digest: String,
    /// The last commit of that state.
    pub commit: Option<String>,
}

/// An earlier, better state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BestRound {
    /// The number of its round.
    pub round: u32,
    /// Its verdict.
    pub status: GoalStatus,
    /// Its last commit.
    pub commit: Option<String>,
}

/// A failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureEntry {
    /// The number of its round.
    pub round: u32,
    /// Its mode.
    pub mode: FailureMode,
    /// Its class.
    pub class: Option<Class>,
    /// The path of the failed step.
    pub step: Option<String>,
    /// The evidence.
    pub quote: String,
    /// Whether a second execution made up for it.
    pub recovered: bool,
}

/// What was done about failures in one stage of a round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecoveryEntry {
    /// The number of the round.
    pub round: u32,
    /// The stage, with what it did.
    #[serde(flatten)]
    pub stage: RecoveryStage,
}

/// A stage of recovery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "stage", rename_all = "snake_case")]
pub enum RecoveryStage {
    /// A failure was found.
    Detect {
        /// Its mode.
        mode: FailureMode,
        /// Its class.
        class: Option<Class>,
        /// The path of the failed step.
        step: Option<String>,
        /// The evidence.
        quote: String,
        /// The recipe that can be executed instead.
        fallback: Option<String>,
    },
    /// It was reported.
    Report {
        /// The local file.
        file: Option<String>,
        /// The issue.
        issue_url: Option<String>,
        /// What was done about equal reports.
        dedup: String,
    },
    /// Another execution took its place, or not.
    Adapt {
        /// The recipe.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        recipe: Option<String>,
        /// The path of its step.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
        /// How it ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outcome: Option<crate::run::outcome::StepStatus>,
        /// Why nothing was executed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        skipped: Option<String>,
    },
    /// The verdict after it.
    Reflect {
        /// The status.
        status: GoalStatus,
    },
}

/// What was asked for and done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublishResult {
    /// What was asked for.
    pub asked: Publish,
    /// What the remote confirms.
    pub done: Publish,
    /// The pull request.
    pub pr_url: Option<String>,
}

impl Default for PublishResult {
    fn default() -> PublishResult {
        PublishResult { asked: Publish::None, done: Publish::None, pr_url: None }
    }
}

/// The session of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionEntry {
    /// Its id.
    pub id: String,
    /// The tree that it belongs to.
    pub tree_id: String,
    /// How deep it is, from 0.
    pub depth: u32,
    /// Whether it may split its task.
    pub guard: Guard,
}
