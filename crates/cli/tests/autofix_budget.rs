//! The budget of auto-fix: kept over kills, shared with inner runs, and other ends of the loop.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up its world has failed")]

use serde_json::{Value as Json, json};
use testkit::{Output, TestEnv, until};

/// A world with an agent program that runs this script.
fn world(agent: &str) -> TestEnv {
    TestEnv::scripted(env!("CARGO_BIN_EXE_recipe-runner-rs"), agent)
}

fn json(env: &TestEnv, arguments: &[&str]) -> Output {
    env.run(arguments.iter().copied().chain(["--output-format", "json"]))
}

fn attempts(result: &Json) -> usize {
    result["auto_fix"]["attempts"].as_array().map_or(0, Vec::len)
}

/// A check that fails with other words each time, so that no failure is the same as another one.
const RESTLESS: &str = "name: r
steps:
  - {id: a, prompt: p, output: x}
  - {id: g, command: 'tr -d 0-9- < /proc/sys/kernel/random/uuid >&2; grep -q PASS <<< \"{{x}}\"'}
";

/// Kills the runner in the middle of its second attempt.
fn killed_in_the_second() -> TestEnv {
    let env =
        world("[ $N -eq 2 ] && { touch \"$HOME/second\"; sleep 60; }; echo FAIL $N").file("r.yaml", RESTLESS);
    let started = env.spawn(["r.yaml", "--auto-fix=3"]);
    until("the second attempt begins", || env.home().join("second").exists());
    started.kill();
    assert_eq!(env.script_calls(), 2);
    env
}

#[test]
fn a_killed_loop_continues_within_its_budget() {
    for arguments in [vec!["resume", "last"], vec!["resume", "last", "--auto-fix=3"]] {
        let env = killed_in_the_second();
        let output = json(&env, &arguments);
        let result = output.json();
        assert_eq!((output.code, &result["outcome"]), (6, &json!("needs_human")), "{}", output.all());
        assert_eq!(
            (attempts(&result), env.script_calls()),
            (3, 4),
            "attempt 2 again, attempt 3, no more: {result}"
        );
        assert!(result["auto_fix"]["escalation"]["reason"].as_str().unwrap().contains("budget of 3"));
        assert_eq!(result["run_id"], result["tracking_id"]);
    }
}

#[test]
fn a_killed_loop_can_be_ended() {
    let env = killed_in_the_second();
    let output = json(&env, &["resume", "last", "--no-auto-fix"]);
    assert_eq!((output.code, env.script_calls()), (1, 3), "{}", output.all());
    assert_eq!(output.json()["auto_fix"]["enabled"], false, "{}", output.all());
}

#[test]
fn a_killed_loop_that_succeeds_is_over() {
    let env = world(
        "[ $N -eq 2 ] && { touch \"$HOME/second\"; sleep 60; }; [ $N -ge 3 ] && echo PASS || echo FAIL",
    )
    .file("r.yaml", RESTLESS);
    let started = env.spawn(["r.yaml", "--auto-fix=3"]);
    until("the second attempt begins", || env.home().join("second").exists());
    started.kill();
    let output = json(&env, &["resume", "last"]);
    assert_eq!((output.code, env.script_calls()), (0, 3), "{}", output.all());
    assert_eq!(output.json()["auto_fix"]["outcome"], "ok");
}

#[test]
fn a_loop_that_ended_begins_anew_only_if_asked() {
    let env = world("echo FAIL $N").file("r.yaml", RESTLESS);
    assert_eq!(json(&env, &["r.yaml", "--auto-fix=2"]).code, 6);
    assert_eq!(env.script_calls(), 2);
    let plain = json(&env, &["resume", "last"]);
    assert_eq!((plain.code, env.script_calls()), (1, 3), "a person goes on once: {}", plain.all());
    let again = json(&env, &["resume", "last", "--auto-fix=2"]);
    assert_eq!((again.code, env.script_calls()), (6, 5), "{}", again.all());
    let result = again.json();
    assert_eq!((attempts(&result), &result["auto_fix"]["max_attempts"]), (4, &json!(4)), "{result}");
}

#[test]
fn budgets_do_not_multiply_in_runs_inside_of_runs() {
    let outer = "name: outer\nsteps: [{id: n, command: '\"$RECIPE_RUNNER_EXE\" inner.yaml --auto-fix=9'}]\n";
    let env = world("echo FAIL $N")
        .file("outer.yaml", outer)
        .file("inner.yaml", RESTLESS.replace("name: r", "name: inner"));
    let output = json(&env, &["outer.yaml", "--auto-fix=3"]);
    assert_eq!(output.code, 6, "{}", output.all());
    assert_eq!(env.script_calls(), 3, "two runs more than the first one, in the whole tree");
}

