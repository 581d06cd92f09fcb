//! Writes recipes: a spec in plain words in; a recipe, its tests and a record of every decision out.
//!
//! Never touches the outside world: the caller passes in the texts of the spec, of the project and of the skills, and the
//! same texts always give the same bytes.

pub mod brief;
