//! `test` from the outside: test files in, lines, reports and exit codes out.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its world, or that finds no case, has failed"
)]

mod asks;
mod coverage;
mod diagnostics;
mod expectations;
mod faults;
mod first_file;
mod kills;
mod options;
mod reports;
mod scratch;
mod shipped;
mod snapshots;
mod stubs;

use serde_json::Value as Json;
use testkit::{Output, TestEnv};

/// A world with a recipe `r.yaml` and its test file. Agent programs in it leave a mark when they are started.
fn world(recipe: &str, tests: &str) -> TestEnv {
    TestEnv::scripted(env!("CARGO_BIN_EXE_recipe-runner-rs"), "echo started")
        .file("r.yaml", recipe)
        .file("r.test.yaml", tests)
}

/// The result of all cases as JSON.
fn run(recipe: &str, tests: &str) -> Json {
    let env = world(recipe, tests);
    let output = env.run(["test", "--output-format", "json"]);
    assert_eq!(env.script_calls(), 0, "no agent is ever started");
    let json = output.json();
    assert_eq!(json["exit_code"], output.code, "{}", output.all());
    json
}

/// The status of the case with this name.
fn status(result: &Json, name: &str) -> String {
    case(result, name)["status"].as_str().unwrap_or_default().to_owned()
}

fn case<'a>(result: &'a Json, name: &str) -> &'a Json {
    let cases = result["cases"].as_array().unwrap();
    cases.iter().find(|case| case["name"] == name).unwrap_or_else(|| panic!("no case `{name}` in {result:#}"))
}

/// All cases passed.
fn passes(recipe: &str, tests: &str) -> Json {
    let result = run(recipe, tests);
    for case in result["cases"].as_array().unwrap() {
        assert_eq!(case["status"], "passed", "{case:#}");
    }
    assert_eq!(result["exit_code"], 0, "{result:#}");
    result
}

/// The messages and values of the failures of a case, one line each.
fn failures(result: &Json, name: &str) -> Vec<String> {
    let text = |failure: &Json| match failure["message"].as_str() {
        Some(message) => message.to_owned(),
        None => {
            format!("{}: {} / {}", failure["what"], failure["expected"], failure["actual"]).replace('"', "")
        }
    };
    case(result, name)["failures"].as_array().unwrap().iter().map(text).collect()
}

/// A file of a world, relative to its directory, that must not exist.
fn is_absent(env: &TestEnv, path: &str) -> bool {
    !env.path(path).exists()
}

/// The lines of an output that begin with one of these words.
fn lines<'a>(output: &'a Output, words: &[&str]) -> Vec<&'a str> {
    output.stdout.lines().filter(|line| words.iter().any(|word| line.starts_with(word))).collect()
}
