//! Whether a recipe that failed is done again from its beginning. Never does it.

use engine::{event::Ended, frame::FrameId};
use recipe::plan::Step;

use super::Driver;

/// What becomes of a recipe that failed.
pub(super) enum Again {
    /// It is done again after so many seconds.
    After(f64),
    /// It is not: it has had its attempts, or would fail in the same way.
    Never,
    /// It would be, but these steps of it must not be.
    Forbidden(Vec<String>),
}

impl Driver<'_> {
    /// Whether a nested recipe that ended like this is done again.
    pub(super) fn again(&mut self, path: &str, id: FrameId, step: &Step, ended: &Ended) -> Again {
        // what a dry run finds would be found again
        if self.halt.is_some()
            || self.state.settings.dry_run
            || self.state.fails_again(&self.plan, id)
            || self.is_stopped(path)
        {
            return Again::Never;
        }
        let Some(seconds) = self.retry_delay(path, step, ended) else { return Again::Never };
        match self.state.done_for_good(id) {
            steps if steps.is_empty() => Again::After(seconds),
            steps => Again::Forbidden(steps),
        }
    }

    /// Says why a recipe is not done again, in the error of the step that runs it.
    pub(super) fn tell_forbidden(&self, path: &str, steps: &[String], ended: &mut Ended) {
        let list = steps.iter().map(|step| format!("`{step}`")).collect::<Vec<_>>().join(", ");
        let is = if steps.len() == 1 { "is" } else { "are" };
        let behind = if self.is_resumed_inside(path) { "; a resume goes on behind that" } else { "" };
        let note = format!("not retried: {list} {is} done and must not be done again{behind}");
        ended.error = Some(match ended.error.take() {
            Some(error) => format!("{error}\n{note}"),
            None => note,
        });
    }

    /// Whether a resume would go on inside of a recipe that fails: none does where that is tolerated.
    fn is_resumed_inside(&self, path: &str) -> bool {
        let around =
            std::iter::successors(self.state.locate(path), |(frame, _)| self.state.frames[*frame].parent);
        around.into_iter().all(|(frame, at)| !self.state.frames[frame].unit.steps[at].continue_on_error)
    }
}
