//! What kind of failure it is, and how anyone knows: typed facts first, text only in its context.
//!
//! Never changes what it looks at, never guesses silently: what nothing explains is `unknown` and says so.

mod advice;
mod class;
mod fingerprint;
mod hollow;
mod names;
mod network;
mod phrases;
mod provider;
mod rules;
mod text;
mod tools;
mod variables;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::{
    repair_review::{
        program::base_name,
        speaker::{Ended, Speaker, speaker},
    },
    run::outcome::Outcome,
};

pub use crate::run::outcome::{AgentTrouble, KnownBy};
pub use advice::{Commands, GO_ON, advice};
pub use class::{Bucket, Class, Confidence};
pub use fingerprint::{fingerprint, fingerprint_of_all, normalize};
pub use hollow::is_hollow;
pub use names::{SHELLS, STARTERS};
pub use provider::{Lack, Provider};

/// The longest quote of a signal, in characters.
pub const MAX_QUOTE: usize = 160;

/// What a step does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StepType {
    /// It runs a shell command.
    #[default]
    Bash,
    /// It asks an agent.
    Agent,
    /// It runs a recipe.
    Recipe,
}

/// What links a step to the agent steps before it.
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

/// What was found before or around the step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The recipe cannot be compiled.
    InvalidRecipe,
    /// Nothing can become ready.
    Deadlock,
    /// Uncommitted changes are in the way.
    WorkdirDirty,
    /// Something that is gone left its marks behind.
    StaleState,
    /// Another process works on it.
    AlreadyRunning,
    /// The kernel ended the step because there was no memory left.
    OutOfMemory,
    /// The system starts no more processes.
    NoProcesses,
    /// A directory or file that is needed is not there.
    MissingPath,
    /// The step cannot be prepared as the recipe has it.
    Unusable,
}

/// How many lines stand before the end of an output that is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// So many.
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
    /// Where a line of that end stands, by its index there.
    fn place(self, stream: &str, at: usize) -> String {
        match self {
            Before::Lines(before) => format!("{stream}:{}", before + at + 1),
            Before::Many => stream.to_owned(),
        }
    }
}

/// Everything that is known about a failure.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// How the last attempt ended.
    pub outcome: Option<Outcome>,
    /// What the step does.
    pub step_type: StepType,
    /// The command as the recipe writes it.
    pub command: String,
    /// The end of what it printed on standard error.
    pub stderr: String,
    /// The end of what it printed.
    pub stdout: String,
    /// How many lines it printed on standard error before that.
    pub stderr_before: Before,
    /// How many lines it printed before that.
    pub stdout_before: Before,
    /// Why the agent failed, in its own words.
    pub agent_failure: Option<String>,
    /// What is wrong with the agent's service.
    pub agent_trouble: Option<AgentTrouble>,
    /// Whether its structured result says that, or words.
    pub trouble_by: KnownBy,
    /// What the agent answered: the step's own, or that of the producer before it.
    pub answer: Option<String>,
    /// The step of the agent that answered it, where that is another one.
    pub answer_of: Option<String>,
    /// Whether files changed while that agent worked, if known.
    pub files_changed: Option<bool>,
    /// The agent steps before it.
    pub producer: Producer,
    /// Whether the recipe declares that it is a check.
    pub is_check: bool,
    /// Whether the recipe declares that it changes the world outside.
    pub has_effects: bool,
    /// Required environment variables that are not set.
    pub missing_env: Vec<String>,
    /// Names in the context that need a value and have none.
    pub missing_values: Vec<String>,
    /// The environment variables that the recipe itself provides; of several with one variable, the first one counts.
    pub providers: Vec<Provider>,
    /// The program that could not be started.
    pub missing_program: Option<String>,
    /// The command of its script that is nowhere on this machine.
    pub absent_program: Option<String>,
    /// What the runner says about a limit that was exceeded.
    pub limit: Option<String>,
    /// Whether every attempt that the step may have was used.
    pub retries_exhausted: bool,
    /// Whether the run was told to stop.
    pub interrupted: bool,
    /// What stood in the way.
    pub obstacle: Option<Obstacle>,
    /// The runner's own words for it.
    pub detail: String,
}

impl Facts {
    /// The exit code, if the step ended with one.
    pub fn exit_code(&self) -> Option<i32> {
        match self.outcome {
            Some(Outcome::Exit(code)) => Some(code),
            _ => None,
        }
    }

    /// Whether its script says itself that it ends with this code.
    fn exits_with(&self, code: i32) -> bool {
        ["exit", "return"].iter().any(|word| text::has_words(&self.command, &format!("{word} {code}")))
    }
}

