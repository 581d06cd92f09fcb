//! What happened to a step over the processes of a run: the last decision about it, and what came before.

use serde::Serialize;

use crate::run::{
    event::{Ended, Event, Record, RunResumed},
    outcome::{SkipReason, StepStatus},
    step_path::is_below,
};

/// What happened to a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StepFate {
    /// It ran.
    Ran,
    /// It was skipped.
    Skipped,
    /// A resume kept its result.
    Kept,
    /// A resume ran it again.
    Rerun,
    /// The run has not come to it.
    NotReached,
}

impl StepFate {
    /// In a sentence after the name of the step.
    pub fn words(self) -> &'static str {
        match self {
            StepFate::Ran => "ran",
            StepFate::Skipped => "was skipped",
            StepFate::Kept => "was kept",
            StepFate::Rerun => "was re-run",
            StepFate::NotReached => "did not run",
        }
    }
}

/// What a journal tells about a step.
#[derive(Clone, Debug)]
pub struct StepHistory {
    /// What happened to it.
    pub fate: StepFate,
    /// The number of the record with the last decision about it.
    pub decided: Option<u64>,
    /// The number of the record with the decision before a resume.
    pub before: Option<u64>,
    /// Why it was skipped.
    pub skipped: Option<SkipReason>,
    /// The last resume of the run, if there was one.
    pub resumed: Option<RunResumed>,
    /// The step whose failure ended the run, or the recipe around the step.
    pub ended_at: Option<String>,
    /// Whether it ran after a failure.
    pub is_cleanup: bool,
    /// The ends of its attempts: the number, how it ended, and the delay before the next one.
    pub(super) ends: Vec<AttemptEnd>,
}

/// The end of an attempt.
#[derive(Clone, Debug)]
pub(super) struct AttemptEnd {
    pub(super) attempt: u32,
    pub(super) ended: Ended,
    pub(super) status: Option<StepStatus>,
    pub(super) retry_in_ms: Option<u64>,
}

/// One process of a run, as far as it is about a step.
#[derive(Default)]
struct Process {
    started: Option<u64>,
    skipped: Option<(u64, SkipReason)>,
    has_finished: bool,
    is_cleanup: bool,
}

/// What a journal tells about a step.
pub fn history(records: &[Record], path: &str) -> StepHistory {
    let mut processes = vec![Process::default()];
    let (mut resumed, mut ends, mut ended_at) = (None, Vec::new(), None);
    let around = path.rsplit_once('/').map_or("", |(around, _)| around);
    let mut is_cleaning = false;
    for record in records {
        match &record.event {
            Event::RunResumed(event) => {
                processes.push(Process::default());
                (resumed, ended_at, is_cleaning) = (Some(event.clone()), None, false);
            }
            Event::CleanupBegan { path, .. } if path == around => is_cleaning = true,
            Event::StepFinished { path: other, status: StepStatus::Failed, .. } if other != path => {
                // the innermost failure of the recipe around the step
                let is_beside = around.is_empty() || is_below(other, around);
                if is_beside && ended_at.is_none() && !is_below(other, path) {
                    ended_at = Some(other.clone());
                }
            }
            _ => {}
        }
        let Some(process) = processes.last_mut() else { continue };
        match &record.event {
            Event::StepStarted { path: step, .. } | Event::CheckRepeated { path: step, .. }
                if step == path =>
            {
                process.started.get_or_insert(record.seq);
                process.is_cleanup = is_cleaning;
            }
            Event::StepSkipped { path: step, reason } if step == path => {
                process.skipped = Some((record.seq, reason.clone()));
            }
            Event::AttemptFailed { path: step, attempt, ended, retry_in_ms } if step == path => {
                ends.push(AttemptEnd {
                    attempt: *attempt,
                    ended: ended.clone(),
                    status: None,
                    retry_in_ms: Some(*retry_in_ms),
                });
            }
            Event::StepFinished { path: step, attempt, status, ended, .. } if step == path => {
                process.has_finished = true;
                process.started.get_or_insert(record.seq);
                ends.push(AttemptEnd {
                    attempt: *attempt,
                    ended: ended.clone(),
                    status: Some(*status),
                    retry_in_ms: None,
                });
            }
            _ => {}
        }
    }
    let judged = judge(&processes);
    StepHistory { resumed, ended_at, ends, ..judged }
}

