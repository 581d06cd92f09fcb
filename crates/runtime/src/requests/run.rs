//! A request for a run: finds, checks and runs a recipe.

use std::path::{Path, PathBuf};

use engine::run::{env_overrides, origin::Origin};
use recipe::{
    check::{Checked, check},
    env_name,
    plan::Plan,
    value::{Map, Value},
};

use super::{
    Inputs, Listener, RequestError, accept,
    auto_fix::{AutoFix, Earlier},
    given_answers,
};
use crate::{
    agents::AgentSettings,
    machine::{
        agent_fit,
        discovery::Library,
        local::{Allowance, LocalMachine, SettingError, compat_depth, warnings},
        variables::Variables,
    },
    os::process,
    repair::{self, Loop},
    report::RunResult,
    runs::{
        Beside, ConcurrencyPolicy, MAX_PARALLEL, ORCHESTRATOR, Runs, Stale, Start, WORKSTREAMS,
        canonical_recipe,
    },
    store::{
        folder::{Options, Recovery, RequestOptions, StoredRequest, Switches, store_inputs},
        secrets::Mask,
        sources::Recording,
    },
};

/// A request for a run.
#[derive(Clone, Debug, Default)]
pub struct RunRequest {
    /// The recipe, by path or by name.
    pub recipe: String,
    /// The working directory.
    pub working_dir: PathBuf,
    /// Given values.
    pub inputs: Inputs,
    /// The options.
    pub options: RequestOptions,
    /// Whether it may run next to a live run in the same workspace.
    pub beside: Beside,
    /// Where the request comes from.
    pub origin: Option<Origin>,
}

impl RunRequest {
    /// A recipe, by path or by name, and the directory to run it in.
    pub fn new(recipe: impl Into<String>, working_dir: impl Into<PathBuf>) -> RunRequest {
        RunRequest { recipe: recipe.into(), working_dir: working_dir.into(), ..RunRequest::default() }
    }

    /// Adds a directory to search for recipes by name.
    #[must_use]
    pub fn search(mut self, dir: impl Into<PathBuf>) -> RunRequest {
        self.options.recipe_dirs.push(dir.into());
        self
    }

    /// Sets a context value.
    #[must_use]
    pub fn set(mut self, name: impl Into<String>, value: impl Into<Value>) -> RunRequest {
        self.inputs.own.push((name.into(), value.into()));
        self
    }

    /// Finds and checks the recipe with everything that it reaches, and runs nothing.
    pub fn check(&self, machine: &LocalMachine) -> Result<Checked, RequestError> {
        let library = self.library(machine);
        self.examine(machine, &library, &Recording::new(&library))
    }

    fn library(&self, machine: &LocalMachine) -> Library {
        machine.library(&self.options.recipe_dirs, &machine.absolute(&self.working_dir))
    }

    fn examine(
        &self,
        machine: &LocalMachine,
        library: &Library,
        recording: &Recording<'_>,
    ) -> Result<Checked, RequestError> {
        let loaded = library
            .root(&self.recipe)
            .map_err(|error| RequestError::Recipe { recipe: self.recipe.clone(), error })?;
        recording.root(&loaded);
        let checked = check(loaded, recording, &self.inputs.given(self.options.tags()));
        let checked = if self.options.strict { checked.strict() } else { checked };
        let dir = machine.absolute(&self.working_dir);
        // settings that cannot be used are reported when the run is prepared
        Ok(match machine.agents(&self.options.agent, Allowance::default(), &dir) {
            Ok(settings) => agent_fit::fitted(checked, &settings),
            Err(_) => checked,
        })
    }

    /// The same request, with its answers among the options and not among the values.
    fn with_answers(&self, plan: &Plan, working_dir: &Path) -> Result<RunRequest, SettingError> {
        let (inputs, answers) = given_answers::take_out(plan, &self.inputs, working_dir)?;
        let mut request = RunRequest { inputs, ..self.clone() };
        request.options.asking.answers = answers;
        // rounds are the way in which the orchestrator repairs
        request.options.no_auto_fix |= plan.root().path == ORCHESTRATOR && self.options.auto_fix.is_some();
        Ok(request)
    }

