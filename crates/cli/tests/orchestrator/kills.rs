//! Kills of the runner at any moment, and agents that do odd things: nothing is lost, nothing is done twice.

use std::{thread::sleep, time::Duration};

use testkit::{Started, TestEnv, until};

use crate::world::{asked, branches, checkout, gh_calls, orchestration, published, shell, task, world};

const PARTS: [&str; 6] = ["classify", "understand", "plan", "implement", "review", "reflect"];

fn start(env: &TestEnv, arguments: &[&str]) -> Started {
    env.spawn(["do", "-C", "repo", "--output-format", "json"].iter().chain(arguments))
}

/// A number from a seed, for moments that look random and are the same in every run.
fn next(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *seed >> 33
}

/// Kills a task after a while, and resumes it. Everything comes to the same end.
#[track_caller]
fn killed_after(milliseconds: u64) {
    let env = published("");
    let before = checkout(&env);
    let started = start(&env, &["Open a PR that adds a new file"]);
    sleep(Duration::from_millis(milliseconds));
    started.kill();
    let Some(run) = env.run_ids().pop() else { return };
    if env.run(["show", &run, "--output-format", "json"]).json()["status"] != "completed" {
        let output = env.run(["resume", &run, "--output-format", "json", "--yes"]);
        assert_eq!(output.code, 0, "killed after {milliseconds} ms\n{}", output.all());
    }
    let told = orchestration(&env.run(["show", &run, "--output-format", "json"]));
    assert_eq!((&told["goal_status"], &told["stop_reason"]), (&"ACHIEVED".into(), &"achieved".into()));
    assert_eq!((told["rounds"].as_array().unwrap().len(), &told["failures"]), (1, &serde_json::json!([])));
    assert_eq!(told["workstreams"][0]["terminal_state"], "PR_OPEN", "killed after {milliseconds} ms: {told}");
    let twice: Vec<&str> = PARTS.into_iter().filter(|part| asked(&env, part) > 1).collect();
    assert!(twice.len() <= 1, "killed after {milliseconds} ms: {twice:?}, but one agent was in flight");
    assert!(twice.iter().all(|part| asked(&env, part) == 2), "killed after {milliseconds} ms");
    if !twice.is_empty() {
        assert!(
            shell(&env, "cat ~/asked-*")
                .contains("You have worked on this task before, and were interrupted")
        );
    }
    assert_eq!(gh_calls(&env).matches("pr create").count(), 1, "{}", gh_calls(&env));
    assert_eq!((branches(&env).len(), checkout(&env)), (1, before), "killed after {milliseconds} ms");
    let branch = branches(&env).remove(0);
    let files = shell(&env, &format!("git -C repo diff --name-only main {branch}"));
    assert_eq!(files, "new.txt");
    let pushed =
        shell(&env, &format!("git --git-dir remote.git rev-parse {branch}; git -C repo rev-parse {branch}"));
    assert_eq!(pushed.lines().next(), pushed.lines().nth(1), "killed after {milliseconds} ms");
}

