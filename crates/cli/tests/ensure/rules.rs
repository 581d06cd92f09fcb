//! What each rule demands, finds and says.

use serde_json::json;

use crate::{checked, commit, env, found, met, one, repository};

#[test]
fn every_kind_of_rule_is_checked_and_all_unmet_ones_are_named() {
    let env = repository();
    let rules = r#"[{changed: [docs/**]}, {unchanged: [tests/golden/**]}, {only_changed: [src/**]}, {max_changed_files: 1}, {file: docs/x}, {command: "echo seen; exit 3"}, {condition: "work.n > 0"}]"#;
    let fields =
        ["command: 'echo 2 > src/a; echo 2 > tests/golden/g; echo \"{\\\"n\\\": 0}\"'", "parse_json: true"];
    let ensure = format!("ensure: {rules}");
    let output = env.json(&one(&[fields[0], fields[1], &ensure]), &[]);
    assert_eq!(output.code, 1, "{}", output.all());
    let step = output.step("work");
    assert_eq!(met(&step), [false; 7], "{step:#}");
    let error = step["error"].as_str().unwrap();
    assert!(error.starts_with("bash step failed: ensure: 7 of 7 rules are not met"), "{error}");
    for part in [
        "changed: expected a change to a file that matches `docs/**`; found only other changes: `src/a`",
        "unchanged: expected no change to files that match `tests/golden/**`; found changes to `tests/golden/g`",
        "only_changed: expected changes only to files that match `src/**`; found changes to `tests/golden/g`",
        "max_changed_files: expected at most 1 changed file; found 2 changed files: `src/a`, `tests/golden/g`",
        "file: expected a file `docs/x` that is not empty; found no such file",
        "command: expected `echo seen; exit 3` to exit with 0; found exit code 3\n    last on stdout:\n    seen",
        "condition: expected `work.n > 0`; found `work.n` is `0`",
    ] {
        assert!(error.contains(part), "{part}\n{error}");
    }
    let json = output.json();
    assert_eq!(json["diagnosis"]["class"], "verification", "{json:#}");
    assert_eq!((&step["outcome"], &step["exit_code"]), (&json!("ensure"), &json!(0)));
    assert_eq!(json["evidence"]["attempts"][0]["ensure"], step["ensure"]);
    assert_eq!(env.run(["show", "last", "--output-format", "json"]).step("work")["ensure"], step["ensure"]);
    let text = env.run(["show", "last"]);
    assert!(text.all().contains("- file: expected a file `docs/x`"), "{}", text.all());
}

#[test]
fn a_step_that_meets_its_rules_completes() {
    let env = repository();
    let rules = r#"[{changed: [src]}, {unchanged: [tests]}, {only_changed: [./src/*, out/*]}, {max_changed_files: 1}, {file: "out/*.txt"}, {command: "test $(cat src/a) = 2"}, {condition: "work == 'done'"}]"#;
    let step = checked(&env, "mkdir -p out; echo x > out/o.txt; echo 2 > src/a; echo done", rules);
    assert_eq!(step["status"], "completed", "{step:#}");
    assert_eq!(met(&step), [true; 7]);
    assert_eq!((step["output"].as_str(), found(&step, 0)), (Some("done"), "`src/a`"));
}

#[test]
fn changes_are_found_by_content_however_they_are_made() {
    for (command, changed) in [
        ("touch src/a", vec![]),
        ("echo 2 > src/a", vec!["src/a"]),
        ("echo 2 > src/a; printf 1 > src/a", vec![]),
        ("rm src/a", vec!["src/a"]),
        ("git mv src/a src/b", vec!["src/a", "src/b"]),
        ("echo n > src/new", vec!["src/new"]),
        ("echo n > src/new; git add -A", vec!["src/new"]),
        ("echo 2 > src/a; git -c user.name=a -c user.email=a@b commit -qam second", vec!["src/a"]),
        ("git rm -q --cached src/a", vec![]),
        ("git rm -q --cached src/a; echo 2 > src/a", vec!["src/a"]),
        ("mkdir out; echo n > out/new", vec![]),
        ("chmod +x src/a", vec!["src/a"]),
        ("echo 2 > dirty", vec!["dirty"]),
        ("git add dirty untracked", vec![]),
        ("git checkout -q dirty", vec!["dirty"]),
        ("rm untracked", vec!["untracked"]),
        ("rm src/a; mkdir src/a; echo n > src/a/b", vec!["src/a", "src/a/b"]),
        ("git init -q sub; echo n > sub/x", vec!["sub/x"]),
        ("echo n > 'a \"b\"'", vec!["a \"b\""]),
    ] {
        let env = env().file("src/a", "1").file("dirty", "1").file(".gitignore", "out/\nrecipe.yaml\n");
        commit(&env);
        env.write("dirty", "changed before the run");
        env.write("untracked", "made before the run");
        let step = checked(&env, command, "[{max_changed_files: 0}]");
        let expected: Vec<String> = changed.iter().map(|file| format!("`{file}`")).collect();
        let listed = found(&step, 0).split_once(": ").map_or("", |(_, files)| files);
        assert_eq!(listed, expected.join(", "), "{command}: {step:#}");
        assert_eq!(met(&step), [changed.is_empty()], "{command}");
    }
}

