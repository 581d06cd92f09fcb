//! Programs that a configuration file describes, and one that no package registry has, asked in their own way.

use testkit::{Output, TestEnv};

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

fn run(env: &TestEnv, recipe: &str) -> Output {
    env.write("r.yaml", recipe);
    env.run(["r.yaml", "--output-format", "json"])
}

#[test]
fn programs_of_a_configuration_file_are_asked_in_their_way() {
    let config = r#"
agents:
- {name: by-stdin, command: mine, args: [--run], answer: stdout}
- {name: by-argument, command: mine, prompt: argument, args: ["--ask={prompt}"], model_args: [-m, "{model}"]}
- {name: by-file, command: mine, prompt: file, args: ["{prompt_file}", "{answer_file}"], answer: file}
- {name: by-json, command: mine, args: [json], answer: {json: out.text}}
- {name: by-events, command: mine, args: [events], answer: {events: {match: {kind: end}, path: text}}}
- {name: touchy, command: mine, args: [limit], rate_limit: [slow down]}
"#;
    let body = r#"case "$1" in
--ask=*) echo "argument:${1#--ask=}" | head -n 1;;
json) echo '{"out": {"text": "json"}}';;
events) echo '{"kind":"begin","text":"no"}'; echo '{"kind":"end","text":"events"}';;
limit) [ $n = 1 ] && { echo slow down >&2; exit 1; }; echo fast;;
/*) head -n 1 "$1" > "$2"; echo noise;;
*) head -n 1 "$CALL/prompt";;
esac"#;
    for (name, answer) in [
        ("by-stdin", "ask"),
        ("by-argument", "argument:ask"),
        ("by-file", "ask"),
        ("by-json", "json"),
        ("by-events", "events"),
        ("touchy", "fast"),
    ] {
        let env = env()
            .agent("mine", body)
            .file(".recipe-runner.yaml", config)
            .env("AMPLIHACK_RATELIMIT_BASE_DELAY_SECS", "0");
        let recipe = format!("name: r\nsteps:\n- {{id: a, prompt: ask, agent_binary: {name}}}\n");
        let output = run(&env, &recipe);
        assert_eq!(output.code, 0, "{name} {}", output.all());
        assert_eq!(output.json()["step_results"][0]["output"], answer, "{name}");
    }
}

/// `amplifier` as its documentation of output formats describes it: one JSON object on stdout, the rest on stderr.
#[test]
fn amplifier_is_asked_as_its_documentation_says() {
    let said = |fields: &str| {
        format!(
            "echo 'Bundle dev is ready' >&2\ncat <<'EOF'\n{{\n  {fields},\n  \"session_id\": \"abc-def\",\n  \"bundle\": \"dev\",\n  \"model\": \"some/model\",\n  \"timestamp\": \"2025-11-10T12:34:56.789Z\"\n}}\nEOF"
        )
    };
    let recipe = "name: r\nsteps:\n- {id: a, prompt: look, model: m, agent_binary: amplifier}\n";
    let env = env().agent("amplifier", &said(r#""status": "success", "response": "Here it is.""#));
    let output = run(&env, recipe);
    assert_eq!((output.code, &output.step("a")["output"]), (0, &"Here it is.".into()), "{}", output.all());
    assert_eq!(env.asked(1, "argv"), "run\n--mode\nsingle\n--output-format\njson\n--model\nm\n");
    assert!(env.asked(1, "prompt").starts_with("look\n"));
    let usage = &output.step("a")["usage"];
    assert_eq!((&usage["model"], &usage["session"]), (&"some/model".into(), &"abc-def".into()));
    assert!(usage.get("cost_usd").is_none() && usage.get("input_tokens").is_none(), "{usage}");
    for (error, expected) in [
        ("no provider is set up", "the agent reports a failure: no provider is set up"),
        ("Error code: 401 - invalid x-api-key", "the agent cannot log in"),
    ] {
        let body = said(&format!("\"status\": \"error\", \"error\": \"{error}\""));
        env.put_agent("amplifier", &format!("{body}\nexit 1"));
        let output = run(&env, recipe);
        let told = output.step("a")["error"].as_str().unwrap_or_default().to_owned();
        assert!(output.code == 1 && told.contains(expected), "{}", output.all());
    }
}

#[test]
fn a_configuration_without_any_field_changes_nothing() {
    for config in ["", "# nothing yet\n", "agents:\n", "agents:\n#  - name: mine\nagent:\n"] {
        let env = env().file(".recipe-runner.yaml", config);
        let output = run(&env, "name: r\nsteps: [{id: a, command: echo on}]\n");
        assert_eq!(output.code, 0, "{config:?}\n{}", output.all());
    }
    let env = env().file(".recipe-runner.yaml", "agent: codex\nagents: {mine: 1}\n");
    let output = run(&env, "name: r\nsteps: [{id: a, command: echo on}]\n");
    assert_eq!(output.code, 4, "{}", output.all());
    assert!(
        output.stderr.contains("line 2: `agents` is a list of programs, but this is a map"),
        "{}",
        output.all()
    );
}
