//! Which branches the events of a run show as taken.

use std::collections::{BTreeSet, HashMap, HashSet};

use recipe::plan::{Plan, Step, Unit};

use super::{BranchName, ON_ERROR, StepBranch, step_branches};
use crate::run::{
    cause::LoopFailure,
    event::{Ended, Event, Via},
    outcome::{Outcome, SkipReason, StepStatus},
    retry,
    step_path::{instance_of, is_below},
};

/// The branches of a plan that a run took, as its events tell.
pub fn covered<'a>(plan: &Plan, events: impl IntoIterator<Item = &'a Event>) -> BTreeSet<BranchName> {
    let events: Vec<&Event> = events.into_iter().collect();
    let not_begun = |event: &&Event| match event {
        Event::StepNotBegun { path, attempt } => Some((path.clone(), *attempt)),
        _ => None,
    };
    let mut walk = Walk { not_begun: events.iter().filter_map(not_begun).collect(), ..Walk::new(plan) };
    for event in events {
        walk.see(event);
    }
    walk.covered
}

/// The name of the hook that runs after a failed step.
const HOOK: &str = "on_error";

/// What is known between two events.
struct Walk<'a> {
    plan: &'a Plan,
    /// The recipes that were entered, by the paths of their steps.
    units: HashMap<String, &'a Unit>,
    /// Recipes whose cleanup has begun.
    cleaning: HashSet<String>,
    /// Failed attempts since the last end of a step that `retry` counts.
    tries: HashMap<String, u64>,
    /// Attempts that the run was stopped before.
    not_begun: HashSet<(String, u32)>,
    covered: BTreeSet<BranchName>,
}

/// A step of a plan, as a path names it.
struct Found<'a> {
    unit: &'a Unit,
    step: &'a Step,
    /// Whether the path names an instance of the step.
    is_instance: bool,
    /// The recipe step around it.
    around: &'a str,
}

impl<'a> Walk<'a> {
    fn new(plan: &'a Plan) -> Walk<'a> {
        Walk {
            plan,
            units: HashMap::from([(String::new(), &**plan.root())]),
            cleaning: HashSet::new(),
            tries: HashMap::new(),
            not_begun: HashSet::new(),
            covered: BTreeSet::new(),
        }
    }

    fn see(&mut self, event: &Event) {
        match event {
            Event::RecipeEntered { path, unit } => {
                let unit = self.plan.units.iter().find(|known| known.path == *unit);
                self.units.extend(unit.map(|unit| (path.clone(), &**unit)));
                self.cleaning.retain(|cleaning| cleaning != path && !is_below(cleaning, path));
            }
            Event::RunResumed(_) => self.cleaning.clear(),
            Event::CleanupBegan { path, .. } => drop(self.cleaning.insert(path.clone())),
            Event::StepStarted { path, attempt, .. } | Event::CheckRepeated { path, attempt }
                if !self.not_begun.contains(&(path.clone(), *attempt)) =>
            {
                self.started(path);
            }
            Event::LoopEntered { path, items } => {
                let branch = if items.is_empty() { StepBranch::EachNone } else { StepBranch::EachSome };
                self.take(path, &branch);
            }
            Event::StepSkipped { path, reason } => match reason {
                SkipReason::Condition => self.take(path, &StepBranch::ConditionFalse),
                SkipReason::NothingFailed => self.take(path, &StepBranch::WhenNotTaken),
                _ => {}
            },
            Event::AttemptFailed { path, ended, .. } => self.attempt_failed(path, ended),
            Event::WorkEnded { path, ended, .. } => self.ended(path, ended),
            Event::StepFinished { path, status, ended, recovered, .. } => {
                self.finished(path, *status, ended, *recovered);
            }
            Event::Answered(answered) => match answered.via {
                Via::Timeout => self.take(&answered.path, &StepBranch::AskTimeout),
                _ => self.take(&answered.path, &StepBranch::Choice(&answered.choice)),
            },
            Event::HookFinished { path, hook, .. } if hook == HOOK => {
                if let Some(found) = self.find(path) {
                    let name = BranchName { file: found.unit.path.clone(), name: ON_ERROR.to_owned() };
                    self.covered.insert(name);
                }
            }
            _ => {}
        }
    }

    /// The step that a path names.
    fn find<'p>(&self, path: &'p str) -> Option<Found<'p>>
    where
        'a: 'p,
    {
        let (around, id) = path.rsplit_once('/').unwrap_or(("", path));
        let unit: &'a Unit = self.units.get(around)?;
        let find = |id: &str| unit.steps.iter().find(|step| step.id == id);
        let (step, is_instance) = match find(id) {
            Some(step) => (step, false),
            None => (find(instance_of(id)?)?, true),
        };
        Some(Found { unit, step, is_instance, around })
    }