    /// The request in the form for the run folder.
    fn stored(&self, plan: &Plan, working_dir: &Path) -> StoredRequest {
        let mut inputs = Map::new();
        self.inputs.put_over(&mut inputs, plan.root());
        let mut mask = Mask::declared(&plan.units);
        mask.learn(&inputs);
        let absolute = |dir: &PathBuf| std::fs::canonicalize(dir).unwrap_or_else(|_| dir.clone());
        let mut options = RequestOptions {
            max_parallel: self.options.max_parallel.filter(|number| *number != MAX_PARALLEL),
            recovery: self.options.recovery.filter(|mode| *mode != Recovery::default()),
            recipe_dirs: self.options.recipe_dirs.iter().map(absolute).collect(),
            ..self.options.clone()
        };
        options.sort_tags();
        options.asking.answers = given_answers::masked(plan, &options.asking.answers);
        StoredRequest {
            beside: self.beside,
            inputs: store_inputs(&inputs, &mask),
            options,
            recipe: canonical_recipe(&plan.root().path),
            working_dir: working_dir.to_owned(),
        }
    }
}

impl RequestOptions {
    /// The tags that steps are chosen by.
    pub(super) fn tags(&self) -> Vec<String> {
        [self.tags.include_tags.clone(), self.tags.exclude_tags.clone()].concat()
    }
}

impl Runs {
    /// Finds, checks and runs a recipe to its end, or until a stop is requested.
    ///
    /// ```
    /// use runtime::{machine::local::LocalMachine, requests::{RunRequest, Silent}, runs::Runs};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let place = tempfile::tempdir()?;
    /// # let dir = place.path().canonicalize()?;
    /// std::fs::write(
    ///     dir.join("hello.yaml"),
    ///     "name: hello-world\ncontext: {who: you}\nsteps: [{id: greet, command: 'echo Hello, {{who}}!'}]\n",
    /// )?;
    /// let runs = Runs::at(dir.join("state"));
    /// let machine = LocalMachine { cwd: dir.clone(), ..LocalMachine::default() };
    ///
    /// // parse and check, without running anything
    /// let request = RunRequest::new("hello.yaml", &dir).set("who", "world");
    /// assert!(request.check(&machine)?.plan.is_some());
    ///
    /// // run it by its path …
    /// let result = runs.run(&request, &machine, &mut Silent)?;
    /// assert!(result.success);
    /// assert_eq!(result.step_results[0].output, "Hello, world!");
    ///
    /// // … or by its name; the run can be looked at later
    /// let request = RunRequest::new("hello-world", &dir).search(&dir);
    /// let result = runs.run(&request, &machine, &mut Silent)?;
    /// assert_eq!(result.step_results[0].output, "Hello, you!");
    /// assert_eq!(runs.list(None).len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn run(
        &self,
        request: &RunRequest,
        machine: &LocalMachine,
        listener: &mut dyn Listener,
    ) -> Result<RunResult, RequestError> {
        let library = request.library(machine);
        let recording = Recording::new(&library);
        let plan = accept(&request.recipe, request.examine(machine, &library, &recording)?, listener)?;
        let working_dir = real(machine.absolute(&request.working_dir));
        let request = &request.with_answers(&plan, &working_dir)?;
        let machine = machine.with_defaults(request.options.compat.then(compat_depth));
        let known = machine.with_files(&plan, &machine.cwd, &working_dir);
        let mut host = known.host(&plan);
        for problem in warnings(&host, &plan, &machine.cwd, &working_dir) {
            listener.warning(&problem);
        }
        let recipe_file = library.absolute(&plan.root().path);
        // settings that cannot be used are reported before a budget is made
        let settings = Settings::read(&request.options, &known, &working_dir)?;
        Earlier::default().reviews_others(&request.options, &settings.agents, &host)?;
        let auto_fix = AutoFix::choose(self, &request.options, Earlier::default(), &mut host)?;
        let inherited = inherited(&plan, &known);
        let start = Start {
            options: Options {
                step_timeout: settings.step_timeout,
                auto_fix: auto_fix.policy.as_ref().map(|policy| policy.max_attempts),
                no_auto_fix: auto_fix.is_off,
                auto_fix_budget: auto_fix.budget,
                recipe_dirs: library.named_dirs(),
                ..request.options.stored(&plan, &known)
            },
            agents: settings.agents,
            given: request.inputs.settings(plan.root(), |name| inherited.and_then(|known| known.raw(name))),
            request: Some(request.stored(&plan, &working_dir)),
            host,
            plan,
            working_dir: working_dir.clone(),
            recording: &recording,
            dry_run: request.options.dry_run,
            others: request.options.concurrency(request.beside),
            origin: request.origin.clone(),
        };
        let host_for = |plan: &Plan| machine.with_files(plan, &machine.cwd, &working_dir).host(plan);
        let fixer = auto_fix.policy.map(|policy| Loop {
            runs: self,
            policy,
            agents: start.agents.clone(),
            host: start.host.clone(),
            loader: &library,
            recipe_file,
            host_for: &host_for,
            level: 0,
            wait: request.options.asking.wait,
        });
        let result = self.carry_out(start, fixer, listener)?;
        let result = self.stay_for_repair(result, &request.options.asking, &machine, listener)?;
        Ok(if auto_fix.is_off { repair::not_wanted(result) } else { result })
    }

    /// Runs a recipe, with auto-fix if it is wanted.
    fn carry_out(
        &self,
        start: Start<'_>,
        fixer: Option<Loop<'_>>,
        listener: &mut dyn Listener,
    ) -> Result<RunResult, RequestError> {
        let mut reporter = listener.reporter();
        Ok(match fixer {
            Some(fixer) => fixer.start(start, &mut *reporter)?,
            None => self.start(start, &mut *reporter)?,
        })
    }
}

