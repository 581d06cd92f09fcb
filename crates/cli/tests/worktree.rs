//! The built-in `worktree-setup`, with real repositories: it makes, finds again, and never destroys.

use std::path::Path;

use serde_json::Value as Json;
use testkit::{Output, TestEnv};

/// A repository `repo` on `main`, with one commit.
fn env() -> TestEnv {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
        .file("~/.gitconfig", "[user]\nname = t\nemail = t@example.com\n[init]\ndefaultBranch = main\n");
    shell(&env, "git init -q repo && cd repo && echo one > file && git add . && git commit -qm one");
    env
}

fn shell(env: &TestEnv, line: &str) -> String {
    let output = env.shell(&format!("set -e; {line}"));
    assert_eq!(output.code, 0, "{line}\n{}", output.all());
    output.stdout.trim_end().to_owned()
}

fn run(env: &TestEnv, values: &[&str]) -> Output {
    let values = values.iter().flat_map(|value| ["--set", value]);
    env.run(["worktree-setup", "-C", "repo", "--output-format", "json"].into_iter().chain(values))
}

/// Runs it for a task and returns its result.
#[expect(clippy::unwrap_used, reason = "a result without a path fails the test")]
fn setup(env: &TestEnv, task: &str) -> Json {
    let output = run(env, &[&format!("task_description={task}"), "issue_number=42"]);
    assert_eq!(output.code, 0, "{}", output.all());
    let result = output.json()["context"]["worktree_setup"].clone();
    assert!(Path::new(result["worktree_path"].as_str().unwrap()).join(".git").exists(), "{result}");
    result
}

#[test]
fn a_worktree_is_made_and_found_again() {
    let env = env();
    let first = setup(&env, "Fix login bug");
    assert_eq!(first["branch_name"], "feat/issue-42-fix-login-bug");
    assert_eq!(first["base_ref"], "main");
    assert_eq!(first["created"], true);
    let second = setup(&env, "Fix login bug");
    assert_eq!(second["created"], false);
    assert_eq!(second["worktree_path"], first["worktree_path"]);
    assert_eq!(shell(&env, "git -C repo status --porcelain"), "", "the repository stays clean");
}

#[test]
fn stdout_is_the_json_alone_before_the_summary() {
    let output = env().run(["worktree-setup", "-C", "repo", "--set", "task_description=x"]);
    let first = output.stdout.lines().next().unwrap();
    let json: Json = serde_json::from_str(first).unwrap();
    assert_eq!(json["branch_name"], "feat/x");
}

#[test]
fn commits_and_uncommitted_work_survive() {
    let env = env();
    let path = setup(&env, "a")["worktree_path"].as_str().unwrap().to_owned();
    shell(
        &env,
        &format!(
            "cd '{path}'; echo two > file; git commit -qam two; echo three > file; echo new > untracked"
        ),
    );
    let commit = shell(&env, &format!("git -C '{path}' rev-parse HEAD"));
    assert_eq!(setup(&env, "a")["created"], false);
    assert_eq!(shell(&env, &format!("git -C '{path}' rev-parse HEAD")), commit);
    assert_eq!(shell(&env, &format!("cat '{path}/file' '{path}/untracked'")), "three\nnew");
}

#[test]
fn a_branch_with_commits_is_continued() {
    let env = env();
    shell(
        &env,
        "cd repo; git checkout -qb feat/issue-42-a; echo two > file; git commit -qam two; git checkout -q main",
    );
    let path = setup(&env, "a")["worktree_path"].as_str().unwrap().to_owned();
    assert_eq!(shell(&env, &format!("cat '{path}/file'")), "two");
}

#[test]
fn a_branch_that_is_checked_out_is_used_where_it_is() {
    let env = env();
    shell(&env, "cd repo; git checkout -qb feat/issue-42-a; echo dirty > file");
    let result = setup(&env, "a");
    assert_eq!(result["created"], false);
    assert_eq!(result["worktree_path"], env.path("repo").canonicalize().unwrap().to_str().unwrap());
    assert_eq!(shell(&env, "cat repo/file"), "dirty");
}

#[test]
fn a_dirty_repository_is_left_alone() {
    let env = env();
    shell(&env, "cd repo; echo dirty > file; echo staged > new; git add new");
    let before = shell(&env, "git -C repo status --porcelain");
    let path = setup(&env, "a")["worktree_path"].as_str().unwrap().to_owned();
    assert_eq!(shell(&env, "git -C repo status --porcelain"), before);
    assert_eq!(shell(&env, &format!("cat '{path}/file'")), "one");
}

