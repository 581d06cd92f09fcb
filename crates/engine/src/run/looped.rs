//! Steps with a loop: entering it, and its end.

use recipe::{
    plan::{ForEach, Plan},
    scope::Scope,
    syntax::OnExhausted,
    value::Value,
};

use crate::run::{
    actions::Action,
    attempt::AttemptResult,
    cause::LoopFailure,
    event::Event,
    frame::{Frame, FrameId, RepeatEnd, item_digest},
    inputs,
    message::{instances_degraded, instances_failed, step_failed},
    outcome::{Outcome, SkipReason, StepStatus},
    react::finish,
    recipe_step,
    state::{RunState, VanishedInstance},
    step_path::instance,
    text::shorten,
};

/// The most instances that an error names.
const NAMED: usize = 10;

/// The items of a list: those of a list value, or of text that is a JSON list.
pub(crate) fn items_of(each: &ForEach, scope: &dyn Scope) -> Result<Vec<Value>, LoopFailure> {
    let value = each.list.render(scope);
    let parsed = match &value {
        Value::Text(text) => Value::from_json(text).ok(),
        _ => None,
    };
    match parsed.as_ref().unwrap_or(&value) {
        Value::List(items) if items.len() > each.max_items => {
            Err(LoopFailure::TooManyItems { count: items.len(), max: each.max_items })
        }
        Value::List(items) => Ok(items.to_vec()),
        _ => Err(LoopFailure::NotAList { found: found(&value) }),
    }
}

/// How many instances run at the same time.
pub(crate) fn width_of(each: &ForEach, scope: &dyn Scope) -> Result<usize, LoopFailure> {
    let value = each.max_parallel.render(scope);
    let number = match &value {
        Value::Text(text) => text.trim().parse().ok(),
        Value::Number(number) => Some(number.as_f64()),
        _ => None,
    };
    match number.filter(|number: &f64| *number >= 1.0 && number.fract() == 0.0) {
        Some(number) => Ok(number as usize),
        None => Err(LoopFailure::NotACount { found: found(&value) }),
    }
}

/// What was found instead of a list or a number.
fn found(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Text(text) => format!("text {}", Value::from(shorten(text, 60)).to_json()),
        other => format!("{} {}", other.type_name(), shorten(&other.to_json(), 60)),
    }
}

/// Starts a step with a loop: enters the loop, or ends the step if that is not possible.
pub(crate) fn start(plan: &Plan, state: &mut RunState, path: String, attempt: u32) -> Vec<Action> {
    let Some((id, at)) = state.locate(&path) else { return Vec::new() };
    let frame = &state.frames[id];
    let step = &frame.unit.steps[at];
    let is_real = !state.settings.dry_run;
    let inputs = is_real.then(|| inputs::digest(plan, frame, at));
    let record = |event: Event| Action::Record(Box::new(event));
    let mut actions = vec![record(Event::StepStarted { path: path.clone(), attempt, inputs })];
    let Some(each) = step.each() else {
        actions.push(record(Event::LoopEntered { path, items: Vec::new() }));
        return actions;
    };
    if !is_real && !is_foreseen(frame, at, each) {
        // the driver says what would happen
        actions.push(Action::StartStep { path, attempt, pre_hook: false, model: None });
        return actions;
    }
    let scope = frame.scope(at);
    match width_of(each, &scope).and_then(|_| items_of(each, &scope)) {
        Ok(items) => {
            let items: Vec<String> = items.iter().map(item_digest).collect();
            let vanished = state.vanished(&path, &items);
            actions.push(record(Event::LoopEntered { path: path.clone(), items }));
            actions.extend((!vanished.is_empty()).then(|| vanished_note(path, &vanished)));
        }
        Err(failure) => {
            let failure = Outcome::Loop(failure);
            let error = format!("for_each of step '{}' {}", step.id, failure.cause().unwrap_or_default());
            actions.push(finish(&path, attempt, AttemptResult::refused(failure, error)));
        }
    }
    actions
}

/// Whether a dry run knows the list.
fn is_foreseen(frame: &Frame, at: usize, each: &ForEach) -> bool {
    let scope = frame.foreseen_at(at);
    let names = each.templates().into_iter().flat_map(|template| template.names());
    names.into_iter().all(|(path, _)| scope.is_known(path))
}

fn vanished_note(path: String, vanished: &[VanishedInstance]) -> Action {
    let are = if vanished.len() == 1 { "its item is" } else { "their items are" };
    let which: Vec<String> = vanished
        .iter()
        .map(|instance| {
            let failed = if instance.has_failed { ", failed" } else { "" };
            format!("{} ({}{failed})", instance.path, shorten(&instance.item.to_json(), 60))
        })
        .collect();
    let message = format!("dropped {}: {are} no longer in the list", listed(&which));
    Action::Note { path, message }
}

