//! A run: its events, the state that follows from them, and what happens next.

pub mod cause;
pub mod decide;
pub mod env_overrides;
pub mod event;
pub mod frame;
pub mod inputs;
pub mod message;
pub mod outcome;
pub mod override_values;
mod resumed;
pub mod state;
