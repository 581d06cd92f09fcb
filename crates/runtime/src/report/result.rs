//! The result of a run as data, as the run prints it and `show` restores it.
//!
//! Secrets are masked here, because the result leaves the private folder.

use std::{collections::HashMap, path::Path};

use engine::{
    EndReason, RunState, RunStatus, StepStatus,
    failure::{Actions, Diagnosis, advice},
    knowledge::Knowledge,
    orchestration::{ClosingFacts, Orchestration},
    run::{
        ensure::RuleCheck,
        event::Usage,
        next::{Advice, Next},
        origin::Origin,
        outcome::OutcomeKind,
    },
};
use jiff::Timestamp;
use recipe::{
    plan::Plan,
    value::{Map, Value},
};
use serde::Serialize;

use super::{
    Failure,
    asks::{self, Ask},
    failure::CleanupFailure,
    step_results::steps,
};
use crate::{
    report::{
        diagnose::{self, FailedRun, Found},
        inputs::{InputReport, inputs},
    },
    run::Preview,
    store::secrets::Mask,
};

/// Version of the result format.
pub const SCHEMA_VERSION: u32 = 1;

/// The result of a run.
#[derive(Clone, Debug, Serialize)]
pub struct RunResult {
    /// Version of this format.
    pub schema_version: u32,
    pub recipe_name: String,
    /// The run; absent in a dry run, and if nothing was started.
    pub run_id: Option<String>,
    /// The id that all attempts at one piece of work share.
    pub tracking_id: Option<String>,
    /// Whether the recipe succeeded.
    pub success: bool,
    pub status: RunStatus,
    /// `ok`, `failed`, `blocked`, `needs_human`, `refused`, `cancelled`, `interrupted` or `budget`.
    pub outcome: &'static str,
    /// Why it ended; absent while it runs, and if it was killed.
    pub reason: Option<EndReason>,
    /// Whether this was a dry run.
    pub dry_run: bool,
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    /// Seconds so far.
    pub duration: f64,
    /// The steps of the recipe.
    pub step_results: Vec<StepResult>,
    /// Result text of the recipe; empty if there is no result text.
    pub output: String,
    /// Whether stdout has this text and nothing else.
    #[serde(skip)]
    pub result_only: bool,
    /// The context at the end.
    pub context: Map,
    /// The inputs of the recipe, in a dry run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<InputReport>,
    pub failure: Option<Failure>,
    /// Cleanup steps that failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cleanup_failures: Vec<CleanupFailure>,
    /// The diagnosis of the failure.
    pub diagnosis: Option<Diagnosis>,
    /// Equal for equal failures; does not depend on the time.
    pub fingerprint: Option<String>,
    /// What a person can do next.
    pub advice: Vec<Advice>,
    /// The part of the advice that a person has to choose from before the run can continue.
    #[serde(skip)]
    pub choices: Vec<Advice>,
    /// Questions that wait for a person.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<Ask>,
    /// The evidence, from the journal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<crate::report::evidence::Evidence>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_fix: Option<crate::report::auto_fix::Report>,
    /// What a task came to, if the run orchestrates one.
    #[serde(skip)]
    pub task: Option<Box<TaskReport>>,
    /// The usage of agents.
    pub usage: Option<Usage>,
    /// Where the request for it came from; absent if unknown.
    pub origin: Option<Origin>,
    /// Where the request to cancel it came from.
    pub cancelled_by: Option<Origin>,
    /// How often it was resumed.
    pub resumes: u32,
    /// Background processes that were ended with the run.
    pub ended_processes: Vec<String>,
    /// Processes of the run that could not be ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_processes: Vec<String>,
    /// How to continue it.
    pub resume: Option<Next>,
    pub run_dir: Option<String>,
    /// Mask for callers that print more of the run.
    #[serde(skip)]
    pub mask: Mask,
}

