//! Collects the facts about a failure from a run's state and files, for the diagnosis. Judges nothing.

mod producers;
mod providers;

use std::path::Path;

use engine::{
    Outcome, RunState,
    failure::{Class, Facts, Producer, StepType, diagnose},
    knowledge::Knowledge,
    resume::asks_an_agent,
    run::{
        event::{Ended, OutputRef},
        frame::{Frame, FrameId},
        text::brief,
    },
};
use recipe::{
    graph::{self, Link},
    plan::{Plan, StepKind},
};

use crate::{
    steps::shell::attempt::signal_words,
    store::{secrets::Mask, values},
};
use producers::checked_work;
use providers::providers;

/// A run that failed, and what is needed to explain it.
#[derive(Clone, Copy)]
pub struct FailedRun<'a> {
    /// Its plan.
    pub plan: &'a Plan,
    /// Its state.
    pub state: &'a RunState,
    /// Its folder.
    pub run_dir: Option<&'a Path>,
    /// Its secrets.
    pub mask: &'a Mask,
    /// What is believed about programs and their words.
    pub knowledge: &'a Knowledge,
}

impl FailedRun<'_> {
    /// The kind of the failure that ended a recipe.
    pub(crate) fn class_in(&self, frame: FrameId) -> Class {
        if self.state.frames[frame].stopped.is_some() {
            return Class::Timeout;
        }
        let cause = self.state.first_cause_in(frame);
        let place = cause.as_ref().and_then(|(path, _)| self.state.locate(path));
        let Some((place, (_, ended))) = place.zip(cause) else { return Class::Unknown };
        diagnose(&self.facts(place, ended)).class
    }

    /// The facts about the end of a step.
    pub(crate) fn facts(&self, (id, at): (FrameId, usize), ended: &Ended) -> Facts {
        let FailedRun { plan, state, run_dir, mask, knowledge } = *self;
        let frame = &state.frames[id];
        let (around, index) = state.in_recipe((id, at));
        let work = checked_work(plan, state, around, index, mask);
        let step = &frame.unit.steps[at];
        let tail = |output: &Option<OutputRef>| match (run_dir, output) {
            (Some(dir), Some(output)) => {
                let (tail, before) = values::placed_tail(&dir.join(&output.file), 60, 8192);
                (mask.quotation(&tail).into_owned(), before)
            }
            _ => Default::default(),
        };
        let (stderr, stderr_before) = tail(&ended.stderr);
        let error = ended.error.clone().unwrap_or_default();
        let is_agent = matches!(step.kind, StepKind::Agent(_));
        let (stdout, stdout_before) = if is_agent { Default::default() } else { tail(&ended.stdout) };
        let sub_recipe = match &step.kind {
            StepKind::Nested { target, .. } => Some(brief(&target.called(&frame.scope(at)))),
            _ => None,
        };
        let known = Facts::of_end(ended, sub_recipe.as_deref());
        let detail = match &ended.outcome {
            Outcome::Signal(signal) => signal_words(*signal),
            _ => mask.quotation(&known.detail).into_owned(),
        };
        Facts {
            step_type: match &step.kind {
                StepKind::Shell { .. } => StepType::Bash,
                StepKind::Agent(_) => StepType::Agent,
                StepKind::Nested { .. } => StepType::Recipe,
                StepKind::Ask(_) => StepType::Ask,
            },
            command: match &step.kind {
                StepKind::Shell { command } => command.text().to_owned(),
                _ => String::new(),
            },
            stderr,
            stdout,
            stderr_before,
            stdout_before,
            agent_failure: is_agent.then(|| mask.quotation(&error).into_owned()),
            files_changed: work.as_ref().and_then(|work| work.files_changed),
            answer_of: work.as_ref().map(|work| work.step.clone()),
            answer: work.and_then(|work| work.answer),
            producer: producer(plan, &state.frames[around], index),
            is_check: !step.reads.is_empty() && step.produces.is_empty(),
            has_effects: !step.effects.is_empty(),
            providers: providers(plan, state, around, index),
            retries_exhausted: step.retry.is_some() && frame.steps[at].attempt > 1,
            detail,
            knowledge: knowledge.clone(),
            ..known
        }
    }
}

/// What links a step to the agents before it.
fn producer(plan: &Plan, frame: &Frame, at: usize) -> Producer {
    let worked =
        |from: usize| frame.steps[from].status.is_done() && asks_an_agent(plan, &frame.unit.steps[from]);
    let edges = graph::edges_in(plan, &frame.unit);
    let mut links = edges.iter().filter(|edge| edge.to == at && worked(edge.from)).map(|edge| edge.link);
    let is_product = links.clone().any(|link| link != Link::Order);
    if is_product || (0..at).any(|from| worked(from) && names_product(frame, from, at)) {
        return Producer::Product;
    }
    match links.next() {
        Some(_) => Producer::Before,
        None => Producer::None,
    }
}

/// Whether the command of a step names a file that another step declares.
fn names_product(frame: &Frame, from: usize, at: usize) -> bool {
    let StepKind::Shell { command } = &frame.unit.steps[at].kind else { return false };
    let ends_word = |c: char| c.is_whitespace() || "\"'`;|&()<>=$".contains(c);
    let mut words = command.text().split(ends_word).map(|word| word.trim_start_matches("./"));
    let produces = &frame.unit.steps[from].produces;
    words.any(|word| !word.is_empty() && produces.iter().any(|made| graph::patterns_meet(made, word)))
}
