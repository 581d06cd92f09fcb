//! The next actions of a run. Every action is handed out once.

use std::sync::Arc;

use recipe::plan::{Plan, StepKind};

use crate::run::{
    actions::Action,
    attempt::AttemptResult,
    cleanup::decide_stopping,
    decide::{Decision, decide},
    ensure,
    event::Event,
    inputs,
    live::IterationWait,
    looped,
    outcome::Outcome,
    question,
    react::finish,
    recipe_step, slots,
    state::RunState,
    step_path::around,
};

/// The next actions; none if work that is under way has to end first. A driver carries them out and asks again.
///
/// No decision reads a clock: a driver is asked to wait for a time, and reports when it is over.
pub fn step(plan: &Plan, state: &mut RunState) -> Vec<Action> {
    let actions = next_actions(plan, state);
    with_limits(state, actions)
}

/// Adds the timeouts of recipes whose first work begins: the time that it waits for a free place does not count.
pub(crate) fn with_limits(state: &mut RunState, actions: Vec<Action>) -> Vec<Action> {
    if state.live.due_limits.is_empty() {
        return actions;
    }
    let mut limited = Vec::new();
    for action in actions {
        if let Action::StartStep { path, pre_hook, .. } = &action
            && (*pre_hook
                || state.planned(path).is_some_and(|step| !matches!(step.kind, StepKind::Nested { .. })))
        {
            let due = &mut state.live.due_limits;
            let outer = std::iter::successors(around(path), |path| around(path));
            let begun = outer.filter_map(|path| Some((path, due.remove(path)?)));
            limited
                .extend(begun.map(|(path, seconds)| Action::LimitRecipe { path: path.to_owned(), seconds }));
        }
        limited.push(action);
    }
    limited
}

fn next_actions(plan: &Plan, state: &mut RunState) -> Vec<Action> {
    if state.live.stop.is_some() && state.live.no_cleanup {
        return Vec::new();
    }
    if let Some((path, hook)) = state.live.due_hooks.pop_front() {
        return vec![Action::StartHook { path, hook }];
    }
    if let Some(actions) = slots::next_waiting(plan, state) {
        return actions;
    }
    let closing = |frame| state.live.closing.contains(&frame);
    let decision = match state.live.stop {
        Some(halt) => decide_stopping(state, halt.reason(), &closing),
        None => decide(state, &closing),
    };
    match decision {
        None if state.live.stop.is_some() => Vec::new(),
        None => question::nothing_else_runs(state).into_iter().collect(),
        Some(Decision::End) => vec![Action::Finish],
        Some(Decision::Record(event)) => vec![Action::Record(event)],
        Some(Decision::Start { path, attempt }) => start(plan, state, path, attempt),
        Some(Decision::Wait { path, due }) => {
            state.live.due_iterations.insert(path.clone(), IterationWait::Begun);
            vec![Action::WaitForIteration { path, due }]
        }
        Some(Decision::Close { path, frame }) if state.frames[frame].looped.is_some() => {
            looped::close(state, &path, frame)
        }
        Some(Decision::Close { path, frame }) => {
            state.live.closing.insert(frame);
            vec![Action::CloseRecipe { path, frame }]
        }
        Some(Decision::Diagnose { path, frame }) => {
            state.live.closing.insert(frame);
            vec![Action::Diagnose { path, frame }]
        }
    }
}

/// Records the start of an attempt, and starts it as soon as an agent may work.
pub(crate) fn start(plan: &Plan, state: &mut RunState, path: String, attempt: u32) -> Vec<Action> {
    let Some((frame, at)) = state.locate(&path) else { return Vec::new() };
    let frame = &state.frames[frame];
    let step = Arc::clone(&frame.unit.steps[at]);
    if step.looped.is_some() {
        return looped::start(plan, state, path, attempt);
    }
    // a dry run reads nothing
    let is_real = !state.settings.dry_run;
    let inputs = is_real.then(|| inputs::digest(plan, frame, at));
    if let Some(attempt) = state.work_to_prove(&path, &step, inputs.as_deref()) {
        return ensure::prove_again(path, attempt);
    }
    let begin = Action::Record(Box::new(Event::StepStarted { path: path.clone(), attempt, inputs }));
    let is_agent = is_real && matches!(step.kind, StepKind::Agent(_));
    let work = match is_agent {
        true => slots::start_or_wait(state, path, attempt),
        false => Some(start_now(state, path, attempt)),
    };
    std::iter::once(begin).chain(work).collect()
}

/// The work of an attempt whose start is recorded.
pub(crate) fn start_now(state: &mut RunState, path: String, attempt: u32) -> Action {
    let has_hook =
        state.locate(&path).is_some_and(|(frame, _)| state.frames[frame].unit.hooks.pre_step.is_some());
    // once for each step, not for each attempt; a question that is answered was put after its hook
    let is_due = has_hook && !state.settings.dry_run && !state.is_answered(&path);
    let pre_hook = is_due && state.live.hooked.insert(path.clone());
    let model = state.live.fallback_models.remove(&path);
    Action::StartStep { path, attempt, pre_hook, model }
}

/// Ends a step that does not start because the recipe around it was stopped.
pub(crate) fn finish_unbegun(state: &RunState, path: &str, attempt: u32) -> Action {
    let error = recipe_step::not_begun(state, path);
    finish(path, attempt, AttemptResult::refused(Outcome::Cancelled, error))
}
