//! Collects the facts about a failure from a run's state and files, for the diagnosis.

mod producers;
mod providers;

use std::path::Path;

use engine::{
    Outcome, RunState,
    failure::{
        Commands, Diagnosis, Facts, Producer, StepType, advice, diagnose, fingerprint, fingerprint_of_all,
        resume_command, then_resume,
    },
    knowledge::Knowledge,
    resume::asks_an_agent,
    run::{
        event::Ended,
        frame::{Frame, FrameId},
        message::budgets,
        text::brief,
    },
};
use recipe::{
    graph::{self, Link},
    plan::{Plan, StepKind},
};

use crate::{
    os::shell_word::quote,
    report::command_line::CliHint,
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
    pub advice: Vec<String>,
    /// The command that continues the run after that.
    pub resume: Option<String>,
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
pub fn failure(run: &FailedRun<'_>, commands: impl FnOnce(&str) -> Commands) -> Option<Found> {
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
    let commands = commands(&path);
    let own = match (&ended.outcome, &commands.resume) {
        (Outcome::Budget(exhausted), Some(resume)) => {
            crate::steps::agent::ledger::raise(exhausted, &state.used).map(|option| {
                let (what, command) = (budgets(exhausted), format!("{resume} {option}"));
                let raise = format!("the budget of {what} is used up: raise it with `{command}`");
                (vec![raise, then_resume(&command)], Some(command))
            })
        }
        (Outcome::NeedsHuman, resume) => Some((for_a_person(&path, &commands), resume.clone())),
        _ => None,
    };
    let (advice, resume) = own.unwrap_or_else(|| {
        (advice(&diagnosis, &path, &commands), resume_command(&diagnosis, &commands).cloned())
    });
    Some(Found { fingerprint: fingerprint_of_all(&fingerprints), advice, resume, diagnosis })
}

/// The advice for a step that waits for a person.
fn for_a_person(path: &str, commands: &Commands) -> Vec<String> {
    let then =
        |text: &str, command: &Option<String>| command.as_ref().map(|command| format!("{text}: {command}"));
    let mut steps = vec![format!("`{path}` is waiting for you. When you are done, resume the run")];
    steps.extend(then("read its full output", &commands.logs));
    steps.extend(commands.resume.as_deref().map(then_resume));
    steps
}

/// The diagnosis of a stopped run.
pub fn interruption(said: Option<&str>) -> Diagnosis {
    let detail = said.unwrap_or("its process is gone").to_owned();
    diagnose(&Facts { interrupted: true, detail, ..Facts::default() })
}

/// The commands that help with the failure of a step.
pub fn commands(reach: &CliHint, run: &str, recipe: &str, path: &str) -> Commands {
    Commands {
        resume: Some(reach.command(&format!("resume {run}"))),
        resume_edited: (!recipe.starts_with("built-in:"))
            .then(|| reach.command(&format!("resume {run} --recipe {}", quote(recipe)))),
        logs: Some(reach.step_command(&format!("logs {run}"), path)),
        plan: Some(reach.command(&format!("resume {run} --plan"))),
        validate: Some(format!("recipe-runner-rs validate {}", quote(recipe))),
        ..Commands::default()
    }
}

/// The command that continues a run: the diagnosis may know a better one than the usual.
pub fn next_command(reach: &CliHint, run: &str, found: Option<&Found>) -> String {
    let better = found.and_then(|found| found.resume.clone());
    better.unwrap_or_else(|| reach.command(&format!("resume {run}")))
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
