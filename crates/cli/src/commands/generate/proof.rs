//! The proof of a recipe before it is called ready.
//!
//! Works on copies in a scratch folder; nothing of the project changes.

use author::record::{ProofCheck, ProofRecord};
use recipe::check::{Given, check};

use super::{files::GeneratedFiles, refused};
use crate::{environment::Environment, report::failure::Failure};

/// Proves the files of a generation.
pub(super) fn prove(files: &GeneratedFiles, environment: &Environment) -> Result<ProofRecord, Failure> {
    let scratch = tempfile::tempdir().map_err(|error| refused(format!("no scratch folder: {error}")))?;
    files.copy_to(scratch.path())?;
    let library = environment.machine.library(&[scratch.path().to_owned()], scratch.path());
    let recipe = files.recipe_name();
    let found = library.root(&scratch.path().join(&recipe).to_string_lossy());
    let problems = match found {
        Ok(loaded) => {
            let checked = check(loaded, &library, &Given::default()).strict();
            let messages = checked.diagnostics.iter().map(|problem| problem.message.clone());
            messages.collect::<Vec<_>>()
        }
        Err(_) => vec![format!("`{recipe}` cannot be read")],
    };
    let validate = ProofCheck {
        name: "validate".to_owned(),
        passed: problems.is_empty(),
        detail: if problems.is_empty() { "valid under --strict".to_owned() } else { problems.join("; ") },
    };
    Ok(ProofRecord { ready: validate.passed, checks: vec![validate] })
}
