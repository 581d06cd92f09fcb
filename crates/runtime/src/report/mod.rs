//! The outcome of a run as data: its result, its failure, and the evidence for both. Everything here leaves the private
//! run folder, so secrets are masked.

pub mod asks;
pub mod auto_fix;
pub mod blocked;
pub mod diagnose;
pub mod evidence;
mod failure;
pub mod inputs;
mod result;
mod step_results;
pub mod waiting_repair;

pub use failure::{CleanupFailure, Failure};
pub use result::{RunResult, SCHEMA_VERSION, StepResult, Subject, TaskReport, result};
