//! `test`: runs the cases of test files, and reports what is not as expected.
//!
//! Never starts a case before every file is known to be valid.

pub(crate) mod coverage;
mod facts;
mod find;
mod init;
mod junit;
pub(crate) mod load;
pub(crate) mod outcome;
mod perform;
mod report;
mod snapshots;
mod stage;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use engine::coverage::BranchName;
use load::{LoadedTests, Refused};
use outcome::CaseOutcome;
use perform::{Performing, Selection};
use report::{Counts, Repeat};
use runtime::{
    machine::discovery::Library,
    os::{clock, files},
};
use serde_json::{Value as Json, json};
use snapshots::SnapshotMode;
use stage::Stage;

use crate::{
    args::{options::OutputFormat, test::TestArgs},
    environment::Environment,
    exit::Exit,
    load_recipe,
    out::Out,
    report::{diagnostics::Problem, failure::Failure, hints::plain},
};

/// Runs tests, lists them, or writes a first test file.
pub(crate) fn test(args: &TestArgs, environment: &Environment, out: &mut Out) -> Result<Exit, Failure> {
    act(args, environment, out).map_err(|failure| failure.announce(args.format.output_format, out))
}

fn act(args: &TestArgs, environment: &Environment, out: &mut Out) -> Result<Exit, Failure> {
    if args.update && environment.get("CI").is_some() {
        return Err(Failure::new(Exit::BadArguments, "`--update` is refused because `CI` is set")
            .hint("write snapshots on your machine, look at them, and commit them"));
    }
    let library = load_recipe::library(&args.places, environment);
    note_recipe(&library, out);
    if let Some(recipe) = &args.init {
        return init::init(recipe, args, environment, out);
    }
    let from = args
        .places
        .working_dir
        .as_deref()
        .map_or_else(|| environment.machine.cwd.clone(), |dir| environment.absolute(dir));
    let found = find::test_files(&args.paths, &from, environment)?;
    let mut files = Vec::with_capacity(found.len());
    let mut refused = Vec::new();
    for file in &found {
        match load::load(file, &library) {
            Ok(loaded) => files.push(loaded),
            Err(problem) => refused.push(problem),
        }
    }
    if !refused.is_empty() {
        return Ok(refuse(&refused, args, environment, out));
    }
    let selection = selected(&files, args);
    if selection.is_empty() {
        return Err(nothing_matched(&files, args));
    }
    match args.list {
        true => list(&files, &selection, args, out),
        false => return run(&files, &selection, args, environment, out),
    }
    Ok(Exit::Success)
}

/// A recipe with the name of this command is run in another way.
fn note_recipe(library: &Library, out: &mut Out) {
    let Ok(loaded) = library.root("test") else { return };
    if loaded.path.ends_with(".yaml") || loaded.path.ends_with(".yml") {
        let run = plain("run test");
        out.notice(&format!("note: there is a recipe `test` ({}); `{run}` runs it", loaded.path));
    }
}

/// Reports every file that cannot be run; an invalid file is worse than a missing one.
fn refuse(refused: &[Refused], args: &TestArgs, environment: &Environment, out: &mut Out) -> Exit {
    let mut problems: Vec<Problem> = Vec::new();
    let mut exit = Exit::NotFound;
    for one in refused {
        let (worse, found) = one.report(environment, out);
        exit = if worse == Exit::Invalid { worse } else { exit };
        problems.extend(found);
    }
    if args.format.output_format == OutputFormat::Json {
        out.json(&json!({ "cases": [], "diagnostics": problems, "exit_code": exit.code() }));
    }
    exit
}

/// The cases that the options select.
fn selected(files: &[LoadedTests], args: &TestArgs) -> Vec<Selection> {
    let mut found = Vec::new();
    for (file, loaded) in files.iter().enumerate() {
        for (case, one) in loaded.file.cases.iter().enumerate() {
            let fits =
                |text: &String| one.name.contains(text.as_str()) || loaded.shown.contains(text.as_str());
            let is_named = args.cases.is_empty() || args.cases.contains(&one.name);
            if args.filter.as_ref().is_none_or(fits) && is_named {
                found.push(Selection { file, case });
            }
        }
    }
    found
}

fn nothing_matched(files: &[LoadedTests], args: &TestArgs) -> Failure {
    let failure = Failure::new(Exit::BadArguments, "no case matched");
    if files.is_empty() {
        return failure
            .hint("there is no `*.test.yaml` here or below")
            .hint(format!("`{}` writes a first one", plain("test --init RECIPE")));
    }
    let names = || files.iter().flat_map(|file| &file.file.cases).map(|case| case.name.as_str());
    let asked = args.cases.iter().chain(&args.filter);
    let meant = asked.filter_map(|asked| recipe::diagnostic::did_you_mean(asked, names())).next();
    match meant {
        Some(meant) => failure.hint(format!("did you mean the case `{meant}`?")),
        None => failure.hint(format!("`{}` shows all cases", plain("test --list"))),
    }
}

