//! What a run gets to know of this machine: environment, agent programs, limits.
//!
//! Turns variables and configuration files into values; decides nothing else.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};

use recipe::plan::{Budget, Plan};
use runtime::{
    agent_attempt::{AgentSettings, RateLimits},
    agents::CustomProgram,
    dotenv,
    host::Host,
};

use crate::{environment::Environment, exit::Exit, failure::Failure};

/// How long a process has to end itself.
const GRACE: Duration = Duration::from_secs(5);
/// How long an agent that has given its result has to end itself.
const RESULT_GRACE: Duration = Duration::from_secs(10);

/// The machine, with what `.env` files define. What is exported wins, and the first definition wins.
pub(crate) fn host(plan: &Plan, working_dir: &Path, environment: &Environment) -> Host {
    let mut env: BTreeMap<OsString, OsString> = environment.all();
    for unit in &plan.units {
        let beside = environment.cwd.join(&unit.path);
        let dirs = [beside.parent().map(Path::to_owned), Some(working_dir.to_owned())];
        for file in &unit.env_files {
            for dir in dirs.iter().flatten() {
                let text = std::fs::read_to_string(dir.join(file)).unwrap_or_default();
                for (name, value) in dotenv::parse(&text) {
                    env.entry(name.into()).or_insert_with(|| value.into());
                }
            }
        }
    }
    bare(env, environment)
}

/// The machine without any recipe.
pub(crate) fn bare(env: BTreeMap<OsString, OsString>, environment: &Environment) -> Host {
    Host { env, home: environment.home.clone(), grace: GRACE, is_root: rustix::process::geteuid().is_root() }
}

/// What agents may use up, as the command line says.
pub(crate) struct Allowance {
    /// For the whole run.
    pub(crate) budget: Budget,
    /// What a resume says anew.
    pub(crate) raised: Budget,
}

/// How agents are run.
pub(crate) fn agents(
    program: Option<&str>,
    allowance: Allowance,
    working_dir: &Path,
    environment: &Environment,
) -> Result<AgentSettings, Failure> {
    let program = program.or_else(|| environment.get("AMPLIHACK_AGENT_BINARY")).unwrap_or("claude");
    Ok(AgentSettings {
        program: program.to_owned(),
        launcher: environment.get("AMPLIHACK_LAUNCHER_BINARY").map(str::to_owned),
        custom: custom_programs(working_dir, environment)?,
        rate: rate_limits(environment),
        budget: allowance.budget,
        raised: allowance.raised,
        result_grace: environment
            .get("RECIPE_RUNNER_RESULT_GRACE_SECONDS")
            .and_then(|text| text.trim().parse().ok())
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .unwrap_or(RESULT_GRACE),
    })
}

fn rate_limits(environment: &Environment) -> RateLimits {
    let number = |name: &str| {
        let name = format!("AMPLIHACK_RATELIMIT_{name}");
        environment.get(&name).and_then(|text| text.trim().parse::<f64>().ok()).filter(|n| *n >= 0.0)
    };
    let usual = RateLimits::default();
    RateLimits {
        max_retries: number("MAX_RETRIES").map_or(usual.max_retries, |n| (n as u64).min(100)),
        base_delay: number("BASE_DELAY_SECS").unwrap_or(usual.base_delay),
        max_delay: number("MAX_DELAY_SECS").unwrap_or(usual.max_delay),
        fallback_model: environment.get("AMPLIHACK_RATELIMIT_FALLBACK_AUTO_MODEL").and_then(fallback_model),
    }
}

/// The value names a model; a plain yes means the program's own choice.
fn fallback_model(text: &str) -> Option<String> {
    match text.trim().to_lowercase().as_str() {
        "0" | "false" | "no" | "off" => None,
        "1" | "true" | "yes" | "on" => Some("auto".to_owned()),
        _ => Some(text.trim().to_owned()),
    }
}

/// Where configuration files may be, nearest first.
pub(crate) fn config_files(working_dir: &Path, environment: &Environment) -> Vec<PathBuf> {
    let config = match environment.get("XDG_CONFIG_HOME") {
        Some(dir) => Some(PathBuf::from(dir)),
        None => environment.home.as_ref().map(|home| home.join(".config")),
    };
    let mut files = vec![working_dir.join(".recipe-runner.yaml")];
    files.extend(config.map(|dir| dir.join("recipe-runner/config.yaml")));
    files
}

fn custom_programs(working_dir: &Path, environment: &Environment) -> Result<Vec<CustomProgram>, Failure> {
    let mut programs: Vec<CustomProgram> = Vec::new();
    for file in config_files(working_dir, environment) {
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        let bad = |reason: String| {
            Failure::new(
                Exit::BadArguments,
                format!("the configuration `{}` cannot be used: {reason}", file.display()),
            )
        };
        let read = read_config(&text).map_err(bad)?;
        for program in &read {
            program.check().map_err(|error| bad(error.to_string()))?;
        }
        let known: Vec<String> = programs.iter().map(|program| program.name.clone()).collect();
        programs.extend(read.into_iter().filter(|program| !known.contains(&program.name)));
    }
    Ok(programs)
}

fn read_config(text: &str) -> Result<Vec<CustomProgram>, String> {
    let mut sources = recipe::source::Sources::default();
    let id = sources.add("configuration", text);
    let mut problems = Vec::new();
    let root = recipe::yaml::parse(&sources, id, &mut problems);
    if let Some(problem) = problems.first() {
        let line = problem.place.map_or(1, |place| sources.line_column(place).line);
        return Err(format!("line {line}: {}", problem.message));
    }
    let Some(root) = root else { return Ok(Vec::new()) };
    let value = serde_json::to_value(root.to_value()).map_err(|error| error.to_string())?;
    match value.get("agents") {
        None => Ok(Vec::new()),
        Some(agents) => serde_json::from_value(agents.clone()).map_err(|error| format!("`agents`: {error}")),
    }
}

/// Where runs are stored.
pub(crate) fn state_dir(asked: Option<&Path>, environment: &Environment) -> Result<PathBuf, Failure> {
    if let Some(dir) = asked {
        return Ok(environment.absolute(dir));
    }
    if let Some(dir) = environment.get("RECIPE_RUNNER_HOME") {
        return Ok(environment.absolute(Path::new(dir)));
    }
    if let Some(dir) = environment.get("XDG_STATE_HOME") {
        return Ok(environment.absolute(Path::new(dir)).join("recipe-runner"));
    }
    match &environment.home {
        Some(home) => Ok(home.join(".local/state/recipe-runner")),
        None => Err(Failure::new(Exit::Broken, "there is no place to store runs: HOME is not set")
            .hint("set HOME, or choose a directory with `--state-dir DIR`")),
    }
}
