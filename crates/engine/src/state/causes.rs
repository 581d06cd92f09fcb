//! The steps at the bottom of a failure. Never says why they failed.

use super::RunState;
use crate::{event::Ended, frame::FrameId};

impl RunState {
    /// The step at the bottom of a failure: its path and how it ended.
    pub fn root_cause(&self) -> Option<(String, &Ended)> {
        self.causes().into_iter().next()
    }

    /// Every step at the bottom of a failure, the first one first: the members of a parallel group all come to their
    /// end, and each of them may fail.
    pub fn causes(&self) -> Vec<(String, &Ended)> {
        let mut causes = Vec::new();
        self.find_causes(0, &mut causes);
        causes
    }

    fn find_causes<'a>(&'a self, id: FrameId, causes: &mut Vec<(String, &'a Ended)>) {
        let frame = &self.frames[id];
        let Some(first) = frame.failed_at else { return };
        // what was stopped from outside is not to blame
        let is_cause = |child: &FrameId| {
            self.frames[*child].failed_at.is_some() && self.frames[*child].stopped.is_none()
        };
        for at in frame.level().filter(|at| *at >= first && frame.is_fatal(*at)) {
            match frame.steps[at].frame.filter(is_cause) {
                Some(child) => self.find_causes(child, causes),
                None => {
                    let ended = frame.steps[at].ended.as_deref();
                    causes.extend(ended.map(|ended| (frame.step_path(at), ended)));
                }
            }
        }
    }
}