/// The variables that values may come from. A task that a step starts is a task of its own: it does not inherit the values
/// of the task around it.
fn inherited<'a>(plan: &Plan, known: &'a LocalMachine) -> Option<&'a Variables> {
    let is_inside = known.variables.get(process::RUN_DIR_VARIABLE).is_some();
    let is_task = [ORCHESTRATOR, WORKSTREAMS].contains(&plan.root().path.as_str());
    (!is_task || !is_inside).then_some(&known.variables)
}

/// A directory without links, if it exists.
fn real(dir: PathBuf) -> PathBuf {
    std::fs::canonicalize(&dir).unwrap_or(dir)
}

/// Settings of a new run from its request, the environment and configuration files.
struct Settings {
    agents: AgentSettings,
    step_timeout: Option<f64>,
}

impl Settings {
    fn read(
        options: &RequestOptions,
        known: &LocalMachine,
        working_dir: &Path,
    ) -> Result<Settings, SettingError> {
        let allowance = Allowance { budget: options.budget, ..Allowance::default() };
        let agents = known.agents(&options.agent, allowance, working_dir)?;
        let step_timeout = match options.step_timeout {
            None => known.step_timeout()?,
            given => given,
        };
        Ok(Settings { agents, step_timeout })
    }
}

impl RequestOptions {
    /// The options that a new run keeps, as far as the request names them.
    fn stored(&self, plan: &Plan, known: &LocalMachine) -> Options {
        Options {
            variables: known.kept_variables(),
            ambient: match inherited(plan, known) {
                Some(variables) => env_overrides::below(plan, variables.beginning_with(env_name::PREFIX)),
                None => Default::default(),
            },
            tags: self.tags.clone(),
            max_parallel: self.max_parallel.unwrap_or(MAX_PARALLEL),
            max_agents: self.max_agents,
            agent: self.agent.clone(),
            no_auto_stage: self.no_auto_stage,
            recovery: self.recovery.unwrap_or_default(),
            audit_dir: self.audit_dir.as_deref().map(|dir| known.absolute(dir)),
            repair_agent: self.repair_agent.clone(),
            review: self.review.clone(),
            budget: self.budget,
            compat: self.compat,
            switches: Switches { strict: self.strict, no_cleanup: self.no_cleanup },
            asking: self.asking.clone(),
            ..Options::default()
        }
    }

    /// How to treat other runs of the same recipe in the same directory.
    fn concurrency(&self, beside: Beside) -> ConcurrencyPolicy {
        let stale = if self.clear_stale { Stale::Cleared } else { Stale::Named };
        ConcurrencyPolicy { beside, stale }
    }
}
