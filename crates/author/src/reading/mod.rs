//! Reads the sentences of a spec: criteria, targets, constraints, tracks, items, variables, delivery, limits, pattern.
//!
//! Never guesses: what the word lists do not know is left to a person or becomes a question.

pub(crate) mod acceptance;
pub(crate) mod budget;
pub(crate) mod command_check;
pub(crate) mod constraints;
pub(crate) mod criterion;
pub(crate) mod delivery;
pub(crate) mod environment;
pub(crate) mod http;
pub(crate) mod items;
pub(crate) mod literals;
pub(crate) mod markers;
pub(crate) mod misplaced;
pub(crate) mod paths;
pub(crate) mod pattern;
pub(crate) mod project_check;
pub(crate) mod sources;
pub(crate) mod targets;
pub(crate) mod tracks;
