//! What a recipe and its steps declare: it stays, or gets stricter.

use super::check;

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
        ("env: {required: [A, B]}", "env: {required: [B, A]}", ""),
        ("env: {required: [A, B]}", "env: {required: [A]}", "input_loosened"),
        ("context: {a: b}\nsecrets: [a]", "context: {a: b}", "secret_exposed"),
        ("context: {a: b}", "context: {a: b}\nsecrets: [a]", "secrets_changed"),
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
fn declarations_of_a_step_stay_strict() {
    steps(&[
        ("command: ./x, timeout: 30", "command: ./x, timeout: 20", ""),
        ("command: ./x, timeout: 30", "command: ./x, timeout: 31", "timeout_loosened"),
        ("command: ./x, timeout: 30", "command: ./x", "timeout_loosened"),
        ("command: ./x", "command: ./x, timeout: 30", ""),
        ("prompt: a, idle_timeout: 30", "prompt: a, idle_timeout: 20", ""),
        ("prompt: a, idle_timeout: 30", "prompt: a, idle_timeout: 31", "timeout_loosened"),
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
