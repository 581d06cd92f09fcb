//! Why a run cannot be resumed. Never changes the run.

use engine::resume::ResumePlan;

use super::{OpenError, RunError};
use crate::store::folder::owner_words;

/// Why a run cannot be resumed.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    /// It cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Another live process owns it.
    #[error("run `{run}` is in use by {}", owner_words(*pid))]
    Owned {
        /// The run.
        run: String,
        /// The process.
        pid: u32,
    },
    /// It has ended successfully.
    #[error("run `{0}` has already completed; nothing to resume")]
    Completed(String),
    /// Interrupted steps must not simply run again.
    #[error("{}", interrupted(run, steps))]
    Choose {
        /// The run.
        run: String,
        /// The steps.
        steps: Vec<String>,
    },
    /// The step to resume from does not exist.
    #[error("{}", no_step(run, step, instances))]
    NoStep {
        /// The run.
        run: String,
        /// The step.
        step: String,
        /// The step with a loop that it would be an instance of, with the number of its instances.
        instances: Option<(String, usize)>,
    },
    /// Completed side effects would have to be repeated.
    #[error("resuming run `{run}` would repeat completed side effects: {}", steps.join(", "))]
    Effects {
        /// The run.
        run: String,
        /// The steps.
        steps: Vec<String>,
    },
    /// The plan is not the approved one: the run or its recipe has changed since.
    #[error("the plan for run `{run}` has changed since it was approved; nothing was started")]
    Outdated {
        /// The run.
        run: String,
        /// The plan now.
        plan: Box<ResumePlan>,
        /// The digest of the plan now.
        digest: String,
    },
    /// The run could not continue.
    #[error(transparent)]
    Run(#[from] RunError),
}

fn no_step(run: &str, step: &str, instances: &Option<(String, usize)>) -> String {
    match instances {
        Some((looped, count)) => {
            format!("there is no step `{step}` in run `{run}`: {}", has_instances(looped, *count))
        }
        None => format!("there is no step `{step}` in run `{run}`"),
    }
}

/// How many instances a step has.
pub fn has_instances(looped: &str, count: usize) -> String {
    match count {
        0 => format!("`{looped}` has no instances"),
        1 => format!("`{looped}` has one instance, `{looped}[0]`"),
        _ => format!("`{looped}` has {count} instances, `{looped}[0]` to `{looped}[{}]`", count - 1),
    }
}

/// The message that a person has to decide about these steps.
fn interrupted(run: &str, steps: &[String]) -> String {
    let list = named(steps);
    match steps {
        [_] => format!("step {list} of run `{run}` was interrupted and is not idempotent"),
        _ => format!("steps {list} of run `{run}` were interrupted and are not idempotent"),
    }
}

/// The quoted names of steps.
pub(super) fn named(steps: &[String]) -> String {
    steps.iter().map(|step| format!("`{step}`")).collect::<Vec<_>>().join(", ")
}
