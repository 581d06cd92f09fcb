//! Decides: a plan and past events in, the next events out.
//!
//! Never touches the outside world: no files, no processes, no clock, no randomness. The same plan and the same events
//! always give the same state, so a killed run is continued by folding its journal.

pub mod artifact_path;
pub mod branch_name;
pub mod coverage;
pub mod expectations;
pub mod failure;
pub mod issue_filing;
pub mod knowledge;
pub mod lint;
pub mod orchestration;
pub mod project;
pub mod repair_review;
pub mod resume;
pub mod run;
pub mod session_tree;
pub mod why;

pub use run::{
    ending::{EndReason, Halt},
    event::{Event, Record},
    outcome::{Outcome, RunStatus, StepStatus},
    state::{RunSettings, RunState},
};
