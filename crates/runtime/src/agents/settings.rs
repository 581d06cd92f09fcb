//! How agents are started: the program, its launcher, rate limits and budgets. Never starts one.

use std::time::Duration;

use engine::run::budget::GivenBudgets;
pub use engine::run::retry::RateLimits;
use recipe::syntax::PermissionLevel;

use super::{CustomProgram, Program, Tools};

/// The program of a run that names none.
pub const DEFAULT: &str = "claude";

/// The programs in a list with commas.
pub fn program_list(text: &str) -> Vec<String> {
    let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

/// How agents are started.
#[derive(Clone, Debug)]
pub struct AgentSettings {
    /// Programs of steps that do not name one, in the order in which they are tried; never empty.
    pub programs: Vec<String>,
    /// What agents may do in steps that do not say so.
    pub permissions: Option<PermissionLevel>,
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
    /// Where the programs are.
    pub presence: AgentPrograms,
}

/// Where agent programs are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AgentPrograms {
    /// On this machine, if they are installed.
    #[default]
    Installed,
    /// Stubs stand in for them; none is looked for.
    Stubbed {
        /// Programs whose stub says that they are not installed.
        missing: Vec<String>,
    },
}

impl AgentSettings {
    /// The first program of steps that do not name one.
    pub fn program(&self) -> &str {
        self.programs.first().map_or(DEFAULT, String::as_str)
    }

    /// The budgets that replace those of recipes.
    pub fn budgets(&self) -> GivenBudgets {
        GivenBudgets { run: self.budget, resume: self.raised }
    }
}

impl Default for AgentSettings {
    fn default() -> AgentSettings {
        AgentSettings {
            programs: vec![DEFAULT.to_owned()],
            permissions: None,
            launcher: None,
            custom: Vec::new(),
            rate: RateLimits::default(),
            budget: recipe::plan::Budget::default(),
            raised: recipe::plan::Budget::default(),
            result_grace: Duration::from_secs(10),
            tools: Tools::All,
            presence: AgentPrograms::Installed,
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
