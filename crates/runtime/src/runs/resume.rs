//! Resuming a run: what is kept, what runs again, and what a person has to choose.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use engine::{
    Event, RunSettings, RunStatus,
    failure::Actions,
    resume::{Effects, Interrupted, ResumePlan, Resumer, StepPlan},
    run::{
        event::RunResumed,
        next::{Advice, Next},
        origin::Origin,
        override_values,
        step_path::instance_of,
    },
};
use recipe::{
    check::Loader,
    plan::{Plan, Step, StepKind},
    value::Map,
};

use super::{
    CurrentRecipe, Job, OpenError, OpenedRun, OwnedRun, ResumeError, Runs,
    awaiting_choice::{offered, text_in_force, wait_for_person},
    dynamic_recipe::NextRecipe,
    missing::unfit_anew,
    orphans::end_orphans,
    owned_run::noted,
    start::{create_audit, open_log},
};
use crate::{
    agents::AgentSettings,
    machine::{
        host::Host,
        preflight::{self, Need, Problem},
    },
    os::files,
    report::{RunResult, blocked::blocked},
    run::{Notice, Reporter},
    runs::repro::keep_given,
    store::{
        cancel_request,
        folder::{Batch, Beside, Options, RunFolder},
        journal::Journal,
        sources::{Recording, Remembered},
    },
};

/// How a run is resumed.
pub(crate) struct Resume<'a> {
    /// What happens to interrupted steps that are not idempotent.
    pub interrupted: Interrupted,
    /// The step to resume from, if not the failed one.
    pub from: Option<String>,
    /// The kind of resume.
    pub resumer: Resumer,
    /// Whether completed side effects may be repeated.
    pub effects: Effects,
    /// The digest of the approved plan, if only that plan may be carried out.
    pub plan_digest: Option<String>,
    /// Whether it may run next to a live run in the same workspace.
    pub beside: Beside,
    /// Given values that replace those of the run.
    pub given: Map,
    /// An edited recipe to continue with, and what the loader found for it.
    pub edited: Option<(Plan, &'a Recording<'a>)>,
    /// Its absolute path, if the run had another file.
    pub recipe_file: Option<PathBuf>,
    /// Options that replace those of the run.
    pub change: &'a dyn Fn(&mut Options),
    /// How agents are started.
    pub agents: AgentSettings,
    /// The machine.
    pub host: Host,
    /// Loads recipes whose names become known later.
    pub loader: &'a dyn Loader,
    /// Brings back the directories that the rest of the run works in; returns what is in the way.
    pub restore: &'a dyn Fn(&OpenedRun, &Host) -> Vec<Problem>,
    /// Where the request came from.
    pub origin: Option<Origin>,
}

impl Runs {
    /// Resumes an opened run where it stopped.
    pub(crate) fn resume_opened(
        &self,
        opened: OpenedRun,
        resume: Resume<'_>,
        reporter: &mut dyn Reporter,
    ) -> Result<RunResult, ResumeError> {
        let (result, hold) = self.resume_held(opened, resume, None, reporter)?;
        if let Some(hold) = hold {
            hold.release(result.status);
        }
        Ok(result)
    }

