//! Stopping and continuing: signals and resumes.

use testkit::{Started, TestEnv, until};

use crate::world::{asked, orchestration, shell, task, world};

fn start(env: &TestEnv, arguments: &[&str]) -> Started {
    env.spawn(["do", "-C", "repo", "--output-format", "json"].iter().chain(arguments))
}

// 20
#[test]
fn a_terminated_task_tells_how_far_it_came() {
    let env = world("implement() { touch \"$HOME/waits\"; sleep 60; }");
    let started = start(&env, &["Add a new file"]);
    until("the agent works", || env.path("~/waits").exists());
    started.signal("TERM");
    let output = started.wait();
    assert_eq!(output.code, 143, "{}", output.all());
    let told = orchestration(&output);
    assert_eq!(
        (&told["goal_status"], &told["stop_reason"]),
        (&"UNKNOWN".into(), &"interrupted".into()),
        "{told}"
    );
    let active =
        shell(&env, "grep -rl '\"status\": *\"active\"' \"$RECIPE_RUNNER_HOME/trees\" 2>/dev/null | wc -l");
    assert_eq!(active, "0");
}

// 13, 47
#[test]
fn a_resume_repeats_no_round_and_can_add_one() {
    let env = world("reflect() { echo 'PARTIAL -- docs missing'; }");
    let output = task(&env, &["--rounds", "1", "Add a new file"]);
    assert_eq!(output.code, 1, "{}", output.all());
    let run = output.json()["run_id"].as_str().unwrap().to_owned();
    let plain = env.run(["resume", &run, "--output-format", "json"]);
    assert_eq!(plain.code, 1, "{}", plain.all());
    assert_eq!((asked(&env, "implement"), asked(&env, "reflect")), (1, 1));
    assert_eq!(orchestration(&plain)["stop_reason"], "rounds_used");
    let more = env.run(["resume", &run, "--rounds", "2", "--output-format", "json"]);
    assert_eq!(more.code, 1, "{}", more.all());
    assert_eq!((asked(&env, "implement"), asked(&env, "understand")), (2, 1));
    assert_eq!(orchestration(&more)["rounds"].as_array().unwrap().len(), 2);
    let shown = env.run(["show", &run, "--output-format", "json"]).json();
    assert_eq!(shown["orchestration"], orchestration(&more));
}
