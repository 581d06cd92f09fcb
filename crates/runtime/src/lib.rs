//! The hands and the memory: processes, agents, journal, the loop. Never prints.

pub mod discovery;
