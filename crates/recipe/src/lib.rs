//! The recipe language: texts in, a checked [`plan::Plan`] or all diagnostics out.
//!
//! Never reads files, the environment or the clock: outside data comes through a
//! [`check::Loader`] that the caller passes in. It knows nothing about runs.

pub mod agent_ref;
pub mod check;
pub mod condition;
pub mod diagnostic;
pub mod digest;
pub mod document;
pub mod env_name;
pub mod field_places;
pub mod graph;
pub mod input_type;
pub mod json;
pub mod member;
pub mod plan;
pub mod scope;
pub mod secret_name;
pub mod shell;
pub mod source;
pub mod step_facts;
pub mod syntax;
pub mod template;
pub mod test_file;
pub mod time_span;
pub mod typed;
pub mod value;
pub mod yaml;
