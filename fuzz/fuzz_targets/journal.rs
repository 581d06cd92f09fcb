//! Fuzzes one reader of outside bytes; see `run_targets.rs`.
#![no_main]

#[path = "../run_targets.rs"]
mod run_targets;

libfuzzer_sys::fuzz_target!(|data: &[u8]| run_targets::journal(data));
