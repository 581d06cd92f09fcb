//! From a brief to files: the recipe, the recipes of its tracks, and the map of criteria to steps.
//!
//! The same brief always gives the same bytes.

mod delivery;
mod frame;
pub(crate) mod gates;
pub(crate) mod loops;
mod outline;
mod prompts;
pub(crate) mod shell;
pub(crate) mod step;
pub(crate) mod text;
pub(crate) mod tracks;

pub(crate) use outline::Outline;
