//! One recipe in execution: its context, its steps and its progress.
//!
//! Values enter the context when the steps of a level (one step, or one parallel group) have ended, in the order of
//! declaration: so every member of a group sees the context from before it, and a step that is executed again sees what
//! it saw the first time.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
    sync::Arc,
};

use jiff::Timestamp;
use recipe::{
    member,
    plan::{Step, StepKind, Unit, UnitId, ValueTemplate},
    scope::{Final, Foreseen, Scope},
    value::{Map, Value},
};

use crate::run::{
    event::Ended,
    outcome::{Outcome, SkipReason, StepStatus, StopCause},
};

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
    /// Whether its end was reported.
    pub closed: bool,
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
    /// SHA-256 of its input values.
    pub inputs: Option<Arc<str>>,
    /// When the first attempt started, without the hook before it.
    pub started_at: Option<Timestamp>,
    /// When it finished.
    pub finished_at: Option<Timestamp>,
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
    /// Whether it was counted against the step limits.
    pub counted: bool,
    /// Whether its own work has begun, after a hook.
    pub begun: bool,
    /// Whether it has started a process.
    pub has_spawned: bool,
    /// In a dry run: whether it is unknown if it will run.
    pub is_uncertain: bool,
}

impl Frame {
    /// A frame at its beginning.
    pub fn new(path: String, unit_id: UnitId, unit: Arc<Unit>, initial: Map) -> Frame {
        let index = unit.steps.iter().enumerate().map(|(at, step)| (step.id.clone(), at)).collect();
        let level_end = level_end(&unit, 0);
        Frame {
            path,
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
            closed: false,
            index: Arc::new(index),
        }
    }

    /// The index of the step with this id.
    pub fn index_of(&self, id: &str) -> Option<usize> {
        self.index.get(id).copied()
    }

    /// The path of a step.
    pub fn step_path(&self, at: usize) -> String {
        let id = &self.unit.steps[at].id;
        if self.path.is_empty() { id.clone() } else { format!("{}/{id}", self.path) }
    }

    /// The current level.
    pub fn level(&self) -> Range<usize> {
        self.cursor..self.level_end
    }

    /// Continues with the level that begins at this step.
    pub(crate) fn advance_to(&mut self, cursor: usize) {
        self.cursor = cursor;
        self.level_end = level_end(&self.unit, cursor);
    }

    /// Its steps that are running, or wait for a retry.
    pub(crate) fn open_steps(&self) -> Vec<usize> {
        (0..self.steps.len()).filter(|at| self.steps[*at].status == StepStatus::Running).collect()
    }

    /// Whether all steps are finished.
    pub fn is_complete(&self) -> bool {
        self.cursor == self.steps.len() && self.failed_at.is_none()
    }

    /// Whether it did its work. A recipe that timed out has failed, even if all its steps may fail.
    pub fn has_succeeded(&self) -> bool {
        self.is_complete() && self.stopped.is_none()
    }

    /// The result of a recipe without `output`: the value of its last completed step.
    pub fn last_value(&self) -> Option<&Value> {
        self.steps.iter().rev().find(|step| step.status.is_done()).and_then(|step| step.value.as_ref())
    }

    /// Whether a failure of this step ends the frame.
    pub fn is_fatal(&self, at: usize) -> bool {
        let step = &self.steps[at];
        step.status == StepStatus::Failed && !self.may_fail(at, step)
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

    /// Puts a step's value into the context. `child` is the finished frame of a recipe step.
    pub(crate) fn take_value(&mut self, at: usize, child: Option<ChildResult>) {
        let step = Arc::clone(&self.unit.steps[at]);
        let state = &self.steps[at];
        if state.skipped == Some(SkipReason::DryRun) {
            self.unknown.extend(step.store.clone());
        }
        let is_nested = child.is_some();
        if let Some(child) = child {
            self.take_child(&step, child);
        }
        if let (Some(name), Some(value)) = (&step.store, self.value_of(at)) {
            if !is_nested {
                self.below.remove(name);
            }
            self.assigned.insert(name.clone());
            self.log.push(name.clone());
            self.context.insert(name.clone(), value);
        }
    }

    /// The value of a step. A failure without a value gives empty text, so that an older value of the same name is not
    /// used for it. A lost value gives `None`.
    fn value_of(&self, at: usize) -> Option<Value> {
        let step = &self.steps[at];
        let stores_nothing = || step.ended.as_ref().is_none_or(|ended| ended.value.is_none());
        let is_empty = || step.status == StepStatus::Failed && stores_nothing();
        step.value.clone().or_else(|| is_empty().then(|| Value::from("")))
    }

    fn take_child(&mut self, step: &Step, child: ChildResult) {
        let left = Arc::new(Final { context: child.context, below: child.below });
        if child.merge {
            for (name, value) in &left.context {
                let is_assigned = child.assigned.contains(name);
                // inherited names belong to the recipes around it
                let is_free = !self.context.contains_key(name) || self.introduced.contains(name);
                let is_new = child.introduced.contains(name) && is_free && !self.assigned.contains(name);
                if is_assigned || is_new {
                    self.log.push(name.clone());
                    self.context.insert(name.clone(), value.clone());
                    match left.below.get(name) {
                        Some(below) => self.below.insert(name.clone(), Arc::clone(below)),
                        None => self.below.remove(name),
                    };
                }
            }
            self.introduced.extend(child.introduced);
            self.assigned.extend(child.assigned);
            self.unknown.extend(child.unknown);
        }
        if let Some(name) = &step.store {
            self.below.insert(name.clone(), left);
        }
    }

    /// The context of a recipe that is entered with these overrides, on top of its own values.
    pub fn context_below(&self, own: Map, overrides: &[(String, ValueTemplate)]) -> Map {
        let mut context = own;
        context.extend(self.context.iter().map(|(name, value)| (name.clone(), value.clone())));
        let given = overrides.iter().map(|(name, value)| (name.clone(), value.render(self)));
        member::place_all(&mut context, &Map::new(), given);
        context
    }

    /// The context, with the names that are unknown in a dry run.
    pub fn foreseen(&self) -> Foreseen<'_> {
        Foreseen { scope: self, unknown: &self.unknown }
    }

    /// The names whose values are unknown in a recipe that is entered with these overrides.
    pub fn unknown_below(&self, overrides: &[(String, ValueTemplate)]) -> HashSet<String> {
        let mut unknown = self.unknown.clone();
        for (name, value) in overrides {
            let reads_unknown = value
                .templates()
                .iter()
                .flat_map(|template| template.names())
                .any(|(path, _)| !self.foreseen().is_known(path));
            match reads_unknown {
                true => unknown.insert(name.clone()),
                false => unknown.remove(name),
            };
        }
        unknown
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

/// The result of a finished sub-recipe.
pub(crate) struct ChildResult {
    pub(crate) context: Map,
    pub(crate) below: HashMap<String, Arc<Final>>,
    pub(crate) assigned: HashSet<String>,
    pub(crate) introduced: HashSet<String>,
    pub(crate) unknown: HashSet<String>,
    pub(crate) merge: bool,
}

impl Scope for Frame {
    fn get(&self, name: &str) -> Option<Value> {
        self.context.get(name).cloned()
    }

    fn below(&self, name: &str) -> Option<Arc<Final>> {
        self.below.get(name).cloned()
    }
}
