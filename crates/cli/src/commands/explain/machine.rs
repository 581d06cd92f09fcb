//! Which agent program a step would use here, and whether it exists.
//!
//! Never starts one.

use recipe::plan::Plan;
use runtime::{
    agents::AgentSettings,
    machine::{
        host::Host,
        local::Allowance,
        programs::{self, Presence, from_here},
    },
    requests::AgentChoice,
};

use crate::{args::ExplainArgs, commands::run::working_dir, environment::Environment};

/// This machine, as far as agents are concerned.
pub(super) struct Machine {
    /// The message if the configuration cannot be used.
    settings: Result<AgentSettings, String>,
    host: Host,
}

/// The program that a step would use; unknown if its name depends on a value.
#[derive(Default)]
pub(super) struct StepProgram {
    /// Its name; unknown if the configuration cannot be used.
    pub(super) name: Option<String>,
    pub(super) path: Option<String>,
    /// Why it cannot be used.
    pub(super) problem: Option<String>,
}

impl Machine {
    /// Reads the configuration, and the `.env` files of the recipe, as a run does.
    pub(super) fn new(args: &ExplainArgs, plan: &Plan, environment: &Environment) -> Machine {
        let dir = working_dir(args.reading.places.working_dir.as_deref(), environment);
        let dir = std::fs::canonicalize(&dir).unwrap_or(dir);
        let machine = environment.machine.with_files(plan, &environment.machine.cwd, &dir);
        let choice = AgentChoice { agent_binary: args.agent_binary.clone(), permissions: args.permissions };
        let settings = machine.agents(&choice, Allowance::default(), &dir);
        Machine { settings: settings.map_err(|error| error.to_string()), host: machine.bare() }
    }

    /// The program that a step would use; the step may name one itself.
    pub(super) fn asked(&self, named: &[String]) -> StepProgram {
        let settings = match &self.settings {
            Ok(settings) => settings,
            Err(problem) => {
                let name = named.first().cloned();
                return StepProgram { name, path: None, problem: Some(problem.clone()) };
            }
        };
        let (name, _) = programs::choice(named, settings, &self.host);
        let (path, problem) = match programs::binary(&name, settings) {
            None => (None, Some("not known".to_owned())),
            Some(binary) => match programs::look_for(&binary, &self.host) {
                Presence::Found(path) => (Some(from_here(&path)), None),
                Presence::NotExecutable(path) => (Some(from_here(&path)), Some("not executable".to_owned())),
                Presence::Missing if binary.contains('/') => {
                    (None, Some(format!("{} does not exist", from_here(binary.as_ref()))))
                }
                Presence::Missing => (None, Some(format!("`{binary}` is not found in PATH"))),
            },
        };
        StepProgram { name: Some(name), path, problem }
    }
}

impl StepProgram {
    /// A description: `claude (not found)`.
    pub(super) fn describe(&self) -> String {
        let name = self.name.as_deref().unwrap_or("unknown");
        let facts: Vec<&str> =
            [&self.path, &self.problem].into_iter().flatten().map(String::as_str).collect();
        format!("{name} ({})", facts.join(": "))
    }
}
