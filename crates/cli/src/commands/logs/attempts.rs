//! The attempts of a run whose output `logs` shows.

use std::collections::HashSet;

use engine::{
    Event, Record, RunState,
    run::step_path::{is_below, split_instance, with_brackets},
};
use runtime::{
    runs::{StartedAttempt, StartedAttempts},
    store::folder::RunFolder,
};

use crate::report::progress::is_agent;

/// An attempt at a step.
pub(super) struct Attempt {
    pub(super) step: StartedAttempt,
    pub(super) is_over: bool,
    /// Whether commands have checked its work.
    pub(super) is_checked: bool,
    /// Whether its output is for machines.
    pub(super) is_agent: bool,
}

/// All attempts of a run so far.
#[derive(Default)]
pub(super) struct Attempts {
    started: StartedAttempts,
    over: HashSet<(String, u32)>,
    checked: HashSet<(String, u32)>,
}

impl Attempts {
    /// The attempts in these records.
    pub(super) fn of(records: &[Record]) -> Attempts {
        let mut attempts = Attempts::default();
        attempts.take(records);
        attempts
    }

    /// Takes in the next records.
    pub(super) fn take(&mut self, records: &[Record]) {
        for record in records {
            self.started.take(&record.event);
            match &record.event {
                Event::StepFinished { path, attempt, .. } | Event::AttemptFailed { path, attempt, .. } => {
                    self.over.insert((path.clone(), *attempt));
                }
                Event::Spawned(spawned) if spawned.purpose.as_deref() == Some(RunFolder::CHECK) => {
                    self.checked.insert((spawned.path.clone(), spawned.attempt));
                }
                _ => {}
            }
        }
    }

    /// The number of attempts.
    pub(super) fn count(&self) -> usize {
        self.started.list().len()
    }

    /// All of them; only those at a step, or below it, if one is named.
    pub(super) fn all(&self, state: &RunState, step: Option<&str>) -> Vec<Attempt> {
        (0..self.count()).filter_map(|at| self.wanted(at, state, step)).collect()
    }

    /// One of them, if it is at the named step or below it. An instance is named by the number that it has now.
    pub(super) fn wanted(&self, at: usize, state: &RunState, step: Option<&str>) -> Option<Attempt> {
        let started = self.started.list().get(at)?;
        let means =
            |path: &str| step.is_none_or(|step| is_named(path, step) || is_named(path, &with_brackets(step)));
        // an instance whose item is no longer in the list has a number only if no other instance has it
        let is_free = step.is_some_and(|step| state.named(step).is_none());
        let is_wanted = match &started.dropped_from {
            Some(looped) if !is_free => means(looped),
            _ => means(&started.path),
        };
        let key = (started.began_as.clone(), started.attempt);
        is_wanted.then(|| Attempt {
            is_over: self.over.contains(&key),
            is_checked: self.checked.contains(&key),
            is_agent: is_agent(&started.path, state),
            step: started.clone(),
        })
    }
}

/// Whether a step is the one that a name means, or is inside it. A name may leave out the recipes around the step.
fn is_named(path: &str, step: &str) -> bool {
    let ends = |path: &str| path.ends_with(&format!("/{step}"));
    let instance_of = split_instance(path).map(|(looped, _)| looped);
    path == step || is_below(path, step) || ends(path) || instance_of.is_some_and(ends)
}
