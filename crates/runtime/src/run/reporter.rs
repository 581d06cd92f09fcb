//! The notices of the loop and the trait that receives them. A listener cannot change a run.

use std::{path::Path, time::Duration};

use engine::{Record, RunState};

use crate::store::{
    outputs::{Rest, Stream},
    secrets::Mask,
};

/// A notice of the loop.
#[derive(Debug)]
pub enum Notice<'a> {
    /// An event happened; the state is the one after it.
    Event {
        /// The event.
        record: &'a Record,
        /// The state.
        state: &'a RunState,
        /// Secrets; neither the record nor the state is masked.
        mask: &'a Mask,
    },
    /// The run has an audit log that other programs may follow.
    Log {
        /// Its file, which exists.
        path: &'a Path,
    },
    /// A step printed something.
    Output {
        /// The step.
        path: &'a str,
        /// The output stream.
        stream: Stream,
        /// The bytes, with secrets masked.
        bytes: &'a [u8],
    },
    /// A hook printed something.
    HookOutput {
        /// The step.
        path: &'a str,
        /// The text.
        text: &'a str,
    },
    /// An agent is doing something.
    Activity {
        /// The step.
        path: &'a str,
        /// A few words about it.
        what: &'a str,
    },
    /// A loop waits before its next iteration.
    IterationWait {
        /// The iteration.
        path: &'a str,
        /// How long it still has to wait.
        seconds: f64,
    },
    /// A secret became known: it must not be shown from now on.
    Secrets {
        /// All secrets so far.
        mask: &'a Mask,
    },
    /// Time has passed.
    Tick {
        /// The state.
        state: &'a RunState,
    },
    /// The run was asked to stop and is cleaning up.
    Stopping {
        /// The reason.
        why: &'a str,
    },
}

/// Shows a run. It cannot change or stop the run.
pub trait Reporter {
    /// Takes a notice.
    fn notice(&mut self, notice: Notice<'_>);
    /// How often it wants a tick.
    fn tick(&self) -> Option<Duration>;
    /// Whether it wants the output of steps.
    fn wants_output(&self) -> bool;
    /// Whether it can take more output now. If not, the output stays in the files of the steps, and the run continues.
    fn has_room(&self) -> bool {
        true
    }
    /// Takes the output of a finished step for which there was no room before.
    fn rest(&mut self, path: &str, stream: Stream, rest: Rest) {
        for bytes in rest {
            self.notice(Notice::Output { path, stream, bytes: &bytes });
        }
    }
}
