//! Continuing a run in another process: finished steps are kept, everything else starts again.
//!
//! Never decides what runs again: the event says so.

use std::collections::{HashMap, HashSet};

use recipe::plan::Plan;

use crate::run::{
    event::RunResumed,
    frame::{Frame, FrameId, StepState},
    live::LiveWork,
    outcome::{SkipReason, StepStatus},
    state::RunState,
};

impl RunState {
    /// Starts again with the current plan, and keeps finished steps that do not run again.
    pub(crate) fn resume(&mut self, plan: &Plan, resumed: &RunResumed) {
        let rerun: HashSet<&str> = resumed.rerun.iter().map(String::as_str).collect();
        // steps that an earlier resume kept and did not reach are still kept
        let mut kept = std::mem::take(&mut self.kept);
        let unreached: Vec<FrameId> = kept.values().filter_map(|step| step.frame).collect();
        unreached.into_iter().for_each(|frame| self.keep(frame, &mut kept));
        self.keep(0, &mut kept);
        kept.retain(|path, _| !redone(path, &rerun));
        let covered: Vec<String> = kept.keys().filter(|path| is_covered(path, &kept)).cloned().collect();
        covered.iter().for_each(|path| drop(kept.remove(path)));
        self.skip.retain(|path| !redone(path, &rerun));
        self.skip.extend(resumed.skip.iter().cloned());
        let mut old = std::mem::take(&mut self.frames);
        // the new root comes first, so all earlier frames move up by one
        old.iter_mut().for_each(move_up);
        for step in kept.values_mut() {
            step.frame = step.frame.map(|frame| frame + 1);
        }
        self.kept = kept;
        self.by_path.clear();
        self.active.clear();
        self.running = 0;
        self.finished = None;
        self.finished_at = None;
        self.live = LiveWork {
            used_before: self.used.clone(),
            used_below_before: self.used_below.clone(),
            ..LiveWork::default()
        };
        self.resumes += 1;
        self.settings.given.extend(crate::run::override_values::read(&resumed.given));
        // settling the root may look into any earlier frame
        let root = self.new_root(plan);
        self.frames.push(root);
        self.frames.append(&mut old);
        self.by_path.insert(String::new(), 0);
        self.active.push(0);
        self.settle(0);
    }

    /// How many steps of the recipe are done, including kept ones that were not reached yet.
    pub fn kept_steps(&self) -> usize {
        let root = self.root();
        let is_kept =
            |at: &usize| root.steps[*at].status.is_done() || self.kept.contains_key(&root.step_path(*at));
        (0..root.steps.len()).filter(is_kept).count()
    }

    /// Finished steps of a frame and of those below it. Frames that are no longer linked (those of a failed attempt
    /// that was repeated) do not count.
    fn keep(&self, id: FrameId, kept: &mut HashMap<String, StepState>) {
        let frame = &self.frames[id];
        for (at, step) in frame.steps.iter().enumerate() {
            let tolerated = frame.is_tolerated(at);
            let is_chosen = step.skipped == Some(SkipReason::Chosen);
            if step.status.is_done() || is_chosen || (tolerated && frame.failed_at != Some(at)) {
                kept.insert(frame.step_path(at), step.clone());
            }
            if let Some(child) = step.frame {
                self.keep(child, kept);
            }
        }
    }

    /// The state of a step, or the state that an earlier process left if this one has not reached it yet.
    pub(crate) fn standing(&self, id: FrameId, at: usize) -> Option<&StepState> {
        let frame = &self.frames[id];
        let path = frame.step_path(at);
        let is_current = self.by_path.get(&frame.path) == Some(&id);
        let has_begun = is_current && frame.steps[at].status != StepStatus::Pending;
        // a step that is kept as a whole keeps its end
        match has_begun || is_covered(&path, &self.kept) {
            true => Some(&frame.steps[at]),
            false => self.kept.get(&path),
        }
    }

    /// The sub-recipe of a step, even if only an earlier process entered it and some of its steps are kept.
    pub(crate) fn below(&self, id: FrameId, at: usize) -> Option<FrameId> {
        if let Some(child) = self.standing(id, at).and_then(|step| step.frame) {
            return Some(child);
        }
        if !self.frames[id].is_nested(at) {
            return None;
        }
        let path = self.frames[id].step_path(at);
        let below = format!("{path}/");
        let is_kept = self.kept.keys().any(|kept| kept.starts_with(&below));
        // the last one that was entered: an edit may have changed its recipe since the first one
        self.frames.iter().rposition(|frame| is_kept && frame.path == path)
    }

