//! The facts of an ended run that statistics need. They are cached in its folder, and can be gathered again at any time.

use std::{fs, path::Path};

use engine::{
    Outcome, RunStatus, StepStatus,
    failure::{Class, Responsibility},
    run::event::Usage,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    os::files,
    runs::{OpenError, OpenedRun, Runs},
    store::folder::{RunFolder, write_private},
};

const FILE: &str = "health.json";

/// The facts of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct RunFacts {
    pub(super) run_id: String,
    pub(super) recipe: String,
    pub(super) started_at: Timestamp,
    pub(super) status: RunStatus,
    /// Seconds.
    pub(super) duration: f64,
    pub(super) failure: Option<FailureFacts>,
    /// Attempts beyond the first.
    pub(super) retries: usize,
    /// Steps that timed out.
    pub(super) timeouts: usize,
    pub(super) used: Usage,
    /// The steps of the recipe itself that passed or failed.
    pub(super) steps: Vec<(String, bool)>,
    /// The digest of the recipe.
    pub(super) digest: String,
}

/// Why a run failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct FailureFacts {
    pub(super) class: Class,
    pub(super) bucket: Responsibility,
    /// The innermost failed step.
    pub(super) step: Option<String>,
}

/// Facts in their file.
#[derive(Serialize, Deserialize)]
struct CachedFacts {
    of: Version,
    facts: RunFacts,
}

/// What facts were gathered from: other files, or another program, may give other facts.
#[derive(PartialEq, Serialize, Deserialize)]
struct Version {
    program: String,
    journal_bytes: u64,
    auto_fix_bytes: u64,
}

impl Version {
    fn of(folder: &RunFolder) -> Version {
        let bytes = |path: &Path| fs::metadata(path).map_or(0, |file| file.len());
        Version {
            program: env!("CARGO_PKG_VERSION").to_owned(),
            journal_bytes: bytes(&folder.journal()),
            auto_fix_bytes: bytes(&folder.path().join("auto-fix.json")),
        }
    }
}

/// The facts of a run, from its cache if that is valid. `None` while the run is alive.
pub(super) fn facts(runs: &Runs, folder: RunFolder) -> Result<Option<RunFacts>, OpenError> {
    if folder.owner().is_some() {
        return Ok(None);
    }
    // a user's own knowledge may explain a failure differently
    let is_cached = runs.knowledge().is_built_in();
    let version = Version::of(&folder);
    let file = folder.path().join(FILE);
    if let (true, Some(cached)) = (is_cached, read(&file))
        && cached.of == version
    {
        return Ok(Some(cached.facts));
    }
    let shown = runs.open(folder)?;
    if shown.status == RunStatus::Running {
        return Ok(None);
    }
    let facts = RunFacts::of(&shown);
    if is_cached {
        write(&file, &CachedFacts { of: version, facts: facts.clone() });
    }
    Ok(Some(facts))
}

fn read(file: &Path) -> Option<CachedFacts> {
    serde_json::from_slice(&fs::read(file).ok()?).ok()
}

/// Writes the cache. Failures are ignored: the facts are gathered again next time.
fn write(file: &Path, cached: &CachedFacts) {
    let new = file.with_extension("json.new");
    let written = serde_json::to_vec(cached).is_ok_and(|json| write_private(&new, &json).is_ok());
    if !written || files::rename(&new, file).is_err() {
        files::discard_file(&new);
    }
}

impl RunFacts {
    fn of(shown: &OpenedRun) -> RunFacts {
        let (result, state) = (shown.result(), &shown.state);
        let failure = result.diagnosis.map(|diagnosis| FailureFacts {
            class: diagnosis.class,
            bucket: diagnosis.bucket,
            step: state.root_cause().map(|(step, _)| step),
        });
        let timed_out = |outcome: &Outcome| matches!(outcome, Outcome::TimedOut(_));
        RunFacts {
            run_id: shown.header.run_id.clone(),
            recipe: shown.header.recipe_name.clone(),
            started_at: shown.header.created_at,
            status: shown.status,
            duration: result.duration,
            failure,
            retries: state.attempts.values().map(|attempts| attempts.saturating_sub(1) as usize).sum(),
            timeouts: state.failures.values().flatten().filter(|ended| timed_out(&ended.outcome)).count(),
            used: state.used.clone(),
            steps: passed_or_failed(shown),
            digest: shown.plan.root().digest.to_string(),
        }
    }

    /// Whether it was stopped rather than failed.
    pub(super) fn is_stopped(&self) -> bool {
        self.failure.as_ref().is_some_and(|failure| failure.class == Class::Interrupted)
    }
}

fn passed_or_failed(shown: &OpenedRun) -> Vec<(String, bool)> {
    let frame = shown.state.root();
    let ended = frame.steps.iter().enumerate().filter_map(|(at, step)| match step.status {
        StepStatus::Completed | StepStatus::Degraded => Some((frame.step_path(at), true)),
        StepStatus::Failed => Some((frame.step_path(at), false)),
        _ => None,
    });
    ended.collect()
}
