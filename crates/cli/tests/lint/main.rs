//! `lint`: what is dubious in valid recipes.

mod fixing;
mod pages;
mod rules;
mod setting;
mod shipped;

use serde_json::Value as Json;
use testkit::{Output, TestEnv};

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

/// The findings of an output as JSON.
fn findings(output: &Output) -> Vec<Json> {
    output.json()["findings"].as_array().cloned().unwrap_or_default()
}

/// The rules of the findings about a recipe, without those that nearly every small recipe has.
fn codes(text: &str) -> Vec<String> {
    let output = env().file("x.yaml", text).run(["lint", "x.yaml", "--output-format", "json"]);
    assert!(output.code <= 1, "{text}\n{}", output.all());
    let code = |finding: &Json| finding["code"].as_str().unwrap_or_default().to_owned();
    let found = findings(&output).iter().map(code).collect::<Vec<_>>();
    found.into_iter().filter(|code| code != "no-budget" && code != "untested").collect()
}

/// A recipe with these steps.
fn recipe(steps: &str) -> String {
    format!("name: x\ndefault_step_timeout: 30m\nsteps:\n{steps}")
}