#[test]
fn paths_start_from_the_directory_of_the_step() {
    let env = repository();
    let fields = ["command: 'echo 2 > a; echo 2 > ../tests/golden/g'", "working_dir: src"];
    let ensure = "ensure: [{changed: [a]}, {only_changed: [a]}, {file: a}, {command: test -e a}]";
    let step = env.json(&one(&[fields[0], fields[1], ensure]), &[]).step("work");
    assert_eq!(met(&step), [true, false, true, true], "{step:#}");
    assert_eq!(found(&step, 1), "changes to `../tests/golden/g`");
}

#[test]
fn a_commit_is_not_needed() {
    let env = env().file("a", "1").file(".gitignore", "recipe.yaml\n");
    assert_eq!(env.shell("git init -q .").code, 0);
    let step = checked(&env, "echo 2 > a; echo n > b", "[{max_changed_files: 1}]");
    assert_eq!(found(&step, 0), "2 changed files: `a`, `b`");
}

#[test]
fn outside_git_only_named_files_are_compared() {
    let env = env().file("src/a", "1").file("other", "1");
    let command = "echo 2 > src/a; echo 2 > other; echo n > src/new";
    let step =
        checked(&env, command, "[{changed: ['src/**']}, {unchanged: [other]}, {max_changed_files: 2}]");
    assert_eq!(met(&step), [true, false, false], "{step:#}");
    assert_eq!(found(&step, 2), "3 changed files: `other`, `src/a`, `src/new`");
    let step = checked(&env, "echo 3 > src/a; echo 3 > other", "[{only_changed: ['src/**']}]");
    assert_eq!(met(&step), [true], "a file that no rule names is not looked at: {step:#}");
}

#[test]
fn changes_cannot_be_counted_outside_git_without_patterns() {
    let env = env();
    let recipe = one(&["command: echo hi > made", "ensure: [{max_changed_files: 1}]"]);
    let output = env.json(&recipe, &[]);
    assert_eq!(output.code, 5, "{}", output.all());
    assert!(output.all().contains("add a `changed` rule"), "{}", output.all());
    assert!(!env.path("made").exists());
    // a directory that only the run knows
    let recipe = format!("{recipe}  working_dir: '{{{{dir}}}}'\n");
    let output = env.json(&recipe, &["--set", "dir=."]);
    assert_eq!(output.code, 1, "{}", output.all());
    assert_eq!(found(&output.step("work"), 0), "no git work tree, and no rule that names files");
}

#[test]
fn files_must_exist_and_not_be_empty() {
    let env = env().file("full", "x").file("empty", "").file("dir/x.md", "x").file("none/y.md", "");
    for (file, is_met, what) in [
        ("full", true, "1 byte"),
        ("empty", false, "an empty file"),
        ("dir", false, "a directory"),
        ("missing", false, "no such file"),
        ("dir/*.md", true, "`dir/x.md` with 1 byte"),
        ("none/*.md", false, "only empty files"),
        ("none/*.txt", false, "no such file"),
        ("{{name}}", true, "1 byte"),
        ("{{work}}", true, "1 byte"),
    ] {
        let recipe = one(&["command: echo full", &format!("ensure: [{{file: '{file}'}}]")]);
        let recipe = format!("{recipe}context: {{name: full}}\n");
        let step = env.json(&recipe, &[]).step("work");
        assert_eq!((met(&step), found(&step, 0)), (vec![is_met], what), "{file}");
    }
}

