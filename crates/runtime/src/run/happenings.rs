//! Turns the results of tasks into happenings for the engine.

use engine::{
    Outcome, RunState,
    run::{
        actions::{Happening, RecoveryAnswer},
        attempt::AttemptResult,
        event::Usage,
        frame::FrameId,
        recovery_answer::RecoveryVerdict,
    },
};
use recipe::plan::StepKind;
use tokio::task::JoinError;

use super::{DriveError, Driver, Notice, Reporter, hooks::HookReport, tasks::TaskDone};
use crate::{
    steps::shell::attempt::read_json,
    store::{folder::FolderError, outputs::Stream, secrets::Mask},
};

impl Driver<'_> {
    pub(super) fn take(&mut self, done: Result<TaskDone, JoinError>) -> Result<(), DriveError> {
        match done.map_err(DriveError::Task)? {
            TaskDone::Attempt { path, attempt, hook, result } => {
                self.take_attempt(path, attempt, hook, *result)
            }
            TaskDone::Hook(report) => {
                self.tasks.forget(&report.key());
                self.take_hook(Some(report))
            }
            TaskDone::Retry { path, ended } => {
                self.tasks.forget(&path);
                self.ended_processes.extend(ended);
                self.happen(Happening::RetryDue { path })
            }
            TaskDone::Iteration { path } => {
                self.tasks.forget(&path);
                self.happen(Happening::IterationDue { path })
            }
            TaskDone::Leftovers { failed, ended } => {
                self.ended_processes.extend(ended);
                self.happen(Happening::LeftoversEnded(failed))
            }
            TaskDone::Checked { path, hook, unit, problem } => {
                self.tasks.forget(&path);
                self.take_hook(hook)?;
                self.happen(Happening::RecipeChecked { path, unit, problem })
            }
            TaskDone::MayAsk { path, attempt, hook } => {
                self.tasks.forget(&path);
                self.take_hook(hook)?;
                self.put_question(path, attempt)
            }
            TaskDone::RecipeTimeout { path, seconds } => {
                self.happen(Happening::RecipeTimedOut { path, seconds })
            }
            TaskDone::Recovered { path, frame, answer, usage } => {
                self.take_recovery(path, frame, answer, usage)
            }
            TaskDone::Ensured { path, attempt, end } => {
                self.tasks.forget(&path);
                let rules = self.state.planned(&path).map_or(0, |step| step.ensure.len());
                self.store.release_checks(&path, attempt, rules);
                self.happen(Happening::EnsureChecked { path, attempt, end })
            }
            TaskDone::Nothing => Ok(()),
            TaskDone::Broken(error) => Err(error.into()),
        }
    }

    fn take_hook(&mut self, report: Option<HookReport>) -> Result<(), DriveError> {
        let Some(HookReport { path, hook, error, output }) = report else { return Ok(()) };
        if !output.is_empty() {
            let text = self.mask.quotation(&output).into_owned();
            self.reporter.notice(Notice::HookOutput { path: &path, text: &text });
        }
        self.happen(Happening::HookEnded { path, hook, error })
    }

    fn take_attempt(
        &mut self,
        path: String,
        attempt: u32,
        hook: Option<HookReport>,
        result: Result<AttemptResult, FolderError>,
    ) -> Result<(), DriveError> {
        self.tasks.forget(&path);
        let ended = result.as_ref().ok().map(|result| &result.ended);
        self.shown.end(&path, ended, self.reporter, &self.mask);
        self.take_hook(hook)?;
        let result = Box::new(result?);
        let is_stopped = self.state.halt().is_some() && result.ended.outcome == Outcome::Cancelled;
        let step = self.state.planned(&path).filter(|step| matches!(step.kind, StepKind::Agent(_)));
        if let Some(step) = step.filter(|_| !is_stopped) {
            show_answer(self.reporter, &self.mask, (&path, step.store.as_deref()), &result);
        }
        self.happen(Happening::AttemptEnded { path, attempt, result })
    }

    pub(super) fn take_recovery(
        &mut self,
        path: String,
        frame: FrameId,
        verdict: RecoveryVerdict,
        usage: Option<Usage>,
    ) -> Result<(), DriveError> {
        self.tasks.forget(&path);
        self.shown.end(&path, None, self.reporter, &self.mask);
        let answer = match verdict {
            RecoveryVerdict::Stopped => RecoveryAnswer::Stopped,
            RecoveryVerdict::NotRecovered(message) => RecoveryAnswer::NotRecovered(message),
            RecoveryVerdict::Recovered(answer) => {
                RecoveryAnswer::Recovered(Box::new(read_recovered(&self.state, &path, answer)))
            }
        };
        self.happen(Happening::RecoveryAnswered { path, frame, answer, usage })
    }
}

/// Shows the answer of an agent as the output of its step: the transcript is not shown.
fn show_answer(
    reporter: &mut dyn Reporter,
    mask: &Mask,
    (path, name): (&str, Option<&str>),
    result: &AttemptResult,
) {
    if let Some(value) = result.value.as_ref().filter(|_| result.is_done() && reporter.wants_output()) {
        let masked = mask.value(name.unwrap_or_default(), value);
        let text = format!("{}\n", masked.render().trim_end_matches('\n'));
        reporter.notice(Notice::Output { path, stream: Stream::Stdout, bytes: text.as_bytes() });
    }
}

/// The answer of a recovery as the value of its step, by the step's JSON mode.
fn read_recovered(state: &RunState, path: &str, answer: String) -> AttemptResult {
    let mut result = AttemptResult::ok();
    if let Some(step) = state.planned(path) {
        read_json(&step, answer, "recipe", &mut result);
    }
    result
}
