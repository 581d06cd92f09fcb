//! Words of other tools: which are errors, and what the message names.

use recipe::{check::Given, diagnostic::Severity};

use crate::shelf::{check_files, check_given, expect, with_field, with_step};

#[test]
fn d1_words_of_other_tools_that_change_how_a_step_runs_are_errors() {
    for field in [
        "if",
        "needs",
        "run",
        "cmd",
        "script",
        "retries",
        "timeout_minutes",
        "timeout-minutes",
        "timeoutMinutes",
        "cwd",
        "workdir",
        "dir",
        "working-directory",
        "working_directory",
        "matrix",
        "foreach",
        "loop",
        "with_items",
        "until",
        "while",
        "allow_failure",
        "ignore_errors",
        "ignore_failure",
        "environment",
        "finally",
        "always",
        "on_failure",
        "uses",
        "with",
        "services",
        "container",
        "image",
        "strategy",
        "artifacts",
        "cache",
        "unless",
        "skip",
        "depends",
        "rules",
        "only",
        "max_retries",
        "for",
        "parallel",
        "runs-on",
        "become",
    ] {
        expect(&with_step(&format!("command: x\n{field}: 1")), &["error foreign-field 5:5"]);
    }
    for field in
        ["if", "matrix", "working_dir", "timeout", "retries", "on", "environment", "condition", "runs-on"]
    {
        expect(&with_field(&format!("{field}: 1")), &["error foreign-field 5:1"]);
    }
    for (field, column) in [
        ("retry: {attempts: 3}", 13),
        ("repeat: {times: 3}", 14),
        ("repeat: {max: 3, while: a == 1}", 22),
        ("retry: {max_attempts: 3, interval: 3}", 30),
    ] {
        expect(&with_step(&format!("command: x\n{field}")), &[&format!("error foreign-field 5:{column}")]);
    }
    expect(&with_field("budget: {cost: 3}"), &["error foreign-field 5:10"]);
    expect(&with_field("hooks: {on_failure: echo}"), &["error foreign-field 5:9"]);
}

#[test]
fn d1_a_word_of_another_tool_names_the_field_that_is_meant() {
    let found = |step: &str| {
        let checked = check_files(&[("r.yaml", &with_step(step))], &[]);
        checked
            .diagnostics
            .into_iter()
            .next()
            .map(|one| (one.message, one.help.unwrap_or_default()))
            .unwrap_or_default()
    };
    for (step, message, help) in [
        ("command: x\nif: a", "a step has no field `if`: did you mean `condition`?", "write `condition: …`"),
        ("run: make", "a step has no field `run`: did you mean `command`?", "write `command: …`"),
        ("command: x\ntimeout-minutes: 5", "did you mean `timeout`?", "`timeout: 10m`"),
        ("command: x\nunless: a", "did you mean `condition`?", "`condition: not (…)`"),
        ("command: x\ncontainer: a", "a step has no field `container`", "there is nothing like it"),
        (
            "command: x\noutputs: [a]",
            "unknown field `outputs` in a step: did you mean `output`?",
            "write `output: NAME`",
        ),
    ] {
        let (said, advice) = found(step);
        assert!(said.contains(message) && advice.contains(help), "{step}: {said} / {advice}");
    }
    // the missing command is not reported again, and a field of ours beside the word changes nothing
    expect(&with_step("run: make"), &["error foreign-field 4:5"]);
    expect(&with_step("command: x\ncondition: '1 == 1'\nif: a"), &["error foreign-field 6:5"]);
    expect(&with_step("command: x\noutputs: [a]"), &["warning unknown-field 5:5"]);
    expect("name: r\njobs: [{id: s, command: x}]\n", &["error foreign-field 2:1"]);
}

#[test]
fn a_stored_run_may_be_older_than_these_rules() {
    let stored = Given { is_stored: true, ..Given::default() };
    for text in [
        with_step("command: x\nif: main"),
        with_step("command: x\nrun: y"),
        with_step("prompt: x\ncmd: y"),
        with_step("command: x\nmode: plan"),
        with_field("on: push"),
        with_field("env: {A: b}"),
        "name: r\nsteps: [{id: an odd id!, command: x}]\n".to_owned(),
    ] {
        let now = check_given(&text, &Given::default());
        assert!(now.plan.is_none(), "{text}");
        let then = check_given(&text, &stored);
        assert!(then.plan.is_some(), "{text}: {:?}", then.diagnostics);
        assert!(then.diagnostics.iter().any(|problem| problem.severity == Severity::Warning), "{text}");
    }
    // this never ran
    assert!(check_given(&with_step("timeout: -1\ncommand: x"), &stored).plan.is_none());
}
