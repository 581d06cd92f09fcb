//! A run: its events, the state that follows from them, and what happens next.

pub mod actions;
pub mod attempt;
pub mod budget;
pub mod cause;
pub mod decide;
pub mod ending;
pub mod env_overrides;
pub mod event;
pub mod frame;
pub mod inputs;
mod live;
pub mod message;
pub mod next;
pub mod origin;
pub mod outcome;
pub mod override_values;
pub mod react;
pub mod recipe_step;
pub mod recovery_answer;
mod resumed;
pub mod retry;
pub mod slots;
pub mod state;
pub mod step;
pub mod text;
