//! Pushing, pull requests and merging: only if asked, once, and confirmed by the remote.

use crate::world::{asked, branches, gh_calls, published, shell, task, task_ends, world};

const TASK: &str = "Open a PR that adds a new file";

// 26
#[test]
fn without_a_remote_nothing_is_published() {
    let env = world("");
    let told = task_ends(&env, &["--verify", "true", "Add a new file"], 0);
    assert_eq!(told["workstreams"][0]["terminal_state"], "IMPLEMENTED_VERIFIED");
    let given = world("");
    let output = task(&given, &["--publish", "pr", "Add a new file"]);
    assert_eq!(output.code, 5, "{}", output.all());
    assert!(output.all().contains("no git remote") && asked(&given, "classify") == 0, "{}", output.all());
    let told = task_ends(&env, &[TASK], 1);
    assert_eq!(told["workstreams"][0]["terminal_state"], "FAILED_PUBLISH", "{told}");
    assert!(!told["workstreams"][0]["commits"].as_array().unwrap().is_empty());
    assert_eq!(told["stop_reason"], "blocked");
}

// 27
#[test]
fn a_pull_request_is_opened_once() {
    let env = published("");
    let told = task_ends(&env, &[TASK], 0);
    assert_eq!(told["publish"]["pr_url"], "https://example.com/pull/7", "{told}");
    assert_eq!(told["workstreams"][0]["terminal_state"], "PR_OPEN");
    let branch = branches(&env).remove(0);
    let pushed = shell(&env, &format!("git --git-dir remote.git rev-parse {branch}"));
    assert_eq!(pushed, shell(&env, &format!("git -C repo rev-parse {branch}")));
    let again = task_ends(&env, &[TASK], 0);
    assert_eq!(again["publish"]["pr_url"], "https://example.com/pull/7");
    assert_eq!(gh_calls(&env).matches("pr create").count(), 1, "{}", gh_calls(&env));
    let quiet = published("");
    task_ends(&quiet, &["Add a new file, but do not open a PR"], 0);
    let calls = gh_calls(&quiet);
    assert!(!calls.contains("create") && !calls.contains("merge"), "{calls}");
    assert_eq!(shell(&quiet, "git --git-dir remote.git for-each-ref | wc -l"), "1");
}

// 28
#[test]
fn nothing_is_merged_against_a_word_of_the_task() {
    let merge = ["--set", "merge=when_green"];
    let told = published("");
    task_ends(&told, &[merge[0], merge[1], "Open a PR that adds a file, but do not merge it"], 0);
    assert!(!gh_calls(&told).contains("pr merge"), "{}", gh_calls(&told));
    let said = published(
        "classify() { echo '{\"task_type\":\"Development\",\"goal\":\"g\",\"success_criteria\":[\"c\"],\"no_merge\":true}'; }",
    );
    task_ends(&said, &[merge[0], merge[1], TASK], 0);
    assert!(!gh_calls(&said).contains("pr merge"), "{}", gh_calls(&said));
    let green = published("");
    let merged = task_ends(&green, &[merge[0], merge[1], TASK], 0);
    assert_eq!(merged["workstreams"][0]["terminal_state"], "MERGED");
    assert_eq!(gh_calls(&green).matches("pr merge").count(), 1);
}
