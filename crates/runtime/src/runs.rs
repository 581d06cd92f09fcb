//! The way in: starting, resuming, cancelling, listing and showing runs.

mod cancel;
mod compile;
mod fold;
mod hold;
mod home;
mod id;
mod in_force;
mod late;
mod missing;
mod opened;
mod orphans;
mod person;
mod plan;
mod remains;
mod request;
mod resume;
mod stored;

use std::{
    collections::{BTreeMap, HashMap},
    path::PathBuf,
};

use engine::{
    Event, RunSettings, RunState, RunStatus,
    event::{FORMAT, RunStarted},
};
use recipe::{plan::Plan, value::Map};

pub use cancel::Cancelled;
pub use engine::resume_plan::Interrupted;
pub(crate) use hold::{Ending, Hold};
pub(crate) use id::new_id;
pub use in_force::InForce;
pub use opened::{OpenError, Shown};
pub(crate) use orphans::left_behind;
pub use person::changed_note;
pub use request::{MAX_PARALLEL, Request, RequestError, Silent};
pub use resume::{Resume, ResumeError};
pub use stored::{FindError, RunSummary};

use missing::{blocked_start, write_start};

use crate::{
    agent_attempt::AgentSettings,
    audit::Audit,
    clock,
    command_line::Reach,
    drive::{DriveError, Driver, Parts, Preview, Reporter},
    folder::{self, Header, Options, RunFolder, make_dir},
    host::Host,
    journal::Journal,
    process,
    report::{self, RunResult, Subject},
    sources::Recording,
    workspace::{Claim, Owner, Workspace},
};

/// All runs of a user.
#[derive(Clone, Debug)]
pub struct Runs {
    home: PathBuf,
    reach: Reach,
    /// Variables of the environment, which may hold secrets that steps have printed.
    variables: BTreeMap<String, String>,
}

/// What to run, and how.
pub struct Start<'a> {
    /// The checked recipe.
    pub plan: Plan,
    /// Context values from outside.
    pub given: Map,
    /// Options that a resume takes over.
    pub options: Options,
    /// How agents are run.
    pub agents: AgentSettings,
    /// The machine.
    pub host: Host,
    /// Where the recipe works.
    pub working_dir: PathBuf,
    /// What was brought so far; brings recipes whose names become known later, and remembers them too.
    pub recording: &'a Recording<'a>,
    /// Nothing is executed and nothing written.
    pub dry_run: bool,
    /// What other runs of the same recipe in the same directory mean.
    pub others: Others,
}

/// What other runs of the same recipe in the same directory mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Others {
    /// Whether this run may go beside a live one.
    pub beside: Beside,
    /// What becomes of the marks of dead ones.
    pub stale: Stale,
}

/// Whether a run may go beside a live one in the same workspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Beside {
    /// It may not.
    #[default]
    Refused,
    /// A person allows it.
    Allowed,
}

/// What becomes of the marks of dead runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stale {
    /// They are named and stay.
    #[default]
    Named,
    /// They are moved aside.
    Cleared,
}

