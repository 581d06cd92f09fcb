//! Whether a step is retried, and whether a failed sub-recipe is run again from its beginning. Only decides.

use engine::{
    Outcome,
    run::{event::Ended, frame::FrameId, outcome::StopCause, state::ForGood},
};
use recipe::{plan::Step, syntax::RetryOn};

use super::{DriveError, Driver};

/// What happens to a failed recipe.
pub(super) enum Again {
    /// It is run again after this many seconds.
    After(f64),
    /// It is not run again: it has used its attempts, or would fail in the same way.
    Never,
    /// It would be run again, but these steps of it must not be repeated.
    Forbidden(ForGood),
}

impl Driver<'_> {
    /// Whether a sub-recipe that ended like this is run again.
    pub(super) fn again(&mut self, path: &str, id: FrameId, step: &Step, ended: &Ended) -> Again {
        // a second dry run would find the same
        if self.halt.is_some()
            || self.state.settings.dry_run
            || self.state.fails_again(&self.plan, id)
            || self.is_stopped(path)
        {
            return Again::Never;
        }
        let Some(seconds) = self.retry_delay(path, step, ended) else { return Again::Never };
        match self.state.done_for_good(id) {
            steps if steps == ForGood::default() => Again::After(seconds),
            steps => Again::Forbidden(steps),
        }
    }

    /// Seconds before the next attempt, if there is one.
    pub(super) fn retry_delay(&mut self, path: &str, step: &Step, ended: &Ended) -> Option<f64> {
        let kind = match ended.outcome {
            Outcome::Nested => self.kind_inside(path),
            _ => kind(&ended.outcome)?,
        };
        let retry = step.retry.as_ref().filter(|retry| retry.on.contains(&kind));
        let tries = self.state.tries(path);
        // only for the agent step itself, not for a recipe step around it
        if matches!(ended.outcome, Outcome::RateLimited { .. }) && retry.is_none() {
            let tries = tries.rate_limited + 1;
            let rate = &self.agents.rate;
            if tries <= rate.max_retries {
                return Some(rate.delay(tries));
            }
            if tries == rate.max_retries + 1
                && let Some(model) = &rate.fallback_model
            {
                self.rate_models.insert(path.to_owned(), model.clone());
                return Some(0.0);
            }
            return None;
        }
        let retry = retry?;
        // rate limits that `retry` lists share its count
        let is_counted = retry.on.contains(&RetryOn::RateLimit);
        let tries = tries.failed + 1 + if is_counted { tries.rate_limited } else { 0 };
        (tries < retry.max_attempts).then(|| retry.delay_after(tries))
    }

    /// The kind of a failure inside a recipe: that of the step that failed first.
    fn kind_inside(&self, path: &str) -> RetryOn {
        let frame = self.state.step(path).and_then(|step| step.frame);
        let cause = frame.and_then(|frame| self.state.cause_in(frame));
        cause.and_then(|ended| kind(&ended.outcome)).unwrap_or(RetryOn::Exit)
    }

    /// The outcome of a failed sub-recipe. Waiting for a person and a spent budget are passed up to the top, a limit to
    /// the recipe that sets it.
    pub(super) fn nested_outcome(&self, id: FrameId) -> Outcome {
        let frame = &self.state.frames[id];
        if let Some(stopped) = &frame.stopped {
            if let StopCause::Refused(refusal) = &stopped.cause {
                return Outcome::Refused(refusal.clone());
            }
            let step = frame.parent.map(|(parent, at)| &self.state.frames[parent].unit.steps[at]);
            let seconds = step.and_then(|step| step.timeout).filter(|_| stopped.by == frame.path);
            return seconds.map_or(Outcome::Cancelled, Outcome::TimedOut);
        }
        let ended = frame.failed_at.and_then(|at| frame.steps[at].ended.as_deref());
        match ended.map(|ended| &ended.outcome) {
            Some(outcome @ (Outcome::NeedsHuman | Outcome::Budget(_))) => outcome.clone(),
            _ => self.state.outer_limit(id).cloned().map_or(Outcome::Nested, Outcome::Limit),
        }
    }

    /// Reports why a recipe is not run again, and adds it to the error of the step that runs it.
    pub(super) fn tell_forbidden(
        &mut self,
        path: &str,
        steps: &ForGood,
        ended: &mut Ended,
    ) -> Result<(), DriveError> {
        let is_resumed = self.is_resumed_inside(path);
        let note = forbidden(steps, is_resumed);
        self.note(path, format!("warning: {note}"))?;
        ended.error = Some(match ended.error.take() {
            Some(error) => format!("{error}\n{note}"),
            None => note,
        });
        Ok(())
    }

    /// Whether a resume would continue inside a failed recipe; it does not where the failure is tolerated.
    fn is_resumed_inside(&self, path: &str) -> bool {
        let around =
            std::iter::successors(self.state.locate(path), |(frame, _)| self.state.frames[*frame].parent);
        around.into_iter().all(|(frame, at)| !self.state.frames[frame].unit.steps[at].continue_on_error)
    }
}

/// The kind of a failure, as `retry` names it.
fn kind(outcome: &Outcome) -> Option<RetryOn> {
    match outcome {
        Outcome::Exit(_)
        | Outcome::Signal(_)
        | Outcome::NotStarted(_)
        | Outcome::Agent(_)
        | Outcome::Nested => Some(RetryOn::Exit),
        Outcome::TimedOut(_) | Outcome::Idle(_) => Some(RetryOn::Timeout),
        Outcome::RateLimited { .. } => Some(RetryOn::RateLimit),
        Outcome::NotJson { .. } => Some(RetryOn::Json),
        _ => None,
    }
}

/// Why a recipe with such steps is not run again.
fn forbidden(steps: &ForGood, is_resumed: bool) -> String {
    let list = |steps: &[String]| steps.iter().map(|step| format!("`{step}`")).collect::<Vec<_>>().join(", ");
    let be = |steps: &[String], one: &str, many: &str| if steps.len() == 1 { one } else { many }.to_owned();
    let (done, half_done) = (&steps.done, &steps.half_done);
    let (what, then) = match half_done.is_empty() {
        true => {
            let are = be(done, "is", "are");
            (format!("{} {are} done and must not run again", list(done)), "; a resume continues after that")
        }
        false => {
            let were = be(half_done, "was stopped half-way and is", "were stopped half-way and are");
            (format!("{} {were} not idempotent", list(half_done)), "; a resume asks you what to do")
        }
    };
    format!("not retried: {what}{}", if is_resumed { then } else { "" })
}
