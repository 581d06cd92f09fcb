//! What happens next, given what has happened.
//!
//! Never acts: the answer is data, and the same state gives the same answer.

use jiff::Timestamp;
use recipe::{
    condition::Condition,
    plan::{Limits, Step, StepKind},
    scope::Scope,
    syntax::When,
    value::Value,
};

use crate::run::{
    cause::ExceededLimit,
    cleanup,
    event::{Ended, Event},
    frame::{Frame, FrameId, StepState, Stopped},
    live::IterationWait,
    message,
    outcome::{Outcome, SkipReason, StepStatus},
    state::RunState,
};

/// What happens next.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// Record this event; nothing else has to be done.
    Record(Box<Event>),
    /// Start an attempt at this step.
    Start {
        /// The step.
        path: String,
        /// Which attempt.
        attempt: u32,
    },
    /// Wait before this iteration of a loop.
    Wait {
        /// The instance.
        path: String,
        /// When it is due.
        due: Timestamp,
    },
    /// Close the sub-recipe or the loop of this step, which has ended.
    Close {
        /// The step.
        path: String,
        /// The frame of the sub-recipe or the loop.
        frame: FrameId,
    },
    /// Determine the kind of the failure of this recipe, for its cleanup steps.
    Diagnose {
        /// The step that runs the recipe; empty for the main recipe.
        path: String,
        /// Its frame.
        frame: FrameId,
    },
    /// End the run.
    End,
}

/// What happens next; `None` if running work has to finish first. `closing` says which sub-recipes are already being
/// closed.
pub fn decide(state: &RunState, closing: &dyn Fn(FrameId) -> bool) -> Option<Decision> {
    // the newest frames first: a sub-recipe is finished before anything new starts around it
    state.active.iter().rev().find_map(|id| decide_in(state, *id, closing))
}

/// What happens next in one recipe.
pub(crate) fn decide_in(
    state: &RunState,
    id: FrameId,
    closing: &dyn Fn(FrameId) -> bool,
) -> Option<Decision> {
    let frame = &state.frames[id];
    let is_over = frame.failed_at.is_some() || frame.stopped.is_some();
    if frame.is_complete() || (is_over && frame.open == 0 && frame.hooks == 0) {
        let cleanup = if frame.is_complete() { None } else { cleanup::next(state, id) };
        return match (cleanup, frame.parent) {
            _ if closing(id) => None,
            (Some(at), _) if frame.cleanup.is_some() => consider(state, id, at),
            (Some(_), _) => Some(Decision::Diagnose { path: frame.path.clone(), frame: id }),
            (None, None) => Some(Decision::End),
            (None, Some(_)) => Some(Decision::Close { path: frame.path.clone(), frame: id }),
        };
    }
    let is_full = || frame.width().is_some_and(|width| frame.open >= width);
    match &frame.graph {
        _ if is_over => None,
        Some(graph) => graph.steps().find_map(|at| consider(state, id, at)),
        None if !frame.has_next() || is_full() => None,
        None => match frame.next_iteration() {
            Some(due) => wait_or(state, frame, due, || consider(state, id, frame.next)),
            None => consider(state, id, frame.next),
        },
    }
}

/// The decision about an iteration that is due at this time.
fn wait_or(
    state: &RunState,
    frame: &Frame,
    due: Timestamp,
    then: impl FnOnce() -> Option<Decision>,
) -> Option<Decision> {
    let path = frame.step_path(frame.next);
    match state.live.due_iterations.get(&path) {
        None => Some(Decision::Wait { path, due }),
        Some(IterationWait::Begun) => None,
        Some(IterationWait::Over) => then(),
    }
}

