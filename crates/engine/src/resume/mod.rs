//! What a resume keeps, what it runs again, and why: the same inputs can only fail the same way.
//!
//! A single position is not enough. When a check fails because of an agent's work, resuming at the check is a dead end:
//! the agent has to work again. Never runs anything; the answer is a list for users.

mod artifacts;
mod changes;
mod continued;
mod dynamic;
mod failure;
mod from;
mod instances;
mod iterations;
mod listing;
mod renewed;
mod rewired;
mod undone;
mod ways;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    rc::Rc,
};

use recipe::{plan::Plan, value::Map};
use serde::Serialize;

use crate::{
    knowledge::Knowledge,
    run::{frame::FrameId, state::RunState},
};
pub use artifacts::Remains;
pub use dynamic::{Entered, Late, Now, late};
pub use undone::KeptAfterCleanup;
use undone::UndoneStep;
use ways::Graph;
pub use ways::asks_an_agent;

/// The kind of resume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resumer {
    /// By a person: no money is spent on a guess.
    Person {
        /// Whether producers run again in any case.
        producers: Producers,
    },
    /// By the auto-fix loop. `level` counts how often the same dead end was reached: each time one more level.
    Automatic {
        /// 0 at first.
        level: usize,
    },
}

/// Whether a person asked for producers to run again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Producers {
    /// Only if the failed step uses their values.
    Linked,
    /// In any case.
    Again,
}

/// The cause of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// The work of earlier steps.
    Work,
    /// Something else: the environment, the recipe, or unknown.
    Other,
}

/// The cause of the failure of each failed step: members of a parallel group may fail for different reasons.
pub type Blames = BTreeMap<String, Blame>;

/// The inputs of a plan.
pub struct Request<'a> {
    /// What is believed about programs.
    pub knowledge: &'a Knowledge,
    /// The state of the run so far.
    pub state: &'a RunState,
    /// The plan that the run used.
    pub before: &'a Plan,
    /// The plan to continue with.
    pub plan: &'a Plan,
    /// The recipes of steps whose recipe names are templates.
    pub late: &'a Late,
    /// Given values that replace those of the run.
    pub given: &'a Map,
    /// Products of the steps that have changed since.
    pub remains: &'a Remains,
    /// The kind of resume.
    pub resumer: Resumer,
    /// The causes of the failures.
    pub blames: &'a Blames,
    /// The step to resume from, if one was named.
    pub from: Option<&'a str>,
    /// Whether completed side effects may be repeated.
    pub effects: Effects,
    /// What happens to interrupted steps that are not idempotent.
    pub interrupted: Interrupted,
}

/// What happens to interrupted steps that are declared as not idempotent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Interrupted {
    /// A person has to choose.
    #[default]
    Ask,
    /// They run again.
    Rerun,
    /// They are skipped.
    Skip,
}

/// Whether completed side effects may be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effects {
    /// Never.
    Once,
    /// A person allows it.
    Again,
}

/// What happens to a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StepPlan {
    /// Its result is kept.
    Keep,
    /// It was done and runs again.
    Rerun,
    /// It has not run yet.
    Pending,
}

/// One step of the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// The step.
    pub path: String,
    /// What happens to it.
    pub action: StepPlan,
    /// The reason.
    pub reason: String,
    /// What it depends on, if that is decided only while the run continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only_if: Option<OnlyIf>,
    /// Whether it runs again only because the step around it does.
    #[serde(skip)]
    pub with_outer: bool,
}

/// What the plan for a step depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OnlyIf {
    /// It is kept if its inputs stay the same.
    InputsStay,
    /// It runs if its condition is true now.
    ConditionHolds,
    /// It runs if a step fails.
    StepFails,
    /// It runs if another resume runs its recipe again, which only cleans up now.
    RecipeRunsAgain,
}

/// A plan for resuming.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ResumePlan {
    /// The central step: the latest of the producers that run again, otherwise the step to resume at.
    pub anchor: Option<String>,
    /// The first step that runs.
    pub goes_on_at: Option<String>,
    /// Steps that ran and run again.
    pub rerun: Vec<String>,
    /// Those of them whose result is discarded; a failed step has no result.
    #[serde(skip)]
    pub redo: Vec<String>,
    /// Whether producers of a failed step run again.
    #[serde(skip)]
    pub takes_producers: bool,
    /// Every step.
    pub steps: Vec<Entry>,
    /// Agents that are kept, and that a person may want to run again.
    pub kept_producers: Vec<String>,
    /// Completed side effects that would be repeated: a person has to allow it.
    pub blocked_effects: Vec<String>,
    /// Completed steps that are kept although cleanup may have undone them.
    pub kept_after_cleanup: Option<KeptAfterCleanup>,
    /// Cleanup steps that ran when the run ended before, and run again at its new end.
    #[serde(skip)]
    pub cleanup: Vec<String>,
    /// Failed steps that stay failed, because the cleanup of their recipe continues where it was cut off.
    #[serde(skip)]
    pub failed: Vec<String>,
}

/// Makes the plan.
pub fn plan(request: &Request<'_>) -> ResumePlan {
    let mut work = Work {
        request,
        reasons: BTreeMap::new(),
        changed: HashSet::new(),
        relisted: HashSet::new(),
        by_item: HashSet::new(),
        anchor: None,
        producers: Vec::new(),
        kept_producers: Vec::new(),
        graphs: HashMap::new(),
        failed: BTreeSet::new(),
        cleaning: HashSet::new(),
        undone: BTreeMap::new(),
    };
    work.changes(0, request.plan.root());
    work.losses();
    work.continue_cleanup();
    match request.from {
        Some(from) => work.from(from),
        None => work.failure(),
    }
    work.find_undone(0);
    if !work.undone.is_empty() {
        work.changes(0, request.plan.root());
    }
    work.later_iterations();
    work.rely();
    work.later_iterations();
    work.end_cleanup_that_runs_again();
    work.finish()
}

struct Work<'a> {
    request: &'a Request<'a>,
    /// Finished steps that run again, with the reason.
    reasons: BTreeMap<String, String>,
    /// Steps whose own definition changed.
    changed: HashSet<String>,
    /// Steps that are entered again only because their list is written in another way.
    relisted: HashSet<String>,
    /// Steps with `for_each` that are entered again only because their list changed: an instance runs again only if its
    /// item is another one.
    by_item: HashSet<String>,
    /// The requested step, or the first failed step.
    anchor: Option<String>,
    /// Producers that run again because of a failure.
    producers: Vec<String>,
    kept_producers: Vec<String>,
    /// The graphs of recipes, cached: many failed steps walk the same paths.
    graphs: HashMap<FrameId, Rc<Graph>>,
    /// Failed steps that stay failed.
    failed: BTreeSet<String>,
    /// The recipes whose cleanup continues where it was cut off.
    cleaning: HashSet<String>,
    /// Steps that cleanup undid.
    undone: BTreeMap<String, UndoneStep>,
}
