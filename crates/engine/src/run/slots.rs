//! How many agents work at the same time, and which one is next.

use std::collections::VecDeque;

use recipe::plan::Plan;

use crate::run::{
    actions::Action,
    event::Event,
    frame::FrameId,
    live::WaitingAgent,
    recipe_step,
    state::RunState,
    step::{finish_unbegun, start_now},
};

/// Starts the agent of a step, or lets it wait.
pub(crate) fn start_or_wait(state: &mut RunState, path: String, attempt: u32) -> Option<Action> {
    if !has_free_slot(state) {
        state.live.waiting_agents.push_back(WaitingAgent::Step { path, attempt });
        return None;
    }
    state.live.running_agents.insert(path.clone());
    Some(start_now(state, path, attempt))
}

/// Asks a recovery agent, or lets it wait.
pub(crate) fn ask_or_wait(state: &mut RunState, path: String, frame: FrameId) -> Option<Action> {
    if !has_free_slot(state) {
        state.live.waiting_agents.push_back(WaitingAgent::Recovery { path, frame });
        return None;
    }
    state.live.running_agents.insert(path.clone());
    Some(Action::AskRecovery { path, frame })
}

/// The actions for the next agent that waits: it starts, or it is not needed any more.
pub(crate) fn next_waiting(plan: &Plan, state: &mut RunState) -> Option<Vec<Action>> {
    if std::mem::take(&mut state.live.has_stopped_recipe) {
        // these do not have to wait for others to end
        let (stopped, wanted): (Vec<_>, Vec<_>) = std::mem::take(&mut state.live.waiting_agents)
            .into_iter()
            .partition(|waiting| is_dismissed(state, waiting));
        state.live.waiting_agents = wanted.into();
        let actions: Vec<Action> =
            stopped.into_iter().flat_map(|waiting| dismiss(plan, state, waiting)).collect();
        if !actions.is_empty() {
            return Some(actions);
        }
    }
    if !has_free_slot(state) {
        return None;
    }
    let waiting = state.live.waiting_agents.pop_front()?;
    if is_dismissed(state, &waiting) {
        return Some(dismiss(plan, state, waiting));
    }
    let action = match waiting {
        WaitingAgent::Step { path, attempt } => start_or_wait(state, path, attempt),
        WaitingAgent::Recovery { path, frame } => ask_or_wait(state, path, frame),
    };
    action.map(|action| vec![action])
}

/// The events about agents that were stopped before their turn: their steps did not begin.
pub fn unbegun_agents(state: &mut RunState) -> Vec<Event> {
    let waiting = std::mem::take(&mut state.live.waiting_agents);
    withdrawn(state, waiting)
}

/// The same for agents that do not survive a request to stop.
pub(crate) fn unbegun(state: &mut RunState) -> Vec<Event> {
    let waiting = std::mem::take(&mut state.live.waiting_agents);
    let (kept, stopped): (VecDeque<_>, VecDeque<_>) =
        waiting.into_iter().partition(|waiting| state.survives_stop(waiting.path()));
    state.live.waiting_agents = kept;
    withdrawn(state, stopped)
}

fn withdrawn(state: &RunState, waiting: VecDeque<WaitingAgent>) -> Vec<Event> {
    let not_begun = waiting.into_iter().filter_map(|waiting| match waiting {
        WaitingAgent::Step { path, attempt } => {
            let has_begun = state.step(&path).is_some_and(|step| step.has_spawned);
            (!has_begun).then_some(Event::StepNotBegun { path, attempt })
        }
        WaitingAgent::Recovery { .. } => None,
    });
    not_begun.collect()
}

fn has_free_slot(state: &RunState) -> bool {
    state.settings.max_agents.is_none_or(|most| state.live.running_agents.len() < most.max(1))
}

/// Whether the recipe around a waiting agent was stopped. A recipe that timed out itself is still recovered.
fn is_dismissed(state: &RunState, waiting: &WaitingAgent) -> bool {
    recipe_step::is_stopped(state, waiting.path())
}

fn dismiss(plan: &Plan, state: &mut RunState, waiting: WaitingAgent) -> Vec<Action> {
    match waiting {
        WaitingAgent::Step { path, attempt } => vec![finish_unbegun(state, &path, attempt)],
        WaitingAgent::Recovery { path, frame } => {
            state.live.closing.remove(&frame);
            recipe_step::fail(plan, state, &path, frame, None)
        }
    }
}
