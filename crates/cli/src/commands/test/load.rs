//! From a test file to its cases and the plan of its recipe, or to all problems of both.
//!
//! Never runs a case: a file with a problem stops the whole command before the first one.

use std::path::{Path, PathBuf};

use engine::{
    coverage::{Branch, branches},
    expectations::vocabulary,
};
use recipe::{
    check::{Given, check},
    diagnostic::{Code, Diagnostic, Severity, did_you_mean},
    plan::Plan,
    source::{FileId, Sources},
    test_file::{self, TestFile, recipes_of},
    yaml,
};
use runtime::machine::discovery::Library;

use super::find::FoundFile;
use crate::{
    environment::Environment,
    exit::Exit,
    load_recipe,
    out::Out,
    report::{
        diagnostics::{self, Problem},
        failure::Failure,
        hints::plain,
    },
};

/// A test file that can be run.
pub(crate) struct LoadedTests {
    /// The file.
    pub(crate) path: PathBuf,
    /// The file as reports call it.
    pub(crate) shown: String,
    /// Its text.
    pub(crate) sources: Sources,
    /// Its cases.
    pub(crate) file: TestFile,
    /// The path of its recipe.
    pub(crate) recipe: PathBuf,
    /// The directory that the paths in the plan start from.
    pub(crate) cwd: PathBuf,
    /// What its recipe means.
    pub(crate) plan: Plan,
    /// The branches of the recipe and of those that it reaches.
    pub(crate) branches: Vec<Branch>,
}

/// Why a test file cannot be run.
pub(crate) enum Refused {
    /// A file is not there.
    Missing(Failure),
    /// The test file or its recipe has errors.
    Invalid {
        /// The problems.
        diagnostics: Vec<Diagnostic>,
        /// The texts that they are in.
        sources: Sources,
    },
}

impl Refused {
    /// Shows it to people, and returns it for programs.
    pub(crate) fn report(&self, environment: &Environment, out: &mut Out) -> (Exit, Vec<Problem>) {
        match self {
            Refused::Missing(failure) => {
                let help = (!failure.hints.is_empty()).then(|| failure.hints.join("\n"));
                let problem = Problem::outside("unknown-recipe", failure.message.clone(), help);
                (failure.report(out), vec![problem])
            }
            Refused::Invalid { diagnostics, sources } => {
                load_recipe::report_problems(diagnostics, sources, environment, out);
                (Exit::Invalid, diagnostics::problems(diagnostics, sources))
            }
        }
    }
}

/// Reads a test file and checks it beside its recipe.
pub(crate) fn load(found: &FoundFile, library: &Library) -> Result<LoadedTests, Refused> {
    load_for(found, recipe_beside(&found.path, &found.shown), library)
}

/// Reads a test file and checks it beside this recipe.
pub(super) fn load_for(
    found: &FoundFile,
    recipe: Result<PathBuf, Failure>,
    library: &Library,
) -> Result<LoadedTests, Refused> {
    let mut sources = Sources::default();
    let id = read_text(found, &mut sources)?;
    let reading = test_file::read(&sources, id);
    let mut diagnostics = reading.diagnostics;
    let Some(file) = reading.file else { return Err(Refused::Invalid { diagnostics, sources }) };
    let recipe = match recipe {
        Ok(recipe) => recipe,
        Err(missing) if diagnostics.is_empty() => return Err(Refused::Missing(missing)),
        Err(_) => return Err(Refused::Invalid { diagnostics, sources }),
    };
    let plan = match plan_of(&recipe, library) {
        Ok(plan) => plan,
        Err(refused) if diagnostics.is_empty() => return Err(refused),
        Err(_) => return Err(Refused::Invalid { diagnostics, sources }),
    };
    let branches = branches(&plan);
    diagnostics.extend(test_file::check(&file, &plan, &vocabulary()));
    diagnostics.extend(unknown_branches(&file, &branches));
    diagnostics.extend(missing_fixture(&file, &found.path));
    if !diagnostics.is_empty() {
        diagnostics.sort_by_key(|problem| problem.place);
        return Err(Refused::Invalid { diagnostics, sources });
    }
    let (path, shown) = (found.path.clone(), found.shown.clone());
    let cwd = library.absolute("");
    Ok(LoadedTests { path, shown, sources, file, recipe, cwd, plan, branches })
}

/// What the recipe means, or its errors.
fn plan_of(recipe: &Path, library: &Library) -> Result<Plan, Refused> {
    let loaded = load_recipe::find(library, &recipe.to_string_lossy()).map_err(Refused::Missing)?;
    let checked = check(loaded, library, &Given::default());
    checked.plan.ok_or_else(|| {
        let errors = checked.diagnostics.into_iter().filter(|problem| problem.severity == Severity::Error);
        Refused::Invalid { diagnostics: errors.collect(), sources: checked.sources }
    })
}

fn read_text(found: &FoundFile, sources: &mut Sources) -> Result<FileId, Refused> {
    let bytes = runtime::machine::discovery::read_bounded(&found.path).map_err(|error| {
        Refused::Missing(Failure::new(
            Exit::NotFound,
            format!("test file `{}` cannot be read: {error}", found.shown),
        ))
    })?;
    match yaml::decode(&bytes) {
        Ok(text) => Ok(sources.add(found.shown.clone(), text)),
        Err(error) => {
            let mut problem = error.to_diagnostic();
            problem.message = format!("{}: {}", found.shown, problem.message);
            Err(Refused::Invalid { diagnostics: vec![problem], sources: Sources::default() })
        }
    }
}

/// The recipe in the same folder.
fn recipe_beside(path: &Path, shown: &str) -> Result<PathBuf, Failure> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let names = recipes_of(&name);
    let found = names.iter().map(|name| path.with_file_name(name)).find(|file| file.is_file());
    found.ok_or_else(|| {
        let wanted = names.first().cloned().unwrap_or_default();
        Failure::new(Exit::NotFound, format!("recipe `{wanted}` of test file `{shown}` not found"))
            .hint("a test file is in the folder of its recipe: `release.test.yaml` tests `release.yaml`")
    })
}

fn unknown_branches(file: &TestFile, branches: &[Branch]) -> Vec<Diagnostic> {
    let known = || branches.iter().map(|branch| branch.name.name.as_str());
    let unknown = file.coverage.allow.iter().filter(|allowed| !known().any(|name| name == allowed.branch));
    let report = |allowed: &test_file::AllowedBranch| {
        let message = format!("the recipe has no branch `{}`", allowed.branch);
        let problem = Diagnostic::new(Code::UnknownWord, allowed.place, message);
        match did_you_mean(&allowed.branch, known()) {
            Some(meant) => {
                problem.label(format!("did you mean `{meant}`?")).help(format!("did you mean `{meant}`?"))
            }
            None => problem
                .label("no such branch")
                .help(format!("`{}` lists the branches that no case reaches", plain("test --coverage"))),
        }
    };
    unknown.map(report).collect()
}

fn missing_fixture(file: &TestFile, path: &Path) -> Option<Diagnostic> {
    let fixture = file.fixture.as_ref()?;
    let dir = fixture.dir.as_ref()?;
    if path.with_file_name(dir).is_dir() {
        return None;
    }
    let problem = Diagnostic::new(
        Code::BadPattern,
        fixture.place,
        format!("there is no folder `{dir}` beside the test file"),
    );
    Some(problem.label("no such folder").help("write the path relative to the test file"))
}
