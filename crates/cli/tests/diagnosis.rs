//! Every class of failure, provoked through the program itself.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot set up its world has failed")]

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value as Json, json};
use testkit::{Output, TestEnv, until};

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

/// A world whose agent program `claude` is this script.
fn with_agent(script: &str) -> TestEnv {
    let env = env();
    env.write("bin/claude", format!("#!/bin/bash\n{script}\n"));
    let program = env.path("bin/claude");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", env.path("bin").display());
    env.env("PATH", &path)
}

/// The diagnosis of a failure, checked for what every diagnosis has.
fn diagnosis(output: &Output) -> Json {
    let result = output.json();
    assert_ne!(output.code, 0, "{}", output.all());
    let found = result["diagnosis"].clone();
    let signals = found["signals"].as_array().unwrap_or_else(|| panic!("{}", output.all()));
    assert!(!signals.is_empty(), "{found}");
    for signal in signals {
        assert!(signal["quote"].as_str().unwrap().chars().count() <= 160, "{signal}");
        assert!(!signal["at"].as_str().unwrap().is_empty());
    }
    assert_eq!(found["uncertain"], found["class"] == "unknown");
    let advice = result["advice"].to_string();
    assert!(advice.contains("recipe-runner-rs "), "a next command: {advice}");
    found
}

fn step(command: &str) -> String {
    format!("name: r\nsteps:\n  - id: s\n    command: |\n      {}\n", command.replace('\n', "\n      "))
}

/// `class confidence`, and the quotes of the signals.
fn check(found: &Json, expected: &str, quote: &str) {
    let class = format!("{} {}", found["class"].as_str().unwrap(), found["confidence"].as_str().unwrap());
    assert_eq!(class, expected, "{found}");
    let quotes =
        found["signals"].as_array().unwrap().iter().map(|signal| {
            format!("{} {}", signal["what"].as_str().unwrap(), signal["quote"].as_str().unwrap())
        });
    assert!(quotes.into_iter().any(|said| said.contains(quote)), "{quote}: {found}");
}

#[test]
fn a_missing_tool_is_named_even_if_no_message_names_it() {
    let output = env().json(&step("nosuchx --flag 2>/dev/null"), &[]);
    check(&diagnosis(&output), "environment.missing_binary medium", "the program `nosuchx` is not found");
    let error = output.step("s")["error"].as_str().unwrap().to_owned();
    assert!(error.contains("`nosuchx` is not installed, or not in PATH"), "{error}");
}

#[test]
fn a_recipe_that_is_to_be_corrected_is_gone_on_with_corrected() {
    let env = env().file("r.yaml", "name: r\nsteps: [{id: a, command: 'if true; then echo'}]\n");
    let output = env.run(["r.yaml"]);
    let (_, command) = output.stderr.split_once("resume:  recipe-runner-rs ").unwrap_or_default();
    let command = command.lines().next().unwrap_or_default();
    assert!(command.contains("--recipe"), "{}", output.all());
    env.write("r.yaml", "name: r\nsteps: [{id: a, command: 'if true; then echo; fi'}]\n");
    let output = env.shell(&format!("$RUNNER {command}"));
    assert_eq!(output.code, 0, "{}", output.all());
}

#[test]
fn a_recipe_without_agents_does_not_drift() {
    let env = env().file("c.yaml", "name: c\nsteps: [{id: v, command: echo vc}]\n");
    let recipe =
        "name: r\nsteps:\n  - {id: s, recipe: c}\n  - {id: g, command: 'test -f go && echo {{s}}'}\n";
    let output = env.json(recipe, &[]);
    assert_eq!(output.json()["diagnosis"]["class"], "verification", "{}", output.all());
}

#[test]
fn a_step_that_needs_a_person_is_diagnosed() {
    let env = env();
    let recipe =
        "name: r\nsteps: [{id: a, command: 'echo sign it >&2; exit 75', exit_codes: {75: needs_human}}]\n";
    let output = env.text(recipe, &[]);
    assert_eq!(output.code, 6, "{}", output.all());
    assert!(output.stderr.contains("⏸ a is waiting for you: sign it\n"), "{}", output.all());
    assert!(output.stderr.contains("resume:  recipe-runner-rs resume "), "{}", output.all());
}

