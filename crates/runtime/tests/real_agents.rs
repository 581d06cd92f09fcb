//! The real agent programs, started exactly as we start them, against a model server on loopback.
//!
//! `RECIPE_RUNNER_REAL_AGENTS=$(tools/real-agents.sh) cargo test -p runtime --test real_agents -- --ignored`.
//! With `RECIPE_RUNNER_RECORD=DIR` what they print is kept there, to renew the fixtures.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test stops at the first surprise")]

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use recipe::syntax::PermissionLevel;
use runtime::agents::{
    AgentEvent, AgentFailure, AgentOutcome, AgentText, Program, ProgramEnded, Request, Tools, User,
    add_footer,
};
use testkit::model_server::{HELLO, ModelServer};

/// One program in a world of its own.
struct World {
    program: &'static str,
    server: ModelServer,
    root: PathBuf,
}

/// What came of a call.
struct Called {
    outcome: AgentOutcome,
    events: Vec<AgentEvent>,
    had_result: bool,
}

impl World {
    fn new(program: &'static str, case: &str) -> World {
        let name = format!("{program}-{case}-{}", std::process::id());
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let world = World { program, server: ModelServer::start().unwrap(), root };
        for dir in ["home/.codex", "home/.gemini", "home/.config/opencode", "cwd", "scratch"] {
            fs::create_dir_all(world.root.join(dir)).unwrap();
        }
        world.configure();
        world
    }

    fn configure(&self) {
        let url = self.server.url();
        let home = self.root.join("home");
        let codex = format!(
            "model = \"test-model\"\nmodel_provider = \"p\"\n[model_providers.p]\nname = \"p\"\nbase_url = \"{url}/v1\"\nenv_key = \"LOOPBACK_KEY\"\nwire_api = \"responses\"\nrequest_max_retries = 1\nstream_max_retries = 1\n"
        );
        fs::write(home.join(".codex/config.toml"), codex).unwrap();
        let gemini = r#"{"security":{"auth":{"selectedType":"gemini-api-key"}}}"#;
        fs::write(home.join(".gemini/settings.json"), gemini).unwrap();
        let opencode = format!(
            r#"{{"model":"p/test-model","provider":{{"p":{{"npm":"@ai-sdk/openai-compatible","options":{{"baseURL":"{url}/v1","apiKey":"loopback-key"}},"models":{{"test-model":{{"name":"t"}}}}}}}}}}"#
        );
        fs::write(home.join(".config/opencode/opencode.json"), opencode).unwrap();
    }

    fn request(&self, prompt: &str) -> Request {
        Request {
            prompt: add_footer(prompt),
            system_prompt: None,
            model: (self.program == "gemini").then(|| "gemini-2.5-pro".to_owned()),
            cwd: self.root.join("cwd"),
            session: None,
            scratch: self.root.join("scratch"),
            user: User::Root,
            tools: Tools::All,
            permissions: PermissionLevel::Full,
            more_args: Vec::new(),
        }
    }

