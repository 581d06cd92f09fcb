//! Runs on disk: folders, journals, sources, values, outputs, and which values are secret. Never starts anything.

pub mod agent_checks;
pub(crate) mod answer_request;
pub mod cancel_request;
pub mod folder;
pub(crate) mod issue_index;
pub mod journal;
pub mod large;
pub mod line_diff;
pub mod locked_json;
pub(crate) mod nesting_refusal;
pub mod outputs;
pub mod secrets;
pub mod session_trees;
pub(crate) mod shown_contents;
pub mod sources;
pub mod step_file;
pub mod values;
pub mod workspace;
