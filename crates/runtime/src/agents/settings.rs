//! How agents are started: the program, its launcher, rate limits and budgets. Never starts one.

use std::time::Duration;

use engine::run::budget::GivenBudgets;
pub use engine::run::retry::RateLimits;

use super::{CustomProgram, Program, Tools};

/// How agents are started.
#[derive(Clone, Debug)]
pub struct AgentSettings {
    /// Program of steps that do not name one.
    pub program: String,
    /// The launcher, if programs are started through one.
    pub launcher: Option<String>,
    /// Programs that a configuration file describes.
    pub custom: Vec<CustomProgram>,
    /// What happens on a rate limit.
    pub rate: RateLimits,
    /// Limits of the command line, which replace those of the recipe.
    pub budget: recipe::plan::Budget,
    /// Limits of a resume, which replace those of every recipe.
    pub raised: recipe::plan::Budget,
    /// How long a program may take to exit after its result.
    pub result_grace: Duration,
    /// Which tools programs may use without permission.
    pub tools: Tools,
}

impl AgentSettings {
    /// The budgets that replace those of recipes.
    pub fn budgets(&self) -> GivenBudgets {
        GivenBudgets { run: self.budget, resume: self.raised }
    }
}

impl Default for AgentSettings {
    fn default() -> AgentSettings {
        AgentSettings {
            program: "claude".to_owned(),
            launcher: None,
            custom: Vec::new(),
            rate: RateLimits::default(),
            budget: recipe::plan::Budget::default(),
            raised: recipe::plan::Budget::default(),
            result_grace: Duration::from_secs(10),
            tools: Tools::All,
        }
    }
}

/// The message about an unknown agent program.
pub fn unknown_program(name: &str) -> String {
    format!(
        "agent program `{name}` is not known: use one of {}, or describe it under `agents:` in `.recipe-runner.yaml`",
        Program::known_names().collect::<Vec<_>>().join(", ")
    )
}
