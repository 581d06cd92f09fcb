//! Steps that run a recipe: entering it, its timeout, its end, and its recovery by an agent.

use std::sync::Arc;

use recipe::plan::{Plan, Step, StepKind};
use serde::{Deserialize, Serialize};

use crate::run::{
    actions::{Action, FailedRecipe, RecoveryAnswer, StepEnd},
    attempt::AttemptResult,
    budget::unknown_cost,
    cause::Refusal,
    decide::{called, nested_error},
    ensure,
    event::{Ended, Event, Usage},
    frame::{Frame, FrameId},
    message::{not_entered, step_failed},
    outcome::{Outcome, SkipReason, StepStatus, StopCause},
    question,
    react::{finish, plan_retry},
    retry::{self, RecipeRetry},
    slots,
    state::{RunState, timeout_fired},
    step::finish_unbegun,
    text::brief,
};

/// Which failed sub-recipes an agent may try to finish.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recovery {
    /// Those whose step allows it.
    #[default]
    Declared,
    /// All.
    Always,
    /// None.
    Off,
}

/// Why a recovery failed, and its usage.
pub(crate) struct NotRecovered {
    message: String,
    usage: Option<Usage>,
}

/// Enters the recipe of a step, or ends the step if that is not possible.
pub(crate) fn checked(
    state: &mut RunState,
    path: &str,
    unit: Option<String>,
    problem: Option<Refusal>,
) -> Vec<Action> {
    if state.is_halted(path) {
        return Vec::new();
    }
    if is_stopped(state, path) {
        return give_up(state, path);
    }
    let Some(step) = state.planned(path) else { return Vec::new() };
    let entered = |unit: String| Event::RecipeEntered { path: path.to_owned(), unit };
    match (unit, problem) {
        (Some(unit), None) => {
            if let Some(seconds) = step.timeout.filter(|_| !state.settings.dry_run) {
                state.live.due_limits.insert(path.to_owned(), seconds);
            }
            vec![Action::Record(Box::new(entered(unit)))]
        }
        // the recipe is still entered and stopped at once, so that it ends like every recipe that fails
        (Some(unit), Some(refusal)) if ends_inside(state, &step, &refusal) => {
            let (path, error) = (path.to_owned(), refusal.to_string());
            let stopped = Event::RecipeStopped { path, error, cause: StopCause::Refused(refusal) };
            [entered(unit), stopped].map(|event| Action::Record(Box::new(event))).into()
        }
        (_, Some(refusal)) => vec![cannot_enter(state, path, &step, refusal)],
        (None, None) => Vec::new(),
    }
}

/// Whether a recipe that cannot run is entered nevertheless: an agent may recover it, or a stub says that it fails.
fn ends_inside(state: &RunState, step: &Step, refusal: &Refusal) -> bool {
    let may = may_recover(state, step) || matches!(refusal, Refusal::Stub { .. });
    may && !state.settings.dry_run
}

/// Ends a step that cannot enter its recipe.
fn cannot_enter(state: &RunState, path: &str, step: &Step, refusal: Refusal) -> Action {
    let name = match (&step.kind, state.locate(path)) {
        (StepKind::Nested { target, .. }, Some((frame, at))) => {
            brief(&target.called(&state.frames[frame].scope(at)))
        }
        _ => String::new(),
    };
    let attempt = state.step(path).map_or(0, |step| step.attempt);
    let error = not_entered(&name, &refusal);
    finish(path, attempt, AttemptResult::refused(Outcome::Refused(refusal), error))
}

/// The timeout of a recipe step has passed: no step of its recipe starts any more, and running ones end.
pub(crate) fn timed_out(state: &mut RunState, path: String, seconds: f64) -> Vec<Action> {
    let is_running = state.step(&path).is_some_and(|step| step.status == StepStatus::Running);
    if !is_running || state.is_halted(&path) {
        return Vec::new();
    }
    state.live.has_stopped_recipe = true;
    let error = Outcome::TimedOut(seconds).cause().unwrap_or_default();
    let stopped = Event::RecipeStopped { path: path.clone(), error, cause: StopCause::Timeout };
    let why = timeout_fired(&path, seconds);
    let spared = state.cleanup_below(&path);
    let unanswered = question::give_up_below(state, &path, &why, &spared);
    let stop = [Action::Record(Box::new(stopped)), Action::StopBelow { path, why, spared }];
    stop.into_iter().chain(unanswered).collect()
}

