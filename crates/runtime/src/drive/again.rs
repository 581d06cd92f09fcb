//! Whether a recipe that failed is done again from its beginning. Never does it.

use engine::{event::Ended, frame::FrameId, state::ForGood};
use recipe::plan::Step;

use super::{DriveError, Driver};

/// What becomes of a recipe that failed.
pub(super) enum Again {
    /// It is done again after so many seconds.
    After(f64),
    /// It is not: it has had its attempts, or would fail in the same way.
    Never,
    /// It would be, but these steps of it must not be.
    Forbidden(ForGood),
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
            steps if steps == ForGood::default() => Again::After(seconds),
            steps => Again::Forbidden(steps),
        }
    }

    /// Says why a recipe is not done again, and adds it to the error of the step that runs it.
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

    /// Whether a resume would go on inside of a recipe that fails: none does where that is tolerated.
    fn is_resumed_inside(&self, path: &str) -> bool {
        let around =
            std::iter::successors(self.state.locate(path), |(frame, _)| self.state.frames[*frame].parent);
        around.into_iter().all(|(frame, at)| !self.state.frames[frame].unit.steps[at].continue_on_error)
    }
}

/// Why a recipe with such steps in it is not done again.
fn forbidden(steps: &ForGood, is_resumed: bool) -> String {
    let list = |steps: &[String]| steps.iter().map(|step| format!("`{step}`")).collect::<Vec<_>>().join(", ");
    let be = |steps: &[String], one: &str, many: &str| if steps.len() == 1 { one } else { many }.to_owned();
    let (done, half_done) = (&steps.done, &steps.half_done);
    let (what, then) = match half_done.is_empty() {
        true => {
            let are = be(done, "is", "are");
            (
                format!("{} {are} done and must not be done again", list(done)),
                "; a resume goes on behind that",
            )
        }
        false => {
            let were = be(half_done, "was ended half-way and is", "were ended half-way and are");
            (format!("{} {were} not idempotent", list(half_done)), "; a resume asks what to do")
        }
    };
    format!("not retried: {what}{}", if is_resumed { then } else { "" })
}
