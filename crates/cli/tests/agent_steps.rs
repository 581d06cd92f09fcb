//! Agent steps from the outside: which program is used, its prompt, and the use of its answer.

use testkit::{Output, TestEnv};

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

fn run(env: &TestEnv, recipe: &str, args: &[&str]) -> Output {
    env.write("r.yaml", recipe);
    env.run(["r.yaml", "--output-format", "json"].iter().chain(args))
}

const ONE: &str = "name: r\nsteps:\n- {id: a, prompt: do it, output: answer}\n";

#[test]
fn the_program_is_the_steps_then_the_flags_then_the_environments() {
    let named = "name: r\nsteps:\n- {id: a, prompt: do it, agent_binary: codex}\n";
    for (recipe, flag, variable, expected) in [
        (ONE, None, None, "claude"),
        (ONE, None, Some("gemini"), "gemini"),
        (ONE, Some("copilot"), Some("gemini"), "copilot"),
        (named, Some("copilot"), Some("gemini"), "codex"),
    ] {
        let mut env = env();
        for name in ["claude", "codex", "copilot", "gemini"] {
            env = env.agent(name, &format!("echo I am {name}"));
        }
        if let Some(variable) = variable {
            env = env.env("AMPLIHACK_AGENT_BINARY", variable);
        }
        let args: Vec<&str> = flag.iter().flat_map(|flag| ["--agent-binary", *flag]).collect();
        let output = run(&env, recipe, &args);
        let step = &output.json()["step_results"][0];
        assert_eq!(step["output"], format!("I am {expected}"), "{}", output.all());
        assert_eq!(step["usage"]["program"], expected);
    }
}

#[test]
fn a_missing_program_blocks_the_run_before_its_first_step() {
    let recipe = "name: r\nsteps:\n- {id: first, command: touch ran}\n- {id: a, prompt: do it}\n";
    for (args, said) in [
        (vec![], "agent program `claude` is not found"),
        (vec!["--agent-binary", "codex"], "agent program `codex` is not found"),
        (vec!["--agent-binary", "nobody"], "agent program `nobody` is not known"),
        (vec!["--agent-binary", "./no/claude"], "agent program `./no/claude` does not exist"),
    ] {
        let env = env().agent("gemini", "echo never").env("PATH", "/usr/bin:/bin");
        let output = run(&env, recipe, &args);
        assert_eq!(output.code, 5, "{}", output.all());
        let json = output.json();
        assert_eq!(json["step_results"][0]["step_id"], "preflight-validation");
        assert!(
            json["step_results"][0]["error"].as_str().unwrap_or_default().contains(said),
            "{}",
            output.all()
        );
        assert!(!env.path("ran").exists());
        assert_eq!(env.calls(), 0);
    }
}

#[test]
fn a_program_is_not_needed_for_a_step_that_cannot_run() {
    let env = env().env("PATH", "/usr/bin:/bin");
    for (recipe, code) in [
        (
            "name: r\ncontext: {go: 'no'}\nsteps:\n- {id: b, command: 'true'}\n- {id: a, prompt: x, condition: go == 'yes'}\n",
            0,
        ),
        ("name: r\nsteps:\n- {id: go, command: echo no}\n- {id: a, prompt: x, condition: go == 'yes'}\n", 5),
        ("name: r\nsteps:\n- {id: b, command: 'true'}\n- {id: a, prompt: x, when_tags: [slow]}\n", 5),
    ] {
        assert_eq!(run(&env, recipe, &[]).code, code, "{recipe}");
    }
    let tagged = "name: r\nsteps:\n- {id: b, command: 'true'}\n- {id: a, prompt: x, when_tags: [slow]}\n";
    assert_eq!(run(&env, tagged, &["--exclude-tags", "slow"]).code, 0);
}

#[test]
fn the_launcher_gets_its_arguments_in_its_order() {
    for (program, extra) in [("claude", ""), ("copilot", "--allow-all-tools\n"), ("mine", "")] {
        let env = env()
            .agent("launch", "echo launched")
            .file("agents/core/builder.md", "You build.")
            .env("AMPLIHACK_LAUNCHER_BINARY", "launch");
        let recipe = "name: r\nsteps:\n- {id: a, agent: x:core:builder, prompt: do it, model: small}\n";
        let output = run(&env, recipe, &["--agent-binary", program]);
        assert_eq!(output.code, 0, "{}", output.all());
        assert_eq!(output.json()["step_results"][0]["output"], "launched");
        let argv = env.asked(1, "argv");
        let cwd = env.dir().display().to_string();
        assert!(argv.starts_with(&format!("{program}\n--\n{extra}-p\ndo it\n")), "{argv}");
        assert!(argv.contains("Proceed autonomously. Do not ask questions."), "{argv}");
        let end = format!("--system-prompt\nYou build.\n--add-dir\n{cwd}\n--model\nsmall\n");
        assert!(argv.ends_with(&end), "{argv}");
    }
}

