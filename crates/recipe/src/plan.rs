//! The meaning of a recipe: checked, resolved, ready to run.
//!
//! Only `check` makes a [`Plan`]; nothing in it is unresolved except names that are templates.

mod agent;
mod ask;
mod ensure;
mod environment;
mod input;
mod looped;
mod retry;
mod target;

use std::sync::Arc;

use crate::{
    condition::Condition,
    source::{Place, Sources},
    syntax::{ExitMeaning, Rule, Shell, When},
    template::Template,
    value::{Map, Value},
};

pub use agent::{AgentPrograms, AgentStep, Permissions, Recoverer};
pub use ask::{AskStep, OnTimeout, ShowTemplate};
pub use ensure::{EnsureKind, EnsureRule};
pub use environment::RecipeEnv;
pub use input::Input;
pub use looped::{ForEach, Loop, Repeat};
pub use retry::Retry;
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
    /// Environment variables that it asks for and gives.
    pub env: RecipeEnv,
    /// How bash runs its hooks, its `ensure` commands, and the commands of steps that do not say it themselves.
    pub shell: Shell,
    /// The budget of agents.
    pub budget: Budget,
    /// Whether each step starts as soon as the steps that it needs have completed.
    pub is_graph: bool,
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

    /// The template of the result text.
    pub fn result_template(&self) -> Option<&Template> {
        self.output.as_ref()?.template.as_ref()
    }

    /// Whether stdout has the result text and nothing else.
    pub fn result_only(&self) -> bool {
        self.output.as_ref().is_some_and(|output| output.only)
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

/// Limits on nesting and on agents, where a recipe declares them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// How deeply recipes may nest below.
    pub max_depth: Option<u64>,
    /// How many steps may run here and below.
    pub max_total_steps: Option<u64>,
    /// What agents may do here and below.
    pub permissions: Option<Permissions>,
}

impl Limits {
    /// Depth limit of a run whose recipe declares none.
    pub const DEFAULT_DEPTH: u64 = 6;
    /// Step limit of a run whose recipe declares none.
    pub const DEFAULT_STEPS: u64 = 200;
}

/// The result text of a recipe.
#[derive(Clone, Debug)]
pub struct Output {
    /// The format of the text.
    pub format: String,
    /// How it is made; otherwise it is the value of the last completed step.
    pub template: Option<Template>,
    /// Whether stdout has this text and nothing else.
    pub only: bool,
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
    /// How it runs several times, if it does.
    pub looped: Option<Loop>,
    /// The variable that takes its output.
    pub store: Option<String>,
    /// What must hold for it to run.
    pub condition: Option<Condition>,
    /// Whether it runs after a failure.
    pub when: When,
    /// Steps whose work it undoes as cleanup, as indexes into the unit's steps; `None` if it does not say.
    pub undoes: Option<Vec<usize>>,
    /// Whether its output is read as JSON.
    pub json: JsonMode,
    /// JSON Schema that its output must meet.
    pub json_schema: Option<Value>,
    /// How bash runs its command.
    pub shell: Shell,
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
    /// The rules that it must meet after its work.
    pub ensure: Vec<EnsureRule>,
    /// How often it is repeated while a rule is not met.
    pub ensure_retries: u64,
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
    /// Asks a person.
    Ask(Box<AskStep>),
}

impl StepKind {
    /// The word for it in files and reports.
    pub fn word(&self) -> &'static str {
        match self {
            StepKind::Shell { .. } => "bash",
            StepKind::Agent(_) => "agent",
            StepKind::Nested { .. } => "recipe",
            StepKind::Ask(_) => "ask",
        }
    }

    /// The question, if it asks a person.
    pub fn as_ask(&self) -> Option<&AskStep> {
        match self {
            StepKind::Ask(ask) => Some(ask),
            _ => None,
        }
    }
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
