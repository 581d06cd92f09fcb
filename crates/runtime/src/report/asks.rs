//! Questions of a run as data without secrets: part of results, and the list of everything that waits for a person.

use engine::{
    Outcome, RunStatus, StepStatus,
    run::{
        event::{QuestionField, ShownPart},
        frame::StepState,
        next::{Advice, Next},
        question::AskedQuestion,
    },
};
use jiff::Timestamp;
use recipe::value::Value;
use serde::Serialize;

use super::Subject;
use crate::store::secrets::{MASK, Mask};

/// A question that waits for a person.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ask {
    /// The run.
    pub run_id: String,
    /// The name of its recipe.
    pub recipe_name: String,
    /// The path of the step that asks.
    pub step: String,
    /// The question.
    pub question: String,
    /// The answers to choose from.
    pub choices: Vec<String>,
    /// Values that belong to the answer.
    pub fields: Vec<QuestionField>,
    /// What the person sees with it.
    pub show: Vec<ShownContent>,
    /// SHA-256 of the question and of everything that is shown.
    pub digest: String,
    /// When it was put for the first time.
    pub since: Timestamp,
    /// When the time for an answer is over.
    pub deadline: Option<Timestamp>,
    /// What counts as the answer then.
    pub on_timeout: Option<String>,
}

/// Something that is shown with a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShownContent {
    /// The path of a file as the recipe names it; absent if it is a text.
    pub name: Option<String>,
    /// Its size.
    pub bytes: u64,
    /// SHA-256 of its bytes; absent if a secret could be guessed from it.
    pub sha256: Option<String>,
    /// The copy in the run folder.
    pub file: String,
}

impl Ask {
    /// A question of a run.
    pub fn of(run_id: &str, recipe_name: &str, asked: &AskedQuestion, mask: &Mask) -> Ask {
        let put = &asked.put;
        let masked = |text: &str| mask.text(text).into_owned();
        let shown = |part: &ShownPart| ShownContent {
            name: part.name.as_deref().map(masked),
            bytes: part.copy.bytes,
            sha256: part.copy.sha256.clone(),
            file: part.copy.file.clone(),
        };
        Ask {
            run_id: run_id.to_owned(),
            recipe_name: recipe_name.to_owned(),
            step: put.path.clone(),
            question: masked(&put.question),
            choices: put.choices.clone(),
            fields: put.fields.iter().map(|field| without_secret(field, mask)).collect(),
            show: put.shown.iter().map(shown).collect(),
            digest: put.digest.clone(),
            since: asked.since,
            deadline: put.deadline,
            on_timeout: put.on_timeout.clone(),
        }
    }

    /// How to answer it: one action for each choice.
    pub fn advice(&self) -> Vec<Advice> {
        let required = self.fields.iter().filter(|field| field.required);
        let fields: Vec<String> = required.map(|field| field.name.clone()).collect();
        let advice = |(at, choice): (usize, &String)| {
            let text = match at {
                0 => format!("`{}` is waiting for an answer. To answer `{choice}`", self.step),
                _ => format!("to answer `{choice}`"),
            };
            let (run, step, choice) = (self.run_id.clone(), self.step.clone(), choice.clone());
            Advice::with(text, Next::Answer { run, step, choice, fields: fields.clone() })
        };
        self.choices.iter().enumerate().map(advice).collect()
    }
}

/// The same field; the default of a secret is masked.
fn without_secret(field: &QuestionField, mask: &Mask) -> QuestionField {
    let default = match field.is_secret() {
        true => field.default.as_ref().map(|_| Value::from(MASK)),
        false => field.default.as_ref().map(|value| mask.value(&field.name, value)),
    };
    QuestionField { default, ..field.clone() }
}

/// The questions of a run that wait for a person. A run that failed or was cancelled has withdrawn them.
pub(super) fn of_run(subject: &Subject<'_>) -> Vec<Ask> {
    let is_over = matches!(subject.status, RunStatus::Completed | RunStatus::Failed | RunStatus::Cancelled);
    let Some(run) = subject.run_id.filter(|_| !is_over) else { return Vec::new() };
    let name = &subject.state.root().unit.name;
    let open = subject.state.open_questions();
    open.into_iter().map(|asked| Ask::of(run, name, asked, subject.mask)).collect()
}

/// Whether a step was running when its run ended. One that only waits for a person was not.
pub(super) fn is_interrupted(subject: &Subject<'_>, step: &StepState) -> bool {
    let is_over = subject.status != RunStatus::Running;
    step.status == StepStatus::Running && is_over && !waits_below(subject, step)
}

/// The status of a step in a result.
pub(super) fn shown_status(subject: &Subject<'_>, step: &StepState) -> StepStatus {
    let is_withdrawn = matches!(subject.status, RunStatus::Failed | RunStatus::Cancelled);
    match step.status {
        _ if is_interrupted(subject, step) => StepStatus::Pending,
        StepStatus::Waiting if is_withdrawn => StepStatus::Pending,
        StepStatus::Running if waits_below(subject, step) => StepStatus::Waiting,
        StepStatus::Failed if subject.status == RunStatus::Waiting && needs_human(step) => {
            StepStatus::Waiting
        }
        status => status,
    }
}

/// Whether a step ended with an exit code that means a person has to act.
fn needs_human(step: &StepState) -> bool {
    step.ended.as_ref().is_some_and(|ended| ended.outcome == Outcome::NeedsHuman)
}

/// Whether a recipe step has a question inside that waits.
fn waits_below(subject: &Subject<'_>, state: &StepState) -> bool {
    let Some(frame) = state.frame.filter(|_| subject.status == RunStatus::Waiting) else { return false };
    let below = &subject.state.frames[frame].steps;
    below.iter().any(|step| step.status == StepStatus::Waiting || waits_below(subject, step))
}
