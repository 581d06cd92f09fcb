//! What a request of this process has in common with others: its origin, the stored runs, unusable settings.

use std::{
    ops::Deref,
    path::{Path, PathBuf},
};

use engine::{
    knowledge::Knowledge,
    run::origin::{Origin, Surface},
};
use runtime::{machine::local::SettingError, runs::Runs};

use crate::{
    environment::Environment,
    exit::Exit,
    report::{
        failure::{Failure, clean},
        hints::Hints,
    },
};

/// The failure because of an unusable setting.
pub(crate) fn unusable(error: &SettingError) -> Failure {
    let exit = match error {
        SettingError::ReviewAgent(_) => Exit::Invalid,
        _ => Exit::BadArguments,
    };
    let failure = Failure::new(exit, clean(&error.to_string()));
    match error {
        SettingError::Configuration { .. } => failure,
        SettingError::ReviewAgent(_) => {
            failure.hint("name another agent program, or leave out `--review-agent`")
        }
        SettingError::Answers(_) => {
            failure.hint("`explain` shows the questions of a recipe, with their choices and fields")
        }
        SettingError::StepTimeout(_) => failure.hint(
            "set it to a number such as 600, or to 0 for no timeout; `--step-timeout TIME` overrides it",
        ),
    }
}

/// Where a request of this process comes from.
pub(crate) fn origin() -> Origin {
    runtime::runs::new_origin(Surface::Cli, runtime::machine::host::name_of_user())
}

/// The stored runs, and the commands that reach them.
pub(crate) struct StoredRuns {
    runs: Runs,
    pub(crate) hints: Hints,
}

impl StoredRuns {
    /// The same runs, with what a user adds to the built-in knowledge.
    pub(crate) fn believing(self, knowledge: Knowledge) -> StoredRuns {
        StoredRuns { runs: self.runs.believing(knowledge), ..self }
    }
}

impl Deref for StoredRuns {
    type Target = Runs;

    fn deref(&self) -> &Runs {
        &self.runs
    }
}

/// The stored runs. A configuration that cannot be used adds nothing here; commands that run something report it.
pub(crate) fn runs(asked: Option<&Path>, environment: &Environment) -> Result<StoredRuns, Failure> {
    let home = state_dir(asked, environment)?;
    let hints = Hints::through(asked.map(|_| home.as_path()));
    let knowledge = environment.machine.knowledge(&environment.machine.cwd).unwrap_or_default();
    let runs = Runs::at(home).knowing(environment.machine.variables.texts()).believing(knowledge);
    Ok(StoredRuns { runs, hints })
}

/// The state directory. `.env` files do not count: only the run of that recipe would know them.
pub(crate) fn state_dir(asked: Option<&Path>, environment: &Environment) -> Result<PathBuf, Failure> {
    if let Some(dir) = asked {
        return Ok(environment.absolute(dir));
    }
    if let Some(dir) = environment.machine.variables.exported("RECIPE_RUNNER_HOME") {
        return Ok(environment.absolute(Path::new(dir)));
    }
    if let Some(dir) = environment.machine.variables.exported("XDG_STATE_HOME") {
        return Ok(environment.absolute(Path::new(dir)).join("recipe-runner"));
    }
    match &environment.machine.home {
        Some(home) => Ok(home.join(".local/state/recipe-runner")),
        None => Err(Failure::new(Exit::Broken, "runs cannot be stored: HOME is not set")
            .hint("set HOME, or choose a directory with `--state-dir DIR`")),
    }
}