/// Why a run could not be started, or could not go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The runner itself could not do its work.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// The same with a run that had begun: what it did is kept.
    #[error("{error}")]
    Stopped {
        /// The run.
        run: String,
        /// Its folder.
        dir: PathBuf,
        /// Why it could not go on.
        error: DriveError,
    },
    /// The folder of the run could not be made.
    #[error(transparent)]
    Folder(#[from] folder::FolderError),
    /// The journal could not be made.
    #[error(transparent)]
    Journal(#[from] crate::journal::JournalError),
    /// Another live run has the workspace.
    #[error("recipe `{recipe}` is already running here: run `{}`, process {}", owner.run_id, owner.pid)]
    Busy {
        /// The recipe.
        recipe: String,
        /// Who has it.
        owner: Owner,
        /// Where its state is.
        state: PathBuf,
    },
    /// The event loop of the operating system could not be had.
    #[error("cannot start the event loop: {0}")]
    Loop(std::io::Error),
}

impl Runs {
    /// The runs below a state directory.
    pub fn at(home: PathBuf) -> Runs {
        Runs { home, reach: Reach::default(), variables: BTreeMap::new() }
    }

    /// The same runs, with how a command line reaches them.
    #[must_use]
    pub fn reached(self, reach: Reach) -> Runs {
        Runs { reach, ..self }
    }

    /// The same runs, with the environment in which they are looked at: what a recipe names of it may be secret.
    #[must_use]
    pub fn knowing(self, variables: BTreeMap<String, String>) -> Runs {
        Runs { variables, ..self }
    }

    /// How a command line reaches them.
    pub fn reach(&self) -> &Reach {
        &self.reach
    }

    /// The state directory.
    pub(crate) fn home(&self) -> &std::path::Path {
        &self.home
    }

    /// Where the folders of runs live.
    pub fn dir(&self) -> PathBuf {
        self.home.join("runs")
    }

    /// Runs a recipe to its end, or until it is told to stop.
    pub fn start(&self, start: Start<'_>, reporter: &mut dyn Reporter) -> Result<RunResult, RunError> {
        let (result, hold) = self.start_held(start, reporter)?;
        if let Some(hold) = hold {
            hold.release(result.status);
        }
        Ok(result)
    }

    /// The same, and keeps the run for this process: it may not be over.
    pub(crate) fn start_held(
        &self,
        start: Start<'_>,
        reporter: &mut dyn Reporter,
    ) -> Result<(RunResult, Option<Hold>), RunError> {
        // a dry run needs the recipe's own values, but neither programs nor credentials
        let problems = match start.dry_run {
            true => crate::preflight::context_problems(
                start.plan.root(),
                &missing::first_context(&start),
                &start.working_dir,
            ),
            false => self.problems(&start),
        };
        let name = start.plan.root().name.clone();
        if !problems.is_empty() {
            let blocked = blocked_start(&start, &problems);
            return Ok((RunResult { dry_run: start.dry_run, ..blocked }, None));
        }
        let settings = RunSettings {
            given: start.given.clone(),
            ambient: start.options.ambient.clone(),
            include_tags: start.options.include_tags.clone(),
            exclude_tags: start.options.exclude_tags.clone(),
            max_parallel: start.options.max_parallel,
            dry_run: start.dry_run,
        };
        let state = RunState::new(&start.plan, settings);
        let run_id = self.new_id();
        let mut first = vec![Event::RunStarted(RunStarted {
            format: FORMAT,
            program: env!("CARGO_PKG_VERSION").to_owned(),
            run_id: run_id.clone(),
            recipe: name.clone(),
            pid: std::process::id(),
        })];
        let mut claim = None;
        if !start.dry_run {
            self.make_home()?;
            let workspace = self.workspace(&start.plan.root().path, &start.working_dir);
            claim = self.claim(&workspace, &run_id, &name, start.others, &start.host, &mut first)?;
        }
        // a run that cannot have its audit log leaves nothing behind that looks like a run
        let audit = match &start.options.audit_dir {
            Some(dir) => {
                let made = Audit::create(dir, &name, &run_id, clock::now());
                if let (Err(_), Some(claim)) = (&made, &claim) {
                    claim.clear();
                }
                Some(made?)
            }
            None => None,
        };
        let mut made = None;
        if !start.dry_run {
            made = Some(self.make(&run_id, &start)?);
        }
        let tracking = run_id.clone();
        let recipe = canonical_recipe(&start.plan.root().path);
        let (folder, journal, lock) = match made {
            Some((folder, journal, lock)) => (Some(folder), Some(journal), Some(lock)),
            None => (None, None, None),
        };
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
            audit,
            agents: start.agents,
            reach: self.reach.clone(),
            recipe,
        };
        let hold = lock.map(|lock| Hold::new(lock).with(claim));
        Ok((job.run(first, reporter)?, hold))
    }

    /// The workspace of a recipe in a directory.
    pub(crate) fn workspace(&self, recipe: &str, working_dir: &std::path::Path) -> Workspace {
        Workspace::new(&self.home, std::path::Path::new(recipe), working_dir)
    }

    /// Takes the workspace, and tells about dead runs in it.
    pub(crate) fn claim(
        &self,
        workspace: &Workspace,
        run_id: &str,
        recipe: &str,
        others: Others,
        host: &Host,
        first: &mut Vec<Event>,
    ) -> Result<Option<Claim>, RunError> {
        let claim = match workspace.claim(run_id)? {
            Ok(claim) => Some(claim),
            // a run inside of itself is held back by the session depth, not by its own lock
            Err(owner)
                if others.beside == Beside::Allowed
                    || host.var(process::RUN_VARIABLE).as_deref() == Some(&owner.run_id) =>
            {
                None
            }
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
        first.extend(stale.iter().map(|run| {
            let state = self.dir().join(run).display().to_string();
            let message = match others.stale {
                Stale::Cleared => format!(
                    "the mark of run {run}, whose process is gone, was moved aside to {}; the run itself is kept in {state}",
                    Workspace::quarantine(&self.home).display()
                ),
                Stale::Named => self.name_dead(run),
            };
            Event::Noted { path: None, message }
        }));
        Ok(claim)
    }

    /// Removes what is left of runs that died before they were complete: nobody can go on with them. Only for who has
    /// the workspace, so that none of them can be one that is just being made.
    fn sweep_unborn(&self, workspace: &Workspace, run_id: &str) {
        for run in workspace.stale(run_id).iter().filter(|run| !self.dir().join(run).exists()) {
            let _ = std::fs::remove_dir_all(self.dir().join(format!(".{run}")));
            workspace.forget(run);
        }
    }

    fn make(&self, run_id: &str, start: &Start<'_>) -> Result<(RunFolder, Journal, std::fs::File), RunError> {
        make_dir(&self.dir())?;
        let root = start.plan.root();
        let header = Header {
            format: folder::FORMAT,
            run_id: run_id.to_owned(),
            tracking_id: run_id.to_owned(),
            recipe_name: root.name.clone(),
            recipe_path: root.path.clone(),
            recipe_file: std::fs::canonicalize(&root.path).ok(),
            recipe_digest: root.digest.clone(),
            working_dir: start.working_dir.clone(),
            created_at: clock::now(),
            boot_id: process::boot_id(),
            given: engine::given::write(&start.given),
            options: start.options.clone(),
        };
        // made under a hidden name: a run that can be seen has all that a resume needs
        let mut files = folder::Batch::default();
        let folder = RunFolder::create(self.dir().join(format!(".{run_id}")), &header, &mut files)?;
        write_start(start, &folder, &mut files)?;
        files.sync()?;
        let lock = folder.lock()?.ok_or_else(|| folder::FolderError {
            action: "lock",
            path: folder.path().to_owned(),
            source: std::io::ErrorKind::WouldBlock.into(),
        })?;
        let hidden = Journal::create(&folder.journal())?;
        let folder = folder.publish(self.dir().join(run_id))?;
        let journal = hidden.at(folder.journal());
        Ok((folder, journal, lock))
    }
}

/// A run that is ready to go.
pub(crate) struct Job<'a> {
    pub(crate) run_id: String,
    pub(crate) tracking_id: String,
    pub(crate) folder: Option<RunFolder>,
    pub(crate) journal: Option<Journal>,
    pub(crate) plan: Plan,
    pub(crate) state: RunState,
    pub(crate) options: Options,
    pub(crate) host: Host,
    pub(crate) working_dir: PathBuf,
    pub(crate) base: PathBuf,
    pub(crate) recording: &'a Recording<'a>,
    pub(crate) generation: u32,
    pub(crate) audit: Option<Audit>,
    pub(crate) agents: AgentSettings,
    pub(crate) reach: Reach,
    /// Its recipe, as it is named from any directory.
    pub(crate) recipe: String,
}

