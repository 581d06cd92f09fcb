//! Drives a run: carries out the actions of the engine, and reports to it what happened.
//!
//! Record, then act: a process starts only when the decision to start it is on disk. A failed append stops the run; a
//! reporter cannot.

mod agent_choice;
mod ask;
mod asked_again;
pub mod audit;
mod check_ensure;
mod cleanup;
mod declared_files;
mod drive_error;
mod driver;
mod dry_run;
pub(crate) mod dynamic_recipe;
mod end;
pub(crate) mod failure_facts;
mod happenings;
mod hooks;
mod output;
mod perform;
mod prepared_folder;
mod preparer;
mod recover;
mod recovery_prompt;
mod reporter;
mod run_store;
mod signals;
mod spec;
mod stand_in;
mod start_agent;
mod start_step;
mod tasks;

pub(crate) use ask::{AnswerVerdict, decide_answer};
pub(crate) use cleanup::CLEANUP_TIME;
pub use drive_error::DriveError;
pub use driver::{DrivenRun, Driver, Parts};
pub use dry_run::Preview;
pub(crate) use end::waiting_words;
pub use engine::Halt;
pub use reporter::{Notice, Reporter};
pub use signals::wait_unless_told;
pub(crate) use signals::{INBOX, Signals, TOLD_AGAIN, cancel_requested};
pub use spec::RunSpec;
