//! Runs on disk: folders, journals, sources, values, outputs, and which values are secret. Never starts anything.

pub mod cancel_request;
pub mod folder;
pub mod journal;
pub mod large;
pub mod outputs;
pub mod secrets;
pub mod sources;
pub mod values;
pub mod workspace;
