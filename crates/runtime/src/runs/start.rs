//! Starting a run: checks what is missing and which other runs are active, and makes the run folder. Never drives the
//! run.

use std::path::{Path, PathBuf};

use engine::{
    Event, RunSettings, RunState,
    run::{
        event::{FORMAT, PerformerKind, RunStarted},
        next::Advice,
        origin::Origin,
    },
};
use recipe::{plan::Plan, value::Map};

use super::{
    Job, ORCHESTRATOR, OwnedRun, RunError, Runs, canonical_recipe,
    missing::{self, blocked_start, write_start},
    owned_run::noted,
    session::{RunSession, note_refusal},
};
use crate::{
    agents::AgentSettings,
    machine::{
        host::Host,
        preflight::{Need, Problem, context_problems},
        task_needs,
    },
    os::{clock, files, held_lock::HeldLock, process},
    report::RunResult,
    run::{Notice, Reporter, audit::Audit},
    steps::performer::Performer,
    store::{
        folder::{self, Beside, Header, Options, RunFolder, StoredRequest, make_dir},
        journal::Journal,
        sources::Recording,
        workspace::{Claim, Workspace},
    },
};

/// What to run, and how.
pub(crate) struct Start<'a> {
    /// The checked recipe.
    pub plan: Plan,
    /// Given context values.
    pub given: Map,
    /// Options that a resume keeps.
    pub options: Options,
    /// How agents are started.
    pub agents: AgentSettings,
    /// The machine.
    pub host: Host,
    /// The working directory.
    pub working_dir: PathBuf,
    /// The sources so far; also loads and records recipes whose names become known later.
    pub recording: &'a Recording<'a>,
    /// Whether this is a dry run, which executes and writes nothing.
    pub dry_run: bool,
    /// How to treat other runs of the same recipe in the same directory.
    pub others: ConcurrencyPolicy,
    /// The request, as it is stored with the run.
    pub request: Option<StoredRequest>,
    /// Where the request came from.
    pub origin: Option<Origin>,
}

/// How to treat other runs of the same recipe in the same directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ConcurrencyPolicy {
    /// Whether this run may start next to a live one.
    pub beside: Beside,
    /// What happens to the markers of dead ones.
    pub stale: Stale,
}

/// What happens to the markers of dead runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stale {
    /// They are reported and kept.
    #[default]
    Named,
    /// They are moved aside.
    Cleared,
}

/// What a new run holds before it has a folder.
#[derive(Default)]
struct TakenPlace {
    claim: Option<Claim>,
    session: Option<RunSession>,
}

/// A workspace that a run may work in.
pub(crate) struct ClaimedWorkspace {
    /// The claim; absent if the run works next to the owner of the workspace.
    pub claim: Option<Claim>,
    /// Notes about dead runs in it.
    pub notes: Vec<Event>,
}

impl Runs {
    /// Runs a recipe to its end, or until a stop is requested.
    pub(crate) fn start(&self, start: Start<'_>, reporter: &mut dyn Reporter) -> Result<RunResult, RunError> {
        let (result, hold) = self.start_held(start, reporter)?;
        if let Some(hold) = hold {
            hold.release(result.status);
        }
        Ok(result)
    }