/// What a task came to.
#[derive(Clone, Debug)]
pub struct TaskReport {
    /// As data.
    pub told: Orchestration,
    /// The answer, the findings or the report, where the task has one.
    pub text: Option<String>,
    /// What the closing block needs besides.
    pub closing: ClosingFacts,
}

/// The result of a step.
#[derive(Clone, Debug, Default, Serialize)]
pub struct StepResult {
    pub step_id: String,
    /// Its path through sub-recipes.
    pub path: String,
    /// `bash`, `agent`, `recipe` or `ask`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Its command, as written in the recipe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The last prompt that its agent got, as it was sent; only `show` has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Whether it ran after the end of its recipe.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cleanup: bool,
    pub status: StepStatus,
    /// The text of its value; empty if it has no value.
    pub output: String,
    /// The error; empty if there is no error.
    pub error: String,
    /// How it failed, in few words that follow `failed`, for a screen.
    #[serde(skip)]
    pub failed_how: String,
    /// Seconds that it took.
    pub duration: f64,
    /// How often it was started.
    pub attempts: u32,
    /// When it was first started.
    pub started_at: Option<Timestamp>,
    /// When it was finished.
    pub finished_at: Option<Timestamp>,
    pub outcome: Option<OutcomeKind>,
    /// Exit code, if a program ended with one.
    pub exit_code: Option<i32>,
    /// Signal, if a program was ended by one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Whether it was stopped before its end, and runs again when the run is resumed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// Why it was skipped.
    pub skip_reason: Option<String>,
    /// The preview of a dry run.
    #[serde(flatten)]
    pub preview: Option<Preview>,
    /// Whether an agent finished the work of its sub-recipe.
    pub recovered: bool,
    /// The variable that its output is stored in.
    pub stored_as: Option<String>,
    /// Bytes that were cut out of its value; its log is complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut_bytes: Option<u64>,
    pub stdout: Option<engine::run::event::OutputRef>,
    pub stderr: Option<engine::run::event::OutputRef>,
    /// The usage of its agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// SHA-256 of its definition.
    pub definition_digest: String,
    /// SHA-256 of its input values; absent if it never started.
    pub input_digest: Option<String>,
    /// SHA-256 of the text of its value; absent if it has no value or the value is secret.
    pub output_digest: Option<String>,
    /// Files that it declares as produced, relative to its directory.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub produced: Vec<engine::run::event::OutputRef>,
    /// The results of its `ensure` rules.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ensure: Vec<RuleCheck>,
    /// Steps of its sub-recipe.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepResult>,
}

/// The inputs of a result.
pub struct Subject<'a> {
    /// The run, if it has a folder.
    pub run_id: Option<&'a str>,
    pub tracking_id: Option<&'a str>,
    pub state: &'a RunState,
    pub mask: &'a Mask,
    pub status: RunStatus,
    /// The time, for runs that have not ended.
    pub now: Timestamp,
    /// The previews of a dry run.
    pub previews: &'a HashMap<String, Preview>,
    pub run_dir: Option<String>,
    /// The result text.
    pub output: Option<Value>,
    pub plan: &'a Plan,
    /// What is believed about programs and their words.
    pub knowledge: &'a Knowledge,
    /// Its recipe, with a name valid in any directory.
    pub recipe: String,
    /// Where the request for it came from.
    pub origin: Option<&'a Origin>,
}

