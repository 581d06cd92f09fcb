//! The positions of running steps in their run.

use engine::{
    RunState,
    run::frame::{Frame, FrameId},
};

use super::view::{Doing, Row};
use crate::report::{failure::clean, words::counter};

/// The running steps of a recipe, and those below them.
pub(super) fn collect(state: &RunState, frame: FrameId, depth: usize, rows: &mut Vec<Row>) {
    let frame = &state.frames[frame];
    for at in frame.reached().filter(|at| frame.steps[*at].status.is_open()) {
        let path = frame.step_path(at);
        rows.push(Row {
            depth,
            id: named(frame, at),
            counter: counter(&path, state),
            since: frame.steps[at].started_at,
            doing: Doing::Nothing,
            path,
        });
        if let Some(inner) = frame.steps[at].frame {
            collect(state, inner, depth + 1, rows);
        }
    }
}

fn named(frame: &Frame, at: usize) -> String {
    let id = clean(&frame.step_id(at));
    if frame.steps[at].is_cleanup { format!("{id} (cleanup)") } else { id }
}

/// Whether a step, or a recipe step around it, may run in parallel with others.
pub(crate) fn has_company(path: &str, state: &RunState) -> bool {
    state.locate(path).is_some_and(|(frame, at)| state.runs_beside_others(frame, at))
}
