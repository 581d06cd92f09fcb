//! One attempt at a step: the process that is started for it, what it gets, and how its end is judged.

pub mod agent;
pub mod output_files;
pub mod shell;
pub mod spawn;
