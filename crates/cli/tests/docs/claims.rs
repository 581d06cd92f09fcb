//! Every claim of the README has tests that prove it: each sentence under "What sets it apart", and each row of "How do I …".
//!
//! A claim that is new or worded anew fails here until a test is named that would fail without it.

use std::fs;

use crate::pages::root;

/// A test: its file below `crates/`, and its function.
type Proof = (&'static str, &'static str);

/// A claim as the README words it, and the tests that prove it.
type Claim = (&'static str, &'static [Proof]);

/// Commands with their output are run on every page of the book.
const BOOK: Proof = ("cli/tests/docs/commands.rs", "shown_output_is_real_output");

/// The sentences under "What sets it apart".
const SENTENCES: &[Claim] = &[
    (
        "It checks the whole recipe before the first step: every typo, template, condition and sub-recipe, each with its place and its fix.",
        &[
            ("cli/tests/validate.rs", "every_kind_of_problem_stops_a_recipe"),
            ("cli/tests/validate.rs", "a_problem_is_shown_with_its_line_and_the_fix"),
            ("cli/tests/validate.rs", "problems_come_together_and_are_counted"),
            ("cli/tests/validate.rs", "sub_recipes_and_parents_are_checked_too"),
            ("cli/tests/typos.rs", "problems_in_texts_are_found_before_anything_runs"),
        ],
    ),
    (
        "It resumes after a failure, a kill or a power loss.",
        &[
            ("cli/tests/tutorials.rs", "the_demo_fails_and_is_resumed_as_described"),
            ("cli/tests/durable_resume/main.rs", "twelve_steps_killed_at_many_moments"),
            ("runtime/src/simulation/every_write.rs", "plain_steps_survive_a_death_at_every_write"),
        ],
    ),
    (
        "Finished work is kept.",
        &[
            ("cli/tests/durable_resume/main.rs", "steps_kept_by_an_earlier_resume_stay_kept"),
            ("cli/tests/why.rs", "a23_finished_steps_are_kept_by_a_resume"),
        ],
    ),
    (
        "An agent whose work fails a test is asked again with the output of that test.",
        &[("cli/tests/agent_asked_again.rs", "a_resume_tells_the_agent_which_check_failed")],
    ),
    (
        "A step marked `idempotent: false` that completed or was interrupted never runs again without your consent.",
        &[
            ("cli/tests/durable_resume/main.rs", "a_step_that_is_not_idempotent_waits_for_a_choice"),
            (
                "cli/tests/resume_options.rs",
                "a_step_that_is_not_idempotent_and_timed_out_is_not_simply_repeated",
            ),
            ("cli/tests/ensure/limits.rs", "work_that_must_not_be_repeated_is_checked_again_by_a_resume"),
            ("cli/tests/attempts.rs", "a_retry_repeats_no_effect_that_is_done"),
        ],
    ),
    (
        "It does not trust agents: `permissions` limit them, `budget` limits their cost, `ensure` checks their work, and text that they write never becomes program text.",
        &[
            ("cli/tests/agent_permissions.rs", "every_program_is_limited_by_its_own_means"),
            ("cli/tests/agent_budget.rs", "a_budget_ends_the_run_before_the_next_agent"),
            ("cli/tests/ensure/rules.rs", "every_kind_of_rule_is_checked_and_all_unmet_ones_are_named"),
            ("cli/tests/run_shell/main.rs", "a_value_means_itself_in_every_place"),
        ],
    ),
    (
        "Recipes can be tested: `test` runs them with answers in place of agents, changes none of your files, and shows which branches no case reached.",
        &[
            ("cli/tests/recipe_tests/reports.rs", "a1_every_case_has_a_line_and_nothing_else_changes"),
            ("cli/tests/recipe_tests/scratch.rs", "a10_real_commands_change_only_the_scratch_copy"),
            ("cli/tests/recipe_tests/coverage.rs", "a15_every_kind_of_branch_has_a_name_and_a_line"),
        ],
    ),
    (
        "`lint` finds checks that cannot fail.",
        &[("cli/tests/lint/rules.rs", "a54_every_trivially_true_command_is_found")],
    ),
    (
        "`generate` writes a recipe and its tests from a spec in plain words.",
        &[
            ("cli/tests/generate/results.rs", "a24_the_same_spec_gives_the_same_bytes_everywhere"),
            ("cli/tests/generate/results.rs", "a25_the_output_says_that_nothing_ran_and_how_to_continue"),
        ],
    ),
];

