//! Failures of a round: their modes, the other way, what ends the rounds.

use crate::world::{asked, orchestration, parts, shell, task, task_ends, world};

/// A workflow of the user that fails, unless the file `fixed` is in the home directory.
const BROKEN: &str = "name: mine\nshell: strict\nsteps:\n  - {id: work, command: 'test -e ~/fixed'}\n";

fn stages(told: &serde_json::Value) -> Vec<String> {
    let all = told["recovery"].as_array().into_iter().flatten();
    all.filter_map(|entry| entry["stage"].as_str().map(str::to_owned)).collect()
}

// 16, 17, 35
#[test]
fn a_failed_workflow_is_followed_by_the_built_in_one_once() {
    let env = world("").file("mine.yaml", BROKEN);
    let mine = env.path("mine.yaml");
    let set = format!("development_recipe={}", mine.display());
    let told = task_ends(&env, &["--set", &set, "Add a new file"], 0);
    assert_eq!(stages(&told), ["detect", "report", "adapt", "reflect"], "{told}");
    let failure = &told["failures"][0];
    assert_eq!((&failure["mode"], &failure["recovered"]), (&"bash_failure".into(), &true.into()), "{told}");
    assert!(failure["step"].as_str().unwrap().ends_with("execute-development/work"), "{failure}");
    assert_eq!((&told["failure_mode"], &told["goal_status"]), (&serde_json::Value::Null, &"ACHIEVED".into()));
    let file = told["recovery"][1]["file"].as_str().unwrap();
    assert!(std::fs::read_to_string(file).unwrap().contains("bash_failure"));
    assert_eq!(told["recovery"][1]["dedup"], "off");
    assert!(!env.path("~/gh-calls").exists());
}

// 18
#[test]
fn a_verdict_comes_although_both_ways_failed() {
    let env = world("implement() { exit 3; }").file("mine.yaml", BROKEN);
    let set = format!("development_recipe={}", env.path("mine.yaml").display());
    let output = task(&env, &["--set", &set, "--rounds", "2", "Add a new file"]);
    assert_eq!(output.code, 1, "{}", output.all());
    let told = orchestration(&output);
    assert_eq!(told["goal_status"], "NOT_ACHIEVED", "{told}");
    let adapted =
        told["recovery"].as_array().unwrap().iter().filter(|entry| entry["path"].is_string()).count();
    assert_eq!(adapted, 1, "{told}");
    let active =
        shell(&env, "grep -rl '\"status\": *\"active\"' \"$RECIPE_RUNNER_HOME/trees\" 2>/dev/null | wc -l");
    assert_eq!(active, "0");
}

// 16
#[test]
fn every_mode_is_named_by_facts() {
    let slow = world("plan() { sleep 30; }");
    let told = task_ends(&slow, &["--rounds", "1", "--step-timeout", "5", "Add a new file"], 0);
    let failure = &told["failures"][0];
    assert_eq!((&failure["mode"], &failure["recovered"]), (&"agent_timeout".into(), &true.into()), "{told}");
    assert!(failure["step"].as_str().unwrap().ends_with("/plan"), "{failure}");
    let missing = world("");
    let told =
        task_ends(&missing, &["--rounds", "1", "--set", "development_recipe=nowhere", "Add a new file"], 0);
    assert_eq!(told["failures"][0]["mode"], "recipe_failure", "{told}");
    let empty =
        world("").file("skip.yaml", "name: skip\nsteps:\n  - {id: a, condition: 'false', command: 'true'}\n");
    let set = format!("development_recipe={}", empty.path("skip.yaml").display());
    let told = task_ends(&empty, &["--set", &set, "Add a new file"], 0);
    assert_eq!(
        (&told["failures"][0]["mode"], &told["failures"][0]["recovered"]),
        (&"routing_gap".into(), &true.into())
    );
}

// 19
#[test]
fn an_expired_login_ends_the_rounds() {
    let env = world(
        "plan() { if [ ! -e \"$HOME/login\" ]; then echo 'Invalid API key · Please run /login' >&2; exit 1; fi; echo '{\"steps\":[]}'; }",
    );
    let output = task(&env, &["Add a new file"]);
    assert_eq!(output.code, 1, "{}", output.all());
    let told = orchestration(&output);
    assert_eq!(
        (&told["stop_reason"], &told["failure_mode"]),
        (&"blocked".into(), &"infrastructure".into()),
        "{told}"
    );
    assert_eq!((asked(&env, "plan"), told["rounds"].as_array().unwrap().len()), (1, 1));
    env.write("~/login", "");
    let run = output.json()["run_id"].as_str().unwrap().to_owned();
    let resumed = env.run(["resume", &run, "--output-format", "json"]);
    assert_eq!(resumed.code, 0, "{}", resumed.all());
    assert_eq!(orchestration(&resumed)["goal_status"], "ACHIEVED");
}

// 44
#[test]
fn a_budget_ends_the_rounds_and_can_be_raised() {
    let env = world("");
    let output = task(&env, &["--budget-agent-runs", "3", "Add a new file"]);
    assert_eq!(output.code, 1, "{}", output.all());
    assert_eq!(orchestration(&output)["stop_reason"], "budget", "{}", output.all());
    assert_eq!(parts(&env).len(), 3);
    let run = output.json()["run_id"].as_str().unwrap().to_owned();
    let resumed = env.run(["resume", &run, "--budget-agent-runs", "20", "--output-format", "json"]);
    assert_eq!(resumed.code, 0, "{}", resumed.all());
    assert_eq!(orchestration(&resumed)["goal_status"], "ACHIEVED");
}
