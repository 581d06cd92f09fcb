//! Every mode of failure in a real run: how it is named, where it was found, and what was done about it.

use serde_json::Value as Json;
use testkit::TestEnv;

use crate::world::{asked, orchestration, shell, task, world};

/// A workflow of the user in the file `mine.yaml`.
fn with_workflow(agents: &str, steps: &str) -> TestEnv {
    world(agents).file("mine.yaml", format!("name: mine\nshell: strict\nsteps:\n{steps}"))
}

/// Runs a task with that workflow.
fn run(env: &TestEnv, arguments: &[&str]) -> (i32, Json) {
    let set = format!("development_recipe={}", env.path("mine.yaml").display());
    let output = task(env, &[&["--set", &set, "Add a new file"], arguments].concat());
    (output.code, orchestration(&output))
}

/// The first entry of a stage of the first round.
fn stage<'a>(told: &'a Json, name: &str) -> &'a Json {
    let all = told["recovery"].as_array().unwrap();
    all.iter().find(|entry| entry["stage"] == name).unwrap_or_else(|| panic!("no {name}: {told}"))
}

/// What all modes have in common.
#[track_caller]
fn is_mode(told: &Json, mode: &str, step: &str, quote: &str) {
    let failure = &told["failures"][0];
    assert_eq!((&failure["mode"], &failure["round"]), (&mode.into(), &1.into()), "{told}");
    let place = failure["step"].as_str().unwrap_or_default();
    assert!(place.ends_with(step), "{place} is not {step}: {told}");
    assert!(failure["quote"].as_str().unwrap().contains(quote), "{failure}");
    let detected = stage(told, "detect");
    assert_eq!((&detected["mode"], &detected["step"]), (&mode.into(), &failure["step"]), "{told}");
    for key in ["class", "quote", "fallback"] {
        assert!(detected.get(key).is_some(), "{key}: {detected}");
    }
    let report = stage(told, "report");
    let file = std::fs::read_to_string(report["file"].as_str().unwrap()).unwrap();
    assert!(file.contains(mode), "{file}");
    assert_eq!((&report["dedup"], &report["issue_url"]), (&"off".into(), &Json::Null));
    assert!(stage(told, "reflect")["status"].is_string());
}

/// The built-in workflow took the place of the failed one.
#[track_caller]
fn is_recovered(told: &Json) {
    let adapted = stage(told, "adapt");
    assert_eq!((&adapted["recipe"], &adapted["outcome"]), (&"default-workflow".into(), &"completed".into()));
    assert!(adapted["path"].as_str().unwrap().ends_with("/adapt[0]"), "{adapted}");
    assert_eq!((&told["failures"][0]["recovered"], &told["failure_mode"]), (&true.into(), &Json::Null));
}

// 16
#[test]
fn m1_a_refused_run_inside_a_workflow_is_a_recursion_limit() {
    let env = with_workflow("", "  - {id: nested, command: '\"$RECIPE_RUNNER_EXE\" ~/inner.yaml'}\n")
        .file("~/inner.yaml", "name: inner\nsteps: [{id: a, command: echo hello}]\n")
        .env("AMPLIHACK_MAX_DEPTH", "1");
    let (code, told) = run(&env, &[]);
    assert_eq!(code, 0, "{told}");
    is_mode(&told, "recursion_limit", "execute-development/nested", "session depth 1");
    is_recovered(&told);
}

// 16, 31
#[test]
fn m1_a_split_that_is_too_deep_is_done_in_one_execution() {
    let two = "classify() { echo '{\"task_type\":\"Development\",\"goal\":\"g\",\"success_criteria\":[\"c\"],\"workstreams\":[{\"name\":\"a\"},{\"name\":\"b\"}]}'; }";
    let env = world(two).env("AMPLIHACK_SESSION_DEPTH", "2").env("AMPLIHACK_TREE_ID", "t");
    let output = env.run(["do", "-C", "repo", "Add a new file"]);
    assert_eq!(output.code, 0, "{}", output.all());
    let told = orchestration(&env.run(["show", "--output-format", "json"]));
    assert_eq!(
        (&told["route"]["kind"], &told["route"]["guard"]),
        (&"single".into(), &"BLOCKED:depth".into())
    );
    assert_eq!((&told["session"]["guard"], &told["session"]["depth"]), (&"BLOCKED:depth".into(), &2.into()));
    is_mode(&told, "recursion_limit", "route", "BLOCKED:depth");
    assert!(stage(&told, "adapt")["skipped"].is_string(), "{told}");
    assert!(output.stderr.contains("[do] failure: recursion_limit"), "{}", output.all());
    for depth in ["3", "abc"] {
        let env = world(two).env("AMPLIHACK_SESSION_DEPTH", depth).env("AMPLIHACK_TREE_ID", "t");
        let output = task(&env, &["Add a new file"]);
        assert_eq!((output.code, asked(&env, "classify")), (5, 0), "{}", output.all());
    }
}

