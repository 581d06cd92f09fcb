//! What wrappers of other runners rely on: variables of the environment, `--compat`, the log of a run.

use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use testkit::{Output, TestEnv, until};

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

const ASK: &str = "name: r\ncontext: {big: ''}\nsteps:\n  - {id: a, prompt: 'read {{big}} end'}\n";

#[test]
fn a_launcher_may_read_the_directory_of_a_large_prompt() {
    let script = "for arg in \"$@\"; do last=$arg; done; cp \"$last/prompt.md\" \"$CALL/file\"; echo ok";
    let env = env().agent("launch", script).env("AMPLIHACK_LAUNCHER_BINARY", "launch");
    let big = "0123456789".repeat(20_000);
    env.write("context.json", format!("{{\"big\": \"{big}\"}}"));
    let output = env.json(ASK, &["--context-file", "context.json"]);
    assert_eq!(output.code, 0, "{}", output.stderr);
    let argv = env.asked(1, "argv");
    let dirs: Vec<&str> = argv.split("--add-dir\n").skip(1).map(str::trim).collect();
    assert_eq!(dirs.len(), 2, "{argv}");
    assert_eq!(dirs[0], env.dir().display().to_string());
    assert!(argv.contains(&format!("{}/prompt.md", dirs[1])), "{argv}");
    assert!(env.asked(1, "file").starts_with(&format!("read {big} end")));
    // a prompt that fits needs no other directory
    assert_eq!(env.json(ASK, &[]).code, 0);
    assert_eq!(env.asked(2, "argv").matches("--add-dir").count(), 1);
}

#[test]
fn tools_may_be_left_to_the_settings_of_copilot() {
    for (value, is_left) in [("", false), ("0", false), ("false", false), ("1", true), ("yes", true)] {
        for launcher in ["", "launch"] {
            let env = env()
                .agent("launch", "echo ok")
                .agent("copilot", "echo ok")
                .env("AMPLIHACK_LAUNCHER_BINARY", launcher)
                .env("AMPLIHACK_NO_ALLOW_ALL_TOOLS", value);
            let output = env.json(ASK, &["--agent-binary", "copilot"]);
            assert_eq!(env.calls(), 1, "{}", output.all());
            let is_allowed = env.asked(1, "argv").contains("--allow-all-tools");
            assert_eq!(is_allowed, !is_left, "`{value}` {launcher}");
        }
    }
}

#[test]
fn the_name_that_a_caller_has_for_a_run_is_its_tracking_id() {
    let recipe = "name: r\nsteps: [{id: a, command: test -e go}]\n";
    let env = env().env("AMPLIHACK_RECIPE_RUN_ID", "wrapper-7");
    let first = env.json(recipe, &[]);
    assert_eq!((first.code, &first.json()["tracking_id"]), (1, &Json::from("wrapper-7")), "{}", first.all());
    assert_ne!(first.json()["run_id"], "wrapper-7");
    env.write("go", "");
    let resumed = env.shell("AMPLIHACK_RECIPE_RUN_ID=other \"$RUNNER\" resume last --output-format json");
    assert_eq!((resumed.code, &resumed.json()["tracking_id"]), (0, &Json::from("wrapper-7")));
    assert_eq!(env.run(["show", "last", "--output-format", "json"]).json()["tracking_id"], "wrapper-7");
    for unset in ["", " "] {
        let output = self::env()
            .env("AMPLIHACK_RECIPE_RUN_ID", unset)
            .json("name: r\nsteps: [{id: a, command: x=1}]\n", &[]);
        assert_eq!(output.json()["tracking_id"], output.json()["run_id"], "{}", output.all());
    }
}

#[test]
fn the_environment_has_a_timeout_for_steps_without_one() {
    let recipe = "name: r\nsteps:\n  - {id: a, command: 'test -e quick || sleep 30'}\n";
    let env = env().env("AMPLIHACK_STEP_TIMEOUT", "0.3");
    let output = env.json(recipe, &[]);
    assert_eq!(output.code, 1);
    assert!(
        output.step("a")["error"].as_str().unwrap_or_default().contains("timed out after 0.3 s"),
        "{}",
        output.all()
    );
    let output = env.json(recipe, &["--step-timeout", "0.2"]);
    assert!(
        output.step("a")["error"].as_str().unwrap_or_default().contains("timed out after 0.2 s"),
        "{}",
        output.all()
    );
    // a resume keeps it, whatever its own shell has
    let output = env.shell("unset AMPLIHACK_STEP_TIMEOUT; \"$RUNNER\" resume last --output-format json");
    assert!(
        output.step("a")["error"].as_str().unwrap_or_default().contains("timed out after 0.2 s"),
        "{}",
        output.all()
    );
}

#[test]
fn a_timeout_of_the_environment_is_a_plain_number_of_seconds() {
    let recipe = "name: r\nsteps: [{id: a, command: touch ran}]\n";
    for (value, code) in
        [("", 0), ("0", 0), ("60", 0), (" 60 ", 0), ("60s", 4), ("-1", 4), ("soon", 4), ("nan", 4)]
    {
        let env = env().env("AMPLIHACK_STEP_TIMEOUT", value);
        for arguments in [vec![], vec!["--dry-run"]] {
            let output = env.text(recipe, &arguments);
            assert_eq!(output.code, code, "`{value}`: {}", output.all());
            let is_named = output.stderr.contains("AMPLIHACK_STEP_TIMEOUT");
            assert_eq!(is_named, code != 0, "`{value}`: {}", output.all());
        }
        assert_eq!(env.path("ran").exists(), code == 0);
        assert_eq!(env.text(recipe, &["--step-timeout", "60"]).code, 0, "the flag comes first");
    }
}

