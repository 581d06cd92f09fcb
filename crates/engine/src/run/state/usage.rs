//! Usage of agents, according to the events. Never counts an attempt twice.

use recipe::plan::StepKind;

use super::RunState;
use crate::run::event::{Ended, Spawned, Usage};

/// The key of repair agents: they count in the run, but in none of its recipes.
const REPAIR: &str = "";

impl RunState {
    /// Adds the usage of an attempt to the run and to every recipe around its step.
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

    /// Counts agent calls whose end was not seen; their cost is unknown.
    pub(crate) fn count_lost_agents(&mut self) {
        for (path, runs) in std::mem::take(&mut self.started_agents) {
            self.add_usage(&path, &Usage { runs, runs_without_cost: runs, ..Usage::default() });
        }
    }

    /// Adds the usage of a repair.
    pub(super) fn count_repair(&mut self, usage: &Usage) {
        self.started_agents.remove(REPAIR);
        self.used.count(usage);
    }

    /// Ends the repair. Counts its agent calls whose end was not seen.
    pub(super) fn count_lost_repair(&mut self) {
        if let Some(runs) = self.started_agents.remove(REPAIR) {
            self.used.count(&Usage { runs, runs_without_cost: runs, ..Usage::default() });
        }
    }

    /// Notes a started agent of an agent step, a recovery or a repair: it counts as lost until its end is known.
    pub(super) fn spawned(&mut self, spawned: &Spawned) {
        if self.repair.is_some() && spawned.purpose.as_deref() == Some("repair") {
            *self.started_agents.entry(REPAIR.to_owned()).or_default() += 1;
            return;
        }
        let is_agent = self.locate(&spawned.path).is_some_and(|(frame, at)| {
            !matches!(self.frames[frame].unit.steps[at].kind, StepKind::Shell { .. })
        });
        if is_agent && spawned.purpose.is_none() {
            *self.started_agents.entry(spawned.path.clone()).or_default() += 1;
        }
    }
}
