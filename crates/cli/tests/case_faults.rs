//! The faults of stubs beside real programs that behave so.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot set up its world has failed")]

use std::path::PathBuf;

use runtime::{
    os::guardian::Guardian,
    recipe_tests::{CaseEnd, CaseOrder, CaseSession, SessionSetup},
};
use serde_json::Value as Json;
use testkit::TestEnv;

const RECIPES: [&str; 2] = [
    "name: r\nsteps:\n- {id: a, prompt: p, timeout: 2, idle_timeout: 1, retry: {max_attempts: 2, delay: 0}}\n",
    "name: r\nsteps:\n- {id: a, prompt: p, timeout: 1, parse_json: true, parse_json_required: true}\n",
];

/// What a program does that behaves like a fault.
fn program(fault: &str) -> &'static str {
    match fault {
        "timeout" | "idle" => "sleep 60",
        "rate_limit" => {
            r#"printf '{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"slow down"}\n'; exit 1"#
        }
        "auth" => {
            r#"printf '{"type":"result","subtype":"success","is_error":true,"api_error_status":401,"result":"invalid API key"}\n'; exit 1"#
        }
        "network" => {
            r#"printf '{"type":"result","subtype":"success","is_error":true,"result":"API Error: connection refused"}\n'; exit 1"#
        }
        "crash" => "echo broken >&2; exit 1",
        "signal" => "kill -SEGV $$",
        "garbage" => "printf '%%%% garbage ]}'",
        "empty" => "exit 0",
        "lie" => "result 'All done.'",
        _ => "result '{}'; sleep 60",
    }
}

/// Everything that a fault decides, without times and texts.
fn facts(result: &Json, calls: usize) -> Json {
    let step = &result["step_results"][0];
    serde_json::json!({
        "exit": result["exit_code"], "outcome": result["outcome"], "status": step["status"],
        "class": result["diagnosis"]["class"], "confidence": result["diagnosis"]["confidence"],
        "attempts": step["attempts"], "calls": calls,
    })
}

#[test]
fn a_fault_is_what_a_real_program_would_cause() {
    let all = [
        "timeout",
        "idle",
        "rate_limit",
        "auth",
        "network",
        "crash",
        "signal",
        "garbage",
        "empty",
        "lie",
        "hang_after_result",
    ];
    for (recipe, faults) in [(RECIPES[0], &all[..]), (RECIPES[1], &all[5..])] {
        for fault in faults.iter().copied() {
            // claims of plain text are no JSON; a stub that lies answers as it is asked
            let body = if fault == "lie" && recipe == RECIPES[1] { "result '{}'" } else { program(fault) };
            let recipe =
                if fault == "timeout" { recipe.replace(" idle_timeout: 1,", "") } else { recipe.to_owned() };
            let env = TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
                .agent("claude", body)
                .env("RECIPE_RUNNER_RESULT_GRACE_SECONDS", "0.2")
                .env("AMPLIHACK_RATELIMIT_BASE_DELAY_SECS", "0");
            env.write("r.yaml", &recipe);
            let real = env.run(["r.yaml", "--output-format", "json"]).json();
            assert_eq!(stubbed(&recipe, fault), facts(&real, env.calls()), "{fault}\n{recipe}");
        }
    }
}

/// The same with a stub.
fn stubbed(recipe: &str, fault: &str) -> Json {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("r.yaml"), recipe).unwrap();
    let cases = format!("cases:\n- {{name: one, stubs: {{a: {{fault: {fault}}}}}}}\n");
    std::fs::write(dir.path().join("r.test.yaml"), cases).unwrap();
    let worker = Guardian {
        program: PathBuf::from(env!("CARGO_BIN_EXE_recipe-runner-rs")),
        name: "recipe-case".into(),
        args: vec!["__case".into(), "__case".into()],
    };
    let (path, temporary) = ("/usr/bin:/bin".into(), dir.path().to_owned());
    let session = CaseSession::start(SessionSetup { worker, path, temporary, program: None }).unwrap();
    let run = session.run_case(&CaseOrder {
        test_file: dir.path().join("r.test.yaml"),
        recipe: dir.path().join("r.yaml"),
        number: 0,
        timeout: 60.0,
        recipe_dirs: Vec::new(),
    });
    assert_eq!(run.errors, [], "{fault}");
    assert!(run.seconds < 5.0, "{fault} took {} s", run.seconds);
    match &run.ended {
        Some(CaseEnd::Result(result)) => facts(result, run.calls.len()),
        other => panic!("{other:?}"),
    }
}