/// The decision about a step that its recipe has reached.
pub(crate) fn consider(state: &RunState, id: FrameId, at: usize) -> Option<Decision> {
    let frame = &state.frames[id];
    let step = &frame.unit.steps[at];
    let path = frame.step_path(at);
    if let Some(reason) = skip_reason(state, frame, step) {
        return Some(Decision::Record(Box::new(Event::StepSkipped { path, reason })));
    }
    // every instance of a `for_each` has the condition
    if let Some(condition) = step.condition.as_ref().filter(|_| step.each().is_none()) {
        match condition.decide(&frame.foreseen_at(at)) {
            Ok(Some(true) | None) => {}
            Ok(Some(false)) => {
                return Some(Decision::Record(Box::new(Event::StepSkipped {
                    path,
                    reason: SkipReason::Condition,
                })));
            }
            Err(error) => {
                let outcome =
                    Outcome::Condition { text: condition.text().to_owned(), error: error.to_string() };
                let message = message::step_failed(step.kind.word(), outcome.cause().unwrap_or_default());
                return Some(fail(path, outcome, message));
            }
        }
    }
    let attempt = state.next_attempt(&path);
    if step.looped.is_some() {
        return Some(Decision::Start { path, attempt });
    }
    let is_certain = !state.settings.dry_run || !is_uncertain(frame, at);
    let is_meant = |limit: &ExceededLimit| is_certain && (limit.is_depth() || !state.is_in_cleanup(id));
    if let Some(limit) = exceeded(state, Some(id), frame.depth, step).filter(is_meant) {
        let message = limit.to_string();
        return Some(fail(path, Outcome::Limit(limit), message));
    }
    let nested = matches!(step.kind, StepKind::Nested { .. });
    let is_full = state.running_beside(id) >= state.settings.max_parallel.max(1);
    if !nested && is_full {
        return None;
    }
    Some(Decision::Start { path, attempt })
}

fn fail(path: String, outcome: Outcome, message: String) -> Decision {
    let ended = Ended::new(outcome, Some(message));
    let status = StepStatus::Failed;
    Decision::Record(Box::new(Event::StepFinished { path, attempt: 0, status, ended, recovered: false }))
}

fn skip_reason(state: &RunState, frame: &Frame, step: &Step) -> Option<SkipReason> {
    let settings = &state.settings;
    let tagged = |tags: &[String]| step.tags.iter().any(|tag| tags.contains(tag));
    let left_out = tagged(&settings.exclude_tags)
        || (!step.tags.is_empty() && !settings.include_tags.is_empty() && !tagged(&settings.include_tags));
    if left_out {
        return Some(SkipReason::Tags);
    }
    if step.when == When::Failed && frame.cleanup.is_none() && !settings.dry_run {
        return Some(SkipReason::NothingFailed);
    }
    step.depends_on.iter().find_map(|at| {
        let needed = &frame.steps[*at];
        let fine = needed.status.is_done() || needed.skipped == Some(SkipReason::DryRun);
        (!fine).then(|| SkipReason::Dependency {
            step: frame.unit.steps[*at].id.clone(),
            why: why_not_done(needed),
        })
    })
}

/// Why a step did not complete, as text.
fn why_not_done(step: &StepState) -> String {
    match (&step.skipped, step.status) {
        (Some(SkipReason::Tags), _) => "was left out by the tag filter".to_owned(),
        (Some(SkipReason::Condition), _) => "was skipped because its condition is false".to_owned(),
        (Some(SkipReason::Dependency { step: on, .. }), _) => {
            format!("was skipped because it depends on `{on}`")
        }
        (Some(SkipReason::NothingFailed), _) => "was skipped because no step failed".to_owned(),
        (Some(SkipReason::Chosen), _) => "was skipped when the run was resumed".to_owned(),
        (_, StepStatus::Failed) => "failed".to_owned(),
        _ => "did not run".to_owned(),
    }
}

/// The condition of a step, if a dry run cannot decide it before the steps that it reads have run.
pub fn undecided(frame: &Frame, at: usize) -> Option<&Condition> {
    let condition = frame.unit.steps[at].condition.as_ref();
    condition.filter(|condition| condition.decide(&frame.foreseen_at(at)) == Ok(None))
}

/// Whether a dry run cannot tell if a step will run: its condition, or that of a step which it needs, or that of its
/// recipe, reads values that only a run has.
pub(crate) fn is_uncertain(frame: &Frame, at: usize) -> bool {
    let step = &frame.unit.steps[at];
    frame.is_uncertain
        || step.when == When::Failed
        || step.depends_on.iter().any(|needed| frame.steps[*needed].is_uncertain)
        || undecided(frame, at).is_some()
}

