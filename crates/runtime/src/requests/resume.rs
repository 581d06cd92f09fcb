//! A request to resume a run: prepares it as a new run is prepared, and continues it.

use std::path::{Path, PathBuf};

use engine::{
    resume::{Effects, Interrupted, Producers, Resumer},
    run::origin::Origin,
};
use recipe::{
    check::{Given, check},
    plan::Plan,
};

use super::{
    Inputs, Listener, RequestError, accept,
    auto_fix::{AutoFix, Earlier, reviews_others},
};
use crate::{
    machine::{
        discovery::Library,
        local::{Allowance, GRACE, LocalMachine, compat_depth, warnings},
    },
    repair::{self, AcceptError, Loop},
    report::RunResult,
    runs::{Beside, OpenError, OpenedRun, Resume, Runs},
    store::{
        folder::{Header, Options, RequestOptions, RunFolder},
        sources::Recording,
    },
};

/// A request to resume a run.
#[derive(Clone, Debug, Default)]
pub struct ResumeRequest {
    /// The run: its id, a unique beginning of it, or `last`.
    pub run: String,
    /// The step to resume from, if not the failed one.
    pub from: Option<String>,
    /// Whether the steps whose results the failed step reads run again.
    pub rerun_producers: bool,
    /// Whether completed side effects may run again.
    pub rerun_effects: bool,
    /// What happens to interrupted steps that are not idempotent.
    pub interrupted: Interrupted,
    /// Given values that replace those of the run.
    pub inputs: Inputs,
    /// An edited recipe to continue with.
    pub recipe: Option<PathBuf>,
    /// Whether the repair that waits for a person is accepted: it is written into the recipe, and the run continues
    /// with it.
    pub accept_repair: bool,
    /// Whether that recipe must be the run's own one.
    pub same_recipe: bool,
    /// The digest of the approved plan, if only that plan may be carried out.
    pub plan_digest: Option<String>,
    /// The working directory, if it must be this one.
    pub working_dir: Option<PathBuf>,
    /// Options that replace those of the run.
    pub options: RequestOptions,
    /// Whether it may run next to a live run in the same workspace.
    pub beside: Beside,
    /// Where the request comes from.
    pub origin: Option<Origin>,
}

impl ResumeRequest {
    fn resumer(&self) -> Resumer {
        let producers = if self.rerun_producers { Producers::Again } else { Producers::Linked };
        Resumer::Person { producers }
    }

    fn effects(&self) -> Effects {
        if self.rerun_effects { Effects::Again } else { Effects::Once }
    }
}

/// A run that is ready to be resumed.
pub(super) struct Ready<'a> {
    pub(super) opened: OpenedRun,
    pub(super) resume: Resume<'a>,
    /// The machine, without the variables of environment files.
    machine: &'a LocalMachine,
    /// The directory that relative paths of its recipes start from.
    base: PathBuf,
}

impl Runs {
    /// Resumes a run, and continues until it ends or a stop is requested.
    pub fn resume(
        &self,
        request: &ResumeRequest,
        machine: &LocalMachine,
        listener: &mut dyn Listener,
    ) -> Result<RunResult, RequestError> {
        let folder = self.find(&request.run)?;
        let header = header(&folder)?;
        in_own_directory(request, &header)?;
        // before the recipe is read: an interrupted repair may have changed it
        let undone = self.undo_repair(&folder, GRACE).map_err(|error| open_error(&folder, error))?;
        undone.iter().for_each(|message| listener.note(message));
        let mut request = request.clone();
        let records = || self.open(folder.clone()).map(|opened| opened.records.len()).ok();
        let before = records().filter(|_| request.accept_repair);
        let accepted = before.map(|_| repair::accept_waiting_repair(&folder)).transpose()?;
        if accepted.is_some() {
            request.recipe = header.recipe_file.clone();
        }
        let request = &request;
        let result = self.with_ready(request, machine, listener, |ready, listener| {
            self.continue_ready(request, ready, listener)
        });
        if let Some(accepted) = accepted.filter(|_| records() == before) {
            // nothing was started: the repair waits as before
            accepted.take_back(&folder).map_err(AcceptError::from)?;
        }
        result
    }

