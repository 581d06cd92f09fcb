//! Output for users and programs: progress, results, failures and diagnostics.

pub(crate) mod audience;
pub(crate) mod diagnostics;
pub(crate) mod failure;
pub(crate) mod failure_block;
pub(crate) mod findings;
pub(crate) mod github;
pub(crate) mod hints;
pub(crate) mod hook_failures;
pub(crate) mod inputs;
pub(crate) mod json;
pub(crate) mod live;
pub(crate) mod progress;
pub(crate) mod prompt;
pub(crate) mod questions;
pub(crate) mod repairs;
pub(crate) mod result;
pub(crate) mod step_list;
pub(crate) mod step_output;
pub(crate) mod table;
pub(crate) mod task;
pub(crate) mod terminal_listener;
pub(crate) mod usage;
pub(crate) mod words;
pub(crate) mod wrap;