// 16
#[test]
fn m2_an_agent_service_that_refuses_is_infrastructure() {
    let env = world("plan() { echo 'Invalid API key · Please run /login' >&2; exit 1; }");
    let output = task(&env, &["Add a new file"]);
    let told = orchestration(&output);
    assert_eq!((output.code, &told["stop_reason"]), (1, &"blocked".into()), "{told}");
    is_mode(&told, "infrastructure", "execute-development/plan", "API key");
    assert!(stage(&told, "adapt")["skipped"].is_string() && told["rounds"].as_array().unwrap().len() == 1);
    assert_eq!(told["failure_mode"], "infrastructure");
}

// 16
#[test]
fn m3_an_agent_that_takes_too_long_is_a_timeout() {
    // only the plan of the user's workflow is slow
    let slow = "case $P in *'What was found out'*) ;; *) plan() { sleep 20; } ;; esac";
    let env = with_workflow(slow, "  - {id: think, timeout: 1, prompt: 'Plan this task'}\n");
    let (code, told) = run(&env, &[]);
    assert_eq!(code, 0, "{told}");
    is_mode(&told, "agent_timeout", "execute-development/think", "");
    is_recovered(&told);
}

// 16, 14
#[test]
fn m4_an_agent_without_access_is_hollow() {
    let env = with_workflow(
        "look() { if [ -e \"$HOME/again\" ]; then echo new > new.txt; echo 'I wrote new.txt.'; else touch \"$HOME/again\"; echo 'I cannot access the repository.'; fi; }",
        "  - {id: work, working_dir: '{{repo_path}}', prompt: 'Investigate {{feedback}}'}\n",
    );
    let (code, told) = run(&env, &[]);
    assert_eq!(code, 0, "{told}");
    is_mode(&told, "hollow_success", "execute-development", "could not reach the work");
    assert!(stage(&told, "adapt")["skipped"].is_string(), "{told}");
    assert_eq!((&told["rounds"][0]["status"], &told["goal_status"]), (&"HOLLOW".into(), &"ACHIEVED".into()));
    assert_eq!(asked(&env, "reflect"), 1, "a hollow round is judged by rules");
    assert!(shell(&env, "cat ~/asked-*").contains("It has:\nfile"), "the listing of the directory");
}

// 16
#[test]
fn m4_a_silent_agent_is_hollow() {
    let env = with_workflow("look() { :; }", "  - {id: work, prompt: 'Investigate'}\n");
    let (code, told) = run(&env, &[]);
    assert_eq!((code, &told["stop_reason"]), (1, &"hollow_twice".into()), "{told}");
    is_mode(&told, "hollow_success", "execute-development/work", "");
    assert_eq!((&told["goal_status"], asked(&env, "implement")), (&"HOLLOW".into(), 0));
}

// 16, 35
#[test]
fn m5_a_failed_command_is_a_bash_failure() {
    let secret = "hunter2hunter2";
    let steps = format!("  - {{id: build, command: 'echo \"cannot build with {secret}\" >&2; exit 3'}}\n");
    let env = with_workflow("", &steps).env("BUILD_TOKEN", secret);
    let (code, told) = run(&env, &[]);
    assert_eq!(code, 0, "{told}");
    is_mode(&told, "bash_failure", "execute-development/build", "exit code 3");
    is_recovered(&told);
    for signal in ["kill -SEGV $$", "sleep 20"] {
        let env = with_workflow("", &format!("  - {{id: build, timeout: 1, command: '{signal}'}}\n"));
        let (code, told) = run(&env, &[]);
        assert_eq!((code, &told["failures"][0]["mode"]), (0, &"bash_failure".into()), "{signal}: {told}");
    }
}

// 16
#[test]
fn m6_a_workflow_that_cannot_be_entered_is_a_recipe_failure() {
    for steps in [
        "  - {id: sub, recipe: nowhere}\n",
        "  - {id: work, prompt: 'Investigate', ensure: [{file: made.txt}], ensure_retries: 0}\n",
        "  - {id: work, prompt: 'Investigate', parse_json: true, parse_json_required: true, json_retries: 0}\n",
    ] {
        let env = with_workflow("", steps);
        let (code, told) = run(&env, &[]);
        assert_eq!(code, 0, "{steps}: {told}");
        let step = if steps.contains("sub") { "" } else { "execute-development/work" };
        is_mode(&told, "recipe_failure", step, "");
        is_recovered(&told);
    }
}

// 16
#[test]
fn m7_a_workflow_without_a_step_that_runs_is_a_routing_gap() {
    let env = with_workflow("", "  - {id: a, condition: 'false', command: 'true'}\n");
    let (code, told) = run(&env, &[]);
    assert_eq!(code, 0, "{told}");
    is_mode(&told, "routing_gap", "", "no step was executed");
    is_recovered(&told);
}