    /// Prepares a resume, and passes it on.
    pub(super) fn with_ready<T>(
        &self,
        request: &ResumeRequest,
        machine: &LocalMachine,
        listener: &mut dyn Listener,
        act: impl FnOnce(Ready<'_>, &mut dyn Listener) -> Result<T, RequestError>,
    ) -> Result<T, RequestError> {
        let folder = self.find(&request.run)?;
        let header = header(&folder)?;
        in_own_directory(request, &header)?;
        let options = &request.options;
        // the variables that chose the agent and led to recipes may be missing in this shell
        let before = header.options.variables.clone().into_iter();
        let is_compat = options.compat || header.options.compat;
        let machine = &machine.with_defaults(before.chain(is_compat.then(compat_depth)));
        let dirs = [options.recipe_dirs.clone(), header.options.recipe_dirs.clone()].concat();
        let working_dir = request.working_dir.as_deref().map(|dir| machine.absolute(dir));
        let library = machine.library(&dirs, &working_dir.unwrap_or_else(|| machine.cwd.clone()));
        let recording = Recording::new(&library);
        let (edited, recipe_file) = edited(request, &header, &library, &recording, listener)?.unzip();
        let edited = edited.map(|plan| (plan, &recording));
        let opened = self.open(folder.clone()).map_err(|error| open_error(&folder, error))?;
        let plan = edited.as_ref().map_or(&opened.plan, |(plan, _)| plan);
        if request.same_recipe {
            is_of(plan, &library, &header)?;
        }
        let base = match edited {
            Some(_) => machine.cwd.clone(),
            None => opened.recipe.base(&header.working_dir),
        };
        let known = machine.with_files(plan, &base, &header.working_dir);
        let step_timeout = match options.step_timeout.or(header.options.step_timeout) {
            None => known.step_timeout()?,
            known => known,
        };
        let host = known.host(plan);
        for problem in warnings(&host, plan, &base, &header.working_dir) {
            listener.warning(&problem);
        }
        let program = options.agent_binary.as_deref().or(header.options.agent_binary.as_deref());
        let allowance = Allowance { budget: header.options.budget, raised: options.budget };
        let change = |kept: &mut Options| {
            options.change(kept, |dir| machine.absolute(dir));
            kept.step_timeout = step_timeout;
        };
        let resume = Resume {
            interrupted: request.interrupted,
            from: request.from.clone(),
            resumer: request.resumer(),
            effects: request.effects(),
            plan_digest: request.plan_digest.clone(),
            beside: request.beside,
            given: request.inputs.given_anew(plan.root(), &opened.state.settings.given),
            edited,
            recipe_file: recipe_file.flatten(),
            change: &change,
            agents: known.agents(program, allowance, &header.working_dir)?,
            host,
            loader: &library,
            origin: request.origin.clone(),
        };
        act(Ready { opened, resume, machine, base }, listener)
    }

    fn continue_ready(
        &self,
        request: &ResumeRequest,
        ready: Ready<'_>,
        listener: &mut dyn Listener,
    ) -> Result<RunResult, RequestError> {
        let Ready { opened, mut resume, machine, base } = ready;
        let earlier = Earlier::of(&opened.folder, &opened.header.options);
        reviews_others(&request.options, &resume.agents)?;
        let auto_fix = AutoFix::choose(self, &request.options, earlier, &mut resume.host)?;
        let change = resume.change;
        let change = |options: &mut Options| {
            change(options);
            options.no_auto_fix = auto_fix.is_off;
        };
        resume.change = &change;
        if auto_fix.continues {
            resume.resumer = Resumer::Automatic { level: 0 };
        }
        let working_dir = opened.header.working_dir.clone();
        let host_for = |plan: &Plan| machine.with_files(plan, &base, &working_dir).host(plan);
        let recipe_file = resume.recipe_file.clone().or_else(|| opened.recipe.file.clone());
        let fixer = auto_fix.policy.map(|policy| Loop {
            runs: self,
            policy,
            agents: resume.agents.clone(),
            host: resume.host.clone(),
            loader: resume.loader,
            recipe_file: recipe_file.unwrap_or_else(|| machine.absolute(Path::new(&opened.recipe.path))),
            host_for: &host_for,
            level: 0,
        });
        let mut reporter = listener.reporter();
        let result = match fixer {
            Some(fixer) => fixer.resume(opened, resume, &mut *reporter)?,
            None => self.resume_opened(opened, resume, &mut *reporter)?,
        };
        Ok(if auto_fix.is_off { repair::not_wanted(result) } else { result })
    }
}

fn header(folder: &RunFolder) -> Result<Header, RequestError> {
    folder.header().map_err(|error| open_error(folder, error.into()))
}

fn open_error(folder: &RunFolder, error: OpenError) -> RequestError {
    RequestError::Open { folder: folder.clone(), error }
}

/// Checks that a run continues in its own directory: its steps have left files there.
fn in_own_directory(request: &ResumeRequest, header: &Header) -> Result<(), RequestError> {
    let Some(asked) = &request.working_dir else { return Ok(()) };
    let real = |dir: &Path| std::fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned());
    if real(asked) == real(&header.working_dir) {
        return Ok(());
    }
    let (run, own) = (header.run_id.clone(), header.working_dir.clone());
    Err(RequestError::OtherDirectory { run, own, asked: asked.clone() })
}

