//! What a newcomer meets first: the first screen, `init`, `doctor`, `branch-name`.

use testkit::TestEnv;

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

#[test]
fn init_finds_the_project() {
    let package = r#"{"scripts": {"build": "tsc", "test": "jest"}}"#;
    let untested = r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#;
    for (files, kind, steps) in [
        (&[("Cargo.toml", "")][..], "Cargo", &["cargo build", "cargo test"][..]),
        (&[("package.json", package)], "npm", &["npm install", "npm run build", "npm test"]),
        (
            &[("package.json", package), ("yarn.lock", "")],
            "npm",
            &["yarn install", "yarn run build", "yarn test"],
        ),
        (&[("package.json", untested)], "npm", &["npm install"]),
        (
            &[("pyproject.toml", "[tool.pytest]")],
            "Python",
            &["python3 -m compileall -q -x '/\\.' .", "python3 -m pytest"],
        ),
        (
            &[("setup.py", "")],
            "Python",
            &["python3 -m compileall -q -x '/\\.' .", "python3 -m unittest discover"],
        ),
        (&[("go.mod", "")], "Go", &["go build ./...", "go test ./..."]),
        (&[("Makefile", "all:\n\ntest: all\n\techo\n")], "make", &["make", "make test"]),
        (&[("Makefile", "x := test\nall check:\n")], "make", &["make", "make check"]),
        (&[("Makefile", "all:\n")], "make", &["make"]),
        (&[("Cargo.toml", ""), ("Makefile", "test:")], "Cargo", &["cargo build", "cargo test"]),
    ] {
        let env = files.iter().fold(env(), |env, (name, text)| env.file(name, text));
        let json = env.run(["init", "--output-format", "json"]).json();
        assert_eq!(json["project"], kind, "{files:?}");
        let found: Vec<&str> =
            json["steps"].as_array().unwrap().iter().map(|step| step["command"].as_str().unwrap()).collect();
        assert_eq!(found, steps, "{files:?}");
        let valid = env.run(["validate", "--strict", "recipe.yaml"]);
        assert_eq!(valid.code, 0, "{}", valid.all());
    }
}

#[test]
fn the_recipe_of_init_runs() {
    for env in [env(), env().file("Makefile", "all:\n\t@echo built\ntest:\n\t@echo tested\n")] {
        let made = env.run(["init"]);
        assert_eq!(made.code, 0, "{}", made.all());
        let command = made.stdout.lines().find_map(|line| line.strip_prefix("Run it:  ")).unwrap();
        let run = env.shell(&command.replace("recipe-runner-rs", "\"$RUNNER\""));
        assert_eq!(run.code, 0, "{}", run.all());
    }
}

#[test]
fn init_takes_a_directory_and_a_file() {
    let env = env().file("my project/go.mod", "");
    let made = env.run(["init", "ci.yaml", "-C", "my project"]);
    assert_eq!(made.code, 0, "{}", made.all());
    let command = made.stdout.lines().find_map(|line| line.strip_prefix("Run it:  ")).unwrap();
    let run = env.shell(&format!("{} --dry-run", command.replace("recipe-runner-rs", "\"$RUNNER\"")));
    assert_eq!(run.code, 0, "{}", run.all());
}

#[test]
fn init_leads_editors_to_the_schema() {
    let env = env();
    let made = env.run(["init"]);
    let text = std::fs::read_to_string(env.path("recipe.yaml")).unwrap();
    assert!(text.starts_with("# yaml-language-server: $schema=recipe.schema.json\n"), "{text}");
    assert!(made.stdout.contains("recipe.schema.json beside it"), "{}", made.all());
    let schema: serde_json::Value = serde_json::from_str(&env.read("recipe.schema.json")).unwrap();
    assert_eq!(schema, env.run(["schema"]).json());
    env.write("sub/recipe.schema.json", "mine");
    let made = env.run(["init", "sub/more.yaml"]);
    assert!(made.stdout.contains("recipe-runner-rs schema > recipe.schema.json"), "{}", made.all());
    assert_eq!(env.read("sub/recipe.schema.json"), "mine");
}

#[test]
fn the_recipe_of_init_shows_blocks_and_an_agent_that_works_on_request() {
    let env = env().file("Makefile", "all:\n\t@echo built\ntest:\n\t@echo tested\n");
    assert_eq!(env.run(["init"]).code, 0);
    let text = env.read("recipe.yaml");
    assert!(text.contains("\nshell: strict\n"), "{text}");
    assert!(text.contains("    command: |\n      make test\n") && text.contains("    prompt: |\n"), "{text}");
    let run = env.run(["recipe.yaml", "--output-format", "json"]);
    assert_eq!((run.code, run.step("review")["status"].as_str()), (0, Some("skipped")), "{}", run.all());
    let asked = env.run(["recipe.yaml", "--set", "with_agent=yes", "--dry-run", "--agent-binary", "true"]);
    assert!(asked.all().contains("Review the uncommitted changes"), "{}", asked.all());
}

