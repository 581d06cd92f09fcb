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
    step_path::{around, is_below, split_instance},
};

impl RunState {
    /// Starts again with the current plan, and keeps finished steps that do not run again.
    pub(crate) fn resume(&mut self, plan: &Plan, resumed: &RunResumed) {
        self.count_lost_agents();
        self.keep_work_time(resumed);
        self.note_cut_off();
        let rerun: HashSet<&str> = resumed.rerun.iter().chain(&resumed.cleanup).map(String::as_str).collect();
        let failed: HashSet<&str> = resumed.failed.iter().map(String::as_str).collect();
        self.cleaning = failed.iter().map(|path| around(path).unwrap_or_default().to_owned()).collect();
        // steps that an earlier resume kept and did not reach are still kept
        let mut kept = std::mem::take(&mut self.kept);
        let unreached: Vec<FrameId> = kept.values().filter_map(|step| step.frame).collect();
        unreached.into_iter().for_each(|frame| self.keep(frame, &failed, &mut kept));
        self.keep(0, &failed, &mut kept);
        self.note_failed_checks(kept.iter().filter(|(path, _)| redone(path, &rerun)));
        kept.retain(|path, _| !redone(path, &rerun));
        drop_covered(&mut kept);
        self.skip.retain(|path| !redone(path, &rerun));
        self.unproven.retain(|path, _| !redone(path, &rerun));
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
        self.live = LiveWork { frames_before: old.len() + 1, ..LiveWork::after(self) };
        self.resumes += 1;
        self.close_repair_questions();
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

    /// Finished steps of a frame and of those below it, with the `failed` ones that stay failed. Frames that are no longer
    /// linked (those of a failed attempt that was repeated) do not count.
    pub(crate) fn keep(&self, id: FrameId, failed: &HashSet<&str>, kept: &mut HashMap<String, StepState>) {
        let frame = &self.frames[id];
        for (at, step) in frame.steps.iter().enumerate() {
            let tolerated = frame.is_tolerated(at);
            let is_chosen = step.skipped == Some(SkipReason::Chosen);
            let path = frame.step_path(at);
            let stays_failed = step.status == StepStatus::Failed && failed.contains(path.as_str());
            // the recipe has failed: conditions are not checked again
            let stays_skipped = step.status == StepStatus::Skipped && self.cleaning.contains(&frame.path);
            let is_kept =
                is_chosen || stays_failed || stays_skipped || (tolerated && frame.failed_at != Some(at));
            if step.status.is_done() || is_kept {
                kept.insert(path, step.clone());
            }
            if let Some(child) = step.frame {
                self.keep(child, failed, kept);
            }
        }
    }

    /// The state of a step, or the state that an earlier process left if this one has not reached it yet.
    pub(crate) fn standing(&self, id: FrameId, at: usize) -> Option<&StepState> {
        let frame = &self.frames[id];
        let path = frame.step_path(at);
        let is_current = self.by_path.get(&frame.path) == Some(&id);
        let step = &frame.steps[at];
        // a recipe whose question was withdrawn is pending again, and has finished steps
        let has_begun = is_current && (step.status != StepStatus::Pending || step.frame.is_some());
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
        if !self.frames[id].has_steps(at) {
            return None;
        }
        let path = self.frames[id].step_path(at);
        let is_kept = self.kept.keys().any(|kept| is_below(kept, &path));
        // the last one that was entered: an edit may have changed its recipe since the first one
        self.frames.iter().rposition(|frame| is_kept && frame.path == path)
    }

    /// The recipes that a frame stands for: itself, or those of its instances if it is a loop.
    pub(crate) fn recipes_in(&self, id: FrameId) -> Vec<FrameId> {
        let frame = &self.frames[id];
        match frame.looped {
            None => vec![id],
            Some(_) => (0..frame.steps.len()).filter_map(|at| self.below(id, at)).collect(),
        }
    }

    /// Whether it has a result that would be kept.
    pub(crate) fn is_finished(&self, id: FrameId, at: usize) -> bool {
        let may_fail = |step: &StepState| self.frames[id].may_fail(at, step);
        // a cleanup step runs again at the new end
        self.standing(id, at).filter(|step| !step.is_cleanup).is_some_and(|step| {
            step.status.is_done() || (step.status == StepStatus::Failed && may_fail(step))
        })
    }

    /// The frame and the index of a step, even if this process has not reached it.
    pub(crate) fn find(&self, path: &str) -> Option<(FrameId, usize)> {
        let (mut frame, mut rest) = (0, path);
        while let Some((step, below)) = rest.split_once('/') {
            let (around, at) = self.find_in(frame, step)?;
            frame = self.below(around, at)?;
            rest = below;
        }
        self.find_in(frame, rest)
    }

    /// The step of a frame with this id, or the instance of a step that this text names.
    fn find_in(&self, frame: FrameId, id: &str) -> Option<(FrameId, usize)> {
        if let Some(at) = self.frames[frame].index_of(id) {
            return Some((frame, at));
        }
        let (name, at) = split_instance(id)?;
        let looped = self.below(frame, self.frames[frame].index_of(name)?)?;
        let is_instance = self.frames[looped].looped.is_some() && at < self.frames[looped].steps.len();
        is_instance.then_some((looped, at))
    }

    /// Takes over the next step of the level from before a resume, if it is kept.
    pub(crate) fn adopt(&mut self, id: FrameId) -> bool {
        let at = self.frames[id].next;
        // a loop takes over its instances when it is entered
        let is_done = self.frames[id].looped.is_some() && self.frames[id].steps[at].status.is_final();
        let is_adopted = is_done || (self.has_kept() && self.adopt_step(id, at));
        self.frames[id].next += usize::from(is_adopted);
        is_adopted
    }

    /// Whether steps from before a resume are still to be taken over.
    pub(crate) fn has_kept(&self) -> bool {
        !self.kept.is_empty() || !self.skip.is_empty()
    }

    /// Takes over one step from before a resume, if it is kept.
    pub(crate) fn adopt_step(&mut self, id: FrameId, at: usize) -> bool {
        let path = self.frames[id].step_path(at);
        // it stays in the list: a retry of its recipe skips it too
        if self.skip.contains(&path) {
            let step = &mut self.frames[id].steps[at];
            step.status = StepStatus::Skipped;
            step.skipped = Some(SkipReason::Chosen);
            return true;
        }
        let Some(kept) = self.kept.remove(&path) else { return false };
        let ran = self.ran_in(&kept);
        if let Some(child) = kept.frame {
            self.frames[child].parent = Some((id, at));
            self.find_again(child);
        }
        // what cleaned up in an earlier process is an ordinary result in a recipe that runs again
        let is_cleanup = kept.is_cleanup && self.frames[id].cleanup.is_some();
        self.frames[id].steps[at] = StepState { is_cleanup, ..kept };
        self.count(id, ran);
        true
    }

    /// A recipe that is retried runs all its steps again: results of an earlier process that this one has not reached
    /// may depend on values that change now. They still count as run.
    pub(crate) fn forget_kept(&mut self, recipe: FrameId) {
        let frame = &self.frames[recipe];
        let around = frame.path.clone();
        let ran = self.ran_before(frame);
        self.count(recipe, ran);
        self.kept.retain(|path, _| !is_below(path, &around));
    }

    /// How many steps of a recipe ran before a resume that has not reached them again.
    pub(crate) fn ran_before(&self, frame: &Frame) -> u64 {
        let kept = self.kept.iter().filter(|(path, _)| is_below(path, &frame.path));
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

/// Drops the steps that are kept together with the recipe around them.
pub(crate) fn drop_covered(kept: &mut HashMap<String, StepState>) {
    let covered: Vec<String> = kept.keys().filter(|path| is_covered(path, kept)).cloned().collect();
    covered.iter().for_each(|path| drop(kept.remove(path)));
}

/// Whether a step is kept together with the recipe around it.
fn is_covered(path: &str, kept: &HashMap<String, StepState>) -> bool {
    std::iter::successors(around(path), |path| around(path)).any(|around| kept.contains_key(around))
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
        match around(prefix) {
            Some(up) => prefix = up,
            None => break,
        }
    }
    rerun.iter().any(|named| is_below(named, path))
}
