//! The kind of a failure and its evidence: typed facts first, text only in its context.
//!
//! Never changes its input, and never guesses silently: a failure without an explanation is `unknown` and is shown as
//! such.

mod advice;
mod class;
mod facts;
mod failing_command;
mod fingerprint;
mod hollow;
mod names;
mod network;
mod provider;
mod rules;
mod text;
mod trial_run;
mod trial_shell;
mod trial_values;
mod variables;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::{knowledge::CheckKind, run::outcome::Outcome};

pub use crate::run::outcome::{AgentTrouble, KnownBy};
pub use advice::{Actions, advice, resume_action, then_resume};
pub use class::{Class, Confidence, Responsibility};
pub use facts::Facts;
use failing_command::{FailingCommand, ScriptEnd, failing_command};
pub(crate) use fingerprint::strip_colours;
pub use fingerprint::{fingerprint, fingerprint_of_all, normalize};
pub use hollow::is_hollow;
pub use provider::{Lack, Provider};

/// The longest quote of a signal, in characters.
pub const MAX_QUOTE: usize = 160;

/// The kind of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StepType {
    /// It runs a shell command.
    #[default]
    Bash,
    /// It asks an agent.
    Agent,
    /// It runs a recipe.
    Recipe,
    /// It asks a person.
    Ask,
}

/// The link of a step to the agent steps before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Producer {
    /// Nothing.
    #[default]
    None,
    /// It comes right after one, or depends on one.
    Before,
    /// It uses the value or a declared file of one.
    Product,
}

/// An obstacle that was found before or around the step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The recipe cannot be compiled.
    InvalidRecipe,
    /// No step can become ready.
    Deadlock,
    /// Uncommitted changes are in the way.
    WorkdirDirty,
    /// A process that is gone left its markers behind.
    StaleState,
    /// Another process works on it.
    AlreadyRunning,
    /// The kernel ended the step because there was no memory left.
    OutOfMemory,
    /// The system cannot start more processes.
    NoProcesses,
    /// A required directory or file is missing.
    MissingPath,
    /// The directory in which the run began is gone.
    OldDirectory,
    /// The step cannot be prepared as the recipe defines it.
    Unusable,
}

/// The number of lines before the examined end of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// This many.
    Lines(usize),
    /// Too many to count.
    Many,
}

impl Default for Before {
    fn default() -> Before {
        Before::Lines(0)
    }
}

impl Before {
    /// The place of a line of that end, from its index there.
    fn place(self, stream: &str, at: usize) -> String {
        match self {
            Before::Lines(before) => format!("{stream}:{}", before + at + 1),
            Before::Many => stream.to_owned(),
        }
    }
}

/// A piece of evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signal {
    /// What it means.
    pub what: String,
    /// The evidence itself, at most 160 characters.
    pub quote: String,
    /// Its place: `outcome`, `command`, `stderr:3`, `stdout:1`, `agent:1`.
    pub at: String,
    /// What it means for the advice, if that is more than the class.
    #[serde(skip)]
    pub meaning: Option<Meaning>,
}

/// A meaning of a signal that changes the advice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// A signal ended the step while its run continued.
    EndedBySignal,
    /// The output of a command is not the required JSON.
    NoJson,
    /// A rule under `ensure` is not met.
    UnmetRule,
    /// A person rejected the work.
    Rejected,
    /// The program exists but cannot be executed.
    CannotBeExecuted,
    /// The recipe lacks a value that it needs.
    MissingValue,
    /// A given value does not fit the type of its input.
    UnfitValue,
    /// The directory in which the run began is gone.
    OldDirectory,
    /// The limit on processes is reached.
    ProcessLimit,
    /// The agent stopped at its own limit; the text is its message.
    AgentLimit(String),
    /// The agent says why it failed.
    AgentReport,
}

impl Signal {
    /// Evidence, with its quote shortened.
    pub fn new(what: impl Into<String>, quote: &str, at: impl Into<String>) -> Signal {
        Signal { what: what.into(), quote: text::excerpt(quote, ""), at: at.into(), meaning: None }
    }

    /// The same, with a meaning for the advice.
    #[must_use]
    pub(super) fn meaning(self, meaning: impl Into<Option<Meaning>>) -> Signal {
        Signal { meaning: meaning.into(), ..self }
    }
}

/// The kind of a failure, with the evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// The kind.
    pub class: Class,
    /// Its code for machines.
    pub code: String,
    /// The confidence.
    pub confidence: Confidence,
    /// The evidence.
    pub signals: Vec<Signal>,
    /// Other kinds that some evidence supports.
    pub secondary: Vec<Class>,
    /// Whether the cause is unknown.
    pub uncertain: bool,
    /// Which side has to act.
    pub bucket: Responsibility,
    /// The diagnoses of steps that failed in parallel.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Beside>,
    /// The part of the recipe that should have set the missing variable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<Provider>,
}

/// The diagnosis of another step that failed in parallel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Beside {
    /// The step.
    pub step: String,
    /// The kind of its failure.
    pub class: Class,
    /// Its code for machines.
    pub code: String,
    /// The confidence.
    pub confidence: Confidence,
    /// The evidence.
    pub signals: Vec<Signal>,
    /// Which side has to act.
    pub bucket: Responsibility,
}