#[test]
fn init_never_overwrites() {
    let env = env().file("recipe.yaml", "mine").file("dir/x", "");
    let output = env.run(["init"]);
    assert_eq!(output.code, 4);
    assert!(output.stderr.contains("exists and is not overwritten"), "{}", output.all());
    assert_eq!(std::fs::read_to_string(env.path("recipe.yaml")).unwrap(), "mine");
    assert_eq!(env.run(["init", "dir"]).code, 4);
    assert_eq!(env.run(["init", "no/such/dir.yaml"]).code, 4);
    assert_eq!(env.run(["init", "-C", "nowhere"]).code, 4);
    assert_eq!(env.run(["init", "--format", "json"]).json()["exit_code"], 4);
}

#[test]
fn doctor_finds_installed_programs() {
    let env = env();
    env.write("bin/claude", "#!/bin/bash\n[ \"$1\" = --version ] && echo '9.9 (Fake)'\n");
    env.write("bin/codex", "#!/bin/bash\necho broken >&2; exit 3\n");
    env.write(".recipe-runner.yaml", "agents: [{name: mine, command: bin/claude}]");
    let doctor = "chmod +x bin/*; PATH=\"$PWD/bin:/usr/bin:/bin\" \"$RUNNER\" doctor --output-format json";
    let output = env.shell(doctor);
    assert_eq!(output.code, 0, "{}", output.all());
    let json = output.json();
    let find = |name: &str| {
        let checks = json["checks"].as_array().unwrap();
        checks
            .iter()
            .find(|check| check["name"] == name)
            .cloned()
            .unwrap_or_else(|| panic!("{name}: {json:#}"))
    };
    assert_eq!(json["ok"], true);
    assert_eq!(find("bash")["status"], "ok");
    assert_eq!(find("claude")["version"], "9.9 (Fake)");
    assert!(find("claude")["path"].as_str().unwrap().ends_with("bin/claude"));
    // what a configuration names is not started: it may be anything
    assert_eq!(find("mine")["status"], "found");
    assert_eq!(find("mine")["version"], serde_json::Value::Null);
    assert_eq!(find("codex")["status"], "failed");
    assert!(find("codex")["detail"].as_str().unwrap().contains("broken"));
    assert!(find("codex")["fix"].is_string());
    assert_eq!(find("gemini")["status"], "absent");
    assert_eq!(find("state directory")["status"], "ok");
}

#[test]
fn doctor_starts_nothing_that_a_configuration_names() {
    let script = "#!/bin/bash\ntouch started\necho 1.0\n";
    for config in [
        "agents: [{name: mine, command: ./agent.sh}]",
        "agents: [{name: claude, command: ./agent.sh}]",
        "agent: ./claude.sh\nagents: [{name: other, command: ./agent.sh}]",
        "agent: claude",
    ] {
        let env =
            env().file(".recipe-runner.yaml", config).file("agent.sh", script).file("claude.sh", script);
        let output = env.shell("chmod +x *.sh; PATH=/usr/bin:/bin \"$RUNNER\" doctor");
        assert_eq!(output.code, 0, "{}", output.all());
        assert!(!env.path("started").exists(), "{config}\n{}", output.all());
    }
}

const PARROT: &str = "agent: parrot\nagents: [{name: parrot, command: ./parrot.sh}]";
const ASK: &str = "name: ask\nsteps: [{id: a, prompt: Hello?}]";

#[test]
fn a_program_that_is_not_executable_is_made_so() {
    let env = env().file(".recipe-runner.yaml", PARROT).file("ask.yaml", ASK);
    env.write("parrot.sh", "#!/bin/bash\ncat\n");
    let refused = env.run(["ask.yaml"]);
    assert_eq!(refused.code, 5, "{}", refused.all());
    let message = "`./parrot.sh` is not executable: `chmod +x ./parrot.sh`";
    assert!(refused.all().contains(message), "{}", refused.all());
    let doctor = env.run(["doctor"]);
    assert!(doctor.stdout.contains("`./parrot.sh` is not executable"), "{}", doctor.all());
    assert!(doctor.stdout.contains("fix: chmod +x ./parrot.sh"), "{}", doctor.all());
    assert_eq!(env.shell("chmod +x ./parrot.sh; \"$RUNNER\" ask.yaml").code, 0);
    let doctor = env.run(["doctor"]);
    assert!(doctor.stdout.contains("found (./parrot.sh), login unknown"), "{}", doctor.all());
}

