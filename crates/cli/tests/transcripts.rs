//! The log of an agent as people read it.

use testkit::{TestEnv, project::root};

const RECIPE: &str = "name: r\nsteps: [{id: ask, prompt: p}]\n";

/// A world in which the agent program of this name prints a recorded transcript.
fn recorded(name: &str, case: &str) -> TestEnv {
    let file = root().join(format!("crates/runtime/tests/transcripts/{name}-{case}.jsonl"));
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
        .agent(name, &format!("cat >/dev/null; cat '{}'", file.display()))
        .env("AMPLIHACK_AGENT_BINARY", name)
        .file("r.yaml", RECIPE)
}

#[test]
fn each_program_has_a_transcript() {
    for (name, tool, end) in [
        (
            "claude",
            "▸ Bash echo made > made.txt → (Bash completed with no output)",
            "end: 2 turns, 32 tokens, $0.0003, claude-opus-5-5",
        ),
        ("codex", "▸ shell /bin/bash -lc 'echo made > made.txt' → no output", "end: 32 tokens"),
        ("copilot", "▸ bash echo made > made.txt → <shellId: 0 completed with exit code 0>", "end: "),
        ("gemini", "▸ run_shell_command echo made > made.txt → no output", "end: 32 tokens, gemini-2.5-pro"),
        ("opencode", "▸ bash echo made > made.txt → (no output)", "end: 2 turns, 26 tokens"),
    ] {
        let env = recorded(name, "tool");
        let run = env.run(["r.yaml"]);
        assert_eq!(run.code, 0, "{name}\n{}", run.all());
        let logs = env.run(["logs", "last"]);
        let lines: Vec<&str> = logs.stdout.lines().collect();
        assert_eq!(&lines[..2], [tool, "Hello from the model."], "{name}\n{}", logs.all());
        assert!(lines.len() == 3 && lines[2].starts_with(end), "{name}\n{}", logs.all());
        let raw = env.run(["logs", "last", "--raw"]);
        assert!(raw.stdout.starts_with('{') && raw.stdout.contains("\"type\""), "{name}\n{}", raw.all());
        let json = env.run(["logs", "last", "--output-format", "json"]).json();
        assert_eq!(json[0]["transcript"][0], tool, "{name}");
    }
}

#[test]
fn edits_have_their_numbers_of_lines() {
    let event = |input: &str| {
        format!(
            "{{\"type\":\"assistant\",\"message\":{{\"content\":[{{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"Edit\",\"input\":{input}}}]}},\"session_id\":\"s\"}}"
        )
    };
    let edits = [
        event(r#"{"file_path":"a.rs","old_string":"x\ny","new_string":"x\nz\nw"}"#),
        event(r#"{"file_path":"b.rs","content":"1\n2\n3"}"#),
        event(r#"{"file_path":"c.rs"}"#),
    ];
    let done = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"changed"}]},"session_id":"s"}"#;
    let result = r#"{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"s"}"#;
    let events: String = edits.iter().map(|edit| format!("{edit}\n{done}\n")).collect();
    let env = TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
        .file("events", format!("a warning\n{events}{result}\n"))
        .file("r.yaml", RECIPE);
    let body = format!("cat >/dev/null; cat '{}'", env.path("events").display());
    let env = env.agent("claude", &body).env("AMPLIHACK_AGENT_BINARY", "claude");
    assert_eq!(env.run(["r.yaml"]).code, 0);
    let logs = env.run(["logs", "last", "ask"]);
    let expected =
        "a warning\n▸ Edit a.rs +2 −1\n▸ Edit b.rs +3\n▸ Edit c.rs → changed\nend (usage not reported)\n";
    assert_eq!(logs.stdout, expected, "{}", logs.all());
}

#[test]
fn a_failed_agent_shows_the_end_of_its_transcript() {
    let env = recorded("claude", "500");
    let run = env.run(["r.yaml", "--quiet"]);
    assert_eq!(run.code, 1, "{}", run.all());
    assert!(run.stderr.lines().count() <= 12 && !run.stderr.contains("{\"type\""), "{}", run.all());
}

#[test]
fn a_run_shows_model_tokens_and_cost_of_each_step() {
    let env = recorded("claude", "tool");
    assert_eq!(env.run(["r.yaml"]).code, 0);
    let shown = env.run(["show", "last"]);
    let part = "[claude-opus-5-5, 32 tokens, $0.0003]";
    assert!(shown.stdout.contains(part), "{}", shown.all());
}

#[test]
fn programs_without_events_are_shown_as_they_are() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
        .agent("plain", "cat >/dev/null; echo one; echo two")
        .file(".recipe-runner.yaml", "agent: plain\nagents:\n  - {name: plain, command: plain}\n")
        .file("r.yaml", RECIPE);
    let run = env.run(["r.yaml"]);
    assert_eq!(run.code, 0, "{}", run.all());
    assert_eq!(env.run(["logs", "last"]).stdout, "one\ntwo\n");
}
