//! `hygiene artifact-guard`: lists paths that do not belong into a repository. Changes nothing.

use runtime::{
    orchestration::{ArtifactScope, artifacts},
    os::environment::Environment as ProcessEnvironment,
};

use crate::{
    args::compat::{ArtifactGuardArgs, GuardMode},
    environment::Environment,
    exit::Exit,
    out::Out,
    report::failure::{Failure, clean},
};

/// Prints the paths, each with the reason; exit code 1 if there are any, 2 if that cannot be judged.
pub(super) fn guard(
    args: &ArtifactGuardArgs,
    environment: &Environment,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let scope = match args.mode {
        GuardMode::Staged => ArtifactScope::Index,
        GuardMode::PreCommit | GuardMode::PrePublish => ArtifactScope::Visible,
        GuardMode::Worktree | GuardMode::All => ArtifactScope::Everything,
    };
    let unknown = |why: String| Failure::new(Exit::Invalid, why);
    let allowlist = match &args.allowlist {
        Some(file) => std::fs::read_to_string(environment.absolute(file))
            .map_err(|error| unknown(format!("`{}` cannot be read: {error}", file.display())))?,
        None => String::new(),
    };
    let variables: Vec<_> = environment.machine.bare().env.into_iter().collect();
    let env = ProcessEnvironment::from(variables);
    let repository = environment.absolute(&args.repo);
    let found = artifacts(&repository, scope, &allowlist, &env).map_err(unknown)?;
    for (path, reason) in &found {
        out.result(&clean(&format!("{path}: {reason}")));
    }
    Ok(if found.is_empty() { Exit::Success } else { Exit::Failed })
}
