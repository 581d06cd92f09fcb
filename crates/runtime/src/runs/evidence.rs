//! The evidence of a run, gathered from its journal. Never changes it.

use std::collections::{BTreeSet, HashMap, HashSet};

use engine::{
    Event, Outcome, Record, RunStatus,
    run::{
        event::{Ended, RunResumed},
        outcome::OutcomeKind,
        step_path::is_below,
    },
};
use jiff::Timestamp;

use super::{CurrentRecipe, OpenedRun, repro::Repeated};
use crate::{
    report::evidence::{Continuation, Evidence, Note, Process, RecipeRef, Retry, Try},
    store::secrets::Mask,
};

/// The most environment names that the evidence of a run lists; the journal has all.
const NAMES: usize = 50_000;

/// Whether the evidence lists processes. They are most of it, and few readers want them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Processes {
    /// Every process is listed.
    Listed,
    /// No process is listed.
    LeftOut,
}

/// Gathers the evidence of a run.
pub(super) fn gather(shown: &OpenedRun, processes: Processes) -> Evidence {
    let OpenedRun { header, recipe, mask, .. } = shown;
    let reference = |recipe: &CurrentRecipe| RecipeRef {
        recipe_digest: recipe.digest.clone(),
        recipe_path: recipe.name(),
    };
    let (first, now) = (reference(&CurrentRecipe::first(header)), reference(recipe));
    let mut gathering = Gathering {
        evidence: Evidence {
            start_again: Repeated {
                recipe: &now.recipe_path,
                dir: &header.working_dir,
                given: &shown.state.settings.given,
                options: &header.options,
                folder: Some(&shown.folder),
            }
            .start(mask),
            began_with: (first != now).then_some(first),
            recipe_digest: now.recipe_digest,
            recipe_path: now.recipe_path,
            working_dir: header.working_dir.to_string_lossy().into_owned(),
            spawned: (processes == Processes::Listed).then(Vec::new),
            attempts: Vec::new(),
            resumes: Vec::new(),
            retries: Vec::new(),
            notes: Vec::new(),
        },
        mask,
        names: BTreeSet::new(),
        room: NAMES,
        started: HashSet::new(),
        open: HashMap::new(),
        asked: HashSet::new(),
    };
    shown.records.iter().for_each(|record| gathering.take(record));
    if shown.status != RunStatus::Running {
        gathering.lost();
    }
    gathering.evidence
}

fn is_stopped(status: RunStatus) -> bool {
    matches!(status, RunStatus::Interrupted | RunStatus::Cancelled)
}

