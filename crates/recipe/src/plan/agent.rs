//! Agent steps: the task, the program, and what it may do.

use std::sync::Arc;

use crate::{scope::Scope, syntax::PermissionLevel, template::Template};

/// A step that asks a coding agent.
#[derive(Clone, Debug)]
pub struct AgentStep {
    /// The prompt.
    pub prompt: Template,
    /// The file with the prompt, if its path is known only when the step runs; then `prompt` is empty.
    pub prompt_file: Option<Template>,
    /// The agent reference as written.
    pub reference: Option<String>,
    /// Text of the agent file, if the reference leads to one.
    pub system_prompt: Option<Arc<str>>,
    /// The model.
    pub model: Option<Template>,
    /// The agent programs.
    pub programs: AgentPrograms,
    /// The mode.
    pub mode: Option<String>,
    /// What the agent may do; absent if the step does not say so.
    pub permissions: Option<Permissions>,
    /// More arguments for the program.
    pub args: Vec<Template>,
    /// The step whose conversation it continues, as an index into the unit's steps.
    pub continues: Option<usize>,
    /// Whether changed files are staged afterwards.
    pub auto_stage: bool,
    /// Seconds of silence after which it is ended.
    pub idle_timeout: Option<f64>,
    /// How often it is asked again for valid JSON.
    pub json_retries: u64,
}

/// The agent that tries to finish the work of a failed recipe; absent means the run's usual one.
#[derive(Clone, Debug, Default)]
pub struct Recoverer {
    /// The model.
    pub model: Option<Template>,
    /// The agent programs.
    pub programs: AgentPrograms,
}

/// The agent programs that a step names, in the order in which they are tried; none means those of the run.
#[derive(Clone, Debug, Default)]
pub struct AgentPrograms(pub Vec<Template>);

impl AgentPrograms {
    /// The names as they are written.
    pub fn written(&self) -> Vec<&str> {
        self.0.iter().map(Template::text).collect()
    }

    /// The names, unless one of them depends on a value.
    pub fn fixed(&self) -> Option<Vec<String>> {
        self.0.iter().map(|name| name.as_literal().map(|name| name.trim().to_owned())).collect()
    }

    /// The names with their values; empty names are left out.
    pub fn named(&self, scope: &dyn Scope) -> Vec<String> {
        let names = self.0.iter().map(|name| name.render(scope).trim().to_owned());
        names.filter(|name| !name.is_empty()).collect()
    }
}

impl PartialEq for AgentPrograms {
    fn eq(&self, other: &AgentPrograms) -> bool {
        self.written() == other.written()
    }
}

/// What an agent may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permissions {
    /// The level.
    pub level: PermissionLevel,
    /// Whether a program that cannot be limited so is refused.
    pub required: bool,
}

impl Permissions {
    /// What an agent may do if nothing says otherwise.
    pub const FULL: Permissions = Permissions { level: PermissionLevel::Full, required: true };
}
