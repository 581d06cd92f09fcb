//! One recipe in execution: its context, its steps and its progress.
//!
//! Values enter the context when the steps of a level (one step, or one parallel group) have ended, in the order of
//! declaration: so every member of a group sees the context from before it, and a step that is executed again sees what
//! it saw the first time.

mod facts;
mod looped;
mod values;

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
    sync::Arc,
};

use jiff::Timestamp;
use recipe::{
    plan::{Step, StepKind, Unit, UnitId},
    scope::{Final, Path, Scope},
    step_facts::{STEPS, StepFacts},
    syntax::When,
    value::{Map, Value},
};

use crate::run::{
    cleanup::Cleanup,
    event::Ended,
    outcome::{Outcome, SkipReason, StepStatus, StopCause},
    ready::ReadySet,
};

pub use looped::{LoopFrame, RepeatEnd, StepScope, item_digest};
pub(crate) use values::ChildResult;

/// The index of a frame in a [`crate::RunState`].
pub type FrameId = usize;

/// A recipe in execution.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Path of the step that runs it; empty for the main recipe.
    pub path: String,
    /// The recipe.
    pub unit: Arc<Unit>,
    /// Its id in the plan.
    pub unit_id: UnitId,
    /// The loop, if its steps are the instances of one step.
    pub looped: Option<Box<LoopFrame>>,
    /// The frame and the step that it belongs to.
    pub parent: Option<(FrameId, usize)>,
    /// Its depth.
    pub depth: u64,
    /// The context that it began with.
    pub initial: Map,
    /// The context now.
    pub context: Map,
    /// The final contexts of sub-recipes, by the name that took their value.
    pub below: HashMap<String, Arc<Final>>,
    /// Names that were passed as overrides.
    pub overrides: HashSet<String>,
    /// Names that steps have assigned.
    pub assigned: HashSet<String>,
    /// Names that this recipe, or one below it, introduced with its defaults.
    pub introduced: HashSet<String>,
    /// Names in the order in which steps assigned them, so that new ones can be recognised.
    pub log: Vec<String>,
    /// Names whose values are unknown in a dry run.
    pub unknown: HashSet<String>,
    /// Its steps.
    pub steps: Vec<StepState>,
    /// First step of the current level; changes with [`Frame::advance_to`].
    cursor: usize,
    /// First step after that level.
    level_end: usize,
    /// First step whose value is not in the context yet.
    pub taken: usize,
    /// First step of the level that was not considered yet.
    pub next: usize,
    /// Steps of the level that are being executed.
    pub open: usize,
    /// Hooks that are still running.
    pub hooks: usize,
    /// Steps that actually ran here and below.
    pub ran: u64,
    /// In a dry run: steps here and below that may or may not run.
    pub perhaps_ran: u64,
    /// In a dry run: whether that is so for the whole recipe.
    pub is_uncertain: bool,
    /// The failed step that ended it.
    pub failed_at: Option<usize>,
    /// Why nothing new starts in it.
    pub stopped: Option<Stopped>,
    /// Its cleanup, once that has begun.
    pub cleanup: Option<Cleanup>,
    /// Whether its end was reported.
    pub closed: bool,
    /// The order of its steps, if they do not run one after the other.
    pub(crate) graph: Option<ReadySet>,
    index: Arc<HashMap<String, usize>>,
}

/// Why nothing new starts in a recipe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// The reason, as text.
    pub error: String,
    /// The cause.
    pub cause: StopCause,
    /// Path of the step whose recipe was stopped: of this recipe, or of one around it.
    pub by: String,
    /// Its steps that were running then.
    pub open: Vec<usize>,
}

