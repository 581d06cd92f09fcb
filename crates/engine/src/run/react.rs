//! The actions that follow from something that happened outside the engine.

use recipe::plan::Plan;

use crate::run::{
    actions::{Action, Happening, StepEnd},
    attempt::AttemptResult,
    budget::unknown_cost,
    ensure,
    event::Event,
    live::IterationWait,
    message::tried,
    outcome::{Outcome, StepStatus},
    question, recipe_step,
    retry::{self, Retry},
    slots,
    state::RunState,
    step::{start, with_limits},
};

/// The actions that follow from a happening. The state changes only by the events that they record, apart from the
/// work that is under way.
pub fn react(plan: &Plan, state: &mut RunState, happening: Happening) -> Vec<Action> {
    let actions = reaction(plan, state, happening);
    with_limits(state, actions)
}

fn reaction(plan: &Plan, state: &mut RunState, happening: Happening) -> Vec<Action> {
    match happening {
        Happening::AttemptEnded { path, attempt, result } => attempt_ended(state, &path, attempt, *result),
        Happening::EnsureChecked { path, attempt, end } => ensure::checked(state, &path, attempt, end),
        Happening::HookEnded { path, hook, error } => {
            let hook = hook.as_str().to_owned();
            vec![Action::Record(Box::new(Event::HookFinished { path, hook, error }))]
        }
        Happening::RetryDue { path } => retry_due(plan, state, path),
        Happening::IterationDue { path } => {
            state.live.due_iterations.insert(path, IterationWait::Over);
            Vec::new()
        }
        Happening::RecipeChecked { path, unit, problem } => recipe_step::checked(state, &path, unit, problem),
        Happening::RecipeTimedOut { path, seconds } => recipe_step::timed_out(state, path, seconds),
        Happening::RecipeEnded { path, frame, result } => {
            recipe_step::ended(plan, state, &path, frame, result.map(|result| *result))
        }
        Happening::LeftoversEnded(failed) => {
            state.live.closing.remove(&failed.frame);
            vec![finish(&failed.path, failed.attempt, failed.result)]
        }
        Happening::RecoveryAnswered { path, frame, answer, usage } => {
            recipe_step::recovery_answered(plan, state, &path, frame, (answer, usage))
        }
        Happening::QuestionReady { put, now } => question::ready(state, *put, now),
        Happening::AnswerGiven(answered) => question::answered(state, *answered),
        Happening::QuestionsDue { now } => question::overdue(state, now),
        Happening::StopRequested(halt) => {
            state.live.stop = Some(halt);
            let state = &mut *state;
            let mut due = std::mem::take(&mut state.live.due_hooks);
            due.retain(|(path, _)| state.survives_stop(path));
            state.live.due_hooks = due;
            slots::unbegun(state).into_iter().map(|event| Action::Record(Box::new(event))).collect()
        }
        Happening::Diagnosed { path, frame, class } => {
            state.live.closing.remove(&frame);
            let began = Event::CleanupBegan { path, class: Some(class), stopped: None };
            vec![Action::Record(Box::new(began))]
        }
        Happening::CameToRest => {
            state.live.has_come_to_rest = true;
            Vec::new()
        }
        Happening::CleanupForbidden => {
            state.live.no_cleanup = true;
            Vec::new()
        }
    }
}

fn attempt_ended(state: &mut RunState, path: &str, attempt: u32, mut result: AttemptResult) -> Vec<Action> {
    state.live.running_agents.remove(path);
    let Some((frame, at)) = state.locate(path) else { return Vec::new() };
    if state.is_halted(path) && result.ended.outcome == Outcome::Cancelled {
        return vec![Action::Record(Box::new(stopped_with_the_run(state, path, attempt, result)))];
    }
    let unknown_cost = unknown_cost(state, path, result.ended.usage.as_ref());
    let note = |message: String| Event::Noted { path: Some(path.to_owned()), message, next: None };
    let notes = std::mem::take(&mut result.notes);
    let mut actions: Vec<Action> = unknown_cost
        .into_iter()
        .chain(notes)
        .map(|message| Action::Record(Box::new(note(message))))
        .collect();
    let may_retry = !state.is_halted(path) && !recipe_step::is_stopped(state, path);
    let frame = &state.frames[frame];
    let retry = retry::of_step(state, path, &frame.unit.steps[at], &result.ended).filter(|_| may_retry);
    if let Some(retry) = retry {
        actions.extend(plan_retry(state, path, attempt, result, retry));
        return actions;
    }
    if let Outcome::RateLimited { tries, .. } = &mut result.ended.outcome {
        let before = state.tries(path);
        *tries = before.failed + before.rate_limited + 1;
        result.ended.error = result.ended.error.map(|error| tried(&error, *tries));
    }
    ensure::beside_unmet(state, path, &mut result);
    actions.extend(ensure::prove(state, path, attempt, result));
    actions
}

/// The end of an attempt that was stopped with the run: a resume runs it again. Its usage and its background processes
/// are kept.
fn stopped_with_the_run(state: &RunState, path: &str, attempt: u32, result: AttemptResult) -> Event {
    let (path, ended) = (path.to_owned(), result.ended);
    let has_spawned = state.step(&path).is_some_and(|step| step.has_spawned);
    match has_spawned || ended.usage.as_ref().is_some_and(|used| used.runs > 0) {
        true => Event::AttemptFailed { path, attempt, ended, retry_in_ms: 0 },
        false => Event::StepNotBegun { path, attempt },
    }
}

/// Records a failed attempt and waits for the next one.
pub(crate) fn plan_retry(
    state: &mut RunState,
    path: &str,
    attempt: u32,
    result: AttemptResult,
    retry: Retry,
) -> Vec<Action> {
    let milliseconds = (retry.seconds * 1000.0) as u64;
    let leftovers = recipe_step::leftovers(state, path, attempt, &result.ended);
    let (path, ended) = (path.to_owned(), result.ended.clone());
    if let Some(model) = retry.model {
        state.live.fallback_models.insert(path.clone(), model);
    }
    state.live.failed_attempts.insert(path.clone(), result);
    let failed = Event::AttemptFailed { path: path.clone(), attempt, ended, retry_in_ms: milliseconds };
    vec![Action::Record(Box::new(failed)), Action::WaitForRetry { path, milliseconds, leftovers }]
}

fn retry_due(plan: &Plan, state: &mut RunState, path: String) -> Vec<Action> {
    if state.is_halted(&path) {
        return Vec::new();
    }
    if recipe_step::is_stopped(state, &path) {
        return recipe_step::give_up(state, &path);
    }
    state.live.failed_attempts.remove(&path);
    let attempt = state.next_attempt(&path);
    start(plan, state, path, attempt)
}

/// Ends a step as its last attempt ended.
pub(crate) fn finish(path: &str, attempt: u32, result: AttemptResult) -> Action {
    Action::FinishStep(Box::new(step_end(path, attempt, result)))
}

/// The end of a step whose last attempt ended like this.
pub(crate) fn step_end(path: &str, attempt: u32, result: AttemptResult) -> StepEnd {
    let AttemptResult { ended, value, degraded, .. } = result;
    let status = match (&ended.outcome, degraded) {
        (Outcome::Ok, _) => StepStatus::Completed,
        (Outcome::NotJson { .. }, true) => StepStatus::Degraded,
        _ => StepStatus::Failed,
    };
    StepEnd { path: path.to_owned(), attempt, status, ended, value, recovered: false }
}
