//! The run of the loop: its attempts so far, and its state when the loop stops.
//!
//! Never makes an attempt.

use std::path::PathBuf;

use engine::EndReason;

use super::{
    Attempt, Policy, Report, between_attempts::StopListener, budget::Budget, load, proposal::Repair,
};
use crate::{
    report::RunResult,
    run::{Halt, Reporter},
    runs::{Conclusion, OwnedRun},
    store::folder::{Options, RunFolder},
};

/// How a round of the loop ends.
pub(super) enum Round {
    /// There was another attempt.
    Again(Box<RunResult>),
    /// There cannot be another attempt, for this reason.
    Over(String),
    /// The run stays failed, for this reason.
    Declined(String),
    /// A stop was requested.
    Told(Halt),
}

/// The run that the loop works on.
pub(super) struct Work<'a> {
    pub(super) folder: RunFolder,
    pub(super) budget: Budget,
    pub(super) report: Report,
    pub(super) result: RunResult,
    pub(super) hold: Option<OwnedRun>,
    pub(super) ear: Option<StopListener>,
    pub(super) reporter: &'a mut dyn Reporter,
}

/// The result of the preparation of the next attempt.
pub(super) enum PreparedRepair {
    /// It can be made, with a repaired recipe if there is one.
    StopSignal(Option<Box<Repair>>),
    /// It cannot be made, for this reason.
    Over(String),
    /// A repair would need a person, and the user wants no questions.
    Declined(String),
    /// A stop was requested.
    Told(Halt),
}

impl Work<'_> {
    /// Adds the attempt that has just ended to the list.
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

    /// Stops on request.
    pub(super) fn stop(&mut self, halt: Halt) -> Conclusion {
        let reason = halt.reason();
        let word = if reason == EndReason::Cancelled { "cancelled" } else { "interrupted" };
        self.report.outcome = word.to_owned();
        Conclusion { reason, error: Some(halt.error().to_owned()) }
    }
}

/// An auto-fix loop that has not ended.
#[derive(Clone, Debug)]
pub struct UnfinishedLoop {
    /// Its settings.
    pub policy: Policy,
    /// The path of its budget.
    pub budget: PathBuf,
    /// Whether it only waits for an answer; otherwise it was stopped.
    pub is_paused: bool,
}

/// The auto-fix loop of a run that has not ended.
pub fn unfinished(folder: &RunFolder, options: &Options) -> Option<UnfinishedLoop> {
    let budget = options.auto_fix_budget.clone().filter(|path| path.exists())?;
    let report = load(folder);
    let is_over = report.as_ref().is_some_and(Report::is_over);
    let max_attempts = options.auto_fix.filter(|_| !is_over)?;
    let (repair_agent, review) = (options.repair_agent.clone(), options.review.clone());
    let policy = Policy { max_attempts, repair_agent, review };
    Some(UnfinishedLoop { policy, budget, is_paused: report.is_some_and(|report| report.paused) })
}