/// A step in execution.
#[derive(Clone, Debug, Default)]
pub struct StepState {
    /// Its status.
    pub status: StepStatus,
    /// Last attempt that was started.
    pub attempt: u32,
    /// Attempts before a resume that were made for another item, if it is an instance.
    pub other_attempts: u32,
    /// SHA-256 of its input values.
    pub inputs: Option<Arc<str>>,
    /// When the first attempt started, without the hook before it.
    pub started_at: Option<Timestamp>,
    /// When it finished.
    pub finished_at: Option<Timestamp>,
    /// The milliseconds that earlier processes worked on it, if this one continues it.
    pub worked_before: u64,
    /// Its end; shared, because every resume takes it over.
    pub ended: Option<Arc<Ended>>,
    /// Its value.
    pub value: Option<Value>,
    /// Why it was skipped.
    pub skipped: Option<SkipReason>,
    /// Whether an agent finished the work of its sub-recipe.
    pub recovered: bool,
    /// The frame of its sub-recipe.
    pub frame: Option<FrameId>,
    /// How the instances of its loop went.
    pub instances: Arc<Vec<StepState>>,
    /// Whether it was counted against the step limits.
    pub counted: bool,
    /// Whether its own work has begun, after a hook.
    pub begun: bool,
    /// Whether it has started a process.
    pub has_spawned: bool,
    /// Whether it was reached after the end of its recipe.
    pub is_cleanup: bool,
    /// In a dry run: whether it is unknown if it will run.
    pub is_uncertain: bool,
}

impl StepState {
    /// How many attempts were made at it.
    pub fn attempts(&self) -> u32 {
        self.attempt.saturating_sub(self.other_attempts)
    }

    /// What its sub-recipe left, if a stub stood in for it.
    pub(crate) fn left_context(&self) -> Option<&Map> {
        self.ended.as_ref().and_then(|ended| ended.context.as_ref())
    }
}

impl Frame {
    /// A frame at its beginning.
    pub fn new(path: String, unit_id: UnitId, unit: Arc<Unit>, initial: Map) -> Frame {
        let index = unit.steps.iter().enumerate().map(|(at, step)| (step.id.clone(), at)).collect();
        let level_end = level_end(&unit, 0);
        Frame {
            path,
            looped: None,
            steps: vec![StepState::default(); unit.steps.len()],
            unit,
            unit_id,
            parent: None,
            depth: 0,
            context: initial.clone(),
            initial,
            below: HashMap::new(),
            overrides: HashSet::new(),
            assigned: HashSet::new(),
            introduced: HashSet::new(),
            log: Vec::new(),
            unknown: HashSet::new(),
            cursor: 0,
            level_end,
            taken: 0,
            next: 0,
            open: 0,
            hooks: 0,
            ran: 0,
            perhaps_ran: 0,
            is_uncertain: false,
            failed_at: None,
            stopped: None,
            cleanup: None,
            closed: false,
            graph: None,
            index: Arc::new(index),
        }
    }

    /// The same with the order of a graph, if it is one.
    pub(crate) fn ordered(self, graph: Option<ReadySet>) -> Frame {
        Frame { graph, ..self }
    }

    /// The index of the step with this id.
    pub fn index_of(&self, id: &str) -> Option<usize> {
        self.index.get(id).copied()
    }

    /// The path of a step.
    pub fn step_path(&self, at: usize) -> String {
        if self.looped.is_some() {
            return crate::run::step_path::instance(&self.path, at);
        }
        let id = &self.unit.steps[at].id;
        if self.path.is_empty() { id.clone() } else { format!("{}/{id}", self.path) }
    }

    /// The current level; a graph is a single one.
    pub fn level(&self) -> Range<usize> {
        match self.graph {
            Some(_) => 0..self.steps.len(),
            None => self.cursor..self.level_end,
        }
    }

    /// Whether a step of the current level, or of the graph, may still start.
    pub(crate) fn has_next(&self) -> bool {
        match &self.graph {
            Some(graph) => graph.steps().next().is_some(),
            None => self.next < self.level_end,
        }
    }

    /// The steps that may be running: those of the current level, and the cleanup steps that were reached.
    pub fn reached(&self) -> Range<usize> {
        self.level().start..self.level().end.max(self.next)
    }

    /// Continues with the level that begins at this step.
    pub(crate) fn advance_to(&mut self, cursor: usize) {
        self.cursor = cursor;
        // all instances of a `for_each` are one level, and every iteration of a `repeat` is one
        self.level_end = match &self.looped {
            None => level_end(&self.unit, cursor),
            Some(looped) if looped.each().is_some() => self.steps.len(),
            Some(_) => self.steps.len().min(cursor + 1),
        };
    }

    /// Its steps that are running, or wait for a retry or an answer.
    pub(crate) fn open_steps(&self) -> Vec<usize> {
        (0..self.steps.len()).filter(|at| self.steps[*at].status.is_open()).collect()
    }

