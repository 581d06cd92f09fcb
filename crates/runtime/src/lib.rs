//! Processes, agents, the journal and the loop. Never prints.
//!
//! [`runs::Runs`] is the entry point: it takes [`requests`], and lists and shows runs.
//!
//! The modules are rooms in an order: each may use only those above it. A test enforces that.

pub mod agents;
pub mod machine;
pub mod orchestration;
pub mod os;
pub mod recipe_tests;
pub mod repair;
pub mod report;
pub mod requests;
pub mod run;
pub mod runs;
#[cfg(test)]
mod simulation;
pub mod steps;
pub mod store;