#[test]
fn a_prompt_of_any_size_arrives_whole_and_not_in_the_process_list() {
    let env = env().agent("claude", "result ok");
    let big = "0123456789".repeat(30_000);
    env.write("context.json", format!("{{\"big\": \"{big}\"}}"));
    let recipe = "name: r\ncontext: {big: ''}\nsteps:\n- {id: a, prompt: 'read {{big}} end'}\n";
    let output = run(&env, recipe, &["--context-file", "context.json"]);
    assert_eq!(output.code, 0, "{}", &output.stderr);
    let prompt = env.asked(1, "prompt");
    assert!(prompt.starts_with(&format!("read {big} end\n")));
    assert!(prompt.trim_end().contains("Do not ask questions."));
    assert!(!env.asked(1, "argv").contains("0123456789"));
}

#[test]
fn an_agent_knows_its_directory_and_that_no_person_answers() {
    let recipe =
        "name: r\nsteps:\n- {id: a, prompt: '{{working_directory}}|{{NONINTERACTIVE}}|', working_dir: sub}\n";
    let env =
        env().agent("claude", "cp \"$RECIPE_CONTEXT_FILE\" \"$CALL/context\"; result ok").file("sub/x", "");
    assert_eq!(run(&env, recipe, &[]).code, 0);
    let sub = env.dir().join("sub").display().to_string();
    assert!(env.asked(1, "prompt").starts_with(&format!("{sub}|1|")), "{}", env.asked(1, "prompt"));
    for (name, value) in [
        ("WORKING_DIRECTORY", sub.as_str()),
        ("RECIPE_VAR_working_directory", &sub),
        ("NONINTERACTIVE", "1"),
        ("RECIPE_VAR_NONINTERACTIVE", "1"),
        ("AMPLIHACK_SESSION_DEPTH", "1"),
    ] {
        assert_eq!(env.asked_env(1, name).as_deref(), Some(value), "{name}");
    }
    let context: serde_json::Value = serde_json::from_str(&env.asked(1, "context")).unwrap_or_default();
    assert_eq!(context["working_directory"], sub);
    assert_eq!(context["NONINTERACTIVE"], "1");
    assert_eq!(env.asked(1, "cwd").trim(), sub);
}

#[test]
fn the_recipe_wins_over_the_default_values_of_agents() {
    let recipe = "name: r\ncontext: {working_directory: /mine, NONINTERACTIVE: '0'}\nsteps:\n- {id: a, prompt: '{{working_directory}}|{{NONINTERACTIVE}}|'}\n";
    let env = env().agent("claude", "result ok").env("CLAUDECODE", "1");
    assert_eq!(run(&env, recipe, &[]).code, 0);
    assert!(env.asked(1, "prompt").starts_with("/mine|0|"));
    assert_eq!(env.asked_env(1, "WORKING_DIRECTORY").as_deref(), Some("/mine"));
    assert_eq!(env.asked_env(1, "RECIPE_VAR_NONINTERACTIVE").as_deref(), Some("0"));
    assert_eq!(env.asked_env(1, "CLAUDECODE"), None);
    assert!(env.asked_env(1, "AMPLIHACK_TREE_ID").is_some());
}

#[test]
fn agent_files_become_system_prompts() {
    for (file, reference) in [
        ("agents/ns/cat/who.md", "ns:cat:who"),
        ("agents/cat/who.md", "ns:cat:who"),
        ("agents/core/who.md", "ns:who"),
        ("agents/specialized/who.md", "who"),
        ("agents/who.md", "ns:who"),
        (".claude/agents/who.md", "who"),
        ("amplifier-bundle/agents/core/who.md", "amplihack:core:who"),
        ("src/amplihack/amplifier-bundle/agents/core/who.md", "amplihack:who"),
        ("~/.amplihack/.claude/agents/amplihack/core/who.md", "amplihack:core:who"),
    ] {
        let env = env().agent("claude", "result ok").file(file, "You are who.");
        let recipe = format!("name: r\nsteps:\n- {{id: a, agent: '{reference}', prompt: x}}\n");
        assert_eq!(run(&env, &recipe, &[]).code, 0);
        assert!(env.asked(1, "argv").contains("--system-prompt\nYou are who."), "{file} {reference}");
    }
}

