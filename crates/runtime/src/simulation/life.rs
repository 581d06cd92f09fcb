//! A run from its start, through deaths, errors and signals, to its end, as a person would drive it: resumed while it
//! can be resumed.

use std::{
    cell::Cell,
    path::{Path, PathBuf},
    rc::Rc,
    time::Duration,
};

use engine::{
    Event, Record, RunStatus,
    resume::{Effects, Producers, Resumer},
};
use recipe::{
    check::{Given, Loader, check},
    value::Map,
};

use super::{
    chance::Chance,
    install, laws,
    letters::Letters,
    manners::{self, Mood},
    recipes::Shelf,
    watcher::{Care, Watcher},
    with,
    world::{Death, Fate, Room, World},
};
use crate::{
    agents::AgentSettings,
    machine::host::Host,
    report::RunResult,
    run::Halt,
    runs::{Beside, ConcurrencyPolicy, Interrupted, Resume, ResumeError, RunError, Runs, Start},
    store::{
        folder::{AskOptions, Options, Recovery},
        journal,
        sources::Recording,
    },
};

/// The lives in which something may go wrong; later ones are calm.
pub(super) const WILD_LIVES: usize = 3;
/// The most lives of a run.
const MOST_LIVES: usize = 8;

/// A run, and the world around it.
pub(super) struct Story {
    pub(super) shelf: Shelf,
    pub(super) place: PathBuf,
    pub(super) work: PathBuf,
    pub(super) options: Options,
    pub(super) care: Care,
    pub(super) chance: Chance,
    pub(super) mood: Rc<Cell<Mood>>,
    /// The records that are certainly on disk.
    pub(super) known: Vec<Record>,
    /// How many of these survive a power loss.
    safe: usize,
    pub(super) choice: Interrupted,
    pub(super) effects: Effects,
    /// Answers that were taken, by their requests.
    pub(super) answers: Vec<String>,
}

/// How a life ended.
#[derive(Debug)]
pub(super) enum End {
    Finished(Box<RunResult>),
    /// The runner reports why it does not continue.
    Refused(ResumeError),
    Died,
}

impl Story {
    /// A story from a seed. Its world is installed in this thread.
    pub(super) fn by_seed(seed: u64, base: &Path) -> Story {
        let mut chance = Chance::of(seed, "story");
        let options = Options {
            max_parallel: chance.pick(&[1, 2, 3, 64]),
            max_agents: chance.pick(&[None, Some(1), Some(2)]),
            step_timeout: chance.pick(&[None, None, Some(30.0)]),
            no_auto_stage: true,
            recovery: chance.pick(&[Recovery::Declared, Recovery::Always, Recovery::Off]),
            audit_dir: chance.percent(15).then(|| base.join(seed.to_string()).join("audit")),
            ..Options::default()
        };
        let care = if seed.is_multiple_of(32) { Care::All } else { Care::Some };
        let shelf = Shelf::by_seed(seed);
        let letters = Letters::by_seed(seed, &shelf);
        // only with a person who answers, a run that stays comes to its end
        let wait = letters.is_some() && chance.percent(70);
        let options = Options { asking: AskOptions { wait, ..AskOptions::default() }, ..options };
        let story = Story::new(seed, base, shelf, options, care);
        with(|world| world.letters = letters);
        story.mood.set(Mood::Wild);
        story
    }

    pub(super) fn new(seed: u64, base: &Path, shelf: Shelf, options: Options, care: Care) -> Story {
        let place = base.join(seed.to_string());
        let mood = Rc::new(Cell::new(Mood::Calm));
        let mut world = World::new(seed, place.join("state"), manners::by_seed(seed, &mood));
        let agents = options.max_agents.unwrap_or(usize::MAX);
        world.room = Room { steps: options.max_parallel.max(1), agents };
        install(Some(world));
        Story {
            shelf,
            place,
            work: base.to_owned(),
            options,
            care,
            chance: Chance::of(seed, "lives"),
            mood,
            known: Vec::new(),
            safe: 0,
            choice: Interrupted::Ask,
            effects: Effects::Once,
            answers: Vec::new(),
        }
    }

    pub(super) fn runs(&self) -> Runs {
        Runs::at(self.place.join("state"))
    }

