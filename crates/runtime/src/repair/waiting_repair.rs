//! A repair that waits for a person. Every step of using or refusing it can be done again: a process may die between two
//! of them, and the next one finishes them.

use std::{path::PathBuf, time::Duration};

use engine::{
    Event,
    repair_review::ReviewVerdict,
    run::{
        event::{Answered, QuestionPut},
        next::{Next, ResumeChoice},
        question::{ACCEPT, REFUSE, RepairDecision, repair_path},
    },
};

use super::{
    AutoFixError,
    between_attempts::{BetweenAttempts, StopListener},
};
use crate::{
    report::{
        auto_fix::{Report, load, save},
        waiting_repair::{AcceptError, usable_repair},
    },
    run::{Halt, INBOX, Notice, Reporter},
    runs::{OpenError, OpenedRun, Runs},
    store::{
        folder::{FolderError, RunFolder, write_new},
        shown_contents::{self, ShownSource},
    },
};

/// Whether a run has a repair that waits for a person.
pub fn has_waiting_repair(folder: &RunFolder) -> bool {
    load(folder).is_some_and(|report| report.waiting_repair().is_some())
}

/// A repair that was just accepted.
#[derive(Debug)]
pub(crate) struct AcceptedRepair {
    file: PathBuf,
    original: Vec<u8>,
}

impl AcceptedRepair {
    /// Takes the repair out of the recipe: the run could not continue with it. The next resume tries again.
    pub(crate) fn take_back(self, folder: &RunFolder) -> Result<(), FolderError> {
        match usable_repair(folder) {
            Ok(texts) if texts.is_written => write_new(&self.file, &self.original),
            _ => Ok(()),
        }
    }
}

/// Writes a repair that a person accepted into its recipe.
pub(crate) fn accept_repair(folder: &RunFolder, answered: &Answered) -> Result<AcceptedRepair, AcceptError> {
    let texts = usable_repair(folder)?;
    if !texts.is_written {
        write_new(&texts.file, &texts.candidate)?;
    }
    note_decision(folder, ReviewVerdict::Accepted, answered)?;
    Ok(AcceptedRepair { file: texts.file, original: texts.original })
}

/// Notes that a person refused the waiting repair of a run, which ends the loop. A process that had already written the
/// repair may have died.
pub(crate) fn refuse_repair(folder: &RunFolder, answered: &Answered) -> Result<(), FolderError> {
    if let Ok(texts) = usable_repair(folder)
        && texts.is_written
    {
        write_new(&texts.file, &texts.original)?;
    }
    note_decision(folder, ReviewVerdict::Refused, answered)
}

/// Notes the decision in the report of the loop.
fn note_decision(folder: &RunFolder, verdict: ReviewVerdict, answered: &Answered) -> Result<(), FolderError> {
    let Some(mut report) = load(folder) else { return Ok(()) };
    let last = report.attempts.last_mut().and_then(|attempt| attempt.repair.as_mut());
    let Some(repair) = last.filter(|repair| repair.waiting) else { return Ok(()) };
    repair.decide(verdict, answered);
    let decision = repair.decision().unwrap_or_default();
    if verdict == ReviewVerdict::Refused {
        report.paused = false;
        if let Some(escalation) = &mut report.escalation {
            escalation.reason = format!("the repair was refused by {decision}");
            escalation.attempted = report.attempts.iter().map(crate::report::auto_fix::describe).collect();
            escalation.options = without_repair(std::mem::take(&mut escalation.options), &folder.id());
        }
    }
    save(folder, &report)
}

/// The same actions for a run whose repair is refused: none accepts it, and the run can be resumed without it.
fn without_repair(options: Vec<Next>, run: &str) -> Vec<Next> {
    let is_about_it = |option: &Next| match option {
        Next::Answer { .. } => true,
        Next::Resume { how, .. } => how.accept_repair,
        _ => false,
    };
    let mut left: Vec<Next> = options.into_iter().filter(|option| !is_about_it(option)).collect();
    let plain = Next::Resume { run: run.to_owned(), how: ResumeChoice::default() };
    if !left.contains(&plain) {
        left.push(plain);
    }
    left
}

/// The path of the question about the last repair of a run.
pub(crate) fn question_path(opened: &OpenedRun) -> String {
    let began = opened.records.iter().rev().find_map(|record| match &record.event {
        Event::RepairBegan(began) => Some(began.number),
        _ => None,
    });
    repair_path(began.unwrap_or(1))
}

/// The question about the repair that waits for a person: its difference, and whether it is used.
pub(crate) fn question(runs: &Runs, folder: &RunFolder, report: &Report) -> Result<Option<Event>, OpenError> {
    let Some(repair) = report.waiting_repair() else { return Ok(None) };
    let opened = runs.open(folder.clone())?;
    let path = question_path(&opened);
    let attempt = opened.state.next_attempt(&path);
    let difference = ShownSource::Text(repair.difference().unwrap_or_default());
    let shown = shown_contents::keep(folder.path(), &path, attempt, &[difference])?;
    let file = repair.file.as_deref().unwrap_or("the recipe");
    let question = format!("Use the repair of `{file}`? {}", repair.summary);
    Ok(Some(Event::QuestionPut(QuestionPut {
        path,
        attempt,
        digest: shown_contents::digest(&question, &shown),
        question,
        choices: [ACCEPT, REFUSE].map(str::to_owned).to_vec(),
        fields: Vec::new(),
        shown,
        deadline: None,
        on_timeout: None,
    })))
}

/// Puts the question about a repair, and waits until a person has decided or a stop is requested. The caller must own
/// the run.
pub(crate) fn ask_here(
    runs: &Runs,
    folder: &RunFolder,
    grace: Duration,
    reporter: &mut dyn Reporter,
) -> Result<Option<Halt>, AutoFixError> {
    let question = load(folder).map(|report| question(runs, folder, &report)).transpose()?.flatten();
    let tick = reporter.tick().unwrap_or(INBOX).min(INBOX);
    let mut desk = BetweenAttempts { runs, folder, grace, ear: StopListener::new()?, reporter };
    if let Some(question) = question {
        desk.record(question)?;
    }
    let mut opened = runs.open(folder.clone())?;
    while opened.state.repair_decision() == Some(RepairDecision::Open) {
        if runs.take_letters(folder, desk.reporter)? {
            opened = runs.open(folder.clone())?;
            continue;
        }
        if let Some(halt) = desk.pause(tick) {
            return Ok(Some(halt));
        }
        desk.reporter.notice(Notice::Tick { state: &opened.state });
    }
    Ok(None)
}