#[test]
fn unsafe_agent_references_lead_nowhere() {
    let env = env().agent("claude", "result ok").file("secret.md", "top secret").file("agents/x", "");
    let link = env.dir().join("agents/link.md");
    let made = std::os::unix::fs::symlink(env.dir().join("secret.md"), link);
    assert!(made.is_ok());
    for reference in ["../secret", "ns:../secret", "ns:..:secret", "link", "a b", "ns::who"] {
        let recipe = format!("name: r\nsteps:\n- {{id: a, agent: '{reference}', prompt: x}}\n");
        let output = run(&env, &recipe, &[]);
        assert_eq!(output.code, 0, "{reference} {}", output.all());
        assert!(!env.asked(env.calls(), "argv").contains("--system-prompt"), "{reference}");
        assert!(output.stderr.contains("warning"), "{reference} {}", output.stderr);
    }
}

#[test]
fn models_are_passed_on() {
    let env = env().agent("claude", "result ok");
    let recipe =
        "name: r\ncontext: {m: haiku}\nsteps:\n- {id: a, prompt: x, model: '{{m}}'}\n- {id: b, prompt: x}\n";
    assert_eq!(run(&env, recipe, &[]).code, 0);
    assert!(env.asked(1, "argv").contains("--model\nhaiku\n"));
    assert!(!env.asked(2, "argv").contains("--model"));
}

