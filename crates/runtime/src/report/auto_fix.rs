//! The auto-fix report, as results and `auto-fix.json` show it.

use engine::{failure::Diagnosis, repair_review::Change, run::next::Next};
use serde::{Deserialize, Serialize};

use super::RunResult;
use crate::store::folder::{FolderError, RunFolder};

/// The auto-fix report: part of the result.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Report {
    /// Whether auto-fix was requested.
    pub enabled: bool,
    /// Why it did nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The id that all attempts share.
    pub tracking_id: String,
    /// The maximum number of runs.
    pub max_attempts: u32,
    /// The attempts.
    pub attempts: Vec<Attempt>,
    /// How it ended: `ok`, `blocked`, `budget`, `needs_human`, `cancelled` or `interrupted`.
    pub outcome: String,
    /// What a person needs to continue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escalation: Option<Escalation>,
    /// How often the run had been resumed when it ended.
    #[serde(default)]
    pub resumes: u32,
}

impl Report {
    /// The report of a loop that starts or continues.
    pub(crate) fn begun(folder: &RunFolder, max_attempts: u32, tracking_id: String) -> Report {
        let mut report = load(folder).unwrap_or_else(|| Report { tracking_id, ..Report::default() });
        // an interrupted attempt is continued now
        report.attempts.retain(|attempt| attempt.outcome != "interrupted");
        // attempts of an earlier, finished loop do not count in this budget
        let is_over = !matches!(report.outcome.as_str(), "" | "interrupted");
        let earlier = if is_over { report.attempts.len() as u32 } else { 0 };
        (report.enabled, report.max_attempts) = (true, earlier + max_attempts);
        (report.outcome, report.reason, report.escalation) = (String::new(), None, None);
        report
    }

    /// Whether it describes the last state of a run, and not a loop that ended before the run was resumed without one.
    pub(crate) fn is_of(&self, result: &RunResult) -> bool {
        self.outcome.is_empty() || self.resumes == result.resumes
    }

    /// The attempts that failed, each in one line.
    pub fn failed_attempts(&self) -> Vec<String> {
        self.attempts.iter().filter(|attempt| attempt.failed_step.is_some()).map(describe).collect()
    }

    /// The repairs that were accepted.
    pub fn repairs(&self) -> impl Iterator<Item = &RepairReport> {
        self.attempts.iter().filter_map(|attempt| attempt.repair.as_ref()).filter(|repair| repair.accepted)
    }
}

/// One attempt.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Attempt {
    /// Its number, from 1.
    pub attempt: u32,
    /// The run.
    pub run_id: String,
    /// How it ended.
    pub outcome: String,
    /// The step that failed.
    pub failed_step: Option<String>,
    /// The diagnosis of the failure.
    pub classification: Option<Diagnosis>,
    /// Equal for equal failures.
    #[serde(default)]
    pub fingerprint: Option<String>,
    /// The steps that the next attempt runs again.
    pub plan: Option<PlanSummary>,
    /// The repair before the next attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repair: Option<RepairReport>,
}

/// The steps that the next attempt runs again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PlanSummary {
    /// The step that it resumes at.
    pub anchor: Option<String>,
    /// The steps that run again.
    pub rerun: Vec<String>,
    /// Completed side effects that stopped the plan: they would have been repeated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocked_effects: Vec<String>,
}

/// A repair that was proposed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RepairReport {
    /// Whether it was accepted.
    pub accepted: bool,
    /// A summary in one line.
    pub summary: String,
    /// Every change, with its verdict.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// Whether a person has to decide.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waiting: bool,
    /// What it would make worse.
    pub regressions: Vec<Regression>,
    /// The file of the proposal.
    pub candidate: Option<String>,
    /// SHA-256 of a proposal that waits for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidate_digest: Option<String>,
    /// The recipe's file that it was written into, or would be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The copy of that file from before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original: Option<String>,
}

/// Something that a repair would make worse.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Regression {
    /// The kind.
    pub code: String,
    /// The step.
    pub step: Option<String>,
    /// A description.
    pub detail: String,
}

/// What a person needs to continue.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Escalation {
    /// Why the loop stopped.
    pub reason: String,
    /// The attempts so far.
    pub attempted: Vec<String>,
    /// The diagnosis of the last failure.
    pub diagnosis: Option<Diagnosis>,
    /// Actions that work.
    pub options: Vec<Next>,
    /// Where to find the evidence.
    pub evidence: Vec<String>,
}

/// The auto-fix report of a run so far.
pub fn load(folder: &RunFolder) -> Option<Report> {
    let text = std::fs::read(folder.path().join("auto-fix.json")).ok()?;
    serde_json::from_slice(&text).ok()
}

/// Saves the report.
pub(crate) fn save(folder: &RunFolder, report: &Report) -> Result<(), FolderError> {
    let file = folder.path().join("auto-fix.json");
    let json = crate::store::folder::to_json(report).map_err(FolderError::at("write", &file))?;
    crate::store::folder::write_new(&file, &json)
}

/// The result of a run whose user has switched auto-fix off.
pub fn not_wanted(mut result: RunResult) -> RunResult {
    result.auto_fix = Some(Report {
        enabled: false,
        reason: Some("off because of --no-auto-fix".to_owned()),
        tracking_id: result.tracking_id.clone().unwrap_or_default(),
        max_attempts: 1,
        attempts: Vec::new(),
        outcome: result.outcome.to_owned(),
        escalation: None,
        resumes: result.resumes,
    });
    result
}

/// An attempt in one line.
pub(crate) fn describe(attempt: &Attempt) -> String {
    let step = attempt.failed_step.as_deref().unwrap_or("?");
    let class = attempt.classification.as_ref().map_or("unknown", |diagnosis| diagnosis.class.as_str());
    let repair = match &attempt.repair {
        Some(repair) if repair.accepted => format!("; repaired: {}", repair.summary),
        Some(repair) if repair.waiting => format!("; repair waits for you: {}", repair.summary),
        Some(repair) => format!("; repair refused: {}", repair.summary),
        None => String::new(),
    };
    let again = match &attempt.plan {
        // a plan that was stopped because of side effects was not carried out
        Some(plan) if !plan.blocked_effects.is_empty() => {
            format!("; not re-run because of side effects: {}", plan.rerun.join(", "))
        }
        Some(plan) if !plan.rerun.is_empty() => format!("; re-run: {}", plan.rerun.join(", ")),
        _ => String::new(),
    };
    format!("attempt {}: step `{step}` failed ({class}){repair}{again}", attempt.attempt)
}