    /// Whether all steps are finished.
    pub fn is_complete(&self) -> bool {
        let has_ended = self.looped.as_ref().is_some_and(|looped| looped.end.is_some());
        (self.cursor == self.steps.len() || has_ended) && self.failed_at.is_none()
    }

    /// Whether it did its work. A recipe that timed out has failed, even if all its steps may fail.
    pub fn has_succeeded(&self) -> bool {
        self.is_complete() && self.stopped.is_none()
    }

    /// The result of a recipe without `output`: the value of its last completed step; in a graph, of the last one in
    /// its last wave, whichever ended first. Steps that clean up give none.
    pub fn last_value(&self) -> Option<&Value> {
        let place = |at: usize| self.graph.as_ref().map_or(at, |graph| graph.order()[at]);
        let steps = (0..self.steps.len()).rev().map(place);
        let is_done = |at: &usize| self.steps[*at].status.is_done() && self.unit.steps[*at].when == When::Ok;
        steps.into_iter().find(is_done).and_then(|at| self.steps[at].value.as_ref())
    }

    /// Whether a failure of this step ends the frame.
    pub fn is_fatal(&self, at: usize) -> bool {
        let step = &self.steps[at];
        step.status == StepStatus::Failed && !step.is_cleanup && !self.may_fail(at, step)
    }

    /// The status of a step for people: one that needs a person has not failed.
    pub fn shown_status(&self, at: usize) -> StepStatus {
        let step = &self.steps[at];
        let needs_human = step.ended.as_ref().is_some_and(|ended| ended.outcome == Outcome::NeedsHuman);
        match needs_human && self.is_fatal(at) {
            true => StepStatus::Waiting,
            false => step.status,
        }
    }

    /// Whether the recipe continues after this failure of a step. A step cannot tolerate that its recipe reaches the
    /// limit of steps; a recipe that is too deep is merely not entered.
    pub(crate) fn may_fail(&self, at: usize, step: &StepState) -> bool {
        let is_limit = step.ended.as_ref().is_some_and(|ended| matches!(ended.outcome, Outcome::Limit(_)))
            && !(self.is_nested(at) && step.frame.is_none());
        self.unit.steps[at].continue_on_error && !is_limit
    }

    /// Whether a step failed for good: the recipe tolerates the failure, and the step was not stopped from outside.
    pub fn is_tolerated(&self, at: usize) -> bool {
        self.tolerates(at, &self.steps[at])
    }

    /// The same for a step as an earlier process left it.
    pub(crate) fn tolerates(&self, at: usize, step: &StepState) -> bool {
        let was_stopped = step.ended.as_ref().is_some_and(|ended| ended.outcome == Outcome::Cancelled);
        step.status == StepStatus::Failed && self.may_fail(at, step) && !was_stopped
    }

    /// Whether a step may run at the same time as other steps of this recipe.
    pub fn runs_beside_others(&self, at: usize) -> bool {
        let is_wide = self.width().is_some_and(|width| width > 1);
        is_wide || self.graph.is_some() || self.unit.steps[at].group.is_some()
    }

    /// Whether a step runs a sub-recipe.
    pub fn is_nested(&self, at: usize) -> bool {
        matches!(self.unit.steps[at].kind, StepKind::Nested { .. })
    }
}

/// The first step after the level that begins at this one: after one step, or after a whole parallel group.
fn level_end(unit: &Unit, cursor: usize) -> usize {
    let Some(first) = unit.steps.get(cursor) else { return cursor };
    let members = |step: &&Arc<Step>| first.group.is_some() && step.group == first.group;
    let more = unit.steps[cursor + 1..].iter().take_while(members).count();
    cursor + 1 + more
}

impl Scope for Frame {
    fn get(&self, name: &str) -> Option<Value> {
        self.context.get(name).cloned()
    }

    fn is_known(&self, path: &Path) -> bool {
        path.root != STEPS || self.knows_step(path)
    }

    fn below(&self, name: &str) -> Option<Arc<Final>> {
        self.below.get(name).cloned()
    }

    fn step(&self, id: &str, instance: Option<i64>) -> Option<StepFacts> {
        self.facts(id, instance)
    }
}
