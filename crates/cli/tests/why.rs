//! `why`: why a step ran, was skipped, kept or re-run, as the journal tells.

use testkit::{Output, TestEnv};

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

const RECIPE: &str = "\
name: x
context: {mode: fast, api_key: hunter2hunter2}
steps:
  - id: prep
    command: echo \"{{mode}}\"
  - id: slow
    condition: mode == 'slow' and api_key
    command: echo slow
  - id: tagged
    when_tags: [nightly]
    command: echo t
  - id: dep
    depends_on: [slow]
    command: echo d
  - id: free
    command: echo free
  - id: each
    for_each: [a, b]
    command: echo {{item}} {{prep}}
  - id: flaky
    retry: {max_attempts: 2, delay: 0}
    command: test -e ok
  - id: later
    command: echo {{prep}}
  - id: tidy
    when: failed
    command: echo tidy
";

/// The recipe after a run that failed at `flaky`.
fn failed() -> TestEnv {
    let env = env().file("x.yaml", RECIPE);
    let output = env.run(["x.yaml", "--exclude-tags", "nightly"]);
    assert_eq!(output.code, 1, "{}", output.all());
    env
}

fn why(env: &TestEnv, step: &str) -> Output {
    let output = env.run(["why", "last", step]);
    assert_eq!(output.code, 0, "{}", output.all());
    output
}