#[test]
fn commands_have_the_environment_the_value_and_the_timeout_of_the_step() {
    let env = env();
    let recipe = one(&[
        "command: echo \"it's\"",
        "env: {MODE: strict}",
        "timeout: 0.5",
        "ensure:",
        "- command: test \"$MODE\" = strict && test \"$RECIPE_VAR_name\" = n && test {{work}} = \"it's\" && test -s \"$RECIPE_CONTEXT_FILE\"",
        "- command: echo before; sleep 30",
        "- command: kill -9 $$",
        "- command: no-such-program-here",
    ]);
    let output = env.json(&format!("{recipe}context: {{name: n}}\n"), &[]);
    let step = output.step("work");
    assert_eq!(met(&step), [true, false, false, false], "{step:#}");
    assert_eq!(found(&step, 1), "that it timed out after 0.5 s\nlast on stdout:\nbefore");
    assert_eq!(found(&step, 2), "an end by SIGKILL (signal 9)");
    assert!(found(&step, 3).starts_with("exit code 127"), "{step:#}");
    let attempt = env.run_dir().join("steps/work/1");
    assert_eq!(std::fs::read_to_string(attempt.join("ensure-2/stdout")).unwrap(), "before\n");
    assert!(!attempt.join("ensure-1/context.json").exists(), "the context is not kept");
    let logs = env.run(["logs", "last", "work"]);
    assert!(
        logs.stdout.contains("before\n") && logs.stderr.contains("==> work: ensure rule 2 <=="),
        "{}",
        logs.all()
    );
    let logs = env.run(["logs", "last", "--output-format", "json"]).json();
    assert_eq!(logs[0]["ensure"][1], json!({"rule": 2, "stdout": "before\n", "stderr": ""}), "{logs:#}");
    let shown = env.run(["show", "last", "--evidence", "--output-format", "json"]).json();
    let purposes: Vec<&str> = shown["evidence"]["spawned"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|spawned| spawned["purpose"].as_str())
        .collect();
    assert_eq!(purposes, ["ensure"; 4]);
    assert!(env.survivors().is_empty(), "{:?}", env.survivors());
}

#[test]
fn secrets_stay_hidden() {
    let recipe = one(&[
        "command: echo hi",
        "ensure:",
        "- command: echo key is {{api_key}}; echo {{api_key}} > \"leak-{{api_key}}\"; false",
        "- changed: ['none/{{api_key}}/**']",
        "- condition: api_key == 'x' or pin_token == 'y'",
    ]);
    let env = repository();
    let recipe = format!("{recipe}context: {{api_key: very-secret-1, pin_token: abc}}\n");
    let json = env.json(&recipe, &[]);
    let shown = env.run(["show", "last"]).all() + &json.all() + &env.run(["logs", "last"]).all();
    assert!(!shown.contains("very-secret-1"), "{shown}");
    assert!(json.all().contains("`pin_token` is a secret"), "{}", json.all());
    assert!(!env.text(&recipe, &["--dry-run"]).all().contains("very-secret-1"));
}

#[test]
fn explain_and_dry_run_show_the_rules() {
    let env = env().file("never", "");
    let recipe = one(&[
        "command: touch made",
        "ensure: [{file: out/app}, {command: test -x out/app}]",
        "ensure_retries: 2",
    ]);
    env.write("recipe.yaml", &recipe);
    let text = env.run(["explain", "recipe.yaml", "--verbose"]).stdout;
    for part in ["Ensures file: out/app", "Ensures command: test -x out/app", "up to 2 times while a rule"] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let json = env.run(["explain", "recipe.yaml", "--output-format", "json"]).json();
    let step = &json["steps"][0];
    assert_eq!(step["ensure"][0], json!({"rule": "file", "demand": "out/app"}), "{json:#}");
    assert_eq!(step["ensure_retries"], 2);
    let dry = env.text(&recipe, &["--dry-run"]);
    assert!(dry.all().contains("then ensures: file out/app; command test -x out/app"), "{}", dry.all());
    assert!(!env.path("made").exists());
}

#[test]
fn members_of_a_group_are_checked_on_their_own() {
    let recipe = "name: r\nsteps:\n\
        - {id: a, command: echo a, parallel_group: g, ensure: [{condition: a == 'a'}]}\n\
        - {id: b, command: echo b, parallel_group: g, ensure: [{file: never}], continue_on_error: true}\n\
        - {id: c, command: 'echo {{a}}{{b}}'}\n";
    let output = env().json(recipe, &[]);
    assert_eq!((output.code, output.value("c")), (0, json!("ab")), "{}", output.all());
    assert_eq!(output.step("b")["status"], "failed");
}
