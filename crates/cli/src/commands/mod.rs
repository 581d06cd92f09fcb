//! The commands: one file each.

pub(crate) mod answer;
pub(crate) mod branch_name;
pub(crate) mod cancel;
pub(crate) mod complete;
pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod health;
pub(crate) mod help;
pub(crate) mod init;
pub(crate) mod list;
pub(crate) mod logs;
pub(crate) mod man;
pub(crate) mod manifest;
pub(crate) mod prune;
pub(crate) mod resume;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod schema;
pub(crate) mod show;
pub(crate) mod stored_runs;
pub(crate) mod sync;
pub(crate) mod validate;
pub(crate) mod waiting;
pub(crate) mod welcome;
