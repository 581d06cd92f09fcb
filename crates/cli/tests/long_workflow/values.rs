//! Every value arrives where it is used: in scripts by its names in the environment, in prompts, in results.

use serde_json::{Value as Json, json};

use crate::{UNDISTURBED, end::check_names, world::TASK};

#[test]
fn values_arrive_in_scripts_prompts_and_results() {
    let end = &*UNDISTURBED;
    let value = |path: &str| end.result["context"].pointer(path).cloned().unwrap_or(Json::Null);
    let branch = end.branch.as_str();
    let worktree = format!("WORK/repo.worktrees/{branch}");
    assert_eq!(branch, "feat/issue-42-add-a-dark-theme-it-s-home-at-100");
    let issue = "https://example.com/acme/theme/issues/42";
    let (requirements, worktree_setup) =
        (value("/requirements").to_string(), value("/worktree_setup").to_string());

    let early = [
        ("TASK_DESCRIPTION", TASK),
        ("RECIPE_VAR_task_description", TASK),
        ("REPO_PATH", "."),
        ("BRANCH_PREFIX", "feat"),
        ("TARGET_BRANCH", "main"),
        ("REVIEWERS", r#"["ada","grace"]"#),
        ("PREFLIGHT", "ready"),
        ("REQUIREMENTS", &requirements),
        ("KIND", "feature"),
        ("RECIPE_VAR_kind", "feature"),
        ("ESTIMATE", "2"),
        (
            "ISSUE_BODY",
            "The theme takes dark as well as light\n\nRisk: medium. Estimate: 2 days.\nThere are no open questions.",
        ),
        ("ISSUE_URL", issue),
        ("RECIPE_VAR_issue_url", issue),
        ("ISSUE_NUMBER", "42"),
        ("RECIPE_VAR_issue_number", "42"),
        ("WORKTREE_SETUP", &worktree_setup),
        ("WORKTREE_SETUP_WORKTREE_PATH", &worktree),
        ("WORKTREE_SETUP_BRANCH_NAME", branch),
        ("WORKTREE_SETUP_BASE_REF", "origin/main"),
        ("WORKTREE_SETUP_CREATED", "true"),
        ("RECIPE_VAR_worktree_setup__worktree_path", &worktree),
        ("RECIPE_VAR_worktree_setup__branch_name", branch),
        ("REQUIREMENTS_TITLE", "Add a dark theme"),
        ("REQUIREMENTS_SUMMARY", "The theme takes dark as well as light"),
        ("RECIPE_VAR_requirements__risk", "medium"),
        ("REQUIREMENTS_OPEN_QUESTIONS", "0"),
        ("RECIPE_VAR_requirements__key_insights", "all colours are in one place"),
        ("QUALITY_MIN_COVERAGE", "80"),
        ("RECIPE_VAR_quality__max_findings", "3"),
    ];
    check_names(&value("/early_names"), &early);

    let commit = end.commit.as_str();
    let last = [
        ("TASK_DESCRIPTION", TASK),
        ("RECIPE_VAR_task_description", TASK),
        ("REPO_PATH", "."),
        ("BRANCH_PREFIX", "feat"),
        ("TARGET_BRANCH", "main"),
        ("REVIEWERS", r#"["ada","grace"]"#),
        ("KIND", "feature"),
        ("ESTIMATE", "2"),
        ("ISSUE_URL", issue),
        ("ISSUE_NUMBER", "42"),
        ("RECIPE_VAR_issue_number", "42"),
        ("DESIGN_DOC", "docs/design.txt"),
        ("COMMIT_MESSAGE", "Add a dark theme"),
        ("COMMIT_SHA", commit),
        ("RECIPE_VAR_commit_sha", commit),
        (
            "RESEARCH",
            r#"{"summary": "One function decides about colours", "confidence": "medium", "cause": "the case has no default"}"#,
        ),
        ("REVIEW", r#"{"verdict": "changes", "findings": ["document light","sort the docs"], "rating": 7}"#),
        ("PUBLISH", r#"{"pr_number": 7, "pr_url": "https://example.com/acme/theme/pull/7"}"#),
        ("PR_BODY", "A dark theme."),
        ("PR_REVIEW_RISK", "The risk is low."),
        ("ADDRESS", "Thank you."),
        ("SECURITY_NOTE", "an unknown name prints nothing"),
        ("WORKTREE_SETUP_WORKTREE_PATH", &worktree),
        ("WORKTREE_SETUP_BRANCH_NAME", branch),
        ("RECIPE_VAR_worktree_setup__base_ref", "origin/main"),
        ("REQUIREMENTS_TITLE", "Add a dark theme"),
        ("REQUIREMENTS_RISK", "medium"),
        ("RECIPE_VAR_requirements__summary", "The theme takes dark as well as light"),
        ("DESIGN_CHOICE", "one more case"),
        ("QUALITY_MIN_COVERAGE", "80"),
    ];
    check_names(&value("/final_names"), &last);

    // three recipes deep
    let evidence =
        json!({"cause": "the case has no default", "issue": "42", "kind": "feature", "branch": branch});
    assert_eq!(value("/evidence"), evidence);
    let rating = json!({"value": 7, "issue": "42", "subject": "Add a dark theme", "exposure": "medium"});
    assert_eq!(value("/rating"), rating);
    // large answers are whole
    for (name, members) in [("requirements", 320), ("code", 340), ("design", 310), ("weighed", 305)] {
        assert_eq!(value(&format!("/{name}")).as_object().map(serde_json::Map::len), Some(members), "{name}");
    }

    let asked = |step: &str, text: &str| {
        let prompt = &end.prompts[step];
        assert!(prompt.contains(text), "{step} was not asked `{text}`: {prompt}");
    };
    asked("clarify", TASK);
    asked("look-code", "Add a dark theme: The theme takes dark as well as light. There are 11 files.");
    asked("synthesize", "Entry: src/theme.sh. Tests: 1, gaps: [\"dark\"]. Docs: There are no docs yet.");
    asked("synthesize", "Worst risk: an empty colour, of 2.");
    asked("trace", "Why does an empty colour happen? Trace it from src/theme.sh.");
    asked("experiment", "between \"the case has no default\" and \"the caller ignores the status\"");
    asked("judge", "Which of the 2 is it? theme blue prints nothing");
    asked("option-safe", "The cause is the case has no default.");
    asked("choose", "one more case (1), a table\n(2), a checked table (5)");
    asked("implement", "Implement one more case for issue 42. The tests say: FAILED: tests/dark.sh");
    asked("review-style", "docs/design.txt");
    asked("weigh-findings", "Weigh: There are no secrets. NAME is not checked.");
    asked("decide", "Security: an unknown name prints nothing (rating 7).");
    asked("fix", r#"Fix these findings: ["document light","sort the docs"]."#);
    asked("describe", &format!("Describe {commit} for its reviewers ada and grace. It closes #42."));
    asked(
        "address",
        "https://example.com/acme/theme/pull/7:\nThe design is fine.\nThe quality is fine.\nThe risk is low.",
    );

    let text = format!(
        "# Add a dark theme\nhttps://example.com/acme/theme/pull/7 closes {issue} on {branch} at {commit}.\n\
         Confidence medium, review changes, coverage 91%."
    );
    assert_eq!(end.output.trim_end(), text);
}
