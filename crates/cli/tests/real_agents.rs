//! The real agent programs, run through ours, against a model server on loopback.
//!
//! `RECIPE_RUNNER_REAL_AGENTS=$(tools/real-agents.sh) cargo test -p recipe-runner-rs --test real_agents -- --ignored`
#![expect(clippy::panic, reason = "a test that cannot go on ends by panicking")]

use std::path::{Path, PathBuf};

use testkit::{
    TestEnv,
    model_server::{HELLO, ModelServer},
    until,
};

const PROGRAM: &str = env!("CARGO_BIN_EXE_recipe-runner-rs");

const ANALYZE: &str = r#"name: "analyze-project"
description: "Analyze a codebase with an AI agent"
version: "1.0.0"
context:
  repo_path: "."
steps:
  - id: "analyze"
    agent: "amplihack:core:architect"
    prompt: "Analyze the project at {{repo_path}} and summarize its structure"
    output: "analysis"
    parse_json: true
  - id: "report"
    command: "echo 'Analysis complete'"
    condition: "analysis"
"#;

fn programs() -> PathBuf {
    let Some(dir) = std::env::var_os("RECIPE_RUNNER_REAL_AGENTS") else {
        panic!("RECIPE_RUNNER_REAL_AGENTS is not set: see tools/real-agents.sh");
    };
    Path::new(&dir).join("bin")
}

