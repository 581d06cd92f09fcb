//! Recipe steps that run out of time, that are tried again for some failures only, and that cannot be entered.

use serde_json::{Value as Json, json};
use testkit::{Output, TestEnv};

const SLOW: &str = "name: slow
hooks: {on_error: 'echo \"{{step_id}} {{step_error}}\" >> hook.log'}
steps:
- {id: q, command: echo quick}
- {id: k, command: 'echo part; echo waiting for db >&2; sleep 60'}
";
const FIRED: &str = "the timeout of `s` (1 s) fired";

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs")).file("slow.yaml", SLOW)
}

fn steps(steps: &str) -> String {
    format!("name: r\nsteps:\n{steps}\n")
}

fn error(output: &Output, step: &str) -> String {
    output.step(step)["error"].as_str().unwrap_or_default().to_owned()
}

fn expect(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("stopped with the run"), "{text}");
}

#[test]
fn a_timed_out_recipe_names_the_running_step_and_its_output() {
    let env = env();
    let output = env.json(&steps("- {id: s, recipe: slow, timeout: 1, continue_on_error: true}"), &[]);
    assert_eq!(output.code, 0, "{}", output.all());
    let said = ["bash step failed", FIRED, "part", "waiting for db"];
    expect(&error(&output, "s/k"), &said);
    expect(&error(&output, "s"), &["Sub-recipe 'slow' failed at step 'k': [error] timed out after 1 s"]);
    expect(&error(&output, "s"), &said);
    assert_eq!(output.step("s/k")["output"], "part");
    assert_eq!(output.step("s/k")["outcome"], "cancelled");
    assert_eq!(output.step("s")["outcome"], json!({"timed_out": 1.0}));
    expect(&env.read("hook.log"), &["k bash step failed: ended because", FIRED]);
}

#[test]
fn the_report_shows_the_step_that_was_running() {
    let env = env().file("r.yaml", steps("- {id: s, recipe: slow, timeout: 1}"));
    let output = env.run(["r.yaml"]);
    assert_eq!(output.code, 1);
    let block =
        output.stderr.split("error: failed at s: timed out after 1 s").nth(1).unwrap_or_default().to_owned();
    expect(&block, &["s/k was still running", "stderr: waiting for db\n", "stdout: part\n"]);
}

#[test]
fn the_recipe_between_has_no_timeout_of_its_own() {
    let env = env().file("mid.yaml", "name: mid\nsteps:\n- {id: m, recipe: slow}\n");
    let output = env.json(&steps("- {id: s, recipe: mid, timeout: 1}"), &[]);
    assert_eq!(output.step("s/m")["outcome"], "cancelled");
    let inner = "Sub-recipe 'slow' failed at step 'k': [error] bash step failed: ended because";
    expect(&error(&output, "s/m"), &[inner, FIRED, "waiting for db"]);
    assert!(!error(&output, "s/m").contains("timed out"), "{}", error(&output, "s/m"));
    let outer = "Sub-recipe 'mid' failed at step 'm': [error] timed out after 1 s";
    expect(&error(&output, "s"), &[outer, inner, "part"]);
}

#[test]
fn a_step_that_waits_for_its_next_attempt_keeps_its_failure() {
    for tolerated in ["false", "true"] {
        let child = format!(
            "name: c\nsteps:\n- {{id: k, command: 'echo p; exit 3', retry: {{max_attempts: 3, delay: 60}}, continue_on_error: {tolerated}}}\n"
        );
        let output = env().file("c.yaml", &child).json(&steps("- {id: s, recipe: c, timeout: 1}"), &[]);
        let k = output.step("s/k");
        assert_eq!((&k["outcome"], &k["output"]), (&json!({"exit": 3}), &json!("p")), "{k}");
        expect(&error(&output, "s/k"), &["bash step failed: exit code 3", "p", "not tried again", FIRED]);
        expect(&error(&output, "s"), &["timed out after 1 s", "at step 'k'", "exit code 3"]);
        assert_eq!((output.code, &output.step("s")["outcome"]), (1, &json!({"timed_out": 1.0})));
    }
}

#[test]
fn an_interrupted_agent_keeps_its_output() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
        .agent("claude", "echo thinking; sleep 60")
        .file("c.yaml", "name: c\nsteps:\n- {id: p, prompt: think}\n");
    let output = env.json(&steps("- {id: s, recipe: c, timeout: 3}"), &[]);
    expect(&error(&output, "s/p"), &["agent step failed: ended because the timeout of `s` (3 s) fired"]);
    expect(&output.step("s/p")["output"].to_string(), &["thinking"]);
}

#[test]
fn the_agent_that_recovers_a_timed_out_recipe_gets_the_evidence() {
    let env = TestEnv::scripted(env!("CARGO_BIN_EXE_recipe-runner-rs"), "echo 'STATUS: COMPLETE'")
        .file("slow.yaml", SLOW);
    let output = env.json(&steps("- {id: s, recipe: slow, timeout: 1, recovery_on_failure: true}"), &[]);
    assert_eq!(output.code, 0, "{}", output.all());
    expect(&env.read("~/asked-1"), &["timed out after 1 s", FIRED, "waiting for db", "k: part"]);
}

