//! Answering a question of a run: through its owner if it is alive, otherwise in its journal.

use std::time::Duration;

use engine::{
    EndReason, Event, RunState, RunStatus,
    run::{
        event::RunFinished,
        origin::Origin,
        question::{AnswerDraft, AnswerRefusal, AskedQuestion, by_timeout, check_answer},
        step_path::with_brackets,
    },
};
use recipe::value::Value;

use super::{
    FindError, OpenError, OpenedRun, Runs, cancel::ask_owner_to_look, open::spent, verdict::verdict,
};
use crate::{
    os::{clock, held_lock::HeldLock},
    report::asks::Ask,
    run::{AnswerVerdict, waiting_words},
    store::{
        answer_request::{self, AnswerLetter, AnswerReceipt},
        folder::RunFolder,
        journal::Journal,
    },
};

/// How long the owner of a run may take to look into its inbox.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often to check whether it did.
const LOOK: Duration = Duration::from_millis(20);

/// A request to answer a question.
#[derive(Clone, Debug, Default)]
pub struct AnswerRequest {
    /// The run: its id, a unique beginning of it, or `last`.
    pub run: String,
    /// The step that asks; absent if only one question waits.
    pub step: Option<String>,
    /// The choice.
    pub choice: String,
    /// The values of the fields.
    pub fields: Vec<(String, Value)>,
    /// What the person adds.
    pub comment: Option<String>,
    /// The digest of the contents that the person saw.
    pub digest: Option<String>,
    /// Where the request comes from.
    pub origin: Option<Origin>,
}

/// An answer that is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenAnswer {
    /// The run.
    pub run: String,
    /// The step that asked.
    pub step: String,
    /// Whether a live process took it and continues the run.
    pub is_live: bool,
}

/// Why a question could not be answered.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// The run could not be found.
    #[error(transparent)]
    Find(#[from] FindError),
    /// It cannot be read or written.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// It has no such question.
    #[error("run `{run}` has no question `{step}`{}", listed(open))]
    NoStep {
        /// The run.
        run: String,
        /// The requested step.
        step: String,
        /// The questions that wait.
        open: Vec<String>,
    },
    /// Several questions wait, and none was named.
    #[error("several questions of run `{run}` wait for an answer{}", listed(open))]
    Several {
        /// The run.
        run: String,
        /// The questions that wait.
        open: Vec<String>,
    },
    /// No question waits.
    #[error("no question of run `{run}` waits for an answer")]
    NoQuestion {
        /// The run.
        run: String,
    },
    /// The answer is not taken.
    #[error("the answer to `{}` is not taken", question.step)]
    Refused {
        /// The question as it is now.
        question: Box<Ask>,
        /// Why.
        refusal: AnswerRefusal,
        /// The folder of the run, which has the shown contents.
        folder: RunFolder,
    },
    /// The owner of the run does not react.
    #[error("run `{run}` does not take answers now: process {pid} is busy")]
    Busy {
        /// The run.
        run: String,
        /// Its owner.
        pid: u32,
    },
}

fn listed(open: &[String]) -> String {
    match open {
        [] => String::new(),
        open => {
            format!(": {}", open.iter().map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", "))
        }
    }
}

impl Runs {
    /// Records the answer to a question. A live run takes it itself.
    pub fn record_answer(&self, request: &AnswerRequest) -> Result<TakenAnswer, AnswerError> {
        let folder = self.find(&request.run)?;
        let opened = self.open(folder.clone())?;
        let step = choose(&opened, request.step.as_deref())?;
        let draft = AnswerDraft {
            choice: request.choice.clone(),
            fields: request.fields.clone(),
            comment: request.comment.clone(),
            digest: request.digest.clone(),
            origin: request.origin.clone(),
        };
        let id = match &request.origin {
            Some(origin) => origin.request_id.clone(),
            None => super::new_id(),
        };
        let letter = AnswerLetter { path: step, draft };
        refuse_at_once(&opened, &letter)?;
        self.deliver(&folder, &id, &letter)
    }

