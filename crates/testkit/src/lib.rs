//! For tests only: a hermetic world to run the program in, and programs to play with.

mod asking;
pub mod model_server;
pub mod project;
mod screen;
mod scripted;
mod stable;
mod started;
mod terminal;
mod world;
mod zoo;

pub use screen::{Look, Screen};
pub use stable::dedent;
pub use started::{Started, is_alive, until};
pub use terminal::Terminal;
pub use world::{Output, TestEnv};
