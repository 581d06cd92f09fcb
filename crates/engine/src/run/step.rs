//! The next actions of a run. Every action is handed out once.

use std::sync::Arc;

use recipe::plan::{Plan, StepKind};

use crate::run::{
    actions::Action,
    attempt::AttemptResult,
    decide::{Decision, decide},
    event::Event,
    inputs,
    outcome::Outcome,
    react::finish,
    recipe_step, slots,
    state::RunState,
};

/// The next actions; none if work that is under way has to end first. A driver carries them out and asks again.
///
/// No decision reads a clock: a driver is asked to wait for a time, and reports when it is over.
pub fn step(plan: &Plan, state: &mut RunState) -> Vec<Action> {
    if state.live.stop.is_some() {
        return Vec::new();
    }
    if let Some((path, hook)) = state.live.due_hooks.pop_front() {
        return vec![Action::StartHook { path, hook }];
    }
    if let Some(actions) = slots::next_waiting(plan, state) {
        return actions;
    }
    let decision = decide(state, &|frame| state.live.closing.contains(&frame));
    match decision {
        None => Vec::new(),
        Some(Decision::End) => vec![Action::Finish],
        Some(Decision::Record(event)) => vec![Action::Record(event)],
        Some(Decision::Start { path, attempt }) => start(plan, state, path, attempt),
        Some(Decision::Close { path, frame }) => {
            state.live.closing.insert(frame);
            vec![Action::CloseRecipe { path, frame }]
        }
    }
}

/// Records the start of an attempt, and starts it as soon as an agent may work.
pub(crate) fn start(plan: &Plan, state: &mut RunState, path: String, attempt: u32) -> Vec<Action> {
    let Some((frame, at)) = state.locate(&path) else { return Vec::new() };
    let frame = &state.frames[frame];
    let step = Arc::clone(&frame.unit.steps[at]);
    // a dry run reads nothing
    let is_real = !state.settings.dry_run;
    let inputs = is_real.then(|| inputs::digest(plan, frame, &step));
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
    // once for each step, not for each attempt
    let pre_hook = has_hook && !state.settings.dry_run && state.live.hooked.insert(path.clone());
    let model = state.live.fallback_models.remove(&path);
    Action::StartStep { path, attempt, pre_hook, model }
}

/// Ends a step that does not start because the recipe around it was stopped.
pub(crate) fn finish_unbegun(state: &RunState, path: &str, attempt: u32) -> Action {
    let error = recipe_step::not_begun(state, path);
    finish(path, attempt, AttemptResult::refused(Outcome::Cancelled, error))
}