#[test]
fn no_auto_fix_also_applies_to_inner_runs() {
    let outer = "name: outer\nsteps: [{id: n, command: '\"$RECIPE_RUNNER_EXE\" inner.yaml --auto-fix=3'}]\n";
    for (first, arguments) in [
        (None, vec!["outer.yaml", "--no-auto-fix"]),
        (Some(vec!["outer.yaml", "--no-auto-fix"]), vec!["resume", "last"]),
        (Some(vec!["outer.yaml"]), vec!["resume", "last", "--no-auto-fix"]),
    ] {
        let env = world("echo FAIL $N").file("outer.yaml", outer);
        if let Some(first) = first {
            // the outer run fails before there is anything to repair
            assert_eq!(json(&env, &first).code, 1);
        }
        env.write("inner.yaml", RESTLESS.replace("name: r", "name: inner"));
        let run = json(&env, &["runs"]).json()[0]["run_id"].as_str().unwrap_or_default().to_owned();
        let arguments: Vec<&str> =
            arguments.into_iter().map(|word| if word == "last" { run.as_str() } else { word }).collect();
        let output = json(&env, &arguments);
        assert_eq!((output.code, env.script_calls()), (1, 1), "{arguments:?}\n{}", output.all());
        assert_eq!(output.json()["auto_fix"]["enabled"], false, "{arguments:?}");
    }
}

#[test]
fn the_environment_can_say_so_too() {
    for (said, calls) in [("1", 1), ("0", 2), ("", 2)] {
        let env = world("echo FAIL $N").env("RECIPE_RUNNER_NO_AUTO_FIX", said).file("r.yaml", RESTLESS);
        let output = json(&env, &["r.yaml", "--auto-fix=2"]);
        assert_eq!(env.script_calls(), calls, "{said:?} {}", output.all());
    }
}

#[test]
fn the_same_failure_twice_ends_the_loop() {
    let steady = RESTLESS.replace(
        "tr -d 0-9- < /proc/sys/kernel/random/uuid >&2; ",
        "echo \"pid $$ at $(date +%T.%N)\" >&2; ",
    );
    let env = world("echo FAIL").file("r.yaml", steady);
    let output = json(&env, &["r.yaml", "--auto-fix=9"]);
    assert_eq!((output.code, env.script_calls(), attempts(&output.json())), (6, 2, 2), "{}", output.all());
    assert!(output.json()["auto_fix"]["escalation"]["reason"].as_str().unwrap().contains("same failure"));
}

#[test]
fn an_unknown_failure_is_rerun_once() {
    let recipe = "name: r\nsteps: [{id: s, command: 'echo x >> n; tr -d 0-9- < /proc/sys/kernel/random/uuid >&2; exit 9'}]\n";
    let env = world("echo nobody asks").file("r.yaml", recipe);
    let output = json(&env, &["r.yaml", "--auto-fix=9"]);
    assert_eq!((output.code, attempts(&output.json())), (6, 2), "{}", output.all());
    assert_eq!((std::fs::read_to_string(env.path("n")).unwrap().as_str(), env.script_calls()), ("x\nx\n", 0));
}

#[test]
fn a_loop_that_waits_can_be_interrupted_and_continued() {
    let recipe = "name: r\nsteps: [{id: s, command: 'cat ok 2> /dev/null || { echo \"HTTP 429 Too Many Requests\" >&2; exit 1; }'}]\n";
    let env = world("").file("r.yaml", recipe).env("AMPLIHACK_RATELIMIT_BASE_DELAY_SECS", "50");
    let started = env.spawn(["r.yaml", "--auto-fix", "--output-format", "json"]);
    until("the first run is over", || {
        env.run_ids()
            .first()
            .is_some_and(|id| env.state().join("runs").join(id).join("auto-fix.json").exists())
    });
    std::thread::sleep(std::time::Duration::from_millis(300));
    started.signal("INT");
    let output = started.wait();
    assert_eq!(output.code, 130, "{}", output.all());
    assert_eq!(output.json()["outcome"], "interrupted");
    assert_eq!(json(&env, &["show", "last"]).json()["status"], "interrupted");
    env.write("ok", "");
    assert_eq!(env.run(["resume", "last"]).code, 0);
}

/// The options of the escalation after a failure of these steps.
fn options(agent: &str, steps: &str) -> Vec<String> {
    let env = world(agent).file("r.yaml", format!("name: r\nsteps:\n{steps}"));
    let output = json(&env, &["r.yaml", "--auto-fix=4"]);
    assert_eq!(output.code, 6, "{}", output.all());
    let options = output.json()["auto_fix"]["escalation"]["options"].clone();
    let words = |text: &Json| text.as_str().unwrap().split_whitespace().skip(3).collect::<Vec<_>>().join(" ");
    options.as_array().unwrap().iter().map(words).collect()
}

#[test]
fn an_escalation_offers_useful_commands() {
    let has = |options: &[String], flag: &str| options.iter().any(|option| option.starts_with(flag));
    let alone = options("echo no recipe", "  - {id: s, command: exit 9}\n");
    assert!(!has(&alone, "--rerun-producers") && !has(&alone, "--recipe"), "{alone:?}");
    assert!(alone.contains(&String::new()) && has(&alone, "--plan"), "{alone:?}");
    let linked = options(
        "echo FAIL",
        "  - {id: a, prompt: p, output: x}\n  - {id: g, command: 'grep -q PASS <<< \"{{x}}\"'}\n",
    );
    assert!(!has(&linked, "--rerun-producers"), "a plain resume does them again already: {linked:?}");
    let order = options("echo FAIL", "  - {id: a, prompt: p}\n  - {id: g, command: test -e made}\n");
    assert!(has(&order, "--rerun-producers"), "{order:?}");
    let recipe = options("echo no recipe", "  - {id: s, command: grep --no-such-option x y}\n");
    assert!(has(&recipe, "--recipe"), "{recipe:?}");
}
