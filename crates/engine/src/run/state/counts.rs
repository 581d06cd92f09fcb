//! Counting steps against the limits of every recipe around them. Never decides whether a limit is exceeded.

use recipe::plan::Unit;

use super::RunState;
use crate::run::frame::{Frame, FrameId};

impl RunState {
    /// A frame and those around it, the innermost first.
    pub fn lineage(&self, frame: FrameId) -> Vec<&Frame> {
        let around = |frame: &&Frame| frame.parent.map(|(parent, _)| &self.frames[parent]);
        std::iter::successors(Some(&self.frames[frame]), around).collect()
    }

    /// Whether a frame runs a recipe, itself or further up.
    pub fn is_inside(&self, frame: FrameId, unit: &Unit) -> bool {
        self.lineage(frame).iter().any(|frame| frame.unit.path == unit.path)
    }

    /// Counts steps that run.
    pub(crate) fn count(&mut self, id: FrameId, steps: u64) {
        self.count_with(id, |frame| frame.ran += steps);
    }

    /// In a dry run: counts a step that may or may not run.
    pub(super) fn count_perhaps(&mut self, id: FrameId) {
        self.count_with(id, |frame| frame.perhaps_ran += 1);
    }

    fn count_with(&mut self, id: FrameId, count: impl Fn(&mut Frame)) {
        let mut at = Some(id);
        while let Some(id) = at {
            count(&mut self.frames[id]);
            at = self.frames[id].parent.map(|(parent, _)| parent);
        }
    }
}
