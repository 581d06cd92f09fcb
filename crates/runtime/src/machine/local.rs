//! This machine, as the process that takes requests sees it: variables, directories, configuration files.
//!
//! Turns them into values; decides nothing else.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io::ErrorKind,
    path::{Path, PathBuf},
    time::Duration,
};

use engine::{knowledge::Knowledge, lint::LintLevels};
use recipe::plan::{Budget, Plan};

use super::{
    discovery::{Library, Setup},
    dotenv,
    host::Host,
    variables::Variables,
};
use crate::{
    agents::{
        AgentPrograms, AgentSettings, Configuration, CustomProgram, DEFAULT, GenerateSettings, RateLimits,
        Tools, program_list,
    },
    os::guardian::Guardian,
    store::folder::AgentChoice,
};

/// How long a process has to end by itself.
pub const GRACE: Duration = Duration::from_secs(5);
/// How long an agent has to end by itself after its result.
const RESULT_GRACE: Duration = Duration::from_secs(10);
/// How long the listing of a directory is reused.
const REUSE: Duration = Duration::from_secs(300);
/// The longest time in seconds that a setting may name.
const LONGEST: f64 = 1e12;

/// The variable that leaves the choice of tools to the agent program's own settings.
const OWN_TOOLS: &str = "AMPLIHACK_NO_ALLOW_ALL_TOOLS";
/// The variables that choose the agent program and its call.
const CHOOSING: [&str; 3] = ["AMPLIHACK_AGENT_BINARY", "AMPLIHACK_LAUNCHER_BINARY", OWN_TOOLS];
/// The variable with the path of an installation with recipes and agents.
const INSTALLATION: &str = "AMPLIHACK_HOME";
/// The variable with the recipe directory of a package.
const PACKAGE_DIR: &str = "AMPLIHACK_PACKAGE_RECIPE_DIR";

/// This machine.
#[derive(Clone, Debug, Default)]
pub struct LocalMachine {
    /// The variables of the process.
    pub variables: Variables,
    /// The directory that relative paths of requests start from; empty if it was deleted.
    pub cwd: PathBuf,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// The path of this program, for steps that need it.
    pub program: Option<PathBuf>,
    /// How to start this program as a guardian of its run; without it no guardian is started.
    pub guardian: Option<Guardian>,
    /// Recipes that are part of the program: name and text.
    pub built_in: Vec<(&'static str, &'static str)>,
    /// Where agent programs are.
    pub agent_programs: AgentPrograms,
}

/// A setting of the environment or of a configuration file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// A configuration file.
    #[error("the configuration `{}` cannot be used: {reason}", file.display())]
    Configuration {
        /// The file.
        file: PathBuf,
        /// The reason.
        reason: String,
    },
    /// The default timeout of steps.
    #[error("AMPLIHACK_STEP_TIMEOUT: `{0}` is not a number of seconds")]
    StepTimeout(String),
    /// Answers that were given beforehand.
    #[error("{}", .0.join("\n"))]
    Answers(Vec<String>),
    /// The reviewer of repairs is the agent that makes them.
    #[error("--review-agent: `{0}` repairs the recipe and cannot review its own repair")]
    ReviewAgent(String),
}

/// The budgets of agents that a request names.
#[derive(Clone, Copy, Debug, Default)]
pub struct Allowance {
    /// For the whole run.
    pub budget: Budget,
    /// The new budget of a resume.
    pub raised: Budget,
}

impl LocalMachine {
    /// A path as an absolute one.
    pub fn absolute(&self, path: &Path) -> PathBuf {
        self.cwd.join(path)
    }

    /// The recipes that can be found from here.
    pub fn library(&self, recipe_dirs: &[PathBuf], working_dir: &Path) -> Library {
        let seconds: Option<f64> =
            self.variables.get("RECIPE_RUNNER_CACHE_TTL").and_then(|text| text.parse().ok());
        let reuse = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let dir = |name: &str| self.variables.get(name).map(|dir| self.absolute(Path::new(dir)));
        Library::new(Setup {
            cwd: self.cwd.clone(),
            working_dir: working_dir.to_owned(),
            home: self.home.clone(),
            recipe_dirs: recipe_dirs.to_vec(),
            more_dirs: self.variables.get("RECIPE_RUNNER_RECIPE_DIRS").map(str::to_owned),
            installation: dir(INSTALLATION),
            package_dir: dir(PACKAGE_DIR),
            built_in: self.built_in.clone(),
            reuse: reuse.unwrap_or(REUSE),
        })
    }

