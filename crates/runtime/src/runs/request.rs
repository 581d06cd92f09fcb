//! Running recipes from another program: find, check and run one in a few lines.
//!
//! Never reads the process's own environment: the caller passes the variables that steps inherit.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};

use recipe::{
    check::{Checked, Given, LoadError, check},
    value::{Map, Value},
};

use super::{ConcurrencyPolicy, RunError, Runs, Start};
use crate::{
    agents::AgentSettings,
    machine::{
        discovery::{Library, Setup},
        host::Host,
    },
    report::RunResult,
    run::{Notice, Reporter},
    store::{folder::Options, sources::Recording},
};

/// How many steps of a group run at the same time by default.
pub const MAX_PARALLEL: usize = 64;
/// How long a process has to end by itself.
const GRACE: Duration = Duration::from_secs(5);

/// A recipe to run, and how.
#[derive(Clone, Debug)]
pub struct Request {
    recipe: String,
    working_dir: PathBuf,
    recipe_dirs: Vec<PathBuf>,
    values: Map,
    env: BTreeMap<OsString, OsString>,
    /// Tags, limits and the like.
    pub options: Options,
    /// How agents are started.
    pub agents: AgentSettings,
    /// Whether this is a dry run, which executes nothing.
    pub dry_run: bool,
}

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// There is no such recipe.
    #[error("recipe `{recipe}` not found; looked in {}", searched.join(", "))]
    NotFound {
        /// The requested name.
        recipe: String,
        /// The places that were searched.
        searched: Vec<String>,
    },
    /// The recipe cannot be read.
    #[error("recipe `{path}` cannot be read: {reason}")]
    Unreadable {
        /// Its path.
        path: String,
        /// The reason.
        reason: String,
    },
    /// The recipe is not valid.
    #[error("recipe `{recipe}` is invalid: {}", problems.join("; "))]
    Invalid {
        /// The requested name.
        recipe: String,
        /// All its problems.
        problems: Vec<String>,
    },
    /// The runner itself failed.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl Request {
    /// A recipe, by path or by name, and the directory to run it in.
    pub fn new(recipe: impl Into<String>, working_dir: impl Into<PathBuf>) -> Request {
        Request {
            recipe: recipe.into(),
            working_dir: working_dir.into(),
            recipe_dirs: Vec::new(),
            values: Map::new(),
            env: BTreeMap::new(),
            options: Options { max_parallel: MAX_PARALLEL, ..Options::default() },
            agents: AgentSettings::default(),
            dry_run: false,
        }
    }

    /// Adds a directory to search for recipes by name.
    #[must_use]
    pub fn search(mut self, dir: impl Into<PathBuf>) -> Request {
        self.recipe_dirs.push(dir.into());
        self
    }

    /// Sets a context value.
    #[must_use]
    pub fn set(mut self, name: impl Into<String>, value: impl Into<Value>) -> Request {
        self.values.insert(name.into(), value.into());
        self
    }

    /// Sets environment variables that steps inherit; by default they get a plain `PATH` and little else.
    #[must_use]
    pub fn env<N: Into<OsString>, V: Into<OsString>>(
        mut self,
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Request {
        self.env.extend(variables.into_iter().map(|(name, value)| (name.into(), value.into())));
        self
    }

    /// Finds and checks the recipe with everything that it reaches, and runs nothing.
    pub fn check(&self) -> Result<Checked, RequestError> {
        let library = self.library();
        self.examine(&library, &Recording::new(&library))
    }

    fn examine(&self, library: &Library, recording: &Recording<'_>) -> Result<Checked, RequestError> {
        let loaded = library.root(&self.recipe).map_err(|error| match error {
            LoadError::NotFound { searched } => {
                RequestError::NotFound { recipe: self.recipe.clone(), searched }
            }
            LoadError::Unreadable { path, reason } => RequestError::Unreadable { path, reason },
        })?;
        recording.root(&loaded);
        Ok(check(
            loaded,
            recording,
            &Given { names: self.values.keys().cloned().collect(), ..Given::default() },
        ))
    }

    fn home(&self) -> Option<PathBuf> {
        self.env.get(&OsString::from("HOME")).map(PathBuf::from)
    }

    fn library(&self) -> Library {
        Library::new(Setup {
            cwd: self.working_dir.clone(),
            working_dir: self.working_dir.clone(),
            home: self.home(),
            recipe_dirs: self.recipe_dirs.clone(),
            ..Setup::default()
        })
    }
}

impl Runs {
    /// Finds, checks and runs a recipe, without a reporter.
    ///
    /// ```
    /// use runtime::runs::{Request, Runs};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let place = tempfile::tempdir()?;
    /// # let dir = place.path().canonicalize()?;
    /// std::fs::write(
    ///     dir.join("hello.yaml"),
    ///     "name: hello-world\ncontext: {who: you}\nsteps: [{id: greet, command: 'echo Hello, {{who}}!'}]\n",
    /// )?;
    /// let runs = Runs::at(dir.join("state"));
    ///
    /// // parse and check, without running anything
    /// let request = Request::new("hello.yaml", &dir).set("who", "world");
    /// assert!(request.check()?.plan.is_some());
    ///
    /// // run it by its path …
    /// let result = runs.run(&request)?;
    /// assert!(result.success);
    /// assert_eq!(result.step_results[0].output, "Hello, world!");
    ///
    /// // … or by its name; the run can be looked at later
    /// let result = runs.run(&Request::new("hello-world", &dir).search(&dir))?;
    /// assert_eq!(result.step_results[0].output, "Hello, you!");
    /// assert_eq!(runs.list(None).len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn run(&self, request: &Request) -> Result<RunResult, RequestError> {
        self.run_with(request, &mut Silent)
    }

    /// The same, with a reporter.
    pub fn run_with(
        &self,
        request: &Request,
        reporter: &mut dyn Reporter,
    ) -> Result<RunResult, RequestError> {
        let library = request.library();
        let recording = Recording::new(&library);
        let checked = request.examine(&library, &recording)?;
        let problems = || checked.diagnostics.iter().map(|problem| problem.message.clone()).collect();
        let Some(plan) = checked.plan.clone() else {
            return Err(RequestError::Invalid { recipe: request.recipe.clone(), problems: problems() });
        };
        let start = Start {
            plan,
            given: request.values.clone(),
            options: request.options.clone(),
            agents: request.agents.clone(),
            host: Host {
                env: request.env.clone(),
                home: request.home(),
                grace: GRACE,
                is_root: rustix::process::geteuid().is_root(),
                // an embedding program cannot be re-executed as a guardian
                guardian: None,
                named: Vec::new(),
            },
            working_dir: canonical(&request.working_dir),
            recording: &recording,
            dry_run: request.dry_run,
            others: ConcurrencyPolicy::default(),
            origin: None,
        };
        Ok(self.start(start, reporter)?)
    }
}

fn canonical(dir: &Path) -> PathBuf {
    std::fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned())
}

/// A reporter that ignores everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Reporter for Silent {
    fn notice(&mut self, _: Notice<'_>) {}

    fn tick(&self) -> Option<Duration> {
        None
    }

    fn wants_output(&self) -> bool {
        false
    }
}
