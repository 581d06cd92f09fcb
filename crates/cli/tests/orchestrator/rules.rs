//! What no shipped recipe and no verb may do.

use std::fs;

/// Commands that lose work.
const FORBIDDEN: [&str; 14] = [
    "reset --hard",
    "checkout -f",
    "checkout --force",
    "git clean",
    "branch -D",
    "branch -f",
    "push --force",
    "push -f",
    "--force-with-lease",
    "rebase",
    "--amend",
    "git stash",
    "worktree remove",
    "rm -r",
];
/// The same as words of calls in the sources.
const FORBIDDEN_WORDS: [&str; 8] = [
    "\"--hard\"",
    "\"clean\"",
    "\"-D\"",
    "\"rebase\"",
    "\"--amend\"",
    "\"stash\"",
    "\"remove\"",
    "remove_dir",
];

// 47, O31
#[test]
fn no_shipped_recipe_and_no_verb_destroys_anything() {
    let root = testkit::project::root();
    for entry in fs::read_dir(root.join("recipes")).unwrap().flatten() {
        let text = fs::read_to_string(entry.path()).unwrap();
        for command in FORBIDDEN {
            assert!(!text.contains(command), "{}: {command}", entry.path().display());
        }
    }
    for entry in fs::read_dir(root.join("crates/runtime/src/orchestration")).unwrap().flatten() {
        let text = fs::read_to_string(entry.path()).unwrap_or_default();
        for word in FORBIDDEN_WORDS.iter().chain(&FORBIDDEN) {
            assert!(!text.contains(word), "{}: {word}", entry.path().display());
        }
    }
}
