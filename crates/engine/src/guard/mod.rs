//! Whether a repaired recipe is weaker than the one it replaces.
//!
//! Compares two parsed recipes; never searches in their texts, never runs anything.

pub mod checks;
pub mod flow;
pub mod program;
pub mod script;
pub mod words;
