//! What really happened in a run, as its journal tells it: started processes, resumes, notes. Never changes it.

use std::{
    collections::{BTreeSet, HashMap},
    path::Path,
};

use engine::{
    Event, Outcome, Record,
    event::{Ended, OutputRef},
};
use jiff::Timestamp;
use recipe::value::Map;
use serde::Serialize;

use crate::{
    command_line::quote,
    folder::{Header, Options, Recovery},
    mask::Mask,
    report::signal,
    runs::MAX_PARALLEL,
};

/// Most names of environments that the evidence of a run lists; the journal has all.
const NAMES: usize = 50_000;

/// What really happened.
#[derive(Clone, Debug, Serialize)]
pub struct Evidence {
    /// SHA-256 of the recipe that the run began with.
    pub recipe_digest: String,
    /// The recipe's file.
    pub recipe_path: String,
    /// Where it worked.
    pub working_dir: String,
    /// A command that does the same again from the beginning.
    pub repro_command: String,
    /// Processes that were started for steps.
    pub spawned: Vec<Process>,
    /// Every attempt at every step, also those before a resume.
    pub attempts: Vec<Try>,
    /// Who went on with it, and what was done again.
    pub resumes: Vec<Continuation>,
    /// Attempts that failed and were followed by another one.
    pub retries: Vec<Retry>,
    /// Things that people should know.
    pub notes: Vec<Note>,
}

/// A process that was started.
#[derive(Clone, Debug, Serialize)]
pub struct Process {
    /// The step.
    pub step: String,
    /// The attempt.
    pub attempt: u32,
    /// Its number.
    pub pid: u32,
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Its directory.
    pub cwd: String,
    /// The names of its environment, never the values; absent where a run has too many processes to list them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env_names: Option<Vec<String>>,
    /// When.
    pub at: Timestamp,
}

/// An attempt at a step.
#[derive(Clone, Debug, Serialize)]
pub struct Try {
    /// The step.
    pub step: String,
    /// Which attempt, from 1.
    pub attempt: u32,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended; absent if it was interrupted, or goes on.
    pub finished_at: Option<Timestamp>,
    /// How it ended.
    pub outcome: Option<Outcome>,
    /// Exit code, if a program ended with one.
    pub exit_code: Option<i32>,
    /// Signal, if a program was ended by one.
    pub signal: Option<i32>,
    /// What went wrong.
    pub error: Option<String>,
    /// SHA-256 of the values that it read.
    pub input_digest: Option<String>,
    /// What it printed.
    pub stdout: Option<OutputRef>,
    /// What it printed on standard error.
    pub stderr: Option<OutputRef>,
}

/// A continuation of the run.
#[derive(Clone, Debug, Serialize)]
pub struct Continuation {
    /// When.
    pub at: Timestamp,
    /// The process that went on.
    pub pid: u32,
    /// Which sources it went on with; 0 is the first.
    pub sources: u32,
    /// Finished steps that were done again.
    pub rerun: Vec<String>,
    /// Interrupted steps that were left out.
    pub skipped: Vec<String>,
    /// `person` or `auto_fix`.
    pub by: Option<String>,
    /// The step that it went on at.
    pub anchor: Option<String>,
}

/// An attempt that failed and was followed by another one.
#[derive(Clone, Debug, Serialize)]
pub struct Retry {
    /// The step.
    pub step: String,
    /// The attempt.
    pub attempt: u32,
    /// Why it failed.
    pub error: Option<String>,
}

/// Something that people should know.
#[derive(Clone, Debug, Serialize)]
pub struct Note {
    /// The step that it is about.
    pub step: Option<String>,
    /// What it is.
    pub message: String,
}