    /// The same with a run that this process may already own, and keeps owning: it may not be over. A run that it did
    /// not own and that cannot continue is released.
    pub(crate) fn resume_held(
        &self,
        opened: OpenedRun,
        mut resume: Resume<'_>,
        held: Option<OwnedRun>,
        reporter: &mut dyn Reporter,
    ) -> Result<(RunResult, Option<OwnedRun>), ResumeError> {
        let run = opened.folder.id();
        let is_ours = held.is_some();
        let mut hold = held.map_or_else(|| own(&opened.folder), Ok)?;
        let (mut shown, mut journal) = self.take_opened(opened)?;
        let undone = super::owned_run::undo(&mut shown, &mut journal, resume.host.grace)?;
        if shown.state.finished.as_ref().is_some_and(|finished| finished.status == RunStatus::Completed) {
            return Err(ResumeError::Completed(run));
        }
        // processes that the old runner left behind would interfere with the new one, and change files while a person
        // looks at them
        end_orphans(&shown, resume.host.grace);
        let working_dir = shown.header.working_dir.clone();
        let problems = match directory_problem(&working_dir) {
            Some(problem) => vec![problem],
            None => (resume.restore)(&shown, &resume.host),
        };
        if !problems.is_empty() {
            return Ok((self.blocked_resume(&shown, &problems), is_ours.then_some(hold)));
        }
        let skip = match self.interrupted_steps(&shown, resume.interrupted) {
            Err(stop) => return Err(wait_for_person(&shown, &mut journal, &resume, stop)),
            Ok(skip) => skip,
        };
        let next = shown.next(&resume);
        let base = match &resume.edited {
            Some(_) => PathBuf::new(),
            None => shown.recipe.base(&working_dir),
        };
        next.prepare(&mut resume.host, &base, &working_dir);
        let steps = shown.plan_with(&resume, &next)?;
        if !steps.blocked_effects.is_empty() {
            let stop = ResumeError::Effects { run, steps: steps.blocked_effects };
            return Err(wait_for_person(&shown, &mut journal, &resume, stop));
        }
        let digest = shown.plan_digest(&steps, &resume);
        if resume.plan_digest.as_ref().is_some_and(|approved| *approved != digest) {
            return Err(ResumeError::Outdated { run, plan: Box::new(steps), digest });
        }
        let mut problems = missing(&next.plan, &resume, &steps);
        let (was, given) = (shown.plan.root(), &shown.state.settings.given);
        problems.extend(unfit_anew(was, next.plan.root(), given, &resume.given, &working_dir));
        let enter = || self.hold_session(&mut hold, &run, &mut resume.host);
        problems.extend(problems.is_empty().then(enter).flatten());
        if !problems.is_empty() {
            return Ok((self.blocked_resume(&shown, &problems), is_ours.then_some(hold)));
        }
        let allowed = AllowedResume { shown, journal, hold, is_ours, next, steps, skip, undone, base };
        self.continue_run(allowed, resume, reporter)
    }

    /// Continues a run: nothing stands in the way any more.
    fn continue_run(
        &self,
        allowed: AllowedResume,
        resume: Resume<'_>,
        reporter: &mut dyn Reporter,
    ) -> Result<(RunResult, Option<OwnedRun>), ResumeError> {
        let (shown, folder) = (&allowed.shown, &allowed.shown.folder);
        let (run, working_dir) = (folder.id(), shown.header.working_dir.clone());
        if !allowed.is_ours && files::point("inbox.clear").is_ok() {
            cancel_request::remove(folder);
        }
        let generation = store_sources(shown, &resume)?;
        keep_new_values(shown, &resume)?;
        let mut options = shown.header.options.clone();
        (resume.change)(&mut options);
        let audit = create_audit(&options, &allowed.next.plan.root().name, &run)?;
        let log = open_log(folder, &options)?;
        let recipe = shown.recipe.next(allowed.next.plan.root(), resume.recipe_file.as_ref());
        let mut first = first_events(&allowed, &resume, &recipe, generation, &options);
        files::discard_file(&offered(folder));
        let AllowedResume { shown, journal, mut hold, is_ours, next, base, .. } = allowed;
        if !is_ours {
            let given = &shown.state.settings.given;
            let workspace = self.workspace(&shown.header.recipe_path, &working_dir, given);
            let others = super::ConcurrencyPolicy { beside: resume.beside, stale: super::Stale::Named };
            let claimed = self.claim(&workspace, &run, &shown.header.recipe_name, others, &resume.host)?;
            first.extend(claimed.notes.into_iter().chain(hold.session_note()));
            hold = hold.with(claimed.claim);
            log.iter().for_each(|log| reporter.notice(Notice::Log { path: log.path() }));
        }
        let sources = shown.folder.sources(generation);
        let remembered = Remembered::open(&sources, Some(resume.loader)).map_err(OpenError::from)?;
        // a recipe that is found only now must be stored for the next resume
        let continued = Recording::going_on(&remembered);
        // only these parts of the run are kept: the loop may run for days and does not need its records
        let OpenedRun { folder, header, mut state, .. } = shown;
        apply_options(&mut state.settings, &options);
        let job = Job {
            run_id: run,
            tracking_id: header.tracking_id,
            folder: Some(folder),
            journal: Some(journal),
            plan: next.plan,
            state,
            options,
            host: resume.host,
            working_dir,
            base,
            recording: resume.edited.as_ref().map_or(&continued, |(_, recording)| *recording),
            generation,
            audits: audit.into_iter().chain(log).collect(),
            agents: resume.agents,
            performer: self.performer.clone(),
            knowledge: self.knowledge.clone(),
            recipe: recipe.name(),
            origin: header.origin,
        };
        Ok((job.run(first, reporter)?, Some(hold)))
    }

