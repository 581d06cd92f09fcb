//! Programs, arguments, prompt files and conversations of agent steps.

use testkit::{Output, TestEnv};

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs")).env("AMPLIHACK_RATELIMIT_BASE_DELAY_SECS", "0")
}

fn run(env: &TestEnv, recipe: &str, args: &[&str]) -> Output {
    env.write("r.yaml", recipe);
    env.run(["r.yaml", "--output-format", "json"].iter().chain(args))
}

fn step(more: &str) -> String {
    format!("name: r\nsteps:\n- {{id: a, prompt: do it{more}}}\n")
}

/// The result of a model call that failed with this status.
fn failing(status: u16) -> String {
    format!(
        r#"printf '{{"type":"result","subtype":"success","is_error":true,"api_error_status":{status},"result":"no","session_id":"s"}}\n'; exit 1"#
    )
}

const CODEX: &str = r#"printf '{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":1}}\n'; out=$(grep -A1 -x -e -o "$CALL/argv" | tail -n 1); echo "I am codex" > "$out""#;

#[test]
fn the_first_installed_program_of_a_list_is_used() {
    for (recipe, args) in [
        (step(", agent_binary: [gemini, codex, claude]"), vec![]),
        (step(""), vec!["--agent-binary", "gemini, codex,claude"]),
    ] {
        let env = env().agent("codex", CODEX).agent("claude", "result 'I am claude'").env("GEMINI", "");
        let path = format!("{}/bin:/usr/bin:/bin", env.zoo().display());
        let env = env.env("PATH", &path);
        let output = run(&env, &recipe, &args);
        assert_eq!(output.code, 0, "{}", output.all());
        assert_eq!(output.step("a")["output"], "I am codex", "{}", output.all());
    }
    let none = env().env("PATH", "/usr/bin:/bin");
    let output = run(&none, &step(", agent_binary: [codex, gemini]"), &[]);
    assert_eq!(output.code, 5, "{}", output.all());
    assert!(output.all().contains("`codex` is not found") && output.all().contains("`gemini`"));
}

#[test]
fn the_next_program_is_asked_when_a_service_refuses() {
    for (status, moves) in [(429, true), (401, true), (500, true), (400, false)] {
        let env = env().agent("claude", &failing(status)).agent("codex", CODEX);
        let output = run(&env, &step(", agent_binary: [claude, codex]"), &[]);
        assert_eq!(output.code, i32::from(!moves), "{status} {}", output.all());
        assert_eq!(env.calls(), if moves { 2 } else { 1 }, "{status}");
        if moves {
            assert_eq!(output.step("a")["usage"]["program"], "codex");
            assert_eq!(output.step("a")["attempts"], 1, "a rate limit moves on at once");
            let notes = output.json()["evidence"]["notes"].to_string();
            assert!(notes.contains("asking `codex` instead"), "{status} {notes}");
        }
    }
    // both are limited: only the last one is waited for
    let env = env().agent("claude", &failing(429)).agent("copilot", "echo rate limit exceeded >&2; exit 1");
    let env = env.env("AMPLIHACK_RATELIMIT_MAX_RETRIES", "2");
    let output = run(&env, &step(", agent_binary: [copilot, claude]"), &[]);
    assert_eq!((output.code, env.calls()), (1, 4), "{}", output.all());
}