fn list(files: &[LoadedTests], selection: &[Selection], args: &TestArgs, out: &mut Out) {
    let case = |one: &Selection| (&files[one.file], &files[one.file].file.cases[one.case]);
    match args.format.output_format {
        OutputFormat::Json => {
            let cases: Vec<Json> = selection
                .iter()
                .map(case)
                .map(|(file, case)| {
                    let line = file.sources.line_column(case.place).line;
                    json!({ "file": file.shown, "name": case.name, "line": line, "skip": case.skip })
                })
                .collect();
            out.json(&json!({ "cases": cases }));
        }
        OutputFormat::Text => {
            for (file, case) in selection.iter().map(case) {
                let skip =
                    case.skip.as_ref().map(|reason| format!(" (skipped: {})", report::one_line(reason)));
                let name = report::one_line(&case.name);
                out.result(&format!("{}: {name}{}", report::one_line(&file.shown), skip.unwrap_or_default()));
            }
        }
    }
}

fn run(
    files: &[LoadedTests],
    selection: &[Selection],
    args: &TestArgs,
    environment: &Environment,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let started = clock::instant();
    let is_text = args.format.output_format == OutputFormat::Text;
    let repeat = Repeat { recipe_dirs: &args.places.recipe_dirs, times: args.repeat.unwrap_or(1) };
    let stage = Stage::open(environment)?;
    let isolated = stage.is_isolated();
    if is_text && !isolated {
        out.result("network: not isolated");
    }
    let performing = Performing {
        stage: &stage,
        recipe_dirs: &args.places.recipe_dirs,
        jobs: args.jobs.unwrap_or_else(perform::processors),
        times: repeat.times,
        keep: args.keep,
        fail_fast: args.fail_fast,
        snapshots: if args.update { SnapshotMode::Update } else { SnapshotMode::Compare },
    };
    let mut covered: BTreeSet<BranchName> = BTreeSet::new();
    let mut outcomes: Vec<CaseOutcome> = Vec::with_capacity(selection.len());
    performing.perform(files, selection, |mut outcome| {
        covered.extend(std::mem::take(&mut outcome.covered));
        if is_text {
            out.result(&report::line(&files[outcome.file], &outcome));
        }
        outcomes.push(outcome);
    });
    outcomes.sort_by_key(|outcome| (outcome.file, outcome.case));
    let left_out = selection.len() - outcomes.len();
    let used: Vec<usize> =
        (0..files.len()).filter(|at| selection.iter().any(|one| one.file == *at)).collect();
    let coverage = coverage::measure(&used.iter().map(|at| &files[*at]).collect::<Vec<_>>(), &covered);
    let reasons = too_low(&coverage, files, selection, args);
    let summary = Summary { outcomes: &outcomes, coverage: &coverage, reasons: &reasons, left_out, isolated };
    let seconds = started.elapsed().as_secs_f64();
    match args.format.output_format {
        OutputFormat::Text => summary.show(files, args, &repeat, seconds, out),
        OutputFormat::Json => out.json(&summary.to_json(files, &repeat, seconds)),
    }
    if let Some(file) = &args.junit {
        write_junit(&environment.absolute(file), &junit::junit(files, &outcomes))?;
    }
    let is_bad = outcomes.iter().any(|outcome| outcome.status.is_bad()) || !reasons.is_empty();
    Ok(if is_bad { Exit::Failed } else { Exit::Success })
}

fn write_junit(file: &Path, text: &str) -> Result<(), Failure> {
    if let Some(folder) = file.parent() {
        let _ = std::fs::create_dir_all(folder);
    }
    files::overwrite(file, text.as_bytes()).map_err(|error| {
        Failure::new(Exit::Broken, format!("`{}` cannot be written: {error}", file.display()))
    })
}

/// Why the coverage is too low. The `min` of a file counts only when all its cases were selected.
fn too_low(
    coverage: &coverage::CoverageReport,
    files: &[LoadedTests],
    selection: &[Selection],
    args: &TestArgs,
) -> Vec<String> {
    let mut reasons = Vec::new();
    let is_whole =
        |at: usize| selection.iter().filter(|one| one.file == at).count() == files[at].file.cases.len();
    let whole: Vec<&LoadedTests> =
        files.iter().enumerate().filter(|(at, _)| is_whole(*at)).map(|(_, file)| file).collect();
    for low in coverage.too_low(&whole) {
        reasons.push(format!(
            "coverage of {}: {:.1} %, at least {} % is demanded",
            low.recipe, low.percent, low.min
        ));
    }
    if let Some(min) = args.coverage_min.filter(|min| coverage.percent < *min) {
        reasons.push(format!("coverage: {:.1} %, at least {min} % is demanded", coverage.percent));
    }
    reasons
}