#[test]
fn a_missing_program_comes_with_ways_out() {
    let own = ASK.replace("id: a,", "id: a, agent_binary: claude,");
    for (recipe, there, absent) in
        [(ASK, "--agent-binary NAME", "step's"), (&own, "step's `agent_binary`", "--agent-")]
    {
        let env = env().file("ask.yaml", recipe);
        let output = env.shell("PATH=/nowhere \"$RUNNER\" ask.yaml");
        assert_eq!(output.code, 5, "{}", output.all());
        for part in
            [there, "`claude` is not found in PATH", "install it", "under `agents:`", "docs/src/agents.md"]
        {
            assert!(output.all().contains(part), "{part}\n{}", output.all());
        }
        assert!(!output.all().contains(absent), "{absent}\n{}", output.all());
    }
}

#[test]
fn a_typo_in_the_configuration_is_an_error() {
    for (config, part) in [
        ("agnt: x", "line 1: unknown field `agnt` in the configuration: did you mean `agent`?"),
        ("agent: x\nagents:\n- {name: a, comand: b}", "line 3: unknown field `comand` in an agent program"),
    ] {
        let env =
            env().file(".recipe-runner.yaml", config).file("a.yaml", "name: a\nsteps: [{id: b, command: x}]");
        let output = env.run(["a.yaml"]);
        assert_eq!(output.code, 4, "{}", output.all());
        assert!(output.stderr.contains(part), "{}", output.all());
        assert_eq!(env.run(["doctor"]).code, 5);
    }
}

#[test]
fn doctor_shows_missing_things_and_their_fixes() {
    let output = env().shell("PATH=/nowhere \"$RUNNER\" doctor");
    assert_eq!(output.code, 0, "{}", output.all());
    assert!(output.stdout.contains("fix: install git"), "{}", output.all());
    assert!(output.stdout.contains("fix: install it, or choose another one"), "{}", output.all());
    let env = env().file("file", "");
    let broken = env.run(["doctor", "--state-dir", "file/state"]);
    assert_eq!(broken.code, 5, "{}", broken.all());
    assert!(broken.stdout.contains("--state-dir DIR"), "{}", broken.all());
    let bad = env.file(".recipe-runner.yaml", "agents: 5").run(["doctor"]);
    assert_eq!(bad.code, 5);
    assert!(bad.stdout.contains(".recipe-runner.yaml") && bad.stdout.contains("fix:"), "{}", bad.all());
}

#[test]
fn branch_name_reads_text_or_stdin() {
    let env = env();
    for (line, code, stdout) in [
        ("branch-name --prefix feat --issue 42 'Fix login bug'", 0, "feat/issue-42-fix-login-bug\n"),
        ("branch-name --prefix fix --issue 7 '!@#$%^&*()'", 0, "fix/issue-7-task\n"),
        ("branch-name --issue 7 '-rf x'", 0, "feat/issue-7-rf-x\n"),
        ("branch-name --issue 7 -- --issue", 0, "feat/issue-7-issue\n"),
        ("branch-name --issue 7 ''", 0, "feat/issue-7-task\n"),
        ("branch-name --issue 7 < <(printf 'two\\nlines\\n')", 0, "feat/issue-7-two-lines\n"),
        ("branch-name --issue 7 < <(printf '\\xff\\xfe x')", 0, "feat/issue-7-x\n"),
        ("branch-name --issue 7 </dev/null", 0, "feat/issue-7-task\n"),
        ("branch-name x", 0, "feat/x\n"),
        ("branch-name --prefix='a..b' --issue 1 x", 4, ""),
        ("branch-name --prefix=-x --issue 1 x", 4, ""),
        ("branch-name --prefix '' --issue 1 x", 4, ""),
        ("branch-name --issue 'a b' x", 4, ""),
    ] {
        let output = env.shell(&format!("\"$RUNNER\" {line}"));
        assert_eq!((output.code, output.stdout.as_str()), (code, stdout), "{line}\n{}", output.all());
    }
    let json = env.run(["branch-name", "--issue", "42", "%", "--format", "json"]).json();
    assert_eq!(
        json,
        serde_json::json!({"branch_name": "feat/issue-42-task", "slug": "task", "fallback": true})
    );
}