/// A sub-recipe has ended, with this result if it succeeded.
pub(crate) fn ended(
    plan: &Plan,
    state: &mut RunState,
    path: &str,
    frame: FrameId,
    result: Option<AttemptResult>,
) -> Vec<Action> {
    state.live.closing.remove(&frame);
    state.live.due_limits.remove(path);
    let Some(step) = state.planned(path) else { return Vec::new() };
    if state.settings.dry_run {
        return match state.frames[frame].is_complete() {
            true => {
                let reason = SkipReason::DryRun;
                vec![Action::Record(Box::new(Event::StepSkipped { path: path.to_owned(), reason }))]
            }
            false => fail(plan, state, path, frame, None),
        };
    }
    if let Some(result) = result {
        return end(plan, state, path, frame, result);
    }
    // an agent recovers a recipe only after all attempts of the recipe itself
    let ended = Ended::new(outcome(state, frame), None);
    // an agent does not replace a person that a step waits for, nor bypass a limit
    let is_final =
        matches!(ended.outcome, Outcome::NeedsHuman | Outcome::Limit(_)) || state.lacks_approval(frame);
    let may = may_recover(state, &step) && !is_final && !state.is_halted(path) && !is_stopped(state, path);
    if may && !matches!(retry::of_recipe(plan, state, path, frame, &ended), RecipeRetry::Again(_)) {
        return start_recovery(state, path, frame);
    }
    fail(plan, state, path, frame, None)
}

/// Ends an attempt at a sub-recipe that failed and that no agent recovers.
pub(crate) fn fail(
    plan: &Plan,
    state: &mut RunState,
    path: &str,
    frame: FrameId,
    refusal: Option<NotRecovered>,
) -> Vec<Action> {
    let mut error = nested_error(state, frame);
    if let Some(refusal) = &refusal {
        error = format!("{error}\n[recovery] {}", refusal.message);
    }
    // a recipe that failed has no result, so its step has no value
    let mut result = AttemptResult::refused(outcome(state, frame), error);
    result.ended.usage = refusal.and_then(|refusal| refusal.usage);
    end(plan, state, path, frame, result)
}

/// Ends an attempt at a sub-recipe: a retry follows, or the step ends.
fn end(
    plan: &Plan,
    state: &mut RunState,
    path: &str,
    frame: FrameId,
    mut result: AttemptResult,
) -> Vec<Action> {
    let Some(attempt) = state.step(path).map(|step| step.attempt) else { return Vec::new() };
    let mut actions = Vec::new();
    match retry::of_recipe(plan, state, path, frame, &result.ended) {
        RecipeRetry::Again(retry) => return plan_retry(state, path, attempt, result, retry),
        RecipeRetry::Forbidden(steps) => {
            let note = retry::forbidden(&steps, is_resumed_inside(state, path));
            result.ended.error = Some(match result.ended.error.take() {
                Some(error) => format!("{error}\n{note}"),
                None => note.clone(),
            });
            actions.push(Action::Note { path: path.to_owned(), message: format!("warning: {note}") });
        }
        RecipeRetry::Never => {}
    }
    if result.is_done() {
        actions.extend(ensure::prove(state, path, attempt, result));
    } else {
        actions.extend(end_failed(state, path, attempt, frame, result));
    }
    actions
}

/// Ends a step whose recipe failed, after the processes that the recipe left running.
pub(crate) fn end_failed(
    state: &mut RunState,
    path: &str,
    attempt: u32,
    frame: FrameId,
    result: AttemptResult,
) -> Vec<Action> {
    let leftovers = leftovers(state, path, attempt, &result.ended);
    if leftovers.is_empty() {
        return vec![finish(path, attempt, result)];
    }
    state.live.closing.insert(frame);
    let failed = Box::new(FailedRecipe { path: path.to_owned(), attempt, frame, result });
    vec![Action::EndLeftovers { leftovers, failed }]
}

