//! What several agents used up together, and an answer that a second question does not take away.

use serde_json::{Value as Json, json};
use testkit::TestEnv;

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

const CODEX: &str = r#"echo '{"type":"thread.started","thread_id":"t-1"}'
echo '{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"done"}}'
echo '{"type":"turn.completed","usage":{"input_tokens":3,"output_tokens":1}}'"#;

#[test]
fn tokens_are_recorded_as_the_program_says() {
    let codex = CODEX.replace("\"input_tokens\":3", "\"input_tokens\":7,\"cached_input_tokens\":4");
    let output = env().agent("codex", &codex).json(
        "name: r\nsteps: [{id: a, prompt: x, agent_binary: codex}, {id: b, prompt: x, agent_binary: codex}]\n",
        &[],
    );
    for (usage, times) in [(&output.step("a")["usage"], 1), (&output.json()["usage"], 2)] {
        let found = ["input_tokens", "cache_read_tokens", "output_tokens"].map(|name| usage[name].clone());
        assert_eq!(found, [7 * times, 4 * times, times].map(|number| json!(number)), "{usage}");
    }
}

#[test]
fn a_partly_known_cost_is_marked() {
    let recipe = "name: r\nsteps:\n  - {id: a, prompt: x}\n  - {id: b, prompt: x, agent_binary: codex}\n";
    let env = env().agent("claude", "result done 0.01").agent("codex", CODEX).file("r.yaml", recipe);
    for _ in 0..2 {
        let output = env.run(["r.yaml", "--output-format", "json"]);
        assert_eq!(output.code, 0, "{}", output.all());
        let usage = output.json()["usage"].clone();
        assert_eq!(
            (&usage["runs"], &usage["runs_without_cost"], &usage["cost_usd"]),
            (&json!(2), &json!(1), &json!(0.01))
        );
        for name in ["program", "model", "session"] {
            assert_eq!(usage[name], Json::Null, "{name} is not that of all: {usage}");
        }
        assert_eq!(output.step("a")["usage"]["program"], "claude", "{}", output.all());
    }
    let health = env.run(["health"]);
    assert!(health.stdout.contains("cost at least $0.0200 (not reported for 2 calls)"), "{}", health.all());
    let health = env.run(["health", "--output-format", "json"]).json()["recipes"][0].clone();
    let found = ["agent_runs", "agent_runs_without_cost", "cost_usd"].map(|name| health[name].clone());
    assert_eq!(found, [json!(4), json!(2), json!(0.02)], "{health}");
    let unchecked = health["findings"].as_array().unwrap().iter().find(|one| one["kind"] == "unchecked_step");
    assert_eq!(unchecked.unwrap()["run_ids"].as_array().unwrap().len(), 2, "{health}");
}

#[test]
fn one_and_the_same_agent_is_named() {
    let recipe = "name: r\nsteps:\n  - {id: a, prompt: x}\n  - {id: b, prompt: x}\n";
    let output = env().agent("claude", "result done 0.01").json(recipe, &[]);
    let usage = output.json()["usage"].clone();
    assert_eq!((&usage["program"], &usage["model"]), (&json!("claude"), &json!("zoo-model")), "{usage}");
    assert_eq!(usage["session"], Json::Null, "{usage}");
}

#[test]
fn an_empty_answer_to_the_second_question_takes_nothing_away() {
    for (mode, code) in [("true", 0), ("true, parse_json_required: true", 1)] {
        let recipe = format!("name: r\nsteps: [{{id: a, prompt: x, parse_json: {mode}}}]\n");
        for second in ["result ''", "result '  '"] {
            let env =
                env().agent("claude", &format!("if [ $n = 1 ]; then result 'no json'; else {second}; fi"));
            let output = env.json(&recipe, &[]);
            assert_eq!(output.code, code, "{}", output.all());
            let step = output.step("a");
            assert_eq!(step["output"], "no json", "{mode} {second}: {step}");
            assert!(step["error"].as_str().unwrap().contains("which begins with `no json`"), "{step}");
        }
    }
}