    fn command(&self) -> Command {
        let dir = std::env::var("RECIPE_RUNNER_REAL_AGENTS").expect("RECIPE_RUNNER_REAL_AGENTS is set");
        let url = self.server.url();
        let mut command = Command::new(Path::new(&dir).join("bin").join(self.program));
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.root.join("home"))
            .env("CODEX_HOME", self.root.join("home/.codex"))
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            .env("ANTHROPIC_BASE_URL", &url)
            .env("ANTHROPIC_API_KEY", "loopback-key")
            .env("LOOPBACK_KEY", "loopback-key")
            .env("GEMINI_API_KEY", "loopback-key")
            .env("GOOGLE_GEMINI_BASE_URL", &url)
            .env("COPILOT_PROVIDER_BASE_URL", format!("{url}/v1"))
            .env("COPILOT_PROVIDER_API_KEY", "loopback-key")
            .env("COPILOT_MODEL", "test-model")
            .env("COPILOT_OFFLINE", "true")
            .env("OPENCODE_DISABLE_MODELS_FETCH", "1");
        command
    }

    fn ask(&self, case: &str, prompt: &str) -> Called {
        self.call(case, &self.request(prompt))
    }

    fn call(&self, case: &str, request: &Request) -> Called {
        let program = Program::named(self.program, &[]).unwrap();
        let call = program.invocation(request);
        for (path, text) in &call.files {
            fs::write(path, text).unwrap();
        }
        let stdin = self.root.join("scratch/stdin");
        fs::write(&stdin, call.stdin.unwrap_or_default()).unwrap();
        let stderr = self.root.join("scratch/stderr");
        let mut child = self
            .command()
            .args(&call.args)
            .envs(call.env)
            .envs(call.limiting_env)
            .current_dir(&request.cwd)
            .stdin(File::open(stdin).unwrap())
            .stdout(Stdio::piped())
            .stderr(File::create(&stderr).unwrap())
            .spawn()
            .unwrap();
        let (mut reader, mut events, mut printed) = (program.reader(), Vec::new(), Vec::new());
        let mut stdout = child.stdout.take().unwrap();
        let mut buffer = [0; 4096];
        while let Ok(n @ 1..) = stdout.read(&mut buffer) {
            reader.feed(&buffer[..n], &mut events);
            printed.extend_from_slice(&buffer[..n]);
        }
        let status = child.wait().unwrap();
        self.record(case, &printed);
        let ended = status.code().map_or(ProgramEnded::Signal(9), ProgramEnded::Exit);
        let had_result = reader.has_result();
        let answer = call.answer_file.and_then(|path| fs::read_to_string(path).ok());
        let answer = answer.map(|text| AgentText { text, cut: None });
        let stderr = fs::read_to_string(stderr).unwrap();
        let outcome = reader.finish(ended, &stderr, answer);
        Called { outcome, events, had_result }
    }

    fn record(&self, case: &str, printed: &[u8]) {
        if let Some(dir) = std::env::var_os("RECIPE_RUNNER_RECORD") {
            let name = format!("{}-{case}.jsonl", self.program);
            fs::write(Path::new(&dir).join(name), printed).unwrap();
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

fn answers(program: &'static str) {
    let world = World::new(program, "hello");
    let called = world.ask("hello", "please greet");
    assert_eq!(called.outcome.result.as_deref(), Ok(HELLO));
    assert!(called.had_result, "{:?}", called.events);
    assert!(called.outcome.usage.session.is_some());
    if program != "copilot" {
        assert!(called.outcome.usage.input_tokens.is_some_and(|tokens| tokens >= 8));
    }
}

fn uses_tools(program: &'static str) {
    let world = World::new(program, "tool");
    let called = world.ask("tool", "please [[tool:echo made > made.txt]]");
    assert_eq!(called.outcome.result.as_deref(), Ok(HELLO));
    let made = fs::read_to_string(world.root.join("cwd/made.txt")).unwrap();
    assert_eq!(made.trim(), "made");
    let tool =
        |event: &AgentEvent| matches!(event, AgentEvent::Tool { detail, .. } if detail.contains("made.txt"));
    assert!(called.events.iter().any(tool), "{:?}", called.events);
}

fn takes_a_huge_prompt(program: &'static str) {
    let world = World::new(program, "huge");
    let mut request = world.request(&format!("{} [[say:read it all]]", "word ".repeat(60_000)));
    request.system_prompt = Some("You are the keeper of MARKER-77.".to_owned());
    let called = world.call("huge", &request);
    assert_eq!(called.outcome.result.as_deref(), Ok("read it all"));
    let seen = world.server.seen();
    assert!(seen.iter().any(|request| request.body.contains("MARKER-77")));
}

fn goes_on_with_a_session(program: &'static str) {
    let world = World::new(program, "session");
    let first = world.ask("first", "remember FIRST-PROMPT");
    let mut request = world.request("please [[say:again]]");
    request.session = first.outcome.usage.session;
    let second = world.call("second", &request);
    assert_eq!(second.outcome.result.as_deref(), Ok("again"));
    let seen = world.server.seen();
    let both = |body: &str| body.contains("FIRST-PROMPT") && body.contains("[[say:again]]");
    assert!(seen.iter().any(|request| both(&request.body)));
}

/// What a limited agent leaves behind, by a shell command and by its own tool for files.
fn left_behind(program: &'static str, level: PermissionLevel) -> [bool; 2] {
    ["tool:echo made >", "write:"].map(|marker| {
        let world = World::new(program, level.as_str());
        let file = world.root.join("cwd/made.txt");
        let mut request = world.request(&format!("please [[{marker}{}]]", file.display()));
        request.permissions = level;
        world.call(level.as_str(), &request);
        assert!(!world.server.seen().is_empty(), "{program} asked no model");
        file.exists()
    })
}

fn changes_nothing(program: &'static str) {
    assert_eq!(left_behind(program, PermissionLevel::ReadOnly), [false, false]);
}

fn edits_files(program: &'static str) {
    assert!(left_behind(program, PermissionLevel::Edit)[1]);
}

fn fails(program: &'static str, case: &str, expected: fn(&AgentFailure) -> bool) {
    let world = World::new(program, case);
    let called = world.ask(case, &format!("please [[{case}]]"));
    let failure = called.outcome.result.unwrap_err();
    assert!(expected(&failure), "{failure:?}");
}

fn rate_limit(failure: &AgentFailure) -> bool {
    matches!(failure, AgentFailure::RateLimited { .. })
}

fn auth(failure: &AgentFailure) -> bool {
    matches!(failure, AgentFailure::Auth { .. })
}

fn server(failure: &AgentFailure) -> bool {
    matches!(failure, AgentFailure::Server { .. })
}

macro_rules! real {
    ($($program:ident { $($name:ident: $check:expr;)+ })+) => {
        $(mod $program {
            use super::*;
            $(
                #[test]
                #[ignore = "needs the real programs: see tools/real-agents.sh"]
                fn $name() {
                    let check: fn(&'static str) = $check;
                    check(stringify!($program));
                }
            )+
        })+
    };
}

real! {
    claude {
        hello: answers;
        tool: uses_tools;
        read_only: changes_nothing;
        edit: edits_files;
        huge: takes_a_huge_prompt;
        session: goes_on_with_a_session;
        status_429: |p| fails(p, "429", rate_limit);
        status_401: |p| fails(p, "401", auth);
        status_500: |p| fails(p, "500", server);
        unknown_session: |p| {
            let world = World::new(p, "unknown");
            let mut request = world.request("hello");
            request.session = Some("00000000-0000-4000-8000-000000000000".to_owned());
            let failure = world.call("unknown", &request).outcome.result.unwrap_err();
            assert!(failure.to_string().contains("No conversation found"), "{failure}");
        };
        long_system_prompt: |p| {
            let world = World::new(p, "system");
            let mut request = world.request("hello");
            request.system_prompt = Some(format!("MARKER-88 {}", "rule ".repeat(30_000)));
            let called = world.call("system", &request);
            assert_eq!(called.outcome.result.as_deref(), Ok(HELLO));
            let seen = world.server.seen();
            assert!(seen.iter().any(|request| request.body.contains("MARKER-88")));
        };
    }
    codex {
        hello: answers;
        tool: uses_tools;
        read_only: changes_nothing;
        edit: edits_files;
        huge: takes_a_huge_prompt;
        session: goes_on_with_a_session;
        status_429: |p| fails(p, "429", rate_limit);
        status_401: |p| fails(p, "401", auth);
        status_500: |p| fails(p, "500", server);
    }
    copilot {
        hello: answers;
        tool: uses_tools;
        read_only: changes_nothing;
        edit: edits_files;
        huge: takes_a_huge_prompt;
        session: goes_on_with_a_session;
        status_429: |p| fails(p, "429", rate_limit);
        status_401: |p| fails(p, "401", auth);
        status_500: |p| fails(p, "500", server);
    }
    gemini {
        hello: answers;
        tool: uses_tools;
        read_only: changes_nothing;
        edit: edits_files;
        huge: takes_a_huge_prompt;
        session: goes_on_with_a_session;
        status_401: |p| fails(p, "401", auth);
    }
    opencode {
        hello: answers;
        tool: uses_tools;
        read_only: changes_nothing;
        edit: edits_files;
        huge: takes_a_huge_prompt;
        session: goes_on_with_a_session;
        status_429: |p| fails(p, "429", rate_limit);
        status_401: |p| fails(p, "401", auth);
    }
}
