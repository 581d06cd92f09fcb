//! What happens between a failure and the next run.
//!
//! Does not apply: `runtime-recovery.env-loader-injection-runtime-loadable` is about code that is put into program
//! text; here `.env` files are read by the runner, and the test holds it to that. The part of
//! `runtime-recovery.in-process-local-runner` about one language's loader has no counterpart.

use serde_json::json;
use testkit::until;

use super::{Json, calls, env, json as run_json, texts, with_agent};

/// `runtime-recovery.classify-before-retry`
#[test]
fn runtime_recovery_classify_before_retry() {
    let recipe = "name: r\nsteps:\n  - {id: slow, command: 'echo working; sleep 30', timeout: 0.3}\n";
    let env = with_agent("echo hi").file("r.yaml", recipe);
    let result = run_json(&env, &["r.yaml"]).json();
    assert_eq!(result["diagnosis"]["class"], "timeout");
    assert_eq!(result["step_results"][0]["attempts"], 1, "nothing was tried again unasked");
    for (command, class) in [
        ("sleep 9", "timeout"),
        ("no-such-tool", "environment.missing_binary"),
        ("grep --no-such-option x y", "validation_strategy"),
        ("test -e nothing", "verification"),
        ("exit 7", "unknown"),
    ] {
        let recipe = format!("name: r\nsteps: [{{id: s, command: {command}, timeout: 1}}]\n");
        let result = super::env().json(&recipe, &[]).json();
        let found = &result["diagnosis"];
        assert_eq!(found["class"], class);
        assert_eq!(found["uncertain"], class == "unknown", "what is not known is said to be so");
        assert!(!result["evidence"]["attempts"].as_array().unwrap().is_empty());
        assert_eq!(result["success"], false);
    }
    assert_eq!(calls(&env), 0);
}

/// `runtime-recovery.stale-relay-state`
#[test]
fn runtime_recovery_stale_relay_state() {
    let env =
        env().file("r.yaml", "name: r\nsteps: [{id: a, command: '[ -e go ] || kill -9 $PPID; echo done'}]\n");
    let _ = env.run(["r.yaml"]);
    env.write("go", "");
    let dead = env.run(["runs", "--output-format", "json"]).json()[0]["run_id"].as_str().unwrap().to_owned();
    let second = run_json(&env, &["r.yaml"]);
    assert_eq!(second.code, 0, "{}", second.all());
    let notes = second.json()["evidence"]["notes"].to_string();
    let folder = env.state().canonicalize().unwrap().join("runs").join(&dead);
    for part in [dead.as_str(), "resume", &folder.to_string_lossy()] {
        assert!(notes.contains(part), "{part}: {notes}");
    }
    assert!(second.json()["failure"].is_null(), "not a failure of the recipe");
    let cleared = run_json(&env, &["r.yaml", "--clear-stale"]).json()["evidence"]["notes"].to_string();
    assert!(cleared.contains("quarantine") && cleared.contains(&dead), "{cleared}");
    assert!(folder.exists(), "nothing is deleted");
    assert_eq!(env.run(["resume", &dead]).code, 0, "and it can still be continued");
}

/// `runtime-recovery.already-running-conflict`
#[test]
fn runtime_recovery_already_running_conflict() {
    let env = env().file(
        "r.yaml",
        "name: r\nsteps: [{id: a, command: 'echo x >> began; while [ ! -e go ]; do sleep 0.05; done'}]\n",
    );
    let first = env.spawn(["r.yaml"]);
    until("it begins", || env.path("began").exists());
    let id = env.run(["runs", "--output-format", "json"]).json()[0]["run_id"].as_str().unwrap().to_owned();
    let second = env.run(["r.yaml"]);
    assert_eq!(second.code, 7, "{}", second.all());
    for part in
        [id.as_str(), &first.pid().to_string(), "state", "show", "logs", "cancel", "--allow-concurrent"]
    {
        assert!(second.stderr.contains(part), "{part}: {}", second.all());
    }
    let result = run_json(&env, &["r.yaml"]).json();
    assert_eq!(result["diagnosis"]["class"], "environment.already_running", "{result}");
    assert!(result["advice"].to_string().contains(&format!("cancel {id}")));
    assert_eq!(std::fs::read_to_string(env.path("began")).unwrap(), "x\n", "nothing competed");
    env.write("go", "");
    assert_eq!(first.wait().code, 0);
}