/// In a dry run: the limit that a run would exceed with the step that was just started, if every step with an unknown
/// condition ran. Reported only for the first such step.
pub fn may_exceed(state: &RunState, frame: FrameId, at: usize) -> Option<ExceededLimit> {
    let step = &state.frames[frame].unit.steps[at];
    if matches!(step.kind, StepKind::Nested { .. }) {
        return exceeded(state, Some(frame), state.frames[frame].depth, step);
    }
    state.lineage(frame).into_iter().find_map(|frame| {
        let limit = step_limit(frame)?;
        let recipe = frame.unit.name.clone();
        (frame.ran + frame.perhaps_ran == limit + 1).then_some(ExceededLimit::Steps { limit, recipe })
    })
}

/// How many steps may run in a recipe.
fn step_limit(frame: &Frame) -> Option<u64> {
    frame.unit.limits.max_total_steps.or(frame.parent.is_none().then_some(Limits::DEFAULT_STEPS))
}

/// The limit, of a recipe or of one around it, that a step at this depth would exceed.
pub(crate) fn exceeded(
    state: &RunState,
    innermost: Option<FrameId>,
    depth: u64,
    step: &Step,
) -> Option<ExceededLimit> {
    let nested = matches!(step.kind, StepKind::Nested { .. });
    let depth = depth + 1;
    let mut at = innermost;
    while let Some(id) = at {
        let frame = &state.frames[id];
        if nested {
            let default = frame.parent.is_none().then_some(Limits::DEFAULT_DEPTH);
            let limit = frame.unit.limits.max_depth.or(default);
            if let Some(limit) = limit.filter(|limit| depth - frame.depth > *limit) {
                return Some(ExceededLimit::Depth { limit });
            }
        } else {
            let is_exceeded = |limit: &u64| frame.ran + state.ran_before(frame) + 1 > *limit;
            if let Some(limit) = step_limit(frame).filter(is_exceeded) {
                return Some(ExceededLimit::Steps { limit, recipe: frame.unit.name.clone() });
            }
        }
        at = frame.parent.map(|(parent, _)| parent);
    }
    None
}

/// The result of a finished recipe: its `output`, otherwise the value of its last completed step.
pub fn result(frame: &Frame) -> Option<Value> {
    match frame.unit.result_template() {
        Some(template) => Some(Value::from(template.render(frame as &dyn Scope))),
        None => frame.last_value().map(|value| Value::from(value.render().into_owned())),
    }
}

/// The name of a recipe in the step that runs it. Programs around this one know sub-recipes by that name.
pub fn called(state: &RunState, frame: FrameId) -> String {
    let frame = &state.frames[frame];
    let caller = frame.parent.map(|(parent, at)| (&state.frames[parent], at));
    match caller.map(|(caller, at)| (caller, at, &caller.unit.steps[at].kind)) {
        Some((caller, at, StepKind::Nested { target, .. })) => target.called(&caller.scope(at)),
        _ => frame.unit.name.clone(),
    }
}

/// The error of a failed sub-recipe.
pub fn nested_error(state: &RunState, frame: FrameId) -> String {
    nested_error_with(state, frame, |own, rest| format!("{own}{rest}"))
}

/// The same, with the errors of its steps in another form. `form` gets the runner's own words about a step, and the
/// rest of its error, which may come from the step.
pub fn nested_error_with(
    state: &RunState,
    frame: FrameId,
    mut form: impl FnMut(&str, &str) -> String,
) -> String {
    let name = called(state, frame);
    let frame = &state.frames[frame];
    if let Some(stopped) = &frame.stopped {
        return stopped_error(state, frame, stopped, &name, &mut form);
    }
    let Some(first) = frame.failed_at else { return format!("Sub-recipe '{name}' failed") };
    // all members of a group run to their end
    let failed = frame.level().filter(|at| *at >= first && frame.is_fatal(*at));
    let mut errors: Vec<String> = failed.map(|at| step_error(state, frame, at, "", &mut form)).collect();
    errors.extend(frame.failed_cleanup().map(|at| step_error(state, frame, at, "cleanup: ", &mut form)));
    format!("Sub-recipe '{name}' failed {}", errors.join("\nand "))
}