/// Ends a step whose loop has ended.
pub(crate) fn close(state: &RunState, path: &str, id: FrameId) -> Vec<Action> {
    let frame = &state.frames[id];
    let attempt = state.step(path).map_or(0, |step| step.attempt);
    let skip = |reason: SkipReason| {
        vec![Action::Record(Box::new(Event::StepSkipped { path: path.to_owned(), reason }))]
    };
    if frame.failed_at.is_some() || frame.stopped.is_some() {
        return vec![finish(path, attempt, failed(state, path, id))];
    }
    if state.settings.dry_run {
        return skip(SkipReason::DryRun);
    }
    if let Some(reason) = skipped(frame) {
        return skip(reason);
    }
    match (frame.repeat(), frame.looped.as_ref().and_then(|looped| looped.end.as_ref())) {
        (Some(repeat), Some(RepeatEnd::Exhausted(values))) => {
            let until = repeat.until.as_ref().map(|until| until.text().to_owned()).unwrap_or_default();
            let failure = LoopFailure::NotReached { iterations: repeat.max, until, values: values.clone() };
            exhausted(path, attempt, repeat.on_exhausted, failure)
        }
        (Some(repeat), Some(RepeatEnd::Broken(error))) => {
            let text = repeat.until.as_ref().map(|until| until.text().to_owned()).unwrap_or_default();
            let outcome = Outcome::Condition { text, error: error.clone() };
            vec![finish(path, attempt, AttemptResult::failed("repeat", outcome, ""))]
        }
        _ => vec![finish(path, attempt, ended_well(path, frame))],
    }
}

/// Why a loop was skipped: all its instances were.
fn skipped(frame: &Frame) -> Option<SkipReason> {
    let mut begun = frame.steps.iter().filter(|step| step.status != StepStatus::Pending).peekable();
    let reason = begun.peek()?.skipped.clone();
    begun.all(|step| step.status == StepStatus::Skipped).then_some(reason.unwrap_or(SkipReason::Condition))
}

/// The end of a loop without a fatal failure. A `repeat` ends as its last iteration, which may have failed where that is
/// tolerated; a `for_each` is degraded if one of its instances is.
fn ended_well(path: &str, frame: &Frame) -> AttemptResult {
    let mut result = AttemptResult::ok();
    let degraded = frame.instances_that_are(StepStatus::Degraded);
    let first = match frame.repeat() {
        Some(_) => frame.last_iteration(),
        None => degraded.first().map(|at| &frame.steps[*at]),
    };
    let Some((status, ended)) = first.and_then(|step| Some((step.status, step.ended.as_ref()?))) else {
        return result;
    };
    if matches!(status, StepStatus::Failed | StepStatus::Degraded) {
        result.degraded = status == StepStatus::Degraded;
        result.ended.outcome = ended.outcome.clone();
        result.ended.missing = ended.missing.clone();
        result.ended.error = match frame.repeat() {
            Some(_) => ended.error.clone(),
            None => {
                let paths: Vec<String> = degraded.iter().map(|at| instance(path, *at)).collect();
                let which = instances_degraded(&listed(&paths), degraded.len(), frame.steps.len());
                Some(format!("{which}: {}", ended.error.as_deref().unwrap_or_default()))
            }
        };
    }
    result
}

/// Ends a `repeat` whose condition was not reached.
fn exhausted(path: &str, attempt: u32, on_exhausted: OnExhausted, failure: LoopFailure) -> Vec<Action> {
    let outcome = Outcome::Loop(failure);
    let error = format!("repeat: {}", outcome.cause().unwrap_or_default());
    match on_exhausted {
        OnExhausted::Fail => vec![finish(path, attempt, AttemptResult::refused(outcome, error))],
        OnExhausted::Continue => {
            let note = Action::Note { path: path.to_owned(), message: error };
            let mut result = AttemptResult::ok();
            result.ended.is_exhausted = true;
            vec![note, finish(path, attempt, result)]
        }
    }
}

/// The end of a loop of which an instance failed, or that was stopped.
fn failed(state: &RunState, path: &str, id: FrameId) -> AttemptResult {
    let frame = &state.frames[id];
    let outcome = recipe_step::outcome(state, id);
    let failed = frame.instances_that_are(StepStatus::Failed);
    let error_of = |at: &usize| frame.steps[*at].ended.as_ref().and_then(|ended| ended.error.clone());
    let first = failed.first().and_then(error_of);
    let Some(first) = first else {
        let why = frame.stopped.as_ref().map(|stopped| stopped.error.clone()).unwrap_or_default();
        return AttemptResult::refused(outcome, step_failed("loop", why));
    };
    let paths: Vec<String> = failed.iter().map(|at| instance(path, *at)).collect();
    let error = match frame.each() {
        Some(_) => format!("{}: {first}", instances_failed(&listed(&paths), failed.len(), frame.steps.len())),
        None => format!("repeat: {} failed: {first}", paths.join(", ")),
    };
    AttemptResult::refused(outcome, error)
}

/// The first of some paths, and how many more there are.
fn listed(paths: &[String]) -> String {
    let shown = paths[..paths.len().min(NAMED)].join(", ");
    match paths.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
