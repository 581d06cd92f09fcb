//! Behaviours that are promised by name, one test for each.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up its world has failed")]

mod cli;
mod printed_commands;
mod runtime_recovery;
mod surfaces;

use serde_json::Value as Json;
use testkit::{Output, TestEnv};

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

/// A world whose agent program `claude` runs this script; `$N` counts its calls.
fn with_agent(script: &str) -> TestEnv {
    let env = env();
    let text = format!(
        "#!/bin/bash\nP=$(cat)\nN=$(( $(cat \"$HOME/calls\" 2>/dev/null || echo 0) + 1 )); echo $N > \"$HOME/calls\"\n{script}\n"
    );
    env.write("bin/claude", text);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(env.path("bin/claude"), mode).unwrap();
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", env.path("bin").display());
    env.env("PATH", &path)
}

fn json(env: &TestEnv, arguments: &[&str]) -> Output {
    env.run(arguments.iter().copied().chain(["--output-format", "json"]))
}

fn calls(env: &TestEnv) -> u32 {
    std::fs::read_to_string(env.home().join("calls")).map_or(0, |text| text.trim().parse().unwrap())
}

fn texts(list: &Json) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Json::as_str).map(str::to_owned).collect()
}

/// Nothing in it looks like a crash.
fn assert_calm(output: &Output) {
    for word in ["panicked", "RUST_BACKTRACE", "stack backtrace", "thread 'main'", ".rs:"] {
        assert!(!output.all().contains(word), "{word}\n{}", output.all());
    }
    assert_ne!(output.code, 101);
}