/// A model is written for the first program of a list; others use their own, and a note says so, once.
#[test]
fn a_model_belongs_to_the_first_program() {
    let both = step(", agent_binary: [claude, codex], model: opus");
    let env = env().agent("claude", &failing(429)).agent("codex", CODEX);
    let output = run(&env, &both, &[]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert!(env.asked(1, "argv").contains("opus"), "{}", env.asked(1, "argv"));
    assert!(!env.asked(2, "argv").contains("opus"), "{}", env.asked(2, "argv"));
    let note = "`claude` is rate limited: asking `codex` instead, with its own default model";
    assert_eq!(output.stderr.matches(note).count(), 1, "{}", output.all());
    let notes = output.json()["evidence"]["notes"].to_string();
    assert_eq!(notes.matches(note).count(), 1, "{notes}");
    // the first one is not installed
    let env = self::env().agent("codex", CODEX);
    let path = format!("{}/bin:/usr/bin:/bin", env.zoo().display());
    let env = env.env("PATH", &path);
    let output = run(&env, &both, &[]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert!(!env.asked(1, "argv").contains("opus"), "{}", env.asked(1, "argv"));
    let note = "`codex` runs with its own default model: `model` is for `claude`";
    assert!(output.stderr.contains(note), "{}", output.all());
}

#[test]
fn more_arguments_come_after_ours_and_may_not_contradict_them() {
    let env = env().agent("claude", "result ok");
    let output = run(&env, &step(", model: m, agent_args: [--max-turns, '{{n}}']"), &["--set", "n=7"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert!(env.asked(1, "argv").ends_with("--max-turns\n7\n"), "{}", env.asked(1, "argv"));
    for (args, level) in [
        ("[--output-format, json]", ""),
        ("[--permission-mode=plan]", ""),
        ("[--dangerously-skip-permissions]", ""),
        ("[--model, other]", ", model: m"),
        ("[--allowedTools, Bash]", ", permissions: read-only"),
    ] {
        let output = run(&env, &step(&format!(", agent_args: {args}{level}")), &[]);
        assert_eq!((output.code, env.calls()), (2, 1), "{args} {}", output.all());
        assert!(output.stderr.contains("contradicts what the runner sets"), "{}", output.all());
    }
    let late = run(&env, &step(", agent_args: ['{{arg}}']"), &["--set", "arg=--output-format=text"]);
    assert_eq!((late.code, env.calls()), (1, 1), "{}", late.all());
    assert!(late.step("a")["error"].to_string().contains("contradicts"), "{}", late.all());
}

#[test]
fn a_prompt_comes_from_a_file_beside_the_recipe() {
    let env = env().agent("claude", "result ok").file("sub/tasks/one.md", "Write about {{topic}}.\n");
    env.write("sub/r.yaml", "name: r\ncontext: {topic: cats, n: one}\nsteps:\n- {id: a, prompt_file: tasks/one.md}\n- {id: b, prompt_file: 'tasks/{{n}}.md'}\n");
    let output = env.run(["sub/r.yaml", "--output-format", "json"]);
    assert_eq!(output.code, 0, "{}", output.all());
    for call in [1, 2] {
        assert!(
            env.asked(call, "prompt").starts_with("Write about cats.\n"),
            "{}",
            env.asked(call, "prompt")
        );
    }
    let missing = run(&env, "name: r\nsteps:\n- {id: a, prompt_file: no.md}\n", &[]);
    assert_eq!(missing.code, 2, "{}", missing.all());
    let both = run(&env, "name: r\nsteps:\n- {id: a, prompt: x, prompt_file: sub/tasks/one.md}\n", &[]);
    assert_eq!(both.code, 2, "{}", both.all());
    let undefined =
        run(&env, "name: r\nsteps:\n- {id: a, prompt_file: sub/tasks/one.md}\n", &["--validate-only"]);
    assert!(undefined.all().contains("topic"), "{}", undefined.all());
    let late = run(&env, "name: r\nsteps:\n- {id: a, prompt_file: '{{x}}.md'}\n", &["--set", "x=no"]);
    assert_eq!(late.code, 1, "{}", late.all());
    assert!(late.step("a")["error"].to_string().contains("prompt file"), "{}", late.all());
}

#[test]
fn a_changed_prompt_file_is_a_changed_step() {
    let env = env().agent("claude", "result \"answer $n\"").file("p.md", "first");
    let recipe = "name: r\nsteps:\n- {id: a, prompt_file: p.md}\n- {id: b, command: test -e ok}\n";
    assert_eq!(run(&env, recipe, &[]).code, 1);
    env.write("p.md", "second");
    env.write("ok", "");
    assert_eq!(env.run(["resume", "last"]).code, 0);
    assert_eq!(env.calls(), 1, "the run keeps the prompt that it began with");
    std::fs::remove_file(env.path("ok")).unwrap_or_default();
    assert_eq!(run(&env, recipe, &[]).code, 1);
    env.write("p.md", "third");
    env.write("ok", "");
    assert_eq!(env.run(["resume", "last", "--recipe", "r.yaml", "--yes"]).code, 0);
    assert!(env.asked(3, "prompt").starts_with("third"), "{}", env.asked(3, "prompt"));
}

const CONTINUED: &str =
    "name: r\nsteps:\n- {id: plan, prompt: make a plan}\n- {id: doing, prompt: now do it, continues: plan}\n";

#[test]
fn a_step_continues_the_session_of_an_earlier_one() {
    let env = env().agent("claude", "result \"answer $n\"");
    let output = run(&env, CONTINUED, &[]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert!(!env.asked(1, "argv").contains("--resume"));
    assert!(env.asked(2, "argv").contains("--resume\ns-1\n"), "{}", env.asked(2, "argv"));
    assert!(env.asked(2, "prompt").starts_with("now do it\n"), "{}", env.asked(2, "prompt"));
}

#[test]
fn a_session_that_is_gone_is_replaced_by_its_text() {
    let body = "grep -qx -e --resume \"$CALL/argv\" && { echo 'No conversation found' >&2; exit 1; }; result \"answer $n\"";
    let env = env().agent("claude", body);
    let output = run(&env, CONTINUED, &[]);
    assert_eq!((output.code, env.calls()), (0, 3), "{}", output.all());
    let prompt = env.asked(3, "prompt");
    for part in ["make a plan", "answer 1", "now do it"] {
        assert!(prompt.contains(part), "{part} is not in {prompt}");
    }
    let notes = output.json()["evidence"]["notes"].to_string();
    assert!(notes.contains("cannot continue its session"), "{notes}");
}

#[test]
fn a_program_without_sessions_gets_the_earlier_words() {
    let config = "agents:\n- {name: mine, command: ./mine.sh}\nagent: mine\n";
    let env = env()
        .file(".recipe-runner.yaml", config)
        .file("mine.sh", "#!/bin/sh\ncat > \"$HOME/prompt\"\necho did it\n");
    assert_eq!(env.shell("chmod +x mine.sh").code, 0);
    assert_eq!(run(&env, CONTINUED, &[]).code, 0);
    let prompt = std::fs::read_to_string(env.home().join("prompt")).unwrap_or_default();
    for part in ["You were asked:\nmake a plan", "You answered:\ndid it", "now do it"] {
        assert!(prompt.contains(part), "{part} is not in {prompt}");
    }
}

#[test]
fn what_cannot_be_continued_is_an_error() {
    for (steps, words) in [
        ("- {id: a, command: x}\n- {id: b, prompt: p, continues: a}\n", "is not an agent step"),
        ("- {id: b, prompt: p, continues: c}\n- {id: c, prompt: p}\n", "does not come before"),
        ("- {id: b, prompt: p, continues: nothing}\n", "there is no step `nothing`"),
        (
            "- {id: a, prompt: p, agent_binary: codex}\n- {id: b, prompt: p, continues: a, agent_binary: claude}\n",
            "another program",
        ),
        (
            "- {id: a, prompt: p, for_each: [1, 2]}\n- {id: b, prompt: p, continues: a}\n",
            "several conversations",
        ),
    ] {
        let output = run(&env(), &format!("name: r\nsteps:\n{steps}"), &["--validate-only"]);
        assert_eq!(output.code, 2, "{steps} {}", output.all());
        assert!(output.all().contains(words), "{words} {}", output.all());
    }
}

#[test]
fn asking_again_for_json_or_for_a_rule_stays_in_the_session() {
    let env = env().agent("claude", "[ $n = 1 ] && result 'not json' || result '[3]'");
    let output = run(&env, &step(", parse_json: true"), &[]);
    assert_eq!((output.code, env.calls()), (0, 2), "{}", output.all());
    assert!(env.asked(2, "argv").contains("--resume\ns-1\n"), "{}", env.asked(2, "argv"));
    let env = env.env("X", "y");
    env.put_agent("claude", "[ $n = 4 ] && echo x > made; result ok");
    let output = run(&env, &step(", ensure: [{file: made}]"), &[]);
    assert_eq!((output.code, env.calls()), (0, 4), "{}", output.all());
    assert!(env.asked(4, "argv").contains("--resume\ns-3\n"), "{}", env.asked(4, "argv"));
}

#[test]
fn a_value_can_name_the_program_of_a_step() {
    // O4: empty after its values are put in means the program of the run
    for (binary, given, expected) in [
        ("'{{who}}'", "who=codex", "codex"),
        ("'{{who}}'", "who=", "claude"),
        ("'{{who}}'", "who= ", "claude"),
        ("['{{who}}', codex]", "who=", "codex"),
        ("['{{who}}', claude]", "who=codex", "codex"),
    ] {
        let env = env().agent("codex", CODEX).agent("claude", "result 'I am claude'");
        let recipe =
            step(&format!(", agent_binary: {binary}")).replace("steps:", "context: {who: ''}\nsteps:");
        let output = run(&env, &recipe, &["--set", given]);
        assert_eq!(output.code, 0, "{binary} {given} {}", output.all());
        assert_eq!(output.step("a")["usage"]["program"], expected, "{binary} {given}");
        let shown = env.run(["explain", "r.yaml"]);
        let line = "Program: {{who}}";
        assert!(
            shown.stdout.contains(line) && shown.stdout.contains("(decided when the step runs)"),
            "{}",
            shown.all()
        );
    }
    let env = env().agent("claude", "echo ok");
    let recipe = step(", agent_binary: '{{who}}'").replace("steps:", "context: {who: ''}\nsteps:");
    let unknown = run(&env, &recipe, &["--set", "who=nobody"]);
    assert_eq!((unknown.code, env.calls()), (1, 0), "{}", unknown.all());
    assert!(unknown.step("a")["error"].to_string().contains("nobody"), "{}", unknown.all());
    let undefined = run(&env, &step(", agent_binary: '{{wo}}'"), &["--validate-only", "--strict"]);
    assert_eq!(undefined.code, 2, "{}", undefined.all());
    assert!(undefined.all().contains("`wo`"), "{}", undefined.all());
}

#[test]
fn a_value_can_name_the_program_that_recovers_a_recipe() {
    let env = env()
        .agent("codex", CODEX)
        .agent("claude", "echo no; exit 1")
        .file("child.yaml", "name: child\nsteps: [{id: x, command: exit 1}]\n");
    let recipe = "name: r\ncontext: {who: codex}\nsteps:\n- {id: a, recipe: child, recovery_on_failure: true, agent_binary: '{{who}}'}\n";
    run(&env, recipe, &[]);
    assert_eq!(env.calls(), 1);
    assert!(env.asked(1, "argv").contains("exec"), "codex was asked: {}", env.asked(1, "argv"));
}
