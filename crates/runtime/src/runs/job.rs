//! A prepared run: drives it, and makes its result. Never decides what runs.

use std::path::PathBuf;

use engine::{Event, RunState, RunStatus, knowledge::Knowledge, run::origin::Origin};
use recipe::plan::Plan;

use super::RunError;
use crate::{
    agents::AgentSettings,
    machine::host::Host,
    os::clock,
    report::{self, RunResult, Subject},
    run::{DriveError, DrivenRun, Driver, Parts, Reporter, RunSpec, audit::Audit},
    steps::performer::Performer,
    store::{
        folder::{Options, RunFolder},
        journal::Journal,
        sources::Recording,
    },
};

/// A prepared run.
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
    pub(crate) audits: Vec<Audit>,
    pub(crate) agents: AgentSettings,
    pub(crate) knowledge: Knowledge,
    pub(crate) performer: Performer,
    /// The name of its recipe, valid in any directory.
    pub(crate) recipe: String,
    /// Where the request for it came from.
    pub(crate) origin: Option<Origin>,
}

impl Job<'_> {
    /// Drives the run and makes its result.
    pub(crate) fn run(
        mut self,
        first: Vec<Event>,
        reporter: &mut dyn Reporter,
    ) -> Result<RunResult, RunError> {
        let known = RunIdentity {
            run_id: self.run_id.clone(),
            tracking_id: self.tracking_id.clone(),
            knowledge: self.knowledge.clone(),
            recipe: self.recipe,
            origin: self.origin,
        };
        let run_dir = self.folder.as_ref().map(|folder| folder.path().to_owned());
        if let Some(dir) = run_dir.as_ref().filter(|_| self.options.compat) {
            self.host.add_shims(&dir.join("bin"))?;
        }
        let work = async move {
            let spec = RunSpec {
                run_id: self.run_id,
                options: self.options,
                host: self.host,
                working_dir: self.working_dir,
                base: self.base,
                loader: self.recording,
                recording: Some(self.recording),
                generation: self.generation,
                agents: self.agents,
                knowledge: self.knowledge,
                performer: self.performer,
            };
            let mut driver = Driver::new(Parts {
                spec,
                folder: self.folder,
                journal: self.journal,
                plan: self.plan,
                state: self.state,
                reporter,
                audits: self.audits,
            });
            driver.run(first).await?;
            Ok::<_, DriveError>(DrivenRun::from(driver))
        };
        let driven = clock::block_on(work).map_err(RunError::Loop)?.map_err(|error| match &run_dir {
            Some(dir) => RunError::Stopped { run: known.run_id.clone(), dir: dir.clone(), error },
            None => RunError::Drive(error),
        })?;
        Ok(finished_result(&known, &driven, run_dir))
    }
}

/// What identifies a run.
struct RunIdentity {
    run_id: String,
    tracking_id: String,
    knowledge: Knowledge,
    recipe: String,
    origin: Option<Origin>,
}

fn finished_result(known: &RunIdentity, driven: &DrivenRun, run_dir: Option<PathBuf>) -> RunResult {
    let DrivenRun { plan, state, mask, previews } = driven;
    let output = match (&run_dir, state.finished.as_ref().and_then(|finished| finished.output.as_ref())) {
        (Some(dir), Some(stored)) => crate::store::values::load(dir, stored).ok(),
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
        knowledge: &known.knowledge,
        recipe: known.recipe.clone(),
        origin: known.origin.as_ref(),
    })
}
