//! Where work is done: worktrees, workstreams, the same task again, tasks beside each other, without git.

use testkit::{Started, until};

use crate::world::{asked, branches, checkout, orchestration, parts, shell, task, task_ends, world};

const TWO: &str = r#"classify() { echo '{"task_type":"Development","goal":"g","success_criteria":["c"],"workstreams":[{"name":"alpha","description":"Write alpha"},{"name":"beta","description":"Write beta"}]}'; }"#;

// 22
#[test]
fn two_workstreams_have_two_branches_from_one_commit() {
    let env =
        world(&format!("{TWO}\nimplement() {{ pwd >> \"$HOME/places\"; echo new > new.txt; echo done; }}"));
    let before = checkout(&env);
    let told = task_ends(&env, &["Write alpha and beta"], 0);
    assert_eq!(told["route"]["kind"], "parallel");
    assert_eq!(branches(&env), ["feat/alpha", "feat/beta"]);
    let base = shell(&env, "git -C repo rev-parse main");
    for stream in told["workstreams"].as_array().unwrap() {
        assert_eq!(stream["base_commit"], base.as_str());
        assert_eq!(stream["commits"].as_array().unwrap().len(), 1, "{stream}");
    }
    assert_eq!(checkout(&env), before);
}

// 23
#[test]
fn a_failed_workstream_is_named_and_resumed_alone() {
    let env = world(&format!(
        "{}\nimplement() {{ case $PWD in *beta) if [ ! -e \"$HOME/ok\" ]; then exit 3; fi ;; esac; echo new > new.txt; echo done; }}",
        TWO.replace(r#"{"name":"beta""#, r#"{"name":"gamma","description":"Write gamma"},{"name":"beta""#)
    ));
    let output = task(&env, &["--rounds", "1", "Write three"]);
    assert_eq!(output.code, 1, "{}", output.all());
    let told = orchestration(&output);
    assert_eq!(told["goal_status"], "PARTIAL", "{told}");
    let failed =
        told["workstreams"].as_array().unwrap().iter().find(|stream| stream["name"] == "beta").unwrap();
    assert!(failed["error"].as_str().is_some_and(|error| !error.is_empty()), "{failed}");
    for branch in ["feat/alpha", "feat/gamma"] {
        assert_eq!(shell(&env, &format!("git -C repo rev-list --count main..{branch}")), "1");
    }
    env.write("~/ok", "");
    let (run, before) = (output.json()["run_id"].as_str().unwrap().to_owned(), asked(&env, "implement"));
    let resumed = env.run(["resume", &run, "--rounds", "2", "--output-format", "json"]);
    assert_eq!(resumed.code, 0, "{}", resumed.all());
    assert_eq!(asked(&env, "implement"), before + 1, "only the failed one");
}

// 24
#[test]
fn a_task_can_be_kept_whole() {
    for value in ["true", "yes", "1"] {
        let env = world(TWO);
        let set = format!("force_single_workstream={value}");
        let told = task_ends(&env, &["--set", &set, "Write alpha and beta"], 0);
        assert_eq!((&told["route"]["kind"], branches(&env).len()), (&"single".into(), 1), "{value}");
    }
}

// 25
#[test]
fn without_git_it_works_in_place() {
    let env = world("");
    shell(&env, "mkdir plain; echo one > plain/file");
    let output = env.run(["do", "-C", "plain", "--output-format", "json", "Add a new file"]);
    assert_eq!(output.code, 0, "{}", output.all());
    let told = orchestration(&output);
    assert_eq!(told["rounds"][0]["evidence"]["changed_files"], serde_json::json!(["new.txt"]));
    assert!(env.path("plain/new.txt").exists() && !env.path("plain/.git").exists());
}

// 29
#[test]
fn the_same_task_again_continues_on_its_branch() {
    let env = world("");
    task_ends(&env, &["Add a new file"], 0);
    let first = shell(&env, "git -C repo rev-parse feat/add-a-new-file");
    env.write("repo.worktrees/feat/add-a-new-file/mine.txt", "mine");
    let told = task_ends(&env, &["Add a new file"], 0);
    shell(&env, &format!("git -C repo merge-base --is-ancestor {first} feat/add-a-new-file"));
    assert_eq!(shell(&env, "git -C repo rev-list --count main..feat/add-a-new-file"), "2");
    assert!(env.path("repo.worktrees/feat/add-a-new-file/mine.txt").exists());
    assert!(told["notes"].to_string().contains("has a worktree"), "{told}");
    assert_eq!(branches(&env).len(), 1);
}

/// A world whose agent waits for a file before it implements.
const WAITS: &str = "implement() { touch \"$HOME/waits\"; until [ -e \"$HOME/go\" ]; do sleep 0.1; done; echo new > new.txt; echo done; }";

fn started(env: &testkit::TestEnv, arguments: &[&str]) -> Started {
    let started = env.spawn(["do", "-C", "repo", "--output-format", "json"].iter().chain(arguments));
    until("the agent works", || env.path("~/waits").exists());
    started
}

// 30
#[test]
fn the_same_task_waits_for_nobody_and_others_run_beside_it() {
    let env = world(WAITS);
    let first = started(&env, &["Add a new file"]);
    let same = task(&env, &["Add a new file"]);
    assert_eq!(same.code, 7, "{}", same.all());
    env.write("~/go", "");
    let other = task(&env, &["Add another file"]);
    assert_eq!(other.code, 0, "{}", other.all());
    assert_eq!(first.wait().code, 0);
    assert_eq!(branches(&env), ["feat/add-a-new-file", "feat/add-another-file"]);
}

// 34
#[test]
fn a_task_inside_itself_is_refused() {
    let env = world(
        "implement() { \"$RECIPE_RUNNER_EXE\" do -C \"$REPO\" 'Add a new file' > \"$HOME/inner\" 2>&1; echo $? > \"$HOME/code\"; echo new > new.txt; echo done; }",
    );
    let repo = env.path("repo");
    let env = env.env("REPO", &repo.display().to_string());
    task_ends(&env, &["Add a new file"], 0);
    assert_eq!(shell(&env, "cat ~/code"), "7", "{}", shell(&env, "cat ~/inner"));
    assert_eq!(asked(&env, "implement"), 1);
}

// 43
#[test]
fn a_plan_waits_for_a_person() {
    let env = world("");
    let output = task(&env, &["--confirm", "plan", "Add a new file"]);
    assert_eq!(output.code, 6, "{}", output.all());
    assert_eq!(orchestration(&output)["stop_reason"], "waiting");
    assert!(branches(&env).is_empty() && parts(&env) == ["classify"]);
    let run = output.json()["run_id"].as_str().unwrap().to_owned();
    let approve = env.run([
        "answer",
        &run,
        "approve-plan",
        "approve",
        "--set",
        "guidance=be brief",
        "--output-format",
        "json",
    ]);
    assert_eq!(approve.code, 0, "{}", approve.all());
    assert_eq!(orchestration(&approve)["goal_status"], "ACHIEVED");
    assert!(shell(&env, "cat ~/asked-*").contains("be brief"));
    let refused = world("");
    let output = task(&refused, &["--set", "ask.approve-plan=reject", "--confirm", "plan", "Add a new file"]);
    assert_eq!(output.code, 1, "{}", output.all());
    let told = orchestration(&output);
    assert_eq!((&told["stop_reason"], &told["goal_status"]), (&"rejected".into(), &"NOT_ACHIEVED".into()));
    assert!(branches(&refused).is_empty());
}
