//! Whom a run is shown to, and what stdout is for.

use engine::RunState;
use runtime::store::outputs::Stream;

/// Whether the result is for users or for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Audience {
    /// The output of steps is shown.
    People,
    /// stdout is kept free for the result text of the recipe; the output of steps goes to stderr.
    ResultReader,
    /// stdout is kept free for one JSON value.
    Programs,
}

impl Audience {
    /// The audience of this run: a recipe can keep stdout free for its result.
    pub(crate) fn of_run(self, state: &RunState) -> Audience {
        match self {
            Audience::People if state.root().unit.result_only() && !state.settings.dry_run => {
                Audience::ResultReader
            }
            known => known,
        }
    }

    /// Where output of a step is shown.
    pub(crate) fn place(self, stream: Stream) -> Stream {
        if self == Audience::ResultReader { Stream::Stderr } else { stream }
    }
}
