//! The same run, to start it again from any directory. Never starts it.

use std::{collections::BTreeSet, path::Path};

use engine::run::next::{StartAgain, StartOption, StartValue};
use recipe::{
    env_name,
    typed::typed,
    value::{Map, Value},
};

use crate::{
    runs::CurrentRecipe,
    store::{
        folder::{Batch, FolderError, Header, Options, Recovery, RunFolder},
        secrets::Mask,
    },
};

/// How many steps of a group run at the same time by default.
pub const MAX_PARALLEL: usize = 64;
/// The longest value that a command line shows.
const LONGEST: usize = 2048;
/// The file for given values that are too long for a command line, or that it would change.
const FILE: &str = "given.json";

/// A run like this one, with its original recipe.
pub fn start_again(header: &Header, folder: &RunFolder, mask: &Mask) -> StartAgain {
    let repeated = Repeated {
        recipe: &CurrentRecipe::first(header).name(),
        dir: &header.working_dir,
        given: &header.given(),
        options: &header.options,
        folder: Some(folder),
    };
    repeated.start(mask)
}

/// A run to start again from the beginning.
pub(crate) struct Repeated<'a> {
    /// Its recipe, with a name valid in any directory.
    pub(crate) recipe: &'a str,
    /// Where it works.
    pub(crate) dir: &'a Path,
    /// Its given values.
    pub(crate) given: &'a Map,
    /// Its options.
    pub(crate) options: &'a Options,
    /// Its folder, if it has one.
    pub(crate) folder: Option<&'a RunFolder>,
}

impl Repeated<'_> {
    /// The run as data, valid in any directory. A secret is taken from the environment and never stored here.
    pub(crate) fn start(&self, mask: &Mask) -> StartAgain {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let file = self.folder.map(|folder| folder.path().join(FILE));
        let kept = file.as_deref().map(names_in).unwrap_or_default();
        let file = file.filter(|_| self.given.keys().any(|name| kept.contains(name)));
        let input = |(name, value): (&String, &Value)| {
            let is_hidden = mask.is_secret(name) && env_name::variable(name).is_some();
            let value = match is_hidden {
                _ if mask.is_secret_input(name) => StartValue::File,
                true => StartValue::Secret,
                false => StartValue::Text(masked_value(name, &value.render(), mask)),
            };
            (name.clone(), value)
        };
        StartAgain {
            recipe: self.recipe.trim_start_matches("built-in:").to_owned(),
            // a current directory that was deleted has no name
            working_dir: Some(text(self.dir)).filter(|dir| !dir.is_empty()),
            recipe_dirs: self.options.recipe_dirs.iter().map(|dir| text(dir)).collect(),
            context_file: file.as_deref().map(text),
            inputs: (self.given.iter().filter(|(name, _)| !kept.contains(*name)).map(input))
                .chain(answers(self.options, mask))
                .collect(),
            variables: variables(self.options, mask),
            options: start_options(self.options),
        }
    }
}

/// The answers that were given when the run was started; a person has to give secret ones again.
fn answers(options: &Options, mask: &Mask) -> Vec<(String, StartValue)> {
    let mut given = Vec::new();
    for (path, answer) in &options.asking.answers {
        given.push((format!("ask.{path}"), StartValue::Text(answer.choice.clone())));
        let fields = answer.fields.iter().filter(|(_, value)| **value != Value::Null);
        given.extend(fields.map(|(name, value)| {
            let text = value.render();
            let is_hidden = mask.is_secret(name) || mask.text(&text) != text;
            let value = if is_hidden { StartValue::Missing } else { StartValue::Text(text.into_owned()) };
            (format!("ask.{path}.{name}"), value)
        }));
    }
    given
}

/// The text of a value without secrets.
fn masked_value(name: &str, value: &str, mask: &Mask) -> String {
    let assignment = format!("{name}={value}");
    let masked = mask.text(&assignment);
    masked.strip_prefix(&format!("{name}=")).unwrap_or(&masked).to_owned()
}

/// Writes the given values that a command line cannot carry to a file. Secrets are not included.
pub(crate) fn keep_given(
    folder: &RunFolder,
    given: &Map,
    mask: &Mask,
    files: &mut Batch,
) -> Result<(), FolderError> {
    let is_kept = |name: &str, value: &Value| !mask.is_secret(name) && !is_typed(value);
    let kept: Map = (given.iter().filter(|(name, value)| is_kept(name, value)))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    match kept.is_empty() {
        true => Ok(()),
        false => files.write(folder.path().join(FILE), Value::map(kept).to_json().as_bytes()),
    }
}

/// Whether `--set` can give exactly this value.
fn is_typed(value: &Value) -> bool {
    let text = value.render();
    text.len() <= LONGEST && typed(&text) == *value
}

/// The names in a file of values.
fn names_in(file: &Path) -> BTreeSet<String> {
    let text = std::fs::read(file).unwrap_or_default();
    let found: Option<serde_json::Map<String, serde_json::Value>> = serde_json::from_slice(&text).ok();
    found.into_iter().flatten().map(|(name, _)| name).collect()
}

/// The variables that give values to names of sub-recipes.
fn variables(options: &Options, mask: &Mask) -> Vec<(String, StartValue)> {
    let is_secret = |name: &str| mask.is_secret(name.strip_prefix(env_name::PREFIX).unwrap_or(name));
    let value = |name: &str, value: &str| match is_secret(name) {
        true => StartValue::Secret,
        false => StartValue::Text(masked_value(name, value, mask)),
    };
    options.ambient.iter().map(|(name, text)| (name.clone(), value(name, text))).collect()
}

/// The options that differ from their defaults.
fn start_options(options: &Options) -> Vec<StartOption> {
    let tags = |tags: &Vec<String>| Some(tags.clone()).filter(|tags| !tags.is_empty());
    let audit_dir = options.audit_dir.as_ref().map(|dir| dir.to_string_lossy().into_owned());
    let chosen = options.variables.get("AMPLIHACK_AGENT_BINARY");
    let agent_binary = options.agent.agent_binary.as_ref().or(chosen).cloned();
    let permissions = options.agent.permissions.map(|level| level.as_str().to_owned());
    let max_parallel = Some(options.max_parallel).filter(|number| *number != MAX_PARALLEL);
    let recovery = match options.recovery {
        Recovery::Declared => None,
        Recovery::Always => Some(true),
        Recovery::Off => Some(false),
    };
    [
        tags(&options.tags.include_tags).map(StartOption::IncludeTags),
        tags(&options.tags.exclude_tags).map(StartOption::ExcludeTags),
        audit_dir.map(StartOption::AuditDir),
        agent_binary.map(StartOption::AgentBinary),
        permissions.map(StartOption::Permissions),
        options.step_timeout.map(StartOption::StepTimeout),
        max_parallel.map(StartOption::MaxParallel),
        options.max_agents.map(StartOption::MaxAgents),
        recovery.map(StartOption::Recovery),
        options.budget.usd.map(StartOption::BudgetUsd),
        options.budget.tokens.map(StartOption::BudgetTokens),
        options.budget.agent_runs.map(StartOption::BudgetAgentRuns),
        options.budget.minutes.map(StartOption::BudgetMinutes),
        options.compat.then_some(StartOption::Compat),
        options.no_auto_stage.then_some(StartOption::NoAutoStage),
        options.switches.no_cleanup.then_some(StartOption::NoCleanup),
    ]
    .into_iter()
    .flatten()
    .collect()
}
