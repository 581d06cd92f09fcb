//! The verdict about an answer to a run that no driver works on, and the answers that such a run's owner takes.

use engine::{
    Event,
    run::{
        event::Answered,
        question::{ACCEPT, AnswerRefusal, AskedQuestion, QuestionStatus, is_repair},
    },
};

use super::{OpenError, OpenedRun, Runs, owned_run::tell};
use crate::{
    report::waiting_repair::{AcceptError, usable_repair},
    run::{AnswerVerdict, Reporter, decide_answer},
    store::{
        answer_request::{self, AnswerLetter, AnswerReceipt},
        folder::RunFolder,
    },
};

impl Runs {
    /// Takes the answers that other processes left for a run that this process owns between two attempts; whether there
    /// were any.
    pub(crate) fn take_letters(
        &self,
        folder: &RunFolder,
        reporter: &mut dyn Reporter,
    ) -> Result<bool, OpenError> {
        let letters = answer_request::pending(folder);
        for (id, letter) in &letters {
            let (mut shown, mut journal) = self.take(folder.clone())?;
            let (event, receipt) = match shown.state.questions.get(&letter.path).cloned() {
                None => (None, AnswerReceipt::Refused(AnswerRefusal::Withdrawn)),
                Some(_) if shown.state.has_taken_answer(id) => (None, AnswerReceipt::Taken),
                Some(asked) => match verdict(&shown, asked, letter)? {
                    AnswerVerdict::Taken(answered) => {
                        (Some(Event::Answered(*answered)), AnswerReceipt::Taken)
                    }
                    AnswerVerdict::Renewed(put, refusal) => {
                        (Some(Event::QuestionPut(*put)), AnswerReceipt::Refused(refusal))
                    }
                    AnswerVerdict::Refused(refusal) => (None, AnswerReceipt::Refused(refusal)),
                },
            };
            event.map(|event| tell(&mut shown, &mut journal, event, reporter)).transpose()?;
            answer_request::acknowledge(folder, id, &receipt)?;
        }
        Ok(!letters.is_empty())
    }
}

/// Decides about an answer to a run that no driver works on.
pub(super) fn verdict(
    shown: &OpenedRun,
    asked: AskedQuestion,
    letter: &AnswerLetter,
) -> Result<AnswerVerdict, OpenError> {
    let (run, dir) = (shown.folder.path(), &shown.header.working_dir);
    let verdict = decide_answer(run, dir, &current(shown, asked), &letter.draft)?;
    let accepts = |answered: &Answered| is_repair(&answered.path) && answered.choice == ACCEPT;
    if !matches!(&verdict, AnswerVerdict::Taken(answered) if accepts(answered)) {
        return Ok(verdict);
    }
    match usable_repair(&shown.folder) {
        Ok(_) => Ok(verdict),
        Err(AcceptError::Folder(error)) => Err(error.into()),
        Err(error) => Ok(AnswerVerdict::Refused(AnswerRefusal::NotUsable { why: error.to_string() })),
    }
}

/// A question as it is in a run that no process owns: one whose run has ended does not wait any more.
fn current(opened: &OpenedRun, asked: AskedQuestion) -> AskedQuestion {
    let is_open = opened.questions().iter().any(|open| open.put.path == asked.put.path);
    match asked.status == QuestionStatus::Open && !is_open {
        true => AskedQuestion { status: QuestionStatus::Withdrawn, ..asked },
        false => asked,
    }
}
