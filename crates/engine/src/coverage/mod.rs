//! The branches of recipes, each with a stable name, and which of them a run took.
//!
//! A branch belongs to a recipe file: a sub-recipe that is used twice has its branches once. Never runs anything.

mod taken;

use std::collections::BTreeSet;

use recipe::{
    field_places::FieldPlaces,
    plan::{JsonMode, Plan, Step, StepKind, Unit, ValueTemplate},
    source::Place,
    syntax::When,
};

pub use taken::covered;

use crate::run::state::effects::is_for_once;

/// A branch of a recipe, with its place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Branch {
    /// Its name.
    pub name: BranchName,
    /// The line of the field that makes it, from 1.
    pub line: usize,
}

/// The name of a branch: `review.condition.false` in one recipe file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BranchName {
    /// The recipe file.
    pub file: String,
    /// The name in that file.
    pub name: String,
}

/// The branches of a plan, in the order of its recipes and steps.
pub fn branches(plan: &Plan) -> Vec<Branch> {
    let places = FieldPlaces::of(plan);
    let mut seen = BTreeSet::new();
    let units = plan.units.iter().filter(|unit| seen.insert(unit.path.as_str()));
    units.flat_map(|unit| unit_branches(plan, unit, &places)).collect()
}

fn unit_branches(plan: &Plan, unit: &Unit, places: &FieldPlaces) -> Vec<Branch> {
    let line = |place: Option<Place>| place.map_or(1, |place| plan.sources.line_column(place).line);
    let named = |name: String, line: usize| {
        let name = BranchName { file: unit.path.clone(), name };
        Branch { name, line }
    };
    let mut found = Vec::new();
    for step in &unit.steps {
        for kind in step_branches(step) {
            let place = places.field_place(step, kind.fields());
            found.push(named(kind.name_in(step), line(Some(place))));
        }
    }
    if unit.hooks.on_error.is_some() {
        let place = places.recipe_place(unit, &["hooks", "on_error"]);
        found.push(named(ON_ERROR.to_owned(), line(place)));
    }
    // a question may have a choice `timeout`
    let mut seen = BTreeSet::new();
    found.retain(|branch| seen.insert(branch.name.clone()));
    found
}

/// The name of the branch of the hook for failed steps.
const ON_ERROR: &str = "hooks.on_error";

/// A branch of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
enum StepBranch<'a> {
    Ran,
    ConditionTrue,
    ConditionFalse,
    WhenTaken,
    WhenNotTaken,
    ToleranceOk,
    ToleranceFailed,
    RetryUsed,
    RetryExhausted,
    JsonAskedAgain,
    JsonGivenUp,
    EnsureAskedAgain,
    EnsureFailed,
    RecoveryYes,
    RecoveryNo,
    RepeatMet,
    RepeatExhausted,
    EachNone,
    EachSome,
    EachItemFailed,
    Choice(&'a str),
    AskTimeout,
    ExitCode(i32),
}

