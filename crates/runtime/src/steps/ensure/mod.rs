//! The check of a step's `ensure` rules, and the state of files before the step. Never decides what follows.

mod committed;
mod file_pattern;
mod file_states;
mod rules;
mod work_tree;

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use engine::{
    Outcome,
    run::ensure::{CheckEnd, RuleCheck},
};
use recipe::plan::EnsureKind;
use tokio::sync::{mpsc, watch};

pub(crate) use file_pattern::FilePattern;
pub(crate) use file_states::{ComparedFiles, FileStates, state_digest};
pub(crate) use rules::{ChangeRule, unmet};

use crate::{
    os::{environment::Environment, files, process::Exit},
    steps::{
        agent::staging::{ChangesBefore, stage},
        output_files::OutputFiles,
        performer::Performer,
        shell::attempt::{Command, ProcessEnd, Progress, StopSignal, run_command, signal_words, stopped},
        spawn::{SpawnContext, spawn_report},
    },
    store::{
        folder::{FolderError, make_dir, to_json, write_new},
        values,
    },
};

/// How much of a command's last output a result quotes.
const QUOTED_LINES: usize = 20;
const QUOTED_BYTES: u64 = 4096;

/// The state of files before the first attempt at a step.
#[derive(Clone, Debug)]
pub(crate) struct Baseline {
    /// The file that keeps it.
    pub(crate) file: PathBuf,
    /// The files.
    pub(crate) files: ComparedFiles,
}

impl Baseline {
    /// Stores the state of the files, unless an earlier attempt did.
    pub(crate) async fn take(&self) -> Result<(), FolderError> {
        if self.file.exists() {
            return Ok(());
        }
        let now = self.files.now().await;
        let unfinished = self.file.with_extension("new");
        if let Some(folder) = self.file.parent() {
            make_dir(folder)?;
        }
        let json = to_json(&now).map_err(FolderError::at("write", &unfinished))?;
        write_new(&unfinished, &json)?;
        files::rename(&unfinished, &self.file).map_err(FolderError::at("write", &self.file))
    }

    /// The files that differ from that state, or the reason why they are not known.
    pub(crate) async fn changed(&self) -> Result<Vec<PathBuf>, String> {
        let unknown =
            |error: String| format!("that the state of the files before the step is not known: {error}");
        let text = fs::read(&self.file).map_err(|error| unknown(error.to_string()))?;
        let before: FileStates = serde_json::from_slice(&text).map_err(|error| unknown(error.to_string()))?;
        self.files.changed(&before).await
    }
}

/// One rule to check.
#[derive(Debug)]
pub(crate) enum RuleTask {
    /// A rule about changed files.
    Changes(ChangeRule),
    /// A file that must exist: its path or pattern as it was rendered.
    File(String, FilePattern),
    /// A command that must exit with 0.
    Command(Box<CheckCommand>),
    /// A rule that cannot be met, and why.
    Impossible(RuleCheck),
}

/// A command that checks the work of a step.
#[derive(Debug)]
pub(crate) struct CheckCommand {
    /// The command, as written.
    pub(crate) text: String,
    /// The process.
    pub(crate) command: Command,
}

/// The check of a step's rules.
#[derive(Debug)]
pub(crate) struct EnsureTask {
    /// The run's folder.
    pub(crate) run: PathBuf,
    /// The directory of the step.
    pub(crate) cwd: PathBuf,
    /// The rules, in their order.
    pub(crate) rules: Vec<RuleTask>,
    /// Paths in conditions whose values are secret.
    pub(crate) secret: Vec<String>,
    /// The environment for git, if changes are staged once all rules are met. The conditions are met then.
    pub(crate) staged: Option<Environment>,
    /// The state of files before the step, if a rule needs it.
    pub(crate) baseline: Option<Baseline>,
    /// Seconds after which a command is ended.
    pub(crate) timeout: Option<f64>,
    /// How long a command has to end by itself.
    pub(crate) grace: Duration,
    /// The step.
    pub(crate) starter: SpawnContext,
    /// Who performs it.
    pub(crate) performer: Performer,
}

