//! The proof of a step: after its work, its `ensure` rules are checked. Decides what follows from the checks.
//!
//! The driver looks at files and runs commands; conditions are decided here.

use std::{collections::HashMap, sync::Arc};

use recipe::{
    condition::Condition,
    plan::{EnsureKind, EnsureRule, Step, StepKind},
    scope::{Final, Path, Scope},
    step_facts::{STEPS, StepFacts},
    value::{Map, Value},
};
use serde::{Deserialize, Serialize};

use crate::run::{
    actions::{Action, StepEnd},
    attempt::AttemptResult,
    event::{Ended, Event},
    frame::StepScope,
    message::{step_failed, unmet_rules},
    outcome::{Outcome, StepStatus},
    react::{finish, plan_retry, step_end},
    recipe_step,
    retry::{self, Retry},
    state::{ForGood, RunState, effects::is_for_once},
};

/// The most characters of a value in the result of a condition.
const SHOWN: usize = 80;

/// The result of one rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleCheck {
    /// The kind of the rule.
    pub rule: EnsureKind,
    /// Whether it is met.
    pub met: bool,
    /// What the rule demands, in words.
    pub expected: String,
    /// What was found, in words.
    pub found: String,
}

/// The end of a check.
#[derive(Debug)]
pub enum CheckEnd {
    /// All rules but conditions were checked.
    Checked {
        /// The results, in the order of the rules.
        checks: Vec<RuleCheck>,
        /// Paths in conditions whose values are secret.
        secret: Vec<String>,
        /// Remarks for users.
        notes: Vec<String>,
    },
    /// The check was stopped, for this reason.
    Stopped(String),
}

/// Work of a step that is done, and whose rules are not known to be met.
#[derive(Clone, Debug)]
pub struct UnprovenWork {
    /// The attempt that did it.
    pub attempt: u32,
    /// The status of the step if the rules are met.
    pub status: StepStatus,
    /// How the attempt ended.
    pub ended: Arc<Ended>,
    /// The value for the context.
    pub value: Option<Value>,
    /// Whether an agent finished the work of the step's sub-recipe.
    pub recovered: bool,
    /// SHA-256 of the definition of the step.
    pub(crate) definition: String,
    /// SHA-256 of the input values of the step.
    pub(crate) inputs: Option<Arc<str>>,
    /// The results of the rules if they were checked and not all met; another attempt follows.
    pub failed: Vec<RuleCheck>,
}

/// The context as it will be after a step.
pub struct AfterStep<'a> {
    before: StepScope<'a>,
    given: Map,
    below: HashMap<String, Arc<Final>>,
}

impl Scope for AfterStep<'_> {
    fn get(&self, name: &str) -> Option<Value> {
        self.given.get(name).cloned().or_else(|| self.before.get(name))
    }

    fn below(&self, name: &str) -> Option<Arc<Final>> {
        match self.given.contains_key(name) || self.below.contains_key(name) {
            true => self.below.get(name).cloned(),
            false => self.before.below(name),
        }
    }

    fn step(&self, id: &str, instance: Option<i64>) -> Option<StepFacts> {
        self.before.step(id, instance)
    }
}

impl RunState {
    /// The context as it will be after a step whose work is done.
    pub fn after_step(&self, path: &str) -> Option<AfterStep<'_>> {
        let (id, at) = self.locate(path)?;
        let (frame, work) = (&self.frames[id], self.unproven.get(path)?);
        let (mut given, mut below) = (Map::new(), HashMap::new());
        let store = frame.unit.steps[at].store.as_ref();
        if let Some(child) = frame.steps[at].frame.map(|child| &self.frames[child]) {
            let flows = |name: &&String| {
                !work.recovered && frame.takes_back(name, &child.assigned, &child.introduced)
            };
            for name in child.context.keys().filter(flows) {
                given.insert(name.clone(), child.context[name].clone());
                below.extend(child.below.get(name).map(|inner| (name.clone(), Arc::clone(inner))));
            }
            let left =
                Final { context: child.context.clone(), below: child.below.clone(), items: Vec::new() };
            below.extend(store.map(|name| (name.clone(), Arc::new(left))));
        }
        if let (Some(name), Some(value)) = (store, &work.value) {
            given.insert(name.clone(), value.clone());
        }
        Some(AfterStep { before: frame.scope(at), given, below })
    }

    /// Work of an earlier process that is the work of this attempt too: only its rules have to be checked.
    pub(crate) fn work_to_prove(&self, path: &str, step: &Step, inputs: Option<&str>) -> Option<u32> {
        // a recipe is entered again, and its finished steps are kept
        let is_nested = matches!(step.kind, StepKind::Nested { .. });
        let work = self.unproven.get(path).filter(|work| work.failed.is_empty() && !is_nested)?;
        let is_same = work.definition == step.digest && work.inputs.as_deref() == inputs;
        is_same.then_some(work.attempt)
    }

    /// Whether the work of a step is done and only its rules are to be checked.
    pub fn awaits_proof(&self, path: &str) -> bool {
        self.unproven.get(path).is_some_and(|work| work.failed.is_empty())
    }
}