/// `runtime-recovery.env-loader-injection-runtime-loadable`
#[test]
fn runtime_recovery_env_loader_injection_runtime_loadable() {
    let command = "cat <<'X'\nimport { a } from 'node:fs'\n$WANTED {{'{{'}}\nX\n[ \"$WANTED\" = yes ]";
    let recipe = format!(
        "name: r\nenv: {{required: [WANTED]}}\nsteps:\n  - id: a\n    command: |\n      {}\n",
        command.replace(" {{'{{'}}", "").replace('\n', "\n      ")
    );
    let env = with_agent("echo nobody asks").file("r.yaml", &recipe);
    let missing = run_json(&env, &["r.yaml", "--auto-fix"]);
    assert_eq!(missing.code, 5, "{}", missing.all());
    assert!(missing.stdout.contains("MISSING_ENV_VAR: WANTED"));
    env.write(".env.local", "export WANTED=\"yes\" # set\n");
    let there = run_json(&env, &["r.yaml", "--auto-fix"]);
    assert_eq!(there.code, 0, "{}", there.all());
    assert!(
        there.step("a")["output"].as_str().unwrap().contains("from 'node:fs'\n$WANTED"),
        "text stays text"
    );
    assert_eq!((calls(&env), std::fs::read_to_string(env.path("r.yaml")).unwrap()), (0, recipe));
}

const BROKEN: &str = "name: r
steps:
  - {id: one, command: echo one >> ledger}
  - {id: two, command: echo two >> ledger}
  - {id: check, command: 'grep --no-such-option x ledger'}
  - {id: ship, command: git push origin main}
";

/// `runtime-recovery.auto-fix-bounded-loop`
#[test]
fn runtime_recovery_auto_fix_bounded_loop() {
    let broken =
        BROKEN.replace("--no-such-option x", "--quite two").replace("git push origin main", "'true'");
    let fixed = broken.replace("--quite", "--quiet");
    let env = with_agent(&format!("cat <<'EOF'\n{fixed}EOF")).file("r.yaml", &broken).file("src.txt", "mine");
    let output = run_json(&env, &["r.yaml", "--auto-fix=3"]);
    let result = output.json();
    assert_eq!(output.code, 0, "{}", output.all());
    let fix = &result["auto_fix"];
    assert_eq!((fix["attempts"].as_array().unwrap().len(), &fix["outcome"]), (2, &json!("ok")), "{fix}");
    assert_eq!(fix["attempts"][0]["plan"]["anchor"], "check", "it goes on at the failed step");
    assert_eq!(
        std::fs::read_to_string(env.path("ledger")).unwrap(),
        "one\ntwo\n",
        "what was done stays done"
    );
    assert_eq!((&fix["tracking_id"], &result["tracking_id"]), (&result["run_id"], &result["run_id"]));
    assert_eq!(std::fs::read_to_string(env.path("src.txt")).unwrap(), "mine");
    // a failure that changes every time uses the budget up, and no more
    let env = with_agent("echo work $N").file(
        "r.yaml",
        "name: r\nsteps:\n  - {id: a, prompt: p, output: x}\n  - {id: g, command: 'echo \"no: {{x}} $(cat /proc/sys/kernel/random/uuid | tr -d 0-9-)\" >&2; grep -q PASS <<< \"{{x}}\"'}\n",
    );
    let output = run_json(&env, &["r.yaml", "--auto-fix=3"]);
    assert_eq!((output.code, calls(&env)), (6, 3), "{}", output.all());
    assert_eq!(output.json()["auto_fix"]["attempts"].as_array().unwrap().len(), 3);
}

/// `runtime-recovery.no-auto-fix-preserves-single-attempt`
#[test]
fn runtime_recovery_no_auto_fix_preserves_single_attempt() {
    let env = with_agent("echo should not be asked").file("r.yaml", BROKEN);
    for arguments in [vec!["r.yaml", "--no-auto-fix"], vec!["r.yaml", "--auto-fix=5", "--no-auto-fix"]] {
        let output = run_json(&env, &arguments);
        let result = output.json();
        assert_eq!(output.code, 1);
        assert_eq!(result["diagnosis"]["class"], "validation_strategy");
        let fix = &result["auto_fix"];
        assert_eq!((&fix["enabled"], &fix["attempts"]), (&json!(false), &json!([])));
        assert!(fix["reason"].as_str().unwrap().contains("--no-auto-fix"));
        assert!(!result["advice"].as_array().unwrap().is_empty() && result["resume_command"].is_string());
        assert_eq!(result["step_results"][2]["attempts"], 1);
        let text = env.run(arguments);
        assert!(
            text.stderr.contains("likely cause: ") && text.stderr.contains("--no-auto-fix"),
            "{}",
            text.all()
        );
    }
    assert_eq!(calls(&env), 0);
}

/// `runtime-recovery.in-process-local-runner`
#[test]
fn runtime_recovery_in_process_local_runner() {
    let env = env().env("PATH", "/usr/bin:/bin");
    assert_eq!(env.json("name: r\nsteps: [{id: a, command: echo hi}]\n", &[]).code, 0);
    let result = env.run(["show", "last", "--evidence", "--output-format", "json"]).json();
    let process = &result["evidence"]["spawned"][0];
    assert_eq!(process["argv"], json!(["/bin/bash", "-c", "echo hi"]), "what was really started");
    assert_eq!(process["cwd"], json!(env.dir()));
    let repro = result["evidence"]["repro_command"].as_str().unwrap();
    assert!(repro.starts_with("recipe-runner-rs ") && !repro.contains("bash"), "another thing: {repro}");
}

