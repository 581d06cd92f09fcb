//! The failure of a run as data: the step at the bottom of it, and what was written there. Never shows a secret.

use engine::{Outcome, RunState};
use recipe::plan::StepKind;
use serde::Serialize;

use crate::store::secrets::Mask;

/// What went wrong, at the bottom of it.
#[derive(Clone, Debug, Serialize)]
pub struct Failure {
    /// Path of the step.
    pub step: String,
    /// How it ended.
    pub outcome: Outcome,
    /// The whole message.
    pub error: String,
    /// The command or the prompt of the step, as it was written.
    #[serde(skip)]
    pub written: Option<String>,
    /// Steps in its recipe that were under way when its time was up, and what was written there.
    #[serde(skip)]
    pub cut_short: Vec<(String, Option<String>)>,
}

impl Failure {
    /// The failure of a run.
    pub(super) fn of(state: &RunState, mask: &Mask) -> Option<Failure> {
        let (step, ended) = state.root_cause()?;
        let masked = |text: &str| mask.text(text).into_owned();
        let written = |path: &str| written(state, path).map(|text| masked(&text));
        let below = state.cut_short_in(&step);
        Some(Failure {
            written: written(&step),
            cut_short: below.into_iter().map(|path| (path.clone(), written(&path))).collect(),
            step,
            outcome: ended.outcome.clone(),
            error: masked(ended.error.as_deref().unwrap_or("the step failed without a message")),
        })
    }
}

/// The command or the prompt of a step, before values are put in.
fn written(state: &RunState, path: &str) -> Option<String> {
    let (frame, at) = state.locate(path)?;
    match &state.frames[frame].unit.steps[at].kind {
        StepKind::Shell { command } => Some(command.text().to_owned()),
        StepKind::Agent(agent) => Some(agent.prompt.text().to_owned()),
        StepKind::Nested { .. } => None,
    }
}
