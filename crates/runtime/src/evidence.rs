//! What really happened in a run, as its journal tells it: started processes, resumes, notes. Never changes it.

use engine::{Event, Record};
use jiff::Timestamp;
use serde::Serialize;

use crate::{commands::quote, folder::Header, mask::Mask};

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
    /// When.
    pub at: Timestamp,
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
    let masked = |text: &str| mask.text(text).into_owned();
    let mut evidence = Evidence {
        recipe_digest: header.recipe_digest.clone(),
        recipe_path: header.recipe_path.clone(),
        working_dir: header.working_dir.to_string_lossy().into_owned(),
        repro_command: masked(&repro_command(header, mask)),
        spawned: Vec::new(),
        resumes: Vec::new(),
        retries: Vec::new(),
        notes: Vec::new(),
    };
    for record in records {
        match &record.event {
            Event::Spawned(spawned) => evidence.spawned.push(Process {
                step: spawned.path.clone(),
                attempt: spawned.attempt,
                pid: spawned.pid,
                argv: spawned.argv.iter().map(|arg| masked(arg)).collect(),
                cwd: spawned.cwd.clone(),
                at: record.at,
            }),
            Event::RunResumed(resumed) => evidence.resumes.push(Continuation {
                at: record.at,
                pid: resumed.pid,
                sources: resumed.sources,
                rerun: resumed.rerun.clone(),
            }),
            Event::AttemptFailed { path, attempt, ended, .. } => evidence.retries.push(Retry {
                step: path.clone(),
                attempt: *attempt,
                error: ended.error.as_deref().map(masked),
            }),
            Event::Noted { path, message } => {
                evidence.notes.push(Note { step: path.clone(), message: masked(message) });
            }
            _ => {}
        }
    }
    evidence
}

/// The command line that starts the same run again. Secrets are taken from the environment: they are not printed.
fn repro_command(header: &Header, mask: &Mask) -> String {
    let recipe = header.recipe_file.as_ref().map(|file| file.to_string_lossy().into_owned());
    let recipe = recipe.unwrap_or_else(|| header.recipe_path.trim_start_matches("built-in:").to_owned());
    let mut words = vec!["recipe-runner-rs".to_owned(), quote(&recipe)];
    words.push(format!("-C {}", quote(&header.working_dir.to_string_lossy())));
    for (name, value) in header.given() {
        words.push(match recipe::env_name::variable(&name).filter(|_| mask.is_secret(&name)) {
            Some(variable) => format!("--set {name}=\"${{{variable}:?}}\""),
            None => format!("--set {}", quote(&format!("{name}={}", value.render()))),
        });
    }
    let tags =
        [("--include-tags", &header.options.include_tags), ("--exclude-tags", &header.options.exclude_tags)];
    for (flag, tags) in tags.into_iter().filter(|(_, tags)| !tags.is_empty()) {
        words.push(format!("{flag} {}", quote(&tags.join(","))));
    }
    words.extend(header.options.step_timeout.map(|seconds| format!("--step-timeout {seconds}")));
    words.extend(header.options.agent_binary.as_ref().map(|name| format!("--agent-binary {}", quote(name))));
    words.join(" ")
}