    /// The same, and keeps owning the run: it may not be over.
    pub(crate) fn start_held(
        &self,
        mut start: Start<'_>,
        reporter: &mut dyn Reporter,
    ) -> Result<(RunResult, Option<OwnedRun>), RunError> {
        let problems = self.start_problems(&start);
        if !problems.is_empty() {
            let refused = problems.iter().filter(|problem| problem.need == Need::Depth);
            refused.for_each(|problem| note_refusal(&start.host, &problem.text));
            return Ok((blocked_start(&start, &problems), None));
        }
        let state = RunState::new(&start.plan, settings(&start));
        let run_id = self.new_id();
        let mut first = vec![run_started(&start, &run_id, &self.performer)];
        let TakenPlace { claim, session } = match self.take_place(&run_id, &mut start, &mut first)? {
            Ok(place) => place,
            Err(problem) => return Ok((blocked_start(&start, &[problem]), None)),
        };
        // if this fails, nothing that looks like a run stays
        let audit = create_audit(&start.options, &start.plan.root().name, &run_id)
            .inspect_err(|_| claim.iter().for_each(Claim::clear))?;
        let made = (!start.dry_run).then(|| self.make(&run_id, &start)).transpose()?;
        let tracking = start.host.tracking_id().unwrap_or_else(|| run_id.clone());
        let recipe = canonical_recipe(&start.plan.root().path);
        let (folder, journal, lock) = match made {
            Some((folder, journal, lock)) => (Some(folder), Some(journal), Some(lock)),
            None => (None, None, None),
        };
        let log = folder.as_ref().map(|folder| open_log(folder, &start.options)).transpose()?.flatten();
        if let Some(log) = &log {
            reporter.notice(Notice::Log { path: log.path() });
        }
        let job = Job {
            run_id,
            tracking_id: tracking,
            folder,
            journal,
            plan: start.plan,
            state,
            options: start.options,
            host: start.host,
            working_dir: start.working_dir,
            base: PathBuf::new(),
            recording: start.recording,
            generation: 0,
            audits: audit.into_iter().chain(log).collect(),
            agents: start.agents,
            knowledge: self.knowledge.clone(),
            performer: self.performer.clone(),
            recipe,
            origin: start.origin,
        };
        let hold = lock.map(|lock| OwnedRun::new(lock).with(claim).in_session(session));
        Ok((job.run(first, reporter)?, hold))
    }

    /// Enters a new run into its tree of sessions and claims its workspace; a dry run needs neither.
    fn take_place(
        &self,
        run_id: &str,
        start: &mut Start<'_>,
        first: &mut Vec<Event>,
    ) -> Result<Result<TakenPlace, Problem>, RunError> {
        // a test case has its state for itself
        if start.dry_run || self.performer.stubs().is_some() {
            return Ok(Ok(TakenPlace::default()));
        }
        self.make_home()?;
        let mut session = match self.enter_session(run_id, &mut start.host) {
            Ok(session) => session,
            Err(problem) => return Ok(Err(problem)),
        };
        let workspace = self.workspace(&start.plan.root().path, &start.working_dir, &start.given);
        let recipe = &start.plan.root().name;
        let claimed = self.claim(&workspace, run_id, recipe, start.others, &start.host)?;
        first.extend(session.take_note().into_iter().chain(claimed.notes));
        Ok(Ok(TakenPlace { claim: claimed.claim, session: Some(session) }))
    }

    /// The workspace of a recipe in a directory; each task of the orchestrator has its own.
    pub(crate) fn workspace(&self, recipe: &str, working_dir: &Path, given: &Map) -> Workspace {
        let text = |name: &str| given.get(name).map(|value| value.render().into_owned());
        match text("task_description").filter(|_| recipe == ORCHESTRATOR) {
            Some(task) => {
                let dir = working_dir.join(text("repo_path").unwrap_or_default());
                Workspace::of_task(&self.home, &task_needs::repository_of(&dir), &task)
            }
            None => Workspace::new(&self.home, Path::new(recipe), working_dir),
        }
    }

    /// What is missing for a run. A dry run needs the recipe's own values, but neither programs nor credentials.
    fn start_problems(&self, start: &Start<'_>) -> Vec<Problem> {
        match start.dry_run {
            true => {
                let context = missing::first_context(start);
                context_problems(start.plan.root(), &context, &start.working_dir)
            }
            false => self.problems(start),
        }
    }

    /// Claims the workspace, and reports dead runs in it.
    pub(crate) fn claim(
        &self,
        workspace: &Workspace,
        run_id: &str,
        recipe: &str,
        others: ConcurrencyPolicy,
        host: &Host,
    ) -> Result<ClaimedWorkspace, RunError> {
        let claim = match workspace.claim(run_id)? {
            Ok(claim) => Some(claim),
            // a run inside the owner belongs to it: the session depth limits it, not the lock
            Err(_) if others.beside == Beside::Allowed => None,
            Err(owner) if host.is_inside(&owner.run_id) && !workspace.is_of_task => None,
            Err(owner) => {
                let state = self.dir().join(&owner.run_id);
                return Err(RunError::Busy { recipe: recipe.to_owned(), owner, state });
            }
        };
        if claim.is_some() {
            self.sweep_unborn(workspace, run_id);
        }
        let stale: Vec<String> = workspace
            .stale(run_id)
            .into_iter()
            .filter(|run| RunFolder::at(self.dir().join(run)).owner().is_none())
            .collect();
        if others.stale == Stale::Cleared && !stale.is_empty() {
            workspace.clear_stale(&stale)?;
        }
        let notes = stale.iter().map(|run| {
            let state = self.dir().join(run).display().to_string();
            noted(match others.stale {
                Stale::Cleared => Advice::new(format!(
                    "cleared the stale lock of run {run}, whose process has ended: it is now {}; the run itself is kept in {state}",
                    Workspace::quarantine(&self.home).display()
                )),
                Stale::Named => self.name_dead(run),
            })
        });
        Ok(ClaimedWorkspace { notes: notes.collect(), claim })
    }

