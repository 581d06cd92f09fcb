//! Collects the facts about a failure from a run's state and files, for the diagnosis.

mod producers;
mod providers;

use std::path::Path;

use engine::{
    Outcome, RunState,
    failure::{
        Actions, Diagnosis, Facts, Producer, StepType, advice, diagnose, fingerprint, fingerprint_of_all,
        resume_action, then_resume,
    },
    knowledge::Knowledge,
    resume::asks_an_agent,
    run::{
        event::Ended,
        frame::{Frame, FrameId},
        message::budgets,
        next::{Advice, Next, ResumeChoice},
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

/// The diagnosis of a failure, and the advice.
#[derive(Clone, Debug)]
pub struct Found {
    /// The diagnosis.
    pub diagnosis: Diagnosis,
    /// Equal for equal failures; covers all steps that failed side by side.
    pub fingerprint: Option<String>,
    /// What a person can do next.
    pub advice: Vec<Advice>,
    /// How to continue the run after that.
    pub resume: Option<Next>,
}

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

/// Diagnoses the failure of a run.
pub fn failure(run: &FailedRun<'_>, actions: impl FnOnce(&str) -> Actions) -> Option<Found> {
    let FailedRun { plan, state, run_dir, mask, knowledge } = *run;
    let facts = |place, ended: &Ended| Facts {
        knowledge: knowledge.clone(),
        ..self::facts(plan, state, place, ended, run_dir, mask)
    };
    let (path, ended) = state.root_cause()?;
    let (id, at) = state.locate(&path)?;
    let first = facts((id, at), ended);
    let mut diagnosis = diagnose(&first);
    let mut fingerprints = vec![fingerprint(&path, diagnosis.class, &first)];
    for (path, ended) in state.causes().into_iter().skip(1) {
        let Some(place) = state.locate(&path) else { continue };
        let beside = facts(place, ended);
        let other = diagnose(&beside);
        fingerprints.push(fingerprint(&path, other.class, &beside));
        diagnosis = diagnosis.with(path, other);
    }
    let actions = actions(&path);
    let own = match (&ended.outcome, &actions.resume) {
        (Outcome::Budget(exhausted), Some(Next::Resume { run, how })) => {
            crate::steps::agent::ledger::raise(exhausted, &state.used).map(|budget| {
                let how = ResumeChoice { budget: Some(budget), ..how.clone() };
                let resume = Next::Resume { run: run.clone(), how };
                let raise = format!("the budget of {} is used up: raise it with", budgets(exhausted));
                (vec![Advice::inline(raise, resume.clone()), then_resume(resume.clone())], Some(resume))
            })
        }
        (Outcome::NeedsHuman, resume) => Some((for_a_person(&path, &actions), resume.clone())),
        _ => None,
    };
    let (advice, resume) = own.unwrap_or_else(|| {
        (advice(&diagnosis, &path, &actions), resume_action(&diagnosis, &actions).cloned())
    });
    Some(Found { fingerprint: fingerprint_of_all(&fingerprints), advice, resume, diagnosis })
}

/// The advice for a step that waits for a person.
fn for_a_person(path: &str, actions: &Actions) -> Vec<Advice> {
    let then = |text: &str, next: &Option<Next>| next.clone().map(|next| Advice::with(text, next));
    let waiting = format!("`{path}` is waiting for you. When you are done, resume the run");
    let mut steps = vec![Advice::new(waiting)];
    steps.extend(then("read its full output", &actions.logs));
    steps.extend(actions.resume.clone().map(then_resume));
    steps
}

/// The diagnosis of a stopped run.
pub fn interruption(said: Option<&str>) -> Diagnosis {
    let detail = said.unwrap_or("its process is gone").to_owned();
    diagnose(&Facts { interrupted: true, detail, ..Facts::default() })
}

/// The actions that help with the failure of a step.
pub fn actions(run: &str, recipe: &str, path: &str) -> Actions {
    let plan = ResumeChoice { plan: true, ..ResumeChoice::default() };
    Actions {
        resume: Some(Next::resume(run)),
        resume_edited: (!recipe.starts_with("built-in:")).then(|| Next::resume_with(run, recipe)),
        logs: Some(Next::Logs { run: run.to_owned(), step: Some(path.to_owned()) }),
        plan: Some(Next::Resume { run: run.to_owned(), how: plan }),
        validate: Some(Next::Validate { recipe: recipe.to_owned() }),
        ..Actions::default()
    }
}

/// How to continue a run: the diagnosis may know a better way than the usual one.
pub fn next_resume(run: &str, found: Option<&Found>) -> Next {
    let better = found.and_then(|found| found.resume.clone());
    better.unwrap_or_else(|| Next::resume(run))
}

fn facts(
    plan: &Plan,
    state: &RunState,
    place: (FrameId, usize),
    ended: &Ended,
    run_dir: Option<&Path>,
    mask: &Mask,
) -> Facts {
    let (id, at) = place;
    let frame = &state.frames[id];
    let work = checked_work(plan, state, id, at, mask);
    let step = &frame.unit.steps[at];
    let tail = |output: &Option<engine::run::event::OutputRef>| match (run_dir, output) {
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
        StepKind::Nested { target, .. } => Some(brief(&target.called(frame))),
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
        producer: producer(plan, frame, at),
        is_check: !step.reads.is_empty() && step.produces.is_empty(),
        has_effects: !step.effects.is_empty(),
        providers: providers(plan, state, id, at),
        retries_exhausted: step.retry.is_some() && frame.steps[at].attempt > 1,
        detail,
        ..known
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
