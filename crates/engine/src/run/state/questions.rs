//! The questions of a run, as its events tell. Never decides anything.

use jiff::Timestamp;

use super::{RunState, is_at_or_below};
use crate::run::{
    event::{Answered, QuestionPut},
    outcome::StepStatus,
    question::{AskedQuestion, QuestionStatus, is_repair},
};

impl RunState {
    pub(super) fn question_put(&mut self, put: &QuestionPut, at: Timestamp) {
        let since = match self.questions.get(&put.path) {
            // its time runs from the first time that it was put
            Some(asked) if !matches!(asked.status, QuestionStatus::Closed(_)) => asked.since,
            _ => at,
        };
        let asked = AskedQuestion { put: put.clone(), since, status: QuestionStatus::Open };
        self.questions.insert(put.path.clone(), asked);
        self.attempts.insert(put.path.clone(), put.attempt);
        let Some((id, index)) = self.locate(&put.path) else { return };
        let step = &mut self.frames[id].steps[index];
        step.attempt = put.attempt;
        if step.status == StepStatus::Running {
            step.status = StepStatus::Waiting;
            // a person needs no slot
            self.running -= 1;
        }
    }

    /// Whether the answer of a request is recorded, even if its question was put again since.
    pub fn has_taken_answer(&self, request: &str) -> bool {
        self.taken_answers.contains(request)
    }

    pub(super) fn question_answered(&mut self, answered: &Answered) {
        self.taken_answers.extend(answered.origin.iter().map(|origin| origin.request_id.clone()));
        if let Some(asked) = self.questions.get_mut(&answered.path) {
            asked.status = QuestionStatus::Answered(Box::new(answered.clone()));
        }
        // a run that had ended can continue now
        (self.finished, self.finished_at) = (None, None);
    }

    pub(super) fn question_closed(&mut self, path: &str) {
        let Some(asked) = self.questions.get_mut(path) else { return };
        asked.status = match std::mem::replace(&mut asked.status, QuestionStatus::Withdrawn) {
            QuestionStatus::Answered(answered) => QuestionStatus::Closed(Some(answered)),
            closed @ QuestionStatus::Closed(_) => closed,
            QuestionStatus::Open | QuestionStatus::Withdrawn => QuestionStatus::Closed(None),
        };
    }

    /// A step that waits, and everything below it that waits, has not begun.
    pub(super) fn withdraw_questions(&mut self, path: &str) {
        let Some((id, index)) = self.locate(path) else { return };
        let is_inside = |inner: &str| is_at_or_below(inner, path);
        for (_, asked) in self.questions.iter_mut().filter(|(inner, _)| is_inside(inner)) {
            if matches!(asked.status, QuestionStatus::Open) {
                asked.status = QuestionStatus::Withdrawn;
            }
        }
        for inner in self.active.clone() {
            if is_inside(&self.frames[inner].path) {
                let frame = &mut self.frames[inner];
                let open = frame.open_steps();
                for at in open {
                    (frame.steps[at].status, frame.steps[at].attempt) = (StepStatus::Pending, 0);
                }
                frame.open = 0;
                self.close(inner);
            }
        }
        let frame = &mut self.frames[id];
        let step = &mut frame.steps[index];
        if step.status.is_open() {
            (step.status, step.attempt, step.started_at) = (StepStatus::Pending, 0, None);
            frame.open -= 1;
        }
        self.settle(id);
    }

    /// A resume uses a repair that was accepted, or goes on without it.
    pub(crate) fn close_repair_questions(&mut self) {
        let repairs: Vec<String> = self.questions.keys().filter(|path| is_repair(path)).cloned().collect();
        repairs.iter().for_each(|path| self.question_closed(path));
    }
}
