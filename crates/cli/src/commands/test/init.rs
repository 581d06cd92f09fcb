//! `test --init`: a first test file for a recipe, with one case that passes.
//!
//! The case is found by trying: what a run lacks is added until it comes to its end. Never overwrites a file.

mod draft;

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use draft::Draft;
use recipe::test_file::test_file_of;
use runtime::{
    machine::discovery::Library,
    os::{files, shell_word::quote},
    recipe_tests::CaseError,
};
use serde_json::json;

use super::{
    find::{FoundFile, display},
    load::{self, LoadedTests},
    stage::{Performed, Stage},
};
use crate::{
    args::{options::OutputFormat, test::TestArgs},
    environment::Environment,
    exit::Exit,
    load_recipe,
    out::Out,
    report::{failure::Failure, hints::plain},
};

/// How often a draft is improved.
const MOST_TRIES: usize = 200;

/// Writes a test file for a recipe.
pub(super) fn init(
    asked: &str,
    args: &TestArgs,
    environment: &Environment,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let library = load_recipe::library(&args.places, environment);
    let loaded = load_recipe::find(&library, asked)?;
    let recipe = library.absolute(&loaded.path);
    if loaded.path.starts_with("built-in:") || !recipe.is_file() {
        return Err(Failure::new(
            Exit::BadArguments,
            format!("recipe `{asked}` is part of the program and has no folder"),
        )
        .hint("copy it into a folder of your own first"));
    }
    let name = recipe.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let file = recipe.with_file_name(test_file_of(&name));
    let shown = display(&file, &environment.machine.cwd);
    if file.symlink_metadata().is_ok() {
        return Err(exists(&shown));
    }
    let text = match Trial::open(&library, &recipe, environment)?.improve(args) {
        Ok(draft) => draft.text(&name, &shown),
        Err(refused) => return Ok(refused.report(environment, out).0),
    };
    write(&file, &shown, &text)?;
    let proof = super::prove(&file, &args.places.recipe_dirs, environment).ok();
    let passed = proof.filter(|proof| !proof.outcomes.iter().any(|outcome| outcome.status.is_bad()));
    let Some(proof) = passed else {
        let _ = files::remove_file(&file);
        return Err(Failure::new(
            Exit::Failed,
            format!("no case was found that passes each time for `{asked}`"),
        )
        .hint("write a test file by hand: the manual page \"Test a recipe\" shows how"));
    };
    let run = plain(&format!("test {}", quote(&shown)));
    match args.format.output_format {
        OutputFormat::Json => out.json(&json!({
            "file": shown,
            "cases": proof.tests.file.cases.len(),
            "coverage": proof.coverage,
            "test_command": run,
        })),
        OutputFormat::Text => {
            let percent = proof.coverage.percent;
            out.result(&format!(
                "{shown}: one case, which reaches {percent:.0} % of the branches\nRun it:  {run} --coverage"
            ));
        }
    }
    Ok(Exit::Success)
}

fn exists(shown: &str) -> Failure {
    Failure::new(Exit::BadArguments, format!("`{shown}` exists and is not overwritten"))
        .hint(format!("run it: {}", plain(&format!("test {}", quote(shown)))))
}

fn write(file: &Path, shown: &str, text: &str) -> Result<(), Failure> {
    let written = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(file)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => exists(shown),
        _ => Failure::new(Exit::BadArguments, format!("`{shown}` cannot be written: {error}")),
    })
}

/// Tries drafts.
struct Trial<'a> {
    stage: Stage,
    folder: tempfile::TempDir,
    library: &'a Library,
    recipe: &'a Path,
}

impl<'a> Trial<'a> {
    fn open(library: &'a Library, recipe: &'a Path, environment: &Environment) -> Result<Trial<'a>, Failure> {
        let folder = tempfile::tempdir().map_err(|error| {
            Failure::new(Exit::Broken, format!("no temporary folder can be made: {error}"))
        })?;
        Ok(Trial { stage: Stage::open(environment)?, folder, library, recipe })
    }

    /// A draft whose case passes.
    fn improve(&self, args: &TestArgs) -> Result<Draft, load::Refused> {
        let first = self.load(&Draft::default(), 0)?;
        let mut draft = Draft::for_recipe(&first.plan);
        for number in 1..MOST_TRIES {
            let loaded = self.load(&draft, number)?;
            let performed = self.stage.perform(&loaded, 0, &args.places.recipe_dirs);
            if !self.learn(&mut draft, &loaded, &performed) {
                draft.observe(performed.facts.as_ref());
                break;
            }
        }
        Ok(draft)
    }

    /// Adds what a run lacked; `false` if it lacked nothing that a draft can give.
    fn learn(&self, draft: &mut Draft, loaded: &LoadedTests, performed: &Performed) -> bool {
        let mut learned = false;
        for error in &performed.run.errors {
            learned |= match error {
                CaseError::MissingStub { path, .. } | CaseError::Effect { path, .. } => {
                    draft.answer_for(&loaded.plan, path)
                }
                CaseError::UsedUp { .. } | CaseError::Unused { .. } => false,
                _ => false,
            };
        }
        let Some(facts) = performed.facts.as_ref().filter(|_| !learned) else { return learned };
        let with = |status: &'static str| facts.steps.iter().filter(move |step| step.status == status);
        for step in with("waiting") {
            learned |= draft.decide(&loaded.plan, &step.path);
        }
        if facts.exit == 1 && !learned {
            let failed: Vec<&str> = with("failed").map(|step| step.path.as_str()).collect();
            learned = failed.iter().rev().any(|path| draft.replace_command(&loaded.plan, path));
        }
        learned
    }

    fn load(&self, draft: &Draft, number: usize) -> Result<LoadedTests, load::Refused> {
        let path: PathBuf = self.folder.path().join(format!("draft-{number}.test.yaml"));
        let text = draft.text("recipe.yaml", "draft.test.yaml");
        let written = files::overwrite(&path, text.as_bytes()).map_err(|error| {
            load::Refused::Missing(Failure::new(Exit::Broken, format!("a draft cannot be written: {error}")))
        });
        written?;
        let found = FoundFile { shown: path.to_string_lossy().into_owned(), path };
        load::load_for(&found, Ok(self.recipe.to_path_buf()), self.library)
    }
}
