//! The published shapes: real results and journals match their schemas, and the schemas only grow.
#![expect(clippy::panic, reason = "a test that cannot read its schema ends by panicking")]

use std::{collections::BTreeSet, path::Path};

use serde_json::Value as Json;
use testkit::{Output, TestEnv};

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

fn schema(name: &str) -> Json {
    let file = format!("{}/../../schema/{name}.schema.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn check(schema: &Json, value: &Json) {
    let validator = jsonschema::validator_for(schema).unwrap_or_else(|error| panic!("{error}"));
    let problems: Vec<String> =
        validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(problems.is_empty(), "{problems:#?}\n{value:#}");
}

const ASKING: &str = "name: asking\ninputs: [{name: count, type: integer}, {name: pass, type: secret, required: true}]\nsteps: [{id: a, command: 'true'}]\n";
const CHILD: &str = "name: child\nsteps: [{id: inner, command: 'echo in; exit {{code}}'}]\n";

/// Recipes that between them show everything a run can do without agents.
const RECIPES: &[(&str, &[&str])] = &[
    ("name: ok\nsteps: [{id: a, command: echo 1}, {id: b, command: 'true', condition: 'false'}]\n", &[]),
    ("name: failed\nsteps: [{id: a, command: exit 3}, {id: b, command: 'true'}]\n", &[]),
    ("name: signal\nsteps: [{id: a, command: kill -9 $$}]\n", &[]),
    ("name: slow\nsteps: [{id: a, timeout: 0.2, command: sleep 9}]\n", &[]),
    ("name: retried\nsteps: [{id: a, retry: {max_attempts: 2, delay: 0.01}, command: exit 3}]\n", &[]),
    (
        "name: nested\nsteps: [{id: a, recipe: child, context: {code: 0}}, {id: b, recipe: child, context: {code: 4}}]\n",
        &[],
    ),
    (
        "name: json\nsteps: [{id: a, command: 'echo [1]', parse_json: true}, {id: b, command: echo no, parse_json: true}]\n",
        &[],
    ),
    ("name: large\nsteps: [{id: a, command: 'head -c 100000 /dev/zero | tr \"\\0\" x'}]\n", &[]),
    ("name: hooks\nhooks: {pre_step: exit 1, post_step: echo hi}\nsteps: [{id: a, command: 'true'}]\n", &[]),
    ("name: asks\nsteps: [{id: a, ask: 'ok?', show: [{text: t}], timeout: 99, fields: [{name: n}]}]\n", &[]),
    ("name: answered\nsteps: [{id: a, ask: 'ok?'}]\n", &["--set", "ask.a=reject"]),
    (
        "name: withdrawn\nsteps: [{id: a, ask: 'ok?', parallel_group: g}, {id: b, command: exit 1, parallel_group: g}]\n",
        &[],
    ),
    ("name: person\nsteps: [{id: a, command: exit 3, exit_codes: {3: needs_human}}]\n", &[]),
    (
        "name: text\noutput: {template: '{{a}}!'}\nsteps: [{id: a, command: echo 1}, {id: b, command: 'true', depends_on: [c]}]\n",
        &[],
    ),
    ("name: out\noutput: {template: '{{a}}!'}\nsteps: [{id: a, command: echo 1}]\n", &[]),
    (
        "name: tags\nsteps: [{id: a, command: 'true', when_tags: [x]}, {id: b, command: 'true', depends_on: [a]}]\n",
        &["--exclude-tags", "x"],
    ),
    ("name: dry\nsteps: [{id: a, command: 'true'}]\n", &["--dry-run"]),
    (
        "name: typed\ninputs: [{name: x, type: choice, choices: [a]}, {name: y, pattern: b, default: b}]\nsteps: [{id: a, command: 'true'}]\n",
        &["--dry-run"],
    ),
    ("name: unfit\nsteps: [{id: a, recipe: asking, context: {count: many}}]\n", &[]),
    ("name: blocked\ninputs: [{name: x, required: true}]\nsteps: [{id: a, command: 'true'}]\n", &[]),
    (
        "name: limit\nrecursion: {max_total_steps: 1}\nsteps: [{id: a, command: 'true'}, {id: b, recipe: child, context: {code: 0}}]\n",
        &[],
    ),
    (
        "name: proven\nsteps: [{id: a, command: echo 1, ensure: [{command: 'true'}, {condition: a == 1}], ensure_retries: 1}, {id: b, command: 'true', ensure: [{file: none}, {changed: ['*.c']}]}]\n",
        &[],
    ),
    (
        "name: loops\nsteps: [{id: a, for_each: [0, 4], keep_going: true, continue_on_error: true, recipe: child, context: {code: '{{item}}'}}, {id: b, repeat: {max: 2, until: 'b == 7'}, command: echo 1}]\n",
        &[],
    ),
    ("name: list\nsteps: [{id: a, for_each: '{{x}}', command: echo 1}]\n", &["--set", "x=1"]),
    (
        "name: many\nsteps: [{id: a, for_each: '{{x}}', max_items: 1, command: echo 1}]\n",
        &["--set", "x=[1,2]"],
    ),
    ("name: background\nsteps: [{id: a, command: 'sleep 30 > /dev/null 2>&1 &'}]\n", &[]),
];

fn journal(output: &Output) -> Vec<Json> {
    let json = output.json();
    let Some(dir) = json["run_dir"].as_str() else { return Vec::new() };
    let text = std::fs::read_to_string(Path::new(dir).join("events.jsonl")).unwrap_or_default();
    assert!(!text.is_empty(), "{dir} has a journal");
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_default()).collect()
}

