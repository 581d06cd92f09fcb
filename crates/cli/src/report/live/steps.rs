//! The positions of running steps in their run.

use engine::{RunState, StepStatus, run::frame::FrameId};

use super::view::{Doing, Row};
use crate::report::{failure::clean, words::counter};

/// The running steps of a recipe, and those below them.
pub(super) fn collect(state: &RunState, frame: FrameId, depth: usize, rows: &mut Vec<Row>) {
    let frame = &state.frames[frame];
    for at in frame.level().filter(|at| frame.steps[*at].status == StepStatus::Running) {
        let path = frame.step_path(at);
        rows.push(Row {
            depth,
            id: clean(&frame.unit.steps[at].id),
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

/// Whether a step, or a recipe step around it, belongs to a parallel group.
pub(super) fn has_company(path: &str, state: &RunState) -> bool {
    let mut at = state.locate(path);
    while let Some((frame, step)) = at {
        if state.frames[frame].unit.steps[step].group.is_some() {
            return true;
        }
        at = state.frames[frame].parent;
    }
    false
}