impl EnsureTask {
    /// Checks all rules, in their order. Changes are compared first: commands may change files too.
    pub(crate) async fn check(
        self,
        mut go: watch::Receiver<StopSignal>,
        progress: mpsc::UnboundedSender<Progress>,
    ) -> Result<CheckEnd, FolderError> {
        let changed = match &self.baseline {
            Some(baseline) => tokio::select! {
                biased;
                () = stopped(&mut go) => return Ok(CheckEnd::Stopped(go.borrow().ended())),
                changed = baseline.changed() => changed,
            },
            None => Ok(Vec::new()),
        };
        // changed files are named from the real directory
        let cwd = fs::canonicalize(&self.cwd).unwrap_or_else(|_| self.cwd.clone());
        let mut checks = Vec::with_capacity(self.rules.len());
        for rule in self.rules {
            checks.push(match rule {
                RuleTask::Changes(rule) => rule.check(&cwd, &changed),
                RuleTask::File(text, pattern) => rules::check_file(&self.cwd, &text, &pattern),
                RuleTask::Impossible(check) => check,
                RuleTask::Command(check) => {
                    let starter = self.starter.clone();
                    let report = spawn_report(&check.command, starter, progress.clone());
                    let outputs =
                        [&check.command.stdout, &check.command.stderr].map(|file| self.run.join(file));
                    let files = OutputFiles::open(outputs.clone())?;
                    let prepared = match self.performer.admit(&self.starter.path, "a check of", &check.text) {
                        Ok(()) => check.command.prepare(&files)?,
                        Err(error) => Err(error),
                    };
                    let end = run_command(prepared, self.timeout, self.grace, go.clone(), report).await;
                    if let ProcessEnd::Stopped(_) = end {
                        return Ok(CheckEnd::Stopped(go.borrow().ended()));
                    }
                    command_check(&check.text, &end, &outputs)
                }
            });
        }
        let staged = self.staged.filter(|_| checks.iter().all(|check| check.met));
        let step = &self.starter.path;
        let before = staged.as_ref().and_then(|_| ChangesBefore::kept(&self.run, step));
        let notes = match staged.zip(before) {
            Some((env, before)) => {
                stage((&self.cwd, &env), &before, step, &mut go).await.into_iter().collect()
            }
            None => Vec::new(),
        };
        Ok(CheckEnd::Checked { checks, secret: self.secret, notes })
    }
}

/// The result of a command.
fn command_check(text: &str, end: &ProcessEnd, outputs: &[PathBuf; 2]) -> RuleCheck {
    let (met, found) = match end {
        ProcessEnd::Exited { exit: Exit::Code(code), .. } => (*code == 0, format!("exit code {code}")),
        ProcessEnd::Exited { exit: Exit::Signal(signal), .. } => {
            (false, format!("an end by {}", signal_words(*signal)))
        }
        ProcessEnd::Exited { exit: Exit::Lost, .. } => (false, "a lost exit status".to_owned()),
        ProcessEnd::TimedOut(seconds) => {
            (false, format!("that it {}", Outcome::TimedOut(*seconds).cause().unwrap_or_default()))
        }
        ProcessEnd::NotStarted(error) => (false, error.to_string()),
        ProcessEnd::Stopped(_) => (false, StopSignal::Run.ended()),
    };
    let quoted = if met { String::new() } else { last_output(outputs) };
    RuleCheck {
        rule: EnsureKind::Command,
        met,
        expected: rules::success(text),
        found: format!("{found}{quoted}"),
    }
}

fn last_output(outputs: &[PathBuf; 2]) -> String {
    let quote = |stream: &str, file: &Path| match values::tail(file, QUOTED_LINES, QUOTED_BYTES) {
        text if text.is_empty() => String::new(),
        text => format!("\nlast on {stream}:\n{text}"),
    };
    quote("stdout", &outputs[0]) + &quote("stderr", &outputs[1])
}
