//! What a recipe and its steps declare: it stays, or gets stricter.

use super::{check, plan, verdict};

fn heads(cases: &[(&str, &str, &str)]) {
    let recipe = |head: &str| {
        format!("name: r\n{head}\nsteps:\n  - {{id: s, command: ./x}}\n  - {{id: t, command: ./y}}\n")
    };
    cases.iter().for_each(|(before, after, expected)| check(&recipe(before), &recipe(after), "t", expected));
}

fn steps(cases: &[(&str, &str, &str)]) {
    let recipe =
        |step: &str| format!("name: r\nsteps:\n  - {{id: s, {step}}}\n  - {{id: t, command: ./y}}\n");
    cases.iter().for_each(|(before, after, expected)| check(&recipe(before), &recipe(after), "t", expected));
}

#[test]
fn limits_are_not_raised() {
    heads(&[
        ("recursion: {max_depth: 3}", "recursion: {max_depth: 3, max_total_steps: 9}", ""),
        ("recursion: {max_depth: 3}", "recursion: {max_depth: 2}", ""),
        ("recursion: {max_depth: 3}", "recursion: {max_depth: 4}", "limit_loosened"),
        ("recursion: {max_depth: 3}", "", "limit_loosened"),
        ("recursion: {max_depth: 10}", "", ""),
        ("", "recursion: {max_depth: 6}", ""),
        ("", "recursion: {max_depth: 7}", "limit_loosened"),
        ("recursion: {max_total_steps: 3}", "recursion: {max_total_steps: 4}", "limit_loosened"),
        ("recursion: {max_total_steps: 3}", "", "limit_loosened"),
        ("", "recursion: {max_total_steps: 200}", ""),
        ("", "recursion: {max_total_steps: 201}", "limit_loosened"),
        ("budget: {usd: 3}", "budget: {usd: 4}", "limit_loosened"),
        ("budget: {tokens: 3}", "budget: {tokens: 4}", "limit_loosened"),
        ("budget: {agent_runs: 3}", "budget: {agent_runs: 4}", "limit_loosened"),
        ("budget: {minutes: 3}", "budget: {minutes: 4}", "limit_loosened"),
        ("budget: {usd: 3}", "", "limit_loosened"),
        ("", "budget: {usd: 3}", ""),
    ]);
}

#[test]
fn what_has_to_be_given_still_has_to() {
    heads(&[
        ("inputs: [{name: a, required: true}]", "inputs: [{name: a, required: true, description: b}]", ""),
        ("inputs: [{name: a, required: true}]", "inputs: [{name: a}]", "input_loosened"),
        ("inputs: [{name: a, required: true}]", "inputs: [{name: b, required: true}]", "input_loosened"),
        (
            "inputs: [{name: a, required: true}]",
            "inputs: [{name: a, required: true, default: b}]",
            "input_loosened",
        ),
        (
            "inputs: [{name: a, required: true, default: c}]",
            "inputs: [{name: a, required: true, default: b}]",
            "",
        ),
        ("inputs: [{name: a}]", "", ""),
        ("inputs: [{name: a, type: integer}]", "inputs: [{name: a, type: text}]", "input_loosened"),
        (
            "inputs: [{name: a, type: choice, choices: [b]}]",
            "inputs: [{name: a, type: choice, choices: [b, c]}]",
            "input_loosened",
        ),
        ("inputs: [{name: a, pattern: b}]", "inputs: [{name: a, pattern: '.*'}]", "input_loosened"),
        ("inputs: [{name: a, type: secret}]", "inputs: [{name: a, type: text}]", "secrets_changed"),
        ("env: {required: [A, B]}", "env: {required: [B, A]}", ""),
        ("env: {required: [A, B]}", "env: {required: [A]}", "input_loosened"),
        ("context: {a: b}\nsecrets: [a]", "context: {a: b}", "secret_exposed"),
        ("context: {a: b}", "context: {a: b}\nsecrets: [a]", "secrets_changed"),
        ("permissions: edit", "permissions: read-only", ""),
        ("permissions: edit", "permissions: full", "permissions_loosened"),
    ]);
    let rules = |before: &str, after: &str, expected: &str| {
        let head =
            |rule: &str| format!("context: {{a: b, c: d}}\ncontext_validation: {{a: {rule}, c: path}}");
        heads(&[(&head(before), &head(after), expected)]);
    };
    let order = ["optional", "nonempty", "path", "git_repo"];
    for (at, before) in order.iter().enumerate() {
        for (to, after) in order.iter().enumerate() {
            rules(before, after, if to < at { "rule_loosened" } else { "" });
        }
    }
    heads(&[
        ("context: {a: b}\ncontext_validation: {a: path}", "context: {a: b}", "rule_loosened"),
        ("context: {a: b}\ncontext_validation: {a: optional}", "context: {a: b}", ""),
    ]);
}