/// What follows from work that succeeded: the step ends, or its rules are checked first.
pub(crate) fn prove(state: &mut RunState, path: &str, attempt: u32, result: AttemptResult) -> Vec<Action> {
    let end = step_end(path, attempt, result);
    prove_end(state, end)
}

/// The same for the end of a step.
pub(crate) fn prove_end(state: &mut RunState, end: StepEnd) -> Vec<Action> {
    let rules = state.planned(&end.path).map_or(0, |step| step.ensure.len());
    if rules == 0 || end.status == StepStatus::Failed {
        return vec![Action::FinishStep(Box::new(end))];
    }
    if let Some((frame, at)) = state.locate(&end.path).filter(|_| recipe_step::is_stopped(state, &end.path)) {
        let kind = state.frames[frame].unit.steps[at].kind.word();
        let why = state.time_is_up(&state.frames[frame]).unwrap_or_default();
        let error = step_failed(kind, format!("ensure: not checked because {why}"));
        let ended = Ended { outcome: Outcome::Cancelled, error: Some(error), ..end.ended };
        return vec![Action::FinishStep(Box::new(StepEnd { status: StepStatus::Failed, ended, ..end }))];
    }
    let (path, attempt) = (end.path.clone(), end.attempt);
    // the sub-recipe of the step has ended, and its end is recorded after the check
    state.live.closing.extend(state.step(&path).and_then(|step| step.frame));
    let mut actions = vec![Action::EndWork(Box::new(end))];
    // a resume checks the rules
    if !state.is_halted(&path) {
        actions.push(Action::CheckEnsure { path, attempt });
    }
    actions
}

/// Checks the rules of work from before a resume.
pub(crate) fn prove_again(path: String, attempt: u32) -> Vec<Action> {
    let again = Event::CheckRepeated { path: path.clone(), attempt };
    vec![Action::Record(Box::new(again)), Action::CheckEnsure { path, attempt }]
}

/// What follows from the end of a check.
pub(crate) fn checked(state: &mut RunState, path: &str, attempt: u32, end: CheckEnd) -> Vec<Action> {
    let work = state.unproven.get(path).filter(|work| work.attempt == attempt).cloned();
    let Some((work, step)) = work.zip(state.planned(path)) else { return Vec::new() };
    let frame = state.step(path).and_then(|step| step.frame);
    let found = match end {
        // a resume checks again
        CheckEnd::Stopped(_) if state.is_halted(path) => return Vec::new(),
        CheckEnd::Stopped(why) => Err(why),
        CheckEnd::Checked { checks, secret, notes } => {
            Ok((all_checks(state, path, &step, checks, &secret), notes))
        }
    };
    if let Some(frame) = frame {
        state.live.closing.remove(&frame);
    }
    let mut ended = Ended::clone(&work.ended);
    let (checks, notes) = match found {
        Ok(found) => found,
        Err(why) => {
            ended.outcome = Outcome::Cancelled;
            ended.error = Some(step_failed(step.kind.word(), format!("ensure: {why}")));
            return fail(state, path, attempt, &step, failed_result(work, ended));
        }
    };
    ended.ensure.clone_from(&checks);
    if checks.iter().all(|check| check.met) {
        let UnprovenWork { status, value, recovered, .. } = work;
        let path = path.to_owned();
        let note = |message: String| Action::Note { path: path.clone(), message };
        let notes: Vec<Action> = notes.into_iter().map(note).collect();
        let end = StepEnd { path, attempt, status, ended, value, recovered };
        return notes.into_iter().chain([Action::FinishStep(Box::new(end))]).collect();
    }
    if frame.is_none() {
        ended.code = ended.exit_code();
    }
    ended.outcome = Outcome::Ensure;
    ended.error = Some(step_failed(step.kind.word(), unmet_rules(&checks)));
    fail(state, path, attempt, &step, failed_result(work, ended))
}

/// Adds the unmet rules of the last attempt to the failure of the one that followed: both are why the step fails.
pub(crate) fn beside_unmet(state: &RunState, path: &str, result: &mut AttemptResult) {
    let Some(work) = state.unproven.get(path).filter(|work| !work.failed.is_empty() && !result.is_done())
    else {
        return;
    };
    let unmet = unmet_rules(&work.failed);
    result.ended.error = result.ended.error.take().map(|error| format!("{error}\nbefore that, {unmet}"));
    result.ended.ensure.clone_from(&work.failed);
}

