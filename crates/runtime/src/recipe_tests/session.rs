//! Cases that are performed by worker processes of this program. A worker that dies takes no other case with it.

use std::{
    ffi::OsString,
    io,
    path::PathBuf,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use super::{
    CaseError, CaseRun, Network, ScratchFolder,
    case_run::CaseReport,
    search_path,
    worker::{WITH_NETWORK, WorkOrder, WorkReply},
};
use crate::{
    os::{
        clock, files,
        guardian::Guardian,
        line_process::{LineProcess, Received},
        process::{self, Filter},
        stage,
    },
    runs::new_id,
};

/// How long a worker may take to begin.
const BEGINNING: Duration = Duration::from_secs(30);

/// What a session needs to know.
#[derive(Clone, Debug)]
pub struct SessionSetup {
    /// How to start this program as a worker.
    pub worker: Guardian,
    /// The user's search path of programs.
    pub path: OsString,
    /// The folder for temporary files.
    pub temporary: PathBuf,
    /// The path of this program, for steps that need it.
    pub program: Option<PathBuf>,
}

/// A case to perform.
#[derive(Clone, Debug)]
pub struct CaseOrder {
    /// The test file, absolute.
    pub test_file: PathBuf,
    /// The file of the recipe, absolute.
    pub recipe: PathBuf,
    /// Which of the cases of the file.
    pub number: usize,
    /// Seconds of real time that it may take.
    pub timeout: f64,
    /// More folders to search for recipes by name, absolute.
    pub recipe_dirs: Vec<PathBuf>,
}

/// Performs cases. Several threads may use it at the same time.
#[derive(Debug)]
pub struct CaseSession {
    setup: SessionSetup,
    root: PathBuf,
    /// The search path of cases.
    path: String,
    network: Network,
    /// Workers without work.
    idle: Mutex<Vec<LineProcess>>,
    numbers: AtomicU64,
}

impl CaseSession {
    /// Makes the folder for the cases, and starts the first worker.
    pub fn start(setup: SessionSetup) -> io::Result<CaseSession> {
        let root = setup.temporary.join(format!("recipe-test-{}", new_id()));
        files::make_private_dir(&root)?;
        let root = root.canonicalize()?;
        let path = search_path::without_agents(&setup.path, &root.join("links"))?;
        let path = path.into_string().map_err(|_| io::Error::other("PATH is not text"))?;
        let (idle, numbers) = (Mutex::default(), AtomicU64::new(0));
        let mut session = CaseSession { setup, root, path, network: Network::NotIsolated, idle, numbers };
        let (worker, network) = session.begin()?;
        session.network = network;
        session.give_back(worker);
        Ok(session)
    }

    /// Whether the commands of cases can reach the network.
    pub fn network(&self) -> Network {
        self.network
    }

    /// Starts a worker without the network, or else one with it.
    fn begin(&self) -> io::Result<(LineProcess, Network)> {
        self.begin_with(&[]).or_else(|_| self.begin_with(&[WITH_NETWORK.into()]))
    }

    fn begin_with(&self, more: &[OsString]) -> io::Result<(LineProcess, Network)> {
        let Guardian { program, name, args } = &self.setup.worker;
        let args: Vec<OsString> = args.iter().chain(more).cloned().collect();
        let worker = LineProcess::start(program, &name.to_string_lossy(), &args)?;
        match worker.receive(BEGINNING) {
            Received::Line(line) => match serde_json::from_str(&line) {
                Ok(WorkReply::Ready(network)) => Ok((worker, network)),
                _ => Err(io::ErrorKind::InvalidData.into()),
            },
            Received::Ended | Received::Late => Err(io::Error::other("the worker does not begin")),
        }
    }

    fn give_back(&self, worker: LineProcess) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
    }

    /// A worker without work.
    fn worker(&self) -> io::Result<LineProcess> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match idle {
            Some(worker) => Ok(worker),
            None => self.begin().map(|(worker, _)| worker),
        }
    }

    /// Performs a case to its end, with every moment at which its runner is killed.
    pub fn run_case(&self, order: &CaseOrder) -> CaseRun {
        let began = clock::instant();
        let limit = Duration::try_from_secs_f64(order.timeout).unwrap_or(Duration::MAX);
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let scratch = ScratchFolder::at(self.root.join(number.to_string()));
        let mut order = WorkOrder {
            test_file: order.test_file.clone(),
            recipe: order.recipe.clone(),
            number: order.number,
            scratch: scratch.path().to_owned(),
            path: self.path.clone(),
            tag: self.tag(number),
            program: self.setup.program.clone(),
            recipe_dirs: order.recipe_dirs.clone(),
            killed: Vec::new(),
        };
        let report = loop {
            match self.work(&order, limit.saturating_sub(began.elapsed())) {
                Ok(WorkReply::Killed(moment)) => order.killed.push(moment),
                Ok(WorkReply::Done(report)) => break *report,
                Ok(WorkReply::Ready(_)) => {}
                Err(CaseError::TimedOut { .. }) => {
                    let seconds = limit.as_secs_f64().to_string();
                    break CaseReport::broken(CaseError::TimedOut { seconds });
                }
                Err(error) => break CaseReport::broken(error),
            }
        };
        report.into_run(scratch, self.network, began.elapsed().as_secs_f64())
    }

    /// Lets a worker perform one life of a case.
    fn work(&self, order: &WorkOrder, longest: Duration) -> Result<WorkReply, CaseError> {
        let broken = |what: String| CaseError::Broken(what);
        let mut worker = self.worker().map_err(|error| broken(format!("cannot start a worker: {error}")))?;
        let line = serde_json::to_string(order).map_err(|error| broken(error.to_string()))?;
        worker.send(&line);
        let reply = match worker.receive(longest) {
            Received::Line(line) => serde_json::from_str(&line).map_err(|error| broken(error.to_string())),
            Received::Ended => Err(broken("the runner died while it performed the case".to_owned())),
            Received::Late => Err(CaseError::TimedOut { seconds: longest.as_secs_f64().to_string() }),
        };
        match &reply {
            Ok(WorkReply::Done(_)) => self.give_back(worker),
            Ok(WorkReply::Killed(_) | WorkReply::Ready(_)) => drop(worker),
            Err(_) => {
                drop(worker);
                self.end_processes(&order.tag);
            }
        }
        reply
    }

    /// Ends what a case has left running.
    fn end_processes(&self, tag: &str) {
        let filter = Filter::run(stage::every_run(tag));
        // what cannot be ended belongs to another user
        let _ = clock::block_on(process::end_marked(&filter, Duration::from_secs(1)));
    }

    fn tag(&self, number: u64) -> String {
        let name = self.root.file_name().unwrap_or_default().to_string_lossy().into_owned();
        format!("{name}-{number}")
    }
}

impl Drop for CaseSession {
    fn drop(&mut self) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
        files::discard_dir(&self.root.join("links"));
        // folders that are kept stay
        files::discard_empty_dir(&self.root);
    }
}
