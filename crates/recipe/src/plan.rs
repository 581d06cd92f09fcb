//! The meaning of a recipe: checked, resolved, ready to run.
//!
//! Only `check` makes a [`Plan`]; nothing in it is unresolved except names that are templates.

mod target;

use std::sync::Arc;

use crate::{
    condition::Condition,
    source::{Place, Sources},
    syntax::{Backoff, ExitMeaning, RetryOn, Rule},
    template::Template,
    value::{Map, Value},
};

pub use target::Target;

/// Which recipe of a [`Plan`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnitId(pub u32);

/// A recipe with every recipe that it can reach.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The recipe that was asked for.
    pub root: UnitId,
    /// All recipes; recipe steps refer to them by [`UnitId`], so that recursion needs no copies.
    pub units: Vec<Arc<Unit>>,
    /// The texts they were made from.
    pub sources: Sources,
}

impl Plan {
    /// The recipe with this id.
    pub fn unit(&self, id: UnitId) -> &Arc<Unit> {
        &self.units[id.0 as usize]
    }

    /// The recipe that was asked for.
    pub fn root(&self) -> &Arc<Unit> {
        self.unit(self.root)
    }
}

/// One checked recipe.
#[derive(Clone, Debug, Default)]
pub struct Unit {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its description.
    pub description: String,
    /// Its author.
    pub author: String,
    /// Words to sort recipes by.
    pub tags: Vec<String>,
    /// The file it was read from.
    pub path: String,
    /// SHA-256 of the file's text.
    pub digest: String,
    /// Default values of the context.
    pub context: Map,
    /// Requirements for context variables before the first step.
    pub rules: Vec<(String, Rule)>,
    /// Variables it wants to be given.
    pub inputs: Vec<Input>,
    /// Its result text.
    pub output: Option<Output>,
    /// Limits that it declares.
    pub limits: Limits,
    /// Commands around every step.
    pub hooks: Hooks,
    /// Context names whose values are secret.
    pub secrets: Vec<String>,
    /// Environment variables that must be set.
    pub required_env: Vec<String>,
    /// Files that define environment variables.
    pub env_files: Vec<String>,
    /// The budget of agents.
    pub budget: Budget,
    /// Its steps.
    pub steps: Vec<Arc<Step>>,
    /// Names that its context can have: declared ones, inputs and those that steps store.
    pub names: Vec<String>,
}

impl Unit {
    /// The names that the recipe declares, as values or as inputs.
    pub fn declared(&self) -> impl Iterator<Item = &String> {
        self.context.keys().chain(self.inputs.iter().map(|input| &input.name))
    }

    /// Those, and the names that a rule of it speaks of: a rule is a promise that the caller gives the variable.
    pub fn expected(&self) -> impl Iterator<Item = &String> {
        self.declared().chain(self.rules.iter().map(|(name, _)| name))
    }

    /// The context that the recipe declares: its values, and the defaults of its inputs.
    pub fn defaults(&self) -> Map {
        let mut context = self.context.clone();
        for input in &self.inputs {
            if let Some(default) = &input.default {
                context.entry(input.name.clone()).or_insert_with(|| default.clone());
            }
        }
        context
    }
}

/// Limits on nesting, where a recipe declares them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// How deeply recipes may nest below.
    pub max_depth: Option<u64>,
    /// How many steps may run here and below.
    pub max_total_steps: Option<u64>,
}

impl Limits {
    /// Depth limit of a run whose recipe declares none.
    pub const DEFAULT_DEPTH: u64 = 6;
    /// Step limit of a run whose recipe declares none.
    pub const DEFAULT_STEPS: u64 = 200;
}

/// A variable that a recipe wants to be given.
#[derive(Clone, Debug)]
pub struct Input {
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// Whether the recipe refuses to start without it.
    pub required: bool,
    /// Its value if none is given.
    pub default: Option<Value>,
}

/// The result text of a recipe.
#[derive(Clone, Debug)]
pub struct Output {
    /// The format of the text.
    pub format: String,
    /// How it is made.
    pub template: Template,
}

/// Commands around every step.
#[derive(Clone, Debug, Default)]
pub struct Hooks {
    /// Before a step.
    pub pre_step: Option<Template>,
    /// After a step that succeeded.
    pub post_step: Option<Template>,
    /// After a step that failed.
    pub on_error: Option<Template>,
}

/// The budget of agents; an absent value means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Budget {
    /// Dollars.
    pub usd: Option<f64>,
    /// Tokens.
    pub tokens: Option<u64>,
    /// Starts of an agent.
    pub agent_runs: Option<u64>,
    /// Minutes of agents' work.
    pub minutes: Option<f64>,
}

/// One checked step.
#[derive(Clone, Debug)]
pub struct Step {
    /// Its name in the recipe.
    pub id: String,
    /// Its title for people.
    pub title: Option<String>,
    /// Its description.
    pub description: Option<String>,
    /// Its kind.
    pub kind: StepKind,
    /// The variable that takes its output.
    pub store: Option<String>,
    /// When it runs.
    pub condition: Option<Condition>,
    /// Whether its output is read as JSON.
    pub json: JsonMode,
    /// JSON Schema that its output must meet.
    pub json_schema: Option<Value>,
    /// Where it runs.
    pub working_dir: Option<Template>,
    /// Seconds after which it is ended.
    pub timeout: Option<f64>,
    /// Whether they are the step's own, and not the recipe's default.
    pub has_own_timeout: bool,
    /// Extra environment variables.
    pub env: Vec<(String, Template)>,
    /// Largest value in bytes that travels in an environment variable.
    pub max_env_value_bytes: Option<u64>,
    /// Whether the run continues when it fails.
    pub continue_on_error: bool,
    /// Its tags.
    pub tags: Vec<String>,
    /// Its parallel group: consecutive members share the number.
    pub group: Option<Group>,
    /// Steps that must have completed, as indexes into the unit's steps.
    pub depends_on: Vec<usize>,
    /// What happens when an attempt fails.
    pub retry: Option<Retry>,
    /// Whether it may run again when it was interrupted.
    pub idempotent: bool,
    /// Its side effects.
    pub effects: Vec<String>,
    /// File patterns that it reads.
    pub reads: Vec<String>,
    /// File patterns that it writes.
    pub produces: Vec<String>,
    /// The meaning of exit codes.
    pub exit_codes: Vec<(i32, ExitMeaning)>,
    /// Its place.
    pub place: Place,
    /// SHA-256 of its definition without titles and descriptions.
    pub digest: String,
}

