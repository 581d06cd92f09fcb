//! The command that repeats a run, from any directory. Never holds a secret.

use std::path::Path;

use recipe::value::Map;

use crate::{
    command_line::quote,
    folder::{Header, Options, Recovery},
    mask::Mask,
    runs::{InForce, MAX_PARALLEL},
};

/// The command line that starts a run like this one.
pub fn header_command(header: &Header, mask: &Mask) -> String {
    let recipe = InForce::first(header).name();
    repro_command(&recipe, &header.working_dir, &header.given(), &header.options, mask)
}

/// The command line that does the same from the beginning, wherever it is typed. A secret is taken from the
/// environment: it stands in no text.
pub fn repro_command(recipe: &str, dir: &Path, given: &Map, options: &Options, mask: &Mask) -> String {
    let mut words = ambient_words(options, mask);
    words.extend(["recipe-runner-rs".to_owned(), quote(recipe.trim_start_matches("built-in:"))]);
    // a current directory that is gone has no name
    let dir = Some(dir.to_string_lossy()).filter(|dir| !dir.is_empty());
    words.extend(dir.map(|dir| format!("-C {}", quote(&dir))));
    words.extend(options.recipe_dirs.iter().map(|dir| format!("-R {}", quote(&dir.to_string_lossy()))));
    for (name, value) in given {
        words.push(match secret_variable(name).filter(|_| mask.is_secret(name)) {
            Some(variable) => format!("--set {}\"{variable}\"", quote(&format!("{name}="))),
            None => format!("--set {}", quote(&mask.text(&format!("{name}={}", value.render())))),
        });
    }
    words.extend(flags(options));
    words.join(" ")
}

/// The variables that give values to the names of nested recipes, as `env` takes them.
fn ambient_words(options: &Options, mask: &Mask) -> Vec<String> {
    let is_secret = |name: &str| mask.is_secret(name.strip_prefix(recipe::env_name::PREFIX).unwrap_or(name));
    let assignment = |(name, value): (&String, &String)| match is_secret(name) {
        // no shell can put in what has a hyphen in its name; the command takes it from its environment all the same
        true if name.contains('-') => None,
        true => Some(format!("{name}=\"${{{name}:?}}\"")),
        false => Some(quote(&mask.text(&format!("{name}={value}")))),
    };
    let assignments: Vec<String> = options.ambient.iter().filter_map(assignment).collect();
    let env = (!assignments.is_empty()).then(|| "env".to_owned());
    env.into_iter().chain(assignments).collect()
}

/// What a shell puts in for a secret: its exact variable, else its alias; it stops if there is neither.
fn secret_variable(name: &str) -> Option<String> {
    let exact = recipe::env_name::variable(name)?;
    Some(match recipe::env_name::alias(name) {
        Some(alias) => format!("${{{exact}:-${{{alias}:?}}}}"),
        None => format!("${{{exact}:?}}"),
    })
}

/// The flags that options come from.
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
    add("--agent-binary", options.agent_binary.clone());
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
    flags.extend(options.no_auto_stage.then(|| "--no-auto-stage".to_owned()));
    flags
}
