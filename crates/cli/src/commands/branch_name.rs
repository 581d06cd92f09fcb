//! `branch-name`: turns any text into a branch name that git accepts.
//!
//! Never starts git and never looks at a repository: text in, text out.

use std::io::Read as _;

use engine::branch_name::{branch, is_valid, slug};
use serde_json::json;

use crate::{
    args::{BranchNameArgs, options::OutputFormat},
    environment::Environment,
    exit::Exit,
    out::Out,
    report::{failure::Failure, hints::plain},
};

/// The most text to look at; more could not reach the slug.
const MOST_TEXT: u64 = 1 << 20;

/// Prints the branch of a task.
pub(crate) fn print(
    args: &BranchNameArgs,
    environment: &Environment,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let text = text(args, environment)?;
    let slug = slug(&text);
    let branch = branch(&args.prefix, args.issue.as_deref(), slug.as_deref());
    if !is_valid(&branch) {
        let message = format!("`{branch}` cannot be the name of a branch");
        return Err(Failure::new(Exit::BadArguments, message)
            .hint("use letters, digits, `-` and `_` for `--prefix` and `--issue`"));
    }
    match args.format.output_format {
        OutputFormat::Text => out.result_as_is(&branch),
        OutputFormat::Json => out.json(&json!({
            "branch_name": branch,
            "slug": slug.as_deref().unwrap_or("task"),
            "fallback": slug.is_none(),
        })),
    }
    Ok(Exit::Success)
}

fn text(args: &BranchNameArgs, environment: &Environment) -> Result<String, Failure> {
    if let Some(text) = &args.text {
        return Ok(text.to_string_lossy().into_owned());
    }
    if environment.stdin_is_terminal {
        let command = plain("branch-name");
        return Err(Failure::new(Exit::BadArguments, "no text given")
            .hint(format!("write it after the options, or pipe it in: `echo Fix login | {command}`")));
    }
    let mut bytes = Vec::new();
    match std::io::stdin().take(MOST_TEXT).read_to_end(&mut bytes) {
        Ok(_) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) => Err(Failure::new(Exit::BadArguments, format!("stdin cannot be read: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    fn git_accepts(branch: &str) -> bool {
        let output = Command::new("git").args(["check-ref-format", "--branch", branch]).output().unwrap();
        output.status.success()
    }

    fn check(text: &str, expected: &str) {
        let made = branch("feat", Some("42"), slug(text).as_deref());
        assert_eq!(made, format!("feat/issue-42-{expected}"), "{text:?}");
        assert!(is_valid(&made) && git_accepts(&made), "{made}");
    }

    #[test]
    fn a_task_becomes_a_slug() {
        check("Fix login bug", "fix-login-bug");
        check("Fix authentication bug\nThis affects oauth", "fix-authentication-bug-this-affects-oauth");
        check("Add User Authentication", "add-user-authentication");
        check("fix: auth/login (oauth2)", "fix-auth-login-oauth2");
        check("fix_login_bug", "fix_login_bug");
        check("bump version 1.2.3", "bump-version-1.2.3");
        check(&"a".repeat(120), &"a".repeat(60));
        check("!@#$%^&*()", "task");
    }

    #[test]
    fn what_git_refuses_is_taken_away() {
        check("", "task");
        check(" \r\n\t ", "task");
        check("...", "task");
        check("--- a", "a");
        check("-.-x-.-", "x");
        check("a..b...c", "a.b.c");
        check("edit Cargo.lock", "edit-cargo");
        check("a.lock.lock", "a");
        check(".lock", "lock");
        check("x.lock-", "x");
        check("a@{b", "a-b");
        check("café ☕ Ünï", "caf-n");
        check(&format!("{} b", "a".repeat(59)), &"a".repeat(59));
        check(&format!("{}.lock", "a".repeat(55)), &"a".repeat(55));
        check("$(touch x); `y` 'z' \"", "touch-x-y-z");
        check("a\0b", "a-b");
    }

    #[test]
    fn prefix_and_issue_are_kept() {
        assert_eq!(branch("fix/", Some("#7"), Some("a")), "fix/issue-7-a");
        assert_eq!(branch("feat", None, Some("a")), "feat/a");
        assert_eq!(branch("feat", None, None), "feat/task");
    }

    #[test]
    fn the_rules_are_those_of_git() {
        for name in [
            "feat/x", "-x", "a..b", "a.", "a.lock", "a.lock/b", ".a", "a/.b", "a//b", "/a", "a/", "a@{b",
            "a b", "a~b", "a^b", "a:b", "a?b", "a*b", "a[b", "a\\b", "a\u{1}b", "a\u{7f}b", "ä", "", "a-",
            "a/-b",
        ] {
            assert_eq!(is_valid(name), git_accepts(name), "{name:?}");
        }
    }

    proptest! {
        #[test]
        fn every_text_becomes_a_branch(text in "\\PC*|[-./a-zA-Z@{ \\n]{0,90}|([a.-]|\\.lock){0,30}") {
            let slug = slug(&text);
            let made = branch("feat", Some("42"), slug.as_deref());
            prop_assert!(is_valid(&made), "{made:?}");
            prop_assert!(slug.is_none_or(|slug| slug.len() <= 60));
        }
    }

    #[test]
    fn git_agrees_on_random_texts() {
        let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(64));
        let texts = "([a-zA-Z0-9 _.-]|\\.lock|[/@{:\\n~é]){0,80}";
        runner
            .run(&texts, |text| {
                let made = branch("feat", Some("42"), slug(&text).as_deref());
                prop_assert!(git_accepts(&made), "{made:?}");
                Ok(())
            })
            .unwrap();
    }
}