    /// Gives an answer to the owner of the run, or records it if the run has none.
    fn deliver(
        &self,
        folder: &RunFolder,
        id: &str,
        letter: &AnswerLetter,
    ) -> Result<TakenAnswer, AnswerError> {
        let recorded = |is_live| TakenAnswer { run: folder.id(), step: letter.path.clone(), is_live };
        let since = clock::instant();
        let mut told = None;
        loop {
            if let Some(lock) = folder.lock().map_err(OpenError::from)? {
                answer_request::take_back(folder, id);
                return match answer_request::take_receipt(folder, id) {
                    Some(receipt) => {
                        drop(lock);
                        self.read_receipt(folder, letter, receipt).map(|()| recorded(true))
                    }
                    None => self.write_answer(folder, id, letter, lock).map(|()| recorded(false)),
                };
            }
            let Some(pid) = folder.owner() else { continue };
            if told.is_none() {
                answer_request::send(folder, id, letter).map_err(OpenError::from)?;
            }
            // a process that has just taken the run may not have written its pid yet
            if told != Some(pid) {
                ask_owner_to_look(pid);
                told = Some(pid);
            }
            if let Some(receipt) = answer_request::take_receipt(folder, id) {
                return self.read_receipt(folder, letter, receipt).map(|()| recorded(true));
            }
            if since.elapsed() > PATIENCE && answer_request::take_back(folder, id) {
                return Err(AnswerError::Busy { run: folder.id(), pid });
            }
            std::thread::sleep(LOOK);
        }
    }

    fn read_receipt(
        &self,
        folder: &RunFolder,
        letter: &AnswerLetter,
        receipt: AnswerReceipt,
    ) -> Result<(), AnswerError> {
        match receipt {
            AnswerReceipt::Taken => Ok(()),
            AnswerReceipt::Refused(refusal) => {
                Err(refused(&self.open(folder.clone())?, &letter.path, refusal))
            }
        }
    }

    /// Records an answer in the journal of a run that no process owns.
    fn write_answer(
        &self,
        folder: &RunFolder,
        id: &str,
        letter: &AnswerLetter,
        lock: HeldLock,
    ) -> Result<(), AnswerError> {
        let (mut shown, mut journal) = self.take(folder.clone())?;
        let Some(asked) = shown.state.questions.get(&letter.path).cloned() else {
            return Err(AnswerError::NoQuestion { run: folder.id() });
        };
        // its owner recorded it and died before it could say so
        if shown.state.has_taken_answer(id) {
            return Ok(());
        }
        let (event, refusal) = match verdict(&shown, asked, letter)? {
            AnswerVerdict::Taken(answered) => (Some(Event::Answered(*answered)), None),
            AnswerVerdict::Renewed(put, refusal) => (Some(Event::QuestionPut(*put)), Some(refusal)),
            AnswerVerdict::Refused(refusal @ AnswerRefusal::Late(_)) => {
                let asked = shown.state.questions.get(&letter.path);
                let late = asked.map(|asked| Event::Answered(by_timeout(&asked.put, clock::now())));
                (late, Some(refusal))
            }
            AnswerVerdict::Refused(refusal) => (None, Some(refusal)),
        };
        if let Some(event) = event {
            append(&mut shown, &mut journal, event)?;
        }
        drop(lock);
        match refusal {
            None => Ok(()),
            Some(refusal) => Err(refused(&shown, &letter.path, refusal)),
        }
    }

    /// Whether a process continues a run with an answer. One that only looks at the run or answers, too, does not.
    pub(crate) fn goes_on_with(&self, answer: &TakenAnswer) -> Result<bool, AnswerError> {
        let opened = self.open(self.find(&answer.run)?)?;
        let is_answer = |record: &engine::Record| match &record.event {
            Event::Answered(answered) => answered.path == answer.step,
            _ => false,
        };
        let after = opened.records.iter().rev().take_while(|record| !is_answer(record));
        Ok(after.into_iter().any(|record| matches!(record.event, Event::RunResumed(_))))
    }

    /// Records the answers of questions whose time is over, if no process owns the run.
    pub(super) fn judge_overdue(&self, folder: &RunFolder) -> Result<(), OpenError> {
        let Some(_lock) = folder.lock()? else { return Ok(()) };
        let (mut shown, mut journal) = self.take(folder.clone())?;
        let now = clock::now();
        let open = shown.state.open_questions().into_iter().filter(|asked| asked.is_overdue(now));
        let late: Vec<Event> = open.map(|asked| Event::Answered(by_timeout(&asked.put, now))).collect();
        late.into_iter().try_for_each(|event| append(&mut shown, &mut journal, event))
    }
}

