//! The hands and the memory: processes, agents, journal, the loop. Never prints.
//!
//! [`runs::Runs`] is the way in: it starts, resumes, cancels, lists and shows runs.
//!
//! The modules are rooms in an order: each may use only those above it. A test holds that.

pub mod agents;
pub mod machine;
pub mod os;
pub mod repair;
pub mod report;
pub mod run;
pub mod runs;
#[cfg(test)]
mod simulation;
pub mod steps;
pub mod store;