#[test]
fn the_base_is_the_remotes_default_branch() {
    for (prepare, base) in [
        ("git clone -q repo other && rm -rf repo && mv other repo", "origin/main"),
        (
            "git clone -q repo other; git -C other remote set-head origin -d; rm -rf repo; mv other repo",
            "origin/main",
        ),
        (
            "git clone -q --bare repo r.git; git -C repo remote add origin ../r.git; git -C repo fetch -q",
            "origin/main",
        ),
        (
            "git -C repo branch -m trunk; git clone -q --bare repo r.git; git -C repo remote add origin ../r.git; git -C repo fetch -q",
            "trunk",
        ),
        ("git -C repo remote add origin /nowhere", "main"),
        ("git -C repo branch -m trunk", "trunk"),
        (
            "git clone -q repo other; git -C other push -q origin main:feat/issue-42-a; rm -rf repo.bak; mv repo src; git -C other remote set-url origin ../src; mv other repo; git -C repo fetch -q",
            "origin/main",
        ),
    ] {
        let env = env();
        shell(&env, prepare);
        assert_eq!(setup(&env, "a")["base_ref"], base, "{prepare}");
        assert_eq!(setup(&env, "a")["created"], false, "{prepare}");
    }
}

#[test]
fn a_detached_head_is_a_base_too() {
    let env = env();
    shell(&env, "cd repo; git checkout -q --detach; git branch -D -q main");
    let head = shell(&env, "git -C repo rev-parse HEAD");
    assert_eq!(setup(&env, "a")["base_ref"], head);
}

#[test]
fn existing_files_are_kept() {
    let env = env();
    shell(&env, "mkdir -p repo.worktrees/feat/issue-42-a; echo mine > repo.worktrees/feat/issue-42-a/note");
    let result = setup(&env, "a");
    assert!(
        result["worktree_path"].as_str().unwrap().ends_with("repo.worktrees/feat/issue-42-a-2"),
        "{result}"
    );
    assert_eq!(shell(&env, "cat repo.worktrees/feat/issue-42-a/note"), "mine");
}

#[test]
fn a_directory_that_was_removed_by_hand_comes_back() {
    let env = env();
    let path = setup(&env, "a")["worktree_path"].as_str().unwrap().to_owned();
    shell(&env, &format!("cd '{path}'; echo two > file; git commit -qam two; cd /; rm -rf '{path}'"));
    let again = setup(&env, "a");
    assert_eq!(again["created"], true);
    assert_eq!(shell(&env, &format!("cat '{path}/file'")), "two", "its commits are still there");
}

#[test]
fn a_hostile_task_is_only_text() {
    let env = env();
    let task = "$(touch pwned) `touch pwned`; touch pwned\n\"quoted\" 'x' ../../etc -rf --force .lock";
    let result = setup(&env, task);
    let branch = result["branch_name"].as_str().unwrap();
    assert_eq!(branch, "feat/issue-42-touch-pwned-touch-pwned-touch-pwned-quoted-x-.-.-etc-rf-f");
    assert!(!env.path("repo/pwned").exists() && !env.path("pwned").exists());
    assert_eq!(setup(&env, task)["created"], false);
    assert_eq!(setup(&env, "!!!")["branch_name"], "feat/issue-42-task");
}

#[test]
fn paths_with_blanks_and_quotes_work() {
    let env = env();
    let output =
        run(&env, &["task_description=a", &format!("worktree_root={}/a \"b\"", env.dir().display())]);
    let path = output.json()["context"]["worktree_setup"]["worktree_path"].as_str().unwrap().to_owned();
    assert!(path.ends_with("a \"b\"/feat/a"), "{path}");
}

#[test]
fn impossible_worktrees_are_explained() {
    let env = env();
    shell(&env, "mkdir plain; git init -q empty");
    let no_base = run(&env, &["task_description=a", "base_ref=nowhere"]);
    assert_eq!(no_base.code, 1);
    assert!(no_base.all().contains("no commit `nowhere`"), "{}", no_base.all());
    let plain = env.run(["worktree-setup", "-C", "plain", "--set", "task_description=a"]);
    assert_eq!(plain.code, 5, "{}", plain.all());
    let empty = env.run(["worktree-setup", "-C", "empty", "--set", "task_description=a"]);
    assert_eq!(empty.code, 1, "{}", empty.all());
}
