//! The state of a run: a fold of its events.
//!
//! It changes only in [`RunState::apply`]. The caller passes the values that an event refers to, so that nothing here
//! reads a file.

mod asked_again;
mod background;
mod causes;
mod counts;
pub(crate) mod effects;
mod interrupted;
mod levels;
mod loops;
mod proof;
mod questions;
mod retry_counts;
mod steps;
mod usage;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use jiff::Timestamp;
use recipe::{
    check::FAILURE,
    plan::Plan,
    syntax::When,
    value::{Map, Value},
};

use crate::run::{
    budget::GivenBudgets,
    ensure::UnprovenWork,
    event::{Ended, Event, Record, RepairBegan, RunFinished, Usage},
    frame::{Frame, FrameId, StepState},
    live::LiveWork,
    outcome::StepStatus,
    question::{AskedQuestion, GivenAnswer},
    ready::ReadySet,
    recipe_step::Recovery,
    retry::RateLimits,
    step_path::{split_instance, with_brackets},
    work_time::WorkTime,
};
pub use asked_again::{AskedAgain, FailedCheck};
pub use effects::ForGood;
pub(crate) use interrupted::{is_at_or_below, timeout_fired};
pub(crate) use loops::VanishedInstance;
pub use loops::{ItemMoves, instance_in};
pub use retry_counts::RetryCounts;
use steps::FinishedStep;

/// The settings of a run besides its recipe.
#[derive(Clone, Debug, Default)]
pub struct RunSettings {
    /// Given context values.
    pub given: Map,
    /// Variables that give values to names of sub-recipes.
    pub ambient: crate::run::env_overrides::EnvOverrides,
    /// Only tagged steps with one of these tags run.
    pub include_tags: Vec<String>,
    /// Steps with one of these tags do not run.
    pub exclude_tags: Vec<String>,
    /// The most steps that run at the same time.
    pub max_parallel: usize,
    /// The most agents that work at the same time.
    pub max_agents: Option<usize>,
    /// Budgets that replace those of recipes.
    pub budgets: GivenBudgets,
    /// What happens when the service of an agent is rate limited.
    pub rate_limits: RateLimits,
    /// Which failed sub-recipes an agent may try to finish.
    pub recovery: Recovery,
    /// Whether this is a dry run.
    pub dry_run: bool,
    /// Answers that were given beforehand, by the paths of the questions.
    pub answers: BTreeMap<String, GivenAnswer>,
    /// Whether the run stays and waits for answers when nothing else can run.
    pub stays: bool,
}

/// The state of a run.
#[derive(Clone, Debug)]
pub struct RunState {
    /// Its settings.
    pub settings: RunSettings,
    /// Its recipes in execution; the first is the recipe of the run.
    pub frames: Vec<Frame>,
    /// Unfinished frames.
    pub active: Vec<FrameId>,
    /// The number of running steps, without recipe steps.
    pub running: usize,
    /// When it began.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// How long processes worked on it.
    pub work: WorkTime,
    /// How it ended.
    pub finished: Option<RunFinished>,
    /// Number of the last attempt at every step, over all resumes.
    pub attempts: HashMap<String, u32>,
    /// Failed attempts, over all resumes.
    pub failures: HashMap<String, Vec<Ended>>,
    /// The usage of agents, over all attempts and resumes.
    pub used: Usage,
    /// The same below every recipe step, by its path.
    pub used_below: HashMap<String, Usage>,
    /// How often it was resumed.
    pub resumes: u32,
    /// An unfinished repair of its recipe.
    pub repair: Option<RepairBegan>,
    /// Its questions, by the paths of the steps that ask.
    pub questions: BTreeMap<String, AskedQuestion>,
    /// The requests whose answers are recorded.
    taken_answers: HashSet<String>,
    /// Agents that were started and whose end is unknown.
    pub(crate) started_agents: HashMap<String, u64>,
    tries: HashMap<String, RetryCounts>,
    last_failed: HashMap<String, u32>,
    left: background::Left,
    /// Finished work whose rules are not known to be met.
    pub unproven: HashMap<String, UnprovenWork>,
    /// Why agents are asked again, by their steps.
    asked_again: HashMap<String, AskedAgain>,
    pub(crate) kept: HashMap<String, StepState>,
    pub(crate) skip: HashSet<String>,
    /// The recipes whose cleanup the last resume continued.
    pub(crate) cleaning: HashSet<String>,
    pub(crate) by_path: HashMap<String, FrameId>,
    pub(crate) live: LiveWork,
}