#[test]
fn results_and_journals_match_their_schemas() {
    let (result, event) = (schema("result"), schema("event"));
    let env = env().file("child.yaml", CHILD).file("asking.yaml", ASKING);
    let mut seen = BTreeSet::new();
    for (recipe, arguments) in RECIPES {
        let output = env.json(recipe, arguments);
        check(&result, &output.json());
        for record in journal(&output) {
            check(&event, &record);
            seen.extend(record["event"].as_object().into_iter().flat_map(|event| event.keys().cloned()));
        }
        if output.json()["run_id"].is_string() {
            check(&result, &env.run(["show", "last", "--output-format", "json"]).json());
        }
    }
    for kind in [
        "run_started",
        "step_started",
        "spawned",
        "work_ended",
        "step_finished",
        "step_skipped",
        "attempt_failed",
        "hook_finished",
        "recipe_entered",
        "loop_entered",
        "run_finished",
    ] {
        assert!(seen.contains(kind), "no recipe shows {kind}: {seen:?}");
    }
    for line in [
        "nowhere.yaml --output-format json",
        "child.yaml --output-format json --state-dir child.yaml --set code=0",
    ] {
        check(&result, &env.run(line.split(' ')).json());
    }
    env.write("bad.yaml", "name: bad\nsteps: [{id: a, comand: x}]\n");
    check(&result, &env.run(["bad.yaml", "--output-format", "json"]).json());
}

#[test]
fn a_repaired_run_matches_the_schemas() {
    let broken = "name: r\nsteps:\n- {id: check, command: 'grep --quite root /etc/passwd'}\n";
    let fixed = broken.replace("--quite", "--quiet").replace('\n', "\\\\n");
    let env = env().agent("claude", &format!("result \"\\`\\`\\`yaml\\\\n{fixed}\\`\\`\\`\""));
    let output = env.json(broken, &["--auto-fix"]);
    assert_eq!(output.code, 0, "{}", output.all());
    check(&schema("result"), &output.json());
    let event = schema("event");
    let records = journal(&output);
    records.iter().for_each(|record| check(&event, record));
    for kind in ["repair_began", "agent_used", "repair_ended", "run_resumed"] {
        assert!(records.iter().any(|record| record["event"].get(kind).is_some()), "{kind}");
    }
}

#[test]
fn every_key_of_a_result_is_described() {
    let result = schema("result");
    let env = env().file("child.yaml", CHILD).file("asking.yaml", ASKING);
    let known = |part: &Json, value: &Json, what: &str| {
        for key in value.as_object().into_iter().flat_map(|map| map.keys()) {
            assert!(
                part["properties"].get(key).is_some(),
                "describe `{key}` of {what} in schema/result.schema.json"
            );
        }
    };
    for (recipe, arguments) in RECIPES {
        let json = env.json(recipe, arguments).json();
        known(&result, &json, "a result");
        for step in json["step_results"].as_array().into_iter().flatten() {
            known(&result["$defs"]["step"], step, "a step");
        }
    }
}

#[test]
fn wrong_shapes_are_noticed() {
    let result = schema("result");
    let right = env().json("name: r\nsteps: [{id: a, command: 'true'}]\n", &[]).json();
    let validator = jsonschema::validator_for(&result).unwrap_or_else(|error| panic!("{error}"));
    assert!(validator.is_valid(&right));
    for (pointer, wrong) in [
        ("/success", Json::from("yes")),
        ("/status", Json::from("done")),
        ("/exit_code", Json::from(99)),
        ("/schema_version", Json::from(2)),
        ("/step_results/0/status", Json::from("ok")),
        ("/step_results/0/outcome", Json::from("fine")),
    ] {
        let mut value = right.clone();
        if let Some(part) = value.pointer_mut(pointer) {
            *part = wrong;
        }
        assert!(!validator.is_valid(&value), "{pointer}");
    }
}

#[test]
fn a_result_that_is_not_valid_json_gives_a_warning() {
    for (title, is_told) in [("plain", false), ("say \\\"hi\\\"", true)] {
        let recipe = format!(
            "name: r\ncontext: {{title: \"{title}\"}}\nsteps: [{{id: a, command: 'true'}}]\n\
             output: {{format: json, template: '{{\"title\": \"{{{{title}}}}\"}}'}}\n"
        );
        let output = env().json(&recipe, &[]);
        assert_eq!(output.code, 0, "{}", output.all());
        let notes = output.json()["evidence"]["notes"].to_string();
        assert_eq!(notes.contains("its text is not valid JSON"), is_told, "{}", output.all());
        assert_eq!(output.stderr.contains("its text is not valid JSON"), is_told, "{}", output.all());
    }
}
