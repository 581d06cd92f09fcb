//! For tests only: a hermetic world to run the program in, and programs to play with.

pub mod model_server;
pub mod project;
mod scripted;
mod stable;
mod started;
mod world;
mod zoo;

pub use stable::dedent;
pub use started::{Started, is_alive, until};
pub use world::{Output, TestEnv};
