//! What auto-fix did, as results and `auto-fix.json` show it.

use engine::failure::Diagnosis;
use serde::{Deserialize, Serialize};

use super::RunResult;
use crate::store::folder::{FolderError, RunFolder};

/// What auto-fix did: part of the result.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Report {
    /// Whether it was asked for.
    pub enabled: bool,
    /// Why it did nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Ties all attempts together.
    pub tracking_id: String,
    /// Runs at most.
    pub max_attempts: u32,
    /// What was tried.
    pub attempts: Vec<Attempt>,
    /// How it ended: `ok`, `blocked`, `budget`, `needs_human`, `cancelled` or `interrupted`.
    pub outcome: String,
    /// What a person needs to go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escalation: Option<Escalation>,
    /// How often the run had been resumed when it ended.
    #[serde(default)]
    pub resumes: u32,
}

impl Report {
    /// The report of a loop that begins or goes on.
    pub(crate) fn begun(folder: &RunFolder, max_attempts: u32, tracking_id: String) -> Report {
        let mut report = load(folder).unwrap_or_else(|| Report { tracking_id, ..Report::default() });
        // an attempt that was interrupted is the one that goes on now
        report.attempts.retain(|attempt| attempt.outcome != "interrupted");
        // attempts of a loop that came to its end are not of this budget
        let is_over = !matches!(report.outcome.as_str(), "" | "interrupted");
        let earlier = if is_over { report.attempts.len() as u32 } else { 0 };
        (report.enabled, report.max_attempts) = (true, earlier + max_attempts);
        (report.outcome, report.reason, report.escalation) = (String::new(), None, None);
        report
    }

    /// Whether it tells of what a run came to last: not of a loop that was over before the run was resumed without one.
    pub(crate) fn is_of(&self, result: &RunResult) -> bool {
        self.outcome.is_empty() || self.resumes == result.resumes
    }

    /// The attempts that failed, each in one line.
    pub fn failed_attempts(&self) -> Vec<String> {
        self.attempts.iter().filter(|attempt| attempt.failed_step.is_some()).map(describe).collect()
    }

    /// The repairs that were taken.
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
    /// What the failure is put down to.
    pub classification: Option<Diagnosis>,
    /// The same for the same failure.
    #[serde(default)]
    pub fingerprint: Option<String>,
    /// What the next attempt does again.
    pub plan: Option<PlanSummary>,
    /// The repair before the next attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repair: Option<RepairReport>,
}

/// What the next attempt does again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PlanSummary {
    /// Where it goes on.
    pub anchor: Option<String>,
    /// What is done again.
    pub rerun: Vec<String>,
    /// Side effects for which it was not carried out: they would have been repeated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocked_effects: Vec<String>,
}

/// A repair that was proposed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RepairReport {
    /// Whether it was taken.
    pub accepted: bool,
    /// In one line.
    pub summary: String,
    /// What it would have made worse.
    pub regressions: Vec<Regression>,
    /// Where it is kept.
    pub candidate: Option<String>,
    /// The recipe's file that it was written into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Where that file is kept as it was before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original: Option<String>,
}

/// Something that a repair would make worse.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Regression {
    /// Which kind.
    pub code: String,
    /// The step.
    pub step: Option<String>,
    /// In words.
    pub detail: String,
}

/// What a person needs to go on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Escalation {
    /// Why it stops here.
    pub reason: String,
    /// What was tried.
    pub attempted: Vec<String>,
    /// What the last failure is put down to.
    pub diagnosis: Option<Diagnosis>,
    /// Commands that work.
    pub options: Vec<String>,
    /// Where to look.
    pub evidence: Vec<String>,
}

/// What auto-fix did in a run so far.
pub fn load(folder: &RunFolder) -> Option<Report> {
    let text = std::fs::read(folder.path().join("auto-fix.json")).ok()?;
    serde_json::from_slice(&text).ok()
}

/// Keeps it.
pub(crate) fn save(folder: &RunFolder, report: &Report) -> Result<(), FolderError> {
    let file = folder.path().join("auto-fix.json");
    let json = crate::store::folder::to_json(report).map_err(FolderError::at("write", &file))?;
    crate::store::folder::write_new(&file, &json)
}

/// The result of a run whose user chose to look at it in person.
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
        Some(repair) => format!("; repair refused: {}", repair.summary),
        None => String::new(),
    };
    let again = match &attempt.plan {
        // a plan that stopped because of its effects was not carried out
        Some(plan) if !plan.blocked_effects.is_empty() => {
            format!("; not re-run because of side effects: {}", plan.rerun.join(", "))
        }
        Some(plan) if !plan.rerun.is_empty() => format!("; re-run: {}", plan.rerun.join(", ")),
        _ => String::new(),
    };
    format!("attempt {}: step `{step}` failed ({class}){repair}{again}", attempt.attempt)
}
