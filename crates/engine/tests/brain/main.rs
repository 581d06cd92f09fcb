//! The engine without any outside: histories in, decisions and plans out.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends by panicking")]

mod begun;
mod causes;
mod cleanup;
mod covering;
mod cut_off;
mod deciding;
mod driving;
mod effects;
mod env_overrides;
mod folding;
mod frames;
mod graphs;
mod inputs;
mod late;
mod left;
mod looped;
mod messages;
mod planning;
mod planning_again;
mod planning_reasons;
mod planning_remains;
mod planning_several;
mod planning_work;
mod proving;
mod questions;
mod repairs;
mod run;
mod taken_over;
mod tolerated;
mod undone;
mod work_time;
