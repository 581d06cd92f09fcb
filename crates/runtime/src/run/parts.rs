//! The parts of a driver. Starts nothing.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque},
    path::PathBuf,
    sync::Arc,
};

use engine::RunState;
use recipe::{check::Loader, plan::Plan};
use tokio::{sync::mpsc, task::JoinSet};

use super::{Driver, Reporter, prepared_folder::PreparedFolder};
use crate::{
    agents::AgentSettings,
    machine::host::Host,
    os::process,
    run::audit::Audit,
    store::{
        folder::{Options, RunFolder},
        journal::Journal,
        large::LargeFiles,
        outputs::Outputs,
        secrets::Mask,
        sources::Recording,
    },
};

/// The parts of a driver.
pub struct Parts<'a> {
    /// The run.
    pub run_id: String,
    /// Its folder; without a folder nothing is written.
    pub folder: Option<RunFolder>,
    /// Its journal.
    pub journal: Option<Journal>,
    /// Its plan.
    pub plan: Plan,
    /// Its state.
    pub state: RunState,
    /// Its options.
    pub options: Options,
    /// The machine.
    pub host: Host,
    /// Where it works.
    pub working_dir: PathBuf,
    /// The directory that relative paths of its recipes start from.
    pub base: PathBuf,
    /// Loads recipes whose names become known later.
    pub loader: &'a dyn Loader,
    /// Records what the loader finds.
    pub recording: Option<&'a Recording<'a>>,
    /// The generation of sources that it uses.
    pub generation: u32,
    /// Shows the run.
    pub reporter: &'a mut dyn Reporter,
    /// Its audit logs.
    pub audits: Vec<Audit>,
    /// How agents are started.
    pub agents: AgentSettings,
}

impl<'a> Driver<'a> {
    /// A driver; must be made inside a tokio runtime.
    pub fn new(parts: Parts<'a>) -> Driver<'a> {
        let tree = parts.host.tree(&parts.run_id);
        let mut mask = Mask::default().of_run(&parts.run_id);
        parts.plan.units.iter().for_each(|unit| mask.learn_unit(unit));
        mask.learn_variables(&parts.host.named);
        parts.state.frames.iter().for_each(|frame| mask.learn_frame(frame));
        let base_env = Arc::new(parts.host.step_env(&tree));
        let run_dir = parts.folder.as_ref().map(|folder| folder.path().to_owned()).unwrap_or_default();
        let mut state = parts.state;
        // with few file descriptors a run is slower, but does not fail
        state.settings.max_parallel = state.settings.max_parallel.min(process::room());
        Driver {
            run_id: parts.run_id,
            folder: parts.folder,
            journal: parts.journal,
            plan: parts.plan,
            state,
            options: parts.options,
            base_env,
            host: parts.host,
            working_dir: parts.working_dir,
            base: parts.base,
            loader: parts.loader,
            recording: parts.recording,
            generation: parts.generation,
            reporter: parts.reporter,
            mask,
            audits: parts.audits,
            agents: parts.agents,
            seq: 0,
            tasks: JoinSet::new(),
            gates: BTreeMap::new(),
            progress: mpsc::unbounded_channel(),
            outputs: Outputs::new(),
            contexts: HashMap::new(),
            large: LargeFiles::new(run_dir.join("large")),
            spare: PreparedFolder::new(run_dir),
            closing: HashSet::new(),
            running_agents: HashSet::new(),
            waiting_agents: VecDeque::new(),
            ledger: Arc::default(),
            spent_before: None,
            without_cost: HashSet::new(),
            rate_models: HashMap::new(),
            hooked: HashSet::new(),
            begun: HashSet::new(),
            previews: HashMap::new(),
            carry: HashMap::new(),
            json_steps: HashSet::new(),
            in_vain: HashMap::new(),
            cleared: Vec::new(),
            halt: None,
            unsettled: Vec::new(),
            is_due: false,
            is_first: true,
            told_secrets: 0,
            env_names: BTreeSet::new(),
            unsaid: Vec::new(),
            noted_left_out: false,
        }
    }
}