/// The rows of "How do I …".
const ROWS: &[Claim] = &[
    (
        "have a task done without writing a recipe",
        &[
            ("cli/tests/orchestrator/development.rs", "a_clean_change_is_one_commit_on_one_branch"),
            ("cli/tests/orchestrator/light.rs", "a_question_is_answered_on_stdout_alone"),
        ],
    ),
    ("write a first recipe", &[("cli/tests/first_contact.rs", "the_recipe_of_init_runs"), BOOK]),
    (
        "generate a recipe from a spec",
        &[("cli/tests/generate/results.rs", "a50_files_are_placed_by_title_and_never_overwritten"), BOOK],
    ),
    (
        "test a recipe without an agent",
        &[("cli/tests/recipe_tests/reports.rs", "a1_every_case_has_a_line_and_nothing_else_changes"), BOOK],
    ),
    (
        "find checks that prove nothing",
        &[
            ("cli/tests/lint/rules.rs", "a54_every_trivially_true_command_is_found"),
            ("cli/tests/lint/rules.rs", "checks_of_fixed_texts_prove_nothing"),
        ],
    ),
    (
        "use another agent than `claude`",
        &[
            ("cli/tests/agent_steps.rs", "the_program_is_the_steps_then_the_flags_then_the_environments"),
            ("cli/tests/agent_custom.rs", "programs_of_a_configuration_file_are_asked_in_their_way"),
        ],
    ),
    (
        "limit what an agent may do",
        &[
            ("cli/tests/agent_permissions.rs", "every_program_is_limited_by_its_own_means"),
            (
                "cli/tests/agent_permissions.rs",
                "a_program_that_cannot_be_limited_is_refused_before_anything_runs",
            ),
        ],
    ),
    ("see what an agent did", &[("cli/tests/transcripts.rs", "each_program_has_a_transcript")]),
    (
        "run steps at the same time",
        &[
            ("cli/tests/order.rs", "chains_of_a_graph_run_side_by_side"),
            ("cli/tests/run_flow.rs", "groups_run_together_and_see_the_context_from_before"),
            ("cli/tests/loops.rs", "each_item_has_an_instance_with_values_files_and_a_path_of_its_own"),
        ],
    ),
    (
        "loop until something works",
        &[("cli/tests/loops.rs", "a_repeat_sees_what_the_last_iteration_gave"), BOOK],
    ),
    ("wait for an approval", &[("cli/tests/questions.rs", "a_run_waits_and_an_answer_continues_it")]),
    (
        "stop a command at its first failing line",
        &[("cli/tests/shell_and_env.rs", "d4_a_strict_command_ends_at_its_first_failure")],
    ),
    (
        "set timeouts and retries",
        &[
            ("cli/tests/durable_processes.rs", "a_timeout_ends_the_whole_tree"),
            ("cli/tests/run_flow.rs", "attempts_are_repeated_as_asked"),
        ],
    ),
    (
        "roll back after a failure",
        &[("cli/tests/order.rs", "cleanup_steps_run_after_a_failure_and_see_it"), BOOK],
    ),
    (
        "read the logs, stop a run, list all runs",
        &[
            ("cli/tests/run_report.rs", "stored_runs_are_listed_shown_and_removed"),
            ("cli/tests/durable_resume/cancel.rs", "cancelling"),
        ],
    ),
    (
        "find out why a run failed, and resume it",
        &[
            ("cli/tests/diagnosis.rs", "shell_steps"),
            ("cli/tests/run_report.rs", "a_failure_shows_its_last_output_and_next_steps"),
            ("cli/tests/resume_advice.rs", "a_resume_reports_the_kept_steps"),
        ],
    ),
    (
        "ask why a step ran, was skipped or was re-run",
        &[
            ("cli/tests/why.rs", "a23_steps_that_ran_and_were_skipped"),
            ("cli/tests/why.rs", "a23_a_step_is_kept_or_re_run_because_of_an_edit"),
        ],
    ),
    (
        "continue with an edited recipe",
        &[(
            "cli/tests/durable_resume/edits.rs",
            "an_edited_recipe_reruns_changed_steps_and_their_dependents",
        )],
    ),
    (
        "pass a secret",
        &[
            ("cli/tests/run_secrets.rs", "no_secret_is_shown_anywhere"),
            ("cli/tests/run_secrets.rs", "steps_themselves_see_the_values"),
        ],
    ),
    (
        // the page says that its crontab line, its workflow and its Dockerfile are not run by tests
        "run it every night, in GitHub Actions, or as root in Docker",
        &[
            BOOK,
            ("cli/tests/screens.rs", "github_actions_gets_groups_annotations_and_a_summary"),
            ("cli/tests/agent_permissions.rs", "a_mark_against_root_blocks_the_run_before_anything_is_paid"),
        ],
    ),
    (
        "use a ready-made recipe",
        &[
            ("cli/tests/builtin.rs", "they_are_listed_and_clean"),
            ("cli/tests/builtin.rs", "a_small_change_is_verified"),
        ],
    ),
    // advice; what it shows of this program is run
    ("know whether to use something else", &[BOOK]),
];

