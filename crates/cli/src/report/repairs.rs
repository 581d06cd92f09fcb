//! What auto-fix did and proposes, for users: attempts, repairs, the verdict about every change, and who decided.

use engine::{repair_review::ReviewVerdict, run::outcome::OutcomeKind};
use runtime::{
    repair::{Escalation, RepairReport, Report},
    report::RunResult,
};

use crate::report::{hints::Hints, words::count};

/// What auto-fix did to complete a run, and the files that it rewrote.
pub(crate) fn fixed(result: &RunResult) -> Vec<String> {
    let Some(fix) = &result.auto_fix else { return Vec::new() };
    let mut lines = Vec::new();
    if result.success && fix.attempts.len() > 1 {
        lines.push(format!("auto-fix: completed after {}", count(fix.attempts.len(), "attempt")));
        lines.extend(fix.failed_attempts().iter().map(|tried| format!("  {tried}")));
    }
    for repair in fix.repairs() {
        if let (Some(file), Some(original)) = (&repair.file, &repair.original) {
            lines.push(format!("auto-fix rewrote `{file}`: {}", repair.summary));
            lines.push(format!("  as it was before: {original}"));
            lines.extend(repair.changes.iter().map(|change| format!("  accepted: {}", change.describe())));
            lines.extend(repair.decision().map(|decision| format!("  decided by {decision}")));
            lines.extend(unusable_review(repair).map(|line| format!("  {line}")));
        }
    }
    lines
}

/// What auto-fix did about a failure, and what it leaves to a person.
pub(crate) fn auto_fix(result: &RunResult, hints: &Hints) -> String {
    let mut text = String::new();
    let Some(fix) = &result.auto_fix else { return text };
    if let Some(reason) = &fix.reason {
        text.push_str(&format!("  auto-fix: {reason}\n"));
    }
    let Some(escalation) = &fix.escalation else { return text };
    text.push_str(&format!("  {}\n", headline(result, fix, escalation)));
    for tried in fix.failed_attempts() {
        text.push_str(&format!("    {tried}\n"));
    }
    for repair in fix.attempts.iter().filter_map(|attempt| attempt.repair.as_ref()) {
        text.push_str(&verdicts(repair));
        if repair.waiting {
            text.push_str(&proposal(repair, result));
        }
    }
    for option in &escalation.options {
        text.push_str(&format!("    $ {}\n", hints.next(option)));
    }
    text
}

/// Whether auto-fix gave up, or waits for an answer.
fn headline(result: &RunResult, fix: &Report, escalation: &Escalation) -> String {
    let waits = |failure: &runtime::report::Failure| failure.outcome == OutcomeKind::NeedsHuman;
    match fix.waiting_repair() {
        Some(repair) if result.asks.is_empty() => {
            format!("the repair is accepted; the run is not resumed yet: {}", repair.summary)
        }
        Some(repair) => format!("auto-fix waits for your decision about a repair: {}", repair.summary),
        None if result.failure.as_ref().is_some_and(waits) => {
            format!("auto-fix waits for you: {}", escalation.reason)
        }
        None => format!("auto-fix gave up: {}. Over to you", escalation.reason),
    }
}

/// The changes of a repair that are not accepted.
fn verdicts(repair: &RepairReport) -> String {
    let mut text = String::new();
    for change in repair.changes.iter().filter(|change| change.verdict == ReviewVerdict::Ask) {
        text.push_str(&format!("    to decide: {}\n", change.describe()));
    }
    text.extend(unusable_review(repair).map(|line| format!("    {line}\n")));
    for found in &repair.regressions {
        let step = found.step.as_ref().map(|step| format!(" `{step}`")).unwrap_or_default();
        text.push_str(&format!("    refused: {}{step}: {}\n", found.code, found.detail));
    }
    text
}

/// A second opinion that decided nothing.
fn unusable_review(repair: &RepairReport) -> Option<String> {
    let review = repair.unusable_review.as_ref()?;
    let then = if repair.waiting { "; a person decides" } else { "" };
    Some(format!("the answer of the reviewer `{}` cannot be used ({}){then}", review.agent, review.why))
}

/// The file of a proposal, and how it differs from the recipe.
fn proposal(repair: &RepairReport, result: &RunResult) -> String {
    let file = repair.candidate.as_ref().map(|file| format!("    proposal: {file}\n")).unwrap_or_default();
    let lines = repair.difference().unwrap_or_default();
    let lines = result.mask.quotation(&lines);
    file + &lines.lines().map(|line| format!("      {line}\n")).collect::<String>()
}