fn first_line(env: &TestEnv, step: &str) -> String {
    why(env, step).stdout.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn a23_steps_that_ran_and_were_skipped() {
    let env = failed();
    for (step, expected) in [
        ("prep", "`prep` ran: it is the first step, and it has no condition"),
        ("slow", "`slow` was skipped: condition is false"),
        ("tagged", "`tagged` was skipped: left out by the tag filter"),
        (
            "dep",
            "`dep` was skipped: depends on `slow`, which did not complete: it was skipped because its condition is false",
        ),
        ("each[1]", "`each[1]` ran: it was its turn, and it has no condition"),
        ("each.1", "`each[1]` ran: it was its turn, and it has no condition"),
        ("later", "`later` did not run: the run ended at `flaky` before it"),
        ("tidy", "`tidy` ran: `flaky` had failed, and it runs after a failure"),
    ] {
        assert_eq!(first_line(&env, step), expected);
    }
    let slow = why(&env, "slow").stdout;
    assert!(slow.contains("condition `mode == 'slow' and api_key` was false"), "{slow}");
    assert!(slow.contains("`mode` was \"fast\"") && slow.contains("`api_key` was [REDACTED]"), "{slow}");
    let flaky = why(&env, "flaky").stdout;
    assert!(flaky.contains("attempt 1:") && flaky.contains("tried again at once"), "{flaky}");
    assert!(why(&env, "tagged").stdout.contains("tags: nightly (included: none; excluded: nightly)"));
    assert!(!env.run(["why", "last", "slow", "--output-format", "json"]).stdout.contains("hunter2"));
}

#[test]
fn a23_the_values_are_those_of_the_moment() {
    let text = "\
name: x
context: {n: 1}
steps:
  - id: a
    condition: n == 1
    command: echo 2
    output: n
  - id: b
    condition: n == '1'
    command: echo b
";
    let env = env().file("x.yaml", text);
    assert_eq!(env.run(["x.yaml"]).code, 0);
    assert_eq!(first_line(&env, "a"), "`a` ran: its condition `n == 1` was true");
    assert!(why(&env, "a").stdout.contains("`n` was 1"));
    assert!(why(&env, "b").stdout.contains("`n` was \"2\""), "{}", why(&env, "b").stdout);
}

#[test]
fn a23_a_step_is_kept_or_re_run_because_of_an_edit() {
    let env = failed();
    env.write("ok", "");
    env.write("x.yaml", RECIPE.replace("command: echo \"{{mode}}\"", "command: echo \"{{mode}}!\""));
    assert_eq!(env.run(["resume", "last", "--recipe", "x.yaml"]).code, 0);
    assert_eq!(first_line(&env, "prep"), "`prep` was re-run: its definition changed");
    assert!(why(&env, "prep").stdout.contains("definition: command"), "{}", why(&env, "prep").stdout);
    let each = why(&env, "each[0]").stdout;
    assert!(each.contains("input `prep`: \"fast\" before, now \"fast!\""), "{each}");
    assert_eq!(first_line(&env, "flaky"), "`flaky` was re-run: it failed");
    let json = env.run(["why", "last", "prep", "--output-format", "json"]).json();
    assert_eq!(json["fate"], "rerun");
    assert_eq!(json["differences"]["definition"][0], "command");
    assert_eq!((&json["step"], &json["reason"]), (&"prep".into(), &"its definition changed".into()));
}

#[test]
fn a23_finished_steps_are_kept_by_a_resume() {
    let env = failed();
    env.write("ok", "");
    assert_eq!(env.run(["resume", "last"]).code, 0);
    let kept = "was kept: it had ended before the run was resumed, and its result still holds";
    for step in ["prep", "free", "each[1]"] {
        assert_eq!(first_line(&env, step), format!("`{step}` {kept}"));
    }
    assert_eq!(first_line(&env, "later"), "`later` ran: it was its turn, and it has no condition");
}

#[test]
fn a23_a_producer_is_re_run_because_a_check_failed_on_its_value() {
    let env = TestEnv::scripted(
        env!("CARGO_BIN_EXE_recipe-runner-rs"),
        r#"[ $N = 1 ] && A=bad || A=good; echo "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"$A\"}""#,
    )
    .file(
        "x.yaml",
        "name: x\nsteps:\n  - id: write\n    prompt: Say good.\n  - id: check\n    command: test {{write}} = good\n",
    );
    assert_eq!(env.run(["x.yaml"]).code, 1);
    let output = env.run(["resume", "last", "--yes", "--rerun-producers"]);
    let told = first_line(&env, "write");
    assert!(told.starts_with("`write` was re-run: ") && told.contains("`check`"), "{told}\n{}", output.all());
}

#[test]
fn a23_a_step_is_re_run_because_of_an_input() {
    let env = failed();
    env.write("ok", "");
    assert_eq!(env.run(["resume", "last", "--set", "mode=slow"]).code, 0);
    let prep = why(&env, "prep").stdout;
    assert!(prep.starts_with("`prep` was re-run: "), "{prep}");
    assert!(prep.contains("input `mode`: \"fast\" before, now \"slow\""), "{prep}");
    assert!(prep.contains("with new values for mode"), "{prep}");
    assert_eq!(first_line(&env, "slow"), "`slow` ran: its condition `mode == 'slow' and api_key` was true");
}

#[test]
fn a23_the_run_folder_is_unchanged() {
    let env = failed();
    let files = |env: &TestEnv| {
        let dir = env.state();
        env.shell(&format!("find {} -type f -exec sha256sum {{}} + | sort", dir.display())).stdout
    };
    let before = files(&env);
    why(&env, "slow");
    env.run(["why", "last", "later", "--against", "last"]);
    assert_eq!(files(&env), before);
}

#[test]
fn a_step_is_compared_with_another_run() {
    let env = env()
        .file("x.yaml", "name: x\ncontext: {mode: fast}\nsteps:\n  - id: a\n    command: echo {{mode}}\n");
    let first = env.run(["x.yaml", "--output-format", "json"]).json()["run_id"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    assert_eq!(env.run(["x.yaml", "--set", "mode=slow"]).code, 0);
    let output = env.run(["why", "last", "a", "--against", &first]);
    assert!(output.stdout.contains(&format!("compared with run {first}:")), "{}", output.all());
    assert!(output.stdout.contains("input `mode`: \"fast\" before, now \"slow\""), "{}", output.all());
    let json = env.run(["why", "last", "a", "--against", &first, "--output-format", "json"]).json();
    assert_eq!(json["against"]["run_id"], first.as_str());
    assert_eq!(json["against"]["differences"]["inputs"][0]["name"], "mode");
}

#[test]
fn an_unknown_step_and_an_unknown_run_are_not_found() {
    let env = failed();
    let output = env.run(["why", "last", "prp"]);
    assert_eq!(output.code, 3, "{}", output.all());
    assert!(output.stderr.contains("did you mean `prep`?"), "{}", output.all());
    assert_eq!(env.run(["why", "nothing", "prep"]).code, 3);
    let json = env.run(["why", "last", "nope", "--output-format", "json"]);
    assert_eq!(json.json()["exit_code"], 3, "{}", json.all());
}