    /// Whether it has a result that would be kept.
    pub(crate) fn is_finished(&self, id: FrameId, at: usize) -> bool {
        let may_fail = |step: &StepState| self.frames[id].may_fail(at, step);
        self.standing(id, at).is_some_and(|step| {
            step.status.is_done() || (step.status == StepStatus::Failed && may_fail(step))
        })
    }

    /// The frame and the index of a step, even if this process has not reached it.
    pub(crate) fn find(&self, path: &str) -> Option<(FrameId, usize)> {
        let (mut frame, mut rest) = (0, path);
        while let Some((step, below)) = rest.split_once('/') {
            frame = self.below(frame, self.frames[frame].index_of(step)?)?;
            rest = below;
        }
        Some((frame, self.frames[frame].index_of(rest)?))
    }

    /// Takes over the next step of the level from before a resume, if it is kept.
    pub(crate) fn adopt(&mut self, id: FrameId) -> bool {
        if self.kept.is_empty() && self.skip.is_empty() {
            return false;
        }
        let at = self.frames[id].next;
        let path = self.frames[id].step_path(at);
        // it stays in the list: a retry of its recipe skips it too
        if self.skip.contains(&path) {
            let step = &mut self.frames[id].steps[at];
            step.status = StepStatus::Skipped;
            step.skipped = Some(SkipReason::Chosen);
            self.frames[id].next += 1;
            return true;
        }
        let Some(kept) = self.kept.remove(&path) else { return false };
        let ran = self.ran_in(&kept);
        if let Some(child) = kept.frame {
            self.frames[child].parent = Some((id, at));
            self.find_again(child);
        }
        self.frames[id].steps[at] = kept;
        self.frames[id].next += 1;
        self.count(id, ran);
        true
    }

    /// A recipe that is retried runs all its steps again: results of an earlier process that this one has not reached
    /// may depend on values that change now. They still count as run.
    pub(crate) fn forget_kept(&mut self, recipe: FrameId) {
        let frame = &self.frames[recipe];
        let below = format!("{}/", frame.path);
        let ran = self.ran_before(frame);
        self.count(recipe, ran);
        self.kept.retain(|path, _| !path.starts_with(&below));
    }

    /// How many steps of a recipe ran before a resume that has not reached them again.
    pub(crate) fn ran_before(&self, frame: &Frame) -> u64 {
        let below = if frame.path.is_empty() { String::new() } else { format!("{}/", frame.path) };
        let kept = self.kept.iter().filter(|(path, _)| path.starts_with(&below));
        kept.map(|(_, step)| self.ran_in(step)).sum()
    }

    fn ran_in(&self, step: &StepState) -> u64 {
        match step.frame {
            Some(child) => self.frames[child].ran,
            None => u64::from(step.counted),
        }
    }

    /// Registers the steps of a kept sub-recipe by their paths.
    fn find_again(&mut self, id: FrameId) {
        self.by_path.insert(self.frames[id].path.clone(), id);
        let below: Vec<FrameId> = self.frames[id].steps.iter().filter_map(|step| step.frame).collect();
        below.into_iter().for_each(|child| self.find_again(child));
    }
}

/// Updates a frame of an earlier process: it is inactive, and its index grows by one.
fn move_up(frame: &mut Frame) {
    frame.closed = true;
    frame.parent = frame.parent.map(|(parent, at)| (parent + 1, at));
    for step in &mut frame.steps {
        step.frame = step.frame.map(|child| child + 1);
    }
}

/// Whether a step is kept together with the recipe around it.
fn is_covered(path: &str, kept: &HashMap<String, StepState>) -> bool {
    path.match_indices('/').any(|(end, _)| kept.contains_key(&path[..end]))
}

/// Whether a step runs again: it is named, below a named one, or above one.
fn redone(path: &str, rerun: &HashSet<&str>) -> bool {
    if rerun.is_empty() {
        return false;
    }
    let mut prefix = path;
    loop {
        if rerun.contains(prefix) {
            return true;
        }
        match prefix.rsplit_once('/') {
            Some((up, _)) => prefix = up,
            None => break,
        }
    }
    let below = format!("{path}/");
    rerun.iter().any(|named| named.starts_with(&below))
}