impl Job<'_> {
    /// Drives the run and makes its result.
    pub(crate) fn run(self, first: Vec<Event>, reporter: &mut dyn Reporter) -> Result<RunResult, RunError> {
        let known = Known {
            run_id: self.run_id.clone(),
            tracking_id: self.tracking_id.clone(),
            reach: self.reach.clone(),
            recipe: self.recipe,
        };
        let run_dir = self.folder.as_ref().map(|folder| folder.path().to_owned());
        let work = async move {
            let mut driver = Driver::new(Parts {
                run_id: self.run_id,
                folder: self.folder,
                journal: self.journal,
                plan: self.plan,
                state: self.state,
                options: self.options,
                host: self.host,
                working_dir: self.working_dir,
                base: self.base,
                loader: self.recording,
                recording: Some(self.recording),
                generation: self.generation,
                reporter,
                audit: self.audit,
                agents: self.agents,
            });
            driver.run(first).await?;
            Ok::<_, DriveError>(driver.into_parts())
        };
        let (plan, state, mask, previews) =
            clock::block_on(work).map_err(RunError::Loop)?.map_err(|error| match &run_dir {
                Some(dir) => RunError::Stopped { run: known.run_id.clone(), dir: dir.clone(), error },
                None => RunError::Drive(error),
            })?;
        Ok(finished_result(&known, &plan, &state, &mask, &previews, run_dir))
    }
}

/// What a run is known by.
struct Known {
    run_id: String,
    tracking_id: String,
    reach: Reach,
    recipe: String,
}

fn finished_result(
    known: &Known,
    plan: &Plan,
    state: &RunState,
    mask: &crate::mask::Mask,
    previews: &HashMap<String, Preview>,
    run_dir: Option<PathBuf>,
) -> RunResult {
    let output = match (&run_dir, state.finished.as_ref().and_then(|finished| finished.output.as_ref())) {
        (Some(dir), Some(stored)) => crate::values::load(dir, stored).ok(),
        _ => None,
    };
    let has_folder = run_dir.is_some();
    report::result(&Subject {
        run_id: has_folder.then_some(known.run_id.as_str()),
        tracking_id: has_folder.then_some(known.tracking_id.as_str()),
        state,
        mask,
        status: state.finished.as_ref().map_or(RunStatus::Interrupted, |finished| finished.status),
        now: clock::now(),
        previews,
        run_dir: run_dir.map(|dir| dir.to_string_lossy().into_owned()),
        output,
        plan,
        reach: &known.reach,
        recipe: known.recipe.clone(),
    })
}

/// The path of a recipe that works from any directory.
pub(crate) fn canonical_recipe(path: &str) -> String {
    match std::fs::canonicalize(path) {
        Ok(file) => file.to_string_lossy().into_owned(),
        Err(_) => path.trim_start_matches("built-in:").to_owned(),
    }
}
