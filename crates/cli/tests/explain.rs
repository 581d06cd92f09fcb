//! `explain` and `--explain`: the steps of a recipe without running it.

use testkit::TestEnv;

const PIPELINE: &str = r#"
name: pipeline
version: "2.0"
description: End to end
recursion: {max_depth: 3}
context: {environment: staging, api_token: abc, empty: ""}
inputs: [{name: who, description: Who asks, required: true}]
steps:
  - {id: diff, command: git diff, output: changes, timeout: 20}
  - {id: lint, command: "lint {{changes}}", parallel_group: checks}
  - {id: unit, command: test, parallel_group: checks, when_tags: [slow]}
  - id: review
    agent: ns:core:reviewer
    prompt: |
      Look at
      {{changes}}
    parse_json: true
    continue_on_error: true
  - id: deploy
    recipe: child
    context: {env: "{{environment}}"}
    condition: environment != 'local' and len(lint) > 0
    depends_on: [unit]
"#;
const CHILD: &str = "name: child\nsteps:\n  - {id: inner, command: 'echo {{env}}'}\n  - {id: again, recipe: main, condition: 'false'}\n";

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
        .file("main.yaml", PIPELINE)
        .file("child.yaml", CHILD)
        .env("AMPLIHACK_AGENT_BINARY", "nobody")
        .file("agents/core/reviewer.md", "You review.")
}

#[test]
fn everything_that_matters_is_shown() {
    let output = env().run(["explain", "main.yaml"]);
    let expected = "\
Recipe: pipeline
Version: 2.0
Description: End to end
File: main.yaml
Limits: max_depth 3, max_total_steps 200 (default)
Context:
  environment = staging
  api_token = [REDACTED]
  empty = (empty)
Inputs:
  who (text, required): Who asks
Steps:
  1. diff [bash]
     Command: git diff
     Output: changes
     Timeout: 20 s
  2. lint [bash]
     Command: lint {{changes}}
     Output: lint
     Needs: diff (value changes)
     Parallel group: checks (together with unit)
  3. unit [bash]
     Command: test
     Output: unit
     Tags: slow
     Parallel group: checks (together with lint)
  4. review [agent]
     Agent: ns:core:reviewer
     Program: nobody (not known)
     Prompt:
       Look at
       {{changes}}
     Output: review (read as JSON)
     Needs: diff (value changes)
     On failure: the recipe continues
  5. deploy [recipe]
     Condition: environment != 'local' and len(lint) > 0   (reads environment, lint)
     Passes: env
     Output: deploy
     Needs: unit (depends_on), lint (value lint)
     Recipe: child (child.yaml)
       5.1. inner [bash]
          Command: echo {{env}}
          Output: inner
       5.2. again [recipe]
          Condition: false
          Output: again
          Recipe: pipeline (main.yaml), shown elsewhere
";
    assert_eq!(output.stdout, expected);
    assert_eq!(output.code, 0);
    assert_eq!(env().run(["main.yaml", "--explain"]).stdout, expected);
}

#[test]
fn the_fields_for_a_resume_are_shown() {
    let recipe = "name: tag\nsteps:\n  - {id: tag, command: git tag x, idempotent: false, effects: [a tag], exit_codes: {75: needs_human, 3: ok}}\n";
    let env = env().file("tag.yaml", recipe);
    let text = env.run(["explain", "tag.yaml"]).stdout;
    for line in ["Exit codes: ", "75 means needs_human", "3 means ok", "Effects: a tag", "Idempotent: no"] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    let json = env.run(["explain", "tag.yaml", "--format", "json"]).json();
    let step = &json["steps"][0];
    assert_eq!(step["idempotent"], false);
    assert_eq!(step["effects"], serde_json::json!(["a tag"]));
    assert_eq!(step["exit_codes"], serde_json::json!({ "75": "needs_human", "3": "ok" }));
}

#[test]
fn the_program_that_would_be_asked_is_shown() {
    let config = "agents: [{name: mine, command: ./agent.sh}, {name: other, command: ./nothing}]";
    let env =
        env().env("AMPLIHACK_AGENT_BINARY", "mine").file(".recipe-runner.yaml", config).file("agent.sh", "");
    let show = |line: &str| env.shell(line).stdout;
    for (line, expected) in [
        ("\"$RUNNER\" explain main.yaml", "Program: mine (./agent.sh: not executable)"),
        ("chmod +x agent.sh; \"$RUNNER\" explain main.yaml", "Program: mine (./agent.sh)"),
        ("\"$RUNNER\" explain main.yaml --agent-binary other", "Program: other (./nothing does not exist)"),
        ("\"$RUNNER\" main.yaml --explain --agent-binary parrot", "Program: parrot (not known)"),
        (
            "PATH=/nowhere \"$RUNNER\" explain main.yaml --agent-binary codex",
            "Program: codex (`codex` is not found in PATH)",
        ),
        // what a run would read
        (
            "echo AMPLIHACK_AGENT_BINARY=other >.env; env -u AMPLIHACK_AGENT_BINARY \"$RUNNER\" explain main.yaml; rm .env",
            "Program: other (./nothing does not exist)",
        ),
    ] {
        let text = show(line);
        assert!(text.contains(expected), "{line}\n{text}");
    }
    let json = env.run(["explain", "main.yaml", "--format", "json"]).json();
    assert_eq!(json["steps"][3]["program"], "mine");
    assert_eq!(json["steps"][3]["program_path"], "./agent.sh");
    assert_eq!(json["steps"][3]["program_problem"], serde_json::Value::Null);
}

