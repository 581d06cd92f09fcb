//! `do` and the workflows of tasks: whole runs with scripted agents, real repositories and a `gh` that records its calls.
#![expect(clippy::panic, clippy::unwrap_used, reason = "a test that cannot continue ends by panicking")]

mod development;
mod failures;
mod going_on;
mod issues;
mod kills;
mod light;
mod modes;
mod places;
mod publishing;
mod rules;
mod workstreams;
mod world;
