//! For tests only: a hermetic world to run the program in.
pub mod model_server;
