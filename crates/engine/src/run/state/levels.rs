//! Finished levels of a recipe: their values, and the failures that stop it. Starts nothing.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use recipe::{scope::Final, syntax::When};

use super::RunState;
use crate::run::{
    frame::{ChildResult, Frame, FrameId, StepState},
    outcome::StepStatus,
};

impl RunState {
    /// Goes through complete levels: takes over steps that an earlier process finished, puts values into the context,
    /// stops at a fatal failure.
    pub(crate) fn settle(&mut self, id: FrameId) {
        if self.frames[id].cleanup.is_some() {
            return;
        }
        if self.frames[id].graph.is_some() {
            return self.settle_graph(id);
        }
        loop {
            let level = self.frames[id].level();
            self.adopt_failed_level(id, level.clone());
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
            if let Some(end) = frame.repeat_end(level.start) {
                if let Some(looped) = &mut frame.looped {
                    looped.end = Some(end);
                }
                return;
            }
            frame.advance_to(level.end);
        }
    }

    /// Takes over the level that ended a recipe whose cleanup continues: no other member of it starts.
    fn adopt_failed_level(&mut self, id: FrameId, level: std::ops::Range<usize>) {
        let frame = &self.frames[id];
        let stays_failed = |at: usize| {
            let kept = self.kept.get(&frame.step_path(at));
            kept.is_some_and(|step| step.status == StepStatus::Failed && !frame.may_fail(at, step))
        };
        if self.cleaning.contains(&frame.path) && level.clone().any(stays_failed) {
            self.frames[id].next = level.end;
            for at in level {
                self.adopt_step(id, at);
            }
        }
    }

    /// Puts the values of a level into the context, once: hooks after its steps already see them. A failed step that is
    /// not tolerated has no value.
    fn take_values(&mut self, id: FrameId, level: std::ops::Range<usize>) {
        let is_taken = std::mem::replace(&mut self.frames[id].taken, level.end) == level.end;
        // the value of a `for_each` step is a list, which the step itself gets
        if is_taken || self.frames[id].each().is_some() {
            return;
        }
        for at in level {
            if !self.frames[id].is_fatal(at) {
                let child = self.child_result(id, at);
                self.frames[id].take_value(at, child);
            }
        }
    }

    /// A step of a graph has ended: its value is there at once, and steps that need it may start after its hook.
    pub(super) fn end_in_graph(&mut self, id: FrameId, at: usize, has_hook: bool) {
        let frame = &self.frames[id];
        if frame.graph.is_none() || frame.steps[at].is_cleanup {
            return;
        }
        let is_fatal = frame.is_fatal(at);
        if !is_fatal {
            let child = self.child_result(id, at);
            self.frames[id].take_value(at, child);
        }
        if let Some(graph) = &mut self.frames[id].graph {
            graph.take(at);
            graph.has_failed |= is_fatal;
            if !has_hook {
                graph.release(at);
            }
        }
    }

    /// Takes over steps that an earlier process finished; ends the graph when its steps have ended.
    fn settle_graph(&mut self, id: FrameId) {
        while self.adopt_ready(id) {}
        let frame = &mut self.frames[id];
        let Some(graph) = &frame.graph else { return };
        if frame.open > 0 || frame.hooks > 0 {
            return;
        }
        if graph.has_failed {
            frame.failed_at = (0..frame.steps.len()).find(|at| frame.is_fatal(*at));
        } else if graph.is_done() {
            frame.advance_to(frame.steps.len());
        }
    }

    /// Takes over one step that may start and that is kept.
    fn adopt_ready(&mut self, id: FrameId) -> bool {
        if !self.has_kept() {
            return false;
        }
        let frame = &self.frames[id];
        let Some(graph) = &frame.graph else { return false };
        // after a failure too: it may be a step that stays failed, beside others that are done. Cleanup takes over its own
        let is_meant = |at: &usize| !graph.has_failed || frame.unit.steps[*at].when == When::Ok;
        let ready: Vec<usize> = graph.free_steps().filter(is_meant).collect();
        let adopted = ready.into_iter().find(|at| self.adopt_step(id, *at));
        adopted.into_iter().for_each(|at| self.end_in_graph(id, at, false));
        adopted.is_some()
    }

    /// Puts the value of a cleanup step into the context when the step ends: there are no levels any more.
    pub(crate) fn take_cleanup_value(&mut self, id: FrameId, at: usize) {
        let frame = &self.frames[id];
        let step = &frame.steps[at];
        if step.is_cleanup && (step.status != StepStatus::Failed || frame.may_fail(at, step)) {
            let child = self.child_result(id, at);
            self.frames[id].take_value(at, child);
        }
    }

    fn child_result(&mut self, id: FrameId, at: usize) -> Option<ChildResult> {
        let step = &self.frames[id].steps[at];
        if let (None, Some(context)) = (step.frame, step.left_context()) {
            return Some(ChildResult {
                context: context.clone(),
                below: HashMap::new(),
                assigned: context.keys().cloned().collect(),
                introduced: HashSet::new(),
                unknown: HashSet::new(),
                merge: step.status.is_done(),
                items: None,
            });
        }
        let (child, recovered, status) = (step.frame?, step.recovered, step.status);
        let frame = &self.frames[child];
        let items = frame.each().map(|_| self.finals_of(frame));
        Some(ChildResult {
            context: frame.context.clone(),
            below: frame.below.clone(),
            assigned: frame.assigned.clone(),
            introduced: frame.introduced.clone(),
            unknown: frame.unknown.clone(),
            merge: !recovered && items.is_none() && (status.is_done() || self.settings.dry_run),
            items,
        })
    }

    /// The final contexts of the recipes that the instances of a loop ran; empty if they ran none.
    fn finals_of(&self, frame: &Frame) -> Vec<Option<Arc<Final>>> {
        let recipe = |step: &StepState| step.frame.map(|id| &self.frames[id]);
        let left = |step: &StepState| {
            if let Some(context) = step.left_context().filter(|_| step.status.is_done()) {
                let (context, below) = (context.clone(), HashMap::new());
                return Some(Arc::new(Final { context, below, items: Vec::new() }));
            }
            let recipe = recipe(step).filter(|_| step.status.is_done())?;
            let (context, below) = (recipe.context.clone(), recipe.below.clone());
            Some(Arc::new(Final { context, below, items: Vec::new() }))
        };
        match frame.steps.iter().any(|step| step.frame.is_some() || step.left_context().is_some()) {
            true => frame.steps.iter().map(left).collect(),
            false => Vec::new(),
        }
    }
}
