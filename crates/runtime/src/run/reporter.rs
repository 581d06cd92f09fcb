//! The notices of the loop and the trait that receives them. A listener cannot change a run.

use std::{path::Path, time::Duration};

use engine::{Record, RunState};

use crate::store::{
    outputs::{Rest, Stream},
    secrets::Mask,
};

/// What the loop tells while it runs.
#[derive(Debug)]
pub enum Notice<'a> {
    /// Something happened; the state is the one after it.
    Event {
        /// What.
        record: &'a Record,
        /// The state.
        state: &'a RunState,
        /// Secrets; neither the record nor the state is masked.
        mask: &'a Mask,
    },
    /// The run has a log that other programs may follow.
    Log {
        /// Its file, which exists.
        path: &'a Path,
    },
    /// A step printed something.
    Output {
        /// The step.
        path: &'a str,
        /// Where.
        stream: Stream,
        /// What; secrets are masked.
        bytes: &'a [u8],
    },
    /// A hook printed something.
    HookOutput {
        /// The step.
        path: &'a str,
        /// What.
        text: &'a str,
    },
    /// What an agent is doing.
    Activity {
        /// The step.
        path: &'a str,
        /// In a few words.
        what: &'a str,
    },
    /// A secret became known: nothing that is shown from now on may hold it.
    Secrets {
        /// All secrets so far.
        mask: &'a Mask,
    },
    /// Time has passed.
    Tick {
        /// The state.
        state: &'a RunState,
    },
    /// The run was told to stop and is cleaning up.
    Stopping {
        /// Why.
        why: &'a str,
    },
}

/// Shows a run. It cannot change or stop the run.
pub trait Reporter {
    /// Takes a notice.
    fn notice(&mut self, notice: Notice<'_>);
    /// How often it wants to be told that time has passed.
    fn tick(&self) -> Option<Duration>;
    /// Whether it wants to see what steps print.
    fn wants_output(&self) -> bool;
    /// Whether it can take more of what steps print now. Until then that stays in the steps' files, and the run goes
    /// on.
    fn has_room(&self) -> bool {
        true
    }
    /// Takes what a step has printed that is over now, and for which there was no room.
    fn rest(&mut self, path: &str, stream: Stream, rest: Rest) {
        for bytes in rest {
            self.notice(Notice::Output { path, stream, bytes: &bytes });
        }
    }
}
