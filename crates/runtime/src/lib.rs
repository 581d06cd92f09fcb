//! The hands and the memory: processes, agents, journal, the loop. Never prints.
//!
//! [`runs::Runs`] is the way in: it starts, resumes, cancels, lists and shows runs.

pub mod activity;
pub mod agent_attempt;
mod agent_call;
mod agent_end;
mod agent_news;
pub mod agents;
pub mod attempt;
pub mod audit;
pub mod autofix;
pub mod blocked;
pub mod budget;
pub mod clock;
pub mod command_line;
pub mod context_file;
pub mod diagnose;
pub mod discovery;
pub mod dotenv;
pub mod drive;
pub mod environment;
pub mod evidence;
pub mod export;
mod fault;
mod file_changes;
pub mod folder;
pub mod guardian;
pub mod health;
pub mod host;
pub mod journal;
pub mod json_schema;
pub mod large;
pub mod mask;
pub mod output_files;
pub mod outputs;
pub mod preflight;
pub mod process;
pub mod programs;
pub mod recovery;
pub mod repeat;
pub mod report;
pub mod runs;
pub mod script;
#[cfg(test)]
mod simulation;
pub mod sources;
mod staging;
pub mod started;
pub mod tools;
pub mod values;
pub mod workspace;
