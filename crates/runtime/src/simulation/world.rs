//! The simulated outside: its clock, its processes, its disk, and what goes wrong in it.

use std::{
    collections::VecDeque,
    fs::File,
    io::{self, Write},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use tokio::{sync::Notify, time::Instant};

use super::{
    chance::Chance,
    child::{Child, Script},
    disk::Disk,
};
use crate::{
    drive::Halt,
    process::{Exit, Filter, Launch, ProcessId},
};

/// How the runner dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Death {
    /// What was written stays, and so do the processes that it started.
    Kill,
    /// What was not synced is lost, and every process is gone.
    Power,
}

/// What becomes of the runner at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Die(Death),
    /// The system says no, with this number.
    Fail(i32),
}

/// What a process is asked to be.
pub(super) struct Call<'a> {
    pub(super) launch: &'a Launch,
    pub(super) is_agent: bool,
    /// How many processes were started under the same name before.
    pub(super) before: usize,
}

/// How processes behave.
pub(super) type Manners = Box<dyn FnMut(&Call<'_>) -> Script>;

/// Most processes at a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    pub(super) steps: usize,
    pub(super) agents: usize,
}

pub(super) struct World {
    pub(super) chance: Chance,
    pub(super) home: PathBuf,
    pub(super) manners: Manners,
    pub(super) room: Room,
    pub(super) children: Vec<Child>,
    pub(super) disk: Disk,
    /// Signals that reach the runner, in order.
    pub(super) halts: VecDeque<(Duration, Halt)>,
    /// What happens at which point, counted from the beginning of a life.
    pub(super) fates: Vec<(u64, Fate)>,
    /// When the runner dies, whatever it does then.
    pub(super) killer: Option<(Duration, Death)>,
    pub(super) death: Option<Death>,
    /// Whether it died between two points, while everybody waited.
    pub(super) died_waiting: bool,
    pub(super) is_hung: bool,
    /// Whether the system said no in this life.
    pub(super) was_refused: bool,
    pub(super) hits: Vec<&'static str>,
    pub(super) life: usize,
    pub(super) boots: u32,
    pub(super) ids: u32,
    pub(super) printed: Arc<Notify>,
    pub(super) is_told: bool,
    pub(super) trace: Option<Vec<String>>,
    pub(super) broken: Vec<String>,
    died: Arc<Notify>,
    base: Duration,
    now: Duration,
    began: Option<Instant>,
}

/// What every system call of a dead runner comes to.
pub(super) fn dead() -> io::Error {
    io::Error::other("the runner is dead")
}

impl World {
    pub(super) fn new(seed: u64, home: PathBuf, manners: Manners) -> World {
        World {
            chance: Chance::of(seed, "world"),
            home,
            manners,
            room: Room { steps: usize::MAX, agents: usize::MAX },
            children: Vec::new(),
            disk: Disk::default(),
            halts: VecDeque::new(),
            fates: Vec::new(),
            killer: None,
            death: None,
            died_waiting: false,
            is_hung: false,
            was_refused: false,
            hits: Vec::new(),
            life: 0,
            boots: 1,
            ids: 0,
            printed: Arc::default(),
            is_told: false,
            trace: None,
            broken: Vec::new(),
            died: Arc::default(),
            base: Duration::ZERO,
            now: Duration::ZERO,
            began: None,
        }
    }

    /// The simulated time; it stands still while no event loop runs.
    pub(super) fn now(&mut self) -> Duration {
        if let (Some(began), Ok(_)) = (self.began, tokio::runtime::Handle::try_current()) {
            self.now = self.base + (Instant::now() - began);
        }
        self.now
    }

    /// A simulated time as the event loop counts it.
    pub(super) fn instant(&self, at: Duration) -> Instant {
        self.began.unwrap_or_else(Instant::now) + at.saturating_sub(self.base)
    }

    pub(super) fn begin_loop(&mut self) -> (Arc<Notify>, Option<(Instant, Death)>) {
        self.base = self.now;
        self.began = Some(Instant::now());
        let killer = self.killer.map(|(at, death)| (self.instant(at), death));
        (Arc::clone(&self.died), killer)
    }

    /// Time passes while nobody works on the run.
    pub(super) fn pass(&mut self, time: Duration) {
        self.now += time;
        self.began = None;
        self.advance();
    }