/// Appends an event to the journal of a run without an owner. The run waits for other answers, or for its resume.
fn append(shown: &mut OpenedRun, journal: &mut Journal, event: Event) -> Result<(), OpenError> {
    let record = journal.append(clock::now(), event);
    journal.sync()?;
    shown.follow(record)?;
    let error = waiting_words(&shown.state).or_else(|| answered_words(&shown.state));
    let Some(error) = error else { return Ok(()) };
    let finished = RunFinished {
        usage: spent(&shown.records),
        worked_ms: Some(shown.state.work.recorded()),
        ..RunFinished::new(EndReason::Waiting, Some(shown.mask.quotation(&error).into_owned()))
    };
    let record = journal.append(clock::now(), Event::RunFinished(finished));
    journal.sync()?;
    shown.follow(record)
}

/// The message of a run whose questions are answered.
fn answered_words(state: &RunState) -> Option<String> {
    let names: Vec<String> =
        state.unused_answers().iter().map(|answered| format!("`{}`", answered.path)).collect();
    let are = if names.len() > 1 { "are" } else { "is" };
    (!names.is_empty()).then(|| format!("{} {are} answered; the run is not resumed yet", names.join(", ")))
}

/// The question that an answer is for.
fn choose(opened: &OpenedRun, step: Option<&str>) -> Result<String, AnswerError> {
    let run = opened.header.run_id.clone();
    let open: Vec<String> = opened.questions().iter().map(|asked| asked.put.path.clone()).collect();
    match (step, open.as_slice()) {
        (Some(step), _) => {
            let mut spellings = [step.to_owned(), with_brackets(step)].into_iter();
            let found = spellings.find(|path| opened.state.questions.contains_key(path));
            found.ok_or_else(|| AnswerError::NoStep { run, step: step.to_owned(), open })
        }
        (None, [only]) => Ok(only.clone()),
        (None, []) => {
            // the last one that was answered tells who answered it
            let answered = opened.state.questions.values().filter(|asked| asked.answer().is_some());
            let last = answered.max_by_key(|asked| asked.answer().map(|answered| answered.at));
            last.map(|asked| asked.put.path.clone()).ok_or(AnswerError::NoQuestion { run })
        }
        (None, _) => Err(AnswerError::Several { run, open }),
    }
}

/// Refuses an answer that can never be taken; whether it fits is judged before anything else.
fn refuse_at_once(opened: &OpenedRun, letter: &AnswerLetter) -> Result<(), AnswerError> {
    let Some(asked) = opened.state.questions.get(&letter.path) else { return Ok(()) };
    let exists = |path: &str| opened.header.working_dir.join(path).exists();
    let put = &asked.put;
    let refusal = match check_answer(&put.choices, &put.fields, &letter.draft, &exists) {
        Err(problems) => Some(AnswerRefusal::Unfit(problems)),
        // an answer stays, so the run need not be taken to say so
        Ok(_) => asked.answer().map(|answered| AnswerRefusal::Already(Box::new(answered.clone()))),
    };
    refusal.map_or(Ok(()), |refusal| Err(refused(opened, &letter.path, refusal)))
}

fn refused(opened: &OpenedRun, step: &str, mut refusal: AnswerRefusal) -> AnswerError {
    let header = &opened.header;
    if let AnswerRefusal::Changed(changes) = &mut refusal {
        for change in changes {
            change.difference = opened.mask.quotation(&change.difference).into_owned();
        }
    }
    match opened.state.questions.get(step) {
        Some(asked) => AnswerError::Refused {
            question: Box::new(Ask::of(&header.run_id, &header.recipe_name, asked, &opened.mask)),
            refusal,
            folder: opened.folder.clone(),
        },
        None => AnswerError::NoQuestion { run: header.run_id.clone() },
    }
}

impl OpenedRun {
    /// The questions that a person can answer now.
    pub fn questions(&self) -> Vec<&AskedQuestion> {
        match self.state.finished.as_ref().map(|finished| finished.status) {
            Some(RunStatus::Completed | RunStatus::Failed | RunStatus::Cancelled) => Vec::new(),
            _ => self.state.open_questions(),
        }
    }
}
