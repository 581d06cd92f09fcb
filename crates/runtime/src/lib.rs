//! The hands and the memory: processes, agents, journal, the loop. Never prints.

pub mod agents;
pub mod discovery;
pub mod process;
