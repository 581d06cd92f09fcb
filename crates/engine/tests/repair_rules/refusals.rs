//! Changes that a rule refuses, each beside one that it does not refuse.

use super::{plan, verdict};

/// A recipe with a check, and an effect step with these fields.
fn verdict_about(before: &str, after: &str) -> &'static str {
    let recipe = |step: &str| {
        format!(
            "name: r\nsteps:\n  - {{id: check, command: ./test}}\n  - {{id: s, {step}}}\n  - {{id: t, command: ./y}}\n"
        )
    };
    verdict(&plan(&recipe(before), 9), &plan(&recipe(after), 9), "t")
}

fn commands(cases: &[(&str, &str, &str)]) {
    for (before, after, expected) in cases {
        let [old, new] = [before, after].map(|command| format!("command: {command:?}"));
        assert_eq!(verdict_about(&old, &new), *expected, "{before} -> {after}");
    }
}

#[test]
fn an_effect_is_not_made_conditional() {
    commands(&[
        ("git push", "test -f x && git push", "refused"),
        ("git push", "[ -f x ] && git push", "refused"),
        ("git push", "[[ -f x ]] && git push", "refused"),
        ("git push", "! test -f x && git push", "refused"),
        ("git push", "(test -f x) && git push", "refused"),
        ("git push", "test -f x && make && git push", "refused"),
        ("git push", "if test -f x; then git push; fi", "refused"),
        ("git push", "if true; then git push; fi", "refused"),
        ("git push", "make && git push", "ask"),
        ("git push", "test -f x; git push", "ask"),
        ("test -f x && git push", "test -f x && git push -q", "ask"),
    ]);
    for (after, expected) in [
        ("test -f x && ./put-online", "refused"),
        ("if test -f x; then ./put-online; fi", "refused"),
        ("cd app && ./put-online", "ask"),
        ("./put-online-now", "ask"),
    ] {
        let [old, new] =
            ["./put-online", after].map(|command| format!("command: {command:?}, effects: [deploy]"));
        assert_eq!(verdict_about(&old, &new), expected, "{after}");
    }
}

#[test]
fn an_effect_still_waits_for_its_check() {
    let push = "command: git push";
    for (before, after, expected) in [
        (format!("{push}, depends_on: [check]"), push.to_owned(), "refused"),
        (push.to_owned(), format!("{push}, depends_on: [check]"), "ask"),
        ("command: ./x, depends_on: [check]".to_owned(), "command: ./x".to_owned(), "ask"),
        (format!("{push}, idempotent: false"), push.to_owned(), "refused"),
        ("command: ./x".to_owned(), "command: ./x, idempotent: false".to_owned(), "ask"),
    ] {
        assert_eq!(verdict_about(&before, &after), expected, "{before} -> {after}");
    }
}

#[test]
fn a_schema_is_not_looser() {
    let schema = |text: &str| format!("command: ./x, parse_json: true, json_schema: {text}");
    for (before, after, expected) in [
        ("{type: object}", "{}", "refused"),
        ("{type: object, required: [a, b]}", "{type: object, required: [a]}", "refused"),
        ("{type: object, required: [a]}", "{type: object, required: [b, a]}", ""),
        ("{type: integer}", "{type: number}", "refused"),
        ("{type: number}", "{type: integer}", ""),
        ("{type: string}", "{type: [string, 'null']}", "refused"),
        ("{type: [string, 'null']}", "{type: string}", ""),
        ("{type: string}", "{type: number}", "ask"),
        ("{enum: [a]}", "{enum: [a, b]}", "refused"),
        ("{enum: [a, b]}", "{enum: [a]}", ""),
        ("{enum: [a]}", "{enum: [b]}", "ask"),
        ("{minimum: 3}", "{minimum: 2}", "refused"),
        ("{minimum: 3}", "{minimum: 4}", ""),
        ("{maxLength: 3}", "{maxLength: 4}", "refused"),
        ("{maxLength: 3}", "{maxLength: 2.5}", ""),
        ("{properties: {a: {type: string}}}", "{properties: {a: {}}}", "refused"),
        ("{properties: {a: {type: string}}}", "{properties: {}}", "refused"),
        ("{properties: {a: {type: string}}}", "{properties: {a: {type: string}, b: {type: string}}}", ""),
        (
            "{additionalProperties: false, properties: {a: {}}}",
            "{additionalProperties: false, properties: {a: {}, b: {}}}",
            "ask",
        ),
        ("{additionalProperties: false}", "{additionalProperties: true}", "refused"),
        ("{items: {type: string}}", "{items: {}}", "refused"),
        ("{type: object}", "{type: object, required: [a]}", ""),
        ("{pattern: a}", "{pattern: b}", "ask"),
        ("{type: object}", "{type: object, anyOf: [{}]}", "ask"),
        ("{minimum: 3, maximum: 5}", "{minimum: 4, maximum: 6}", "refused"),
        ("{type: object, title: a}", "{type: object, title: b}", "ask"),
    ] {
        assert_eq!(verdict_about(&schema(before), &schema(after)), expected, "{before} -> {after}");
    }
}

#[test]
fn a_retry_has_no_more_reasons() {
    let retry = |on: &str| format!("command: ./x, retry: {{max_attempts: 3{on}}}");
    for (before, after, expected) in [
        (", on: [timeout]", ", on: [timeout, rate_limit]", "refused"),
        (", on: [timeout]", "", "refused"),
        (", on: [timeout, rate_limit]", ", on: [timeout]", "ask"),
    ] {
        assert_eq!(verdict_about(&retry(before), &retry(after)), expected, "{before} -> {after}");
    }
}

#[test]
fn a_check_does_not_become_trivially_true() {
    for after in [
        "/bin/true",
        "/usr/bin/true",
        "bash -c true",
        "bash -ec 'true'",
        "sh -c ':'",
        "! false",
        "! command false",
        "command true",
        "builtin true",
        "eval true",
        "eval 'true; true'",
        "env A=1 true",
        "exec true",
        "./test || /bin/true",
        "bash -c 'bash -c true'",
        "command command builtin true",
    ] {
        commands(&[("./test", after, "refused")]);
    }
    for after in [
        "./true",
        "bash -c false",
        "! true",
        "command false",
        "eval \"$x\"",
        "eval \"true $x\"",
        "bash -c ./test",
    ] {
        commands(&[("./test", after, "ask")]);
    }
}