/// Gathers the evidence of a run.
pub fn gather(header: &Header, records: &[Record], mask: &Mask) -> Evidence {
    let mut gathering = Gathering {
        evidence: Evidence {
            recipe_digest: header.recipe_digest.clone(),
            recipe_path: header.recipe_path.clone(),
            working_dir: header.working_dir.to_string_lossy().into_owned(),
            repro_command: header_command(header, mask),
            spawned: Vec::new(),
            attempts: Vec::new(),
            resumes: Vec::new(),
            retries: Vec::new(),
            notes: Vec::new(),
        },
        mask,
        names: BTreeSet::new(),
        room: NAMES,
        open: HashMap::new(),
    };
    records.iter().for_each(|record| gathering.take(record));
    gathering.evidence
}

struct Gathering<'a> {
    evidence: Evidence,
    mask: &'a Mask,
    /// The names of the last process.
    names: BTreeSet<String>,
    /// How many more names are listed.
    room: usize,
    /// Where attempts stand that have not ended.
    open: HashMap<(&'a str, u32), usize>,
}

impl<'a> Gathering<'a> {
    fn masked(&self, text: &str) -> String {
        self.mask.text(text).into_owned()
    }

    fn take(&mut self, record: &'a Record) {
        match &record.event {
            Event::StepStarted { path, attempt, inputs } => {
                self.open.insert((path, *attempt), self.evidence.attempts.len());
                self.evidence.attempts.push(begun(path, *attempt, record.at, inputs.clone()));
            }
            Event::Spawned(spawned) => self.spawned(spawned, record.at),
            Event::RunResumed(resumed) => {
                self.names.clear();
                self.evidence.resumes.push(Continuation {
                    at: record.at,
                    pid: resumed.pid,
                    sources: resumed.sources,
                    rerun: resumed.rerun.clone(),
                    skipped: resumed.skip.clone(),
                    by: resumed.by.clone(),
                    anchor: resumed.anchor.clone(),
                });
            }
            Event::AttemptFailed { path, attempt, ended, .. } => {
                self.ended(path, *attempt, ended, record.at);
                let error = ended.error.as_deref().map(|error| self.masked(error));
                self.evidence.retries.push(Retry { step: path.clone(), attempt: *attempt, error });
            }
            Event::StepFinished { path, attempt, ended, .. } => {
                self.ended(path, *attempt, ended, record.at);
            }
            Event::Noted { path, message } => {
                let note = Note { step: path.clone(), message: self.masked(message) };
                self.evidence.notes.push(note);
            }
            _ => {}
        }
    }

    fn spawned(&mut self, spawned: &engine::event::Spawned, at: Timestamp) {
        spawned.env.apply(&mut self.names);
        // a journal from before names were kept has none
        let listed = !self.names.is_empty() && self.room >= self.names.len();
        self.room = self.room.saturating_sub(self.names.len());
        let process = Process {
            step: spawned.path.clone(),
            attempt: spawned.attempt,
            pid: spawned.pid,
            argv: spawned.argv.iter().map(|arg| self.masked(arg)).collect(),
            cwd: spawned.cwd.clone(),
            env_names: listed.then(|| self.names.iter().cloned().collect()),
            at,
        };
        self.evidence.spawned.push(process);
    }

    fn ended(&mut self, path: &'a str, attempt: u32, ended: &Ended, at: Timestamp) {
        let Some(index) = self.open.remove(&(path, attempt)) else { return };
        let error = ended.error.as_deref().map(|error| self.masked(error));
        let entry = &mut self.evidence.attempts[index];
        entry.finished_at = Some(at);
        entry.outcome = Some(ended.outcome.clone());
        entry.exit_code = ended.exit_code();
        entry.signal = signal(ended);
        entry.error = error;
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
        error: None,
        input_digest,
        stdout: None,
        stderr: None,
    }
}

/// The command line that starts a run like this one.
pub fn header_command(header: &Header, mask: &Mask) -> String {
    let recipe = header.recipe_file.as_ref().map(|file| file.to_string_lossy().into_owned());
    let recipe = recipe.unwrap_or_else(|| header.recipe_path.clone());
    repro_command(&recipe, &header.working_dir, &header.given(), &header.options, mask)
}