/// The processes that an attempt at a step left running, including those of its sub-recipe.
pub(crate) fn leftovers(state: &RunState, path: &str, attempt: u32, ended: &Ended) -> Vec<String> {
    let mut steps = state.left_running_below(path);
    steps.extend(ended.left_running.then(|| format!("{path}#{attempt}")));
    steps
}

/// Ends a step that was about to start or to be retried, because the recipe around it was stopped. The result of its
/// last attempt is kept.
pub(crate) fn give_up(state: &mut RunState, path: &str) -> Vec<Action> {
    let Some((frame, at)) = state.locate(path) else { return Vec::new() };
    let attempt = state.frames[frame].steps[at].attempt;
    let Some(mut result) = state.live.failed_attempts.remove(path) else {
        return vec![finish_unbegun(state, path, attempt)];
    };
    let why = state.time_is_up(&state.frames[frame]);
    if let (Some(error), Some(why)) = (&mut result.ended.error, why) {
        error.push_str(&format!("\nnot tried again: {why}"));
    }
    // it was counted when the attempt failed
    result.ended.usage = None;
    vec![finish(path, attempt, result)]
}

/// The error of a step that does not start because the recipe around it was stopped.
pub(crate) fn not_begun(state: &RunState, path: &str) -> String {
    let Some((frame, at)) = state.locate(path) else { return String::new() };
    let frame = &state.frames[frame];
    let why = match (state.time_is_up(frame), &frame.stopped) {
        (Some(why), _) => format!("not begun because {why}"),
        (None, Some(stopped)) => stopped.error.clone(),
        (None, None) => String::new(),
    };
    match &frame.unit.steps[at].kind {
        StepKind::Nested { target, .. } => not_entered(&brief(&target.called(&frame.scope(at))), why),
        kind => step_failed(kind.word(), why),
    }
}

/// Whether the recipe around a step was stopped, and the step is not part of its cleanup.
pub(crate) fn is_stopped(state: &RunState, path: &str) -> bool {
    let is_so = |frame: &Frame| frame.stopped.is_some() && frame.cleanup.is_none();
    state.locate(path).is_some_and(|(frame, _)| is_so(&state.frames[frame]))
}

/// The outcome of a failed sub-recipe. Waiting for a person and a spent budget are passed up to the top, a limit to the
/// recipe that sets it.
pub(crate) fn outcome(state: &RunState, frame: FrameId) -> Outcome {
    let id = frame;
    let frame = &state.frames[id];
    if let Some(stopped) = &frame.stopped {
        if let StopCause::Refused(refusal) = &stopped.cause {
            return Outcome::Refused(refusal.clone());
        }
        let step = frame.parent.map(|(parent, at)| &state.frames[parent].unit.steps[at]);
        let seconds = step.and_then(|step| step.timeout).filter(|_| stopped.by == frame.path);
        return seconds.map_or(Outcome::Cancelled, Outcome::TimedOut);
    }
    let ended = frame.failed_at.and_then(|at| frame.steps[at].ended.as_deref());
    match ended.map(|ended| &ended.outcome) {
        Some(outcome @ (Outcome::NeedsHuman | Outcome::Budget(_))) => outcome.clone(),
        _ => state.outer_limit(id).cloned().map_or(Outcome::Nested, Outcome::Limit),
    }
}

/// Whether a resume would continue inside a failed recipe; it does not where the failure is tolerated.
fn is_resumed_inside(state: &RunState, path: &str) -> bool {
    let around = std::iter::successors(state.locate(path), |(frame, _)| state.frames[*frame].parent);
    around.into_iter().all(|(frame, at)| !state.frames[frame].unit.steps[at].continue_on_error)
}

/// Whether an agent may recover the recipe of a step if it fails.
fn may_recover(state: &RunState, step: &Step) -> bool {
    let StepKind::Nested { recovery, .. } = &step.kind else { return false };
    match state.settings.recovery {
        Recovery::Off => false,
        Recovery::Declared => *recovery,
        Recovery::Always => true,
    }
}

