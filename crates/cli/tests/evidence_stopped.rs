//! What a run that was stopped leaves behind as evidence of the steps that did not come to their end.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up its world has failed")]

use serde_json::Value as Json;
use testkit::{TestEnv, until};

/// Every attempt in the evidence, as `step:outcome exit signal printed`; `-` for what is absent.
fn attempts(result: &Json) -> String {
    let word =
        |value: &Json| if value.is_null() { "-".to_owned() } else { value.to_string().replace('"', "") };
    let all = result["evidence"]["attempts"].as_array().cloned().unwrap_or_default();
    let one = |attempt: &Json| {
        let facts = ["outcome", "exit_code", "signal"].map(|name| word(&attempt[name])).join(" ");
        let printed = word(&attempt["stdout"]["bytes"]);
        let end = if attempt["finished_at"].is_null() { " open" } else { "" };
        format!("{}:{facts} {printed}{end}", word(&attempt["step"]))
    };
    all.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Stops a run of these steps when the file `begun` exists; checks its attempts, then and after a resume.
fn check(steps: &str, how: &str, stopped: &str, resumed: &str) {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
        .file(
            "child.yaml",
            "name: child\nsteps: [{id: k, command: 'echo part; touch begun; [ -e ok ] || sleep 60'}]\n",
        )
        .file("r.yaml", format!("name: r\n{steps}\n"));
    let started = env.spawn(["r.yaml"]);
    until("the step begins", || env.path("begun").exists());
    match how {
        "cancel" => drop(env.run(["cancel", "last"])),
        signal => started.signal(signal),
    }
    started.wait();
    let show = || env.run(["show", "last", "--output-format", "json"]).json();
    let result = show();
    assert_eq!(attempts(&result), stopped, "{how} {steps}\n{}", result["evidence"]);
    assert_eq!(result["evidence"]["retries"], serde_json::json!([]), "{how} {steps}");
    std::fs::write(env.path("ok"), "").unwrap();
    let output = env.run(["resume", "last"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(attempts(&show()), format!("{stopped}, {resumed}"), "{how} {steps}");
}

const BASH: &str = "steps: [{id: b, command: 'echo part; touch begun; [ -e ok ] || sleep 60'}]";

#[test]
fn a_bash_step_that_was_stopped_keeps_its_facts() {
    for how in ["INT", "TERM", "cancel"] {
        check(BASH, how, "b:cancelled - 15 5", "b:ok 0 - 5");
    }
    let trapped =
        "steps: [{id: b, command: 'trap \"exit 3\" TERM; touch begun; [ -e ok ] || { sleep 60 & wait; }'}]";
    check(trapped, "TERM", "b:cancelled 3 - 0", "b:ok 0 - 0");
}

#[test]
fn a_recipe_step_ends_with_its_run() {
    check(
        "steps: [{id: s, recipe: child}]",
        "TERM",
        "s:cancelled - - -, s/k:cancelled - 15 5",
        "s:ok 0 - -, s/k:ok 0 - 5",
    );
}

#[test]
fn a_step_with_a_stopped_hook_has_not_begun() {
    let hook =
        "hooks: {pre_step: 'touch begun; [ -e ok ] || sleep 20'}\nsteps: [{id: b, command: echo part}]";
    check(hook, "TERM", "b:cancelled - - -", "b:ok 0 - 5");
}

#[test]
fn the_end_time_is_unknown_if_the_runner_was_killed() {
    check(BASH, "KILL", "b:lost - - - open", "b:ok 0 - 5");
}

#[test]
fn the_time_of_a_hook_is_not_that_of_its_step() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
        .file("child.yaml", "name: child\nsteps: [{id: k, command: 'true'}]\n");
    let recipe =
        "name: r\nhooks: {pre_step: sleep 3}\nsteps: [{id: a, command: 'true'}, {id: n, recipe: child}]\n";
    let output = env.json(recipe, &[]);
    assert_eq!(output.code, 0, "{}", output.all());
    for step in ["a", "n"] {
        let took = output.step(step)["duration"].as_f64().unwrap();
        assert!(took < 3.0, "{step} took {took} s");
    }
    assert!(output.json()["duration"].as_f64().unwrap() >= 6.0);
}
