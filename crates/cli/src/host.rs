//! The machine of a run: environment, agent programs, limits.
//!
//! Turns variables and configuration files into values; decides nothing else.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io::ErrorKind,
    path::{Path, PathBuf},
    time::Duration,
};

use engine::knowledge::Knowledge;
use recipe::plan::{Budget, Plan};
use runtime::{
    agents::{AgentSettings, Configuration, RateLimits, Tools},
    machine::{dotenv, host::Host},
    report::command_line::CliHint,
    runs::Runs,
};

use crate::{
    args::options::seconds,
    environment::Environment,
    exit::Exit,
    guardian,
    out::Out,
    report::failure::{Failure, clean},
};

/// How long a process has to end by itself.
pub(crate) const GRACE: Duration = Duration::from_secs(5);
/// How long an agent has to end by itself after its result.
const RESULT_GRACE: Duration = Duration::from_secs(10);

/// The environment with the definitions of `.env` files; relative paths of recipes start from `base`.
pub(crate) fn with_files(
    plan: &Plan,
    base: &Path,
    working_dir: &Path,
    environment: &Environment,
) -> Environment {
    environment.with_files(dotenv::definitions(plan, base, working_dir))
}

/// The machine, with the definitions of `.env` files.
pub(crate) fn host(plan: &Plan, base: &Path, working_dir: &Path, environment: &Environment) -> Host {
    known(plan, &with_files(plan, base, working_dir, environment))
}

/// The machine, according to this environment.
pub(crate) fn known(plan: &Plan, environment: &Environment) -> Host {
    let mut env = environment.all();
    // recipes that need this program find it even if it is not in PATH
    env.extend(environment.program.iter().map(|program| ("RECIPE_RUNNER_EXE".into(), program.into())));
    let value = |name: &str| environment.raw(name).map(str::to_owned);
    Host { named: dotenv::named(plan, environment.defined(), value), ..bare(env, environment) }
}

/// The machine without a recipe.
pub(crate) fn bare(env: BTreeMap<OsString, OsString>, environment: &Environment) -> Host {
    Host {
        env,
        home: environment.home.clone(),
        grace: GRACE,
        is_root: rustix::process::geteuid().is_root(),
        guardian: guardian::command(),
        named: Vec::new(),
    }
}

/// Warns about unusable values in the environment and the `.env` files of a plan; relative paths of recipes start from
/// `base`.
pub(crate) fn warn(host: &Host, plan: &Plan, base: &Path, working_dir: &Path, out: &mut Out) {
    let of_files = dotenv::problems(plan, base, working_dir);
    let blindness = runtime::os::process::blindness().map(str::to_owned);
    for problem in host.sessions_problem().into_iter().chain(of_files).chain(blindness) {
        out.notice(&clean(&format!("warning: {problem}")));
    }
}

/// The budgets of agents, from the command line.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Allowance {
    /// For the whole run.
    pub(crate) budget: Budget,
    /// The new budget of a resume.
    pub(crate) raised: Budget,
}

/// How agents are started.
pub(crate) fn agents(
    program: Option<&str>,
    allowance: Allowance,
    working_dir: &Path,
    environment: &Environment,
) -> Result<AgentSettings, Failure> {
    let config = configuration(working_dir, environment)?;
    let program = program.or_else(|| environment.get("AMPLIHACK_AGENT_BINARY"));
    Ok(AgentSettings {
        program: program.or(config.agent.as_deref()).unwrap_or("claude").to_owned(),
        launcher: environment.get("AMPLIHACK_LAUNCHER_BINARY").map(str::to_owned),
        custom: config.agents,
        rate: rate_limits(environment),
        budget: allowance.budget,
        raised: allowance.raised,
        result_grace: environment
            .get("RECIPE_RUNNER_RESULT_GRACE_SECONDS")
            .and_then(|text| text.trim().parse().ok())
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .unwrap_or(RESULT_GRACE),
        tools: match environment.get(OWN_TOOLS).map(str::trim) {
            None | Some("" | "0" | "false") => Tools::All,
            Some(_) => Tools::Configured,
        },
    })
}

/// The default depth of runs inside each other with `--compat`.
pub(crate) fn compat_depth() -> (String, String) {
    ("AMPLIHACK_MAX_DEPTH".to_owned(), "6".to_owned())
}

/// The default timeout of steps, from the environment; 0 means no timeout.
pub(crate) fn step_timeout(environment: &Environment) -> Result<Option<f64>, Failure> {
    let Some(text) = environment.get("AMPLIHACK_STEP_TIMEOUT") else { return Ok(None) };
    let unusable = || {
        let message = format!("AMPLIHACK_STEP_TIMEOUT: `{}` is not a number of seconds", clean(text));
        Failure::new(Exit::BadArguments, message).hint(
            "set it to a number such as 600, or to 0 for no timeout; `--step-timeout SECONDS` overrides it",
        )
    };
    match text.trim() {
        "0" => Ok(None),
        text => seconds(text).map(Some).map_err(|_| unusable()),
    }
}