#[test]
fn shell_steps() {
    for (command, expected, quote) in [
        ("no-such-tool --x", "environment.missing_binary high", "no-such-tool"),
        ("./missing.sh", "environment.missing_binary high", "`./missing.sh`"),
        ("echo before >&2\necho more >&2\n./missing.sh", "environment.missing_binary high", "`./missing.sh`"),
        ("nopytest || exit 1", "environment.missing_binary medium", "nopytest: command not found"),
        ("pytest() { nosuchpy; }; pytest || exit 1", "environment.missing_binary medium", "nosuchpy"),
        ("set -u; echo $NOT_SET_ANYWHERE", "environment.missing_env medium", "NOT_SET_ANYWHERE"),
        (
            "echo 'curl: (22) The requested URL returned error: 401' >&2; exit 22",
            "environment.credentials medium",
            "401",
        ),
        ("echo 'Error: 429 Too Many Requests' >&2; exit 1", "environment.rate_limit medium", "429 Too Many"),
        (
            "echo 'API rate limit exceeded for you'; exit 1",
            "environment.rate_limit medium",
            "rate limit exceeded",
        ),
        (
            "echo 'curl: (6) Could not resolve host: x.invalid' >&2; exit 6",
            "environment.network medium",
            "resolve host",
        ),
        ("echo x > /dev/full", "environment.disk medium", "No space left on device"),
        ("echo 'fork: Cannot allocate memory' >&2; exit 1", "environment.memory medium", "allocate memory"),
        (
            "git init -q . && touch .git/index.lock x && git add x",
            "environment.stale_state medium",
            "index.lock",
        ),
        (
            "export GIT_CONFIG_GLOBAL=/dev/null; c() { git -c user.name=a -c user.email=a@b commit -qm x; }; git init -q -b m . && echo 1 > f && git add f && c && git checkout -qb o && echo 2 > f && git add f && c && echo 3 > f && git checkout m",
            "environment.workdir_dirty medium",
            "overwritten by checkout",
        ),
        ("grep --no-such-option x /dev/null", "validation_strategy medium", "unrecognized option"),
        ("if then", "structure medium", "syntax error"),
        ("printf 'a\\0b'", "structure high", "NUL byte"),
        ("grep -q PASS /dev/null", "verification high", "exit 1"),
        ("cat x.txt && test -f y", "verification high", "No such file"),
        ("[ 1 = 2 ]", "verification high", "exit 1"),
        ("kill -TERM $$", "interrupted medium", "SIGTERM"),
        ("kill -SEGV $$", "unknown low", "SIGSEGV"),
        ("kill -9 $$", "unknown low", "SIGKILL"),
        ("exit 9", "unknown low", "exit 9"),
        ("echo nothing here is found >&2; exit 9", "unknown low", "nothing here is found"),
    ] {
        let output = env().json(&step(command), &[]);
        check(&diagnosis(&output), expected, quote);
    }
}

#[test]
fn other_steps() {
    let s = |fields: &str| format!("name: r\nsteps:\n  - {{id: s, {fields}}}\n");
    for (recipe, expected, quote) in [
        (s("command: sleep 30, timeout: 0.2"), "timeout high", "0.2 s"),
        (s("command: pwd, working_dir: nowhere"), "environment.missing_path high", "nowhere"),
        (s("command: exit 9, retry: {max_attempts: 2, delay: 0}"), "retry_exhausted medium", "exit 9"),
        (s("command: echo x, parse_json: true, parse_json_required: true"), "verification high", ""),
        (s("recipe: '{{which}}'"), "structure high", "empty"),
        (
            "name: r\nrecursion: {max_total_steps: 1}\nsteps:\n  - {id: a, command: 'true'}\n  - {id: b, command: 'true'}\n".to_owned(),
            "structure high",
            "Total step limit (1) exceeded",
        ),
    ] {
        let output = env().json(&recipe, &[]);
        check(&diagnosis(&output), expected, quote);
    }
}

#[test]
fn agents() {
    let made = |check: &str| {
        format!("name: r\nsteps:\n  - {{id: a, prompt: p, output: x}}\n  - {{id: g, command: '{check}'}}\n")
    };
    let uses = "grep -q PASS <<< \"{{x}}\"";
    for (script, recipe, expected, quote) in [
        ("cat > /dev/null; echo FAIL", made(uses), "agent_drift high", "grep -q PASS"),
        (
            "cat > /dev/null; echo 'I do not have access to the repository, so everything is complete.'",
            made(uses),
            "hollow_success medium",
            "access to the repository",
        ),
        (
            "sleep 60",
            "name: r\nsteps:\n  - {id: a, prompt: p, idle_timeout: 1}\n".to_owned(),
            "agent_opaque high",
            "no activity",
        ),
        (
            "cat > /dev/null; echo made > out.txt; echo 'I cannot access the repository.'",
            "name: r\nsteps:\n  - {id: a, prompt: p, produces: [out.txt]}\n  - {id: g, command: grep -q PASS out.txt, reads: [out.txt]}\n".to_owned(),
            "agent_drift high",
            "grep -q PASS out.txt",
        ),
    ] {
        let output = with_agent(script).json(&recipe, &[]);
        check(&diagnosis(&output), expected, quote);
    }
}

