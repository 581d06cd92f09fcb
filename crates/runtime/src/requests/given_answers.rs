//! Answers that are given beforehand: `ask.STEP` for the choice, `ask.STEP.FIELD` for a field.

use std::{collections::BTreeMap, path::Path};

use engine::run::{
    event::QuestionField,
    question::{AnswerDraft, GivenAnswer, check_answer},
    step_path::{split_instance, with_brackets},
};
use recipe::{
    plan::{AskStep, Plan, Step, StepKind, Target, Unit, ValueTemplate},
    value::{Map, Value},
};

use super::Inputs;
use crate::{
    machine::{host::name_of_user, local::SettingError},
    store::secrets::MASK,
};

/// The beginning of the names that give answers.
const PREFIX: &str = "ask.";

/// Whether a name gives an answer.
pub(super) fn is_answer(name: &str) -> bool {
    name.starts_with(PREFIX)
}

/// The given values without answers, and the answers. A recipe may have variables of its own under these names.
pub(super) fn take_out(
    plan: &Plan,
    inputs: &Inputs,
    working_dir: &Path,
) -> Result<(Inputs, BTreeMap<String, GivenAnswer>), SettingError> {
    let is_variable = plan.root().declared().any(|name| name == "ask" || is_answer(name));
    let (answers, own): (Vec<_>, Vec<_>) =
        inputs.own.iter().cloned().partition(|(name, _)| is_answer(name) && !is_variable);
    Ok((Inputs { shared: inputs.shared.clone(), own }, read(plan, &answers, working_dir)?))
}

/// The answers to the questions of a plan, or everything that is wrong with them.
fn read(
    plan: &Plan,
    given: &[(String, Value)],
    working_dir: &Path,
) -> Result<BTreeMap<String, GivenAnswer>, SettingError> {
    let mut drafts: BTreeMap<String, (Question<'_>, AnswerDraft, bool)> = BTreeMap::new();
    let mut problems = Vec::new();
    for (name, value) in given {
        let key = name.strip_prefix(PREFIX).unwrap_or(name);
        let Some((path, question, field)) = locate(plan, key) else {
            problems.push(format!("`--set {name}`: the recipe has no question `{key}`"));
            continue;
        };
        let draft = drafts.entry(path).or_insert((question, AnswerDraft::default(), false));
        match field {
            Some(field) => draft.1.fields.push((field, value.clone())),
            None => (draft.1.choice, draft.2) = (value.render().into_owned(), true),
        }
    }
    let mut answers = BTreeMap::new();
    for (path, (question, draft, has_choice)) in drafts {
        if !has_choice {
            problems.push(format!("`ask.{path}` has no choice: add `--set ask.{path}=CHOICE`"));
            continue;
        }
        match question.check(&draft, working_dir) {
            Ok(fields) => {
                let by = name_of_user().unwrap_or_else(|| "unknown".to_owned());
                answers.insert(path, GivenAnswer { choice: draft.choice, fields, by });
            }
            Err(found) => {
                problems.extend(found.into_iter().map(|problem| format!("`ask.{path}`: {problem}")));
            }
        }
    }
    if problems.is_empty() { Ok(answers) } else { Err(SettingError::Answers(problems)) }
}

/// The same answers with secret fields masked.
pub(super) fn masked(plan: &Plan, answers: &BTreeMap<String, GivenAnswer>) -> BTreeMap<String, GivenAnswer> {
    let mut answers = answers.clone();
    for (path, answer) in &mut answers {
        let Some(Question::Known(ask)) = find(plan, path) else { continue };
        for field in ask.fields.iter().filter(|field| field.is_secret()) {
            answer.fields.entry(field.name.clone()).and_modify(|value| *value = Value::from(MASK));
        }
    }
    answers
}

/// A question that is answered beforehand.
#[derive(Clone, Copy)]
enum Question<'a> {
    /// A question of the plan.
    Known(&'a AskStep),
    /// A question of a recipe that only a run finds.
    Later,
}

impl Question<'_> {
    fn check(self, draft: &AnswerDraft, working_dir: &Path) -> Result<Map, Vec<String>> {
        let Question::Known(ask) = self else { return Ok(draft.fields.iter().cloned().collect()) };
        let fields: Vec<QuestionField> = ask.fields.iter().map(QuestionField::of).collect();
        let exists = |path: &str| working_dir.join(path).exists();
        check_answer(&ask.choices, &fields, draft, &exists)
            .map_err(|problems| problems.iter().map(ToString::to_string).collect())
    }
}

/// The path of a question, the question, and the field that a name means. `q.1` means `q[1]`.
fn locate<'a>(plan: &'a Plan, key: &str) -> Option<(String, Question<'a>, Option<String>)> {
    let whole = |key: &str| {
        let mut spellings = [key.to_owned(), with_brackets(key)].into_iter();
        spellings.find_map(|path| find(plan, &path).map(|question| (path, question)))
    };
    if let Some((path, question)) = whole(key) {
        return Some((path, question, None));
    }
    let (path, field) = key.rsplit_once('.').filter(|(_, field)| field.parse::<usize>().is_err())?;
    let (path, question) = whole(path)?;
    Some((path, question, Some(field.to_owned())))
}

/// The question of a path. A number must be that of a possible instance.
fn find<'a>(plan: &'a Plan, path: &str) -> Option<Question<'a>> {
    let mut unit = plan.root();
    let mut segments = path.split('/').peekable();
    while let Some(segment) = segments.next() {
        let step = step_of(unit, segment)?;
        match &step.kind {
            StepKind::Ask(ask) if segments.peek().is_none() => return Some(Question::Known(ask)),
            StepKind::Nested { target: Target::Known { unit: next, .. }, .. } => unit = plan.unit(*next),
            StepKind::Nested { .. } if segments.peek().is_some() => return Some(Question::Later),
            _ => return None,
        }
    }
    None
}

/// The step of a recipe that a part of a path names, by its id or as an instance.
fn step_of<'a>(unit: &'a Unit, segment: &str) -> Option<&'a Step> {
    let by_id = |id: &str| unit.steps.iter().map(|step| &**step).find(|step| step.id == id);
    by_id(segment).or_else(|| {
        let (id, number) = split_instance(segment)?;
        by_id(id).filter(|step| may_have(step, number))
    })
}

/// Whether a step can have an instance with this number.
fn may_have(step: &Step, number: usize) -> bool {
    let most = match (step.each(), step.repeat()) {
        (Some(each), _) => match &each.list {
            ValueTemplate::Plain(Value::List(items)) => items.len(),
            ValueTemplate::List(items) => items.len(),
            _ => each.max_items,
        },
        (None, Some(repeat)) => repeat.max,
        (None, None) => 0,
    };
    number < most
}