    /// The same machine with the definitions of the `.env` files of a plan; relative paths of recipes start from
    /// `base`.
    #[must_use]
    pub fn with_files(&self, plan: &Plan, base: &Path, working_dir: &Path) -> LocalMachine {
        let files = dotenv::definitions(plan, base, working_dir);
        LocalMachine { variables: self.variables.with_files(files), ..self.clone() }
    }

    /// The same machine with these defaults for variables that are not set.
    #[must_use]
    pub fn with_defaults(&self, defaults: impl IntoIterator<Item = (String, String)>) -> LocalMachine {
        LocalMachine { variables: self.variables.with_defaults(defaults), ..self.clone() }
    }

    /// The machine of a run of this plan.
    pub fn host(&self, plan: &Plan) -> Host {
        let mut env = self.variables.all();
        // recipes that need this program find it even if it is not in PATH
        env.extend(self.program.iter().map(|program| ("RECIPE_RUNNER_EXE".into(), program.into())));
        let value = |name: &str| self.variables.raw(name).map(str::to_owned);
        Host { named: dotenv::named(plan, self.variables.defined(), value), ..self.bare_host(env) }
    }

    /// The machine without a recipe.
    pub fn bare(&self) -> Host {
        self.bare_host(self.variables.all())
    }

    fn bare_host(&self, env: BTreeMap<OsString, OsString>) -> Host {
        Host {
            env,
            home: self.home.clone(),
            grace: GRACE,
            is_root: rustix::process::geteuid().is_root(),
            guardian: self.guardian.clone(),
            named: Vec::new(),
        }
    }

    /// The agent programs that the configuration of a directory describes; none if it cannot be used.
    pub fn described_agents(&self, working_dir: &Path) -> Vec<CustomProgram> {
        self.configuration(working_dir).map(|config| config.agents).unwrap_or_default()
    }

    /// How agents are started; `choice` is the requested one.
    pub fn agents(
        &self,
        choice: &AgentChoice,
        allowance: Allowance,
        working_dir: &Path,
    ) -> Result<AgentSettings, SettingError> {
        let config = self.configuration(working_dir)?;
        let variables = &self.variables;
        let program = choice.agent_binary.as_deref().or_else(|| variables.get("AMPLIHACK_AGENT_BINARY"));
        let programs = program_list(program.or(config.agent.as_deref()).unwrap_or(DEFAULT));
        Ok(AgentSettings {
            presence: self.agent_programs.clone(),
            programs: if programs.is_empty() { vec![DEFAULT.to_owned()] } else { programs },
            permissions: choice.permissions,
            launcher: variables.get("AMPLIHACK_LAUNCHER_BINARY").map(str::to_owned),
            custom: config.agents,
            rate: rate_limits(variables),
            budget: allowance.budget,
            raised: allowance.raised,
            result_grace: variables
                .get("RECIPE_RUNNER_RESULT_GRACE_SECONDS")
                .and_then(|text| text.trim().parse().ok())
                .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
                .unwrap_or(RESULT_GRACE),
            tools: match variables.get(OWN_TOOLS).map(str::trim) {
                None | Some("" | "0" | "false") => Tools::All,
                Some(_) => Tools::Configured,
            },
        })
    }

    /// What is believed about programs, with what the configuration of a directory adds.
    pub fn knowledge(&self, working_dir: &Path) -> Result<Knowledge, SettingError> {
        let config = self.configuration(working_dir)?;
        // it was checked when it was read
        Ok(Knowledge::extended(&config.knowledge).unwrap_or_default())
    }

    /// What recipes are generated with, as the configuration of a directory sets it.
    pub fn generate_settings(&self, working_dir: &Path) -> Result<GenerateSettings, SettingError> {
        Ok(self.configuration(working_dir)?.generate)
    }

    /// The levels of the rules of `lint`, as the configuration of a directory sets them.
    pub fn lint_levels(&self, working_dir: &Path) -> Result<LintLevels, SettingError> {
        Ok(self.configuration(working_dir)?.lint)
    }