/// The command line that does the same from the beginning, wherever it is typed. A secret is taken from the
/// environment: it stands in no text.
pub fn repro_command(recipe: &str, dir: &Path, given: &Map, options: &Options, mask: &Mask) -> String {
    let mut words = ambient_words(options, mask);
    words.extend(["recipe-runner-rs".to_owned(), quote(recipe.trim_start_matches("built-in:"))]);
    // a current directory that is gone has no name
    let dir = Some(dir.to_string_lossy()).filter(|dir| !dir.is_empty());
    words.extend(dir.map(|dir| format!("-C {}", quote(&dir))));
    words.extend(options.recipe_dirs.iter().map(|dir| format!("-R {}", quote(&dir.to_string_lossy()))));
    for (name, value) in given {
        words.push(match secret_variable(name).filter(|_| mask.is_secret(name)) {
            Some(variable) => format!("--set {}\"{variable}\"", quote(&format!("{name}="))),
            None => format!("--set {}", quote(&mask.text(&format!("{name}={}", value.render())))),
        });
    }
    words.extend(flags(options));
    words.join(" ")
}

/// The variables that give values to the names of nested recipes, as `env` takes them.
fn ambient_words(options: &Options, mask: &Mask) -> Vec<String> {
    let assignment = |(name, value): (&String, &String)| match mask.is_secret(name) {
        // no shell can put in what has a hyphen in its name; the command takes it from its environment all the same
        true if name.contains('-') => None,
        true => Some(format!("{name}=\"${{{name}:?}}\"")),
        false => Some(quote(&mask.text(&format!("{name}={value}")))),
    };
    let assignments: Vec<String> = options.ambient.iter().filter_map(assignment).collect();
    let env = (!assignments.is_empty()).then(|| "env".to_owned());
    env.into_iter().chain(assignments).collect()
}

/// What a shell puts in for a secret: its exact variable, else its alias; it stops if there is neither.
fn secret_variable(name: &str) -> Option<String> {
    let exact = recipe::env_name::variable(name)?;
    Some(match recipe::env_name::alias(name) {
        Some(alias) => format!("${{{exact}:-${{{alias}:?}}}}"),
        None => format!("${{{exact}:?}}"),
    })
}

/// The flags that options come from.
fn flags(options: &Options) -> Vec<String> {
    let mut flags = Vec::new();
    let tags = [("--include-tags", &options.include_tags), ("--exclude-tags", &options.exclude_tags)];
    for (flag, tags) in tags.into_iter().filter(|(_, tags)| !tags.is_empty()) {
        flags.push(format!("{flag} {}", quote(&tags.join(","))));
    }
    let mut add = |flag: &str, value: Option<String>| {
        flags.extend(value.map(|value| format!("{flag} {}", quote(&value))));
    };
    let audit_dir = options.audit_dir.as_ref().map(|dir| dir.to_string_lossy().into_owned());
    add("--audit-dir", audit_dir);
    add("--agent-binary", options.agent_binary.clone());
    add("--step-timeout", options.step_timeout.map(|seconds| seconds.to_string()));
    let parallel = Some(options.max_parallel).filter(|number| *number != MAX_PARALLEL);
    add("--max-parallel", parallel.map(|number| number.to_string()));
    add("--max-agents", options.max_agents.map(|number| number.to_string()));
    let recovery = match options.recovery {
        Recovery::Declared => None,
        Recovery::Always => Some("always".to_owned()),
        Recovery::Off => Some("off".to_owned()),
    };
    add("--recovery", recovery);
    add("--budget-usd", options.budget.usd.map(|usd| usd.to_string()));
    add("--budget-tokens", options.budget.tokens.map(|tokens| tokens.to_string()));
    add("--budget-agent-runs", options.budget.agent_runs.map(|runs| runs.to_string()));
    add("--budget-minutes", options.budget.minutes.map(|minutes| minutes.to_string()));
    flags.extend(options.no_auto_stage.then(|| "--no-auto-stage".to_owned()));
    flags
}
