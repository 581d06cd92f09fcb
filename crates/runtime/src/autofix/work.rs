//! The run that the loop works on: its attempts so far, and how it is handed over when the loop stops.
//!
//! Never makes an attempt.

use std::path::PathBuf;

use engine::RunStatus;

use super::{
    budget::Budget,
    desk::Ear,
    repair::Repair,
    report::{Attempt, Escalation, Report},
};
use crate::{
    commands::quote,
    drive::{Halt, Reporter},
    folder::{FolderError, RunFolder},
    report::RunResult,
    runs::{Ending, Hold, Runs},
};

/// How a round of the loop ends.
pub(super) enum Round {
    /// There was another attempt.
    Again(Box<RunResult>),
    /// There cannot be one.
    Over(String),
    /// Somebody asked to stop.
    Told(Halt),
}

/// The run that the loop works on.
pub(super) struct Work<'a> {
    pub(super) folder: RunFolder,
    pub(super) budget: Budget,
    pub(super) recipe_file: PathBuf,
    pub(super) report: Report,
    pub(super) result: RunResult,
    pub(super) hold: Option<Hold>,
    pub(super) ear: Option<Ear>,
    pub(super) reporter: &'a mut dyn Reporter,
}

/// What came of getting ready for the next attempt.
pub(super) enum Prepared {
    /// It can be made, with a repaired recipe if there is one.
    Go(Option<Repair>),
    /// There cannot be one.
    Over(String),
    /// Somebody asked to stop.
    Told(Halt),
}

impl Work<'_> {
    /// Puts the attempt that has just ended on the list.
    pub(super) fn note_attempt(&mut self) {
        let result = &self.result;
        self.report.attempts.push(Attempt {
            attempt: self.report.attempts.len() as u32 + 1,
            run_id: self.folder.id(),
            outcome: result.outcome.to_owned(),
            failed_step: result.failure.as_ref().map(|failure| failure.step.clone()),
            classification: result.diagnosis.clone(),
            fingerprint: result.fingerprint.clone(),
            plan: None,
            repair: None,
        });
    }

    /// Stops because somebody asked for it.
    pub(super) fn stop(&mut self, halt: Halt) -> Ending {
        let (status, exit_code) = halt.ending();
        let word = if status == RunStatus::Cancelled { "cancelled" } else { "interrupted" };
        self.report.outcome = word.to_owned();
        Ending { status, exit_code, error: Some(halt.error().to_owned()) }
    }

    /// Hands over to a person.
    pub(super) fn escalate(&mut self, runs: &Runs, reason: String) -> Ending {
        let result = &self.result;
        let run = result.run_id.as_deref().unwrap_or_default();
        let last = self.report.attempts.last();
        let planned = last.and_then(|last| last.plan.as_ref());
        let has_effects = planned.is_some_and(|plan| !plan.blocked_effects.is_empty());
        let effects = if has_effects { " --rerun-effects" } else { "" };
        // a repair that was taken and not come to is in the file, and not yet in the run
        let edited = match last.and_then(|last| last.repair.as_ref()) {
            Some(repair) if repair.accepted && has_effects => {
                format!(" --recipe {}", quote(&self.recipe_file.to_string_lossy()))
            }
            _ => String::new(),
        };
        let options = [
            format!("show {run}"),
            format!("resume {run}{edited} --plan"),
            format!("resume {run}{edited}{effects}"),
            format!("resume {run}{edited} --rerun-producers{effects}"),
        ];
        self.report.outcome = "needs_human".to_owned();
        self.report.escalation = Some(Escalation {
            attempted: self.report.attempts.iter().map(describe).collect(),
            diagnosis: result.diagnosis.clone(),
            options: options.map(|text| runs.placed(&format!("recipe-runner-rs {text}"))).to_vec(),
            evidence: result.run_dir.iter().cloned().collect(),
            reason: reason.clone(),
        });
        Ending { status: RunStatus::Waiting, exit_code: 6, error: Some(reason) }
    }
}

/// Whether an earlier attempt failed in the same way.
pub(super) fn is_same_failure(attempt: &Attempt, result: &RunResult) -> bool {
    attempt.failed_step == result.failure.as_ref().map(|failure| failure.step.clone())
        && attempt.fingerprint == result.fingerprint
}

/// An attempt in one line.
pub(super) fn describe(attempt: &Attempt) -> String {
    let step = attempt.failed_step.as_deref().unwrap_or("?");
    let class = attempt.classification.as_ref().map_or("unknown", |diagnosis| diagnosis.class.as_str());
    let repair = match &attempt.repair {
        Some(repair) if repair.accepted => format!("; repaired: {}", repair.summary),
        Some(repair) => format!("; repair refused: {}", repair.summary),
        None => String::new(),
    };
    let again = match &attempt.plan {
        // a plan that stopped because of its effects was not carried out
        Some(plan) if !plan.blocked_effects.is_empty() => {
            format!("; not done again, because of side effects: {}", plan.rerun.join(", "))
        }
        Some(plan) if !plan.rerun.is_empty() => format!("; done again: {}", plan.rerun.join(", ")),
        _ => String::new(),
    };
    format!("attempt {}: step `{step}` failed ({class}){repair}{again}", attempt.attempt)
}

/// What auto-fix did in a run so far.
pub fn load(folder: &RunFolder) -> Option<Report> {
    let text = std::fs::read(folder.path().join("auto-fix.json")).ok()?;
    serde_json::from_slice(&text).ok()
}

pub(super) fn save(folder: &RunFolder, report: &Report) -> Result<(), FolderError> {
    crate::folder::write_new(&folder.path().join("auto-fix.json"), &crate::folder::to_json(report))
}