/// Reads and checks the edited recipe; also returns its absolute path.
fn edited(
    request: &ResumeRequest,
    header: &Header,
    library: &Library,
    recording: &Recording<'_>,
    listener: &mut dyn Listener,
) -> Result<Option<(Plan, Option<PathBuf>)>, RequestError> {
    let Some(file) = &request.recipe else { return Ok(None) };
    let recipe = file.to_string_lossy().into_owned();
    let loaded = match library.root(&recipe) {
        Ok(loaded) => loaded,
        Err(error) => return Err(RequestError::Recipe { recipe, error }),
    };
    recording.root(&loaded);
    let file = std::fs::canonicalize(library.absolute(&loaded.path)).ok();
    let names = header.given.iter().map(|(name, _)| name.clone()).chain(request.inputs.names());
    let checked = check(loaded, recording, &Given { names: names.collect(), ..Given::default() });
    let checked = if request.options.strict { checked.strict() } else { checked };
    Ok(Some((accept(&recipe, checked, listener)?, file)))
}

/// Checks that the run belongs to the recipe that was named with it.
fn is_of(plan: &Plan, library: &Library, header: &Header) -> Result<(), RequestError> {
    let root = plan.root();
    let file = library.absolute(&root.path);
    if root.name == header.recipe_name || header.recipe_file.as_ref() == Some(&file) {
        return Ok(());
    }
    let (run, own, asked) = (header.run_id.clone(), header.recipe_name.clone(), root.name.clone());
    Err(RequestError::OtherRecipe { run, own, asked, file })
}

impl RequestOptions {
    /// Applies them to the options of a run.
    fn change(&self, options: &mut Options, absolute: impl Fn(&Path) -> PathBuf) {
        if let Some(number) = self.max_parallel {
            options.max_parallel = number;
        }
        if let Some(mode) = self.recovery {
            options.recovery = mode;
        }
        if self.max_agents.is_some() {
            options.max_agents = self.max_agents;
        }
        if self.agent_binary.is_some() {
            options.agent_binary.clone_from(&self.agent_binary);
        }
        if let Some(dir) = &self.audit_dir {
            options.audit_dir = Some(absolute(dir));
        }
        options.no_auto_stage |= self.no_auto_stage;
        options.compat |= self.compat;
        options.strict |= self.strict;
        if !self.tags().is_empty() {
            options.include_tags.clone_from(&self.include_tags);
            options.exclude_tags.clone_from(&self.exclude_tags);
        }
    }
}
