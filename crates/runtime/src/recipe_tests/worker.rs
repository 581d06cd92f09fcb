//! The worker side of a session: a process of this program that performs the cases that it is told to, one at a time.

use std::{
    collections::HashMap,
    ffi::OsString,
    io::{self, BufRead as _, Write as _},
    path::{Path, PathBuf},
};

use recipe::{
    source::Sources,
    test_file::{self, TestFile},
};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{
    CaseError, CaseJob, Network,
    case_run::CaseReport,
    perform::{Life, live},
};
use crate::{
    os::{line_process::kill_self, network},
    report::RunResult,
    requests::RequestError,
};

/// What a worker needs from the program that it is part of.
#[derive(Clone, Copy)]
pub struct CaseFace {
    /// The result of a run as it is printed.
    pub result: fn(&RunResult) -> Json,
    /// The exit code and the message of a request that was refused.
    pub failure: fn(&RequestError) -> (u8, String),
    /// Recipes that are part of the program: name and text.
    pub built_in: fn() -> Vec<(&'static str, &'static str)>,
}

/// An order for a worker.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct WorkOrder {
    pub(super) test_file: PathBuf,
    pub(super) recipe: PathBuf,
    pub(super) number: usize,
    pub(super) scratch: PathBuf,
    /// The search path; text is enough, because other folders cannot be named in a shell either.
    pub(super) path: String,
    pub(super) tag: String,
    pub(super) program: Option<PathBuf>,
    pub(super) recipe_dirs: Vec<PathBuf>,
    /// The moments at which the runner was killed.
    pub(super) killed: Vec<usize>,
}

/// What a worker says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum WorkReply {
    /// It is ready.
    Ready(Network),
    /// It kills itself now, at the moment with this number.
    Killed(usize),
    /// The case is performed.
    Done(Box<CaseReport>),
}

/// The argument of a worker that keeps the network, because leaving it did not work.
pub(super) const WITH_NETWORK: &str = "with-network";

/// Performs cases until its input ends. Must be called while this process has one thread. `more` are its own arguments.
pub fn serve(face: &CaseFace, more: &[OsString]) -> io::Result<()> {
    let network = match more.iter().any(|word| word == WITH_NETWORK) {
        true => Network::NotIsolated,
        // a process that left the network in part cannot go on: another one takes its place
        false => network::leave().map(|()| Network::Isolated)?,
    };
    say(&WorkReply::Ready(network))?;
    let mut files: HashMap<PathBuf, Result<TestFile, String>> = HashMap::new();
    for line in io::stdin().lock().lines() {
        let Ok(order) = serde_json::from_str::<WorkOrder>(&line?) else { continue };
        let file = files.entry(order.test_file.clone()).or_insert_with(|| read(&order.test_file));
        let mut strike = |number: usize| {
            // a worker that cannot say so looks as if it had died by itself
            if say(&WorkReply::Killed(number)).is_ok() {
                kill_self();
            }
        };
        let report = match job(&order, file, face) {
            Ok(job) => live(&job, &Life { killed: order.killed }, face, &mut strike),
            Err(why) => CaseReport::broken(CaseError::Broken(why)),
        };
        say(&WorkReply::Done(Box::new(report)))?;
    }
    Ok(())
}

/// Reads a test file. Its problems were reported before the session began.
fn read(file: &Path) -> Result<TestFile, String> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| format!("cannot read `{}`: {error}", file.display()))?;
    let mut sources = Sources::default();
    let number = sources.add(file.to_string_lossy(), text);
    test_file::read(&sources, number).file.ok_or_else(|| "the test file has changed".to_owned())
}

/// The case of an order.
fn job(order: &WorkOrder, file: &Result<TestFile, String>, face: &CaseFace) -> Result<CaseJob, String> {
    let file = file.as_ref().map_err(Clone::clone)?;
    let case = file.cases.get(order.number).ok_or("the test file has changed")?;
    let dir = file.fixture.as_ref().and_then(|fixture| fixture.dir.as_ref());
    let beside = order.test_file.parent().unwrap_or(Path::new("/"));
    Ok(CaseJob {
        recipe: order.recipe.clone(),
        fixture: dir.map(|dir| beside.join(dir)),
        git: file.fixture.as_ref().is_some_and(|fixture| fixture.git),
        case: case.clone(),
        scratch: order.scratch.clone(),
        path: order.path.clone().into(),
        tag: order.tag.clone(),
        built_in: (face.built_in)(),
        program: order.program.clone(),
        recipe_dirs: order.recipe_dirs.clone(),
    })
}

fn say(reply: &WorkReply) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", serde_json::to_string(reply)?)?;
    out.flush()
}
