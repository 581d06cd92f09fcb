//! The state of a run: a fold of its events.
//!
//! It changes only in [`RunState::apply`]. The caller passes the values that an event refers to, so that nothing here
//! reads a file.

mod background;
mod causes;
mod counts;
pub(crate) mod effects;
mod interrupted;
mod levels;
mod retry_counts;
mod steps;
mod usage;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use jiff::Timestamp;
use recipe::{
    plan::Plan,
    value::{Map, Value},
};

use crate::run::{
    budget::GivenBudgets,
    event::{Ended, Event, Record, RepairBegan, RunFinished, Usage},
    frame::{Frame, FrameId, StepState},
    live::LiveWork,
    outcome::StepStatus,
    recipe_step::Recovery,
    retry::RateLimits,
};
pub use effects::ForGood;
pub(crate) use interrupted::timeout_fired;
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
    /// Agents that were started and whose end is unknown.
    pub(crate) started_agents: HashMap<String, u64>,
    tries: HashMap<String, RetryCounts>,
    last_failed: HashMap<String, u32>,
    left: background::Left,
    pub(crate) kept: HashMap<String, StepState>,
    pub(crate) skip: HashSet<String>,
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
            kept: HashMap::new(),
            skip: HashSet::new(),
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
        let (frame, id) = path.rsplit_once('/').unwrap_or(("", path));
        let frame = *self.by_path.get(frame)?;
        Some((frame, self.frames[frame].index_of(id)?))
    }

    /// The state of a step.
    pub fn step(&self, path: &str) -> Option<&StepState> {
        self.locate(path).map(|(frame, at)| &self.frames[frame].steps[at])
    }

    /// Whether a step may run in parallel with others.
    pub fn runs_beside_others(&self, frame: FrameId, at: usize) -> bool {
        let around = std::iter::successors(Some((frame, at)), |(frame, _)| self.frames[*frame].parent);
        around.into_iter().any(|(frame, at)| self.frames[frame].unit.steps[at].group.is_some())
    }

    /// The number of the next attempt at a step.
    pub fn next_attempt(&self, path: &str) -> u32 {
        self.attempts.get(path).copied().unwrap_or(0) + 1
    }

    /// Whether there are steps that no recipe in execution has come to yet.
    pub fn has_more(&self) -> bool {
        self.active.iter().map(|id| &self.frames[*id]).any(|frame| frame.next < frame.steps.len())
    }

    /// Paths of the steps that are being executed, recipe steps left out.
    pub fn running_steps(&self) -> Vec<String> {
        let mut paths = Vec::new();
        for id in &self.active {
            let frame = &self.frames[*id];
            let running = frame.level().filter(|at| {
                frame.steps[*at].status == StepStatus::Running && frame.steps[*at].frame.is_none()
            });
            paths.extend(running.map(|at| frame.step_path(at)));
        }
        paths
    }

    /// Applies one event. `plan` is the plan after the event; `value` is the stored value that the event refers to.
    pub fn apply(&mut self, plan: &Plan, record: &Record, value: Option<Value>) {
        self.left.take(&record.event);
        match &record.event {
            Event::RunStarted(_) => self.started_at = Some(record.at),
            Event::StepStarted { path, attempt, inputs } => self.start(path, *attempt, inputs, record.at),
            Event::RecipeEntered { path, unit } => self.enter(plan, path, unit),
            Event::AttemptFailed { path, ended, attempt, .. } => self.attempt_failed(path, *attempt, ended),
            Event::RecipeStopped { path, error, cause } => self.stop(path, error, cause),
            Event::StepFinished { path, attempt, status, ended, recovered } => {
                self.count_usage(path, ended);
                self.tries.remove(path);
                if *status == StepStatus::Failed && !self.has_failed(path, *attempt) {
                    self.count_failure(path, *attempt, ended);
                }
                let end = FinishedStep { path, status: *status, ended, recovered: *recovered };
                self.finish(end, value, record.at);
            }
            Event::StepSkipped { path, reason } => self.skip(path, reason, record.at),
            Event::StepNotBegun { path, .. } => self.withdraw(path),
            Event::HookFinished { path, hook, .. } => self.hook_finished(path, hook, record.at),
            Event::Spawned(spawned) => {
                self.spawned(spawned);
                if spawned.purpose.is_none() {
                    self.begin(&spawned.path, record.at);
                }
            }
            Event::Noted { .. } => {}
            Event::AgentUsed { usage, .. } => self.count_repair(usage),
            Event::FixWaits { .. } => self.reopen(None),
            Event::RepairBegan(began) => self.reopen(Some(began.clone())),
            Event::RepairEnded { .. } => {
                self.count_lost_repair();
                self.repair = None;
            }
            Event::RunResumed(resumed) => {
                self.count_lost_agents();
                self.resume(plan, resumed);
            }
            Event::RunFinished(finished) => {
                self.finished_at = Some(record.at);
                self.finished = Some(finished.clone());
            }
        }
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
        Frame::new(String::new(), plan.root, unit, context)
    }

    fn open(&mut self, frame: Frame) -> FrameId {
        let id = self.frames.len();
        self.by_path.insert(frame.path.clone(), id);
        self.frames.push(frame);
        self.active.push(id);
        self.settle(id);
        id
    }
}