#[test]
fn every_member_of_a_group_that_failed_has_a_diagnosis() {
    let member = |id: &str, does: &str| format!("  - {{id: {id}, parallel_group: p, {does}}}\n");
    let tolerated = "command: exit 3, continue_on_error: true";
    let recipe = ["name: r\nsteps:\n".to_owned()]
        .into_iter()
        .chain([
            member("a", "command: exit 5"),
            member("b", "command: no_such_program"),
            member("c", "command: 'true'"),
            member("d", tolerated),
            member("n", "recipe: child"),
        ])
        .collect::<String>();
    let child = "name: child\nsteps: [{id: k, command: test -f nothing}]\n";
    let env = env().file("child.yaml", child).file("r.yaml", &recipe);
    let output = env.run(["r.yaml", "--output-format", "json"]);
    let found = diagnosis(&output);
    assert_eq!((&found["class"], &output.json()["failure"]["step"]), (&json!("unknown"), &json!("a")));
    let beside: Vec<String> = found["beside"]
        .as_array()
        .unwrap()
        .iter()
        .map(|other| format!("{} {}", other["step"].as_str().unwrap(), other["class"].as_str().unwrap()))
        .collect();
    assert_eq!(beside, ["b environment.missing_binary", "n/k verification"]);
    assert!(found["beside"][0]["signals"].to_string().contains("no_such_program"), "{found}");
    assert_eq!(found["secondary"], json!(["environment.missing_binary", "verification"]));
    let shown = env.run(["show", "last", "--output-format", "json"]).json();
    assert_eq!(shown["diagnosis"], found);
    let text = env.run(["r.yaml"]).stderr;
    for line in [
        "error: failed at b: exit code 127: `no_such_program` is not installed, or not in PATH",
        "error: failed at n/k: exit code 1, no output",
    ] {
        assert!(text.contains(line), "{text}");
    }
    // one failure alone has nothing beside it
    let one = diagnosis(&env.json(&step("exit 5"), &[]));
    assert_eq!(one.get("beside"), None);
}

#[test]
fn a_result_of_an_agent_is_certain_and_its_words_are_not() {
    let result = |status: u16, text: &str| {
        format!(
            "echo '{{\"type\":\"result\",\"is_error\":true,\"api_error_status\":{status},\"result\":\"{text}\"}}'"
        )
    };
    let says = |text: &str| format!("echo noise >&2; echo '{text}' >&2");
    for (script, expected, quote) in [
        (says("HTTP 429 Too Many Requests"), "environment.rate_limit medium", "429 Too Many Requests"),
        (says("Invalid API key"), "environment.credentials medium", "Invalid API key"),
        (says("connect ECONNREFUSED 10.0.0.1:443"), "environment.network medium", "ECONNREFUSED"),
        (result(429, "slow down"), "environment.rate_limit high", "slow down"),
        (result(401, "who are you"), "environment.credentials high", "who are you"),
        (result(529, "busy"), "environment.network high", "busy"),
        (result(400, "429 is not a valid number"), "unknown low", "429 is not a valid number"),
        (format!("{}; echo HTTP 429 >&2", result(400, "bad field")), "unknown low", "bad field"),
    ] {
        let env = with_agent(&format!("cat > /dev/null; {script}; exit 1"))
            .env("AMPLIHACK_RATELIMIT_MAX_RETRIES", "0");
        let output = env.json("name: r\nsteps:\n  - {id: a, prompt: p}\n", &[]);
        check(&diagnosis(&output), expected, quote);
    }
}

#[test]
fn runs_that_never_begin_have_a_diagnosis_too() {
    let s = "steps: [{id: s, command: touch ran}]";
    for (recipe, arguments, code, expected, quote) in [
        (
            format!("name: r\nenv: {{required: [FIRST_NAME, SECOND_NAME]}}\n{s}"),
            vec![],
            5,
            "environment.missing_env high",
            "FIRST_NAME, SECOND_NAME",
        ),
        (
            format!("name: r\ninputs: [{{name: ticket, required: true}}]\n{s}"),
            vec![],
            5,
            "environment.missing_env high",
            "ticket",
        ),
        (format!("name: r\n{s}"), vec!["-C", "nowhere"], 5, "environment.missing_path high", "nowhere"),
        (
            "name: r\nsteps: [{id: s, prompt: p}]".to_owned(),
            vec![],
            5,
            "environment.missing_binary high",
            "claude",
        ),
        (
            "name: r\nsteps: [{id: s, prompt: p}]".to_owned(),
            vec!["--agent-binary", "noagent"],
            5,
            "environment.missing_binary high",
            "noagent",
        ),
        ("name: r\nsteps: [{id: s, comand: x}]".to_owned(), vec![], 2, "structure high", "comand"),
        (
            "name: r\nsteps: [{id: a, command: x, depends_on: [b]}, {id: b, command: x, depends_on: [a]}]"
                .to_owned(),
            vec![],
            2,
            "deadlock high",
            "`b`",
        ),
    ] {
        let env = env().env("PATH", "/usr/bin:/bin");
        let output = env.json(&recipe, &arguments);
        assert_eq!(output.code, code, "{}", output.all());
        check(&diagnosis(&output), expected, quote);
        assert!(!env.path("ran").exists());
    }
}

