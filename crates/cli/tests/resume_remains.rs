//! Going on when something that kept steps left behind is not there any more.

use serde_json::Value as Json;
use testkit::{Output, TestEnv};

fn world(steps: &[&str]) -> TestEnv {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"));
    env.write("r.yaml", recipe(steps));
    env
}

fn recipe(steps: &[&str]) -> String {
    let steps: String = steps.iter().map(|step| format!("  - {{{step}}}\n")).collect();
    format!("name: r\nsteps:\n{steps}")
}

fn resume(env: &TestEnv, arguments: &[&str]) -> Output {
    let given = ["resume", "last", "--output-format", "json"];
    env.run(given.iter().chain(arguments).copied())
}

/// What the plan says about a step: `rerun: why`.
fn fate(env: &TestEnv, step: &str) -> String {
    let plan = resume(env, &["--plan"]).json();
    let steps = plan["steps"].as_array().cloned().unwrap_or_default();
    let text = |value: &Json| value.as_str().unwrap_or("?").to_owned();
    let found = steps.iter().find(|entry| entry["path"] == step);
    found.map(|entry| format!("{}: {}", text(&entry["action"]), text(&entry["reason"]))).unwrap_or_default()
}

const MK: &str = "id: mk, command: 'echo mk >>ledger; mkdir -p d; echo 1 >d/out.txt', produces: [d/out.txt]";
const G: &str = "id: g, command: 'test -f go && cat d/out.txt', reads: [d/out.txt]";

#[test]
fn a_declared_file_that_is_gone_is_made_again() {
    let env = world(&[MK, G]);
    assert_eq!(env.run(["r.yaml"]).code, 1);
    env.write("go", "");
    assert_eq!(fate(&env, "mk"), "keep: it is done");
    std::fs::remove_file(env.path("d/out.txt")).unwrap();
    assert_eq!(fate(&env, "mk"), "rerun: its file `d/out.txt` is gone, and `g` needs it");
    let output = resume(&env, &[]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(env.read("ledger"), "mk\nmk\n");
}

#[test]
fn a_declared_file_is_looked_for_where_the_step_worked() {
    let below = "id: mk, command: 'echo 1 >out.txt', produces: [out.txt], working_dir: d";
    let env = world(&[below, G]);
    env.write("d/here", "");
    assert_eq!(env.run(["r.yaml"]).code, 1);
    assert_eq!(fate(&env, "mk"), "keep: it is done");
    std::fs::remove_file(env.path("d/out.txt")).unwrap();
    assert_eq!(fate(&env, "mk"), "rerun: its file `out.txt` is gone, and `g` needs it");
}

#[test]
fn a_declared_file_that_was_mended_is_kept() {
    let env = world(&[MK, G]);
    assert_eq!(env.run(["r.yaml"]).code, 1);
    env.write("go", "");
    env.write("d/out.txt", "mended");
    assert_eq!(fate(&env, "mk"), "keep: it is done; `d/out.txt` was changed since, and is kept");
    let output = resume(&env, &[]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!((env.read("ledger"), env.read("d/out.txt")), ("mk\n".to_owned(), "mended".to_owned()));
}

#[test]
fn what_a_later_step_made_of_a_file_is_as_it_should_be() {
    let change = "id: fmt, command: 'echo 2 >d/out.txt', produces: [d/out.txt]";
    let env = world(&[MK, change, G]);
    assert_eq!(env.run(["r.yaml"]).code, 1);
    assert_eq!((fate(&env, "mk"), fate(&env, "fmt")), ("keep: it is done".into(), "keep: it is done".into()));
}

#[test]
fn an_effect_is_not_repeated_for_a_file_that_is_gone() {
    let env = world(&[&format!("{MK}, effects: [deploy]"), G]);
    assert_eq!(env.run(["r.yaml"]).code, 1);
    env.write("go", "");
    std::fs::remove_file(env.path("d/out.txt")).unwrap();
    let output = resume(&env, &[]);
    assert_eq!(output.code, 6, "{}", output.all());
    assert!(output.all().contains("--rerun-effects"), "{}", output.all());
    assert_eq!(env.read("ledger"), "mk\n");
    let output = resume(&env, &["--rerun-effects"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(env.read("ledger"), "mk\nmk\n");
}
