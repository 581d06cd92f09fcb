//! The agents whose work a failed check is about, and their answers. Never judges the check.

use engine::{RunState, failure::is_hollow, run::frame::FrameId};
use recipe::{
    graph,
    plan::{Plan, StepKind},
};

use crate::store::secrets::Mask;

/// The work of one agent.
pub(super) struct AgentWork {
    pub(super) step: String,
    /// The part of its answer that is examined.
    pub(super) answer: Option<String>,
    /// Whether files changed meanwhile, or declared files exist.
    pub(super) files_changed: Option<bool>,
}

impl AgentWork {
    fn is_hollow(&self) -> bool {
        self.answer.as_deref().is_some_and(|answer| is_hollow(answer, self.files_changed).is_some())
    }
}

/// The work that a failed check is about: the last hollow one, otherwise the latest.
pub(super) fn checked_work(
    plan: &Plan,
    state: &RunState,
    id: FrameId,
    at: usize,
    mask: &Mask,
) -> Option<AgentWork> {
    let unit = &state.frames[id].unit;
    if !matches!(unit.steps[at].kind, StepKind::Shell { .. }) {
        return None;
    }
    let edges = graph::edges_in(plan, unit);
    let mut before: Vec<usize> = edges.iter().filter(|edge| edge.to == at).map(|edge| edge.from).collect();
    before.sort_unstable();
    before.dedup();
    let agents = before.into_iter().filter_map(|from| last_agent(state, id, from));
    let mut works: Vec<AgentWork> = agents.map(|(id, at)| work(state, id, at, mask)).collect();
    let hollow = works.iter().rposition(AgentWork::is_hollow);
    match hollow {
        Some(hollow) => Some(works.swap_remove(hollow)),
        None => works.pop(),
    }
}

/// The agent of a step; of a recipe step, the last one that worked in it.
fn last_agent(state: &RunState, id: FrameId, at: usize) -> Option<(FrameId, usize)> {
    let frame = &state.frames[id];
    if let Some(child) = frame.steps[at].frame {
        return (0..state.frames[child].steps.len()).rev().find_map(|at| last_agent(state, child, at));
    }
    let is_agent = matches!(frame.unit.steps[at].kind, StepKind::Agent(_));
    (is_agent && frame.steps[at].status.is_done()).then_some((id, at))
}

fn work(state: &RunState, id: FrameId, at: usize, mask: &Mask) -> AgentWork {
    let frame = &state.frames[id];
    let ended = frame.steps[at].ended.as_deref();
    let said = frame.steps[at].value.as_ref();
    AgentWork {
        step: frame.step_path(at),
        answer: said.map(|value| mask.text(&value.render()).chars().take(8192).collect()),
        files_changed: ended.and_then(|ended| match ended.produced.is_empty() {
            true => ended.files_changed,
            false => Some(true),
        }),
    }
}
