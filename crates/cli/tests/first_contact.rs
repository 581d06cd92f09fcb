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
fn what_init_writes_runs_as_it_says() {
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
fn doctor_finds_what_is_there() {
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
    assert_eq!(find("mine")["status"], "ok");
    assert_eq!(find("codex")["status"], "unusable");
    assert!(find("codex")["detail"].as_str().unwrap().contains("broken"));
    assert!(find("codex")["fix"].is_string());
    assert_eq!(find("gemini")["status"], "absent");
    assert_eq!(find("state directory")["status"], "ok");
}

#[test]
fn doctor_says_what_is_missing_and_how_to_mend_it() {
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