/// Announces that an agent has to finish the work of a sub-recipe; the agent is asked when it is its turn.
fn start_recovery(state: &mut RunState, path: &str, frame: FrameId) -> Vec<Action> {
    state.live.closing.insert(frame);
    let name = called(state, frame);
    let failed = match failed_steps(&state.frames[frame]) {
        steps if steps.is_empty() => String::new(),
        steps => format!(" (step '{}')", steps.join(", ")),
    };
    let message = format!("warning: Sub-recipe '{name}' failed{failed}. Attempting agent recovery.");
    let note = Action::Note { path: path.to_owned(), message };
    std::iter::once(note).chain(slots::ask_or_wait(state, path.to_owned(), frame)).collect()
}

/// Ids of the failed steps of a recipe.
pub fn failed_steps(frame: &Frame) -> Vec<String> {
    let failed = (0..frame.steps.len()).filter(|at| frame.steps[*at].status == StepStatus::Failed);
    failed.map(|at| frame.step_id(at)).collect()
}

/// A recovery agent answered, or could not be asked.
pub(crate) fn recovery_answered(
    plan: &Plan,
    state: &mut RunState,
    path: &str,
    frame: FrameId,
    (answer, usage): (RecoveryAnswer, Option<Usage>),
) -> Vec<Action> {
    state.live.running_agents.remove(path);
    let unknown_cost = unknown_cost(state, path, usage.as_ref());
    let note = unknown_cost.map(|message| Action::Note { path: path.to_owned(), message });
    note.into_iter().chain(judge_recovery(plan, state, path, frame, (answer, usage))).collect()
}

fn judge_recovery(
    plan: &Plan,
    state: &mut RunState,
    path: &str,
    frame: FrameId,
    (answer, usage): (RecoveryAnswer, Option<Usage>),
) -> Vec<Action> {
    let message = match answer {
        // a resume asks again
        RecoveryAnswer::Stopped if state.is_halted(path) => return Vec::new(),
        RecoveryAnswer::Stopped => {
            state.live.closing.remove(&frame);
            let message = "Agent recovery was stopped with the recipe around it".to_owned();
            return fail(plan, state, path, frame, Some(NotRecovered { message, usage }));
        }
        RecoveryAnswer::Recovered(result) if result.is_done() => {
            return recovered(state, path, frame, *result, usage);
        }
        RecoveryAnswer::Recovered(result) => result.ended.error.unwrap_or_default(),
        RecoveryAnswer::NotRecovered(message) => message,
    };
    state.live.closing.remove(&frame);
    let note = Action::Note { path: path.to_owned(), message: format!("warning: {message}") };
    let failed = fail(plan, state, path, frame, Some(NotRecovered { message, usage }));
    std::iter::once(note).chain(failed).collect()
}

/// Ends a step whose recipe failed and whose work an agent has finished.
fn recovered(
    state: &mut RunState,
    path: &str,
    frame: FrameId,
    result: AttemptResult,
    usage: Option<Usage>,
) -> Vec<Action> {
    state.live.closing.remove(&frame);
    let name = called(state, frame);
    let id = path.rsplit('/').next().unwrap_or(path);
    let message = format!("Agent recovery succeeded for sub-recipe '{name}' (step '{id}')");
    let mut ended = Ended::new(result.ended.outcome, result.ended.error);
    ended.usage = usage;
    let end = StepEnd {
        path: path.to_owned(),
        attempt: state.step(path).map_or(0, |step| step.attempt),
        status: if result.degraded { StepStatus::Degraded } else { StepStatus::Completed },
        ended,
        value: Some(result.value.unwrap_or_default()),
        recovered: true,
    };
    let note = Action::Note { path: path.to_owned(), message };
    std::iter::once(note).chain(ensure::prove_end(state, end)).collect()
}

impl RunState {
    /// The step of a recipe that a path names.
    pub fn planned(&self, path: &str) -> Option<Arc<Step>> {
        self.locate(path).map(|(frame, at)| Arc::clone(&self.frames[frame].unit.steps[at]))
    }
}