// 21
#[test]
fn a_task_killed_at_20_moments_comes_to_the_same_end() {
    let count = std::env::var("KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(20);
    let mut seed = std::env::var("KILLS_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(7);
    for _ in 0..count {
        killed_after(150 + next(&mut seed) % 6_000);
    }
}

// O51
#[test]
fn a_removed_worktree_is_made_again_and_a_lost_branch_is_named() {
    let env = world(
        "implement() { touch \"$HOME/waits\"; until [ -e \"$HOME/go\" ]; do sleep 0.1; done; echo new > new.txt; echo done; }",
    );
    let started = start(&env, &["Add a new file"]);
    until("the agent works", || env.path("~/waits").exists());
    started.kill();
    env.write("~/go", "");
    let run = env.run_ids().remove(0);
    let commit = shell(&env, "git -C repo rev-parse feat/add-a-new-file");
    shell(
        &env,
        "rm -r repo.worktrees; git -C repo worktree prune; git -C repo branch -q -D feat/add-a-new-file",
    );
    let lost = env.run(["resume", &run]);
    assert_eq!(lost.code, 5, "{}", lost.all());
    assert!(lost.stderr.contains(&commit) && lost.stderr.contains("feat/add-a-new-file"), "{}", lost.all());
    shell(&env, &format!("git -C repo branch feat/add-a-new-file {commit}"));
    let resumed = env.run(["resume", &run, "--output-format", "json"]);
    assert_eq!(resumed.code, 0, "{}", resumed.all());
    assert_eq!(asked(&env, "understand"), 1);
    assert!(env.path("repo.worktrees/feat/add-a-new-file/new.txt").exists());
}

// O51
#[test]
fn a_half_made_worktree_is_completed() {
    let env = world("");
    // the state that a killed `git worktree add` leaves
    shell(
        &env,
        "cd repo; git worktree add -q -b feat/add-a-new-file --no-checkout --lock --reason initializing ../repo.worktrees/feat/add-a-new-file; \
         touch .git/worktrees/add-a-new-file/index.lock",
    );
    let output = task(&env, &["Add a new file"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(shell(&env, "git -C repo diff --name-only main feat/add-a-new-file"), "new.txt");
}

/// What agents do that should not: one of these in each call.
const ODD: &str = r#"
odd() {
  git config user.email > /dev/null || true
  case $((RANDOM % 9)) in
    0) git commit -qm odd --allow-empty ;;
    1) echo x >> a; git add a; git commit -qm mine ;;
    2) git rm -q file 2> /dev/null ;;
    3) git switch -q -c "odd-$RANDOM" ;;
    4) echo y >> dirty ;;
    5) git branch "left-$RANDOM" ;;
    6) echo z >> b; git add b ;;
    7) git tag "tag-$RANDOM" ;;
    *) rm -f file ;;
  esac
}
implement() { odd; echo new >> new.txt; echo 'I wrote new.txt.'; }
fix() { odd; echo fixed >> new.txt; echo fixed; }
review() { case $((RANDOM % 3)) in 0) odd ;; esac; case $((RANDOM % 2)) in 0) echo '{"verdict":"approve","findings":[]}' ;; *) echo '{"verdict":"changes","findings":[{"severity":"must","problem":"p"}]}' ;; esac; }
reflect() { case $((RANDOM % 3)) in 0) odd; echo ACHIEVED ;; 1) echo 'PARTIAL -- more' ;; *) echo ACHIEVED ;; esac; }
"#;

/// Every commit that a branch, a tag or a worktree reaches.
fn reachable(env: &TestEnv) -> Vec<String> {
    let heads = "git -C repo worktree list --porcelain | sed -n 's/^HEAD //p'";
    let all = shell(env, &format!("git -C repo rev-list --all $({heads})"));
    all.lines().map(str::to_owned).collect()
}

// O31
#[test]
fn odd_agents_and_kills_lose_no_commit_and_never_touch_the_checkout() {
    let mut seed = std::env::var("KILLS_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(11);
    let rounds = std::env::var("KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(6);
    let env = world(ODD);
    shell(&env, "cd repo; echo two > dirty; echo three > staged; git add staged; echo four >> file");
    let before = checkout(&env);
    let mut known: Vec<String> = reachable(&env);
    for number in 0..rounds {
        let task = format!("Add a new file {}", number % 2);
        let is_resumed = number % 3 == 2;
        let started = match is_resumed {
            true => env.spawn(["resume", "last", "--yes", "--rounds", "3"]),
            false => start(&env, &[&task]),
        };
        sleep(Duration::from_millis(300 + next(&mut seed) % 9_000));
        started.kill();
        let now = reachable(&env);
        let lost: Vec<&String> = known.iter().filter(|commit| !now.contains(commit)).collect();
        assert!(lost.is_empty(), "lost after run {number}: {lost:?}");
        known = now;
        assert_eq!(checkout(&env), before, "run {number}");
    }
}
