//! A run that goes on in another process: what was done is taken over, everything else begins anew.
//!
//! Never decides what has to be done again: the event says so.

use std::collections::{HashMap, HashSet};

use recipe::plan::Plan;

use crate::run::{
    event::RunResumed,
    frame::{Frame, FrameId, StepState},
    outcome::{SkipReason, StepStatus},
    state::RunState,
};

impl RunState {
    /// Begins anew with the plan that is in force, and keeps what was done and is not to be done again.
    pub(crate) fn resume(&mut self, plan: &Plan, resumed: &RunResumed) {
        let rerun: HashSet<&str> = resumed.rerun.iter().map(String::as_str).collect();
        // what an earlier resume kept and had not come to is kept still
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
        self.resumes += 1;
        self.settings.given.extend(crate::run::override_values::read(&resumed.given));
        // settling the root may look into any of the earlier frames
        let root = self.new_root(plan);
        self.frames.push(root);
        self.frames.append(&mut old);
        self.by_path.insert(String::new(), 0);
        self.active.push(0);
        self.settle(0);
    }

    /// How many steps of the recipe are done, with those that a resume has kept and not come to yet.
    pub fn kept_steps(&self) -> usize {
        let root = self.root();
        let is_kept =
            |at: &usize| root.steps[*at].status.is_done() || self.kept.contains_key(&root.step_path(*at));
        (0..root.steps.len()).filter(is_kept).count()
    }

    /// What is done in a frame and below it. Frames that nothing leads to any more (those of an attempt that
    /// failed and was repeated) do not count.
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

    /// A step as it stands, or as an earlier process left it if this one has not come to it yet.
    pub(crate) fn standing(&self, id: FrameId, at: usize) -> Option<&StepState> {
        let frame = &self.frames[id];
        let path = frame.step_path(at);
        let is_current = self.by_path.get(&frame.path) == Some(&id);
        let has_begun = is_current && frame.steps[at].status != StepStatus::Pending;
        // what is kept as a whole is kept as it ended
        match has_begun || is_covered(&path, &self.kept) {
            true => Some(&frame.steps[at]),
            false => self.kept.get(&path),
        }
    }

    /// The nested recipe of a step, also if only an earlier process entered it and something in it is kept.
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

    /// Whether there is a result that would be kept.
    pub(crate) fn is_finished(&self, id: FrameId, at: usize) -> bool {
        let may_fail = |step: &StepState| self.frames[id].may_fail(at, step);
        self.standing(id, at).is_some_and(|step| {
            step.status.is_done() || (step.status == StepStatus::Failed && may_fail(step))
        })
    }

    /// The frame and the index of a step, also of one that this process has not come to.
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
        // it stays in the list: another try of its recipe leaves it out too
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

    /// A recipe that is tried again does all of its steps again: what an earlier process did in it, and this one has not
    /// come to, may rest on values that change now. It did run, and counts.
    pub(crate) fn forget_kept(&mut self, recipe: FrameId) {
        let frame = &self.frames[recipe];
        let below = format!("{}/", frame.path);
        let ran = self.ran_before(frame);
        self.count(recipe, ran);
        self.kept.retain(|path, _| !path.starts_with(&below));
    }

    /// How many steps ran in a recipe before a resume that has not come to them again.
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

    /// Makes the steps of a kept nested recipe known by their paths.
    fn find_again(&mut self, id: FrameId) {
        self.by_path.insert(self.frames[id].path.clone(), id);
        let below: Vec<FrameId> = self.frames[id].steps.iter().filter_map(|step| step.frame).collect();
        below.into_iter().for_each(|child| self.find_again(child));
    }
}

/// A frame of an earlier process: nothing goes on in it, and it stands one place further back.
fn move_up(frame: &mut Frame) {
    frame.closed = true;
    frame.parent = frame.parent.map(|(parent, at)| (parent + 1, at));
    for step in &mut frame.steps {
        step.frame = step.frame.map(|child| child + 1);
    }
}

/// Whether a step is kept with the recipe around it.
fn is_covered(path: &str, kept: &HashMap<String, StepState>) -> bool {
    path.match_indices('/').any(|(end, _)| kept.contains_key(&path[..end]))
}

/// Whether a step is to be done again: it is named, stands below a named one, or above one.
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