/// The variable that leaves the choice of tools to the agent program's own settings.
const OWN_TOOLS: &str = "AMPLIHACK_NO_ALLOW_ALL_TOOLS";
/// The variables that choose the agent program and its call.
const CHOOSING: [&str; 3] = ["AMPLIHACK_AGENT_BINARY", "AMPLIHACK_LAUNCHER_BINARY", OWN_TOOLS];
/// The variable with the path of an installation with recipes and agents.
pub(crate) const INSTALLATION: &str = "AMPLIHACK_HOME";
/// The variable with the recipe directory of a package.
pub(crate) const PACKAGE_DIR: &str = "AMPLIHACK_PACKAGE_RECIPE_DIR";

/// The set variables that a resume needs too.
pub(crate) fn kept_variables(environment: &Environment) -> BTreeMap<String, String> {
    let value = |name: &str| Some((name.to_owned(), environment.get(name)?.to_owned()));
    let dir = |name: &str| {
        let dir = environment.absolute(Path::new(environment.get(name)?));
        Some((name.to_owned(), dir.to_str()?.to_owned()))
    };
    let dirs = [INSTALLATION, PACKAGE_DIR].into_iter().filter_map(dir);
    CHOOSING.into_iter().filter_map(value).chain(dirs).collect()
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

/// The fallback model; a plain yes means the program's own choice.
fn fallback_model(text: &str) -> Option<String> {
    match text.trim().to_lowercase().as_str() {
        "0" | "false" | "no" | "off" => None,
        "1" | "true" | "yes" | "on" => Some("auto".to_owned()),
        _ => Some(text.trim().to_owned()),
    }
}

/// The possible places of configuration files, nearest first.
pub(crate) fn config_files(working_dir: &Path, environment: &Environment) -> Vec<PathBuf> {
    let config = match environment.get("XDG_CONFIG_HOME") {
        Some(dir) => Some(PathBuf::from(dir)),
        None => environment.home.as_ref().map(|home| home.join(".config")),
    };
    let mut files = vec![working_dir.join(".recipe-runner.yaml")];
    files.extend(config.map(|dir| dir.join("recipe-runner/config.yaml")));
    files
}

/// All configuration files merged: the nearest wins.
fn configuration(working_dir: &Path, environment: &Environment) -> Result<Configuration, Failure> {
    let mut all = Configuration::default();
    for file in config_files(working_dir, environment) {
        let unusable = |reason: String| {
            let message = format!("the configuration `{}` cannot be used: {reason}", file.display());
            Failure::new(Exit::BadArguments, message)
        };
        let text = match std::fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::InvalidData => return Err(unusable(error.to_string())),
            Err(_) => continue,
        };
        let dir = file.parent().unwrap_or(Path::new(""));
        let read = Configuration::read(&text, dir).map_err(|error| unusable(error.to_string()))?;
        let known: Vec<String> = all.agents.iter().map(|program| program.name.clone()).collect();
        all.agents.extend(read.agents.into_iter().filter(|program| !known.contains(&program.name)));
        all.agent = all.agent.or(read.agent);
        all.knowledge.extend(read.knowledge);
    }
    Ok(all)
}

/// What is believed about programs, with what the configuration of a directory adds.
pub(crate) fn knowledge(working_dir: &Path, environment: &Environment) -> Result<Knowledge, Failure> {
    let config = configuration(working_dir, environment)?;
    // the configuration was checked when it was read
    Ok(Knowledge::extended(&config.knowledge).unwrap_or_default())
}

/// The stored runs. A configuration that cannot be used adds nothing here; commands that run something report it.
pub(crate) fn runs(asked: Option<&Path>, environment: &Environment) -> Result<Runs, Failure> {
    let home = state_dir(asked, environment)?;
    let reach = CliHint::through(asked.map(|_| home.as_path()));
    let knowledge = knowledge(&environment.cwd, environment).unwrap_or_default();
    Ok(Runs::at(home).reached(reach).knowing(environment.variables()).believing(knowledge))
}

/// The state directory. `.env` files do not count: only the run of that recipe would know them.
pub(crate) fn state_dir(asked: Option<&Path>, environment: &Environment) -> Result<PathBuf, Failure> {
    if let Some(dir) = asked {
        return Ok(environment.absolute(dir));
    }
    if let Some(dir) = environment.exported("RECIPE_RUNNER_HOME") {
        return Ok(environment.absolute(Path::new(dir)));
    }
    if let Some(dir) = environment.exported("XDG_STATE_HOME") {
        return Ok(environment.absolute(Path::new(dir)).join("recipe-runner"));
    }
    match &environment.home {
        Some(home) => Ok(home.join(".local/state/recipe-runner")),
        None => Err(Failure::new(Exit::Broken, "runs cannot be stored: HOME is not set")
            .hint("set HOME, or choose a directory with `--state-dir DIR`")),
    }
}
