//! Stopping and going on: signals, kills at random moments, resumes.

use std::{thread::sleep, time::Duration};

use testkit::{Started, TestEnv, until};

use crate::world::{asked, branches, checkout, gh_calls, orchestration, published, shell, task, world};

fn start(env: &TestEnv, arguments: &[&str]) -> Started {
    env.spawn(["do", "-C", "repo", "--output-format", "json"].iter().chain(arguments))
}

fn run_id(env: &TestEnv) -> String {
    env.run_ids().pop().unwrap_or_default()
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

// 21
#[test]
fn killed_anywhere_it_goes_on_to_the_same_end() {
    for number in 0..6_u64 {
        let env = published("");
        let before = checkout(&env);
        let started = start(&env, &["Open a PR that adds a new file"]);
        sleep(Duration::from_millis(700 + number * 900));
        started.kill();
        let shown = env.run(["show", "--output-format", "json"]);
        if shown.code != 0 || shown.json()["status"] != "completed" {
            if env.run_ids().is_empty() {
                continue;
            }
            let run = run_id(&env);
            let output = env.run(["resume", &run, "--output-format", "json", "--yes"]);
            assert_eq!(output.code, 0, "killed after {number}\n{}", output.all());
            assert_eq!(orchestration(&output)["goal_status"], "ACHIEVED");
        }
        for part in ["classify", "understand", "plan", "implement", "review", "reflect"] {
            assert!(asked(&env, part) <= 2, "{part}: {}", asked(&env, part));
        }
        let twice = ["classify", "understand", "plan", "implement", "review", "reflect"];
        assert!(twice.iter().filter(|part| asked(&env, part) == 2).count() <= 1, "only the agent in flight");
        assert_eq!(gh_calls(&env).matches("pr create").count(), 1, "{}", gh_calls(&env));
        assert_eq!((branches(&env).len(), checkout(&env)), (1, before));
    }
}

// O31
#[test]
fn odd_agents_and_kills_lose_no_commit() {
    let odd = "implement() { case $((RANDOM % 4)) in 0) git commit -qm odd --allow-empty ;; 1) echo x > a; git add a; git commit -qm mine ;; \
               2) git rm -q file ;; *) echo y > b ;; esac; echo new >> new.txt; echo done; }";
    let env = world(odd);
    let mut reachable: Vec<String> = Vec::new();
    let before = checkout(&env);
    for number in 0..5_u64 {
        let started = start(&env, &["Add a new file"]);
        sleep(Duration::from_millis(600 + number * 1100));
        started.kill();
        let now = shell(&env, "git -C repo rev-list --all");
        for commit in &reachable {
            assert!(now.contains(commit.as_str()), "{commit} is lost");
        }
        reachable = now.lines().map(str::to_owned).collect();
        assert_eq!(checkout(&env), before);
    }
}