#[test]
fn a_question_is_never_changed_without_a_person() {
    let question = "ask: ok, timeout: 30, on_timeout: approve";
    steps(&[
        (question, "ask: ok, timeout: 20, on_timeout: approve", "question"),
        ("ask: ok", "ask: ok, timeout: 20", "question"),
    ]);
}

#[test]
fn declarations_of_a_step_stay_strict() {
    steps(&[
        ("command: ./x, timeout: 30", "command: ./x, timeout: 20", ""),
        ("command: ./x, timeout: 30", "command: ./x, timeout: 31", "timeout_loosened"),
        ("command: ./x, timeout: 30", "command: ./x", "timeout_loosened"),
        ("command: ./x", "command: ./x, timeout: 30", ""),
        ("prompt: a, idle_timeout: 30", "prompt: a, idle_timeout: 20", ""),
        ("prompt: a, idle_timeout: 30", "prompt: a, idle_timeout: 31", "timeout_loosened"),
        ("prompt: a, permissions: edit", "prompt: a, permissions: read-only", ""),
        ("prompt: a", "prompt: a, permissions: edit", ""),
        ("prompt: a, permissions: read-only", "prompt: a, permissions: edit", "permissions_loosened"),
        ("prompt: a, permissions: read-only", "prompt: a", "permissions_loosened"),
        (
            "prompt: a, permissions: read-only",
            "prompt: a, permissions: {level: read-only, required: false}",
            "permissions_loosened",
        ),
        ("command: ./x", "command: ./x, parse_json: true", ""),
        ("command: ./x, parse_json: true", "command: ./x", "json_loosened"),
        ("command: ./x, parse_json: true", "command: ./x, parse_json_required: true", ""),
        (
            "command: ./x, parse_json: true, parse_json_required: true",
            "command: ./x, parse_json: true",
            "json_loosened",
        ),
        ("command: ./x, parse_json: true", "command: ./x, parse_json: true, json_schema: {type: object}", ""),
        (
            "command: ./x, parse_json: true, json_schema: {type: object}",
            "command: ./x, timeout: 9, parse_json: true, json_schema: {type: object}",
            "",
        ),
        (
            "command: ./x, parse_json: true, json_schema: {type: object}",
            "command: ./x, parse_json: true, json_schema: {}",
            "schema_changed",
        ),
        ("command: ./x", "command: ./x, continue_on_error: true", "failure_ignored"),
        ("command: ./x, continue_on_error: true", "command: ./x, timeout: 9, continue_on_error: true", ""),
        ("command: ./x, continue_on_error: true", "command: ./x", "failure_policy_changed"),
        ("command: ./x", "command: ./x, exit_codes: {3: ok}", "failure_ignored"),
        ("command: ./x", "command: ./x, exit_codes: {0: ok}", ""),
        ("command: ./x", "command: ./x, exit_codes: {3: failed}", ""),
        ("command: ./x, exit_codes: {3: ok}", "command: ./x, timeout: 9, exit_codes: {3: ok}", ""),
        ("command: ./x, exit_codes: {3: ok}", "command: ./x, exit_codes: {4: ok}", "failure_ignored"),
        ("command: ./x, exit_codes: {3: needs_human}", "command: ./x", "gate_lost"),
        (
            "command: ./x, exit_codes: {3: needs_human}",
            "command: ./x, exit_codes: {4: needs_human}",
            "gate_lost",
        ),
        (
            "command: ./x, exit_codes: {3: needs_human}",
            "command: ./x, timeout: 9, exit_codes: {3: needs_human}",
            "",
        ),
        ("command: ./x, exit_codes: {3: failed}", "command: ./x", ""),
        ("command: ./x, effects: [a, b]", "command: ./x, effects: [b, a]", ""),
        ("command: ./x, effects: [a, b]", "command: ./x, effects: [b]", "effect_undeclared"),
        ("command: ./x, idempotent: false", "command: ./x", "effect_undeclared"),
        ("command: ./x", "command: ./x, idempotent: false", ""),
        ("recipe: a", "recipe: a, recovery_on_failure: true", "recovery_loosened"),
        ("recipe: a, recovery_on_failure: true", "recipe: a", ""),
    ]);
}

#[test]
fn a_check_is_not_tried_until_it_passes() {
    steps(&[
        ("command: pytest", "command: pytest, retry: 2", "retry_loosened"),
        ("command: pytest, retry: 2", "command: pytest, retry: 3", "retry_loosened"),
        ("command: pytest, retry: 3", "command: pytest, retry: 2", ""),
        ("command: make", "command: make, retry: 2", "retry_loosened"),
        ("command: ./x", "command: ./x, retry: 2", "retry_loosened"),
        ("command: ./x, idempotent: false", "command: ./x, idempotent: false, retry: 2", "retry_loosened"),
        ("command: ./x, idempotent: false", "command: ./x, idempotent: false, timeout: 9", ""),
    ]);
}