    /// Notes a branch, if the step has it.
    fn take(&mut self, path: &str, branch: &StepBranch<'_>) {
        if let Some(found) = self.find(path).filter(|found| step_branches(found.step).contains(branch)) {
            let name = BranchName { file: found.unit.path.clone(), name: branch.name_in(found.step) };
            self.covered.insert(name);
        }
    }

    fn started(&mut self, path: &str) {
        let Some(found) = self.find(path) else { return };
        let is_cleanup = self.cleaning.contains(found.around);
        // every instance of a `for_each` has the condition
        let has_decided = found.step.each().is_none() || found.is_instance;
        let is_work = found.step.looped.is_none() || found.is_instance;
        if has_decided {
            self.take(path, &StepBranch::ConditionTrue);
        }
        if is_work {
            self.take(path, &StepBranch::Ran);
        }
        self.take(path, if is_cleanup { &StepBranch::WhenTaken } else { &StepBranch::WhenNotTaken });
    }

    fn attempt_failed(&mut self, path: &str, ended: &Ended) {
        self.ended(path, ended);
        if ended.outcome == Outcome::Ensure {
            self.take(path, &StepBranch::EnsureAskedAgain);
        }
        if self.is_retried(path, ended) {
            *self.tries.entry(path.to_owned()).or_default() += 1;
            self.take(path, &StepBranch::RetryUsed);
        }
    }

    /// Whether `retry` of a step is about such an end.
    fn is_retried(&self, path: &str, ended: &Ended) -> bool {
        let retry = self.find(path).and_then(|found| found.step.retry.as_ref());
        retry.is_some_and(|retry| match ended.outcome {
            // the failure inside decides
            Outcome::Nested => true,
            _ => retry::kind(&ended.outcome).is_some_and(|kind| retry.on.contains(&kind)),
        })
    }

    /// The branches that the end of any attempt shows.
    fn ended(&mut self, path: &str, ended: &Ended) {
        if let Some(code) = ended.exit_code() {
            self.take(path, &StepBranch::ExitCode(code));
        }
        if ended.asked_for_json > 0 {
            self.take(path, &StepBranch::JsonAskedAgain);
        }
        if matches!(ended.outcome, Outcome::NotJson { .. }) {
            self.take(path, &StepBranch::JsonGivenUp);
        }
    }

    fn finished(&mut self, path: &str, status: StepStatus, ended: &Ended, recovered: bool) {
        self.ended(path, ended);
        let Some(found) = self.find(path) else { return };
        let has_failed = status == StepStatus::Failed;
        let is_instance = found.is_instance;
        let is_repeat = found.step.repeat().is_some();
        let attempts = found.step.retry.as_ref().map_or(0, |retry| retry.max_attempts);
        let tries = self.tries.remove(path).unwrap_or_default();
        if has_failed && tries > 0 && tries + 1 >= attempts && self.is_retried(path, ended) {
            self.take(path, &StepBranch::RetryExhausted);
        }
        if has_failed && (ended.outcome == Outcome::Ensure || ended.ensure.iter().any(|check| !check.met)) {
            self.take(path, &StepBranch::EnsureFailed);
        }
        if has_failed && is_instance {
            self.take(path, &StepBranch::EachItemFailed);
        }
        // a `for_each` tolerates as a whole, a `repeat` each iteration
        if !is_instance || is_repeat {
            let branch = if has_failed { StepBranch::ToleranceFailed } else { StepBranch::ToleranceOk };
            self.take(path, &branch);
        }
        if recovered {
            self.take(path, &StepBranch::RecoveryYes);
        } else if has_failed && ended.usage.is_some() {
            self.take(path, &StepBranch::RecoveryNo);
        }
        if is_repeat && !is_instance {
            self.loop_ended(path, status, ended);
        }
    }

    /// The branches that the end of a `repeat` shows.
    fn loop_ended(&mut self, path: &str, status: StepStatus, ended: &Ended) {
        let is_exhausted =
            ended.is_exhausted || matches!(ended.outcome, Outcome::Loop(LoopFailure::NotReached { .. }));
        let tolerates = self.find(path).is_some_and(|found| found.step.continue_on_error);
        // if iterations may fail, the loop ends as its last one
        let is_last_failure = tolerates
            && !matches!(
                ended.outcome,
                Outcome::Condition { .. }
                    | Outcome::NeedsHuman
                    | Outcome::Budget(_)
                    | Outcome::Limit(_)
                    | Outcome::Cancelled
            );
        match is_exhausted {
            true => self.take(path, &StepBranch::RepeatExhausted),
            false if status.is_done() || is_last_failure => self.take(path, &StepBranch::RepeatMet),
            false => {}
        }
    }
}
