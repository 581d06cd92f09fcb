//! Which agent program does which step: hints of the spec, then skills, then the configuration, then the defaults.

mod choose;
mod hints;

pub(crate) use choose::{Contradiction, ToolFacts, choose};
pub(crate) use hints::{AgentRole, Hint, hints, of_sentence};

/// The agent programs that hints may name.
pub fn known_programs() -> Vec<&'static str> {
    crate::words::tools().programs.keys().map(String::as_str).collect()
}
