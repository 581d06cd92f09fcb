//! One attempt at a step: its process, the inputs of the process, and the judgement of its end.

pub mod agent;
pub(crate) mod ensure;
pub(crate) mod file_search;
pub mod output_files;
pub mod performer;
pub mod shell;
pub mod spawn;
pub mod stubs;
