//! Output for users and programs: progress, results, failures and diagnostics.

pub(crate) mod diagnostics;
pub(crate) mod failure;
pub(crate) mod hints;
pub(crate) mod hook_failures;
pub(crate) mod json;
pub(crate) mod live;
pub(crate) mod progress;
pub(crate) mod result;
pub(crate) mod table;
pub(crate) mod terminal_listener;
pub(crate) mod words;
