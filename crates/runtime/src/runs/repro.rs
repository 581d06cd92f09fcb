//! The command that starts the same run again, from any directory. Never runs it.

use std::{collections::BTreeSet, path::Path};

use recipe::{
    typed::typed,
    value::{Map, Value},
};

use crate::{
    os::shell_word::quote,
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

/// The command line that starts a run like this one, with its original recipe.
pub fn header_command(header: &Header, folder: &RunFolder, mask: &Mask) -> String {
    let repeated = Repeated {
        recipe: &CurrentRecipe::first(header).name(),
        dir: &header.working_dir,
        given: &header.given(),
        options: &header.options,
        folder: Some(folder),
    };
    repeated.command(mask)
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
    /// The command line, valid in any directory. A secret is taken from the environment and never written into the
    /// command.
    pub(crate) fn command(&self, mask: &Mask) -> String {
        let mut words = ambient_words(self.options, mask);
        words.extend(["recipe-runner-rs".to_owned(), quote(self.recipe.trim_start_matches("built-in:"))]);
        // a current directory that was deleted has no name
        let dir = Some(self.dir.to_string_lossy()).filter(|dir| !dir.is_empty());
        words.extend(dir.map(|dir| format!("-C {}", quote(&dir))));
        let dirs = self.options.recipe_dirs.iter();
        words.extend(dirs.map(|dir| format!("-R {}", quote(&dir.to_string_lossy()))));
        let file = self.folder.map(|folder| folder.path().join(FILE));
        let kept = file.as_deref().map(names_in).unwrap_or_default();
        if let Some(file) = file.filter(|_| self.given.keys().any(|name| kept.contains(name))) {
            words.push(format!("--context-file {}", quote(&file.to_string_lossy())));
        }
        for (name, value) in self.given.iter().filter(|(name, _)| !kept.contains(*name)) {
            words.push(match secret_variable(name).filter(|_| mask.is_secret(name)) {
                Some(variable) => format!("--set {}\"{variable}\"", quote(&format!("{name}="))),
                None => format!("--set {}", quote(&mask.text(&format!("{name}={}", value.render())))),
            });
        }
        words.extend(flags(self.options));
        words.join(" ")
    }
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

/// The variables that give values to names of sub-recipes, as `env` takes them.
fn ambient_words(options: &Options, mask: &Mask) -> Vec<String> {
    let is_secret = |name: &str| mask.is_secret(name.strip_prefix(recipe::env_name::PREFIX).unwrap_or(name));
    let assignment = |(name, value): (&String, &String)| match is_secret(name) {
        // a shell cannot expand a name with a hyphen; the command still gets it from its environment
        true if name.contains('-') => None,
        true => Some(format!("{name}=\"${{{name}:?}}\"")),
        false => Some(quote(&mask.text(&format!("{name}={value}")))),
    };
    let assignments: Vec<String> = options.ambient.iter().filter_map(assignment).collect();
    let env = (!assignments.is_empty()).then(|| "env".to_owned());
    env.into_iter().chain(assignments).collect()
}

/// The shell expansion of a secret: its exact variable, else its alias; the shell stops if neither is set.
fn secret_variable(name: &str) -> Option<String> {
    let exact = recipe::env_name::variable(name)?;
    Some(match recipe::env_name::alias(name) {
        Some(alias) => format!("${{{exact}:-${{{alias}:?}}}}"),
        None => format!("${{{exact}:?}}"),
    })
}

/// The flags for these options.
fn flags(options: &Options) -> Vec<String> {
    let mut flags = Vec::new();
    let tags = [("--include-tags", &options.include_tags), ("--exclude-tags", &options.exclude_tags)];
    for (flag, tags) in tags.into_iter().filter(|(_, tags)| !tags.is_empty()) {
        flags.push(format!("{flag} {}", quote(&tags.join(","))));
    }
    let mut add = |flag: &str, value: Option<String>| {
        flags.extend(value.map(|value| format!("{flag} {}", quote(&value))));
    };
    let audit_dir = options.audit_dir.as_ref().map(|dir| dir.to_string_lossy().into_owned());
    add("--audit-dir", audit_dir);
    let chosen = options.variables.get("AMPLIHACK_AGENT_BINARY");
    add("--agent-binary", options.agent_binary.as_ref().or(chosen).cloned());
    add("--step-timeout", options.step_timeout.map(|seconds| seconds.to_string()));
    let parallel = Some(options.max_parallel).filter(|number| *number != MAX_PARALLEL);
    add("--max-parallel", parallel.map(|number| number.to_string()));
    add("--max-agents", options.max_agents.map(|number| number.to_string()));
    let recovery = match options.recovery {
        Recovery::Declared => None,
        Recovery::Always => Some("always".to_owned()),
        Recovery::Off => Some("off".to_owned()),
    };
    add("--recovery", recovery);
    add("--budget-usd", options.budget.usd.map(|usd| usd.to_string()));
    add("--budget-tokens", options.budget.tokens.map(|tokens| tokens.to_string()));
    add("--budget-agent-runs", options.budget.agent_runs.map(|runs| runs.to_string()));
    add("--budget-minutes", options.budget.minutes.map(|minutes| minutes.to_string()));
    flags.extend(options.compat.then(|| "--compat".to_owned()));
    flags.extend(options.no_auto_stage.then(|| "--no-auto-stage".to_owned()));
    flags
}
