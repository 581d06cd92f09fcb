//! What a dry run knows, and how it says so.

use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};
use testkit::TestEnv;

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

const CHILD: &str = "name: kid\ncontext: {w: own}\nsteps: [{id: inner, command: 'echo {{w}} {{late}}'}]\n";

/// A recipe with the step `late`, whose value no dry run knows, and these steps behind it.
fn dry(steps: &str) -> Json {
    let recipe = format!(
        "name: r\ncontext: {{n: 5, v: it's, api_token: s3cr3tVal99}}\nsteps:\n  - {{id: late, command: x}}\n{steps}"
    );
    let output = env().file("child.yaml", CHILD).json(&recipe, &["--dry-run", "--quiet"]);
    assert_eq!(output.code, 0, "{}", output.all());
    output.json()
}

fn step<'a>(json: &'a Json, id: &str) -> &'a Json {
    let steps = json["step_results"].as_array().into_iter().flatten();
    let nested =
        json["step_results"].as_array().into_iter().flatten().flat_map(|step| step["steps"].as_array());
    steps.chain(nested.flatten()).find(|step| step["step_id"] == id).unwrap_or(&Json::Null)
}

#[test]
fn the_result_holds_what_would_run() {
    for (fields, rendered, said) in [
        ("command: 'echo {{v}}'", json!("echo it's"), "dry run: would run: echo it's"),
        (
            "command: 'echo {{ late.k }} {{n}}'",
            json!("echo {{ late.k }} 5"),
            "dry run: would run: echo {{ late.k }} 5",
        ),
        (
            "command: 'echo {{#if late}}a{{else}}b{{/if}}'",
            json!("echo {{#if late}}a{{else}}b{{/if}}"),
            "would run: echo {{#if late}}",
        ),
        ("command: 'echo {{#if n}}a{{else}}b{{/if}}'", json!("echo a"), "would run: echo a"),
        ("prompt: 'mind {{v}}'", json!("mind it's"), "dry run: would ask an agent: mind it's"),
        ("command: 'echo {{api_token}}'", json!("echo [REDACTED]"), "dry run: would run: echo [REDACTED]"),
        ("recipe: child", Json::Null, "dry run: would run the recipe `kid`"),
        (
            "recipe: '{{late}}'",
            Json::Null,
            "dry run: would run the recipe `{{late}}`, a name that is known only later",
        ),
    ] {
        let json = dry(&format!("  - id: s\n    {fields}\n"));
        let step = step(&json, "s");
        assert_eq!((&step["status"], &step["rendered"]), (&json!("skipped"), &rendered), "{fields}\n{step}");
        assert_eq!(
            format!("dry run: {}", step["dry_run"].as_str().unwrap_or_default()),
            step["skip_reason"],
            "{fields}"
        );
        assert!(step["skip_reason"].as_str().is_some_and(|reason| reason.contains(said)), "{fields}\n{step}");
        assert_eq!((&step["attempts"], &step["started_at"]), (&json!(0), &Json::Null), "{fields}\n{step}");
    }
}

#[test]
fn conditions_are_decided_as_far_as_they_can_be() {
    for (condition, expected) in [
        ("n == 6 and late == 'x'", json!("false")),
        ("late == 'x' and n == 6", json!("false")),
        ("false and late", json!("false")),
        ("not (n == 5 or late)", json!("false")),
        ("n == 5 or late", Json::Null),
        ("n == 5", Json::Null),
        ("n == 5 and late == 'x'", json!("n == 5 and late == 'x'")),
        ("late", json!("late")),
    ] {
        for what in ["command: 'true'", "recipe: child"] {
            let json = dry(&format!("  - id: s\n    {what}\n    condition: \"{condition}\"\n"));
            let step = step(&json, "s");
            match expected == "false" {
                true => assert_eq!(step["skip_reason"], "condition is false", "{condition} {what}\n{step}"),
                false => assert_eq!(step["undecided"], expected, "{condition} {what}\n{step}"),
            }
        }
    }
}

#[test]
fn steps_of_sub_recipes_are_previewed_too() {
    let json = dry(
        "  - {id: s, recipe: child, context: {w: '{{n}} {{late}}'}}\n  - {id: t, recipe: child, context: {w: '{{n}}'}}\n",
    );
    let inner = |at: usize| &json["step_results"][at]["steps"][0];
    assert_eq!(inner(1)["rendered"], "echo {{w}} {{late}}", "{json}");
    assert_eq!(inner(2)["rendered"], "echo 5 {{late}}", "{json}");
    assert_eq!((&inner(2)["attempts"], &inner(2)["started_at"]), (&json!(0), &Json::Null), "{json}");
}

#[test]
fn excluded_steps_need_nothing() {
    let steps = "name: r\ncontext: {n: 5}\nsteps:\n  - {id: a, command: echo x}\n  - {id: s, recipe: kid, condition: \"n == 6 and a == 'x'\"}\n";
    let kid = "name: kid\nenv: {required: [DEPLOY_TOKEN_OF_NOBODY]}\nsteps: [{id: k, command: 'true'}]\n";
    let output = env().file("kid.yaml", kid).json(steps, &[]);
    assert_eq!(output.code, 0, "{}", output.all());
}

#[test]
fn routes_that_exclude_each_other_exceed_no_limit() {
    let recipe = |first: &str, second: &str| {
        format!(
            "name: r\nrecursion: {{max_total_steps: 3}}\nsteps:\n  - {{id: a, command: echo 1}}\n  - {{id: b, command: x{first}}}\n  - {{id: c, command: x{first}}}\n  - {{id: d, command: x{second}}}\n  - {{id: e, command: x, depends_on: [d]}}\n"
        )
    };
    let routes = recipe(", condition: \"a == '1'\"", ", condition: \"a == '2'\"");
    let output = env().json(&routes, &["--dry-run"]);
    assert_eq!(output.code, 0, "{}", output.all());
    let said = output.step("d")["skip_reason"].to_string();
    assert!(said.contains("may exceed the total step limit (3) of `r`"), "{said}");
    // what certainly runs counts as it does in a run
    let output = env().json(&recipe("", ""), &["--dry-run"]);
    assert_eq!(output.code, 1, "{}", output.all());
    assert!(
        output.step("d")["error"].to_string().contains("Total step limit (3) exceeded"),
        "{}",
        output.all()
    );
}

#[test]
fn a_route_that_may_not_be_taken_exceeds_no_depth() {
    let recipe = "name: r\nrecursion: {max_depth: 1}\nsteps:\n  - {id: a, command: echo 1}\n  - {id: b, recipe: outer, condition: \"a == '2'\"}\n";
    let env = env()
        .file("outer.yaml", "name: outer\nsteps: [{id: o, recipe: inner}]\n")
        .file("inner.yaml", "name: inner\nsteps: [{id: i, command: x}]\n");
    let output = env.json(recipe, &["--dry-run"]);
    assert_eq!(output.code, 0, "{}", output.all());
    let said = output.step("b/o")["skip_reason"].to_string();
    assert!(said.contains("may exceed the maximum recipe recursion depth (1)"), "{said}");
}

#[test]
fn thousands_of_conditions_are_decided_before_the_first_step_without_a_stall() {
    let steps = (0..4_000).map(|n| format!("  - {{id: s{n}, command: 'true', condition: n == 6}}\n"));
    let recipe = format!("name: r\ncontext: {{n: 5}}\nsteps:\n{}", steps.collect::<String>());
    let began = Instant::now();
    let output = env().json(&recipe, &["--quiet"]);
    assert_eq!(output.code, 0, "{:.500}", output.all());
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
}