    fn host(&self) -> Host {
        let env = [("PATH".into(), self.work.join("bin").into())].into();
        Host {
            env,
            home: None,
            grace: Duration::from_secs(5),
            is_root: false,
            guardian: None,
            named: Vec::new(),
        }
    }

    /// Plays from the start to the end, with whatever the seed brings.
    pub(super) fn play(&mut self) {
        for life in 0..MOST_LIVES {
            if life < WILD_LIVES {
                self.tempt();
            } else {
                self.mood.set(Mood::Calm);
            }
            let end = self.live();
            if self.is_over(life, &end) {
                return laws::check(self);
            }
            if self.chance.percent(80) {
                self.answer(life < WILD_LIVES);
            }
        }
        with(|world| world.complain(format!("after {MOST_LIVES} lives the run has no end")));
    }

    /// May plan something to go wrong in the next life.
    fn tempt(&mut self) {
        let chance = &mut self.chance;
        with(|world| {
            let now = world.now();
            let death = chance.pick(&[Death::Kill, Death::Power]);
            if chance.percent(30) {
                world.fates.push((1 + chance.below(110), Fate::Die(death)));
            }
            if chance.percent(15) {
                world.fates.push((1 + chance.below(110), Fate::Fail(chance.pick(&[28, 5]))));
            }
            if chance.percent(25) {
                world.killer = Some((now + some_time(chance), death));
            }
            if chance.percent(25) {
                let halts = [Halt::Interrupt, Halt::Terminate, Halt::Hangup, Halt::Cancel];
                let at = now + some_time(chance);
                world.halts.push_back((at, chance.pick(&halts)));
                if chance.percent(30) {
                    let again = at + Duration::from_millis(chance.below(7_000));
                    world.halts.push_back((again, chance.pick(&halts)));
                }
            }
        });
    }

    /// Whether the run is not continued.
    fn is_over(&mut self, life: usize, end: &End) -> bool {
        let is_last = life + 1 >= MOST_LIVES;
        match end {
            End::Died => false,
            End::Finished(result) => match result.status {
                RunStatus::Completed => true,
                RunStatus::Failed | RunStatus::Waiting | RunStatus::Cancelled => {
                    is_last || self.chance.percent(if life < WILD_LIVES { 40 } else { 70 })
                }
                _ => false,
            },
            End::Refused(ResumeError::Choose { .. }) => {
                self.choice = self.chance.pick(&[Interrupted::Rerun, Interrupted::Skip]);
                is_last
            }
            End::Refused(ResumeError::Effects { .. }) => {
                self.effects = Effects::Again;
                is_last || self.chance.percent(30)
            }
            End::Refused(ResumeError::Completed(_)) => true,
            End::Refused(_) => false,
        }
    }

    /// One life of the runner.
    pub(super) fn live(&mut self) -> End {
        let mut watcher = Watcher::new(self.place.join("state"), self.care);
        let has_run = self.runs().find("last").is_ok();
        let lived = match has_run {
            false => self.start(&mut watcher).map_err(ResumeError::Run),
            true => self.resume(&mut watcher),
        };
        let waited = with(|world| world.died_waiting);
        if with(|world| world.is_hung) {
            with(|world| world.complain("the run hangs".to_owned()));
        }
        let death = with(World::settle);
        with(|world| world.tell(|| format!("-- {death:?} {:?}", lived.as_ref().map(|result| result.status))));
        self.read_receipts();
        let is_sure = death != Some(Death::Power) || waited;
        self.look_at_disk(&watcher.records, is_sure);
        if death == Some(Death::Power) || (death.is_none() && lived.is_ok()) {
            self.safe = self.known.len();
        }
        let rest = with(|world| {
            let pause = world.chance.below(20_000);
            let alive: Vec<_> = world.children.iter().filter(|child| child.is_alive()).collect();
            let alive: Vec<_> = alive.iter().map(|child| child.marker.step.clone()).collect();
            let has_worked = matches!(lived, Ok(_) | Err(ResumeError::Run(_)));
            if death.is_none() && has_worked && !alive.is_empty() {
                world.complain(format!("the runner ended and these are alive: {alive:?}"));
            }
            pause
        });
        with(|world| world.pass(Duration::from_millis(rest)));
        let was_refused = with(|world| std::mem::take(&mut world.was_refused));
        match lived {
            _ if death.is_some() => End::Died,
            Ok(result) => {
                laws::check_result(self, &result);
                End::Finished(Box::new(result))
            }
            // the disk refused; the user makes room and resumes
            Err(ResumeError::Run(_) | ResumeError::Open(_)) if was_refused => End::Died,
            Err(error) => {
                let has_reason = matches!(
                    error,
                    ResumeError::Choose { .. } | ResumeError::Effects { .. } | ResumeError::Completed(_)
                );
                if !has_reason {
                    with(|world| world.complain(format!("it does not go on: {error}")));
                }
                End::Refused(error)
            }
        }
    }