/// The last decision about a step.
fn judge(processes: &[Process]) -> StepHistory {
    let has_said = |process: &&Process| process.started.is_some() || process.skipped.is_some();
    let at = processes.iter().rposition(|process| has_said(&process));
    let last = at.map(|at| &processes[at]);
    let earlier = || processes[..at.unwrap_or(0)].iter().rev().find(|process| process.started.is_some());
    let is_last = at == Some(processes.len() - 1);
    let decided = last.and_then(|last| last.skipped.as_ref().map(|(seq, _)| *seq).or(last.started));
    let skipped = last.and_then(|last| last.skipped.clone()).map(|(_, reason)| reason);
    let fate = match last {
        None => StepFate::NotReached,
        Some(last) if !is_last && (last.has_finished || last.skipped.is_some()) => StepFate::Kept,
        Some(last) if last.skipped.is_some() => StepFate::Skipped,
        Some(_) if is_last && earlier().is_some() => StepFate::Rerun,
        Some(_) => StepFate::Ran,
    };
    StepHistory {
        fate,
        decided,
        before: earlier().and_then(|process| process.started).filter(|_| fate == StepFate::Rerun),
        skipped,
        resumed: None,
        ended_at: None,
        is_cleanup: last.is_some_and(|last| last.is_cleanup),
        ends: Vec::new(),
    }
}

impl StepHistory {
    /// Why the last resume ran the step again: its own reason, or that of a step around it.
    pub(super) fn resume_reason(&self, path: &str) -> Option<String> {
        let reasons = self.resumed.as_ref()?.reasons.as_ref()?;
        if let Some(reason) = reasons.get(path) {
            return Some(reason.clone());
        }
        let outer = reasons.iter().filter(|(other, _)| is_below(path, other));
        let (step, reason) = outer.max_by_key(|(other, _)| other.len())?;
        Some(format!("`{step}` around it was re-run: {reason}"))
    }

    /// The files that the step produced with other contents than before; `None` if that was not recorded.
    pub(super) fn changed_products(&self) -> Option<Vec<String>> {
        let mut with_files = self.ends.iter().rev().filter(|end| end.status.is_some_and(StepStatus::is_done));
        let (last, before) = (with_files.next()?, with_files.next()?);
        let changed = last.ended.produced.iter().filter(|file| {
            let same = before.ended.produced.iter().find(|other| other.file == file.file);
            same.is_none_or(|same| same.sha256.is_none() || same.sha256 != file.sha256)
        });
        Some(changed.map(|file| file.file.clone()).collect())
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::run::outcome::Outcome;

    #[test]
    fn a_journal_without_reasons_gives_none() {
        let started = |attempt| Event::StepStarted { path: "a".to_owned(), attempt, inputs: None };
        let failed = Event::StepFinished {
            path: "a".to_owned(),
            attempt: 1,
            status: StepStatus::Failed,
            ended: Ended::new(Outcome::Exit(1), None),
            recovered: false,
        };
        let events = [started(1), failed, Event::RunResumed(RunResumed::default()), started(2)];
        let record = |(at, event)| Record { seq: at as u64 + 1, at: Timestamp::UNIX_EPOCH, event };
        let records: Vec<Record> = events.into_iter().enumerate().map(record).collect();
        let found = history(&records, "a");
        assert_eq!((found.fate, found.decided, found.before), (StepFate::Rerun, Some(4), Some(1)));
        assert_eq!(found.resume_reason("a"), None);
        assert_eq!(history(&records, "b").fate, StepFate::NotReached);
    }
}
