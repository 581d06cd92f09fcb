//! Writes recipes: a spec in plain words in; a recipe, its tests and a record of every decision out.
//!
//! Never touches the outside world: the caller passes in the texts of the spec, of the project and of the skills, and the
//! same texts always give the same bytes.

pub mod brief;
mod cases;
pub mod digest;
pub mod intake;
pub mod name;
pub mod project;
mod reading;
pub mod record;
pub mod refine;
pub mod rewrite;
pub mod skills;
mod spec;
pub mod tools;
mod words;
mod writing;
mod written;

pub use written::{CriterionSteps, Written, WrittenFile, write};
