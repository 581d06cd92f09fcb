//! The sessions of workstreams: one each while it is worked on, a level below that of the run.
//!
//! A tree that cannot be written stops no work.

use crate::runs::SessionPlace;

use super::{
    rounds::{RoundView, instance_status},
    streams::PlacedStream,
};
use engine::StepStatus;

/// How many workstreams work at the same time, and the depth that their steps see.
#[derive(Clone, Copy, Debug)]
pub(super) struct SessionRoom {
    pub(super) parallel: usize,
    pub(super) depth: u64,
}

/// Begins the sessions of the workstreams that start first: at most `most`, and as many as there is room for.
pub(super) fn begin(place: &SessionPlace, todo: &[PlacedStream], most: usize) -> SessionRoom {
    let free = usize::try_from(place.free_sessions()).unwrap_or(usize::MAX);
    let parallel = most.min(free).min(todo.len()).max(1);
    for stream in &todo[..parallel.min(todo.len())] {
        let _ = place.begin_workstream(&stream.session);
    }
    SessionRoom { parallel, depth: place.depth + 1 }
}

/// Ends the session of a workstream, and begins that of the next one that waits.
pub(super) fn hand_over(place: &SessionPlace, round: &RoundView<'_>, dir: &str) {
    let streams = round.streams();
    let Some(ended) = streams.todo.iter().find(|stream| stream.workspace.path == dir) else { return };
    let _ = place.complete(&ended.session);
    let known = place.status().sessions;
    let is_waiting = |(at, stream): &(usize, &PlacedStream)| {
        instance_status(round, *at) == Some(StepStatus::Pending) && !known.contains_key(&stream.session)
    };
    if let Some((_, next)) = streams.todo.iter().enumerate().find(is_waiting) {
        let _ = place.begin_workstream(&next.session);
    }
}

/// Ends the sessions of all workstreams of a round.
pub(super) fn end(place: &SessionPlace, round: &RoundView<'_>) {
    for stream in round.streams().todo {
        let _ = place.complete(&stream.session);
    }
}
