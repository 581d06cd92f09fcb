//! What this machine has: environment files, recipes and agent files, programs, and what is missing before a run
//! starts.

pub mod agent_fit;
pub mod compat_shims;
pub mod discovery;
pub mod dotenv;
pub mod host;
pub mod local;
pub mod missing_tool;
pub mod preflight;
pub mod programs;
pub mod project;
pub(crate) mod task_needs;
pub mod variables;