    /// The same after a moment in which something else was recorded.
    pub(super) fn look_after(&mut self, death: Option<Death>) {
        self.look_at_disk(&[], death.is_none());
        if death != Some(Death::Kill) {
            self.safe = self.known.len();
        }
    }

    /// Checks that every reported record is on disk, and that records on disk do not change.
    fn look_at_disk(&mut self, told: &[Record], is_sure: bool) {
        let Ok(folder) = self.runs().find("last") else {
            if !self.known.is_empty() {
                with(|world| world.complain("the run is gone".to_owned()));
            }
            return;
        };
        let stored = match journal::read(&folder.journal()) {
            Ok(stored) => stored,
            // never synced before the power loss
            Err(_) if !folder.journal().exists() && self.safe == 0 => Vec::new(),
            Err(error) => {
                return with(|world| world.complain(format!("the journal cannot be read: {error}")));
            }
        };
        if !stored.starts_with(&self.known[..self.safe]) {
            with(|world| world.complain("what was on disk has changed".to_owned()));
        }
        let lost = told.iter().find(|record| is_sure && !is_light(record) && !stored.contains(record));
        if let Some(lost) = lost {
            with(|world| world.complain(format!("was told and is lost: {lost:?}")));
        }
        self.known = stored;
    }

    fn start(&mut self, watcher: &mut Watcher) -> Result<RunResult, RunError> {
        let recording = Recording::new(&self.shelf);
        let root = self.shelf.recipe("main", "").expect("there is a recipe");
        recording.root(&root);
        let checked = check(root, &recording, &Given::default());
        let problems: Vec<_> = checked.diagnostics.iter().map(|problem| problem.message.clone()).collect();
        let start = Start {
            plan: checked.plan.unwrap_or_else(|| panic!("the recipe is invalid: {problems:?}")),
            given: Map::new(),
            options: self.options.clone(),
            agents: AgentSettings::default(),
            host: self.host(),
            working_dir: self.work.clone(),
            recording: &recording,
            dry_run: false,
            others: ConcurrencyPolicy::default(),
            request: None,
            origin: None,
        };
        self.runs().start(start, watcher)
    }

    fn resume(&mut self, watcher: &mut Watcher) -> Result<RunResult, ResumeError> {
        let folder = self.runs().find("last").expect("there is a run");
        let is_cancelled = self.chance.percent(12) && self.runs().needs_cleanup(&folder)?;
        let resume = Resume {
            interrupted: self.choice,
            from: None,
            resumer: Resumer::Person { producers: Producers::Linked },
            effects: self.effects,
            plan_digest: None,
            beside: Beside::Refused,
            given: recipe::value::Map::new(),
            edited: None,
            recipe_file: None,
            change: &|_| {},
            restore: &|_, _| Vec::new(),
            agents: AgentSettings::default(),
            host: self.host(),
            loader: &self.shelf,
            origin: None,
        };
        let opened = self.runs().open(folder.clone())?;
        if is_cancelled {
            self.runs().stop_idle(opened, resume, None, watcher)?;
            return Ok(RunResult { evidence: None, ..self.runs().open(folder)?.result() });
        }
        self.runs().resume_opened(opened, resume, watcher)
    }
}

impl Drop for Story {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.place);
    }
}

/// Whether a record is only written, and not synced.
fn is_light(record: &Record) -> bool {
    matches!(record.event, Event::Spawned(_) | Event::Noted { .. })
}

/// A random time in the life of a run, short ones more often.
fn some_time(chance: &mut Chance) -> Duration {
    let most = chance.pick(&[1, 50, 5_000, 20_000, 1_000_000, 8_000_000]);
    Duration::from_millis(chance.below(most))
}
