//! `do` and the workflows of tasks: whole runs with scripted agents, real repositories and a `gh` that records its calls.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot continue panics")]

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