    pub(super) fn tell(&mut self, what: impl FnOnce() -> String) {
        let now = self.now();
        if let Some(trace) = &mut self.trace {
            trace.push(format!("{:>12.3}  {}", now.as_secs_f64(), what()));
        }
    }

    /// A law is broken.
    pub(super) fn complain(&mut self, what: String) {
        self.tell(|| format!("BROKEN: {what}"));
        self.broken.push(what);
    }

    pub(super) fn is_dead(&self) -> bool {
        self.death.is_some()
    }

    pub(super) fn die(&mut self, death: Death) {
        if self.is_dead() {
            return;
        }
        self.advance();
        self.tell(|| format!("the runner dies: {death:?}"));
        self.died_waiting = true;
        self.death = Some(death);
        let now = self.now();
        if death == Death::Power {
            self.boots += 1;
            self.children.iter_mut().filter(|child| child.is_alive()).for_each(|child| {
                child.end(now, Exit::Signal(9));
            });
        }
        self.died.notify_one();
    }

    fn fate(&mut self, name: &'static str) -> Option<Fate> {
        self.hits.push(name);
        assert!(self.hits.len() < 100_000, "the runner goes round in circles at {name}");
        let hit = self.hits.len() as u64;
        let fate = self.fates.iter().find(|(at, _)| *at == hit).map(|(_, fate)| *fate);
        if let Some(fate) = fate {
            self.tell(|| format!("{fate:?} at {name}, hit {hit}"));
        }
        fate
    }

    pub(super) fn point(&mut self, name: &'static str) -> io::Result<()> {
        if self.is_dead() {
            return Err(dead());
        }
        match self.fate(name) {
            None => Ok(()),
            Some(Fate::Fail(number)) => {
                self.was_refused = true;
                Err(io::Error::from_raw_os_error(number))
            }
            Some(Fate::Die(death)) => {
                self.die(death);
                self.died_waiting = false;
                Err(dead())
            }
        }
    }

    pub(super) fn write(&mut self, name: &'static str, file: &mut File, bytes: &[u8]) -> io::Result<()> {
        let was_alive = !self.is_dead();
        let done = self.point(name);
        if was_alive && self.is_dead() {
            let torn = self.chance.below(bytes.len() as u64 + 1) as usize;
            file.write_all(&bytes[..torn])?;
        }
        done
    }

    pub(super) fn next_halt(&mut self) -> Option<Instant> {
        self.halts.front().map(|(at, _)| self.instant(*at))
    }

    pub(super) fn take_halt(&mut self) -> Halt {
        let (_, halt) = self.halts.pop_front().expect("a signal is due");
        self.tell(|| format!("signal: {halt:?}"));
        if halt == Halt::Cancel {
            let runs = std::fs::read_dir(self.home.join("runs")).into_iter().flatten().flatten();
            for run in runs.filter(|run| !run.file_name().to_string_lossy().starts_with('.')) {
                std::fs::write(run.path().join("inbox/cancel"), "cancel\n").expect("a request can be left");
            }
        }
        self.is_told = true;
        halt
    }

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
        if self.is_told {
            self.complain(format!("`{step}` starts after the run was told to stop"));
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
    fn leave(&mut self, marker: crate::process::Marker, on_term: super::child::OnTerm) {
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

    /// Limits that must hold whenever a process is started.
    fn look_around(&mut self, at: usize) {
        let name = self.children[at].marker.step.clone();
        let working = |child: &&Child| child.is_main && child.is_alive() && child.attempt().is_some();
        let steps = self.children.iter().filter(working).count();
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

    /// Lets every process do what it has done by now, in the order of time.
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

    /// Tells processes to end; `None` if there are none, or nobody to tell them.
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

    /// Kills a process; says whether it was alive.
    pub(super) fn kill(&mut self, at: usize) -> bool {
        let now = self.now();
        let is_alive = self.children[at].is_alive() && !self.is_dead();
        if is_alive {
            self.children[at].end(now, Exit::Signal(9));
        }
        is_alive
    }

    /// The runner is gone: what a power loss takes is taken, and another life may begin.
    pub(super) fn settle(&mut self) -> Option<Death> {
        self.advance();
        let death = self.death.take();
        if death == Some(Death::Power) {
            self.disk.lose_power(&self.home, &mut self.chance);
        }
        self.died = Arc::default();
        self.printed = Arc::default();
        self.began = None;
        self.is_told = false;
        self.halts.clear();
        self.fates.clear();
        self.killer = None;
        self.hits.clear();
        self.life += 1;
        death
    }
}