fn world(server: &ModelServer) -> TestEnv {
    let url = server.url();
    let codex = format!(
        "model = \"test-model\"\nmodel_provider = \"p\"\n[model_providers.p]\nname = \"p\"\nbase_url = \"{url}/v1\"\nenv_key = \"LOOPBACK_KEY\"\nwire_api = \"responses\"\nrequest_max_retries = 1\nstream_max_retries = 1\n"
    );
    let opencode = format!(
        r#"{{"model":"p/test-model","provider":{{"p":{{"npm":"@ai-sdk/openai-compatible","options":{{"baseURL":"{url}/v1","apiKey":"loopback-key"}},"models":{{"test-model":{{"name":"t"}}}}}}}}}}"#
    );
    let path = format!("{}:{}", programs().display(), std::env::var("PATH").unwrap_or_default());
    TestEnv::new(PROGRAM)
        .file("~/.codex/config.toml", codex)
        .file("~/.gemini/settings.json", r#"{"security":{"auth":{"selectedType":"gemini-api-key"}}}"#)
        .file("~/.config/opencode/opencode.json", opencode)
        .file("agents/core/architect.md", "You are an architect.")
        .file("analyze.yaml", ANALYZE)
        .env("PATH", &path)
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("ANTHROPIC_BASE_URL", &url)
        .env("ANTHROPIC_API_KEY", "loopback-key")
        .env("LOOPBACK_KEY", "loopback-key")
        .env("GEMINI_API_KEY", "loopback-key")
        .env("GOOGLE_GEMINI_BASE_URL", &url)
        .env("COPILOT_PROVIDER_BASE_URL", &format!("{url}/v1"))
        .env("COPILOT_PROVIDER_API_KEY", "loopback-key")
        .env("COPILOT_MODEL", "test-model")
        .env("COPILOT_OFFLINE", "true")
        .env("OPENCODE_DISABLE_MODELS_FETCH", "1")
}

fn server() -> ModelServer {
    ModelServer::start().unwrap_or_else(|error| panic!("no model server: {error}"))
}

#[test]
#[ignore = "needs installed agent programs"]
fn the_first_recipe_of_the_manual_runs() {
    for (program, has_cost) in [("claude", true), ("codex", false)] {
        let server = server();
        let env = world(&server);
        let output = env.run(["analyze.yaml", "--agent-binary", program, "--output-format", "json"]);
        assert_eq!(output.code, 0, "{program} {}", output.all());
        let json = output.json();
        let step = &json["step_results"][0];
        // the model does not answer with JSON: it is asked once more, and the answer stays text
        assert_eq!(
            (&step["status"], &step["output"]),
            (&"degraded".into(), &HELLO.into()),
            "{}",
            output.all()
        );
        assert_eq!(json["step_results"][1]["output"], "Analysis complete");
        let usage = &step["usage"];
        assert_eq!(usage["runs"], 2, "{usage}");
        assert!(usage["input_tokens"].as_u64().is_some_and(|tokens| tokens > 0), "{usage}");
        assert!(usage["session"].is_string(), "{usage}");
        assert_eq!(usage["cost_usd"].is_number(), has_cost, "{usage}");
        let shown = env.run(["show", "last"]).stdout;
        assert!(shown.contains("tokens ") && !shown.contains("not reported)"), "{shown}");
        assert_eq!(shown.contains("cost $"), has_cost, "{shown}");
        let knows = |seen: &testkit::model_server::Seen| {
            seen.body.contains("Analyze the project") && seen.body.contains("You are an architect.")
        };
        assert!(server.seen().iter().any(knows), "{program}");
    }
}

/// The same work in several agent steps: what a project is, what is wrong with it, and a review of both.
const SEVERAL: &str = r#"name: "analyze-project"
context:
  repo_path: "."
steps:
  - id: "analyze"
    agent: "amplihack:core:architect"
    prompt: "Analyze the project at {{repo_path}} and summarize its structure [[say:[3, 4] ]]"
    output: "analysis"
    parse_json: true
  - id: "risks"
    prompt: "List the risks of {{analysis[0]}} parts"
    output: "risks"
  - id: "review"
    agent: "amplihack:core:architect"
    prompt: "Review what was found"
    output: "review"
  - id: "report"
    command: "echo 'Analysis complete: {{analysis[0]}}, {{review}}'"
    condition: "analysis"
"#;

/// A runner is killed while a later agent works; what the agents before it were paid for is not bought again.
fn check_killed_and_resumed(program: &str, model: Option<&str>) {
    let server = server();
    let env = world(&server).file("several.yaml", SEVERAL);
    server.hold_back("Review what was found");
    let runner = env.spawn(["several.yaml", "--quiet", "--agent-binary", program]);
    until("the review is asked for", || server.count("Review what was found") > 0);
    let tree = env.survivors();
    assert!(tree.iter().any(|line| line.contains(program)), "{tree:?}");
    runner.kill();
    assert!(!env.survivors().is_empty(), "no process was there to end the agent");
    let paid = ["Analyze the project", "List the risks"].map(|prompt| server.count(prompt));
    assert!(paid.iter().all(|count| *count > 0), "{paid:?}");
    let interrupted = env.run(["show", "last", "--output-format", "json"]).json();
    assert_eq!(interrupted["status"], "interrupted");

    server.let_go();
    let before = server.count("Review what was found");
    let output = env.run(["resume", "last", "--output-format", "json"]);
    assert_eq!(output.code, 0, "{program} {}", output.all());
    assert_eq!(["Analyze the project", "List the risks"].map(|prompt| server.count(prompt)), paid);
    assert!(server.count("Review what was found") > before);
    assert_eq!(env.survivors(), Vec::<String>::new());

    assert_eq!(output.value("analysis")[0], 3);
    assert_eq!(output.step("report")["output"], format!("Analysis complete: 3, {HELLO}"));
    assert_eq!(output.step("review")["attempts"], 2);
    // the killed one has run too, and its cost is unknown
    let usage = &output.json()["usage"];
    assert_eq!(usage["runs"], 4, "{usage}");
    assert_eq!(usage["runs_without_cost"], if model.is_some() { 1 } else { 4 }, "{usage}");
    let shown = env.run(["show", "last"]).stdout;
    let named = model.map_or_else(String::new, |model| format!("model {model}"));
    assert!(shown.contains(&named) && !shown.contains("not reported)"), "{shown}");
    let cost = if model.is_some() { "cost at least $" } else { "cost unknown" };
    assert!(shown.contains(cost), "{shown}");
}

#[test]
#[ignore = "needs installed agent programs"]
fn claude_is_killed_and_nothing_is_paid_twice() {
    check_killed_and_resumed("claude", Some("claude-"));
}

#[test]
#[ignore = "needs installed agent programs"]
fn codex_is_killed_and_nothing_is_paid_twice() {
    check_killed_and_resumed("codex", None);
}

/// The programs, each with a field that it needs here.
const ALL: [(&str, &str); 5] =
    [("claude", ""), ("codex", ""), ("copilot", ""), ("gemini", ", model: gemini-2.5-pro"), ("opencode", "")];

#[test]
#[ignore = "needs installed agent programs"]
fn a_read_only_step_that_is_told_to_write_leaves_no_file() {
    for (program, more) in ALL {
        for marker in ["tool:echo made > made.txt", "write:PLACE/made.txt"] {
            let server = server();
            let env = world(&server);
            let marker = marker.replace("PLACE", &env.dir().display().to_string());
            let recipe = |level: &str| {
                format!(
                    "name: r\nsteps:\n- {{id: a, prompt: 'please [[{marker}]]', permissions: {level}{more}}}\n"
                )
            };
            env.json(&recipe("read-only"), &["--agent-binary", program]);
            assert!(!env.path("made.txt").exists(), "{program} {marker}");
            let full = env.json(&recipe("full"), &["--agent-binary", program]);
            assert_eq!(full.code, 0, "{program} {}", full.all());
            assert!(env.path("made.txt").exists(), "{program} {marker} {}", full.all());
        }
    }
}

#[test]
#[ignore = "needs installed agent programs"]
fn a_step_continues_the_conversation_of_an_earlier_one() {
    for (program, more) in ALL {
        let server = server();
        let env = world(&server);
        let recipe = format!(
            "name: r\nsteps:\n- {{id: first, prompt: remember FIRST-WORDS{more}}}\n- {{id: second, prompt: 'then SECOND-WORDS [[say:continued]]', continues: first{more}}}\n"
        );
        let output = env.json(&recipe, &["--agent-binary", program]);
        assert_eq!(output.code, 0, "{program} {}", output.all());
        assert_eq!(output.step("second")["output"], "continued", "{program}");
        assert_eq!(output.json()["evidence"]["notes"], serde_json::json!([]), "{program}");
        let sent = env.run(["show", "last", "--output-format", "json"]).step("second")["prompt"].to_string();
        assert!(!sent.contains("FIRST-WORDS"), "{program}: the session has the first prompt: {sent}");
        let both = |body: &str| body.contains("FIRST-WORDS") && body.contains("SECOND-WORDS");
        assert!(server.seen().iter().any(|seen| both(&seen.body)), "{program}");
    }
}

#[test]
#[ignore = "needs installed agent programs"]
fn an_agent_that_is_asked_again_is_told_why() {
    for (program, more) in ALL {
        let server = server();
        let env = world(&server);
        let recipe = format!(
            "name: r\nsteps:\n- {{id: write, prompt: write a page{more}}}\n- {{id: check, command: 'echo {{{{write}}}} > seen; echo LINE-7-IS-WRONG >&2; test -e good'}}\n"
        );
        assert_eq!(env.json(&recipe, &["--agent-binary", program]).code, 1, "{program}");
        env.write("good", "");
        let output = env.run(["resume", "last", "--yes", "--output-format", "json"]);
        assert_eq!(output.code, 0, "{program} {}", output.all());
        let is_told = |body: &str| body.contains("LINE-7-IS-WRONG") && body.contains("Step `check` failed.");
        assert!(server.seen().iter().any(|seen| is_told(&seen.body)), "{program}");
    }
}

/// What a model says to each agent of a task.
fn scripted(server: &ModelServer) {
    let made =
        "{\"criterion\":\"new.txt is there\",\"done\":true,\"evidence\":[{\"path\":\"new.txt\",\"line\":1}]}";
    for (prompt, markers) in [
        ("Classify this task", "[[say:{\"task_type\":\"Development\",\"goal\":\"a new file\",\"success_criteria\":[\"new.txt is there\"]}]]".to_owned()),
        ("Find out what this task means", "[[say:{\"summary\":\"s\",\"places\":[],\"criteria\":[{\"criterion\":\"new.txt is there\",\"done\":false}]}]]".to_owned()),
        ("Plan this task", "[[say:{\"steps\":[\"write it\"],\"risks\":[]}]]".to_owned()),
        ("Carry out this task", "[[tool:echo made > new.txt]][[say:I wrote new.txt.]]".to_owned()),
        ("Review the work", format!("[[say:{{\"verdict\":\"approve\",\"findings\":[],\"criteria\":[{made} ]}}]]")),
        ("Judge how far", "[[say:{\"goal_status\":\"ACHIEVED\",\"criteria\":[],\"missing\":\"\",\"summary\":\"done\"}]]".to_owned()),
        ("Three investigators", "[[say:{\"answer\":\"Because of line one.\",\"findings\":[{\"claim\":\"it says one\",\"evidence\":[{\"kind\":\"path\",\"ref\":\"file:1\"} ]} ]}]]".to_owned()),
        ("Investigate below", "[[tool:cat file]][[say:file:1 says one]]".to_owned()),
    ] {
        server.answer_to(prompt, &markers);
    }
}

/// A repository with one file.
fn with_repository(server: &ModelServer) -> TestEnv {
    let env = world(server)
        .file("~/.gitconfig", "[user]\nname = t\nemail = t@example.com\n[init]\ndefaultBranch = main\n");
    let made = env.shell("git init -q repo && cd repo && echo one > file && git add . && git commit -qm one");
    assert_eq!(made.code, 0, "{}", made.all());
    env.env("IS_SANDBOX", "1")
}

#[test]
#[ignore = "needs installed agent programs"]
fn a_development_task_goes_from_the_worktree_to_the_commit() {
    for program in ["claude", "codex"] {
        let server = server();
        scripted(&server);
        let env = with_repository(&server);
        let output = env.run([
            "do",
            "-C",
            "repo",
            "--agent-binary",
            program,
            "--type",
            "Development",
            "--single",
            "--verify",
            "grep -q made new.txt",
            "--output-format",
            "json",
            "Add a new file",
        ]);
        assert_eq!(output.code, 0, "{program} {}", output.all());
        let told = output.json()["orchestration"].clone();
        assert_eq!(
            (&told["goal_status"], &told["workstreams"][0]["terminal_state"]),
            (&"ACHIEVED".into(), &"IMPLEMENTED_VERIFIED".into()),
            "{program} {told}"
        );
        let seen = env.shell("cd repo; git show feat/add-a-new-file:new.txt; git status --porcelain; git log --oneline main..feat/add-a-new-file | wc -l");
        assert_eq!(
            seen.stdout.split_whitespace().collect::<Vec<_>>(),
            ["made", "1"],
            "{program} {}",
            seen.all()
        );
    }
}

#[test]
#[ignore = "needs installed agent programs"]
fn an_investigation_ends_with_findings() {
    for program in ["claude", "codex"] {
        let server = server();
        scripted(&server);
        let env = with_repository(&server);
        let output = env.run([
            "do",
            "-C",
            "repo",
            "--agent-binary",
            program,
            "--type",
            "Investigation",
            "--single",
            "Investigate why it says one",
        ]);
        assert_eq!(output.code, 0, "{program} {}", output.all());
        assert_eq!(
            output.stdout,
            "Because of line one.\n\n- it says one (file:1)\n",
            "{program} {}",
            output.all()
        );
        let status = env.shell("git -C repo status --porcelain");
        assert_eq!((status.stdout.as_str(), env.path("repo.worktrees").exists()), ("", false), "{program}");
    }
}