impl RunState {
    /// A run before its first event.
    pub fn new(plan: &Plan, settings: RunSettings) -> RunState {
        let mut state = RunState {
            settings,
            frames: Vec::new(),
            active: Vec::new(),
            running: 0,
            started_at: None,
            finished_at: None,
            work: WorkTime::default(),
            finished: None,
            attempts: HashMap::new(),
            failures: HashMap::new(),
            used: Usage::default(),
            used_below: HashMap::new(),
            started_agents: HashMap::new(),
            tries: HashMap::new(),
            last_failed: HashMap::new(),
            left: background::Left::default(),
            resumes: 0,
            repair: None,
            unproven: HashMap::new(),
            asked_again: HashMap::new(),
            questions: BTreeMap::new(),
            taken_answers: HashSet::new(),
            kept: HashMap::new(),
            skip: HashSet::new(),
            cleaning: HashSet::new(),
            by_path: HashMap::new(),
            live: LiveWork::default(),
        };
        let root = state.new_root(plan);
        state.open(root);
        state
    }

    /// The frame of the main recipe.
    pub fn root(&self) -> &Frame {
        &self.frames[0]
    }

    /// The frame and the index of a step.
    pub fn locate(&self, path: &str) -> Option<(FrameId, usize)> {
        let (around, id) = path.rsplit_once('/').unwrap_or(("", path));
        let step = |frame: FrameId| Some((frame, self.frames[frame].index_of(id)?));
        if let Some(found) = self.by_path.get(around).copied().and_then(step) {
            return Some(found);
        }
        let (looped, at) = split_instance(path)?;
        let frame = *self.by_path.get(looped)?;
        let instances = self.frames[frame].looped.as_ref().map_or(0, |_| self.frames[frame].steps.len());
        (at < instances).then_some((frame, at))
    }

    /// The place of a step in the loop that it is an instance of, or else in the nearest `for_each` around it.
    pub fn instance_at(&self, path: &str) -> Option<usize> {
        let (mut frame, mut at) = self.locate(path)?;
        if self.frames[frame].looped.is_some() {
            return Some(at);
        }
        loop {
            (frame, at) = self.frames[frame].parent?;
            if self.frames[frame].each().is_some() {
                return Some(at);
            }
        }
    }

    /// The path of the step that a person names: `review.2` means `review[2]`.
    pub fn named(&self, step: &str) -> Option<String> {
        let spellings = [step.to_owned(), with_brackets(step)];
        spellings.into_iter().find(|path| self.locate(path).is_some() || self.find(path).is_some())
    }

    /// A step, or the step that it is an instance of: the frame of its recipe, and its index there.
    pub fn in_recipe(&self, (frame, at): (FrameId, usize)) -> (FrameId, usize) {
        match (&self.frames[frame].looped, self.frames[frame].parent) {
            (Some(_), Some(parent)) => parent,
            _ => (frame, at),
        }
    }

    /// The state of a step.
    pub fn step(&self, path: &str) -> Option<&StepState> {
        self.locate(path).map(|(frame, at)| &self.frames[frame].steps[at])
    }

    /// Whether a step may run in parallel with others.
    pub fn runs_beside_others(&self, frame: FrameId, at: usize) -> bool {
        let around = std::iter::successors(Some((frame, at)), |(frame, _)| self.frames[*frame].parent);
        around.into_iter().any(|(frame, at)| self.frames[frame].runs_beside_others(at))
    }

    /// The number of the next attempt at a step.
    pub fn next_attempt(&self, path: &str) -> u32 {
        self.attempts.get(path).copied().unwrap_or(0) + 1
    }

    /// Whether there are steps that no recipe in execution has come to yet.
    pub fn has_more(&self) -> bool {
        self.active.iter().map(|id| &self.frames[*id]).any(|frame| match &frame.graph {
            Some(graph) => !graph.is_done(),
            None => frame.next < frame.steps.len(),
        })
    }

    /// Paths of the steps that are being executed, recipe steps left out.
    pub fn running_steps(&self) -> Vec<String> {
        let mut paths = Vec::new();
        for id in &self.active {
            let frame = &self.frames[*id];
            let running = frame.reached().filter(|at| {
                let (step, is_loop) = (&frame.steps[*at], frame.unit.steps[*at].looped.is_some());
                step.status == StepStatus::Running && step.frame.is_none() && !is_loop
            });
            paths.extend(running.map(|at| frame.step_path(at)));
        }
        paths
    }

