//! Steps that prove their work: rules are checked after it, agents are asked again, and no crash repeats the work.
#![expect(clippy::unwrap_used, reason = "a test that cannot set up its world has failed")]

mod again;
mod limits;
mod rules;

use serde_json::Value as Json;
use testkit::TestEnv;

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

/// A world in a git work tree with `src/a`, `tests/golden/g` and an ignored folder `out`.
fn repository() -> TestEnv {
    let env = env().file("src/a", "1").file("tests/golden/g", "g").file(".gitignore", "out/\nrecipe.yaml\n");
    commit(&env);
    env
}

fn commit(env: &TestEnv) {
    let made = env.shell(
        "git init -q . && git add -A && git -c user.name=a -c user.email=a@b commit -q -m first --allow-empty",
    );
    assert_eq!(made.code, 0, "{}", made.all());
}

/// A recipe with one step; `fields` are its lines.
fn one(fields: &[&str]) -> String {
    let lines: String = fields.iter().map(|line| format!("  {line}\n")).collect();
    format!("name: r\nsteps:\n- id: work\n{lines}")
}

/// Runs a bash step with these rules, in YAML; returns its result.
fn checked(env: &TestEnv, command: &str, rules: &str) -> Json {
    let command = format!("command: {}", Json::from(command));
    env.json(&one(&[&command, &format!("ensure: {rules}")]), &[]).step("work")
}

/// Whether each rule is met, and the text of what was found.
fn met(step: &Json) -> Vec<bool> {
    step["ensure"].as_array().unwrap().iter().map(|rule| rule["met"].as_bool().unwrap()).collect()
}

fn found(step: &Json, at: usize) -> &str {
    step["ensure"][at]["found"].as_str().unwrap_or_default()
}
