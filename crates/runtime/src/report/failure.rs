//! The failure of a run as data: the innermost failed step, and its command or prompt. Never shows a secret.

use engine::{RunState, run::outcome::OutcomeKind};
use recipe::plan::StepKind;
use serde::Serialize;

use crate::store::secrets::Mask;

/// The innermost failure.
#[derive(Clone, Debug, Serialize)]
pub struct Failure {
    /// Path of the step.
    pub step: String,
    /// How it ended.
    pub outcome: OutcomeKind,
    /// The whole message.
    pub error: String,
    /// The command or the prompt of the step, as written in the recipe.
    #[serde(skip)]
    pub written: Option<String>,
    /// Steps of its recipe that were running when it timed out, with their commands or prompts.
    #[serde(skip)]
    pub cut_short: Vec<(String, Option<String>)>,
}

impl Failure {
    /// The failure of a run.
    pub(super) fn of(state: &RunState, mask: &Mask) -> Option<Failure> {
        let (step, ended) = state.root_cause()?;
        let quoted = |text: &str| mask.quotation(text).into_owned();
        let written = |path: &str| written(state, path).map(|text| mask.text(&text).into_owned());
        let below = state.cut_short_in(&step);
        Some(Failure {
            written: written(&step),
            cut_short: below.into_iter().map(|path| (path.clone(), written(&path))).collect(),
            step,
            outcome: ended.outcome.kind(),
            error: quoted(ended.error.as_deref().unwrap_or("the step failed without a message")),
        })
    }
}

/// The command or the prompt of a step, before values are inserted.
fn written(state: &RunState, path: &str) -> Option<String> {
    let (frame, at) = state.locate(path)?;
    match &state.frames[frame].unit.steps[at].kind {
        StepKind::Shell { command } => Some(command.text().to_owned()),
        StepKind::Agent(agent) => Some(agent.prompt.text().to_owned()),
        StepKind::Nested { .. } => None,
    }
}
