//! Starts the program. Everything else is in `lib.rs`.

use std::process::Termination;

fn main() -> impl Termination {
    program::run()
}
