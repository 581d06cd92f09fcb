//! What agents used up, as the events tell it. Never counts an attempt twice.

use recipe::plan::StepKind;

use super::RunState;
use crate::event::{Ended, Spawned, Usage};

impl RunState {
    /// Adds what an attempt used up to the run and to every recipe around its step.
    pub(super) fn count_usage(&mut self, path: &str, ended: &Ended) {
        self.started_agents.remove(path);
        if let Some(usage) = &ended.usage {
            self.add_usage(path, usage);
        }
    }

    fn add_usage(&mut self, path: &str, usage: &Usage) {
        self.used.count(usage);
        let mut rest = path;
        while let Some((around, _)) = rest.rsplit_once('/') {
            self.used_below.entry(around.to_owned()).or_default().count(usage);
            rest = around;
        }
    }

    /// An agent whose end nobody saw has run too; what it cost is unknown.
    pub(super) fn count_lost_agents(&mut self) {
        for (path, runs) in std::mem::take(&mut self.started_agents) {
            self.add_usage(&path, &Usage { runs, runs_without_cost: runs, ..Usage::default() });
        }
    }

    /// An agent was started, for an agent step or to recover a recipe step: until its end is known, it counts as
    /// lost.
    pub(super) fn spawned(&mut self, spawned: &Spawned) {
        let is_agent = self.locate(&spawned.path).is_some_and(|(frame, at)| {
            !matches!(self.frames[frame].unit.steps[at].kind, StepKind::Shell { .. })
        });
        if is_agent && spawned.purpose.is_none() {
            *self.started_agents.entry(spawned.path.clone()).or_default() += 1;
        }
    }
}
