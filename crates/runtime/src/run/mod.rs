//! Drives a run: carries out the actions of the engine, and reports to it what happened.
//!
//! Record, then act: a process starts only when the decision to start it is on disk. A failed append stops the run; a
//! reporter cannot.

pub mod audit;
mod declared_files;
mod drive_error;
mod driver;
mod dry_run;
pub(crate) mod dynamic_recipe;
mod end;
mod happenings;
mod hooks;
mod output;
mod perform;
mod prepared_folder;
mod recover;
mod recovery_prompt;
mod reporter;
mod run_store;
mod signals;
mod spec;
mod start_agent;
mod start_step;
mod tasks;

pub use drive_error::DriveError;
pub use driver::{Driver, Parts};
pub use dry_run::Preview;
pub use reporter::{Notice, Reporter};
pub use signals::{Halt, wait_unless_told};
pub(crate) use signals::{INBOX, Signals, TOLD_AGAIN, cancel_requested};
pub use spec::RunSpec;
