//! What a resume keeps, what it does again, and why: the same inputs can only fail the same way.
//!
//! A single cursor is not enough. When a check fails because of what an agent wrote, going on at the check is a
//! dead end: the agent has to work again. Never runs anything; the answer is a list that people can read.

mod artifacts;
mod changes;
mod dynamic;
mod failure;
mod listing;
mod renewed;
mod rewired;
mod ways;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    rc::Rc,
};

use recipe::{plan::Plan, value::Map};
use serde::Serialize;

use crate::run::{frame::FrameId, state::RunState};
pub use artifacts::Remains;
pub use dynamic::{Entered, Late, Now, late};
use ways::Graph;
pub use ways::asks_an_agent;

/// Who resumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resumer {
    /// A person: money is not spent on a guess.
    Person {
        /// Whether producers are done again in any case.
        producers: Producers,
    },
    /// The auto-fix loop. `level` counts how often the same dead end was met: each time one level more.
    Automatic {
        /// 0 at first.
        level: usize,
    },
}

/// Whether a person asked for producers to be done again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Producers {
    /// Only where the failed step uses their values.
    Linked,
    /// In any case.
    Again,
}

/// What a failure is put down to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// What the steps before it made.
    Work,
    /// Something else: the environment, the recipe, or unknown.
    Other,
}

/// What the failure of each step is put down to that failed: the members of a parallel group may fail of different
/// things.
pub type Blames = BTreeMap<String, Blame>;

/// What to plan for.
pub struct Request<'a> {
    /// The state of the run so far.
    pub state: &'a RunState,
    /// The plan that it was done by.
    pub before: &'a Plan,
    /// The plan to go on with.
    pub plan: &'a Plan,
    /// What steps run in it whose recipes have templates for names.
    pub late: &'a Late,
    /// Values from outside that replace those of the run.
    pub given: &'a Map,
    /// What the steps left behind, as it is now.
    pub remains: &'a Remains,
    /// Who resumes.
    pub resumer: Resumer,
    /// What the failures are put down to.
    pub blames: &'a Blames,
    /// The step to resume from, if one was named.
    pub from: Option<&'a str>,
    /// Whether completed side effects may be repeated.
    pub effects: Effects,
    /// What becomes of interrupted steps that are not idempotent.
    pub interrupted: Interrupted,
}

/// What becomes of interrupted steps that say that they are not idempotent.
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

/// What becomes of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Its result stays.
    Keep,
    /// It was done and is done again.
    Rerun,
    /// It is still to be done.
    Pending,
}

/// One step of the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// The step.
    pub path: String,
    /// What becomes of it.
    pub action: Action,
    /// Why.
    pub reason: String,
}

/// A plan for resuming.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ResumePlan {
    /// What the work hangs on: the latest of the producers that are done again, else where it goes on.
    pub anchor: Option<String>,
    /// The first step that runs.
    pub goes_on_at: Option<String>,
    /// Steps that ran and are done again.
    pub rerun: Vec<String>,
    /// Of these, the ones whose result is given up; what failed has none.
    #[serde(skip)]
    pub redo: Vec<String>,
    /// Whether a failed step has producers done again.
    #[serde(skip)]
    pub takes_producers: bool,
    /// Every step.
    pub steps: Vec<Entry>,
    /// Agents that are kept, and that a person may have done again.
    pub kept_producers: Vec<String>,
    /// Completed side effects that would have to be repeated: a person has to allow it.
    pub blocked_effects: Vec<String>,
}

/// Makes the plan.
pub fn plan(request: &Request<'_>) -> ResumePlan {
    let mut work = Work {
        request,
        reasons: BTreeMap::new(),
        changed: HashSet::new(),
        anchor: None,
        producers: Vec::new(),
        kept_producers: Vec::new(),
        graphs: HashMap::new(),
    };
    work.changes(0, request.plan.root());
    work.losses();
    match request.from {
        Some(from) => work.from(from),
        None => work.failure(),
    }
    work.rely();
    work.finish()
}

struct Work<'a> {
    request: &'a Request<'a>,
    /// Finished steps that are done again, with the reason.
    reasons: BTreeMap<String, String>,
    /// Steps whose own definition changed.
    changed: HashSet<String>,
    /// What was asked for, or the first step that failed.
    anchor: Option<String>,
    /// Producers that are done again because of what failed.
    producers: Vec<String>,
    kept_producers: Vec<String>,
    /// The recipes that were walked through: of a hundred steps that failed, each goes up the same ways.
    graphs: HashMap<FrameId, Rc<Graph>>,
}

impl Work<'_> {
    /// From this step on, everything is done again.
    fn from(&mut self, from: &str) {
        self.anchor = Some(from.to_owned());
        let state = self.request.state;
        let Some((id, at)) = state.find(from) else { return };
        let frame = &state.frames[id];
        // a tolerated failure is rerun only on explicit request
        let around = std::iter::successors(frame.parent, |(parent, _)| state.frames[*parent].parent);
        let is_inside = around.into_iter().any(|(parent, at)| state.is_finished(parent, at));
        for index in at..frame.steps.len() {
            if state.is_finished(id, index) || (index == at && is_inside) {
                let reason =
                    if index == at { "asked for".to_owned() } else { format!("it comes after `{from}`") };
                self.reasons.entry(frame.step_path(index)).or_insert(reason);
            }
        }
        // what comes after the recipe that it belongs to
        let mut up = frame.parent;
        while let Some((parent, at)) = up {
            let frame = &state.frames[parent];
            for index in at + 1..frame.steps.len() {
                if state.is_finished(parent, index) {
                    self.reasons
                        .entry(frame.step_path(index))
                        .or_insert_with(|| format!("it comes after `{from}`"));
                }
            }
            up = frame.parent;
        }
    }
}
