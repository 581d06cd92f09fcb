//! Iterations of a `repeat` after one that runs again: each sees what the one before it left, so they run again too.

use std::collections::{BTreeMap, HashMap};

use super::Work;
use crate::run::{
    frame::FrameId,
    step_path::{around, instance, split_instance},
};

impl Work<'_> {
    /// Runs all iterations again that come after an iteration in which something runs again.
    pub(super) fn later_iterations(&mut self) {
        let state = self.request.state;
        for (id, first) in self.first_iterations() {
            let frame = &state.frames[id];
            let reason = format!("it comes after `{}`", instance(&frame.path, first));
            for at in (first + 1..frame.steps.len()).filter(|at| self.has_begun(id, *at)).collect::<Vec<_>>()
            {
                self.reasons.entry(instance(&frame.path, at)).or_insert_with(|| reason.clone());
            }
        }
    }

    /// The first iteration of each `repeat` in which something runs again.
    fn first_iterations(&self) -> BTreeMap<FrameId, usize> {
        let state = self.request.state;
        let mut loops: HashMap<&str, Option<FrameId>> = HashMap::new();
        let mut first: BTreeMap<FrameId, usize> = BTreeMap::new();
        for named in self.reasons.keys() {
            for path in std::iter::successors(Some(named.as_str()), |path| around(path)) {
                let Some((looped, at)) = split_instance(path) else { continue };
                let frame = *loops.entry(looped).or_insert_with(|| state.find(path).map(|(id, _)| id));
                if let Some(id) = frame.filter(|id| state.frames[*id].repeat().is_some()) {
                    let known = first.entry(id).or_insert(at);
                    *known = at.min(*known);
                }
            }
        }
        first
    }
}
