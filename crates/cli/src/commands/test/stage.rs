//! Performs one case through the runtime, and turns what came of it into facts.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use engine::{
    Event,
    coverage::{BranchName, covered},
    expectations::CaseFacts,
};
use recipe::{plan::Unit, source::Place, test_file::TestCase};
use runtime::recipe_tests::{CaseError, CaseOrder, CaseRun, CaseSession, Network, SessionSetup};

use super::{facts, load::LoadedTests, outcome::CaseFailure};
use crate::{case_worker, environment::Environment, exit::Exit, report::failure::Failure};

/// Performs cases.
pub(super) struct Stage {
    session: CaseSession,
}

/// What came of a performance.
pub(super) struct Performed {
    pub(super) facts: Option<CaseFacts>,
    pub(super) errors: Vec<CaseFailure>,
    pub(super) covered: Vec<BranchName>,
    /// Whether an error of the case keeps its result from meaning anything.
    pub(super) breaks: bool,
    pub(super) run: CaseRun,
}

impl Stage {
    /// Makes room for cases.
    pub(super) fn open(environment: &Environment) -> Result<Stage, Failure> {
        let setup = SessionSetup {
            worker: case_worker::command(),
            path: environment.machine.variables.get("PATH").unwrap_or_default().into(),
            temporary: environment
                .get("TMPDIR")
                .map_or_else(|| PathBuf::from("/tmp"), |dir| environment.absolute(Path::new(dir))),
            program: environment.machine.program.clone(),
        };
        let session = CaseSession::start(setup)
            .map_err(|error| Failure::new(Exit::Broken, format!("cases cannot be performed: {error}")))?;
        Ok(Stage { session })
    }

    /// Whether the commands of cases cannot reach the network.
    pub(super) fn is_isolated(&self) -> bool {
        self.session.network() == Network::Isolated
    }

    /// Performs a case once.
    pub(super) fn perform(&self, file: &LoadedTests, number: usize, recipe_dirs: &[PathBuf]) -> Performed {
        let case = &file.file.cases[number];
        let order = CaseOrder {
            test_file: file.path.clone(),
            recipe: file.recipe.clone(),
            recipe_dirs: recipe_dirs.to_vec(),
            number,
            timeout: case.timeout,
        };
        let run = self.session.run_case(&order);
        let wrong = |error: &CaseError| CaseFailure::Wrong {
            message: error.to_string(),
            place: Some(place_of(error, case).unwrap_or(case.place)),
        };
        Performed {
            facts: facts::facts(&run, &case.expect),
            errors: run.errors.iter().map(wrong).collect(),
            covered: reached(file, &run),
            breaks: run.errors.iter().any(is_breaking),
            run,
        }
    }
}

/// The branches that a run took. In a scratch folder the files of recipes have absolute paths.
fn reached(file: &LoadedTests, run: &CaseRun) -> Vec<BranchName> {
    let absolute = |unit: &Arc<Unit>| (file.cwd.join(&unit.path).canonicalize().ok(), unit.path.clone());
    let names: HashMap<Option<PathBuf>, String> = file.plan.units.iter().map(absolute).collect();
    let named = |event: &Event| match event {
        Event::RecipeEntered { path, unit } => {
            let known = names.get(&Some(PathBuf::from(unit))).cloned();
            Event::RecipeEntered { path: path.clone(), unit: known.unwrap_or_else(|| unit.clone()) }
        }
        other => other.clone(),
    };
    let events: Vec<Event> = run.events.iter().map(|record| named(&record.event)).collect();
    covered(&file.plan, &events).into_iter().collect()
}

/// Whether a run with this error is not the run that the case describes, so that its result says nothing.
fn is_breaking(error: &CaseError) -> bool {
    !matches!(error, CaseError::Unused { .. } | CaseError::NotKilled { .. } | CaseError::UnknownCall { .. })
}

/// The place in the test file that an error is about.
fn place_of(error: &CaseError, case: &TestCase) -> Option<Place> {
    let of_key =
        |key: &str| case.stubs.iter().find(|stub| stub.key.to_string() == key).map(|stub| stub.place);
    match error {
        CaseError::Unused { key, number } => {
            case.stubs.get(*number).map(|stub| stub.place).or_else(|| of_key(key))
        }
        CaseError::Unfit { key, .. } | CaseError::UsedUp { key, .. } => of_key(key),
        CaseError::Tie { second, .. } => of_key(second),
        CaseError::NotKilled { number, .. } => case.kill.get(*number).map(|kill| kill.place),
        _ => None,
    }
}