/// All that the end of the report says.
struct Summary<'a> {
    outcomes: &'a [CaseOutcome],
    coverage: &'a coverage::CoverageReport,
    reasons: &'a [String],
    left_out: usize,
    isolated: bool,
}

impl Summary<'_> {
    fn counts(&self) -> Counts {
        Counts::of(&self.outcomes.iter().collect::<Vec<_>>())
    }

    fn show(&self, files: &[LoadedTests], args: &TestArgs, repeat: &Repeat<'_>, seconds: f64, out: &mut Out) {
        for outcome in self.outcomes.iter().filter(|outcome| outcome.status.is_bad()) {
            out.result(report::failure(&files[outcome.file], outcome, repeat).trim_end());
        }
        if args.coverage || !self.reasons.is_empty() {
            out.result(&report::coverage(self.coverage));
        }
        for updated in self.outcomes.iter().filter_map(|outcome| outcome.updated.as_ref()) {
            out.result(&format!("written: {}", updated.display()));
        }
        out.result(&report::summary(&self.counts(), seconds));
        if self.left_out > 0 {
            out.result(&format!("{} not run after the first failure", self.left_out));
        }
        for reason in self.reasons {
            out.result(&report::one_line(reason));
        }
    }

    fn to_json(&self, files: &[LoadedTests], repeat: &Repeat<'_>, seconds: f64) -> Json {
        let cases: Vec<Json> = self
            .outcomes
            .iter()
            .map(|outcome| report::case_json(&files[outcome.file], outcome, repeat))
            .collect();
        let counts = self.counts();
        let is_bad = self.outcomes.iter().any(|outcome| outcome.status.is_bad()) || !self.reasons.is_empty();
        json!({
            "cases": cases,
            "coverage": self.coverage,
            "coverage_too_low": self.reasons,
            "summary": {
                "cases": counts.all(),
                "passed": counts.passed,
                "failed": counts.failed,
                "errors": counts.errors,
                "skipped": counts.skipped,
                "flaky": counts.flaky,
                "not_run": self.left_out,
            },
            "network_isolated": self.isolated,
            "duration": (seconds * 1e6).round() / 1e6,
            "exit_code": if is_bad { Exit::Failed.code() } else { Exit::Success.code() },
        })
    }
}

/// Checks a test file beside its recipe, and runs nothing.
pub(crate) fn check_file(
    asked: &str,
    library: &Library,
    environment: &Environment,
) -> Result<LoadedTests, Box<Refused>> {
    let found = find::test_files(&[asked.to_owned()], &environment.machine.cwd, environment);
    let found = found.map_err(|missing| Box::new(Refused::Missing(missing)))?;
    match found.first() {
        Some(file) => load::load(file, library).map_err(Box::new),
        None => Err(Box::new(Refused::Missing(Failure::new(
            Exit::NotFound,
            format!("test file `{asked}` not found"),
        )))),
    }
}

/// What came of all cases of a test file.
pub(crate) struct Proof {
    /// The test file.
    pub(crate) tests: LoadedTests,
    /// What came of each case, in order.
    pub(crate) outcomes: Vec<CaseOutcome>,
    /// The branches that they reached.
    pub(crate) coverage: coverage::CoverageReport,
}

/// Runs the cases of one test file quietly: for commands that write recipes with tests.
pub(crate) fn prove(
    file: &Path,
    recipe_dirs: &[PathBuf],
    environment: &Environment,
) -> Result<Proof, Box<Refused>> {
    let places = crate::args::options::Places { working_dir: None, recipe_dirs: recipe_dirs.to_vec() };
    let library = load_recipe::library(&places, environment);
    let shown = find::display(file, &environment.machine.cwd);
    let loaded =
        load::load(&find::FoundFile { path: file.to_path_buf(), shown }, &library).map_err(Box::new)?;
    let selection: Vec<Selection> =
        (0..loaded.file.cases.len()).map(|case| Selection { file: 0, case }).collect();
    let stage = Stage::open(environment).map_err(|failure| Box::new(Refused::Missing(failure)))?;
    let performing = Performing {
        stage: &stage,
        recipe_dirs,
        jobs: perform::processors(),
        times: 1,
        keep: false,
        fail_fast: false,
        snapshots: SnapshotMode::Compare,
    };
    let files = [loaded];
    let mut outcomes = Vec::new();
    performing.perform(&files, &selection, |outcome| outcomes.push(outcome));
    outcomes.sort_by_key(|outcome: &CaseOutcome| outcome.case);
    let covered = outcomes.iter().flat_map(|outcome| outcome.covered.iter().cloned()).collect();
    let report = coverage::measure(&[&files[0]], &covered);
    let [tests] = files;
    Ok(Proof { tests, outcomes, coverage: report })
}