/// A piece of evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signal {
    /// What it shows.
    pub what: String,
    /// The evidence itself, at most 160 characters.
    pub quote: String,
    /// Where it stands: `outcome`, `command`, `stderr:3`, `stdout:1`, `agent:1`.
    pub at: String,
}

impl Signal {
    /// Evidence, its quote cut to what people read.
    pub fn new(what: impl Into<String>, quote: &str, at: impl Into<String>) -> Signal {
        Signal { what: what.into(), quote: text::excerpt(quote, ""), at: at.into() }
    }
}

/// What kind of failure it is, with the evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// The kind.
    pub class: Class,
    /// Its code for machines.
    pub code: String,
    /// How sure it is.
    pub confidence: Confidence,
    /// The evidence.
    pub signals: Vec<Signal>,
    /// Kinds that some evidence speaks for too.
    pub secondary: Vec<Class>,
    /// Whether the cause is unknown.
    pub uncertain: bool,
    /// Who has to act.
    pub bucket: Bucket,
    /// Steps that failed beside it, each with its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Beside>,
    /// The part of the recipe that should have set the missing variable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<Provider>,
}

/// What the failure of another step is put down to, which failed beside the one that counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Beside {
    /// The step.
    pub step: String,
    /// The kind of its failure.
    pub class: Class,
    /// Its code for machines.
    pub code: String,
    /// How sure it is.
    pub confidence: Confidence,
    /// The evidence.
    pub signals: Vec<Signal>,
    /// Who has to act.
    pub bucket: Bucket,
}

impl Diagnosis {
    fn new(class: Class, confidence: Confidence, signals: Vec<Signal>) -> Diagnosis {
        let (code, bucket) = (class.code().to_owned(), class.bucket());
        let uncertain = class == Class::Unknown;
        let (secondary, beside) = (Vec::new(), Vec::new());
        let provider = None;
        Diagnosis { class, code, confidence, signals, secondary, uncertain, bucket, beside, provider }
    }

    /// The same, with what another step failed of.
    #[must_use]
    pub fn with(mut self, step: String, other: Diagnosis) -> Diagnosis {
        let Diagnosis { class, code, confidence, signals, bucket, .. } = other;
        self.beside.push(Beside { step, class, code, confidence, signals, bucket });
        self.also([class])
    }

    /// Several findings as one: the first one counts, the others add what they saw.
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

/// Tells what kind of failure it is.
pub fn diagnose(facts: &Facts) -> Diagnosis {
    let view = View::new(facts);
    let found = rules::typed(facts, &view)
        .or_else(|| hollow_success(facts, &view))
        .or_else(|| rules::missing_program(facts, &view))
        .or_else(|| network::by_transfer(facts))
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

/// Whose output it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// A command's that checks nothing.
    Plain,
    /// A check's.
    Check,
    /// A check's that prints what stands in files.
    Comparison,
}

/// What the command and the texts of a failure show, read once.
struct View {
    /// Who speaks for the command that failed.
    speaker: Speaker,
    /// What lines of its output speak for.
    hints: Vec<text::Hint>,
}

impl View {
    fn new(facts: &Facts) -> View {
        let speaker = match facts.step_type {
            StepType::Bash => speaker(&facts.command, &ended(facts)),
            _ => Speaker::Other,
        };
        let mut view = View { speaker, hints: Vec::new() };
        view.hints = text::hints(facts, view.source(facts));
        view
    }

    /// Whose output it is.
    fn source(&self, facts: &Facts) -> Source {
        let program = self.check().and_then(|words| words.split(' ').next()).map(base_name);
        match program {
            Some(program) if tools::COMPARISONS.contains(&program) => Source::Comparison,
            Some(_) => Source::Check,
            None if self.is_declared(facts) => Source::Check,
            None => Source::Plain,
        }
    }

    /// The check that failed, as written.
    fn check(&self) -> Option<&str> {
        match &self.speaker {
            Speaker::Check(words) | Speaker::Likely(words) => Some(words),
            Speaker::Effect(_) | Speaker::Other => None,
        }
    }

    /// Whether the failed command changes the world outside, and so does not check the work.
    fn is_effect(&self) -> bool {
        matches!(self.speaker, Speaker::Effect(_))
    }

    /// Whether the recipe says that it is a check.
    fn is_declared(&self, facts: &Facts) -> bool {
        facts.is_check && !self.is_effect()
    }
}

/// How the command ended, as far as that tells which part of it failed.
fn ended(facts: &Facts) -> Ended<'_> {
    Ended {
        code: facts.exit_code(),
        stderr: &facts.stderr,
        stdout: &facts.stdout,
        has_verdict: text::has_verdict(facts),
        has_effects: facts.has_effects,
    }
}