#[test]
fn rules_under_ensure_are_not_loosened() {
    let step = "command: ./x, produces: [o]";
    let rules = |rules: &str| format!("{step}, ensure: [{rules}]");
    let both = rules("{file: a}, {command: test -x a}");
    for (before, after, expected) in [
        (step.to_owned(), rules("{file: a}"), ""),
        (rules("{file: a}"), both.clone(), ""),
        (both.clone(), rules("{command: test -x a}, {file: a}, {max_changed_files: 3}"), ""),
        (both.clone(), rules("{file: a}"), "refused"),
        (both.clone(), step.to_owned(), "refused"),
        (both.clone(), rules("{file: b}, {command: test -x a}"), "refused"),
        (both.clone(), rules("{file: a}, {command: 'true'}"), "refused"),
        (rules("{file: a}, {file: a}"), rules("{file: a}"), "refused"),
        (rules("{max_changed_files: 3}"), rules("{max_changed_files: 2}"), "refused"),
        (format!("{both}, ensure_retries: 1"), format!("{both}, ensure_retries: 2"), "refused"),
        (both.clone(), format!("{both}, ensure_retries: 1"), "refused"),
        (format!("{both}, ensure_retries: 2"), both.clone(), ""),
        (both.clone(), format!("{both}, working_dir: sub"), "ask"),
        (both.clone(), format!("{both}, env: {{PATH: /mine}}"), "ask"),
    ] {
        let recipe =
            |step: &str| format!("name: r\nsteps:\n  - {{id: s, {step}}}\n  - {{id: t, command: ./y}}\n");
        let found = verdict(&plan(&recipe(&before), 9), &plan(&recipe(&after), 9), "s");
        assert_eq!(found, expected, "{before}\n{after}");
    }
}

#[test]
fn a_step_with_rules_stays() {
    let recipe = |step: &str| format!("name: r\nsteps:\n  - {{id: t, prompt: work}}\n{step}");
    let before = recipe("  - {id: s, prompt: more, ensure: [{file: a}]}\n");
    for failed in ["s", "t"] {
        assert_eq!(verdict(&plan(&before, 9), &plan(&recipe(""), 9), failed), "refused", "{failed}");
    }
}

#[test]
fn the_value_that_a_rule_reads_keeps_its_name_and_form() {
    let condition = "ensure: [{condition: s.failed == 0}]";
    for (before, after, expected) in [
        (format!("command: ./x, {condition}"), format!("command: ./x, output: o, {condition}"), "ask"),
        (format!("command: ./x, output: o, {condition}"), format!("command: ./x, {condition}"), "ask"),
        (format!("command: ./x, {condition}"), format!("command: ./x, parse_json: true, {condition}"), "ask"),
        (
            format!("command: ./x, parse_json: true, {condition}"),
            format!("command: ./x, parse_json: true, json_schema: {{type: object}}, {condition}"),
            "ask",
        ),
        (
            "command: ./x, ensure: [{command: ./proof}]".to_owned(),
            "command: ./x, parse_json: true, ensure: [{command: ./proof}]".to_owned(),
            "ask",
        ),
        (
            "command: ./x, ensure: [{file: a}]".to_owned(),
            "command: ./x, parse_json: true, ensure: [{file: a}]".to_owned(),
            "",
        ),
        (
            format!("command: ./x, parse_json: true, {condition}"),
            format!("command: ./x, {condition}"),
            "refused",
        ),
    ] {
        let recipe = |step: &str| {
            format!("name: r\nsteps:\n  - {{id: s, {step}}}\n  - {{id: t, command: 'test {{{{s}}}}'}}\n")
        };
        let found = verdict(&plan(&recipe(&before), 9), &plan(&recipe(&after), 9), "s");
        assert_eq!(found, expected, "{before}\n{after}");
    }
    // the rule of a later step
    let recipe = |step: &str| {
        format!(
            "name: r\nsteps:\n  - {{id: s, {step}}}\n  - {{id: t, prompt: a, ensure: [{{condition: s.a == 0}}]}}\n"
        )
    };
    let (before, after) = (recipe("command: ./x"), recipe("command: ./x, parse_json: true"));
    assert_eq!(verdict(&plan(&before, 9), &plan(&after, 9), "t"), "ask");
}

#[test]
fn d4_a_strict_shell_stays_strict() {
    let recipe =
        |head: &str, step: &str| format!("name: r\n{head}steps:\n  - {{id: s, command: ./x{step}}}\n");
    let strict = "shell: strict\n";
    for (before, after, expected) in [
        (recipe(strict, ""), recipe("", ""), "refused"),
        (recipe(strict, ""), recipe("shell: bash\n", ""), "refused"),
        (recipe(strict, ""), recipe(strict, ", shell: bash"), "refused"),
        (recipe("", ", shell: strict"), recipe("", ""), "refused"),
        (recipe("", ""), recipe(strict, ""), ""),
        (recipe("", ""), recipe("", ", shell: strict"), ""),
        (recipe("env: {set: {A: b}}\n", ""), recipe("env: {set: {A: c}}\n", ""), "ask"),
    ] {
        assert_eq!(verdict(&plan(&before, 9), &plan(&after, 9), "s"), expected, "{before}\n{after}");
    }
}