impl StepBranch<'_> {
    fn name_in(&self, step: &Step) -> String {
        let rest = match self {
            StepBranch::Ran => "ran",
            StepBranch::ConditionTrue => "condition.true",
            StepBranch::ConditionFalse => "condition.false",
            StepBranch::WhenTaken => "when.taken",
            StepBranch::WhenNotTaken => "when.not_taken",
            StepBranch::ToleranceOk => "continue_on_error.ok",
            StepBranch::ToleranceFailed => "continue_on_error.failed",
            StepBranch::RetryUsed => "retry.used",
            StepBranch::RetryExhausted => "retry.exhausted",
            StepBranch::JsonAskedAgain => "json.asked_again",
            StepBranch::JsonGivenUp => "json.given_up",
            StepBranch::EnsureAskedAgain => "ensure.asked_again",
            StepBranch::EnsureFailed => "ensure.failed",
            StepBranch::RecoveryYes => "recovery.yes",
            StepBranch::RecoveryNo => "recovery.no",
            StepBranch::RepeatMet => "repeat.met",
            StepBranch::RepeatExhausted => "repeat.exhausted",
            StepBranch::EachNone => "for_each.none",
            StepBranch::EachSome => "for_each.some",
            StepBranch::EachItemFailed => "for_each.item_failed",
            StepBranch::AskTimeout => "ask.timeout",
            StepBranch::Choice(choice) => return format!("{}.ask.{choice}", step.id),
            StepBranch::ExitCode(code) => return format!("{}.exit_codes.{code}", step.id),
        };
        format!("{}.{rest}", step.id)
    }

    /// The fields of which one makes the branch.
    fn fields(&self) -> &'static [&'static str] {
        match self {
            StepBranch::Ran => &[],
            StepBranch::ConditionTrue | StepBranch::ConditionFalse => &["condition"],
            StepBranch::WhenTaken | StepBranch::WhenNotTaken => &["when"],
            StepBranch::ToleranceOk | StepBranch::ToleranceFailed => {
                &["continue_on_error", "nonfatal", "fatal"]
            }
            StepBranch::RetryUsed | StepBranch::RetryExhausted => &["retry"],
            StepBranch::JsonAskedAgain | StepBranch::JsonGivenUp => {
                &["parse_json", "parse_json_required", "json_schema"]
            }
            StepBranch::EnsureAskedAgain | StepBranch::EnsureFailed => &["ensure"],
            StepBranch::RecoveryYes | StepBranch::RecoveryNo => &["recovery_on_failure"],
            StepBranch::RepeatMet | StepBranch::RepeatExhausted => &["repeat"],
            StepBranch::EachNone | StepBranch::EachSome | StepBranch::EachItemFailed => &["for_each"],
            StepBranch::Choice(_) => &["choices", "ask"],
            StepBranch::AskTimeout => &["timeout"],
            StepBranch::ExitCode(_) => &["exit_codes"],
        }
    }
}

/// The branches of a step: those that a field of it makes, and that a run can take.
fn step_branches(step: &Step) -> Vec<StepBranch<'_>> {
    let mut found = vec![StepBranch::Ran];
    let mut add = |is_there: bool, more: &[StepBranch<'static>]| {
        found.extend(more.iter().filter(|_| is_there).cloned());
    };
    add(step.condition.is_some(), &[StepBranch::ConditionTrue, StepBranch::ConditionFalse]);
    add(step.when != When::Ok, &[StepBranch::WhenTaken, StepBranch::WhenNotTaken]);
    add(step.continue_on_error, &[StepBranch::ToleranceOk, StepBranch::ToleranceFailed]);
    let is_retried = step.retry.as_ref().is_some_and(|retry| retry.max_attempts > 1);
    add(is_retried, &[StepBranch::RetryUsed, StepBranch::RetryExhausted]);
    let is_asked_again = matches!(&step.kind, StepKind::Agent(agent) if agent.json_retries > 0);
    let has_json = step.json != JsonMode::Text;
    add(has_json && is_asked_again, &[StepBranch::JsonAskedAgain]);
    add(has_json, &[StepBranch::JsonGivenUp]);
    let has_rules = !step.ensure.is_empty();
    // work that must not be repeated is not asked for again
    let is_repeated = step.ensure_retries > 0 && !is_for_once(step);
    add(has_rules && is_repeated, &[StepBranch::EnsureAskedAgain]);
    add(has_rules, &[StepBranch::EnsureFailed]);
    let recovers = matches!(&step.kind, StepKind::Nested { recovery: true, .. });
    add(recovers, &[StepBranch::RecoveryYes, StepBranch::RecoveryNo]);
    let has_end = step.repeat().is_some_and(|repeat| repeat.until.is_some());
    add(has_end, &[StepBranch::RepeatMet, StepBranch::RepeatExhausted]);
    if let Some(each) = step.each() {
        let written = written_items(&each.list);
        add(written.is_none_or(|items| items == 0), &[StepBranch::EachNone]);
        add(written != Some(0), &[StepBranch::EachSome, StepBranch::EachItemFailed]);
    }
    if let StepKind::Ask(ask) = &step.kind {
        add(step.timeout.is_some(), &[StepBranch::AskTimeout]);
        found.extend(ask.choices.iter().map(|choice| StepBranch::Choice(choice)));
    }
    found.extend(step.exit_codes.iter().map(|(code, _)| StepBranch::ExitCode(*code)));
    found
}

/// The number of items of a list that the recipe itself has.
fn written_items(list: &ValueTemplate) -> Option<usize> {
    match list {
        ValueTemplate::List(items) => Some(items.len()),
        ValueTemplate::Plain(recipe::value::Value::List(items)) => Some(items.len()),
        _ => None,
    }
}
