//! The brain: a plan and past events in, the next events out.
//!
//! Never touches the outside world: no files, no processes, no clock, no randomness. The same plan and the same
//! events give the same state, always; so a run that was killed is continued by folding its journal.

pub mod ambient;
pub mod decide;
pub mod diagnosis;
pub mod event;
pub mod frame;
pub mod given;
pub mod guard;
pub mod inputs;
pub mod outcome;
mod resume;
pub mod resume_plan;
pub mod state;

pub use event::{Event, Record};
pub use outcome::{Outcome, RunStatus, StepStatus};
pub use state::{RunSettings, RunState};
