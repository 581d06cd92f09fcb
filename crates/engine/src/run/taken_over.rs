//! Another process takes over a run whose own process is gone, in order to stop it. Cleanup steps that were cut off
//! run again, and keep what was finished inside them. Starts nothing.

use std::collections::HashSet;

use crate::run::{
    live::LiveWork,
    outcome::StepStatus,
    resumed::drop_covered,
    state::{RunState, is_at_or_below},
    step_path::{around, is_below, outward},
};

impl RunState {
    /// None of the work is going on any more.
    pub(crate) fn take_over(&mut self) {
        self.count_lost_agents();
        self.end_work_time();
        self.running = 0;
        self.live = LiveWork { frames_before: self.frames.len(), ..LiveWork::after(self) };
        for id in self.active.clone() {
            self.frames[id].cleanup.iter_mut().for_each(|cleanup| cleanup.open = 0);
        }
        let cut_off = self.cut_off_steps();
        // the outermost step comes first, and takes back those inside it
        for step in self.running_cleanup() {
            match cut_off.iter().any(|path| is_at_or_below(path, &step) && self.is_for_once(path, &step)) {
                true => drop(self.live.abandoned.insert(step)),
                false => self.take_back(&step),
            }
        }
    }

    /// Whether a step, or a recipe step between it and the cleanup step around it, must not simply run again.
    fn is_for_once(&self, path: &str, cleanup: &str) -> bool {
        let mut steps = outward(path).filter(|path| is_at_or_below(path, cleanup));
        steps.any(|path| self.planned(path).is_some_and(|step| !step.idempotent))
    }

    /// Makes a step pending again. Finished steps inside it are kept.
    fn take_back(&mut self, path: &str) {
        let Some((id, at)) = self.locate(path) else { return };
        let step = &mut self.frames[id].steps[at];
        step.status = StepStatus::Pending;
        let child = step.frame.take();
        self.frames[id].open = self.frames[id].open.saturating_sub(1);
        let Some(child) = child else { return };
        // a recipe inside it that has failed only cleans up
        let failed: Vec<String> =
            self.failures_in_cleanup().into_iter().filter(|step| is_below(step, path)).collect();
        let failed: HashSet<&str> = failed.iter().map(String::as_str).collect();
        self.cleaning.extend(failed.iter().filter_map(|step| around(step)).map(str::to_owned));
        let mut kept = std::mem::take(&mut self.kept);
        self.keep(child, &failed, &mut kept);
        drop_covered(&mut kept);
        self.kept = kept;
        self.active.retain(|id| !is_at_or_below(&self.frames[*id].path, path));
        self.by_path.retain(|recipe, _| !is_at_or_below(recipe, path));
    }
}