impl Diagnosis {
    fn new(class: Class, confidence: Confidence, signals: Vec<Signal>) -> Diagnosis {
        let (code, bucket) = (class.code().to_owned(), class.bucket());
        let uncertain = class == Class::Unknown;
        let (secondary, beside) = (Vec::new(), Vec::new());
        let provider = None;
        Diagnosis { class, code, confidence, signals, secondary, uncertain, bucket, beside, provider }
    }

    /// The same, with the diagnosis of another step.
    #[must_use]
    pub fn with(mut self, step: String, other: Diagnosis) -> Diagnosis {
        let Diagnosis { class, code, confidence, signals, bucket, .. } = other;
        self.beside.push(Beside { step, class, code, confidence, signals, bucket });
        self.also([class])
    }

    /// Several diagnoses as one: the first one counts, the others add their evidence.
    pub fn together(found: impl IntoIterator<Item = Diagnosis>) -> Option<Diagnosis> {
        let mut found = found.into_iter();
        let mut first = found.next()?;
        for more in found {
            first.signals.extend(more.signals);
            first = first.also([more.class]);
        }
        Some(first)
    }

    fn also(mut self, classes: impl IntoIterator<Item = Class>) -> Diagnosis {
        for class in classes {
            if class != self.class && !self.secondary.contains(&class) {
                self.secondary.push(class);
            }
        }
        self
    }
}

/// Diagnoses a failure.
pub fn diagnose(facts: &Facts) -> Diagnosis {
    let view = View::new(facts);
    let found = rules::typed(facts, &view)
        .or_else(|| hollow_success(facts, &view))
        .or_else(|| rules::missing_program(facts, &view))
        .or_else(|| network::by_exit_code(facts))
        .or_else(|| rules::by_text(facts, &view))
        .or_else(|| rules::by_check(facts, &view))
        .or_else(|| rules::by_plain_output(facts, &view))
        .unwrap_or_else(|| rules::unexplained(facts, &view));
    let exhausted = facts.retries_exhausted.then_some(Class::RetryExhausted);
    found.also(view.hints.iter().map(|hint| hint.class)).also(exhausted)
}

fn hollow_success(facts: &Facts, view: &View) -> Option<Diagnosis> {
    let after_agent = facts.producer != Producer::None && !view.is_effect();
    let failed_check = matches!(facts.outcome, Some(Outcome::Exit(_))) && after_agent;
    let completed = facts.outcome == Some(Outcome::Ok) && facts.step_type == StepType::Agent;
    if !(failed_check || completed) {
        return None;
    }
    let mut signal = is_hollow(facts.answer.as_deref()?, facts.files_changed)?;
    if let Some(step) = &facts.answer_of {
        signal.what = format!("the agent of `{step}` could not reach the work");
    }
    Some(Diagnosis::new(Class::HollowSuccess, Confidence::Medium, vec![signal]))
}

/// The source of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// A command that checks nothing.
    Plain,
    /// A check.
    Check,
    /// A check that prints the content of files.
    Comparison,
}

/// The facts in the command and the texts of a failure, read once.
struct View {
    /// Which command the failure belongs to.
    failing: FailingCommand,
    /// The hints in its output.
    hints: Vec<text::Hint>,
}

impl View {
    fn new(facts: &Facts) -> View {
        let failing = match facts.step_type {
            StepType::Bash => failing_command(&facts.knowledge, &facts.command, &ended(facts)),
            _ => FailingCommand::Other,
        };
        let mut view = View { failing, hints: Vec::new() };
        view.hints = text::hints(facts, view.source(facts));
        view
    }

    /// The source of the output.
    fn source(&self, facts: &Facts) -> Source {
        let kind = |words: &str| facts.knowledge.use_of(&words.split(' ').collect::<Vec<_>>()).check;
        match self.check() {
            Some(words) if kind(words) == Some(CheckKind::Compare) => Source::Comparison,
            Some(_) => Source::Check,
            None if self.is_declared(facts) => Source::Check,
            None => Source::Plain,
        }
    }

    /// The check that failed, as written.
    fn check(&self) -> Option<&str> {
        match &self.failing {
            FailingCommand::Check(words) | FailingCommand::LikelyCheck(words) => Some(words),
            FailingCommand::Effect(_) | FailingCommand::Other => None,
        }
    }

    /// Whether the failed command changes the world outside, and so does not check the work.
    fn is_effect(&self) -> bool {
        matches!(self.failing, FailingCommand::Effect(_))
    }

    /// Whether the recipe declares it as a check.
    fn is_declared(&self, facts: &Facts) -> bool {
        facts.is_check && !self.is_effect()
    }
}

/// How the command ended, as far as that shows which part of it failed.
fn ended(facts: &Facts) -> ScriptEnd<'_> {
    ScriptEnd {
        code: facts.exit_code(),
        stderr: &facts.stderr,
        stdout: &facts.stdout,
        has_verdict: text::has_verdict(facts),
        has_effects: facts.has_effects,
    }
}