    /// The result of a resume that cannot continue: nothing has changed, and it can be tried again.
    pub(crate) fn blocked_resume(&self, shown: &OpenedRun, problems: &[Problem]) -> RunResult {
        let run = &shown.header.run_id;
        let resume = Some(Next::resume(run));
        let actions = Actions { resume: resume.clone(), doctor: Some(Next::Doctor), ..Actions::default() };
        RunResult {
            run_id: Some(run.clone()),
            tracking_id: Some(shown.header.tracking_id.clone()),
            resume,
            run_dir: Some(shown.folder.path().to_string_lossy().into_owned()),
            mask: shown.mask.clone(),
            resumes: shown.state.resumes,
            result_only: shown.plan.root().result_only(),
            ..blocked(&shown.header.recipe_name, problems, &actions)
        }
    }

    /// Interrupted steps to skip; an error if a person has to choose.
    fn interrupted_steps(&self, shown: &OpenedRun, choice: Interrupted) -> Result<Vec<String>, ResumeError> {
        let steps = shown.state.undecided_steps();
        match choice {
            Interrupted::Ask if !steps.is_empty() => {
                Err(ResumeError::Choose { run: shown.header.run_id.clone(), steps })
            }
            Interrupted::Skip => Ok(steps),
            Interrupted::Ask | Interrupted::Rerun => Ok(Vec::new()),
        }
    }
}

/// What the remaining steps need from outside and lack.
fn missing(plan: &Plan, resume: &Resume<'_>, steps: &ResumePlan) -> Vec<Problem> {
    let mut by_id: HashMap<&str, Vec<&Arc<Step>>> = HashMap::new();
    for step in plan.units.iter().flat_map(|unit| &unit.steps) {
        by_id.entry(&step.id).or_default().push(step);
    }
    let entries = steps.steps.iter().filter(|entry| entry.action != StepPlan::Keep);
    let remaining: Vec<&Arc<Step>> = entries
        .filter_map(|entry| entry.path.rsplit('/').next())
        .flat_map(|id| by_id.get(id).or_else(|| by_id.get(instance_of(id)?)).into_iter().flatten().copied())
        .collect();
    let mut problems = preflight::missing_for(plan, &remaining, &resume.agents, &resume.host);
    problems.extend(resume.host.depth_problem().map(|text| Problem { need: Need::Depth, text }));
    problems
}

/// Whether a step calls an agent, or runs a recipe that may.
pub(super) fn asks_agents(shown: &OpenedRun, path: &str) -> bool {
    shown.state.locate(path).is_some_and(|(frame, at)| {
        !matches!(shown.state.frames[frame].unit.steps[at].kind, StepKind::Shell { .. } | StepKind::Ask(_))
    })
}

fn newest_sources(folder: &RunFolder) -> u32 {
    (0..).find(|number| !folder.sources(number + 1).exists()).unwrap_or(0)
}