fn failed_result(work: UnprovenWork, ended: Ended) -> AttemptResult {
    AttemptResult { ended, value: work.value, degraded: false, notes: Vec::new() }
}

/// Repeats a step whose rules are not met, or ends it.
fn fail(
    state: &mut RunState,
    path: &str,
    attempt: u32,
    step: &Step,
    mut result: AttemptResult,
) -> Vec<Action> {
    let is_over = state.is_halted(path) || recipe_step::is_stopped(state, path);
    let is_unmet = result.ended.outcome == Outcome::Ensure;
    let may_repeat = is_unmet && !is_over && state.tries(path).unproven < step.ensure_retries;
    let frame = state.step(path).and_then(|step| step.frame);
    let done = match frame.map(|frame| state.done_for_good(frame)) {
        _ if is_for_once(step) => ForGood { done: vec![path.to_owned()], ..ForGood::default() },
        inside => inside.unwrap_or_default(),
    };
    if may_repeat && done == ForGood::default() {
        return plan_retry(state, path, attempt, result, Retry { seconds: 0.0, model: None });
    }
    let mut actions = Vec::new();
    if may_repeat {
        let note = retry::forbidden(&done, false);
        result.ended.error = result.ended.error.map(|error| format!("{error}\n{note}"));
        actions.push(Action::Note { path: path.to_owned(), message: format!("warning: {note}") });
    }
    match frame {
        Some(frame) => actions.extend(recipe_step::end_failed(state, path, attempt, frame, result)),
        None => actions.push(finish(path, attempt, result)),
    }
    actions
}

/// The results of all rules, in their order.
fn all_checks(
    state: &RunState,
    path: &str,
    step: &Step,
    checks: Vec<RuleCheck>,
    secret: &[String],
) -> Vec<RuleCheck> {
    let Some(scope) = state.after_step(path) else { return checks };
    let mut checks = checks.into_iter();
    let results = step.ensure.iter().filter_map(|rule| match rule {
        EnsureRule::Condition(condition) => Some(check_condition(condition, &scope, secret)),
        _ => checks.next(),
    });
    results.collect()
}

/// Whether the conditions among the rules of a step hold.
pub fn conditions_hold(state: &RunState, path: &str) -> bool {
    let Some((step, scope)) = state.planned(path).zip(state.after_step(path)) else { return false };
    step.ensure.iter().all(|rule| match rule {
        EnsureRule::Condition(condition) => check_condition(condition, &scope, &[]).met,
        _ => true,
    })
}

/// A scope in which a name without any value is unknown: nothing can be proven with it.
struct DefinedNames<'a>(&'a AfterStep<'a>);

impl Scope for DefinedNames<'_> {
    fn get(&self, name: &str) -> Option<Value> {
        self.0.get(name)
    }

    fn is_known(&self, path: &Path) -> bool {
        is_defined(path, self.0)
    }

    fn below(&self, name: &str) -> Option<Arc<Final>> {
        self.0.below(name)
    }

    fn step(&self, id: &str, instance: Option<i64>) -> Option<StepFacts> {
        self.0.step(id, instance)
    }
}

fn is_defined(path: &Path, scope: &AfterStep<'_>) -> bool {
    // the words for nothing, and facts about steps
    matches!(path.root.as_str(), "none" | "None" | STEPS)
        || path.names().any(|name| scope.get(&name).is_some())
}

fn check_condition(condition: &Condition, scope: &AfterStep<'_>, secret: &[String]) -> RuleCheck {
    let (met, found) = match condition.decide(&DefinedNames(scope)) {
        Ok(decided) => (decided == Some(true), values_read(condition, scope, secret)),
        Err(error) => (false, format!("it cannot be evaluated: {error}")),
    };
    let expected = format!("`{}`", condition.text().trim());
    RuleCheck { rule: EnsureKind::Condition, met, expected, found }
}

/// The values that a condition reads.
fn values_read(condition: &Condition, scope: &AfterStep<'_>, secret: &[String]) -> String {
    let mut read: Vec<String> = Vec::new();
    for (name, _) in condition.names() {
        let value = match name.resolve(scope) {
            _ if !is_defined(&name, scope) => "not defined".to_owned(),
            Value::Null => "nothing".to_owned(),
            _ if secret.contains(&name.to_string()) => "a secret".to_owned(),
            value => format!("`{}`", crate::run::text::shorten(&value.render(), SHOWN)),
        };
        let part = format!("`{name}` is {value}");
        if !read.contains(&part) {
            read.push(part);
        }
    }
    match read.is_empty() {
        true => "a constant".to_owned(),
        false => read.join(", "),
    }
}