/// `runtime-recovery.escalation-is-not-generic-failure`
#[test]
fn runtime_recovery_escalation_is_not_generic_failure() {
    let still = BROKEN.replace("--no-such-option", "--other-bad-option");
    let env = with_agent(&format!("cat <<'EOF'\n{still}EOF")).file("r.yaml", BROKEN);
    let output = run_json(&env, &["r.yaml", "--auto-fix=4"]);
    let result = output.json();
    assert_eq!((output.code, &result["outcome"]), (6, &json!("needs_human")), "{}", output.all());
    let handed = &result["auto_fix"]["escalation"];
    assert!(!handed["reason"].as_str().unwrap().is_empty());
    assert!(handed["attempted"].to_string().contains("repair"), "{handed}");
    assert_eq!(handed["diagnosis"]["class"], "validation_strategy");
    for path in texts(&handed["evidence"]) {
        assert!(std::path::Path::new(&path).exists(), "{path}");
    }
    let options = texts(&handed["options"]);
    assert!(options.iter().any(|option| option.contains("--recipe")), "{options:?}");
    assert!(
        !options.iter().any(|option| option.contains("--rerun-producers")),
        "no agent made this: {options:?}"
    );
    for attempt in result["auto_fix"]["attempts"].as_array().unwrap() {
        if let Some(candidate) = attempt["repair"]["candidate"].as_str() {
            assert!(std::path::Path::new(candidate).exists(), "what was proposed is kept");
        }
    }
    let text = env.run(["show", "last"]);
    assert!(
        text.stdout.contains("auto-fix waits for your decision") && text.stdout.contains("attempt 1"),
        "{}",
        text.all()
    );
    let shown = run_json(&env, &["show", "last"]).json();
    assert_eq!(
        (&shown["outcome"], &shown["exit_code"]),
        (&json!("needs_human"), &json!(6)),
        "shown as printed"
    );
    assert_eq!(env.run(["runs", "--output-format", "json"]).json()[0]["status"], "waiting");
}

/// `runtime-recovery.analytics-from-structured-evidence`
#[test]
fn runtime_recovery_analytics_from_structured_evidence() {
    let env = env();
    for (at, command) in
        ["no-such-tool", "no-such-tool", "test -e nothing", "test -e nothing", "'true'"].iter().enumerate()
    {
        env.write("r.yaml", format!("name: r\nsteps: [{{id: s{}, command: {command}}}]\n", at % 2));
        env.run(["r.yaml"]);
    }
    let journals = || {
        let ids = env.run_ids();
        ids.iter()
            .map(|id| std::fs::read(env.state().join("runs").join(id).join("events.jsonl")).unwrap())
            .collect::<Vec<_>>()
    };
    let before = journals();
    let recipe = run_json(&env, &["health"]).json()["recipes"][0].clone();
    assert_eq!(before, journals(), "nothing is changed by looking");
    assert_eq!(recipe["failures_by_bucket"], json!({"environment": 2, "work": 2}), "{recipe}");
    assert!(recipe["environment_score"].is_number() && recipe["recipe_score"].is_number(), "{recipe}");
    for finding in recipe["findings"].as_array().unwrap() {
        assert!(!finding["recipe"].as_str().unwrap().is_empty());
        assert!(!finding["run_ids"].as_array().unwrap().is_empty(), "{finding}");
        assert!(!finding["recommendation"].as_str().unwrap().is_empty());
    }
}

/// `runtime-recovery.preserve-pr-shipping-during-repair`
#[test]
fn runtime_recovery_preserve_pr_shipping_during_repair() {
    let shipping = BROKEN.replace("git push origin main", "'gh pr create --fill'");
    let placeholder = "name: r\nsteps:\n  - {id: prepare-context, command: 'true'}\n  - {id: check, command: 'true'}\n  - {id: final-signoff, command: echo done}\n";
    let stripped = shipping
        .replace("grep --no-such-option x ledger", "grep -q two ledger")
        .replace("  - {id: ship, command: 'gh pr create --fill'}\n", "");
    let neutered = shipping
        .replace("grep --no-such-option x ledger", "grep -q two ledger")
        .replace("gh pr create --fill", "gh pr create --fill || true");
    for answer in [placeholder.to_owned(), stripped, neutered] {
        let env = with_agent(&format!("cat <<'EOF'\n{answer}EOF")).file("r.yaml", &shipping);
        let output = run_json(&env, &["r.yaml", "--auto-fix=5"]);
        assert_eq!(output.code, 6, "{answer}\n{}", output.all());
        let repair = output.json()["auto_fix"]["attempts"][0]["repair"].clone();
        assert_eq!(repair["accepted"], false);
        let regressions: Vec<Json> = repair["regressions"].as_array().unwrap().clone();
        assert!(regressions.iter().all(|found| found["code"].is_string() && found["detail"].is_string()));
        assert!(!regressions.is_empty(), "{repair}");
        assert_eq!(std::fs::read_to_string(env.path("r.yaml")).unwrap(), shipping, "byte for byte");
        let text = env.run(["show", "last"]);
        assert!(text.stdout.contains("refused: "), "{}", text.all());
    }
}