/// The error of a stopped sub-recipe, with the state of the steps that were running.
fn stopped_error(
    state: &RunState,
    frame: &Frame,
    stopped: &Stopped,
    name: &str,
    form: &mut dyn FnMut(&str, &str) -> String,
) -> String {
    let mut errors: Vec<String> = failed_when_stopped(frame, stopped)
        .enumerate()
        .map(|(number, at)| {
            let before = if number == 0 { own_stop(frame, stopped) } else { String::new() };
            step_error(state, frame, at, &before, form)
        })
        .collect();
    let cleanup: Vec<String> =
        frame.failed_cleanup().map(|at| step_error(state, frame, at, "cleanup: ", form)).collect();
    if !errors.is_empty() {
        errors.extend(cleanup);
        return format!("Sub-recipe '{name}' failed {}", errors.join("\nand "));
    }
    let error = match state.time_is_up(frame).filter(|_| stopped.by != frame.path) {
        Some(why) => format!("ended because {why}"),
        None => stopped.error.clone(),
    };
    let error = std::iter::once(form("", &error)).chain(cleanup).collect::<Vec<_>>().join("\nand ");
    message::not_entered(name, error)
}

/// The steps of a stopped recipe that were running then and failed.
fn failed_when_stopped<'a>(frame: &'a Frame, stopped: &'a Stopped) -> impl Iterator<Item = usize> {
    stopped.open.iter().copied().filter(|at| frame.steps[*at].status == StepStatus::Failed)
}

/// Why a recipe was stopped, before the error of its first step; empty if a recipe around it was stopped.
fn own_stop(frame: &Frame, stopped: &Stopped) -> String {
    if stopped.by == frame.path { format!("{}: ", stopped.error) } else { String::new() }
}

fn step_error(
    state: &RunState,
    frame: &Frame,
    at: usize,
    before: &str,
    form: &mut dyn FnMut(&str, &str) -> String,
) -> String {
    let ended = frame.steps[at].ended.as_ref();
    let error = ended.and_then(|ended| ended.error.as_deref()).unwrap_or("no message");
    let own = own_words(state, frame, at);
    let (own, rest) = match error.strip_prefix(own.as_str()) {
        Some(rest) => (own.as_str(), rest),
        None => ("", error),
    };
    format!("{}{}", at_step(frame, at, before), form(own, rest))
}

/// The place of a failed step in the error of its recipe.
fn at_step(frame: &Frame, at: usize, before: &str) -> String {
    format!("at step '{}': [error] {before}", frame.step_id(at))
}

/// The beginning of the error of a failed step that is certain to be the runner's own: the kind of the step and its
/// exit code; for a recipe step, those of the step that failed in it.
fn own_words(state: &RunState, frame: &Frame, at: usize) -> String {
    let step = &frame.steps[at];
    if let Some(id) = step.frame {
        let inner = &state.frames[id];
        let (first, before) = match &inner.stopped {
            Some(stopped) => (failed_when_stopped(inner, stopped).next(), own_stop(inner, stopped)),
            None => (inner.failed_at, String::new()),
        };
        let Some(first) = first else { return String::new() };
        let name = called(state, id);
        return format!(
            "Sub-recipe '{name}' failed {}{}",
            at_step(inner, first, &before),
            own_words(state, inner, first)
        );
    }
    let kind = frame.unit.steps[at].kind.word();
    let Some(ended) = &step.ended else { return String::new() };
    let exit = ended.exit_code().map(|code| message::step_failed(kind, message::exit_code(code, None)));
    let is_told =
        |exit: &String| ended.error.as_deref().is_some_and(|error| error.starts_with(exit.as_str()));
    exit.filter(is_told).unwrap_or_else(|| message::heading(kind))
}
