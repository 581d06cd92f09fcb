//! Handing over to a person: why, what was tried, and the commands that make sense now.
//!
//! Never offers a command that cannot work for this run.

use engine::{
    RunStatus,
    diagnosis::Bucket,
    resume_plan::{Producers, Resumer},
};

use super::{Attempt, Escalation, Loop, Report};
use crate::{command_line::quote, folder::RunFolder, report::RunResult, runs::Resume};

impl Loop<'_> {
    /// Ends the loop and asks for a person.
    pub(super) fn escalate(
        &self,
        folder: &RunFolder,
        report: &mut Report,
        result: &mut RunResult,
        reason: String,
    ) {
        report.outcome = "needs_human".to_owned();
        report.escalation = Some(Escalation {
            reason,
            attempted: report.attempts.iter().map(describe).collect(),
            diagnosis: result.diagnosis.clone(),
            options: self.options(folder, report, result),
            evidence: result.run_dir.iter().cloned().collect(),
        });
        result.outcome = "needs_human";
        result.status = RunStatus::Waiting;
        result.exit_code = Some(6);
    }

    /// The commands that make sense, the harmless ones first.
    fn options(&self, folder: &RunFolder, report: &Report, result: &RunResult) -> Vec<String> {
        let run = folder.id();
        let mut words = vec![format!("show {run}")];
        words.extend(result.failure.as_ref().map(|failure| format!("logs {run} {}", quote(&failure.step))));
        words.push(format!("resume {run} --plan"));
        let person = Resumer::Person { producers: Producers::Linked };
        let resume = Resume { resumer: person, ..self.resume(None) };
        let plan = self.runs.resume_plan(folder.clone(), &resume);
        match &plan {
            Ok(plan) if !plan.blocked_effects.is_empty() => {
                words.push(format!("resume {run} --rerun-effects"))
            }
            _ => words.push(format!("resume {run}")),
        }
        if plan.is_ok_and(|plan| !plan.kept_producers.is_empty()) {
            words.push(format!("resume {run} --rerun-producers"));
        }
        let is_recipe = result.diagnosis.as_ref().is_some_and(|found| found.bucket == Bucket::Recipe);
        let is_repaired = report.attempts.iter().any(|attempt| attempt.repair.is_some());
        if (is_recipe || is_repaired) && self.recipe_file.is_file() {
            let file = quote(&self.recipe_file.to_string_lossy());
            words.push(format!("resume {run} --recipe {file}"));
        }
        words.iter().map(|words| self.runs.reach().command(words)).collect()
    }
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
        Some(plan) if !plan.rerun.is_empty() => format!("; done again: {}", plan.rerun.join(", ")),
        _ => String::new(),
    };
    format!("attempt {}: step `{step}` failed ({class}){repair}{again}", attempt.attempt)
}