/// The sentences of the first list of the README.
fn sentences(readme: &str) -> Vec<String> {
    let list = readme.lines().skip_while(|line| !line.starts_with("- "));
    let list = list.take_while(|line| line.starts_with("- ") || line.starts_with("  "));
    let text: Vec<&str> = list.map(|line| line.trim_start_matches("- ").trim()).collect();
    let text = text.join(" ");
    let sentence = |part: &str| format!("{}.", part.trim_end_matches('.'));
    text.split(". ").map(sentence).collect()
}

/// The first cells of the table below "How do I …".
fn rows(readme: &str) -> Vec<String> {
    let below = readme.lines().skip_while(|line| *line != "## How do I …").skip(1);
    let table = below.take_while(|line| !line.starts_with("## ")).filter(|line| line.starts_with('|'));
    table.skip(2).filter_map(|line| line.split('|').nth(1)).map(|cell| cell.trim().to_owned()).collect()
}

/// Why this is not a test that runs, if it is not.
fn problem((file, function): Proof) -> Option<String> {
    let path = root().join("crates").join(file);
    let Ok(text) = fs::read_to_string(&path) else { return Some(format!("{file} does not exist")) };
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let is_named = |line: &&str| line.starts_with(&format!("fn {function}("));
    let Some(at) = lines.iter().position(is_named) else {
        return Some(format!("{file} has no test `{function}`"));
    };
    let attributes = lines[..at].iter().rev().take_while(|line| line.starts_with('#'));
    let attributes: Vec<&&str> = attributes.collect();
    if !attributes.contains(&&"#[test]") || attributes.iter().any(|line| line.contains("ignore")) {
        return Some(format!("`{function}` in {file} is not a test that runs"));
    }
    // a file of a folder is part of a test only if `main.rs` or `mod.rs` names it
    let stem = path.file_stem()?.to_str()?;
    let names = |root: &str| {
        let text = fs::read_to_string(path.with_file_name(root)).ok()?;
        Some(text.lines().any(|line| line.trim().ends_with(&format!("mod {stem};"))))
    };
    let is_part = ["main", "mod"].contains(&stem)
        || ["main.rs", "mod.rs"].iter().find_map(|root| names(root)).unwrap_or(true);
    (!is_part).then(|| format!("no target compiles {file}"))
}

/// Compares what the README claims with a table.
fn compare(what: &str, claimed: &[String], table: &[Claim]) {
    for claim in claimed {
        assert!(
            table.iter().any(|(known, _)| known == claim),
            "name the tests that prove this {what} of README.md in crates/cli/tests/docs/claims.rs: {claim}"
        );
    }
    for (claim, proofs) in table {
        assert!(claimed.iter().any(|known| known == claim), "README.md has no {what} like this: {claim}");
        assert!(!proofs.is_empty(), "{claim}");
        let problems: Vec<String> = proofs.iter().filter_map(|proof| problem(*proof)).collect();
        assert!(problems.is_empty(), "{claim}: {problems:?}");
    }
}

#[test]
fn a61_every_claim_of_the_readme_has_a_test() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let intro = readme.split("\n- ").next().unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(intro.ends_with("What sets it apart:"), "the first list is the list of claims: {intro}");
    compare("sentence", &sentences(&readme), SENTENCES);
    compare("row", &rows(&readme), ROWS);
}

#[test]
fn claims_are_found_and_missing_tests_are_noticed() {
    let readme = "What\n\n- One: `a`,\n  b. Two.\n- Three.\n\n## How do I …\n\n| I want to | look at |\n|---|---|\n| x | y |\n";
    assert_eq!(sentences(readme), ["One: `a`, b.", "Two.", "Three."]);
    assert_eq!(rows(readme), ["x"]);
    assert_eq!(problem(("cli/tests/docs/claims.rs", "a61_every_claim_of_the_readme_has_a_test")), None);
    for (proof, part) in [
        (("cli/tests/docs/none.rs", "x"), "does not exist"),
        (("cli/tests/docs/claims.rs", "a61_every_claim"), "has no test"),
        (("cli/tests/docs/claims.rs", "rows"), "is not a test that runs"),
    ] {
        assert!(problem(proof).is_some_and(|problem| problem.contains(part)), "{proof:?}");
    }
}