impl Step {
    /// The timeout in seconds, given the default of the command line: the step's own timeout takes precedence.
    pub fn timeout_beside(&self, asked: Option<f64>) -> Option<f64> {
        match self.has_own_timeout {
            true => self.timeout,
            false => asked.or(self.timeout),
        }
    }

    /// The meaning of an exit code, if the step declares it.
    pub fn exit_meaning(&self, code: i32) -> Option<ExitMeaning> {
        self.exit_codes.iter().find(|(known, _)| *known == code).map(|(_, meaning)| *meaning)
    }
}

/// A parallel group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// Which group of the recipe: the same name used again later is another group.
    pub number: usize,
}

/// The kind of a step.
#[derive(Clone, Debug)]
pub enum StepKind {
    /// Runs a shell command.
    Shell {
        /// The command.
        command: Template,
    },
    /// Asks a coding agent.
    Agent(Box<AgentStep>),
    /// Runs a recipe.
    Nested {
        /// Which one.
        target: Target,
        /// Context values that are passed to it.
        overrides: Vec<(String, ValueTemplate)>,
        /// Whether an agent may try to finish the work when it fails.
        recovery: bool,
        /// Which agent that is.
        recoverer: Recoverer,
    },
}

/// The agent that tries to finish the work of a failed recipe; absent means the run's usual one.
#[derive(Clone, Debug, Default)]
pub struct Recoverer {
    /// The model.
    pub model: Option<Template>,
    /// The agent program.
    pub program: Option<String>,
}

impl StepKind {
    /// The word for it in files and reports.
    pub fn word(&self) -> &'static str {
        match self {
            StepKind::Shell { .. } => "bash",
            StepKind::Agent(_) => "agent",
            StepKind::Nested { .. } => "recipe",
        }
    }
}

/// A step that asks a coding agent.
#[derive(Clone, Debug)]
pub struct AgentStep {
    /// The prompt.
    pub prompt: Template,
    /// The agent reference as written.
    pub reference: Option<String>,
    /// Text of the agent file, if the reference leads to one.
    pub system_prompt: Option<Arc<str>>,
    /// The model.
    pub model: Option<Template>,
    /// The agent program.
    pub program: Option<String>,
    /// The mode.
    pub mode: Option<String>,
    /// Whether changed files are staged afterwards.
    pub auto_stage: bool,
    /// Seconds of silence after which it is ended.
    pub idle_timeout: Option<f64>,
    /// How often it is asked again for valid JSON.
    pub json_retries: u64,
}

/// A value with templates inside.
#[derive(Clone, Debug)]
pub enum ValueTemplate {
    /// A value without templates.
    Plain(Value),
    /// Text with templates.
    Text(Template),
    /// A list of them.
    List(Vec<ValueTemplate>),
    /// A map of them.
    Map(Vec<(String, ValueTemplate)>),
}

impl ValueTemplate {
    /// The value with every template rendered; text that is exactly one template keeps the type of its value.
    pub fn render(&self, scope: &dyn crate::scope::Scope) -> Value {
        match self {
            ValueTemplate::Plain(value) => value.clone(),
            ValueTemplate::Text(template) => template.value(scope),
            ValueTemplate::List(items) => Value::list(items.iter().map(|item| item.render(scope)).collect()),
            ValueTemplate::Map(members) => {
                Value::map(members.iter().map(|(key, item)| (key.clone(), item.render(scope))).collect())
            }
        }
    }

    /// Every template in it.
    pub fn templates(&self) -> Vec<&Template> {
        match self {
            ValueTemplate::Plain(_) => Vec::new(),
            ValueTemplate::Text(template) => vec![template],
            ValueTemplate::List(items) => items.iter().flat_map(ValueTemplate::templates).collect(),
            ValueTemplate::Map(members) => members.iter().flat_map(|(_, item)| item.templates()).collect(),
        }
    }
}

/// How a step's output becomes a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonMode {
    /// It stays text.
    Text,
    /// JSON in it becomes structure; without any the step is degraded.
    Wanted,
    /// JSON in it becomes structure; without any the step fails.
    Required,
}

/// What happens when an attempt fails.
#[derive(Clone, Debug, PartialEq)]
pub struct Retry {
    /// Attempts in all.
    pub max_attempts: u64,
    /// Seconds before the second one.
    pub delay: f64,
    /// How the delay grows.
    pub backoff: Backoff,
    /// Longest delay in seconds.
    pub max_delay: f64,
    /// Which failures are tried again.
    pub on: Vec<RetryOn>,
}

impl Retry {
    /// Seconds to wait after failed attempt number `attempt`, counted from 1.
    pub fn delay_after(&self, attempt: u64) -> f64 {
        let factor = match self.backoff {
            Backoff::Fixed => 1.0,
            Backoff::Exponential => 2f64.powi(attempt.saturating_sub(1).min(60) as i32),
        };
        (self.delay * factor).min(self.max_delay)
    }
}
