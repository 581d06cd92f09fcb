//! A request to answer a question: records the answer, and continues the run if no process has it.

use std::time::Duration;

use engine::run::question::{REFUSE, is_repair};

use super::{Listener, RequestError, ResumeRequest};
use crate::{
    machine::local::LocalMachine,
    os::clock,
    report::RunResult,
    runs::{AnswerError, AnswerRequest, OpenError, ResumeError, Runs, TakenAnswer},
    store::folder::RequestOptions,
};

/// How long others may hold the run for a moment.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often to try again.
const LOOK: Duration = Duration::from_millis(20);

/// What happens after an answer is recorded.
#[derive(Clone, Debug)]
pub enum AfterAnswer {
    /// The run continues in this process, unless another one has it.
    Resume(Box<RequestOptions>),
    /// Nothing.
    Nothing,
}

/// The outcome of an answer.
#[derive(Debug)]
pub struct AnswerOutcome {
    /// The recorded answer.
    pub recorded: TakenAnswer,
    /// The result of the run, if this process continued it.
    pub result: Option<Box<RunResult>>,
}

/// Why a request to answer failed.
#[derive(Debug, thiserror::Error)]
pub enum AnswerRequestError {
    /// The answer was not recorded.
    #[error(transparent)]
    Answer(#[from] AnswerError),
    /// It was recorded, but the run could not continue.
    #[error("{error}")]
    Resume {
        /// The recorded answer.
        recorded: TakenAnswer,
        /// Why not.
        error: Box<RequestError>,
    },
}

impl Runs {
    /// Ends an auto-fix loop whose repair a person refused.
    fn refuse_repair(&self, answer: &TakenAnswer) -> Result<RunResult, AnswerError> {
        let folder = self.find(&answer.run)?;
        match folder.lock().map_err(OpenError::from)? {
            Some(_lock) => Ok(self.end_refused(&folder)?),
            None => Ok(self.open(folder)?.result()),
        }
    }

    /// Answers a question, and continues the run.
    pub fn answer(
        &self,
        request: &AnswerRequest,
        then: AfterAnswer,
        machine: &LocalMachine,
        listener: &mut dyn Listener,
    ) -> Result<AnswerOutcome, AnswerRequestError> {
        let mut recorded = self.record_answer(request)?;
        if is_repair(&recorded.step) && request.choice == REFUSE && !recorded.is_live {
            let result = self.refuse_repair(&recorded)?;
            let result = matches!(then, AfterAnswer::Resume(_)).then(|| Box::new(result));
            return Ok(AnswerOutcome { recorded, result });
        }
        let options = match then {
            AfterAnswer::Resume(options) if !recorded.is_live => *options,
            _ => return Ok(AnswerOutcome { recorded, result: None }),
        };
        let resume = ResumeRequest {
            run: recorded.run.clone(),
            options,
            origin: request.origin.clone(),
            ..ResumeRequest::default()
        };
        let since = clock::instant();
        loop {
            match self.resume(&resume, machine, listener) {
                Ok(result) => return Ok(AnswerOutcome { recorded, result: Some(Box::new(result)) }),
                Err(RequestError::Resume(ResumeError::Owned { .. })) if since.elapsed() < PATIENCE => {
                    if self.goes_on_with(&recorded)? {
                        recorded.is_live = true;
                        return Ok(AnswerOutcome { recorded, result: None });
                    }
                    std::thread::sleep(LOOK);
                }
                Err(error) => {
                    let error = Box::new(error);
                    return Err(AnswerRequestError::Resume { recorded, error });
                }
            }
        }
    }
}
