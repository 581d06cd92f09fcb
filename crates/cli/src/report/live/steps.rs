//! Running steps: their positions in their run, and what the live view knows about each.

use engine::{
    RunState,
    run::frame::{Frame, FrameId},
};

use jiff::Timestamp;
use runtime::store::outputs::Stream;

use super::view::{Doing, Row};
use crate::report::{failure::clean, words::counter};

/// The state of a running step.
#[derive(Default)]
pub(super) struct Watched {
    /// Its last output, or the activity of its agent.
    pub(super) last: String,
    /// Output that waits for the end of its line, on stdout and on stderr.
    pub(super) held: [Vec<u8>; 2],
    /// The time of the next attempt, and why the last one failed.
    pub(super) wait: Option<(Timestamp, String)>,
    /// Whether its raw output is for machines.
    pub(super) is_agent: bool,
    /// Whether its output is data for later steps, which the result does not show.
    pub(super) is_data: bool,
}

impl Watched {
    /// The output of a stream that waits for the end of its line.
    pub(super) fn held(&mut self, stream: Stream) -> &mut Vec<u8> {
        &mut self.held[usize::from(stream == Stream::Stderr)]
    }
}

/// The running steps of a recipe, and those below them.
pub(super) fn collect(state: &RunState, frame: FrameId, depth: usize, rows: &mut Vec<Row>) {
    let frame = &state.frames[frame];
    for at in frame.reached().filter(|at| frame.steps[*at].status.is_open()) {
        let path = frame.step_path(at);
        rows.push(Row {
            depth,
            id: named(frame, at),
            counter: counter(&path, state),
            since: frame.steps[at].since(),
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
