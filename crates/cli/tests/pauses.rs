//! Durations leave out the time between the processes of a run.

use std::{thread::sleep, time::Duration};

use testkit::TestEnv;

/// Longer than all the rest of a run.
const PAUSE: Duration = Duration::from_secs(3);

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

/// The durations of the last run in its result and in the list of runs.
#[track_caller]
fn is_short(env: &TestEnv, status: &str) {
    let shown = env.run(["show", "last", "--output-format", "json"]).json();
    let listed = env.run(["runs", "--output-format", "json"]).json()[0].clone();
    for run in [shown, listed] {
        assert_eq!(run["status"], status, "{run}");
        assert!(run["duration"].as_f64().is_some_and(|seconds| seconds < PAUSE.as_secs_f64()), "{run}");
    }
}

#[test]
fn a_resume_does_not_count_the_time_before_it() {
    let env = env();
    assert_eq!(env.text("name: r\nsteps: [{id: a, command: test -e there}]\n", &[]).code, 1);
    sleep(PAUSE);
    env.write("there", "");
    assert_eq!(env.run(["resume", "last"]).code, 0);
    is_short(&env, "completed");
}

#[test]
fn an_answer_does_not_count_the_time_of_the_question() {
    let env = env();
    let recipe = "name: r\nsteps:\n- {id: ok, ask: Go on?}\n- {id: b, command: 'true'}\n";
    assert_eq!(env.text(recipe, &[]).code, 6);
    sleep(PAUSE);
    assert_eq!(env.run(["answer", "last", "ok", "approve", "--no-resume"]).code, 0);
    is_short(&env, "waiting");
    sleep(PAUSE);
    assert_eq!(env.run(["resume", "last"]).code, 0);
    is_short(&env, "completed");
}

#[test]
fn a_cancelled_question_does_not_count_the_wait() {
    let env = env();
    assert_eq!(env.text("name: r\nsteps: [{id: ok, ask: Go on?}]\n", &[]).code, 6);
    sleep(PAUSE);
    env.run(["cancel", "last"]);
    is_short(&env, "cancelled");
}

#[test]
fn a_killed_run_does_not_count_the_time_until_its_resume() {
    let env =
        env().file("r.yaml", "name: r\nsteps: [{id: a, command: 'echo x >there; test -e go || sleep 60'}]\n");
    let run = env.spawn(["r.yaml"]);
    env.wait_for("there");
    run.kill();
    sleep(PAUSE);
    env.write("go", "");
    assert_eq!(env.run(["resume", "last"]).code, 0);
    is_short(&env, "completed");
}