#[test]
fn runs_may_be_six_deep_with_compat() {
    let recipe = "name: r\nsteps: [{id: a, command: 'echo depth $AMPLIHACK_MAX_DEPTH'}]\n";
    for (depth, most, arguments, expected) in [
        ("0", None, vec![], "depth 3"),
        ("5", None, vec![], "maximum of 3"),
        ("5", None, vec!["--compat"], "depth 6"),
        ("6", None, vec!["--compat"], "maximum of 6"),
        ("5", Some("4"), vec!["--compat"], "maximum of 4"),
        ("7", Some("8"), vec!["--compat"], "depth 8"),
    ] {
        let mut env = env().env("AMPLIHACK_SESSION_DEPTH", depth);
        if let Some(most) = most {
            env = env.env("AMPLIHACK_MAX_DEPTH", most);
        }
        let output = env.text(recipe, &arguments);
        assert!(output.all().contains(expected), "{depth} {most:?} {arguments:?}\n{}", output.all());
    }
}

/// The log that stderr names.
fn log_of(stderr: &str) -> Option<PathBuf> {
    stderr.lines().find_map(|line| line.strip_prefix("[amplihack] recipe log: ")).map(PathBuf::from)
}

/// The lines of a log, each of them a JSON object.
fn lines(log: &Path) -> Vec<Json> {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_default()).collect()
}

fn statuses(log: &Path) -> Vec<String> {
    lines(log).iter().map(|line| format!("{} {}", line["step_id"], line["status"]).replace('"', "")).collect()
}

#[test]
fn a_wrapper_can_follow_the_log_of_a_run() {
    let recipe = "name: r\nsteps:\n  - {id: one, command: echo x}\n  - {id: two, command: 'while [ ! -e go ]; do sleep 0.02; done'}\n";
    let env = env().file("r.yaml", recipe);
    let running = env.spawn(["r.yaml", "--compat"]);
    let mut log = PathBuf::new();
    until("the log is named", || {
        log = log_of(&running.stderr()).unwrap_or_default();
        log.exists()
    });
    until("the first step is in it", || statuses(&log) == ["one completed"]);
    env.write("go", "");
    assert_eq!(running.wait().code, 0);
    assert_eq!(statuses(&log), ["one completed", "two completed"]);
    assert_eq!(log.parent(), Some(env.run_dir().as_path()));
}

#[test]
fn the_log_is_named_wherever_a_run_begins_and_nowhere_else() {
    let recipe = "name: r\nsteps: [{id: a, command: echo x}]\n";
    let named = |output: &Output| output.stderr.matches("[amplihack] recipe log: ").count();
    let env = env();
    for arguments in [vec![], vec!["--quiet"], vec!["--progress"], vec!["--output-format", "json"]] {
        let output = env.text(recipe, &[&["--compat"], arguments.as_slice()].concat());
        assert_eq!((output.code, named(&output)), (0, 1), "{}", output.all());
    }
    for arguments in [vec![], vec!["--compat", "--dry-run"]] {
        assert_eq!(named(&env.text(recipe, &arguments)), 0);
    }
    let logs = env
        .run_ids()
        .iter()
        .filter(|run| env.state().join("runs").join(run).join("log.jsonl").exists())
        .count();
    assert_eq!((logs, env.run_ids().len()), (4, 5));
}

#[test]
fn a_resume_continues_the_log() {
    let recipe = "name: r\nsteps:\n  - {id: one, command: echo x}\n  - {id: two, command: test -e go}\n";
    let env = env();
    let first = env.text(recipe, &["--compat", "--audit-dir", "audit"]);
    let log = log_of(&first.stderr).unwrap_or_default();
    assert_eq!(statuses(&log), ["one completed", "two failed"], "{}", first.all());
    env.write("go", "");
    let second = env.run(["resume", "last"]);
    assert_eq!((second.code, log_of(&second.stderr)), (0, Some(log.clone())), "{}", second.all());
    assert_eq!(statuses(&log), ["one completed", "two failed", "two completed"]);
    // a run that began without it can have one later
    let env = self::env();
    assert_eq!(env.text(recipe, &[]).code, 1);
    env.write("go", "");
    let later = env.run(["resume", "last", "--compat"]);
    assert_eq!(statuses(&log_of(&later.stderr).unwrap_or_default()), ["two completed"], "{}", later.all());
}

#[test]
fn secrets_are_masked_in_the_log() {
    let recipe = "name: r\ncontext: {api_key: hunter2secret}\nsteps: [{id: a, command: 'echo {{api_key}} >&2; exit 1'}]\n";
    let env = env();
    let output = env.text(recipe, &["--compat"]);
    let text = std::fs::read_to_string(log_of(&output.stderr).unwrap_or_default()).unwrap_or_default();
    assert!(text.contains("\"failed\"") && text.contains("bash step failed"), "{text}");
    assert!(!text.contains("hunter2secret"), "{text}");
}
