//! The auto-fix report, as results and `auto-fix.json` show it.

use engine::{
    RunStatus,
    failure::Diagnosis,
    repair_review::{Change, DecidedBy, ReviewVerdict},
    run::{
        event::Answered,
        next::{Advice, Next, ResumeChoice},
        question::is_repair,
    },
};
use serde::{Deserialize, Serialize};

use super::{RunResult, asks::Ask};
use crate::store::{
    folder::{FolderError, RunFolder},
    line_diff::line_diff,
};

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
    pub attempts: Vec<Attempt>,
    /// How it ended: `ok`, `blocked`, `budget`, `needs_human`, `cancelled` or `interrupted`.
    pub outcome: String,
    /// What a person needs to continue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escalation: Option<Escalation>,
    /// How often the run had been resumed when it ended.
    #[serde(default)]
    pub resumes: u32,
    /// Whether it only waits for the answer of a person, and continues with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,
}

impl Report {
    /// The report of a loop that starts or continues.
    pub(crate) fn begun(folder: &RunFolder, max_attempts: u32, tracking_id: String) -> Report {
        let mut report = load(folder).unwrap_or_else(|| Report { tracking_id, ..Report::default() });
        // an interrupted attempt is continued now
        let is_paused = |attempt: &Attempt| report.paused && attempt.failed_step.is_none();
        let is_same = |attempt: &Attempt| attempt.outcome == "interrupted" || is_paused(attempt);
        let attempts = report.attempts.iter().filter(|attempt| !is_same(attempt)).cloned().collect();
        // attempts of an earlier, finished loop do not count in this budget
        let earlier = if report.is_over() { report.attempts.len() as u32 } else { 0 };
        (report.enabled, report.max_attempts) = (true, earlier + max_attempts);
        (report.outcome, report.reason, report.escalation) = (String::new(), None, None);
        (report.attempts, report.paused) = (attempts, false);
        report
    }

    /// Whether the loop has ended, and does not only wait for an answer.
    pub(crate) fn is_over(&self) -> bool {
        !self.paused && !matches!(self.outcome.as_str(), "" | "interrupted")
    }

    /// The report as a part of this result. A loop that ended before the run was resumed without one has no part in it,
    /// unless the run was resumed with its repair.
    pub(crate) fn in_result(self, result: &RunResult) -> Option<Report> {
        if self.repairs().any(RepairReport::is_accepted_by_person) && self.resumes != result.resumes {
            let (outcome, resumes) = (result.outcome.to_owned(), result.resumes);
            return Some(Report { outcome, resumes, escalation: None, ..self });
        }
        (self.outcome.is_empty() || self.resumes == result.resumes).then_some(self)
    }

    /// The repair that waits for a person.
    pub fn waiting_repair(&self) -> Option<&RepairReport> {
        self.last_repair().filter(|repair| repair.waiting)
    }

    pub(crate) fn last_repair(&self) -> Option<&RepairReport> {
        self.attempts.last().and_then(|attempt| attempt.repair.as_ref())
    }

    /// The attempts that failed, each in one line for people.
    pub fn failed_attempts(&self) -> Vec<String> {
        let failed = self.attempts.iter().filter(|attempt| attempt.failed_step.is_some());
        failed.map(describe).collect()
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
    pub run_id: String,
    pub outcome: String,
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
    /// A second opinion that cannot be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unusable_review: Option<UnusableReview>,
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
    /// The person who decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// What that person added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

impl RepairReport {
    /// Notes the decision of a person about the open changes.
    pub(crate) fn decide(&mut self, verdict: ReviewVerdict, answered: &Answered) {
        (self.accepted, self.waiting) = (verdict == ReviewVerdict::Accepted, false);
        (self.by, self.comment) = (Some(answered.by.clone()), answered.comment.clone());
        for change in self.changes.iter_mut().filter(|change| change.verdict == ReviewVerdict::Ask) {
            (change.verdict, change.decided_by) = (verdict, DecidedBy::Person);
        }
    }

    /// Who decided, and what that person added; absent if no person did.
    pub fn decision(&self) -> Option<String> {
        let by = self.by.as_ref()?;
        let comment = self.comment.as_ref().map(|comment| format!(": {comment}")).unwrap_or_default();
        Some(format!("{by}{comment}"))
    }

    pub(crate) fn is_accepted_by_person(&self) -> bool {
        self.accepted && self.changes.iter().any(|change| change.decided_by == DecidedBy::Person)
    }

    /// The difference between the recipe and the proposal, if both files can be read.
    pub fn difference(&self) -> Option<String> {
        let read = |file: &Option<String>| std::fs::read(file.as_ref()?).ok();
        let (before, after) = (read(&self.original)?, read(&self.candidate)?);
        Some(line_diff(&String::from_utf8_lossy(&before), &String::from_utf8_lossy(&after)))
    }
}

/// The answer of a reviewer that decides nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnusableReview {
    /// The agent program.
    pub agent: String,
    /// Why the answer cannot be used.
    pub why: String,
}

/// Something that a repair would make worse.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Regression {
    /// The kind.
    pub code: String,
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

/// Adds the report of a run to its result. A repair that waits for a person is decided before anything else.
pub(crate) fn attach(result: &mut RunResult, report: Report) {
    let waits = result.status == RunStatus::Waiting && report.waiting_repair().is_some();
    if let Some(run) = result.run_id.clone().filter(|_| waits) {
        let how = ResumeChoice { accept_repair: true, ..ResumeChoice::default() };
        let accept = Next::Resume { run: run.clone(), how };
        let asks = result.asks.iter().filter(|ask| is_repair(&ask.step)).flat_map(Ask::advice);
        result.advice = vec![
            Advice::with("decide about the proposed repair", Next::Show { run }),
            Advice::with("accept it and resume", accept.clone()),
        ];
        result.advice.extend(asks);
        result.resume = Some(accept);
    }
    result.auto_fix = Some(report);
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
        paused: false,
    });
    result
}

/// An attempt in one line.
pub(crate) fn describe(attempt: &Attempt) -> String {
    let step = attempt.failed_step.as_deref().unwrap_or("?");
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
    format!("attempt {}: step `{step}` failed{repair}{again}", attempt.attempt)
}