#[test]
fn json_is_asked_for_once_more_with_everything_the_same() {
    let env = env().agent("claude", "if [ $n = 1 ]; then result 'no idea'; else printf '{\"type\":\"result\",\"is_error\":false,\"result\":\"{\\\\\"a\\\\\":1}\"}\\n'; fi")
        .file("agents/who.md", "You are who.").file("sub/x", "");
    let recipe = "name: r\nsteps:\n- {id: a, agent: who, prompt: give, parse_json: true, model: m, working_dir: sub, timeout: 9, output: o}\n- {id: b, command: 'echo {{o.a}}'}\n";
    let output = run(&env, recipe, &[]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(env.calls(), 2);
    let same = format!("{}--resume\ns-1\n", env.asked(1, "argv"));
    assert_eq!(env.asked(2, "argv"), same, "the second question is in the session of the first");
    assert_eq!(env.asked(1, "cwd"), env.asked(2, "cwd"));
    assert!(env.asked(2, "prompt").starts_with("give\n"));
    assert!(env.asked(2, "prompt").to_lowercase().contains("valid json only"));
    let json = output.json();
    assert_eq!(json["step_results"][1]["output"], "1");
    assert_eq!(json["step_results"][0]["usage"]["runs"], 2);
    assert_eq!(json["step_results"][0]["attempts"], 1);
}

#[test]
fn without_json_a_step_is_degraded_or_failed() {
    for (fields, code, status, calls) in [
        ("parse_json: true", 0, "degraded", 2),
        ("parse_json: true, json_retries: 0", 0, "degraded", 1),
        ("parse_json: true, json_retries: 3", 0, "degraded", 4),
        ("parse_json: true, parse_json_required: true", 1, "failed", 2),
    ] {
        let env = env().agent("claude", "result 'no idea'");
        let output = run(&env, &format!("name: r\nsteps:\n- {{id: a, prompt: x, {fields}}}\n"), &[]);
        assert_eq!(output.code, code, "{fields} {}", output.all());
        let step = &output.json()["step_results"][0];
        assert_eq!(step["status"], status);
        assert_eq!(step["output"], "no idea");
        assert!(step["error"].as_str().unwrap_or_default().contains("parse_json failed"));
        assert_eq!(env.calls(), calls, "{fields}");
    }
}

#[test]
fn a_failed_second_question_does_not_take_the_answer_away() {
    let env = env().agent("claude", "[ $n = 1 ] && result 'no idea' || exit 7");
    let output = run(&env, "name: r\nsteps:\n- {id: a, prompt: x, parse_json: true}\n", &[]);
    let step = &output.json()["step_results"][0];
    assert_eq!((output.code, step["status"].as_str()), (0, Some("degraded")), "{}", output.all());
    assert_eq!(step["output"], "no idea");
}

#[test]
fn an_answer_must_meet_its_schema() {
    let env = env().agent("claude", r#"if [ $n = 1 ]; then echo '{"n": "one"}'; else echo '{"n": 1}'; fi"#);
    let recipe = "name: r\nsteps:\n- id: a\n  prompt: x\n  parse_json: true\n  json_schema: {type: object, properties: {n: {type: integer}}}\n";
    let output = run(&env, recipe, &[]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(env.calls(), 2);
    assert!(env.asked(2, "prompt").contains("integer"), "{}", env.asked(2, "prompt"));
    assert_eq!(output.json()["context"]["a"]["n"], 1);
}

#[test]
fn rate_limits_are_waited_for() {
    let limited = |n: u32| {
        format!("if [ $n -le {n} ]; then echo 'HTTP 429 Too Many Requests' >&2; exit 1; fi; result ok")
    };
    for (limit, retries, code, calls) in
        [(2, "5", 0, 3), (9, "2", 1, 3), (1, "0", 1, 1), (200, "500", 1, 101)]
    {
        let env = env()
            .agent("claude", &limited(limit))
            .env("AMPLIHACK_RATELIMIT_BASE_DELAY_SECS", "0")
            .env("AMPLIHACK_RATELIMIT_MAX_RETRIES", retries);
        let output = run(&env, ONE, &[]);
        assert_eq!(output.code, code, "{}", output.all());
        assert_eq!(env.calls(), calls);
        assert_eq!(output.json()["step_results"][0]["attempts"], calls);
    }
}

#[test]
fn the_wait_for_a_rate_limit_is_announced_capped_and_can_be_interrupted() {
    let env = env()
        .agent("claude", "echo '429 rate limit' >&2; exit 1")
        .env("AMPLIHACK_RATELIMIT_BASE_DELAY_SECS", "1000")
        .env("AMPLIHACK_RATELIMIT_MAX_DELAY_SECS", "500");
    env.write("r.yaml", ONE);
    let output = env.shell("timeout -s INT 2 $RUNNER r.yaml");
    assert!(output.stderr.contains("trying again in 8m 20s"), "{}", output.all());
    let last = env.run(["show", "last", "--output-format", "json"]).json();
    assert_eq!(last["status"], "interrupted");
}

#[test]
fn the_fallback_model_gets_a_last_chance() {
    let env = env()
        .agent("claude", "case \"$*\" in *--model*auto*) result ok;; *) echo 'rate limit' >&2; exit 1;; esac")
        .env("AMPLIHACK_RATELIMIT_BASE_DELAY_SECS", "0")
        .env("AMPLIHACK_RATELIMIT_MAX_RETRIES", "1")
        .env("AMPLIHACK_RATELIMIT_FALLBACK_AUTO_MODEL", "1");
    let output = run(&env, ONE, &[]);
    assert_eq!((output.code, env.calls()), (0, 3), "{}", output.all());
}

#[test]
fn agent_steps_are_tried_again_when_they_say_so() {
    for (retry, code, calls) in [
        ("retry: {max_attempts: 3, delay: 0}", 0, 3),
        ("retry: {max_attempts: 2, delay: 0}", 1, 2),
        ("retry: {max_attempts: 3, delay: 0, on: [timeout]}", 1, 1),
        ("timeout: 9", 1, 1),
    ] {
        let env = env().agent("claude", "[ $n = 3 ] && result ok || exit 9");
        let output = run(&env, &format!("name: r\nsteps:\n- {{id: a, prompt: x, {retry}}}\n"), &[]);
        assert_eq!((output.code, env.calls()), (code, calls), "{retry} {}", output.all());
    }
}

#[test]
fn changes_are_staged() {
    let body = "echo new > made.txt; result ok";
    for (fields, flag, staged) in
        [("", None, true), (", auto_stage: false", None, false), ("", Some("--no-auto-stage"), false)]
    {
        let env = env().agent("claude", body);
        assert_eq!(env.shell("git init -q .").code, 0);
        let recipe = format!("name: r\nsteps:\n- {{id: a, prompt: x{fields}}}\n");
        let output = run(&env, &recipe, &flag.into_iter().collect::<Vec<_>>());
        assert_eq!(output.code, 0, "{}", output.all());
        let listed = env.shell("git diff --cached --name-only").stdout;
        assert_eq!(listed.contains("made.txt"), staged, "{fields} {flag:?} {listed}");
    }
    let env = env().agent("claude", "echo new > made.txt; exit 1");
    assert_eq!(env.shell("git init -q .").code, 0);
    assert_eq!(run(&env, ONE, &[]).code, 1);
    assert_eq!(env.shell("git diff --cached --name-only").stdout, "");
}

#[test]
fn the_state_of_runs_is_never_staged() {
    let env = env().agent("claude", "echo new > made.txt; result ok");
    assert_eq!(env.shell("git init -q .").code, 0);
    let output = run(&env, ONE, &["--state-dir", ".rr", "--set", "api_key=S3cr3tV4lue!"]);
    assert_eq!(output.code, 0, "{}", output.all());
    let listed = env.shell("git diff --cached --name-only").stdout;
    assert!(listed.contains("made.txt") && !listed.contains(".rr"), "{listed}");
}

const GROUP: &str = "name: r\nsteps:\n- {id: a, prompt: x, parallel_group: g}\n- {id: b, prompt: x, parallel_group: g}\n- {id: c, prompt: x, parallel_group: g}\n";

/// What agents do that count how many of them are at work.
const COUNTING: &str = "touch \"$ZOO_DIR/on-$n\"; sleep 0.4; seen=$(ls \"$ZOO_DIR\" | grep -c on-); rm \"$ZOO_DIR/on-$n\"; result \"$seen\"";

#[test]
fn agents_of_a_group_work_at_the_same_time_as_far_as_allowed() {
    for (args, most) in [(vec![], 3), (vec!["--max-agents", "2"], 2), (vec!["--max-agents", "1"], 1)] {
        let env = env().agent("claude", COUNTING);
        let output = run(&env, GROUP, &args);
        assert_eq!(output.code, 0, "{}", output.all());
        let seen = |at: usize| output.json()["step_results"][at]["output"].as_str().map(str::to_owned);
        let seen: Vec<u32> = (0..3).filter_map(seen).filter_map(|text| text.parse().ok()).collect();
        assert_eq!(seen.iter().max(), Some(&most), "{seen:?}");
    }
}

#[test]
fn usage_is_shown_and_unknown_is_not_zero() {
    let env = env().agent("claude", "result ok 0.25 100 20").agent("codex", "echo plain");
    let recipe = "name: r\nsteps:\n- {id: a, prompt: x}\n- {id: b, prompt: x}\n- {id: c, prompt: x, agent_binary: codex}\n";
    let json = run(&env, recipe, &[]).json();
    for at in [0, 1] {
        let usage = &json["step_results"][at]["usage"];
        assert_eq!(usage["cost_usd"], 0.25);
        assert_eq!((&usage["input_tokens"], &usage["output_tokens"]), (&100.into(), &20.into()));
        assert_eq!((&usage["model"], &usage["turns"]), (&"zoo-model".into(), &2.into()));
        assert_eq!(usage["session"], format!("s-{}", at + 1));
    }
    let silent = &json["step_results"][2]["usage"];
    assert!(silent.get("cost_usd").is_none() && silent.get("input_tokens").is_none(), "{silent}");
    assert_eq!((&json["usage"]["cost_usd"], &json["usage"]["runs"]), (&0.5.into(), &3.into()));
    assert_eq!(json["usage"]["runs_without_cost"], 1);
    assert_eq!(env.run(["show", "last", "--output-format", "json"]).json()["usage"], json["usage"]);
    assert_eq!(env.run(["runs", "--output-format", "json"]).json()[0]["usage"]["cost_usd"], 0.5);
    let text = env.run(["show", "last"]).stdout;
    assert!(text.contains("3 calls, tokens 240, cost at least $0.5000 (not reported for 1 call)"), "{text}");
    assert!(env.run(["runs"]).stdout.contains("3 calls"));
    let silent = run(&env, "name: r\nsteps:\n- {id: c, prompt: x, agent_binary: codex}\n", &[]);
    assert!(silent.json()["usage"].get("cost_usd").is_none());
    assert!(env.run(["show", "last"]).stdout.contains("1 call (usage not reported)"));
}

#[test]
fn the_answer_is_printed_and_not_the_transcript() {
    let env = env().agent("claude", "tool Read src/main.rs; result 'the answer'");
    env.write("r.yaml", ONE);
    let output = env.run(["r.yaml"]);
    assert!(output.stdout.lines().any(|line| line == "the answer"), "{}", output.all());
    assert!(!output.stdout.contains("\"type\""), "{}", output.all());
    assert!(output.stderr.contains("Read src/main.rs"), "{}", output.all());
}
