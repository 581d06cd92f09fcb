//! Decides about a task in plain words: its type, its route, its failures, its rounds and its result.
//!
//! Never reads files, asks git or starts an agent: the facts come from the caller, and the word lists are data
//! (`words.yaml`).

mod answer_text;
mod clauses;
mod closing;
mod facts;
mod failure_mode;
mod fingerprint;
mod goal_status;
mod hollow_answer;
mod intent;
mod issue_numbers;
mod judge;
mod kinds;
mod paths;
mod prose;
mod result;
mod results;
mod route;
mod task_type;
mod terminal;
mod unreached;
mod unwanted;
mod verdict;
mod words;
mod workstreams;

pub use closing::{ClosingFacts, closing_block};
pub use facts::{
    CheckResult, Execution, LeafFailure, ReflectedCriterion, Reflection, RepositoryFacts, WorkEvidence,
    WorkstreamResult,
};
pub use failure_mode::{Adaptation, Adapted, RoundFacts, adaptation, failure_mode};
pub use fingerprint::failure_fingerprint;
pub use goal_status::{ReadStatus, read_goal_status};
pub use hollow_answer::{HollowVerdict, SeenWork, judge_hollow};
pub use intent::{Intent, read_intent};
pub use issue_numbers::issue_numbers;
pub use judge::{
    FinalStatus, JudgeFacts, RoundLimits, RoundVerdict, final_status, is_accepted, judge_round, published,
    stop_after,
};
pub use kinds::{
    Accept, Basis, Cap, FailureMode, GoalStatus, Guard, JudgedBy, Publish, RouteKind, StopReason, TaskType,
    TerminalState,
};
pub use result::{
    BestRound, Classification, EndingFacts, FailureEntry, ORCHESTRATION_VERSION, Orchestration,
    PublishResult, RecoveryEntry, RecoveryStage, Round, Route, RoutedWorkstream, SessionEntry,
};
pub use route::{ClassificationAnswer, RouteDecision, RouteRequest, decide_route};
pub use task_type::{PromotedType, fallback_task_type, promote, read_task_type};
pub use terminal::{Checks, DevelopmentFacts, TerminalResult, development_end, investigation_end};
pub use unwanted::{ChangedFile, LARGEST, UnwantedFile, unwanted};
pub use verdict::read_verdict;
pub use workstreams::{
    SaidWorkstream, SplitLimits, SplitTask, WholeTask, Workflows, said_workstreams, split_task,
};
