//! Questions of a run: puts them, and takes the answers that other processes left in the inbox.

use std::{path::Path, sync::Arc};

use engine::{
    Event, Outcome,
    run::{
        actions::Happening,
        cause::Refusal,
        event::{Answered, QuestionField, QuestionPut, Via},
        question::{AnswerDraft, AnswerRefusal, AskedQuestion, judge},
        text::brief,
    },
};
use recipe::plan::{AskStep, ShowTemplate, StepKind};

use super::{DriveError, Driver};
use crate::{
    os::clock,
    store::{
        answer_request::{self, AnswerLetter, AnswerReceipt},
        folder::FolderError,
        shown_contents::{self, ContentsNow, ShownSource},
    },
};

impl Driver<'_> {
    /// Copies what a question shows, and puts the question.
    pub(super) fn put_question(&mut self, path: String, attempt: u32) -> Result<(), DriveError> {
        let Some((frame, at)) = self.state.locate(&path) else { return Ok(()) };
        let step = Arc::clone(&self.state.frames[frame].unit.steps[at]);
        let StepKind::Ask(ask) = &step.kind else { return Ok(()) };
        let contents = self.spec.step_dir(&self.state, frame, at);
        let contents = contents.and_then(|dir| read_contents(ask, &self.state.frames[frame].scope(at), &dir));
        let contents = match contents {
            Ok(contents) => contents,
            Err(refusal) => {
                self.tasks.refuse(&path, attempt, "ask", Outcome::Refused(refusal));
                return Ok(());
            }
        };
        let question = ask.question.render(&self.state.frames[frame].scope(at));
        let shown = shown_contents::keep(&self.store.dir(), &path, attempt, &contents)?;
        let put = Box::new(QuestionPut {
            path,
            attempt,
            digest: shown_contents::digest(&question, &shown),
            question,
            choices: ask.choices.clone(),
            fields: ask.fields.iter().map(QuestionField::of).collect(),
            shown,
            deadline: None,
            on_timeout: None,
        });
        self.happen(Happening::QuestionReady { put, now: clock::now() })
    }

    /// Takes the answers that other processes left.
    pub(super) fn take_answers(&mut self) -> Result<(), DriveError> {
        let Some(folder) = self.store.folder.clone() else { return Ok(()) };
        if self.state.halt().is_some() {
            return Ok(());
        }
        for (id, request) in answer_request::pending(&folder) {
            let Some(receipt) = self.take_answer(&id, &request)? else { continue };
            // the receipt is a promise
            self.store.settle()?;
            answer_request::acknowledge(&folder, &id, &receipt)?;
        }
        Ok(())
    }

    /// Takes one answer; `None` if its question is not put yet.
    fn take_answer(&mut self, id: &str, request: &AnswerLetter) -> Result<Option<AnswerReceipt>, DriveError> {
        let refused = |refusal| Ok(Some(AnswerReceipt::Refused(refusal)));
        let Some(asked) = self.state.questions.get(&request.path).cloned() else {
            return refused(AnswerRefusal::Withdrawn);
        };
        if self.state.has_taken_answer(id) {
            return Ok(Some(AnswerReceipt::Taken));
        }
        let is_open = asked.status == engine::run::question::QuestionStatus::Open;
        if is_open && !self.state.waits_for(&request.path) {
            return Ok(None);
        }
        match decide_answer(&self.store.dir(), &self.spec.working_dir, &asked, &request.draft)? {
            AnswerVerdict::Taken(answered) => {
                self.happen(Happening::AnswerGiven(answered))?;
                Ok(Some(AnswerReceipt::Taken))
            }
            AnswerVerdict::Refused(refusal) => {
                self.happen(Happening::QuestionsDue { now: clock::now() })?;
                refused(refusal)
            }
            AnswerVerdict::Renewed(put, refusal) => {
                self.record(Event::QuestionPut(*put), None)?;
                refused(refusal)
            }
        }
    }
}

/// Waits until a question is overdue.
pub(super) async fn question_due(deadline: Option<jiff::Timestamp>) {
    let Some(deadline) = deadline else { return std::future::pending().await };
    let left = deadline.as_millisecond() - clock::now().as_millisecond();
    let left = u64::try_from(left).unwrap_or(0);
    tokio::time::sleep(std::time::Duration::from_millis(left)).await;
}

/// Reads what a question shows.
fn read_contents(
    ask: &AskStep,
    scope: &dyn recipe::scope::Scope,
    dir: &Path,
) -> Result<Vec<ShownSource>, Refusal> {
    let read = |shown: &ShowTemplate| {
        let rendered = shown.template().render(scope);
        match shown {
            ShowTemplate::Text(_) => Ok(ShownSource::Text(rendered)),
            ShowTemplate::File(_) => {
                let source = dir.join(&rendered);
                let path = brief(&rendered);
                ShownSource::file(rendered, source).map_err(|why| Refusal::NotShown { path, why })
            }
        }
    };
    ask.show.iter().map(read).collect()
}

/// What becomes of an answer.
#[derive(Debug)]
pub(crate) enum AnswerVerdict {
    /// It fits: this is to be recorded.
    Taken(Box<Answered>),
    /// It is not taken.
    Refused(AnswerRefusal),
    /// It is not taken, and the question is put again with its new contents.
    Renewed(Box<QuestionPut>, AnswerRefusal),
}

/// Decides about an answer to a question of a run.
pub(crate) fn decide_answer(
    run: &Path,
    working_dir: &Path,
    asked: &AskedQuestion,
    draft: &AnswerDraft,
) -> Result<AnswerVerdict, FolderError> {
    let now = clock::now();
    let exists = |path: &str| working_dir.join(path).exists();
    let fields = match judge(asked, draft, now, &exists) {
        Ok(fields) => fields,
        Err(refusal) => return Ok(AnswerVerdict::Refused(refusal)),
    };
    match shown_contents::compare(run, &asked.put)? {
        ContentsNow::Same => {}
        ContentsNow::Changed(put, changes) => {
            return Ok(AnswerVerdict::Renewed(put, AnswerRefusal::Changed(changes)));
        }
        ContentsNow::Unreadable { name, why } => {
            return Ok(AnswerVerdict::Refused(AnswerRefusal::Unreadable { name, why }));
        }
    }
    if draft.digest.as_ref().is_some_and(|seen| *seen != asked.put.digest) {
        return Ok(AnswerVerdict::Refused(AnswerRefusal::OtherContents));
    }
    let origin = draft.origin.clone();
    let surface = origin.as_ref().map_or(engine::run::origin::Surface::Cli, |origin| origin.surface);
    Ok(AnswerVerdict::Taken(Box::new(Answered {
        path: asked.put.path.clone(),
        choice: draft.choice.clone(),
        fields,
        comment: draft.comment.clone().filter(|comment| !comment.trim().is_empty()),
        by: origin.as_ref().and_then(|origin| origin.actor.clone()).unwrap_or_else(|| "unknown".to_owned()),
        via: Via::Surface(surface),
        at: now,
        digest: Some(asked.put.digest.clone()),
        origin,
    })))
}
