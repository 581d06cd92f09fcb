//! A resume from a step that a person names: the step and everything after it run again. Never looks at a failure.

use super::Work;
use crate::run::{frame::FrameId, state::RunState, step_path::around};

impl Work<'_> {
    /// Runs everything from this step on again.
    pub(super) fn from(&mut self, from: &str) {
        self.anchor = Some(from.to_owned());
        let state = self.request.state;
        let Some((id, at)) = state.find(from) else { return };
        let mut outer = places_around(state, from);
        // a tolerated failure is rerun only on explicit request
        let is_inside = outer.clone().any(|(id, at)| state.is_finished(id, at));
        if is_inside || self.has_left(id, at) {
            self.reasons.entry(state.frames[id].step_path(at)).or_insert_with(|| "asked for".to_owned());
        }
        let mut here = Some((id, at));
        while let Some((id, at)) = here {
            for later in self.after(id, at) {
                self.redo_later(id, later, from);
            }
            here = outer.next();
        }
    }

    /// Runs a step again that comes after the named one, with everything inside it. Completed instances of a `for_each`
    /// are kept if their inputs do not change.
    fn redo_later(&mut self, id: FrameId, at: usize, from: &str) {
        if !self.has_left(id, at) {
            return;
        }
        let state = self.request.state;
        let step = &state.frames[id].unit.steps[at];
        let reason = || format!("it comes after `{from}`");
        self.again(state.frames[id].step_path(at), step, reason());
        if let Some(looped) = state.below(id, at).filter(|_| step.each().is_some()) {
            let instances = 0..state.frames[looped].steps.len();
            let open = instances.filter(|at| !state.is_finished(looped, *at) && self.has_left(looped, *at));
            let open: Vec<String> = open.map(|at| state.frames[looped].step_path(at)).collect();
            for path in open {
                self.reasons.entry(path).or_insert_with(reason);
            }
        }
    }

    /// Whether a resume would keep something of a step: its result, results inside it, or work that is not proven yet.
    fn has_left(&self, id: FrameId, at: usize) -> bool {
        let state = self.request.state;
        let inside = |child: FrameId| (0..state.frames[child].steps.len()).any(|at| self.has_left(child, at));
        state.is_finished(id, at)
            || state.awaits_proof(&state.frames[id].step_path(at))
            || state.below(id, at).is_some_and(inside)
    }

    /// The steps of a recipe that come after one: in a graph, those that need it.
    fn after(&mut self, id: FrameId, at: usize) -> Vec<usize> {
        let frame = &self.request.state.frames[id];
        if frame.looped.is_some() {
            // instances of a `for_each` do not depend on each other
            let end = if frame.each().is_some() { at + 1 } else { frame.steps.len() };
            return (at + 1..end).collect();
        }
        let graph = self.graph(id).filter(|graph| graph.unit.is_graph);
        let Some(graph) = graph else { return (at + 1..frame.steps.len()).collect() };
        let start = graph.unit.steps.iter().position(|step| step.id == frame.unit.steps[at].id);
        let after = start.map(|start| graph.ways().followers(start)).unwrap_or_default();
        after.into_iter().filter_map(|index| frame.index_of(&graph.unit.steps[index].id)).collect()
    }
}

/// The steps around a step, the innermost first.
fn places_around<'a>(
    state: &'a RunState,
    path: &'a str,
) -> impl Iterator<Item = (FrameId, usize)> + Clone + 'a {
    std::iter::successors(around(path), |path| around(path)).filter_map(|path| state.find(path))
}
