//! Shared by the commands about stored runs: where runs are, which one is requested, and why one cannot be read.

use std::{fs, io::ErrorKind, path::Path};

use runtime::{
    runs::{FindError, OpenError, repro::start_again},
    store::{folder::RunFolder, journal::JournalError, secrets::Mask},
};

use crate::{
    environment::Environment,
    exit::Exit,
    host::{self, StoredRuns},
    out::Out,
    report::{
        failure::{Failure, clean},
        hints::{plain, start_command},
    },
};

/// The stored runs. A missing directory means no runs yet; an unreadable one is an error.
pub(crate) fn runs_at(state_dir: Option<&Path>, environment: &Environment) -> Result<StoredRuns, Failure> {
    let runs = host::runs(state_dir, environment)?;
    match fs::read_dir(runs.dir()) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            let message = format!("cannot read `{}`: {error}", runs.dir().display());
            Err(Failure::new(Exit::Broken, message).hint(
                "runs are stored there: name another directory with `--state-dir DIR`, or make it readable",
            ))
        }
        _ => Ok(runs),
    }
}

/// The requested run.
pub(crate) fn find(runs: &StoredRuns, asked: &str) -> Result<RunFolder, Failure> {
    runs.find(asked).map_err(|error| not_found(&error, runs))
}

/// The requested run, or the newest one if none was named; then its id is shown.
pub(crate) fn find_or_last(
    runs: &StoredRuns,
    asked: Option<&str>,
    out: &mut Out,
) -> Result<RunFolder, Failure> {
    let Some(asked) = asked else {
        let folder = runs.find("last").map_err(|_| {
            Failure::new(Exit::NotFound, "there are no runs yet")
                .hint(format!("`{}` starts one", plain("RECIPE")))
        })?;
        let recipe = folder.header().map(|header| format!(" of `{}`", clean(&header.recipe_name)));
        out.notice(&format!("last run{}: {}", recipe.unwrap_or_default(), folder.id()));
        return Ok(folder);
    };
    find(runs, asked)
}

/// Why a run cannot be found.
pub(crate) fn not_found(error: &FindError, runs: &StoredRuns) -> Failure {
    let hint = match error {
        FindError::None(_) => format!("`{}` shows all runs", runs.hints.command("runs")),
        FindError::Several { .. } => "write more of the id".to_owned(),
    };
    Failure::new(Exit::NotFound, error.to_string()).hint(hint)
}

/// Why a run cannot be opened.
pub(crate) fn unreadable(error: &OpenError, folder: &RunFolder) -> Failure {
    let failure = Failure::new(Exit::Broken, error.to_string());
    if !matches!(error, OpenError::Journal(JournalError::Damaged { .. })) {
        return failure;
    }
    let failure =
        failure.hint("the runner reads no further: restore the file from a copy, or start a new run");
    let Ok(header) = folder.header() else { return failure };
    let mut mask = Mask::default();
    mask.learn(&header.given());
    failure.hint(format!("start a new run: {}", start_command(&start_again(&header, folder, &mask))))
}
