//! Processes that steps left running for later ones, and what became of them. Never ends one.

use std::collections::HashSet;

use super::RunState;
use crate::event::{Event, RunFinished};

/// Steps that left processes running.
#[derive(Clone, Debug, Default)]
pub(super) struct Left {
    /// Those whose processes may be alive, as far as is known.
    alive: HashSet<String>,
    /// Those whose processes ended with a run.
    ended: HashSet<String>,
}

impl Left {
    pub(super) fn take(&mut self, event: &Event) {
        match event {
            Event::StepStarted { path, .. } => {
                self.alive.remove(path);
                self.ended.remove(path);
            }
            Event::StepFinished { path, ended, .. } if ended.left_running => {
                self.alive.insert(path.clone());
            }
            Event::RunFinished(finished) => self.finish(finished),
            // whatever its runner left behind ended with it, or is ended now
            Event::RunResumed(_) => self.ended.extend(self.alive.drain()),
            _ => {}
        }
    }

    fn finish(&mut self, finished: &RunFinished) {
        let Some(steps) = &finished.ended_steps else { return };
        // what stands behind the path is a number, or the name of a hook
        let attempts = steps.iter().filter_map(|step| step.rsplit_once('#'));
        let paths = attempts.filter(|(_, attempt)| attempt.parse::<u32>().is_ok()).map(|(path, _)| path);
        let left: Vec<String> = paths.filter(|path| self.alive.contains(*path)).map(str::to_owned).collect();
        // the others had come to an end of their own
        self.alive.clear();
        self.ended.extend(left);
    }
}

impl RunState {
    /// Whether any step left processes running whose end is not known.
    pub fn has_left_running(&self) -> bool {
        !self.left.alive.is_empty()
    }

    /// Steps whose processes a resume does not find any more, though they were left running for later steps.
    pub(crate) fn deserted(&self) -> Vec<String> {
        let mut paths: Vec<String> = self.left.alive.union(&self.left.ended).cloned().collect();
        paths.sort();
        paths
    }
}
