//! The frame of a loop: its steps are the instances of one step. Instances see the context around the step, and the
//! names of the loop.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use jiff::{SignedDuration, Timestamp};
use recipe::{
    digest::sha256,
    plan::{ForEach, Loop, Repeat, Step, Unit},
    scope::{Final, Path, Scope},
    step_facts::StepFacts,
    value::{Map, Value},
};

use super::{Frame, StepState};
use crate::run::outcome::StepStatus;

/// The loop that a frame runs.
#[derive(Clone, Debug)]
pub struct LoopFrame {
    /// The step with the loop.
    pub step: Arc<Step>,
    /// The items of a `for_each`.
    pub items: Vec<Value>,
    /// Their SHA-256.
    pub digests: Vec<String>,
    /// How many instances of a `for_each` run at the same time.
    pub width: usize,
    /// How a `repeat` ended.
    pub end: Option<RepeatEnd>,
    /// The steps around the loop whose results it asks for, by their ids.
    pub(super) asked: HashMap<String, StepState>,
    /// Values around the loop that its names hide.
    hidden: Map,
}

/// How a `repeat` ended whose iterations did not fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RepeatEnd {
    /// Its condition holds, or all iterations without a condition are done.
    Reached,
    /// Its condition is still false after the last iteration; the names that it reads have these values.
    Exhausted(Vec<(String, String)>),
    /// Its condition cannot be evaluated.
    Broken(String),
}

impl LoopFrame {
    /// The loop over a list, if it is one.
    pub fn each(&self) -> Option<&ForEach> {
        self.step.each()
    }

    /// The loop with a condition, if it is one.
    pub fn repeat(&self) -> Option<&Repeat> {
        self.step.repeat()
    }

    /// The value that a name has only in one instance.
    fn local(&self, at: usize, name: &str) -> Option<Value> {
        let number = |number: usize| Some(Value::from(number as f64));
        match self.step.looped.as_ref()? {
            Loop::Each(each) if name == each.item => Some(self.items.get(at).cloned().unwrap_or_default()),
            Loop::Each(_) if name == ForEach::INDEX => number(at),
            Loop::Each(_) if name == ForEach::COUNT => number(self.items.len()),
            Loop::Repeat(repeat) => repeat.local(at, name),
            Loop::Each(_) => None,
        }
    }

    fn names(&self) -> Vec<&str> {
        self.step.looped.as_ref().map(Loop::names).unwrap_or_default()
    }

    /// Sets the names of the loop in the context of an instance's recipe. The recipe of a `repeat` gets them only
    /// through `context`.
    fn hand_down(&self, at: usize, context: &mut Map) {
        for name in self.names() {
            let around = || self.hidden.get(name).cloned();
            let value = if self.each().is_some() { self.local(at, name) } else { around() };
            match value {
                Some(value) => drop(context.insert(name.to_owned(), value)),
                None => drop(context.shift_remove(name)),
            }
        }
    }
}

/// SHA-256 of an item.
pub fn item_digest(item: &Value) -> String {
    sha256(item.to_json().as_bytes())
}

/// The names that a step of a frame sees.
#[derive(Clone, Copy)]
pub struct StepScope<'a> {
    frame: &'a Frame,
    at: usize,
    /// The names whose values are unknown in a dry run.
    unknown: Option<&'a HashSet<String>>,
}

impl Scope for StepScope<'_> {
    fn get(&self, name: &str) -> Option<Value> {
        self.frame.local(self.at, name).or_else(|| self.frame.get(name))
    }

    fn is_known(&self, path: &Path) -> bool {
        let is_unknown = |name: &String| self.unknown.is_some_and(|unknown| unknown.contains(name));
        self.frame.is_known(path) && path.names().all(|name| !is_unknown(&name))
    }

    fn below(&self, name: &str) -> Option<Arc<Final>> {
        self.frame.local(self.at, name).is_none().then(|| self.frame.below(name)).flatten()
    }

    fn step(&self, id: &str, instance: Option<i64>) -> Option<StepFacts> {
        self.frame.facts(id, instance)
    }
}

impl Frame {
    /// The frame of a loop at its beginning. `count` is the number of instances.
    pub(crate) fn of_loop(
        path: String,
        outer: &Frame,
        index: usize,
        items: Vec<Value>,
        count: usize,
    ) -> Frame {
        let step = Arc::clone(&outer.unit.steps[index]);
        let instance = Arc::new(step.instance());
        let around = &outer.unit;
        let unit = Unit {
            name: around.name.clone(),
            path: around.path.clone(),
            digest: around.digest.clone(),
            hooks: around.hooks.clone(),
            secrets: around.secrets.clone(),
            names: around.names.clone(),
            steps: vec![instance; count],
            ..Unit::default()
        };
        let mut frame = Frame::new(path, outer.unit_id, Arc::new(unit), Map::new());
        frame.index = Arc::default();
        frame.context = outer.context.clone();
        frame.below = outer.below.clone();
        frame.unknown = outer.unknown.clone();
        frame.depth = outer.depth;
        frame.is_uncertain = outer.steps[index].is_uncertain;
        let digests = items.iter().map(item_digest).collect();
        let asked = outer.asked_by(&step);
        let mut looped = LoopFrame { step, items, digests, width: 1, end: None, asked, hidden: Map::new() };
        let names: Vec<String> = looped.names().into_iter().map(str::to_owned).collect();
        for name in names {
            frame.unknown.remove(&name);
            frame.below.remove(&name);
            if let Some(value) = frame.context.get(&name) {
                looped.hidden.insert(name, value.clone());
            }
        }
        frame.looped = Some(Box::new(looped));
        frame.advance_to(0);
        frame
    }