    /// Applies one event. `plan` is the plan after the event; `value` is the stored value that the event refers to.
    pub fn apply(&mut self, plan: &Plan, record: &Record, value: Option<Value>) {
        self.observe(record);
        match &record.event {
            Event::RunStarted(_) => self.started_at = Some(record.at),
            Event::StepStarted { path, attempt, inputs } => {
                self.forget_work(path);
                self.start(path, *attempt, inputs, record.at);
            }
            Event::RecipeEntered { path, unit } => self.enter(plan, path, unit),
            Event::LoopEntered { path, items } => self.enter_loop(plan, path, items),
            Event::AttemptFailed { path, ended, attempt, .. } => self.attempt_failed(path, *attempt, ended),
            Event::RecipeStopped { path, error, cause } => self.stop(path, error, cause),
            Event::WorkEnded { path, attempt, status, ended, recovered } => {
                let end = FinishedStep { path, status: *status, ended, recovered: *recovered };
                self.end_work(end, *attempt, value);
            }
            Event::CheckRepeated { path, attempt } => self.check_again(path, *attempt, record.at),
            Event::StepFinished { path, attempt, status, ended, recovered } => {
                self.count_attempt(path, *attempt, ended);
                self.tries.remove(path);
                self.end_proof(path, ended);
                self.note_end(path, *status, ended, value.as_ref());
                if *status == StepStatus::Failed && !self.has_failed(path, *attempt) {
                    self.count_failure(path, *attempt, ended);
                }
                self.question_closed(path);
                let end = FinishedStep { path, status: *status, ended, recovered: *recovered };
                self.finish(end, value, record.at);
            }
            Event::QuestionPut(put) => self.question_put(put, record.at),
            Event::Answered(answered) => self.question_answered(answered),
            Event::QuestionWithdrawn { path, .. } => self.withdraw_questions(path),
            Event::StepSkipped { path, reason } => self.skip(path, reason, record.at),
            Event::StepNotBegun { path, .. } => self.withdraw(path),
            Event::HookFinished { path, hook, .. } => self.hook_finished(path, hook, record.at),
            Event::Spawned(spawned) => {
                self.spawned(spawned);
                if spawned.purpose.is_none() {
                    self.begin(&spawned.path, record.at);
                }
            }
            Event::CleanupBegan { path, class, stopped } => self.begin_cleanup(path, *class, *stopped),
            Event::Noted { .. } => {}
            Event::AgentUsed { usage, .. } => self.count_repair(usage),
            Event::FixWaits { .. } => self.reopen(None),
            Event::RepairBegan(began) => self.reopen(Some(began.clone())),
            Event::RepairEnded { .. } => {
                self.count_lost_repair();
                self.repair = None;
            }
            Event::RunResumed(resumed) => self.resume(plan, resumed),
            Event::RunTakenOver { .. } => self.take_over(),
            Event::RunFinished(finished) => {
                self.end_cleanup(finished.reason);
                (self.finished, self.finished_at) = (Some(finished.clone()), Some(record.at));
            }
        }
    }

    /// What holds for events of every kind.
    fn observe(&mut self, record: &Record) {
        self.left.take(&record.event);
        self.work.take(record);
    }

    /// Continues a run that had already ended.
    fn reopen(&mut self, repair: Option<RepairBegan>) {
        (self.finished, self.finished_at, self.repair) = (None, None, repair);
    }

    /// The frame of the main recipe at the start.
    pub(crate) fn new_root(&self, plan: &Plan) -> Frame {
        let unit = Arc::clone(plan.root());
        let mut context = unit.defaults();
        context.extend(self.settings.given.clone());
        let context = unit.fitted(context);
        let graph = ReadySet::new(plan, &unit);
        Frame::new(String::new(), plan.root, unit, context).ordered(graph)
    }

    fn open(&mut self, mut frame: Frame) -> FrameId {
        if self.settings.dry_run && frame.unit.steps.iter().any(|step| step.when != When::Ok) {
            frame.unknown.insert(FAILURE.to_owned());
        }
        let id = self.frames.len();
        self.by_path.insert(frame.path.clone(), id);
        self.frames.push(frame);
        self.active.push(id);
        self.settle(id);
        id
    }
}
