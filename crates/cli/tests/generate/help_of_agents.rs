//! `--refine`, `--author agent` and `--run`: what an agent may change, and what is left if it may not.

use crate::repository::{VERSION, order, repository};
use serde_json::{Value as Json, json};
use testkit::TestEnv;

const NAME: &str = "print-the-version";

/// Generates anew with these arguments.
fn generate(env: &TestEnv, arguments: &[&str]) -> (i32, Json) {
    env.shell("rm -rf recipes");
    let output = env.run(["generate", "SPEC.md", "--output-format", "json"].iter().chain(arguments));
    (output.code, output.json())
}

/// The agent answers with this text.
fn answer(env: &TestEnv, text: &str) {
    let result = json!({ "type": "result", "subtype": "success", "is_error": false, "result": text });
    env.write("~/answer", result.to_string());
    env.put_agent("claude", "cat \"$HOME/answer\"");
}

fn recipe(env: &TestEnv) -> String {
    std::fs::read_to_string(env.path(&format!("recipes/{NAME}.yaml"))).unwrap()
}

#[test]
fn a39_only_better_words_that_pass_the_proof_are_used() {
    let env = repository(VERSION);
    let (code, _) = generate(&env, &[]);
    assert_eq!(code, 0);
    let plain = recipe(&env);
    let refused = [
        r#"{"edits": [{"step": "accept-1", "field": "command", "value": "true"}]}"#,
        // it is not a rule, so the recipe is not valid
        r#"{"edits": [{"step": "implement", "field": "ensure", "value": {"nosuch": 1}}]}"#,
    ];
    for text in refused {
        answer(&env, text);
        let (code, result) = generate(&env, &["--refine"]);
        assert_eq!((code, result["status"].as_str()), (0, Some("ready")), "{text}: {result}");
        assert_eq!(result["warnings"][0]["code"], "not-refined", "{text}: {result}");
        assert_eq!(recipe(&env), plain, "{text}");
    }
    let better = "Implement it with care. Only src/cli.sh may change.\n{{tests_before}}\nDo not commit, push or open pull requests.\n{{spec_text}}\n";
    let edits = json!({ "edits": [{ "step": "implement", "field": "prompt", "value": better }] });
    answer(&env, &edits.to_string());
    let (code, result) = generate(&env, &["--refine"]);
    assert_eq!(code, 0, "{result}");
    assert!(recipe(&env).contains("Implement it with care."));
    assert_eq!(result["refine"]["diff"][0]["step"], "implement", "{result}");
    assert_eq!(result["warnings"], json!([]));
}

#[test]
fn a40_an_agent_that_leaves_out_a_gate_is_asked_once_more_and_then_replaced() {
    let env = repository(VERSION);
    generate(&env, &[]);
    let plain = recipe(&env);
    let placeholder = "name: print-the-version\nsteps:\n  - id: todo\n    command: echo later\n".to_owned();
    let before = env.calls();
    answer(&env, &format!("Here it is:\n```yaml\n{placeholder}```\n"));
    let (code, result) = generate(&env, &["--author", "agent"]);
    assert_eq!((code, result["author"].as_str()), (0, Some("generator")), "{result}");
    assert_eq!(result["warnings"][0]["code"], "not-by-agent", "{result}");
    assert_eq!(recipe(&env), plain);
    assert_eq!(env.calls() - before, 2, "one call and one repair");
    let better = plain.replace("Implement the spec below", "Carefully implement the spec below");
    answer(&env, &format!("```yaml\n{better}```\n"));
    let (code, result) = generate(&env, &["--author", "agent"]);
    assert_eq!((code, result["author"].as_str()), (0, Some("agent")), "{result}");
    assert_eq!(recipe(&env), better);

    std::fs::remove_file(env.zoo().join("bin/claude")).unwrap();
    let before = env.calls();
    let (code, result) = generate(&env, &["--author", "agent"]);
    assert_eq!(code, 5, "{result}");
    assert!(!env.path("recipes").exists(), "no file is written");
    assert_eq!(env.calls(), before, "no other program is asked");
}

#[test]
fn a26_only_a_ready_recipe_runs() {
    let env = repository(VERSION);
    let draft = repository(VERSION).env("PATH", "/nonexistent");
    let (code, result) = generate(&draft, &["--run"]);
    assert_eq!((code, result["status"].as_str()), (1, Some("draft")), "{result}");
    assert!(draft.path(&format!("recipes/{NAME}.yaml.draft")).exists());
    assert!(!draft.path(&format!("recipes/{NAME}.yaml")).exists());
    assert_eq!(draft.run(["runs", "--output-format", "json"]).json(), json!([]));

    let output = env.run(["generate", "SPEC.md", "--run"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert!(output.stdout.contains("SIGNED_OFF"), "{}", output.all());
    assert_eq!(order(&env), "claude codex codex gemini gemini");
}
