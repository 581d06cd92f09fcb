//! What a decision about a step saw: its condition with values, tags, dependencies, and what its attempts came to.

use recipe::{plan::Step, syntax::When, value::Value};
use serde::Serialize;

use super::{Hide, LONGEST, Moment, fate::StepHistory};
use crate::run::{
    frame::Frame,
    outcome::{Outcome, OutcomeKind},
    text::shorten,
};

/// A name with its value, without secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NamedValue {
    /// The name.
    pub name: String,
    /// Its value as JSON; `null` if it has none.
    pub value: String,
}

/// A condition, and what it read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConditionFact {
    /// The condition.
    pub text: String,
    /// Whether it held; absent if it could not be evaluated.
    pub held: Option<bool>,
    /// The values that it read at that moment.
    pub read: Vec<NamedValue>,
}

/// A step that another one depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DependencyFact {
    /// The step.
    pub step: String,
    /// Its status at that moment.
    pub status: &'static str,
}

/// What a decision saw.
#[derive(Clone, Debug, Serialize)]
pub struct StepCircumstances {
    /// The condition of the step.
    pub condition: Option<ConditionFact>,
    /// `failed` or `always`, if the step says so.
    pub when: Option<&'static str>,
    /// Its tags.
    pub tags: Vec<String>,
    /// The tags of which one was asked for.
    pub include_tags: Vec<String>,
    /// The tags that were left out.
    pub exclude_tags: Vec<String>,
    /// The steps that it depends on.
    pub depends_on: Vec<DependencyFact>,
    /// Whether it is the first step of its recipe.
    pub is_first: bool,
}

/// What a decision about a step saw; `None` if the recipe around the step was not entered.
pub fn circumstances(path: &str, now: Moment<'_>, hide: &dyn Hide) -> Option<StepCircumstances> {
    let (id, at) = now.state.locate(path)?;
    let frame = &now.state.frames[id];
    let step = &frame.unit.steps[at];
    let settings = &now.state.settings;
    let depends_on = step.depends_on.iter().map(|needed| DependencyFact {
        step: frame.unit.steps[*needed].id.clone(),
        status: frame.steps[*needed].status.as_str(),
    });
    Some(StepCircumstances {
        condition: condition(frame, at, step, hide),
        when: (step.when != When::Ok).then(|| if step.when == When::Failed { "failed" } else { "always" }),
        tags: step.tags.clone(),
        include_tags: settings.include_tags.clone(),
        exclude_tags: settings.exclude_tags.clone(),
        depends_on: depends_on.collect(),
        is_first: at == 0,
    })
}

fn condition(frame: &Frame, at: usize, step: &Step, hide: &dyn Hide) -> Option<ConditionFact> {
    // every instance of a `for_each` has the condition
    let condition = step.condition.as_ref().filter(|_| step.each().is_none())?;
    let scope = frame.scope(at);
    let mut read: Vec<NamedValue> = Vec::new();
    for (path, _) in condition.names() {
        let named =
            NamedValue { name: path.to_string(), value: shown(&path.root, &path.resolve(&scope), hide) };
        if !read.contains(&named) {
            read.push(named);
        }
    }
    let held = condition.decide(&scope).ok().flatten();
    Some(ConditionFact { text: condition.text().trim().to_owned(), held, read })
}

/// A value as JSON, shortened and without secrets.
pub(super) fn shown(name: &str, value: &Value, hide: &dyn Hide) -> String {
    match value {
        Value::Null => "null".to_owned(),
        _ if hide.is_secret(name) => hide.text(super::SECRET),
        value => hide.text(&shorten(&value.to_json(), LONGEST)),
    }
}

/// What an attempt came to.
#[derive(Clone, Debug, Serialize)]
pub struct AttemptFact {
    /// Its number, from 1.
    pub attempt: u32,
    /// How it ended.
    pub outcome: OutcomeKind,
    /// Why it failed, in one line.
    pub error: Option<String>,
    /// Milliseconds until the retry that followed.
    pub retried_after_ms: Option<u64>,
}

/// The attempts at a step, in order.
pub(super) fn attempts(history: &StepHistory, hide: &dyn Hide) -> Vec<AttemptFact> {
    let fact = |end: &super::fate::AttemptEnd| AttemptFact {
        attempt: end.attempt,
        outcome: end.ended.outcome.kind(),
        error: end
            .ended
            .error
            .as_ref()
            .map(|error| hide.text(&shorten(error.lines().next().unwrap_or_default(), LONGEST))),
        // a run that was stopped is not a retry
        retried_after_ms: end.retry_in_ms.filter(|_| end.ended.outcome != Outcome::Cancelled),
    };
    history.ends.iter().map(fact).collect()
}