struct Gathering<'a> {
    evidence: Evidence,
    mask: &'a Mask,
    /// The environment names of the last process.
    names: BTreeSet<String>,
    /// How many more names are listed.
    room: usize,
    /// Attempts that have started a process of their own.
    started: HashSet<(&'a str, u32)>,
    /// The index of attempts that have not ended.
    open: HashMap<(&'a str, u32), usize>,
    /// Steps that have asked a person.
    asked: HashSet<&'a str>,
}

impl<'a> Gathering<'a> {
    fn quoted(&self, text: &str) -> String {
        self.mask.quotation(text).into_owned()
    }

    /// An argument as it was recorded: a long one was cut.
    fn argument(&self, text: &str) -> String {
        match text.ends_with('…') {
            true => self.quoted(text),
            false => self.mask.text(text).into_owned(),
        }
    }

    /// The records after this one come from another process.
    fn process_gone(&mut self) {
        self.names.clear();
        self.lost();
    }

    fn take(&mut self, record: &'a Record) {
        match &record.event {
            Event::StepStarted { path, attempt, inputs } => {
                self.open.insert((path, *attempt), self.evidence.attempts.len());
                self.evidence.attempts.push(begun(path, *attempt, record.at, inputs.clone()));
            }
            Event::Spawned(spawned) => self.spawned(spawned, record.at),
            Event::StepNotBegun { path, attempt } => {
                self.ended(path, *attempt, &Ended::new(Outcome::Cancelled, None), record.at);
            }
            Event::QuestionPut(put) => {
                self.asked.insert(&put.path);
            }
            Event::RunFinished(finished) if is_stopped(finished.status) => self.stopped(record.at),
            Event::RunFinished(finished) if finished.status == RunStatus::Waiting => self.waiting(),
            // the names of later processes are not relative to those of the run
            Event::RepairBegan(_) => self.names.clear(),
            Event::RunTakenOver { .. } => self.process_gone(),
            Event::RunResumed(resumed) => {
                self.process_gone();
                self.evidence.resumes.push(Continuation {
                    at: record.at,
                    pid: resumed.pid,
                    sources: resumed.sources,
                    recipe_path: resumed.recipe_file.clone(),
                    recipe_digest: resumed.recipe_digest.clone(),
                    rerun: rerun(resumed),
                    skipped: resumed.skip.clone(),
                    by: resumed.by.clone(),
                    anchor: resumed.anchor.clone(),
                    origin: resumed.origin.clone(),
                });
            }
            Event::CheckRepeated { path, attempt } => self.reopened(path, *attempt),
            Event::AttemptFailed { path, attempt, ended, .. } => {
                self.ended(path, *attempt, ended, record.at);
                if ended.outcome == Outcome::Cancelled {
                    return;
                }
                let error = self.quoted(ended.error.as_deref().unwrap_or_default());
                self.evidence.retries.push(Retry { step: path.clone(), attempt: *attempt, error });
            }
            Event::StepFinished { path, attempt, ended, .. } => {
                self.ended(path, *attempt, ended, record.at);
            }
            Event::Noted { path, message, next } => {
                let (step, message) = (path.clone(), self.quoted(message));
                let note = Note { step, message, next: next.clone() };
                self.evidence.notes.push(note);
            }
            Event::HookFinished { path, hook, error: Some(error) } => {
                let message = format!("warning: hook {hook} failed: {}", self.quoted(error));
                self.evidence.notes.push(Note { step: Some(path.clone()), message, next: None });
            }
            _ => {}
        }
    }

    fn spawned(&mut self, spawned: &'a engine::run::event::Spawned, at: Timestamp) {
        if spawned.purpose.is_none() {
            self.started.insert((&spawned.path, spawned.attempt));
        }
        let begun = self.open.get(&(spawned.path.as_str(), spawned.attempt));
        let prompt = spawned.prompt.as_ref().filter(|_| spawned.purpose.is_none());
        if let (Some(index), Some(prompt)) = (begun, prompt) {
            self.evidence.attempts[*index].prompt = Some(prompt.clone());
        }
        if self.evidence.spawned.is_none() {
            return;
        }
        spawned.env.apply(&mut self.names);
        // older journals have no names
        let listed = !self.names.is_empty() && self.room >= self.names.len();
        self.room = self.room.saturating_sub(self.names.len());
        let process = Process {
            step: spawned.path.clone(),
            attempt: spawned.attempt,
            purpose: spawned.purpose.clone(),
            pid: spawned.pid,
            argv: spawned.argv.iter().map(|arg| self.argument(arg)).collect(),
            cwd: spawned.cwd.clone(),
            env_names: listed.then(|| self.names.iter().cloned().collect()),
            at,
        };
        self.evidence.spawned.get_or_insert_default().push(process);
    }

    /// The check of an attempt continues after a resume.
    fn reopened(&mut self, path: &'a str, attempt: u32) {
        let is_it = |entry: &Try| entry.step == path && entry.attempt == attempt;
        if let Some(index) = self.evidence.attempts.iter().rposition(is_it) {
            self.open.insert((path, attempt), index);
        }
    }

    /// A stop of the run closes what is open: recipes, and steps between two attempts.
    fn stopped(&mut self, at: Timestamp) {
        // a live runner records the end of its processes; without that record the time is unknown
        let is_known = self.open.keys().all(|attempt| !self.started.contains(attempt));
        for (_, index) in self.open.drain() {
            let entry = &mut self.evidence.attempts[index];
            entry.outcome = Some(OutcomeKind::Cancelled);
            entry.finished_at = is_known.then_some(at);
        }
    }

    /// The run waits for a person: its questions, and the recipes around them, have not ended and are not lost.
    fn waiting(&mut self) {
        let asked = &self.asked;
        let waits = |path: &str| asked.contains(path) || asked.iter().any(|inner| is_below(inner, path));
        self.open.retain(|attempt, _| !waits(attempt.0));
    }

    /// The runner died without a last record.
    fn lost(&mut self) {
        for (_, index) in self.open.drain() {
            self.evidence.attempts[index].outcome = Some(OutcomeKind::Lost);
        }
    }

    fn ended(&mut self, path: &'a str, attempt: u32, ended: &Ended, at: Timestamp) {
        let Some(index) = self.open.remove(&(path, attempt)) else { return };
        let error = self.quoted(ended.error.as_deref().unwrap_or_default());
        let ensure = self.mask.checks(&ended.ensure);
        let entry = &mut self.evidence.attempts[index];
        entry.finished_at = Some(at);
        entry.outcome = Some(ended.outcome.kind());
        entry.exit_code = ended.exit_code();
        entry.signal = ended.signal();
        entry.error = error;
        entry.ensure = ensure;
        entry.stdout.clone_from(&ended.stdout);
        entry.stderr.clone_from(&ended.stderr);
    }
}

fn begun(path: &str, attempt: u32, at: Timestamp, input_digest: Option<String>) -> Try {
    Try {
        step: path.to_owned(),
        attempt,
        started_at: at,
        finished_at: None,
        outcome: None,
        exit_code: None,
        signal: None,
        error: String::new(),
        input_digest,
        stdout: None,
        stderr: None,
        prompt: None,
        ensure: Vec::new(),
    }
}

/// The steps that a resume ran again; older journals name only those that were finished.
fn rerun(resumed: &RunResumed) -> Vec<String> {
    match resumed.again.is_empty() {
        true => resumed.given_up().into_iter().map(str::to_owned).collect(),
        false => resumed.again.clone(),
    }
}
