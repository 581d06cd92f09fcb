//! The operating system: processes, the clock, files that may fail, environments. Does not know recipes or runs.

pub mod clock;
pub mod environment;
pub mod exec;
pub mod files;
pub(crate) mod gh;
pub(crate) mod git;
pub mod guardian;
pub mod held_lock;
pub(crate) mod line_process;
pub(crate) mod network;
pub mod process;
pub(crate) mod program;
pub mod shell_word;
pub(crate) mod stage;
