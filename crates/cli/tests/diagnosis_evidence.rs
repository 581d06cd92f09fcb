//! What a diagnosis shows and advises, tried from the outside: places, quotes, signals, exit codes, missing values.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up its world has failed")]

use serde_json::Value as Json;
use testkit::{Output, TestEnv};

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

fn run(command: &str) -> Output {
    let lines = command.replace('\n', "\n      ");
    env().json(&format!("name: r\nsteps:\n  - id: s\n    command: |\n      {lines}\n"), &[])
}

/// `class confidence` of a failure, and the first thing to do about it.
#[track_caller]
fn check(output: &Output, expected: &str, advice: &str) {
    let (result, found) = (output.json(), output.json()["diagnosis"].clone());
    let class = format!("{} {}", found["class"].as_str().unwrap(), found["confidence"].as_str().unwrap());
    assert_eq!(class, expected, "{found}");
    let first = result["advice"][0].as_str().unwrap();
    assert!(first.contains(advice), "{advice}: {first}");
}

fn signal(output: &Output, at: &str) -> Json {
    let found = output.json()["diagnosis"]["signals"].clone();
    let one = found.as_array().unwrap().iter().find(|signal| signal["at"] == at).cloned();
    one.unwrap_or_else(|| Json::from(found.to_string()))
}

#[test]
fn output_and_end_of_a_step_are_understood() {
    for (command, expected, advice) in [
        ("echo 'connection refused' >&2; exit 1", "environment.network medium", "can be reached"),
        ("echo 'DNS lookup failed'; exit 1", "environment.network medium", "can be reached"),
        (
            "mkdir b; printf '#!/bin/sh\\nexit $((3 + 4))\\n' > b/curl; chmod +x b/curl; PATH=$PWD/b:$PATH\ncurl -s http://127.0.0.1:1/",
            "environment.network high",
            "can be reached",
        ),
        ("echo ENOSPC >&2; exit 1", "environment.disk medium", "disk space"),
        ("echo Killed >&2; exit 137", "environment.memory medium", "free memory"),
        ("echo 'nosuchprog not found' >&2; exit 127", "environment.missing_binary high", "nosuchprog"),
        ("touch np.sh; ./np.sh", "environment.missing_binary medium", "chmod +x"),
        (
            "kill -TERM $$",
            "interrupted medium",
            "`s` was ended by SIGTERM (signal 15) while the run was alive",
        ),
        ("test -d / || exit 1; kill -TERM $$; sleep 3", "interrupted medium", "find the sender"),
        ("test -d / || exit 1; kill -KILL $$; sleep 3", "unknown low", "cause unknown"),
        ("test -d / || exit 1; kill -SEGV $$; sleep 3", "verification medium", "Fix the code"),
    ] {
        check(&run(command), expected, advice);
    }
}

#[test]
fn evidence_names_its_line() {
    for (before, after, at) in [(0, 0, 1), (99, 0, 100), (29, 50, 30), (200_000, 0, 200_001)] {
        let says = "echo 'No space left on device' >&2";
        let output = run(&format!("seq {before} >&2; {says}; seq {after} >&2; exit 1"));
        let said = signal(&output, &format!("stderr:{at}"));
        assert_eq!(said["quote"], "No space left on device", "{said}");
    }
    let wide = run("printf 'é%.0s' {1..500} >&2; echo ' connect: Connection refused' >&2; exit 1");
    let quote = signal(&wide, "stderr:1")["quote"].as_str().unwrap().to_owned();
    assert!(quote.starts_with("…é") && quote.ends_with("connect: Connection refused"), "{quote}");
    let coloured = run(r"printf '\033[31mboom\033[0m\n' >&2; exit 1");
    assert_eq!(signal(&coloured, "stderr:1")["quote"], "boom");
}

