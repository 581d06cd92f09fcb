//! Processes that steps left running for later ones, and their ends. Never ends one.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::RunState;
use crate::run::{
    event::{Event, RunFinished},
    step_path::is_below,
};

/// Steps that left processes running.
#[derive(Clone, Debug, Default)]
pub(super) struct Left {
    /// Steps whose processes may be alive, as far as is known.
    alive: HashMap<String, Alive>,
    /// Steps whose processes were there for later steps, and ended with a run.
    ended: HashSet<String>,
}

/// The processes that an attempt at a step left running.
#[derive(Clone, Copy, Debug)]
struct Alive {
    attempt: u32,
    /// Whether later steps may rely on it. They do not rely on daemons that a program starts for itself.
    is_for_others: bool,
}

impl Left {
    pub(super) fn take(&mut self, event: &Event) {
        match event {
            Event::StepStarted { path, .. } => {
                self.alive.remove(path);
                self.ended.remove(path);
            }
            Event::StepFinished { path, attempt, ended, .. } if ended.left_running => {
                let alive = Alive { attempt: *attempt, is_for_others: !ended.left_daemons };
                self.alive.insert(path.clone(), alive);
            }
            Event::RunFinished(finished) => self.finish(finished),
            // processes that the runner left behind ended with it, or are ended now
            Event::RunResumed(_) | Event::RunTakenOver { .. } => {
                let missed = self.alive.drain().filter(|(_, alive)| alive.is_for_others);
                self.ended.extend(missed.map(|(path, _)| path));
            }
            _ => {}
        }
    }

    fn finish(&mut self, finished: &RunFinished) {
        let Some(steps) = &finished.ended_steps else { return };
        // the part after the path is a number, or the name of a hook
        let attempts = steps.iter().filter_map(|step| step.rsplit_once('#'));
        let is_last = |(path, attempt): &(&str, &str)| {
            let alive = self.alive.get(*path).filter(|alive| alive.is_for_others);
            attempt.parse::<u32>().is_ok_and(|attempt| alive.is_some_and(|alive| alive.attempt == attempt))
        };
        let left: Vec<String> = attempts.filter(is_last).map(|(path, _)| path.to_owned()).collect();
        // the others had already ended by themselves
        self.alive.clear();
        self.ended.extend(left);
    }
}

impl RunState {
    /// Whether any step left processes running whose end is unknown.
    pub fn has_left_running(&self) -> bool {
        !self.left.alive.is_empty()
    }

    /// Steps inside the recipe of a step whose processes may be alive, as processes are marked (`path#attempt`).
    pub fn left_running_below(&self, path: &str) -> Vec<String> {
        let inside = self.left.alive.iter().filter(|(step, _)| is_below(step, path));
        inside.map(|(step, alive)| format!("{step}#{}", alive.attempt)).collect()
    }

    /// Steps whose processes are gone at a resume, although they were left running for later steps.
    pub(crate) fn deserted(&self) -> Vec<String> {
        let alive = self.left.alive.iter().filter(|(_, alive)| alive.is_for_others);
        let paths: BTreeSet<&String> = alive.map(|(path, _)| path).chain(&self.left.ended).collect();
        paths.into_iter().cloned().collect()
    }
}