#[test]
fn tags_that_leave_steps_out_are_explained() {
    for (flags, part) in [
        (["--exclude-tags", "slow"], "3. unit [bash] — skipped: tag `slow` is excluded"),
        (["--exclude-tags", "fast, slow"], "3. unit [bash] — skipped"),
        (["--include-tags", "fast"], "3. unit [bash] — skipped: no tag of it is included"),
        (["--include-tags", "slow,fast"], "3. unit [bash]\n"),
        (["--exclude-tags", "fast"], "3. unit [bash]\n"),
        (["--include-tags", "fast"], "2. lint [bash]\n"),
    ] {
        let output = env().run(["explain", "main.yaml"].iter().chain(&flags));
        assert!(output.stdout.contains(part), "{flags:?}: expected {part}\n{}", output.all());
    }
}

#[test]
fn json_has_the_same_facts() {
    let json = env().run(["explain", "main.yaml", "--format", "json", "--exclude-tags", "slow"]).json();
    assert_eq!(json["name"], "pipeline");
    assert_eq!(json["limits"], serde_json::json!({ "max_depth": 3, "max_total_steps": 200 }));
    let steps = json["steps"].as_array().unwrap();
    let ids: Vec<_> = steps.iter().map(|step| step["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["diff", "lint", "unit", "review", "deploy"]);
    assert_eq!(steps[2]["filtered"], true);
    assert_eq!(steps[3]["type"], "agent");
    assert_eq!(steps[4]["condition_reads"], serde_json::json!(["environment", "lint"]));
    assert_eq!(steps[4]["expanded"]["steps"][0]["id"], "inner");
    assert_eq!(steps[4]["expanded"]["steps"][1]["expanded"], serde_json::Value::Null);
    assert_eq!(json["context"]["api_token"], "[REDACTED]");
}

#[test]
fn graphs_are_drawn_in_two_languages() {
    let mermaid = env().run(["explain", "main.yaml", "--graph", "mermaid"]).stdout;
    for part in ["flowchart TD", "s1[\"diff\"]", "s4([\"review\"])", "s1 -->|\"changes\"| s2", "subgraph"] {
        assert!(mermaid.contains(part), "{part}\n{mermaid}");
    }
    let dot = env().run(["main.yaml", "--explain", "--graph", "dot"]).stdout;
    for part in ["digraph \"pipeline\" {", "s1 [label=\"diff\", shape=box];", "s1 -> s2 [label=\"changes\"];"]
    {
        assert!(dot.contains(part), "{part}\n{dot}");
    }
    assert_eq!(env().run(["explain", "main.yaml", "--graph", "png"]).code, 2);
    let quotes = "name: 'a \"b\" \\ c'\nsteps: [{id: x, command: z}]\n";
    let env = env().file("quotes.yaml", quotes);
    let dot = env.run(["explain", "quotes.yaml", "--graph", "dot"]).stdout;
    assert!(dot.starts_with("digraph \"a \\\"b\\\" / c\" {"), "{dot}");
}

#[test]
fn a_recipe_that_calls_itself_can_be_explained() {
    let text =
        "name: loop\nsteps: [{id: a, recipe: loop, condition: go}, {id: b, recipe: loop, condition: go}]\n";
    let output = env().file("loop.yaml", text).run(["explain", "loop.yaml"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert!(output.stdout.contains("loop (loop.yaml), shown elsewhere"), "{}", output.all());
}

#[test]
fn an_invalid_recipe_is_not_explained() {
    let env = env().file("bad.yaml", "name: x\nsteps: [{id: a, comand: y}]\n");
    let output = env.run(["explain", "bad.yaml"]);
    assert_eq!((output.code, output.stdout.as_str()), (2, ""));
    let output = env.run(["explain", "bad.yaml", "--format", "json"]);
    assert_eq!((output.code, output.json()["valid"].as_bool()), (2, Some(false)));
}
