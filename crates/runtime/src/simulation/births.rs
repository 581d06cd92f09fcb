//! The processes of a world: their start, their actions over time, and their end.

use std::{io, sync::Arc};

use tokio::time::Instant;

use super::{
    child::{Child, OnTerm, Script},
    world::{Call, Death, Fate, World},
};
use crate::os::process::{Exit, Filter, Launch, Marker, ProcessId};

impl World {
    pub(super) fn start(&mut self, launch: Launch) -> io::Result<usize> {
        self.advance();
        self.point("process.start")?;
        let step = launch.marker.step.clone();
        let is_agent = launch.program.as_os_str() == "claude";
        let before = self.children.iter().filter(|child| child.is_main && child.marker == launch.marker);
        let before = before.count();
        let script = (self.manners)(&Call { launch: &launch, is_agent, before });
        if script.refuses {
            return Err(io::Error::from_raw_os_error(11));
        }
        self.tell(|| format!("process: {step} {script:?}"));
        let path = step.split('#').next().unwrap_or_default();
        if self.is_told && !self.cleanup.contains(path) {
            self.complain(format!("`{step}` starts after the run was stopped"));
        }
        let id = ProcessId { pid: 1_900_000_000 + self.children.len() as i32, start_time: 1 };
        let started = self.now();
        let child = Child {
            id,
            marker: launch.marker.clone(),
            is_agent,
            is_main: true,
            life: self.life,
            started,
            exit: None,
            printed: Vec::new(),
            effects: 0,
            stdout: Some(launch.stdout),
            stderr: Some(launch.stderr),
            ended: Arc::default(),
            script: script.clone(),
        };
        self.children.push(child);
        let at = self.children.len() - 1;
        if let Some(on_term) = script.leaves {
            self.leave(launch.marker, on_term);
        }
        self.look_around(at);
        if let Some(Fate::Die(death)) = self.fate("process.started") {
            self.die(death);
            self.died_waiting = false;
        }
        Ok(at)
    }

    /// A process that outlives the one that started it.
    fn leave(&mut self, marker: Marker, on_term: OnTerm) {
        let id = ProcessId { pid: 1_900_000_000 + self.children.len() as i32, start_time: 1 };
        let started = self.now();
        self.children.push(Child {
            id,
            marker,
            is_agent: false,
            is_main: false,
            life: self.life,
            started,
            exit: None,
            printed: Vec::new(),
            effects: 0,
            stdout: None,
            stderr: None,
            ended: Arc::default(),
            script: Script { on_term, ..Script::default() },
        });
    }

    /// Checks limits whenever a process starts.
    fn look_around(&mut self, at: usize) {
        let name = self.children[at].marker.step.clone();
        let working = |child: &&Child| child.is_main && child.is_alive() && child.attempt().is_some();
        // a recovery agent is not a step: its recipe has ended
        let recovers = |child: &Child| child.attempt().is_some_and(|(path, _)| self.recipes.contains(path));
        let steps = self.children.iter().filter(working).filter(|child| !recovers(child)).count();
        let agents = self.children.iter().filter(working).filter(|child| child.is_agent).count();
        let old = self.children.iter().filter(|child| child.is_alive() && child.life < self.life);
        if let Some(old) = old.map(|child| child.marker.step.clone()).next() {
            self.complain(format!("`{name}` starts while `{old}` of an earlier life is alive"));
        }
        if steps > self.room.steps || agents > self.room.agents {
            let room = self.room;
            self.complain(format!("`{name}` starts: {steps} steps and {agents} agents, allowed {room:?}"));
        }
    }

    /// Lets every process act up to the current time, in order of time.
    pub(super) fn advance(&mut self) {
        if self.is_dead() && self.death == Some(Death::Power) {
            return;
        }
        let now = self.now();
        loop {
            let due = self.children.iter().enumerate().filter_map(|(at, child)| Some((child.next()?, at)));
            let Some((_, at)) = due.filter(|(time, _)| *time <= now).min() else { return };
            if self.children[at].act() {
                self.printed.notify_one();
            }
            if let Some((_, exit)) = self.children[at].exit {
                let step = self.children[at].marker.step.clone();
                self.tell(|| format!("process: {step} ends: {exit}"));
            }
        }
    }

    pub(super) fn meant(&self, filter: &Filter) -> impl Iterator<Item = usize> + use<'_> {
        let meant: Vec<usize> = (0..self.children.len())
            .filter(|at| self.children[*at].is_alive() && self.children[*at].is_meant(filter))
            .collect();
        meant.into_iter()
    }

    /// Asks processes to end; `None` if there are no processes, or if the runner is dead.
    pub(super) fn term(&mut self, filter: &Filter) -> Option<Vec<usize>> {
        self.advance();
        if self.is_dead() {
            return None;
        }
        let now = self.now();
        let targets: Vec<usize> = self.meant(filter).collect();
        for at in &targets {
            let step = self.children[*at].marker.step.clone();
            self.tell(|| format!("process: {step} is told to end"));
            self.children[*at].term(now);
        }
        (!targets.is_empty()).then_some(targets)
    }

    pub(super) fn next_end(&mut self, targets: &[usize]) -> Option<Instant> {
        self.advance();
        let next = targets.iter().filter_map(|at| self.children[*at].next()).min();
        next.map(|next| self.instant(next))
    }

    pub(super) fn all_ended(&self, targets: &[usize]) -> bool {
        targets.iter().all(|at| !self.children[*at].is_alive())
    }

    /// Kills a process; returns whether it was alive.
    pub(super) fn kill(&mut self, at: usize) -> bool {
        let now = self.now();
        let is_alive = self.children[at].is_alive() && !self.is_dead();
        if is_alive {
            self.children[at].end(now, Exit::Signal(9));
        }
        is_alive
    }
}