#[test]
fn the_command_of_a_blocked_run_starts_it_again() {
    let env = env().file("place/x", "");
    let recipe = "name: r\nenv: {required: [WANTED_NAME]}\ncontext: {who: x}\nsteps: [{id: s, command: 'echo {{who}} > ran'}]\n";
    let output = env.json(recipe, &["-C", "place", "--set", "who=a b"]);
    assert_eq!(output.code, 5);
    let advice = output.json()["advice"].clone();
    let last = advice.as_array().unwrap().last().unwrap().as_str().unwrap().to_owned();
    let command = last.split_once("recipe-runner-rs ").unwrap().1.to_owned();
    assert!(env.text(recipe, &["-C", "place"]).stderr.contains("recipe-runner-rs "), "text shows it too");
    let again = env.shell(&format!("cd / && WANTED_NAME=1 \"$RUNNER\" {command}"));
    assert_eq!(again.code, 0, "{}", again.all());
    assert_eq!(std::fs::read_to_string(env.path("place/ran")).unwrap(), "a b\n");
}

#[test]
fn a_blocked_resume_gives_the_reason_and_can_be_retried() {
    let recipe = "name: r\nenv: {required: [WANTED_NAME]}\nsteps:\n  - {id: a, command: 'test -e ok'}\n  - {id: b, command: echo $WANTED_NAME}\n";
    let env = env().file("place/x", "").file("r.yaml", recipe);
    let run = |line: &str| env.shell(line);
    assert_eq!(run("WANTED_NAME=1 \"$RUNNER\" r.yaml -C place").code, 1);
    let blocked = env.run(["resume", "last", "--output-format", "json"]);
    assert_eq!(blocked.code, 5, "{}", blocked.all());
    check(&diagnosis(&blocked), "environment.missing_env high", "WANTED_NAME");
    assert!(blocked.json()["resume_command"].as_str().unwrap().contains("resume"));
    std::fs::rename(env.path("place"), env.path("moved")).unwrap();
    let gone = run("WANTED_NAME=1 \"$RUNNER\" resume last --output-format json");
    assert_eq!(gone.code, 5);
    check(&diagnosis(&gone), "environment.missing_path high", "place");
    assert!(gone.all().contains("a link to where it is now: `ln -s NEW OLD`"), "{}", gone.all());
    let there = run("WANTED_NAME=1 \"$RUNNER\" resume last -C moved");
    let link = format!("ln -s {} {}", env.path("moved").display(), env.path("place").display());
    assert!(there.code == 4 && there.stderr.contains(&link), "{link}\n{}", there.all());
    std::fs::rename(env.path("moved"), env.path("place")).unwrap();
    env.write("place/ok", "");
    assert_eq!(run("WANTED_NAME=1 \"$RUNNER\" resume last").code, 0);
}

#[test]
fn a_live_owner_is_a_diagnosis() {
    let env = env().file(
        "r.yaml",
        "name: r\nsteps: [{id: s, command: 'touch begun; while [ ! -e go ]; do sleep 0.05; done'}]\n",
    );
    let first = env.spawn(["r.yaml"]);
    until("the step begins", || env.path("begun").exists());
    let second = env.run(["r.yaml", "--output-format", "json"]);
    assert_eq!(second.code, 7);
    check(&diagnosis(&second), "environment.already_running high", "already running");
    env.write("go", "");
    assert_eq!(first.wait().code, 0);
}

#[test]
fn buckets_stand_beside_the_class() {
    for (command, bucket) in [
        ("no-such-tool", "environment"),
        ("grep --no-such-option x y", "recipe"),
        ("test -e nothing", "work"),
        ("sleep 9 & kill -TERM $$", "run"),
        ("exit 9", "none"),
    ] {
        assert_eq!(env().json(&step(command), &[]).json()["diagnosis"]["bucket"], json!(bucket), "{command}");
    }
}