/// A resume that nothing stands in the way of.
struct AllowedResume {
    shown: OpenedRun,
    journal: Journal,
    hold: OwnedRun,
    /// Whether this process owned the run before.
    is_ours: bool,
    next: NextRecipe,
    steps: ResumePlan,
    /// Interrupted steps that are left out.
    skip: Vec<String>,
    /// The message about an undone repair.
    undone: Option<String>,
    base: PathBuf,
}

/// Takes a run that no other process owns.
pub(super) fn own(folder: &RunFolder) -> Result<OwnedRun, ResumeError> {
    match folder.lock().map_err(OpenError::from)? {
        Some(lock) => Ok(OwnedRun::new(lock)),
        None => Err(ResumeError::Owned { run: folder.id(), pid: folder.owner().unwrap_or(0) }),
    }
}

/// Why a run cannot work in its directory any more.
fn directory_problem(dir: &Path) -> Option<Problem> {
    let what = preflight::dir_problem(dir)?;
    let (need, more) = match dir.exists() {
        true => (Need::Path, ""),
        false => (Need::OldDirectory, " any more"),
    };
    Some(Problem { need, text: format!("working directory `{}` {what}{more}", dir.display()) })
}

/// Stores the sources of an edited recipe; returns the generation of sources that the run uses.
fn store_sources(shown: &OpenedRun, resume: &Resume<'_>) -> Result<u32, OpenError> {
    let Some((_, recording)) = &resume.edited else { return Ok(shown.generation) };
    let generation = newest_sources(&shown.folder) + 1;
    recording.save(&shown.folder.sources(generation))?;
    Ok(generation)
}

/// Stores the context values of a resume that are too large or too secret for the journal.
fn keep_new_values(shown: &OpenedRun, resume: &Resume<'_>) -> Result<(), OpenError> {
    if resume.given.is_empty() {
        return Ok(());
    }
    let mut given = shown.state.settings.given.clone();
    given.extend(resume.given.clone());
    let mut files = Batch::default();
    keep_given(&shown.folder, &given, &shown.mask, &mut files)?;
    files.sync()?;
    Ok(())
}

/// Applies the options of a resume to the settings of the engine.
fn apply_options(settings: &mut RunSettings, options: &Options) {
    settings.max_parallel = options.max_parallel;
    settings.include_tags.clone_from(&options.tags.include_tags);
    settings.exclude_tags.clone_from(&options.tags.exclude_tags);
}

/// The events that a resume begins with.
fn first_events(
    allowed: &AllowedResume,
    resume: &Resume<'_>,
    recipe: &CurrentRecipe,
    generation: u32,
    options: &Options,
) -> Vec<Event> {
    let AllowedResume { shown, steps, next, skip, undone, .. } = allowed;
    let (by, is_person) = match resume.resumer {
        Resumer::Person { .. } => ("person", true),
        Resumer::Automatic { .. } => ("auto_fix", false),
    };
    let mut first = vec![Event::RunResumed(RunResumed {
        pid: std::process::id(),
        sources: generation,
        rerun: steps.redo.clone(),
        cleanup: steps.cleanup.clone(),
        failed: steps.failed.clone(),
        again: steps.rerun.clone(),
        reasons: Some(steps.reasons()),
        recipe_file: recipe.file.as_ref().map(|file| file.to_string_lossy().into_owned()),
        recipe_digest: Some(recipe.digest.clone()),
        skip: skip.clone(),
        by: Some(by.to_owned()),
        anchor: steps.anchor.clone(),
        given: override_values::write(&resume.given),
        // only a person's choice is recorded, not the options of automatic resumes
        no_auto_fix: options.no_auto_fix && is_person,
        origin: resume.origin.clone(),
    })];
    first.extend(text_in_force(shown, resume).map(noted));
    let warnings = next.warnings.iter().cloned();
    first.extend(warnings.map(|(path, message)| Event::Noted { path: Some(path), message, next: None }));
    first.extend(undone.clone().map(|message| noted(Advice::new(message))));
    first.extend(super::plan::notes_about_kept(steps, &shown.folder.id()).into_iter().map(noted));
    first
}
