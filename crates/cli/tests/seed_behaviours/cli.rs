//! How the program meets its user.
//!
//! Does not apply to a runner of recipes: choices between local and hosted execution, because there is only this
//! machine; `status` of providers, because the program has no accounts, so only its `doctor` is held to honesty.

use serde_json::json;

use super::{assert_calm, env, json as run_json, with_agent};

/// `cli.generation-is-the-default` reads here: what writes a recipe does not run it.
#[test]
fn cli_writing_a_recipe_is_not_running_it() {
    let env = env();
    let output = env.run(["init"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert!(output.all().contains("recipe-runner-rs "), "the command that runs it: {}", output.all());
    assert_eq!(env.run(["runs", "--output-format", "json"]).json(), json!([]), "nothing ran");
    for word in ["completed", "succeeded"] {
        assert!(!output.all().contains(word), "{}", output.all());
    }
}

/// `cli.first-run-copy-is-compact-and-truthful`
#[test]
fn cli_first_run_copy_is_compact_and_truthful() {
    let env = env();
    let output = env.run::<&str>([]);
    let text = output.all();
    assert!(text.lines().count() <= 40 && text.contains("recipe-runner-rs"), "{text}");
    for line in text.lines().filter_map(|line| line.trim().strip_prefix("recipe-runner-rs ")) {
        let verb = line.split_whitespace().next().unwrap();
        if verb.chars().all(|c| c.is_ascii_lowercase() || c == '-') && line.contains("  ") {
            assert_eq!(env.run([verb, "--help"]).code, 0, "advertised: {verb}");
        }
    }
    assert_eq!(env.run(["runs", "--output-format", "json"]).json(), json!([]));
}

/// `cli.recovery-guidance-no-stack-traces`
#[test]
fn cli_recovery_guidance_no_stack_traces() {
    let env = env().file("empty.yaml", "").file("binary.yaml", [0xff, 0xfe, 0]).file("list.yaml", "[1, 2]");
    std::fs::create_dir(env.path("folder.yaml")).unwrap();
    for (recipe, code) in [
        ("empty.yaml", 2),
        ("binary.yaml", 2),
        ("list.yaml", 2),
        ("missing.yaml", 3),
        ("folder.yaml", 3),
        ("", 4),
    ] {
        let output = env.run([recipe]);
        assert_calm(&output);
        assert_eq!(output.code, code, "{recipe}: {}", output.all());
        assert!(output.stderr.to_lowercase().contains("error"), "{recipe}: {}", output.all());
        let result = run_json(&env, &[recipe]);
        if code != 4 {
            assert_eq!(result.json()["success"], false, "{recipe}");
            assert_eq!(result.json()["outcome"], "refused", "it never ran: {recipe}");
        }
    }
    assert!(env.run(["missing.yaml"]).stderr.contains("recipe-runner-rs list"), "a command that helps");
    assert_eq!(env.run(["runs", "--output-format", "json"]).json(), json!([]), "nothing was accepted");
    let failed =
        run_json(&env.file("bad.yaml", "name: r\nsteps: [{id: s, command: exit 3}]\n"), &["bad.yaml"]);
    assert_eq!(
        (&failed.json()["outcome"], failed.code),
        (&json!("failed"), 1),
        "execution is another failure"
    );
}

/// `cli.status-does-not-invent-provider-state`
#[test]
fn cli_status_does_not_invent_provider_state() {
    let nothing = env().env("PATH", "/usr/bin:/bin");
    let report = nothing.run(["doctor", "--output-format", "json"]).json().to_string();
    for word in ["connected", "is logged in", "oauth", "https://"] {
        assert!(!report.to_lowercase().contains(word), "{word}: {report}");
    }
    let with = with_agent("exit 1");
    let report = with.run(["doctor"]);
    assert!(report.all().contains("claude"), "{}", report.all());
    assert!(
        report.all().contains("logins were not checked"),
        "the report says what is unknown: {}",
        report.all()
    );
}
