//! The result of a run as data, as the run prints it and `show` restores it.
//!
//! Secrets are masked here, because the result leaves the private folder.

use std::collections::HashMap;

use engine::{
    EndReason, RunState, RunStatus, StepStatus,
    failure::{Actions, Diagnosis, advice},
    knowledge::Knowledge,
    run::{
        event::{Ended, Usage},
        frame::{Frame, StepState},
        next::{Advice, Next},
        origin::Origin,
        outcome::OutcomeKind,
    },
};
use jiff::Timestamp;
use recipe::{
    plan::{Plan, Step, StepKind},
    value::{Map, Value},
};
use serde::Serialize;

use super::Failure;
use crate::{
    report::diagnose::{FailedRun, Found},
    run::Preview,
    store::secrets::Mask,
};

/// Version of the result format.
pub const SCHEMA_VERSION: u32 = 1;

/// The error of a step that was interrupted.
fn interrupted_words(step: &Step) -> String {
    let then = match step.idempotent {
        true => "a resume runs it again",
        false => "it is not idempotent, so a resume asks you what to do",
    };
    format!("interrupted; {then}")
}

/// The result of a run.
#[derive(Clone, Debug, Serialize)]
pub struct RunResult {
    /// Version of this format.
    pub schema_version: u32,
    /// Name of the recipe.
    pub recipe_name: String,
    /// The run; absent in a dry run, and if nothing was started.
    pub run_id: Option<String>,
    /// The id that all attempts at one piece of work share.
    pub tracking_id: Option<String>,
    /// Whether the recipe succeeded.
    pub success: bool,
    /// Status of the run.
    pub status: RunStatus,
    /// `ok`, `failed`, `blocked`, `needs_human`, `refused`, `cancelled`, `interrupted` or `budget`.
    pub outcome: &'static str,
    /// Why it ended; absent while it runs, and if it was killed.
    pub reason: Option<EndReason>,
    /// Whether this was a dry run.
    pub dry_run: bool,
    /// When it began.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// Seconds so far.
    pub duration: f64,
    /// The steps of the recipe.
    pub step_results: Vec<StepResult>,
    /// Result text of the recipe; empty if there is no result text.
    pub output: String,
    /// The context at the end.
    pub context: Map,
    /// The failure.
    pub failure: Option<Failure>,
    /// The diagnosis of the failure.
    pub diagnosis: Option<Diagnosis>,
    /// Equal for equal failures; does not depend on the time.
    pub fingerprint: Option<String>,
    /// What a person can do next.
    pub advice: Vec<Advice>,
    /// The part of the advice that a person has to choose from before the run can continue.
    #[serde(skip)]
    pub choices: Vec<Advice>,
    /// The evidence, from the journal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<crate::report::evidence::Evidence>,
    /// The auto-fix report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_fix: Option<crate::report::auto_fix::Report>,
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
    /// The run folder.
    pub run_dir: Option<String>,
    /// Mask for callers that print more of the run.
    #[serde(skip)]
    pub mask: Mask,
}

/// The result of a step.
#[derive(Clone, Debug, Default, Serialize)]
pub struct StepResult {
    /// Its id.
    pub step_id: String,
    /// Its path through sub-recipes.
    pub path: String,
    /// `bash`, `agent` or `recipe`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Its command, as written in the recipe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Its status.
    pub status: StepStatus,
    /// The text of its value; empty if it has no value.
    pub output: String,
    /// The error; empty if there is no error.
    pub error: String,
    /// Seconds that it took.
    pub duration: f64,
    /// How often it was started.
    pub attempts: u32,
    /// When it was first started.
    pub started_at: Option<Timestamp>,
    /// When it was finished.
    pub finished_at: Option<Timestamp>,
    /// How it ended.
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
    /// Its standard output.
    pub stdout: Option<engine::run::event::OutputRef>,
    /// Its standard error.
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
    /// Steps of its sub-recipe.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepResult>,
}

/// The inputs of a result.
pub struct Subject<'a> {
    /// The run, if it has a folder.
    pub run_id: Option<&'a str>,
    /// Its tracking id.
    pub tracking_id: Option<&'a str>,
    /// Its state.
    pub state: &'a RunState,
    /// Its secrets.
    pub mask: &'a Mask,
    /// Its status.
    pub status: RunStatus,
    /// The time, for runs that have not ended.
    pub now: Timestamp,
    /// The previews of a dry run.
    pub previews: &'a HashMap<String, Preview>,
    /// Its folder.
    pub run_dir: Option<String>,
    /// The result text.
    pub output: Option<Value>,
    /// Its plan.
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
    let found = failure.as_ref().and_then(|_| {
        let actions = |path: &str| match subject.run_id {
            Some(run) => crate::report::diagnose::actions(run, &subject.recipe, path),
            None => Actions::default(),
        };
        let failed = FailedRun {
            plan: subject.plan,
            state,
            run_dir: subject.run_dir.as_deref().map(std::path::Path::new),
            mask,
            knowledge: subject.knowledge,
        };
        crate::report::diagnose::failure(&failed, actions)
    });
    let found = found.or_else(|| interruption(subject));
    let resumable = matches!(
        status,
        RunStatus::Failed | RunStatus::Interrupted | RunStatus::Waiting | RunStatus::Cancelled
    );
    let resume = subject.run_id.filter(|_| resumable);
    let resume = resume.map(|run| crate::report::diagnose::next_resume(run, found.as_ref()));
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
        duration: seconds(state.started_at, state.finished_at.or(Some(subject.now))),
        step_results: steps(subject, root),
        output: subject
            .output
            .as_ref()
            .map(|value| mask.text(&value.render()).into_owned())
            .unwrap_or_default(),
        context: root.context.iter().map(|(name, value)| (name.clone(), mask.value(name, value))).collect(),
        failure,
        fingerprint: found.as_ref().and_then(|found| found.fingerprint.clone()),
        advice: found.as_ref().map(|found| found.advice.clone()).unwrap_or_default(),
        choices: Vec::new(),
        diagnosis: found.map(|found| found.diagnosis),
        evidence: None,
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

