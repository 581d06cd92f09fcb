//! Attempts at bash steps: from a command to a script with its environment, and what its end means.

pub mod attempt;
pub mod context_file;
pub mod export;
pub mod json_schema;
pub mod script;