    /// Removes the remains of runs that died before they were complete: they cannot be resumed. The caller must hold
    /// the workspace, so that none of them is just being made.
    fn sweep_unborn(&self, workspace: &Workspace, run_id: &str) {
        for run in workspace.stale(run_id).iter().filter(|run| !self.dir().join(run).exists()) {
            files::discard_dir(&self.dir().join(format!(".{run}")));
            workspace.forget(run);
        }
    }

    fn make(&self, run_id: &str, start: &Start<'_>) -> Result<(RunFolder, Journal, HeldLock), RunError> {
        make_dir(&self.dir())?;
        let root = start.plan.root();
        let header = Header {
            format: folder::FORMAT,
            run_id: run_id.to_owned(),
            tracking_id: start.host.tracking_id().unwrap_or_else(|| run_id.to_owned()),
            recipe_name: root.name.clone(),
            recipe_path: root.path.clone(),
            recipe_file: std::fs::canonicalize(&root.path).ok(),
            recipe_digest: root.digest.clone(),
            working_dir: start.working_dir.clone(),
            created_at: clock::now(),
            boot_id: process::boot_id(),
            given: engine::run::override_values::write(&start.given),
            options: start.options.clone(),
            request: start.request.clone(),
            origin: start.origin.clone(),
        };
        // made under a hidden name: every visible run has all that a resume needs
        let mut files = folder::Batch::default();
        let folder = RunFolder::create(self.dir().join(format!(".{run_id}")), &header, &mut files)?;
        write_start(start, &folder, &mut files)?;
        if start.options.compat {
            files.write(folder.log(), b"")?;
        }
        files.sync()?;
        let lock = folder.lock()?.ok_or_else(|| folder::FolderError {
            action: "lock",
            path: folder.path().to_owned(),
            source: std::io::ErrorKind::WouldBlock.into(),
        })?;
        let hidden = Journal::create(&folder.journal())?;
        let (folder, names) = folder.publish(&self.dir(), run_id)?;
        let journal = hidden.published(folder.journal(), names);
        Ok((folder, journal, lock))
    }
}

/// The audit log of a run, if its options ask for one.
pub(super) fn open_log(folder: &RunFolder, options: &Options) -> Result<Option<Audit>, RunError> {
    Ok(options.compat.then(|| Audit::open(folder.log())).transpose()?)
}

/// The first event of a run.
fn run_started(start: &Start<'_>, run_id: &str, performer: &Performer) -> Event {
    Event::RunStarted(RunStarted {
        format: FORMAT,
        program: env!("CARGO_PKG_VERSION").to_owned(),
        run_id: run_id.to_owned(),
        recipe: start.plan.root().name.clone(),
        pid: std::process::id(),
        origin: start.origin.clone(),
        performer: match performer {
            Performer::Process => PerformerKind::Process,
            Performer::Stub(_) => PerformerKind::Stub,
        },
    })
}

/// The settings of the engine; the driver adds the limits of this machine.
fn settings(start: &Start<'_>) -> RunSettings {
    RunSettings {
        given: start.given.clone(),
        ambient: start.options.ambient.clone(),
        include_tags: start.options.tags.include_tags.clone(),
        exclude_tags: start.options.tags.exclude_tags.clone(),
        max_parallel: start.options.max_parallel,
        dry_run: start.dry_run,
        ..RunSettings::default()
    }
}

/// Creates the audit log, if the options ask for one.
pub(super) fn create_audit(options: &Options, recipe: &str, run_id: &str) -> Result<Option<Audit>, RunError> {
    let create = |dir| Audit::create(dir, recipe, run_id, clock::now());
    Ok(options.audit_dir.as_deref().map(create).transpose()?)
}
