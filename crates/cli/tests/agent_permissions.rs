//! What agents may do: each program is limited by its own means, or refused before it starts.

use testkit::{Output, TestEnv};

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

fn run(env: &TestEnv, recipe: &str, args: &[&str]) -> Output {
    env.write("r.yaml", recipe);
    env.run(["r.yaml", "--output-format", "json"].iter().chain(args))
}

fn step(more: &str) -> String {
    format!("name: r\nsteps:\n- {{id: a, prompt: do it{more}}}\n")
}

#[test]
fn every_program_is_limited_by_its_own_means() {
    for (program, level, args, variable) in [
        ("claude", "read-only", "--permission-mode\nplan\n", None),
        ("claude", "edit", "--permission-mode\nacceptEdits\n", None),
        ("claude", "full", "--permission-mode\nbypassPermissions\n", None),
        ("codex", "read-only", "--sandbox\nread-only\n", None),
        ("codex", "edit", "--sandbox\nworkspace-write\n", None),
        ("codex", "full", "--dangerously-bypass-approvals-and-sandbox\n", None),
        ("copilot", "read-only", "--deny-tool=write\n--deny-tool=shell\n", None),
        ("copilot", "edit", "--allow-tool=write\n--deny-tool=shell\n", None),
        ("copilot", "full", "--allow-all-tools\n--allow-all-paths\n--allow-all-urls\n", None),
        ("gemini", "read-only", "--approval-mode\nplan\n", None),
        ("gemini", "edit", "--approval-mode\nauto_edit\n", None),
        ("gemini", "full", "--yolo\n", None),
        ("opencode", "read-only", "run\n", Some(r#"{"edit":"deny","bash":"deny"}"#)),
        ("opencode", "edit", "run\n", Some(r#"{"edit":"allow","bash":"deny"}"#)),
        ("opencode", "full", "run\n", None),
    ] {
        let env = env().agent(program, "echo ok");
        run(&env, &step(&format!(", permissions: {level}")), &["--agent-binary", program]);
        let argv = env.asked(1, "argv");
        assert!(argv.contains(args), "{program} {level}: {argv}");
        assert_eq!(env.asked_env(1, "OPENCODE_PERMISSION").as_deref(), variable, "{program} {level}");
        let loose = ["bypass", "--yolo", "--allow-all-tools"].iter().any(|word| argv.contains(word));
        assert_eq!(loose, level == "full" && program != "opencode", "{program} {level}: {argv}");
    }
}

#[test]
fn the_step_wins_then_the_command_line_then_the_recipe() {
    let recipe = |own: &str, step: &str| format!("name: r\n{own}steps:\n- {{id: a, prompt: do it{step}}}\n");
    let (own, edit) = ("permissions: read-only\n", ", permissions: edit");
    for (recipe, flags, mode) in [
        (recipe("", ""), vec![], "bypassPermissions"),
        (recipe(own, ""), vec![], "plan"),
        (recipe(own, edit), vec![], "acceptEdits"),
        (recipe("", ""), vec!["--permissions", "read-only"], "plan"),
        (recipe(own, ""), vec!["--permissions", "edit"], "acceptEdits"),
        (recipe(own, edit), vec!["--permissions", "read-only"], "acceptEdits"),
    ] {
        let env = env().agent("claude", "result ok");
        assert_eq!(run(&env, &recipe, &flags).code, 0, "{recipe}");
        assert!(env.asked(1, "argv").contains(&format!("--permission-mode\n{mode}\n")), "{recipe} {flags:?}");
    }
    let env = env().agent("claude", "result ok").file("child.yaml", step(""));
    run(&env, "name: r\npermissions: read-only\nsteps:\n- {id: sub, recipe: child}\n", &[]);
    assert!(env.asked(1, "argv").contains("plan"), "a sub-recipe inherits what the recipe around it says");
}

#[test]
fn a_program_that_cannot_be_limited_is_refused_before_anything_runs() {
    let env = env().agent("amplifier", "echo ran");
    let first = "name: r\nsteps:\n- {id: first, command: touch ran}\n- {id: a, prompt: x, permissions: read-only, agent_binary: amplifier}\n";
    let output = run(&env, first, &[]);
    assert_eq!((output.code, env.calls()), (2, 0), "{}", output.all());
    assert!(!env.path("ran").exists());
    for part in ["`amplifier` cannot run with `permissions: read-only`", "`claude`", "`codex`"] {
        assert!(output.stderr.contains(part), "{part} {}", output.all());
    }
    let validated = env.run(["validate", "r.yaml"]);
    assert_eq!(validated.code, 2, "{}", validated.all());
    // the default program comes from the command line
    let output = run(&env, &step(", permissions: edit"), &["--agent-binary", "amplifier"]);
    assert_eq!((output.code, env.calls()), (2, 0), "{}", output.all());
}

#[test]
fn a_wish_is_noted_where_it_cannot_be_fulfilled() {
    let env = env().agent("amplifier", "echo '{\"status\":\"success\",\"response\":\"done\"}'");
    let wish = step(", agent_binary: amplifier, permissions: {level: read-only, required: false}");
    let output = run(&env, &wish, &[]);
    assert_eq!(output.code, 0, "{}", output.all());
    let notes = output.json()["evidence"]["notes"].to_string();
    assert!(notes.contains("`amplifier` cannot run with `permissions: read-only`"), "{notes}");
}

#[test]
fn a_described_program_says_how_it_is_limited() {
    let config = "agents:\n- name: mine\n  command: ./mine.sh\n  args: [go, \"{permission_args}\", end]\n  permissions:\n    read-only: {args: [--careful], env: {CAREFUL: \"yes\"}}\n";
    let env =
        env().file(".recipe-runner.yaml", config).file("mine.sh", "#!/bin/sh\necho \"$* [$CAREFUL]\"\n");
    assert_eq!(env.shell("chmod +x mine.sh").code, 0);
    let limited = run(&env, &step(", agent_binary: mine, permissions: read-only"), &[]);
    assert_eq!(limited.step("a")["output"], "go --careful end [yes]", "{}", limited.all());
    let free = run(&env, &step(", agent_binary: mine"), &[]);
    assert_eq!(free.step("a")["output"], "go end []", "{}", free.all());
    let other = run(&env, &step(", agent_binary: mine, permissions: edit"), &[]);
    assert_eq!(other.code, 2, "{}", other.all());
    env.write(".recipe-runner.yaml", config.replace("args: [--careful]", "arg: [--careful]"));
    let typo = run(&env, &step(", agent_binary: mine, permissions: read-only"), &[]);
    assert!(typo.all().contains("did you mean `args`?"), "{}", typo.all());
}

#[test]
fn only_agent_steps_have_such_fields() {
    let fields = ["permissions: edit", "agent_args: [-x]", "continues: other", "prompt_file: p.md"];
    for field in fields {
        let recipe =
            format!("name: r\nsteps:\n- {{id: other, prompt: x}}\n- {{id: a, command: echo, {field}}}\n");
        let output = run(&env(), &recipe, &["--validate-only"]);
        assert_eq!(output.code, 2, "{field} {}", output.all());
        let name = field.split(':').next().unwrap_or_default();
        assert!(output.all().contains(&format!("a bash step cannot have `{name}`")), "{}", output.all());
    }
    let unknown = run(&env(), &step(", permissions: readonly"), &["--validate-only"]);
    assert_eq!(unknown.code, 2, "{}", unknown.all());
    assert!(unknown.all().contains("read-only"), "{}", unknown.all());
    assert_eq!(env().run(["r.yaml", "--permissions", "some"]).code, 2);
}

#[test]
fn explain_dry_run_and_resume_know_them() {
    let env = env().agent("claude", "[ $n -le 2 ] && exit 3; result ok");
    let recipe = step(", permissions: read-only, agent_args: [--max-turns, '3']");
    let dry = run(&env, &recipe, &["--dry-run"]);
    assert!(dry.step("a")["dry_run"].to_string().contains("permissions: read-only"), "{}", dry.all());
    let explained = env.run(["explain", "r.yaml"]).stdout;
    assert!(explained.contains("Permissions: read-only") && explained.contains("Arguments: --max-turns 3"));
    let audited = run(&env, &recipe, &["--audit-dir", "audit"]);
    let line = env.shell("cat audit/*.jsonl").stdout;
    assert!(line.contains(r#""agent":"claude""#) && line.contains(r#""permissions":"read-only""#), "{line}");
    assert_eq!(audited.step("a")["usage"]["permissions"], "read-only");
    let plain = step("");
    assert_eq!(run(&env, &plain, &["--permissions", "edit"]).code, 1);
    assert_eq!(env.run(["resume", "last"]).code, 0);
    assert!(env.asked(3, "argv").contains("acceptEdits"), "a resume keeps `--permissions`");
    let again = env.run(["show", "last", "--output-format", "json"]).json();
    assert!(again["evidence"]["repro_command"].to_string().contains("--permissions edit"), "{again:#}");
}

#[test]
fn a_mark_against_root_blocks_the_run_before_anything_is_paid() {
    let env = env().agent("claude", "result ok").env("IS_SANDBOX", "0");
    let output = run(&env, &step(""), &[]);
    if env.shell("id -u").stdout.trim() != "0" {
        assert_eq!(output.code, 0, "{}", output.all());
        return;
    }
    assert_eq!((output.code, env.calls()), (5, 0), "{}", output.all());
    assert!(
        output.all().contains("`claude` refuses to work as root unless `IS_SANDBOX=1`"),
        "{}",
        output.all()
    );
    assert_eq!(run(&env, &step(", permissions: read-only"), &[]).code, 0);
    let doctor = env.run(["doctor"]).stdout;
    assert!(doctor.contains("refuses to work as root"), "{doctor}");
}

#[test]
fn doctor_asks_each_program_for_one_word() {
    let env = env()
        .agent("claude", "result ready")
        .agent("codex", "[ \"$1\" = --version ] && { echo 1.0; exit; }; echo no login >&2; exit 1");
    let output = env.run(["doctor", "--agents", "--output-format", "json"]);
    let json = output.json();
    let check = |name: &str| {
        let checks = json["checks"].as_array().cloned().unwrap_or_default();
        checks.into_iter().find(|check| check["name"] == name).unwrap_or_default()
    };
    let claude = check("claude");
    assert_eq!(claude["asked"]["answered"], true, "{}", output.all());
    assert_eq!(
        (&claude["asked"]["model"], &claude["asked"]["cost_usd"]),
        (&"zoo-model".into(), &0.25.into())
    );
    let codex = check("codex");
    assert_eq!((&codex["asked"]["answered"], &codex["status"]), (&false.into(), &"failed".into()), "{codex}");
    assert!(codex["asked"]["cost_usd"].is_null(), "unknown is not zero: {codex}");
    assert_eq!(check("gemini")["asked"], serde_json::Value::Null);
    assert!(env.run(["runs"]).stdout.is_empty() || !env.run(["runs"]).stdout.contains("doctor"));
}

#[test]
fn a60_only_an_answer_verifies_an_agent() {
    let env = env()
        .agent("claude", "[ \"$1\" = --version ] && { echo 1.0; exit; }; result ready")
        .agent("codex", "[ \"$1\" = --version ] && { echo 1.0; exit; }; echo no login >&2; exit 1");
    env.run([""; 0]);
    for _ in 0..2 {
        let output = env.run(["doctor"]);
        assert!(!output.all().contains("verified") && !output.all().contains("http"), "{}", output.all());
        assert!(output.stdout.contains(", login unknown"), "{}", output.all());
        assert!(output.stdout.contains("absent (not found in PATH)"), "{}", output.all());
    }
    let asked = env.run(["doctor", "--agents"]);
    assert!(asked.stderr.contains("may cost money"), "{}", asked.all());
    // what came of it is remembered
    let output = env.run(["doctor"]);
    let line = |name: &str| {
        let lines: Vec<&str> = output.stdout.lines().collect();
        let number = lines.iter().position(|line| line.contains(name)).unwrap();
        lines[number..].iter().take(2).copied().collect::<Vec<_>>().join("\n")
    };
    assert!(line(" claude ").contains("verified (20"), "{}", output.all());
    assert!(line(" codex ").contains("failed (does not answer: "), "{}", output.all());
    assert!(line(" codex ").contains("fix: log in"), "{}", output.all());
    // another version of the program may be logged out
    env.put_agent("claude", "[ \"$1\" = --version ] && { echo 2.0; exit; }; result ready");
    assert!(!env.run(["doctor"]).all().contains("verified"));
}
