//! Attempts at bash steps: the script and the environment of a command, and the judgement of its end.

pub mod attempt;
pub mod context_file;
pub mod context_variables;
pub mod export;
pub mod json_schema;
pub mod script;
