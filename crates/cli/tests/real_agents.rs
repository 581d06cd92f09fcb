//! The real agent programs, run through ours, against a model server on loopback.
//!
//! `RECIPE_RUNNER_REAL_AGENTS=$(tools/real-agents.sh) cargo test -p recipe-runner-rs --test real_agents -- --ignored`
#![expect(clippy::panic, reason = "a test that cannot go on ends by panicking")]

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use testkit::{
    TestEnv,
    model_server::{HELLO, ModelServer},
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
    let path = format!("{}:{}", programs().display(), std::env::var("PATH").unwrap_or_default());
    TestEnv::new(PROGRAM)
        .file("~/.codex/config.toml", codex)
        .file("agents/core/architect.md", "You are an architect.")
        .file("analyze.yaml", ANALYZE)
        .env("PATH", &path)
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("ANTHROPIC_BASE_URL", &url)
        .env("ANTHROPIC_API_KEY", "loopback-key")
        .env("LOOPBACK_KEY", "loopback-key")
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
        assert!(shown.contains("tokens ") && !shown.contains("tokens unknown"), "{shown}");
        assert_eq!(shown.contains("cost $"), has_cost, "{shown}");
        let asked: Vec<_> =
            server.seen().into_iter().filter(|seen| seen.body.contains("Analyze the project")).collect();
        assert!(asked.iter().any(|seen| seen.body.contains("You are an architect.")), "{program}");
    }
}

#[test]
#[ignore = "needs installed agent programs"]
fn a_killed_run_goes_on_and_pays_nothing_twice() {
    for program in ["claude", "codex"] {
        let server = server();
        let env = world(&server);
        env.write(
            "r.yaml",
            "name: r\nsteps:\n- {id: first, prompt: the first question}\n- {id: hold, command: 'touch held; until [ -e go ]; do sleep 0.05; done'}\n- {id: second, prompt: the second question}\n",
        );
        let mut command = env.command(PROGRAM.as_ref());
        command.args(["r.yaml", "--quiet", "--agent-binary", program]).stdout(Stdio::null());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("cannot start: {error}"));
        let deadline = Instant::now() + Duration::from_secs(60);
        while !env.path("held").exists() {
            assert!(Instant::now() < deadline, "the first agent does not end");
            std::thread::sleep(Duration::from_millis(50));
        }
        assert!(child.kill().and_then(|()| child.wait()).is_ok());
        let asked = |what: &str| server.seen().iter().filter(|seen| seen.body.contains(what)).count();
        let before = asked("the first question");
        assert!(before > 0);
        env.write("go", "");
        let output = env.run(["resume", "last", "--output-format", "json"]);
        assert_eq!(output.code, 0, "{program} {}", output.all());
        assert_eq!(asked("the first question"), before, "{program}");
        assert!(asked("the second question") > 0);
        let json = output.json();
        assert_eq!(json["step_results"][0]["output"], HELLO);
        assert_eq!(json["step_results"][2]["output"], HELLO);
        assert_eq!(json["usage"]["runs"], 2);
    }
}
