//! Going on when something that kept steps left behind is not there any more: files and processes.

use serde_json::Value as Json;
use testkit::{Output, TestEnv};

fn world(steps: &[&str]) -> TestEnv {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"));
    env.write("r.yaml", recipe(steps));
    env
}

fn recipe(steps: &[&str]) -> String {
    let steps: String = steps.iter().map(|step| format!("  - {{{step}}}\n")).collect();
    format!("name: r\nsteps:\n{steps}")
}

fn resume(env: &TestEnv, arguments: &[&str]) -> Output {
    let given = ["resume", "last", "--output-format", "json"];
    env.run(given.iter().chain(arguments).copied())
}

/// What the plan says about a step: `rerun: why`.
fn fate(env: &TestEnv, step: &str) -> String {
    let plan = resume(env, &["--plan"]).json();
    let steps = plan["steps"].as_array().cloned().unwrap_or_default();
    let text = |value: &Json| value.as_str().unwrap_or("?").to_owned();
    let found = steps.iter().find(|entry| entry["path"] == step);
    found.map(|entry| format!("{}: {}", text(&entry["action"]), text(&entry["reason"]))).unwrap_or_default()
}

const MK: &str = "id: mk, command: 'echo mk >>ledger; mkdir -p d; echo 1 >d/out.txt', produces: [d/out.txt]";
const G: &str = "id: g, command: 'test -f go && cat d/out.txt', reads: [d/out.txt]";