/// Makes the result of a run.
pub fn result(subject: &Subject<'_>) -> RunResult {
    let Subject { state, mask, status, .. } = *subject;
    let root = state.root();
    let finished = state.finished.as_ref();
    let quoted = |texts: &[String]| texts.iter().map(|text| mask.quotation(text).into_owned()).collect();
    let failure = match status {
        RunStatus::Failed | RunStatus::Waiting => Failure::of(state, mask),
        _ => None,
    };
    let asks = asks::of_run(subject);
    let found = failure.as_ref().and_then(|_| diagnosed(subject)).or_else(|| interruption(subject));
    let resume = resume(subject, found.as_ref());
    RunResult {
        schema_version: SCHEMA_VERSION,
        recipe_name: root.unit.name.clone(),
        run_id: subject.run_id.map(str::to_owned),
        tracking_id: subject.tracking_id.map(str::to_owned),
        success: status == RunStatus::Completed,
        status,
        outcome: outcome(status),
        reason: finished.filter(|_| status != RunStatus::Running).map(|finished| finished.reason),
        dry_run: state.settings.dry_run,
        started_at: state.started_at,
        finished_at: state.finished_at,
        duration: state.work.until(subject.now) as f64 / 1000.0,
        step_results: steps(subject, root),
        output: subject
            .output
            .as_ref()
            .map(|value| mask.text(&value.render()).into_owned())
            .unwrap_or_default(),
        result_only: root.unit.result_only(),
        context: root.context.iter().map(|(name, value)| (name.clone(), mask.value(name, value))).collect(),
        inputs: if state.settings.dry_run { inputs(&root.unit, mask) } else { Vec::new() },
        failure,
        cleanup_failures: CleanupFailure::all(state, mask),
        fingerprint: found.as_ref().and_then(|found| found.fingerprint.clone()),
        advice: found
            .iter()
            .flat_map(|found| found.advice.clone())
            .chain(asks.iter().flat_map(Ask::advice))
            .collect(),
        choices: Vec::new(),
        asks,
        diagnosis: found.map(|found| found.diagnosis),
        evidence: None,
        task: None,
        auto_fix: None,
        usage: (state.used.runs > 0).then(|| state.used.clone()),
        origin: subject.origin.cloned(),
        cancelled_by: finished.and_then(|finished| finished.origin.clone()),
        resumes: state.resumes,
        ended_processes: finished.map(|finished| quoted(&finished.ended_processes)).unwrap_or_default(),
        left_processes: finished.map(|finished| quoted(&finished.left_processes)).unwrap_or_default(),
        resume,
        run_dir: subject.run_dir.clone(),
        mask: mask.clone(),
    }
}

/// How to continue a run that has not completed.
fn resume(subject: &Subject<'_>, found: Option<&Found>) -> Option<Next> {
    let is_resumable = matches!(
        subject.status,
        RunStatus::Failed | RunStatus::Interrupted | RunStatus::Waiting | RunStatus::Cancelled
    );
    subject.run_id.filter(|_| is_resumable).map(|run| diagnose::next_resume(run, found))
}

/// The diagnosis of a failed run.
fn diagnosed(subject: &Subject<'_>) -> Option<Found> {
    let failed = FailedRun {
        plan: subject.plan,
        state: subject.state,
        run_dir: subject.run_dir.as_deref().map(Path::new),
        mask: subject.mask,
        knowledge: subject.knowledge,
    };
    diagnose::failure(&failed, |path| actions(subject, path))
}

/// The actions that help with the failure of a step; a run without a folder has none.
fn actions(subject: &Subject<'_>, path: &str) -> Actions {
    let of_run = |run| diagnose::actions(run, &subject.recipe, path);
    subject.run_id.map(of_run).unwrap_or_default()
}

/// The diagnosis of a stopped run.
fn interruption(subject: &Subject<'_>) -> Option<Found> {
    if !matches!(subject.status, RunStatus::Interrupted | RunStatus::Cancelled) {
        return None;
    }
    let said = subject.state.finished.as_ref().and_then(|finished| finished.error.as_deref());
    let diagnosis = diagnose::interruption(said);
    let actions = actions(subject, "");
    let advice = advice(&diagnosis, "", &actions);
    Some(Found { diagnosis, fingerprint: None, advice, resume: actions.resume })
}

fn outcome(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Completed => "ok",
        RunStatus::Failed => "failed",
        RunStatus::Waiting => "needs_human",
        RunStatus::Cancelled => "cancelled",
        RunStatus::Interrupted => "interrupted",
        RunStatus::Running => "running",
    }
}
