//! Faults: each looks like the program that really behaves so, and no time is lost.

use std::time::{Duration, Instant};

use testkit::TestEnv;

use crate::{passes, run, status, world};

/// The JSON result of a real run whose agent runs this script.
fn real(script: &str, recipe: &str) -> serde_json::Value {
    let env = TestEnv::scripted(env!("CARGO_BIN_EXE_recipe-runner-rs"), script)
        .env("AMPLIHACK_RATELIMIT_MAX_RETRIES", "1")
        .env("AMPLIHACK_RATELIMIT_BASE_DELAY_SECS", "0");
    env.json(recipe, &[]).json()
}

#[test]
fn a5_faults_end_like_real_programs() {
    let recipe = "name: r\nsteps:\n  - {id: a, prompt: x, timeout: 1}\n";
    for (fault, script) in [
        ("crash", "exit 1"),
        ("signal", "kill -KILL $$"),
        ("empty", "exit 0"),
        ("timeout", "sleep 60"),
        ("auth", "echo 'Invalid API key · Please run /login' >&2; exit 1"),
    ] {
        let expected = real(script, recipe);
        let tests = format!(
            "cases:\n  - name: a\n    stubs: {{a: {{fault: {fault}}}}}\n    expect: {{exit: {}, status: {}, outcome: {}, steps: {{a: {}}}, diagnosis: {}}}\n",
            expected["exit_code"],
            expected["status"],
            expected["outcome"],
            expected["step_results"][0]["status"],
            expected["diagnosis"]["class"],
        );
        let result = run(recipe, &tests);
        assert_eq!(status(&result, "a"), "passed", "{fault}: {result:#}");
    }
}

#[test]
fn a5_every_fault_has_its_class() {
    let recipe = "name: r\nsteps:\n  - {id: a, prompt: x, timeout: 30, idle_timeout: 10, parse_json: true, parse_json_required: true, json_retries: 0, ensure: [{file: made.txt}], ensure_retries: 0}\n";
    let mut tests = String::from("cases:\n");
    let faults = [
        ("timeout", 1, "timeout"),
        ("idle", 1, "agent_opaque"),
        ("rate_limit", 1, "environment.rate_limit"),
        ("auth", 1, "environment.credentials"),
        ("network", 1, "environment.network"),
        ("missing", 5, "environment.missing_binary"),
        ("lie", 1, "verification"),
        ("garbage", 1, "agent_drift"),
        ("crash", 1, "unknown"),
        ("signal", 1, "unknown"),
        ("empty", 1, "unknown"),
        ("hang_after_result", 1, "verification"),
    ];
    for (fault, exit, class) in faults {
        tests.push_str(&format!(
            "  - {{name: {fault}, stubs: {{a: {{fault: {fault}}}}}, expect: {{exit: {exit}, diagnosis: {class}}}}}\n"
        ));
    }
    let env = world(recipe, &tests);
    let output = env.run(["test", "--output-format", "json"]);
    let json = output.json();
    assert_eq!(json["cases"].as_array().unwrap().len(), faults.len(), "{}", output.all());
    for case in json["cases"].as_array().unwrap() {
        assert_eq!(case["status"], "passed", "{case:#}");
    }
}

#[test]
fn a6_waits_take_no_time() {
    let recipe = "name: r\nsteps:\n  - {id: a, prompt: x}\n  - {id: b, prompt: y, timeout: 1800, continue_on_error: true}\n  - {id: c, command: 'false', retry: {max_attempts: 4, delay: 600}, continue_on_error: true}\n";
    let limits = "{fault: rate_limit, then: {fault: rate_limit, then: {fault: rate_limit, then: {fault: rate_limit, then: {fault: rate_limit, then: {answer: at last}}}}}}";
    let tests = format!(
        "cases:\n  - name: patient\n    stubs: {{a: {limits}, b: {{fault: timeout}}}}\n    expect: {{values: {{a: at last}}, calls: {{a: 6, c: 4}}, steps: {{b: failed}}}}\n"
    );
    let began = Instant::now();
    let result = passes(recipe, &tests);
    assert!(result["cases"][0]["duration"].as_f64().unwrap() < 10.0, "{result:#}");
    assert!(began.elapsed() < Duration::from_secs(30));
}

#[test]
fn a_case_that_takes_too_long_is_ended() {
    let recipe = "name: r\nsteps:\n  - {id: a, command: sleep 300}\n";
    let result = run(recipe, "cases: [{name: slow, timeout: 1}]");
    assert_eq!(status(&result, "slow"), "error");
    let failure = result["cases"][0]["failures"][0]["message"].as_str().unwrap();
    assert!(failure.contains("1 s of real time"), "{failure}");
}
