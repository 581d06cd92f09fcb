//! `generate` through the program: what it reads, refuses, asks, writes and prints.
#![expect(clippy::unwrap_used, reason = "a test that cannot continue panics")]

mod decisions;
mod intake;
mod results;

use serde_json::Value as Json;
use testkit::{Output, TestEnv};

/// A small spec that is complete.
const SPEC: &str = "# Add a --json flag\n\n## Goal\n`t list` prints JSON. Change `src/main.rs`.\n\n\
    ## Acceptance\n- `t --version` prints `1.4.2`\n";

/// A project of Cargo with this spec.
fn world(spec: &str) -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
        .file("Cargo.toml", "[package]\nname = \"t\"\nversion = \"1.4.2\"\nedition = \"2024\"\n")
        .file("src/main.rs", "fn main() {}\n")
        .file("SPEC.md", spec)
}

/// Generates with these arguments, as JSON.
fn json(env: &TestEnv, arguments: &[&str]) -> (Output, Json) {
    let output = env.run(["generate"].iter().chain(arguments).chain(&["--output-format", "json"]));
    let json = output.json();
    (output, json)
}

/// Every file below the working directory, with its bytes.
fn files(env: &TestEnv) -> Vec<(String, Vec<u8>)> {
    let listed = env.shell("find . -type f | sort").stdout;
    let read = |path: &str| (path.to_owned(), std::fs::read(env.path(path)).unwrap());
    listed.lines().map(read).collect()
}

/// The record that a generation wrote.
fn record(env: &TestEnv, name: &str) -> Json {
    let text = std::fs::read_to_string(env.path(&format!("recipes/{name}.generation.json"))).unwrap();
    serde_json::from_str(&text).unwrap()
}