#[test]
fn output_without_json_is_not_called_a_check() {
    let recipe = "name: r\nsteps: [{id: a, command: echo no, parse_json: true, parse_json_required: true}]\n";
    check(&env().json(recipe, &[]), "verification high", "`a` must print JSON and did not");
}

#[test]
fn a_missing_value_of_a_sub_recipe_is_not_repaired() {
    for needs in ["inputs: [{name: zed, required: true}]", "context_validation: {zed: nonempty}"] {
        let env = TestEnv::scripted(env!("CARGO_BIN_EXE_recipe-runner-rs"), "touch asked; echo '{}'")
            .file("c.yaml", format!("name: c\n{needs}\nsteps: [{{id: k, command: 'true'}}]\n"));
        let recipe = "name: r\nsteps: [{id: a, command: 'true'}, {id: s, recipe: c}]\n";
        let output = env.json(recipe, &["--auto-fix"]);
        check(&output, "environment.missing_env high", "in the `context` of `s` (zed)");
        assert_eq!((output.code, &output.json()["outcome"]), (1, &Json::from("blocked")), "{}", output.all());
        assert!(!env.path("asked").exists(), "the repair agent is not asked");
    }
}

#[test]
fn words_about_a_subject_are_not_a_missing_variable() {
    for command in [
        "echo \"version is not set in config.toml\"; exit 1",
        "echo \"FAIL: field 'owner' is not set\"; exit 1",
        "echo \"FAIL: field 'OWNER_NAME' is not set\" >&2; exit 1",
        "echo \"MAX_SIZE is not set in config.toml\" >&2; exit 1",
    ] {
        check(&run(command), "unknown low", "cause unknown");
    }
}

#[test]
fn a_missing_variable_is_blamed_on_its_provider() {
    const HELPER: &str = "set -u; echo \"issue $ISSUE_NUMBER\"";
    const FIND: &str = "{id: find, command: echo 7, output: issue_number";
    let call = "{id: call, command: bash ./helper.sh}";
    let steps = |steps: &[&str]| format!("name: r\nsteps:\n  - {}\n", steps.join("\n  - "));
    for (recipe, class, advice) in [
        (steps(&[call]), "environment.missing_env", "or write it into `.env`"),
        (
            steps(&[&format!("{FIND}, condition: 'false'}}"), call]),
            "structure",
            "`ISSUE_NUMBER` comes from step `find`, which was skipped",
        ),
        (
            steps(&[call, &format!("{FIND}}}")]),
            "structure",
            "`ISSUE_NUMBER` comes from step `find`, which does not run before `call`",
        ),
        (
            steps(&[
                &format!("{FIND}, parallel_group: g}}"),
                "{id: call, command: bash ./helper.sh, parallel_group: g}",
            ]),
            "structure",
            "`ISSUE_NUMBER` comes from step `find`, which does not run before `call`",
        ),
        (
            steps(&[
                "{id: issue-number, command: 'true'}",
                "{id: call, command: 'bash -c \": ${ISSUE_NUMBER:?wanted}\"'}",
            ]),
            "structure",
            "`ISSUE_NUMBER` comes from step `issue-number`, which gave an empty value",
        ),
        (
            steps(&[&format!("{FIND}}}"), "{id: call, command: env -u ISSUE_NUMBER bash ./helper.sh}"]),
            "structure",
            "as in `ISSUE_NUMBER={{issue_number}} COMMAND`",
        ),
        (
            steps(&["{id: prepare, recipe: child, condition: 'false'}", call]),
            "structure",
            "`ISSUE_NUMBER` comes from step `prepare`, which was skipped",
        ),
        (
            format!("{}inputs: [{{name: issue_number}}]\n", steps(&[call])),
            "environment.missing_env",
            "which is empty: pass `--set issue_number=…`",
        ),
    ] {
        let child = steps(&[&format!("{FIND}}}")]);
        let output = env().file("helper.sh", HELPER).file("child.yaml", &child).json(&recipe, &[]);
        check(&output, &format!("{class} medium"), advice);
    }
}
