//! Test cases of recipes: what stubs, faults and the test clock do to a real run.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot set up its world has failed")]

mod faults;
mod stubs;
mod world;

use recipe::{
    source::Sources,
    test_file::{self, TestFile},
};
use runtime::{
    recipe_tests::{CaseEnd, CaseFace, CaseJob, CaseRun, perform},
    report::RunResult,
    requests::RequestError,
};
use serde_json::Value as Json;

pub(crate) fn result(result: &RunResult) -> Json {
    serde_json::to_value(result).unwrap()
}

pub(crate) fn failure(error: &RequestError) -> (u8, String) {
    (9, error.to_string())
}

/// A folder with a recipe, its sub-recipes and a test file.
pub(crate) struct Place {
    pub(crate) dir: tempfile::TempDir,
    file: TestFile,
}

impl Place {
    /// `files` are recipes beside `r.yaml`.
    pub(crate) fn new(recipe: &str, cases: &str, files: &[(&str, &str)]) -> Place {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in [("r.yaml", recipe)].iter().chain(files) {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let mut sources = Sources::default();
        let number = sources.add("r.test.yaml", cases);
        let read = test_file::read(&sources, number);
        let problems: Vec<&String> = read.diagnostics.iter().map(|problem| &problem.message).collect();
        let file = read.file.unwrap_or_else(|| panic!("{problems:?}\n{cases}"));
        Place { dir, file }
    }

    pub(crate) fn job(&self, number: usize) -> CaseJob {
        let root = self.dir.path().canonicalize().unwrap();
        let fixture = self.file.fixture.as_ref();
        CaseJob {
            recipe: root.join("r.yaml"),
            fixture: fixture.and_then(|fixture| Some(root.join(fixture.dir.as_ref()?))),
            git: fixture.is_some_and(|fixture| fixture.git),
            case: self.file.cases[number].clone(),
            scratch: tempfile::Builder::new()
                .prefix("scratch")
                .tempdir()
                .unwrap()
                .keep()
                .canonicalize()
                .unwrap(),
            path: std::env::var_os("PATH").unwrap(),
            tag: format!("{}-{number}", root.display()),
            built_in: Vec::new(),
            program: None,
            recipe_dirs: Vec::new(),
        }
    }

    pub(crate) fn run(&self, number: usize) -> CaseRun {
        let face = CaseFace { result, failure, built_in: Vec::new };
        perform(&self.job(number), &face, &mut |_| {})
    }
}

/// Performs one case of a recipe without sub-recipes.
pub(crate) fn run(recipe: &str, case: &str) -> CaseRun {
    let cases = format!("cases:\n- name: one\n{case}");
    Place::new(recipe, &cases, &[]).run(0)
}

pub(crate) fn ended(run: &CaseRun) -> &Json {
    match &run.ended {
        Some(CaseEnd::Result(result)) => result,
        other => panic!("{other:?} {:?}", run.errors),
    }
}

pub(crate) fn step<'a>(run: &'a CaseRun, id: &str) -> &'a Json {
    let steps = ended(run)["step_results"].as_array().unwrap();
    steps.iter().find(|step| step["step_id"] == id).unwrap_or_else(|| panic!("no {id} in {steps:#?}"))
}
