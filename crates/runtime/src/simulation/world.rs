//! The simulated world: its clock, its processes, its disk, and its faults.

use std::{
    collections::{BTreeSet, VecDeque},
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
    letters::Letters,
};
use crate::{
    os::process::{Exit, Launch},
    run::Halt,
};

/// How the runner dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Death {
    /// Written bytes stay, and so do the processes that it started.
    Kill,
    /// Unsynced bytes are lost, and every process is gone.
    Power,
}

/// What happens to the runner at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Die(Death),
    /// The system returns this error number.
    Fail(i32),
}

/// A request for a process.
pub(super) struct Call<'a> {
    pub(super) launch: &'a Launch,
    pub(super) is_agent: bool,
    /// How many processes of the same name were started before.
    pub(super) before: usize,
}

/// The behaviour of processes.
pub(super) type Manners = Box<dyn FnMut(&Call<'_>) -> Script>;

/// The most processes at a time.
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
    /// A person who answers while the runner lives.
    pub(super) letters: Option<Letters>,
    /// The fates by point, counted from the beginning of a life.
    pub(super) fates: Vec<(u64, Fate)>,
    /// The time at which the runner dies, whatever it does then.
    pub(super) killer: Option<(Duration, Death)>,
    pub(super) death: Option<Death>,
    /// Whether it died between two points, while every task waited.
    pub(super) died_waiting: bool,
    pub(super) is_hung: bool,
    /// Whether the system returned an error in this life.
    pub(super) was_refused: bool,
    pub(super) hits: Vec<&'static str>,
    /// The points that the life before this one passed.
    pub(super) passed: Vec<&'static str>,
    pub(super) life: usize,
    pub(super) boots: u32,
    pub(super) ids: u32,
    pub(super) printed: Arc<Notify>,
    pub(super) is_told: bool,
    pub(super) trace: Option<Vec<String>>,
    pub(super) broken: Vec<String>,
    /// Steps that have entered a recipe.
    pub(super) recipes: BTreeSet<String>,
    /// Steps that may start after the run was stopped.
    pub(super) cleanup: BTreeSet<String>,
    died: Arc<Notify>,
    base: Duration,
    now: Duration,
    began: Option<Instant>,
}

/// The error of every system call of a dead runner.
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
            letters: None,
            fates: Vec::new(),
            killer: None,
            death: None,
            died_waiting: false,
            is_hung: false,
            was_refused: false,
            hits: Vec::new(),
            passed: Vec::new(),
            life: 0,
            boots: 1,
            ids: 0,
            printed: Arc::default(),
            is_told: false,
            trace: None,
            broken: Vec::new(),
            recipes: BTreeSet::new(),
            cleanup: BTreeSet::new(),
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

    /// A simulated time as an instant of the event loop.
    pub(super) fn instant(&self, at: Duration) -> Instant {
        self.began.unwrap_or_else(Instant::now) + at.saturating_sub(self.base)
    }

    pub(super) fn begin_loop(&mut self) -> (Arc<Notify>, Option<(Instant, Death)>) {
        self.base = self.now;
        self.began = Some(Instant::now());
        let killer = self.killer.map(|(at, death)| (self.instant(at), death));
        (Arc::clone(&self.died), killer)
    }

    /// Lets time pass while no process works on the run.
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

    /// Reports a broken law.
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

    pub(super) fn fate(&mut self, name: &'static str) -> Option<Fate> {
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

    pub(super) fn next_visit(&mut self) -> Option<Instant> {
        self.letters.as_ref().map(|letters| self.instant(letters.next()))
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

    /// Ends a life: applies a power loss, and makes another life possible.
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
        self.is_hung = false;
        self.halts.clear();
        self.fates.clear();
        self.killer = None;
        self.passed = std::mem::take(&mut self.hits);
        self.life += 1;
        death
    }
}