    /// The default timeout of steps; 0 means no timeout.
    pub fn step_timeout(&self) -> Result<Option<f64>, SettingError> {
        let Some(text) = self.variables.get("AMPLIHACK_STEP_TIMEOUT") else { return Ok(None) };
        match text.trim().parse::<f64>() {
            _ if text.trim() == "0" => Ok(None),
            Ok(seconds) if seconds > 0.0 && seconds <= LONGEST => Ok(Some(seconds)),
            _ => Err(SettingError::StepTimeout(text.to_owned())),
        }
    }

    /// The set variables that a resume needs too.
    pub fn kept_variables(&self) -> BTreeMap<String, String> {
        let value = |name: &str| Some((name.to_owned(), self.variables.get(name)?.to_owned()));
        let dir = |name: &str| {
            let dir = self.absolute(Path::new(self.variables.get(name)?));
            Some((name.to_owned(), dir.to_str()?.to_owned()))
        };
        let dirs = [INSTALLATION, PACKAGE_DIR].into_iter().filter_map(dir);
        CHOOSING.into_iter().filter_map(value).chain(dirs).collect()
    }

    /// The possible places of configuration files, nearest first.
    fn config_files(&self, working_dir: &Path) -> Vec<PathBuf> {
        let config = match self.variables.get("XDG_CONFIG_HOME") {
            Some(dir) => Some(PathBuf::from(dir)),
            None => self.home.as_ref().map(|home| home.join(".config")),
        };
        let mut files = vec![working_dir.join(".recipe-runner.yaml")];
        files.extend(config.map(|dir| dir.join("recipe-runner/config.yaml")));
        files
    }

    /// All configuration files merged: the nearest wins.
    fn configuration(&self, working_dir: &Path) -> Result<Configuration, SettingError> {
        let mut all = Configuration::default();
        for file in self.config_files(working_dir) {
            let unusable = |reason: String| SettingError::Configuration { file: file.clone(), reason };
            let text = match std::fs::read_to_string(&file) {
                Ok(text) => text,
                Err(error) if error.kind() == ErrorKind::InvalidData => {
                    return Err(unusable(error.to_string()));
                }
                Err(_) => continue,
            };
            let dir = file.parent().unwrap_or(Path::new(""));
            let read = Configuration::read(&text, dir).map_err(|error| unusable(error.to_string()))?;
            let known: Vec<String> = all.agents.iter().map(|program| program.name.clone()).collect();
            all.agents.extend(read.agents.into_iter().filter(|program| !known.contains(&program.name)));
            all.agent = all.agent.or(read.agent);
            all.knowledge.extend(read.knowledge);
            let (generate, outer) = (&mut all.generate, read.generate);
            generate.writer = generate.writer.take().or(outer.writer);
            generate.depth = generate.depth.or(outer.depth);
            if generate.reviewers.is_empty() {
                generate.reviewers = outer.reviewers;
            }
            for (code, level) in read.lint {
                all.lint.entry(code).or_insert(level);
            }
        }
        Ok(all)
    }
}

/// The problems with the environment and the `.env` files of a plan that a run ignores; relative paths of recipes start
/// from `base`.
pub(crate) fn warnings(host: &Host, plan: &Plan, base: &Path, working_dir: &Path) -> Vec<String> {
    let of_files = dotenv::problems(plan, base, working_dir);
    let visibility_warning = crate::os::process::visibility_warning().map(str::to_owned);
    host.sessions_problem().into_iter().chain(of_files).chain(visibility_warning).collect()
}

/// The default depth of runs inside each other with `--compat`.
pub(crate) fn compat_depth() -> (String, String) {
    ("AMPLIHACK_MAX_DEPTH".to_owned(), "6".to_owned())
}

fn rate_limits(variables: &Variables) -> RateLimits {
    let number = |name: &str| {
        let name = format!("AMPLIHACK_RATELIMIT_{name}");
        variables.get(&name).and_then(|text| text.trim().parse::<f64>().ok()).filter(|n| *n >= 0.0)
    };
    let usual = RateLimits::default();
    RateLimits {
        max_retries: number("MAX_RETRIES").map_or(usual.max_retries, |n| (n as u64).min(100)),
        base_delay: number("BASE_DELAY_SECS").unwrap_or(usual.base_delay),
        max_delay: number("MAX_DELAY_SECS").unwrap_or(usual.max_delay),
        fallback_model: variables.get("AMPLIHACK_RATELIMIT_FALLBACK_AUTO_MODEL").and_then(fallback_model),
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
