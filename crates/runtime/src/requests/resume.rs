//! A request to resume a run: prepares it as a new run is prepared, and continues it.

use std::path::{Path, PathBuf};

use engine::{
    resume::{Effects, Interrupted, Producers, Resumer},
    run::origin::Origin,
};
use recipe::{
    check::check,
    diagnostic::{Code, Diagnostic},
    plan::Plan,
};

use super::{
    Inputs, Listener, RequestError, accept,
    auto_fix::{AutoFix, Earlier},
    given_answers,
    repair_decision::Settled,
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
        let result = self.resume_once(request, machine, listener)?;
        self.stay_for_repair(result, &request.options.asking, machine, listener)
    }

    /// The same; a repair that waits for a person ends it.
    pub(super) fn resume_once(
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
        let accepted = match self.settle_repair(request, &folder, listener)? {
            Settled::Continues(accepted) => accepted,
            Settled::Over(result) => return Ok(*result),
        };
        let resumes = || self.open(folder.clone()).map(|opened| opened.state.resumes).ok();
        let before = resumes();
        let mut request = request.clone();
        if accepted.is_some() {
            let opened = self.open(folder.clone()).map_err(|error| open_error(&folder, error))?;
            request.recipe = opened.recipe.file.or(header.recipe_file);
        }
        let request = &request;
        let result = self.with_ready(request, machine, listener, |ready, listener| {
            self.continue_ready(request, ready, listener)
        });
        if let Some(accepted) = accepted.filter(|_| resumes() == before) {
            // nothing was started: the recipe is as it was, and the next resume uses the repair
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
        let machine = &machine_of(machine, options, &header.options);
        let library = library_of(machine, request, &header.options);
        let recording = Recording::new(&library);
        let (edited, recipe_file) = edited(request, &header, &library, &recording, listener)?.unzip();
        let edited = edited.map(|plan| (plan, &recording));
        let opened = self.open(folder.clone()).map_err(|error| open_error(&folder, error))?;
        let plan = edited.as_ref().map_or(&opened.plan, |(plan, _)| plan);
        if request.same_recipe {
            is_of(plan, &library, &header)?;
        }
        let (inputs, answers) = given_answers::take_out(plan, &request.inputs, &header.working_dir)?;
        let own_base = || opened.recipe.base(&header.working_dir);
        let base = edited.as_ref().map_or_else(own_base, |_| machine.cwd.clone());
        let known = machine.with_files(plan, &base, &header.working_dir);
        let step_timeout = match options.step_timeout.or(header.options.step_timeout) {
            None => known.step_timeout()?,
            known => known,
        };
        let host = known.host(plan);
        let unknown = if edited.is_none() { unknown_settings(&opened, &inputs) } else { Vec::new() };
        for problem in unknown.into_iter().chain(warnings(&host, plan, &base, &header.working_dir)) {
            listener.warning(&problem);
        }
        let choice = options.agent.or(&header.options.agent);
        let allowance = Allowance { budget: header.options.budget, raised: options.budget };
        let change = |kept: &mut Options| {
            options.change(kept, |dir| machine.absolute(dir));
            kept.step_timeout = step_timeout;
            kept.asking.answers.extend(answers.clone());
        };
        let resume = Resume {
            interrupted: request.interrupted,
            from: request.from.clone(),
            resumer: request.resumer(),
            effects: request.effects(),
            plan_digest: request.plan_digest.clone(),
            beside: request.beside,
            given: inputs.given_anew(plan.root(), &opened.state.settings.given),
            edited,
            recipe_file: recipe_file.flatten(),
            change: &change,
            agents: known.agents(&choice, allowance, &header.working_dir)?,
            host,
            loader: &library,
            restore: &crate::orchestration::restore,
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
        earlier.reviews_others(&request.options, &resume.agents, &resume.host)?;
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
            wait: request.options.asking.wait,
        });
        let mut reporter = listener.reporter();
        let result = match fixer {
            Some(fixer) => fixer.resume(opened, resume, &mut *reporter)?,
            None => {
                let folder = opened.folder.clone();
                let mut result = self.resume_opened(opened, resume, &mut *reporter)?;
                // a person may have accepted a repair of an earlier loop
                result.auto_fix = repair::load(&folder).and_then(|fix| fix.in_result(&result));
                result
            }
        };
        Ok(if auto_fix.is_off { repair::not_wanted(result) } else { result })
    }
}

fn header(folder: &RunFolder) -> Result<Header, RequestError> {
    folder.header().map_err(|error| open_error(folder, error.into()))
}

pub(super) fn open_error(folder: &RunFolder, error: OpenError) -> RequestError {
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

/// The machine as the run knew it: the variables that chose the agent and led to recipes may be missing in this shell.
fn machine_of(machine: &LocalMachine, asked: &RequestOptions, kept: &Options) -> LocalMachine {
    let is_compat = asked.compat || kept.compat;
    let before = kept.variables.clone().into_iter();
    machine.with_defaults(before.chain(is_compat.then(compat_depth)))
}

/// The recipes that a resume can find.
fn library_of(machine: &LocalMachine, request: &ResumeRequest, kept: &Options) -> Library {
    let dirs = [request.options.recipe_dirs.clone(), kept.recipe_dirs.clone()].concat();
    let working_dir = request.working_dir.as_deref().map(|dir| machine.absolute(dir));
    machine.library(&dirs, &working_dir.unwrap_or_else(|| machine.cwd.clone()))
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
    let mut given = request.inputs.given(Vec::new());
    given.names.extend(header.given.iter().map(|(name, _)| name.clone()));
    let checked = check(loaded, recording, &given);
    let checked = if request.options.strict { checked.strict() } else { checked };
    Ok(Some((accept(&recipe, checked, listener)?, file)))
}

/// The given values whose names the recipe of the run does not know, as for a new run.
fn unknown_settings(opened: &OpenedRun, inputs: &Inputs) -> Vec<String> {
    let given = inputs.given(Vec::new());
    let sources = opened.sources(None).ok().filter(|_| !given.typed.is_empty());
    let Some((sources, root)) = sources.and_then(|sources| sources.root().ok().map(|root| (sources, root)))
    else {
        return Vec::new();
    };
    let found = check(root, &sources, &given).diagnostics.into_iter();
    let is_given = |found: &Diagnostic| found.code == Code::UnknownSetting && found.place.is_none();
    found.filter(is_given).map(|found| found.message).collect()
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
        options.agent = self.agent.or(&options.agent);
        if let Some(dir) = &self.audit_dir {
            options.audit_dir = Some(absolute(dir));
        }
        options.no_auto_stage |= self.no_auto_stage;
        options.switches.no_cleanup |= self.no_cleanup;
        options.asking.wait = self.asking.wait;
        options.compat |= self.compat;
        options.switches.strict |= self.strict;
        if !self.tags().is_empty() {
            options.tags.clone_from(&self.tags);
        }
    }
}