#[test]
fn a_declared_file_that_is_gone_is_made_again() {
    let env = world(&[MK, G]);
    assert_eq!(env.run(["r.yaml"]).code, 1);
    env.write("go", "");
    assert_eq!(fate(&env, "mk"), "keep: it is done");
    std::fs::remove_file(env.path("d/out.txt")).unwrap();
    assert_eq!(fate(&env, "mk"), "rerun: its file `d/out.txt` is gone, and `g` needs it");
    let output = resume(&env, &[]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(env.read("ledger"), "mk\nmk\n");
}

#[test]
fn a_declared_file_is_looked_for_where_the_step_worked() {
    let below = "id: mk, command: 'echo 1 >out.txt', produces: [out.txt], working_dir: d";
    let reads = "id: g, command: 'test -f ../go && cat out.txt', reads: [out.txt], working_dir: d";
    let env = world(&[below, reads]);
    env.write("d/here", "");
    assert_eq!(env.run(["r.yaml"]).code, 1);
    assert_eq!(fate(&env, "mk"), "keep: it is done");
    std::fs::remove_file(env.path("d/out.txt")).unwrap();
    assert_eq!(fate(&env, "mk"), "rerun: its file `out.txt` is gone, and `g` needs it");
}

#[test]
fn a_declared_file_that_was_fixed_is_kept() {
    let env = world(&[MK, G]);
    assert_eq!(env.run(["r.yaml"]).code, 1);
    env.write("go", "");
    env.write("d/out.txt", "mended");
    assert_eq!(fate(&env, "mk"), "keep: it is done; `d/out.txt` was changed since, and is kept");
    let output = resume(&env, &[]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!((env.read("ledger"), env.read("d/out.txt")), ("mk\n".to_owned(), "mended".to_owned()));
}

#[test]
fn files_changed_by_a_later_step_are_fine() {
    let change = "id: fmt, command: 'echo 2 >d/out.txt', produces: [d/out.txt]";
    let env = world(&[MK, change, G]);
    assert_eq!(env.run(["r.yaml"]).code, 1);
    assert_eq!((fate(&env, "mk"), fate(&env, "fmt")), ("keep: it is done".into(), "keep: it is done".into()));
}

#[test]
fn an_effect_is_not_repeated_for_a_file_that_is_gone() {
    let env = world(&[&format!("{MK}, effects: [deploy]"), G]);
    assert_eq!(env.run(["r.yaml"]).code, 1);
    env.write("go", "");
    std::fs::remove_file(env.path("d/out.txt")).unwrap();
    let output = resume(&env, &[]);
    assert_eq!(output.code, 6, "{}", output.all());
    assert!(output.all().contains("--rerun-effects"), "{}", output.all());
    assert_eq!(env.read("ledger"), "mk\n");
    let output = resume(&env, &["--rerun-effects"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(env.read("ledger"), "mk\nmk\n");
}

/// A server that later steps need, by its process.
const SRV: &str =
    "id: srv, command: 'echo srv >>ledger; (while :; do sleep 0.1; done) >/dev/null 2>&1 & echo $! >srv.pid'";
const ASKS: &str = "id: a, command: 'test -f go && kill -0 $(cat srv.pid)'";
const STARTED_AGAIN: &str = "rerun: the process it left running ended with the run";

#[test]
fn a_process_that_was_left_for_later_steps_is_started_again() {
    let env = world(&[SRV, "id: b, command: echo b >>ledger", ASKS]);
    assert_eq!(env.run(["r.yaml"]).code, 1);
    assert_eq!(env.survivors(), Vec::<String>::new());
    env.write("go", "");
    assert_eq!(fate(&env, "srv"), STARTED_AGAIN);
    assert_eq!(fate(&env, "b"), "keep: it is done");
    let output = resume(&env, &[]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(env.read("ledger"), "srv\nb\nsrv\n");
    assert_eq!(env.survivors(), Vec::<String>::new());
}

#[test]
fn a_process_of_a_killed_run_is_started_again() {
    let env = world(&[SRV, "id: a, command: 'echo up >up; test -f go || sleep 60; kill -0 $(cat srv.pid)'"]);
    let started = env.spawn(["r.yaml"]);
    env.wait_for("up");
    started.kill();
    env.write("go", "");
    assert_eq!(fate(&env, "srv"), STARTED_AGAIN);
    let output = resume(&env, &[]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(env.survivors(), Vec::<String>::new());
}

#[test]
fn a_process_that_ended_by_itself_is_not_missed() {
    let brief = "id: srv, command: '(sleep 0.2; echo bye >bye) >/dev/null 2>&1 & true'";
    let env = world(&[brief, "id: w, command: 'until test -f bye; do sleep 0.05; done; sleep 0.3'", ASKS]);
    assert_eq!(env.run(["r.yaml"]).code, 1);
    assert_eq!(fate(&env, "srv"), "keep: it is done");
}

/// A commit is not made twice because git tidies up behind it. Who writes `setsid` means it.
#[test]
fn a_daemon_of_a_program_is_not_missed() {
    let daemon = "setsid -f bash -c 'echo up >up; exec sleep 60' >/dev/null 2>&1; until test -f up; do sleep 0.05; done\n";
    for (command, expected, ledger) in [
        ("bash commit.sh".to_owned(), "keep: it is done", "c\n"),
        (format!("{}; bash commit.sh", "setsid true"), STARTED_AGAIN, "c\nc\n"),
    ] {
        let env =
            world(&[&format!("id: c, command: 'echo c >>ledger; {command}'"), "id: g, command: test -f go"]);
        env.write("commit.sh", daemon);
        assert_eq!(env.run(["r.yaml"]).code, 1);
        assert_eq!(env.survivors(), Vec::<String>::new());
        env.write("go", "");
        assert_eq!(fate(&env, "c"), expected);
        let output = resume(&env, &[]);
        assert_eq!((output.code, env.read("ledger")), (0, ledger.to_owned()), "{}", output.all());
    }
}

#[test]
fn an_effect_is_not_repeated_for_a_process() {
    let env = world(&[&format!("{SRV}, idempotent: false"), ASKS]);
    assert_eq!(env.run(["r.yaml"]).code, 1);
    assert_eq!(fate(&env, "srv"), "keep: it is done");
    resume(&env, &[]);
    assert_eq!(env.read("ledger"), "srv\n");
}

#[test]
fn a_process_is_there_for_every_attempt_of_auto_fix() {
    let agent = "if [ $N -eq 1 ]; then echo bad; else echo good; fi";
    let env = TestEnv::scripted(env!("CARGO_BIN_EXE_recipe-runner-rs"), agent);
    let check = "id: a, command: 'kill -0 $(cat srv.pid) && test \"{{ag}}\" = good'";
    env.write("r.yaml", recipe(&[SRV, "id: ag, prompt: MAKE", check]));
    let output = env.run(["r.yaml", "--auto-fix", "--output-format", "json"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(env.script_calls(), 2);
    assert_eq!(env.survivors(), Vec::<String>::new());
}