/// The diagnosis of a stopped run.
fn interruption(subject: &Subject<'_>) -> Option<Found> {
    if !matches!(subject.status, RunStatus::Interrupted | RunStatus::Cancelled) {
        return None;
    }
    let said = subject.state.finished.as_ref().and_then(|finished| finished.error.as_deref());
    let diagnosis = crate::report::diagnose::interruption(said);
    let actions = match subject.run_id {
        Some(run) => crate::report::diagnose::actions(run, &subject.recipe, ""),
        None => Actions::default(),
    };
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

fn steps(subject: &Subject<'_>, frame: &Frame) -> Vec<StepResult> {
    (0..frame.steps.len()).map(|at| step(subject, frame, at)).collect()
}

fn step(subject: &Subject<'_>, frame: &Frame, at: usize) -> StepResult {
    let (state, definition) = (&frame.steps[at], &frame.unit.steps[at]);
    let path = frame.step_path(at);
    let (mask, preview) = (subject.mask, subject.previews.get(&path));
    let ended = state.ended.as_deref();
    let interrupted = state.status == StepStatus::Running && subject.status != RunStatus::Running;
    // steps that were stopped with the run ended with it
    let over = subject.state.finished_at.unwrap_or(subject.now);
    StepResult {
        step_id: definition.id.clone(),
        kind: definition.kind.word(),
        command: match &definition.kind {
            StepKind::Shell { command } => Some(mask.text(command.text()).into_owned()),
            _ => None,
        },
        status: if interrupted { StepStatus::Pending } else { state.status },
        interrupted,
        output: output(state, definition.store.as_deref(), mask),
        error: match interrupted {
            true => interrupted_words(definition),
            false => {
                let error = ended.and_then(|ended| ended.error.as_deref());
                mask.quotation(error.unwrap_or_default()).into_owned()
            }
        },
        duration: match state.status {
            StepStatus::Pending => 0.0,
            _ => seconds(state.started_at, state.finished_at.or(Some(over))),
        },
        attempts: state.attempt,
        started_at: state.started_at,
        finished_at: state.finished_at,
        outcome: match (interrupted, &subject.state.finished) {
            (true, Some(_)) => Some(OutcomeKind::Cancelled),
            (true, None) => Some(OutcomeKind::Lost),
            (false, _) => ended.map(|ended| ended.outcome.kind()),
        },
        exit_code: ended.filter(|_| !interrupted).and_then(Ended::exit_code),
        signal: ended.filter(|_| !interrupted).and_then(Ended::signal),
        skip_reason: state.skipped.as_ref().map(|reason| Preview::reason(preview, reason)),
        preview: preview.cloned(),
        recovered: state.recovered,
        stored_as: definition.store.clone(),
        cut_bytes: ended.and_then(|ended| ended.cut_bytes),
        stdout: ended.and_then(|ended| ended.stdout.clone()),
        stderr: ended.and_then(|ended| ended.stderr.clone()),
        usage: ended.and_then(|ended| ended.usage.clone()),
        definition_digest: definition.digest.clone(),
        input_digest: state.inputs.as_deref().map(str::to_owned),
        output_digest: output_digest(state, definition.store.as_deref(), mask),
        produced: ended.map(|ended| mask.files(&ended.produced)).unwrap_or_default(),
        steps: state.frame.map(|frame| steps(subject, &subject.state.frames[frame])).unwrap_or_default(),
        path,
    }
}

fn output(state: &StepState, name: Option<&str>, mask: &Mask) -> String {
    let masked = |value| mask.value(name.unwrap_or_default(), value).render().into_owned();
    state.value.as_ref().map(masked).unwrap_or_default()
}

/// The digest of a value. A secret has no digest: short secrets could be guessed from it.
fn output_digest(state: &StepState, name: Option<&str>, mask: &Mask) -> Option<String> {
    let value = state.value.as_ref().filter(|_| !name.is_some_and(|name| mask.is_secret(name)))?;
    Some(recipe::digest::sha256(value.render().as_bytes()))
}

fn seconds(from: Option<Timestamp>, to: Option<Timestamp>) -> f64 {
    match (from, to) {
        (Some(from), Some(to)) => (to.as_millisecond() - from.as_millisecond()).max(0) as f64 / 1000.0,
        _ => 0.0,
    }
}