#[test]
fn the_step_that_failed_decides_whether_its_recipe_is_tried_again() {
    for (step, on, attempts) in [
        ("command: exit 3", "exit", 2),
        ("command: exit 3", "timeout", 1),
        ("command: exit 3", "json", 1),
        ("command: sleep 60, timeout: 0.2", "timeout", 2),
        ("command: sleep 60, timeout: 0.2", "exit", 1),
        ("command: echo no, parse_json: true, parse_json_required: true", "json", 2),
        ("command: echo no, parse_json: true, parse_json_required: true", "exit", 1),
        ("recipe: d, timeout: 0.2", "timeout", 2),
        ("recipe: d, timeout: 0.2", "exit", 1),
    ] {
        let env = env()
            .file("c.yaml", format!("name: c\nsteps:\n- {{id: k, {step}}}\n"))
            .file("d.yaml", "name: d\nsteps:\n- {id: l, command: sleep 60}\n");
        let retry = format!("- {{id: s, recipe: c, retry: {{max_attempts: 2, delay: 0, on: [{on}]}}}}");
        let output = env.json(&steps(&retry), &[]);
        assert_eq!(output.step("s")["attempts"], attempts, "{step} {on} {}", output.all());
    }
    for (on, attempts) in [("timeout", 2), ("exit", 1)] {
        let retry = format!(
            "- {{id: s, recipe: slow, timeout: 0.3, retry: {{max_attempts: 2, delay: 0, on: [{on}]}}}}"
        );
        assert_eq!(env().json(&steps(&retry), &[]).step("s")["attempts"], attempts, "{on}");
    }
}

#[test]
fn a_recipe_step_without_its_directory_always_fails() {
    for child in ["{id: k, command: 'true', condition: 'false'}", "{id: k, command: pwd, working_dir: /}"] {
        let env = env().file("c.yaml", format!("name: c\nsteps: [{child}]\n"));
        let output = env
            .json(&steps("- {id: m, command: 'true'}\n- {id: s, recipe: c, working_dir: '{{m}}nope'}"), &[]);
        assert_eq!(output.code, 1, "{}", output.all());
        expect(&error(&output, "s"), &["Sub-recipe 'c' failed: [error] working directory `", "nope`"]);
    }
}

#[test]
fn an_agent_that_fails_its_own_requirement_is_asked_again_and_not_repaired() {
    let script =
        "case $(cat ~/count 2>/dev/null) in 11*) echo '{\"a\": 1}' ;; *) printf 1 >> ~/count; echo x ;; esac";
    for (recipe, anchor) in [
        ("- {id: p, prompt: x, parse_json: true, parse_json_required: true}", "p"),
        (
            "- {id: p, prompt: x, parse_json: true, parse_json_required: true, json_schema: {type: object, required: [a]}}",
            "p",
        ),
        ("- {id: n, recipe: child}", "n/p"),
    ] {
        let env = TestEnv::scripted(env!("CARGO_BIN_EXE_recipe-runner-rs"), script)
            .file("child.yaml", steps("- {id: p, prompt: x, parse_json: true, parse_json_required: true}"))
            .file("r.yaml", steps(recipe));
        let output = env.run(["r.yaml", "--auto-fix", "--output-format", "json"]);
        let result = output.json();
        assert_eq!(output.code, 0, "{recipe} {}", output.all());
        let attempts = result["auto_fix"]["attempts"].as_array().cloned().unwrap_or_default();
        assert_eq!(attempts.len(), 2, "{}", result["auto_fix"]);
        assert!(attempts.iter().all(|attempt| attempt["repair"] == Json::Null), "{}", result["auto_fix"]);
        let plan = attempts.iter().map(|attempt| &attempt["plan"]).find(|plan| plan.is_object());
        assert_eq!(plan.map(|plan| &plan["anchor"]), Some(&json!(anchor)), "{}", result["auto_fix"]);
    }
}

#[test]
fn failures_without_another_cause_count_against_the_recipe() {
    for (step, recipe, environment) in [
        ("{id: q, command: 'true'}", 100, 100),
        ("{id: q, command: sleep 60, timeout: 0.2}", 0, 100),
        ("{id: q, command: exit 3}", 0, 100),
        ("{id: q, command: exit 3, retry: {max_attempts: 2, delay: 0}}", 0, 100),
        ("{id: q, command: no-such-program-at-all}", 100, 0),
    ] {
        let env = env().file("r.yaml", format!("name: r\nsteps: [{step}]\n"));
        env.run(["r.yaml"]);
        let health = env.run(["health", "--output-format", "json"]).json()["recipes"][0].clone();
        let scores = (&health["recipe_score"], &health["environment_score"]);
        assert_eq!(scores, (&json!(recipe), &json!(environment)), "{step} {health}");
    }
}

#[test]
fn an_echo_is_not_a_check() {
    for (check, is_unchecked) in [
        ("echo q", true),
        ("'true'", true),
        ("sleep 0", true),
        ("date; echo done", true),
        ("test -f made", false),
        ("cat made", false),
    ] {
        let env = TestEnv::scripted(env!("CARGO_BIN_EXE_recipe-runner-rs"), "touch made; echo done")
            .file("r.yaml", steps(&format!("- {{id: p, prompt: x}}\n- {{id: q, command: {check}}}")));
        env.run(["r.yaml"]);
        let health = env.run(["health", "--output-format", "json"]).json()["recipes"][0].clone();
        let findings = health["findings"].as_array().cloned().unwrap_or_default();
        let is_named = findings.iter().any(|found| found["kind"] == "unchecked_step");
        assert_eq!(is_named, is_unchecked, "{check} {health}");
    }
}
