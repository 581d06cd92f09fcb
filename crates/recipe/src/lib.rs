//! The recipe language: texts in, a checked [`plan::Plan`] or all diagnostics out.
//!
//! Never reads files, the environment or the clock: what it needs from outside comes through a
//! loader that the caller passes in. It knows nothing about runs.

pub mod diagnostic;
pub mod json;
pub mod scope;
pub mod shell;
pub mod source;
pub mod value;
