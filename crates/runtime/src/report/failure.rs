//! The failure of a run as data: the innermost failed step, and its command or prompt. Never shows a secret.

use engine::{
    Outcome, RunState,
    run::{
        cause::{Problem, Refusal},
        message::in_short,
        outcome::OutcomeKind,
    },
};
use recipe::plan::StepKind;
use serde::Serialize;

use crate::store::secrets::Mask;

/// The innermost failure.
#[derive(Clone, Debug, Serialize)]
pub struct Failure {
    /// Path of the step.
    pub step: String,
    pub outcome: OutcomeKind,
    /// The whole message.
    pub error: String,
    /// The end of the step in few words, for a screen.
    #[serde(skip)]
    pub how: String,
    /// What its recipe lacks, if that is why it could not start.
    #[serde(skip)]
    pub problems: Vec<Problem>,
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
            how: quoted(&in_short(ended)),
            problems: match &ended.outcome {
                Outcome::Refused(Refusal::Unready { problems, .. }) => problems
                    .iter()
                    .map(|problem| Problem { text: quoted(&problem.text), ..problem.clone() })
                    .collect(),
                _ => Vec::new(),
            },
            error: quoted(ended.error.as_deref().unwrap_or("the step failed without a message")),
        })
    }
}

/// A cleanup step that failed.
#[derive(Clone, Debug, Serialize)]
pub struct CleanupFailure {
    /// Path of the step.
    pub step: String,
    /// The whole message.
    pub error: String,
}

impl CleanupFailure {
    /// Those of a run.
    pub(super) fn all(state: &RunState, mask: &Mask) -> Vec<CleanupFailure> {
        let failed = state.failed_cleanup().into_iter();
        let error = |error: Option<&str>| mask.quotation(error.unwrap_or_default()).into_owned();
        failed
            .map(|failed| CleanupFailure { error: error(failed.ended.error.as_deref()), step: failed.path })
            .collect()
    }
}

/// The command or the prompt of a step, before values are inserted.
fn written(state: &RunState, path: &str) -> Option<String> {
    let (frame, at) = state.locate(path)?;
    match &state.frames[frame].unit.steps[at].kind {
        StepKind::Shell { command } => Some(command.text().to_owned()),
        StepKind::Agent(agent) => Some(agent.prompt.text().to_owned()),
        // the question as the person saw it
        StepKind::Ask(ask) => match state.questions.get(path) {
            Some(asked) => Some(asked.put.question.clone()),
            None => Some(ask.question.text().to_owned()),
        },
        StepKind::Nested { .. } => None,
    }
}
