//! Finished levels of a recipe: their values, and the failures that stop it. Starts nothing.

use super::RunState;
use crate::run::frame::{ChildResult, FrameId};

impl RunState {
    /// Goes through complete levels: takes over steps that an earlier process finished, puts values into the context,
    /// stops at a fatal failure.
    pub(crate) fn settle(&mut self, id: FrameId) {
        loop {
            let level = self.frames[id].level();
            while self.frames[id].next < level.end && self.adopt(id) {}
            let frame = &self.frames[id];
            if level.is_empty() || frame.next < level.end || frame.open > 0 {
                return;
            }
            let fatal = level.clone().find(|at| frame.is_fatal(*at));
            self.take_values(id, level.clone());
            let frame = &mut self.frames[id];
            if frame.hooks > 0 {
                return;
            }
            if fatal.is_some() {
                frame.failed_at = fatal;
                return;
            }
            frame.advance_to(level.end);
        }
    }

    /// Puts the values of a level into the context, once: hooks after its steps already see them. A failed step that is
    /// not tolerated has no value.
    fn take_values(&mut self, id: FrameId, level: std::ops::Range<usize>) {
        if std::mem::replace(&mut self.frames[id].taken, level.end) == level.end {
            return;
        }
        for at in level {
            if !self.frames[id].is_fatal(at) {
                let child = self.child_result(id, at);
                self.frames[id].take_value(at, child);
            }
        }
    }

    fn child_result(&mut self, id: FrameId, at: usize) -> Option<ChildResult> {
        let step = &self.frames[id].steps[at];
        let (child, recovered, status) = (step.frame?, step.recovered, step.status);
        let frame = &mut self.frames[child];
        Some(ChildResult {
            context: frame.context.clone(),
            below: frame.below.clone(),
            assigned: frame.assigned.clone(),
            introduced: frame.introduced.clone(),
            unknown: frame.unknown.clone(),
            merge: !recovered && (status.is_done() || self.settings.dry_run),
        })
    }
}
