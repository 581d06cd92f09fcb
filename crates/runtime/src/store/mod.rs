//! Runs on disk: folders, journals, sources, values, outputs, and which values are secret. Never starts anything.

pub(crate) mod answer_request;
pub mod cancel_request;
pub mod folder;
pub mod journal;
pub mod large;
pub(crate) mod line_diff;
pub mod outputs;
pub mod secrets;
pub(crate) mod shown_contents;
pub mod sources;
pub mod values;
pub mod workspace;
