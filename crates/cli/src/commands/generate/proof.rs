//! The proof of a recipe before it is called ready: validation, lint, a dry run, and its own tests with every branch.
//!
//! Works on copies in a scratch folder; nothing of the project changes. What it says is the same on every machine.

use std::path::Path;

use author::record::{ProofCheck, ProofRecord};
use engine::{
    knowledge::Knowledge,
    lint::{LintLevels, LintSubject},
};
use recipe::{
    check::{Given, check},
    diagnostic::Severity,
    plan::Plan,
};
use runtime::{
    machine::{discovery::Library, local::LocalMachine},
    requests::{RunRequest, Silent},
    runs::Runs,
};

use super::{files::GeneratedFiles, refused};
use crate::{
    commands::test::{
        self,
        load::Refused,
        outcome::{CaseFailure, CaseOutcome},
    },
    environment::Environment,
    report::failure::Failure,
};

/// The most problems of a check that the record keeps.
const MOST_PROBLEMS: usize = 10;

/// Proves the files of a generation. A check that needs an earlier one is left out if that failed.
pub(super) fn prove(files: &GeneratedFiles, environment: &Environment) -> Result<ProofRecord, Failure> {
    let scratch = tempfile::tempdir().map_err(|error| refused(format!("no scratch folder: {error}")))?;
    let folder = scratch.path().canonicalize().unwrap_or_else(|_| scratch.path().to_owned());
    files.copy_to(&folder)?;
    let library = environment.machine.library(std::slice::from_ref(&folder), &folder);
    let mut checks = Vec::new();
    let mut plans = Vec::new();
    let mut problems = Vec::new();
    for name in files.recipe_names() {
        match plan(&folder.join(&name), &library) {
            Ok(plan) => plans.push(plan),
            Err(found) => problems.extend(found.into_iter().map(|problem| format!("{name}: {problem}"))),
        }
    }
    checks.push(verdict("validate", "valid under --strict".to_owned(), problems));
    if let (true, Some(main)) = (checks[0].passed, plans.first()) {
        checks.push(verdict("lint", "no error and no warning".to_owned(), findings(&plans)));
        checks.push(dry_run(&folder, &files.recipe_name(), main, &environment.machine));
        checks.extend(tests(&folder.join(files.tests_name()), &folder, environment));
    }
    let ready = checks.len() == ALL_CHECKS && checks.iter().all(|check| check.passed);
    Ok(ProofRecord { ready, checks })
}

/// The number of checks of a whole proof.
const ALL_CHECKS: usize = 5;

fn verdict(name: &str, fine: String, mut problems: Vec<String>) -> ProofCheck {
    let more = problems.len().saturating_sub(MOST_PROBLEMS);
    problems.truncate(MOST_PROBLEMS);
    if more > 0 {
        problems.push(format!("and {more} more"));
    }
    let passed = problems.is_empty();
    ProofCheck { name: name.to_owned(), passed, detail: if passed { fine } else { problems.join("; ") } }
}

/// What a recipe means under `--strict`, or its problems.
pub(super) fn plan(recipe: &Path, library: &Library) -> Result<Plan, Vec<String>> {
    let loaded = library.root(&recipe.to_string_lossy()).map_err(|_| vec!["it cannot be read".to_owned()])?;
    let checked = check(loaded, library, &Given::default()).strict();
    let problem = |one: &recipe::diagnostic::Diagnostic| match one.place {
        Some(place) => format!("line {}: {}", checked.sources.line_column(place).line, one.message),
        None => one.message.clone(),
    };
    let problems: Vec<String> = checked.diagnostics.iter().map(problem).collect();
    checked.plan.ok_or(problems)
}

/// What `lint --deny warning` finds, with the rules that the program comes with.
fn findings(plans: &[Plan]) -> Vec<String> {
    let (knowledge, levels) = (Knowledge::default(), LintLevels::new());
    let mut problems = Vec::new();
    for plan in plans {
        let subject =
            LintSubject { plan, knowledge: &knowledge, levels: &levels, has_tests: &|_| Some(true) };
        for finding in engine::lint::lint(&subject).iter().filter(|one| one.level != Severity::Note) {
            let place = plan.sources.line_column(finding.place);
            let problem = format!("{}, line {}: {}", finding.code.as_str(), place.line, finding.message);
            if !problems.contains(&problem) {
                problems.push(problem);
            }
        }
    }
    problems
}

/// Walks the whole recipe and executes nothing. Variables that it requires have a value.
fn dry_run(folder: &Path, recipe: &str, plan: &Plan, machine: &LocalMachine) -> ProofCheck {
    let state = folder.join(".dry-run");
    let mut request = RunRequest::new(folder.join(recipe).to_string_lossy(), folder);
    request.options.dry_run = true;
    request.options.recipe_dirs.push(folder.to_owned());
    let required = plan.units.iter().flat_map(|unit| &unit.env.required);
    let values = required.map(|name| (name.clone(), "set for the dry run".to_owned()));
    let mut machine = machine.clone();
    machine.variables = machine.variables.with_defaults(values);
    let problems = match Runs::at(state).run(&request, &machine, &mut Silent) {
        Ok(result) if result.success => Vec::new(),
        Ok(result) => {
            let failure = result.failure.map(|failure| failure.error);
            vec![failure.unwrap_or_else(|| "it did not come to its end".to_owned())]
        }
        Err(error) => vec![error.to_string()],
    };
    verdict("dry_run", "every step was reached".to_owned(), problems)
}

/// Its own tests, and whether they reach every branch.
fn tests(file: &Path, folder: &Path, environment: &Environment) -> Vec<ProofCheck> {
    let proof = match test::prove(file, &[folder.to_owned()], environment) {
        Ok(proof) => proof,
        Err(refused) => return vec![verdict("tests", String::new(), vec![reason(&refused)])],
    };
    let bad: Vec<String> = proof
        .outcomes
        .iter()
        .filter(|outcome| outcome.status.is_bad())
        .map(|outcome| format!("`{}` {}", proof.tests.file.cases[outcome.case].name, words(outcome)))
        .collect();
    let cases = format!("{} cases passed", proof.outcomes.len());
    let missing: Vec<String> = proof
        .coverage
        .recipes
        .iter()
        .flat_map(|recipe| recipe.missing.iter())
        .map(|branch| format!("no case reaches `{}`", branch.name))
        .collect();
    let total: usize = proof.coverage.recipes.iter().map(|recipe| recipe.total).sum();
    vec![verdict("tests", cases, bad), verdict("coverage", format!("100 % of {total} branches"), missing)]
}

/// The first thing that is wrong with a case.
fn words(outcome: &CaseOutcome) -> String {
    match outcome.failures.first() {
        Some(CaseFailure::Unmet(unmet)) => {
            format!("{}: expected {}, found {}", unmet.what, unmet.expected, unmet.actual)
        }
        Some(CaseFailure::Wrong { message, .. }) => message.clone(),
        None => outcome.status.as_str().to_owned(),
    }
}

fn reason(refused: &Refused) -> String {
    match refused {
        Refused::Missing(failure) => failure.message.clone(),
        Refused::Invalid { diagnostics, .. } => {
            let messages: Vec<&str> = diagnostics.iter().map(|one| one.message.as_str()).collect();
            messages.join("; ")
        }
    }
}