    /// The loop over a list that the frame runs, if it is one.
    pub fn each(&self) -> Option<&ForEach> {
        self.looped.as_ref().and_then(|looped| looped.each())
    }

    /// How many of the frame's instances of a `for_each` run at the same time.
    pub fn width(&self) -> Option<usize> {
        self.looped.as_ref().filter(|looped| looped.each().is_some()).map(|looped| looped.width)
    }

    /// The loop with a condition that the frame runs, if it is one.
    pub fn repeat(&self) -> Option<&Repeat> {
        self.looped.as_ref().and_then(|looped| looped.repeat())
    }

    /// Whether a step runs steps of its own: those of a recipe, or the instances of a loop.
    pub fn has_steps(&self, at: usize) -> bool {
        self.is_nested(at) || self.unit.steps[at].looped.is_some()
    }

    /// The id of a step; with its number if it is an instance.
    pub fn step_id(&self, at: usize) -> String {
        match &self.looped {
            Some(looped) => crate::run::step_path::instance(&looped.step.id, at),
            None => self.unit.steps[at].id.clone(),
        }
    }

    /// The names that a step sees.
    pub fn scope(&self, at: usize) -> StepScope<'_> {
        StepScope { frame: self, at, unknown: None }
    }

    /// The same, with the names that are unknown in a dry run.
    pub fn foreseen_at(&self, at: usize) -> StepScope<'_> {
        StepScope { frame: self, at, unknown: Some(&self.unknown) }
    }

    /// The names of the loop.
    pub fn loop_names(&self) -> Vec<String> {
        self.looped.iter().flat_map(|looped| looped.names()).map(str::to_owned).collect()
    }

    /// The value of a name that only one instance sees. The step with a `repeat` sees what its first iteration sees: its
    /// condition is evaluated before that.
    fn local(&self, at: usize, name: &str) -> Option<Value> {
        match &self.looped {
            Some(looped) => looped.local(at, name),
            None => self
                .unit
                .steps
                .get(at)
                .and_then(|step| step.repeat())
                .and_then(|repeat| repeat.local(0, name)),
        }
    }

    /// Puts the names of one instance into the context, for work that reads the context itself. Decisions do not depend
    /// on it: they look names up in the [`StepScope`] of the instance.
    pub fn bind(&mut self, at: usize) {
        let Some(looped) = &self.looped else { return };
        for name in looped.names() {
            let Some(value) = looped.local(at, name) else { continue };
            if self.context.get(name) != Some(&value) {
                self.log.push(name.to_owned());
                self.context.insert(name.to_owned(), value);
            }
        }
    }

    pub(super) fn hand_down(&self, at: usize, context: &mut Map) {
        if let Some(looped) = &self.looped {
            looped.hand_down(at, context);
        }
    }

    /// Starts no further instance of a `for_each`.
    pub(crate) fn stop_instances(&mut self) {
        if self.each().is_some() {
            self.next = self.steps.len();
        }
    }

    /// When the next iteration of a `repeat` is due, if it has to wait.
    pub(crate) fn next_iteration(&self) -> Option<Timestamp> {
        let delay = self.repeat().filter(|repeat| repeat.delay > 0.0)?.delay;
        let before = self.steps.get(self.next.checked_sub(1)?)?;
        let delay = SignedDuration::try_from_secs_f64(delay).ok()?;
        before.finished_at?.checked_add(delay).ok()
    }

    /// How a `repeat` ends after this iteration; `None` if another one follows.
    pub(crate) fn repeat_end(&self, at: usize) -> Option<RepeatEnd> {
        let repeat = self.repeat()?;
        let is_last = at + 1 >= self.steps.len();
        let Some(until) = &repeat.until else { return is_last.then_some(RepeatEnd::Reached) };
        match until.decide(&self.foreseen_at(at)) {
            Ok(Some(true) | None) => Some(RepeatEnd::Reached),
            Ok(Some(false)) if is_last => {
                let scope = self.scope(at);
                let value = |path: &Path| crate::run::text::shorten(&path.resolve(&scope).to_json(), 80);
                let read = until.names().into_iter().map(|(path, _)| (path.to_string(), value(&path)));
                Some(RepeatEnd::Exhausted(read.collect()))
            }
            Ok(Some(false)) => None,
            Err(error) => Some(RepeatEnd::Broken(error.to_string())),
        }
    }

    /// The value of a step with a loop, from its instances: a list in the order of the items, or the value of the last
    /// iteration.
    pub(crate) fn loop_value(&self) -> Option<Value> {
        let value = |step: &StepState| match step.status {
            StepStatus::Failed => Value::Null,
            _ => step.value.clone().unwrap_or_default(),
        };
        match self.each() {
            Some(_) => Some(Value::list(self.steps.iter().map(value).collect())),
            None => self.last_iteration().and_then(|step| step.value.clone()),
        }
    }

    /// The last iteration of a `repeat` that began.
    pub(crate) fn last_iteration(&self) -> Option<&StepState> {
        self.steps.iter().rev().find(|step| step.status != StepStatus::Pending)
    }

    /// The numbers of the instances with this status.
    pub(crate) fn instances_that_are(&self, status: StepStatus) -> Vec<usize> {
        (0..self.steps.len()).filter(|at| self.steps[*at].status == status).collect()
    }
}

/// The final contexts of the recipes that instances ran.
pub(crate) fn finals(items: Vec<Option<Arc<Final>>>) -> Final {
    Final { context: Map::new(), below: HashMap::new(), items }
}
