//! Coverage: every kind of branch has a name and a line, and too little of it fails.

use serde_json::Value as Json;

use crate::{run, world};

const RECIPE: &str = "\
name: r
hooks: {on_error: echo}
context: {items: [], go: 'yes'}
steps:
  - id: cond
    condition: go == 'yes'
    command: echo
  - id: tolerated
    command: echo
    continue_on_error: true
  - id: tried
    command: echo
    retry: 2
  - id: json
    prompt: x
    parse_json: true
  - id: sure
    prompt: x
    ensure: [{file: made.txt}]
  - id: sub
    recipe: child
    recovery_on_failure: true
  - id: again
    command: echo
    repeat: {max: 2, until: again == 'x', on_exhausted: continue}
  - id: each
    for_each: '{{items}}'
    command: echo
  - id: ask
    ask: Which?
    choices: [red, blue]
    timeout: 60
    on_timeout: red
  - id: coded
    command: echo
    exit_codes: {3: ok}
  - id: undo
    when: failed
    command: echo
";
const CHILD: &str = "name: child\nsteps:\n  - {id: inner, command: echo}\n";

fn missing(report: &Json, file: &str) -> Vec<(String, u64)> {
    let recipes = report["coverage"]["recipes"].as_array().unwrap();
    let recipe = recipes.iter().find(|recipe| recipe["file"] == file).unwrap();
    let names = recipe["missing"].as_array().unwrap().iter();
    names
        .map(|branch| (branch["name"].as_str().unwrap().to_owned(), branch["line"].as_u64().unwrap()))
        .collect()
}

#[test]
fn a15_every_kind_of_branch_has_a_name_and_a_line() {
    let env =
        world(RECIPE, "cases: [{name: nothing, skip: no case reaches anything}]").file("child.yaml", CHILD);
    let report = env.run(["test", "--output-format", "json"]).json();
    let found = missing(&report, "r.yaml");
    for (name, line) in [
        ("cond.ran", 5),
        ("cond.condition.true", 6),
        ("cond.condition.false", 6),
        ("tolerated.continue_on_error.ok", 10),
        ("tolerated.continue_on_error.failed", 10),
        ("tried.retry.used", 13),
        ("tried.retry.exhausted", 13),
        ("json.json.asked_again", 16),
        ("json.json.given_up", 16),
        ("sure.ensure.asked_again", 19),
        ("sure.ensure.failed", 19),
        ("sub.recovery.yes", 22),
        ("sub.recovery.no", 22),
        ("again.repeat.met", 25),
        ("again.repeat.exhausted", 25),
        ("each.for_each.none", 27),
        ("each.for_each.some", 27),
        ("each.for_each.item_failed", 27),
        ("ask.ask.red", 31),
        ("ask.ask.blue", 31),
        ("ask.ask.timeout", 32),
        ("coded.exit_codes.3", 36),
        ("undo.when.taken", 38),
        ("undo.when.not_taken", 38),
        ("hooks.on_error", 2),
    ] {
        assert!(found.contains(&(name.to_owned(), line)), "{name} {line} in {found:?}");
    }
    assert_eq!(missing(&report, "child.yaml"), [("inner.ran".to_owned(), 3)]);
    assert_eq!(report["coverage"]["percent"], 0.0);
}

#[test]
fn a15_all_cases_count_together() {
    let recipe =
        "name: r\ncontext: {go: 'yes'}\nsteps:\n  - {id: a, condition: go == 'yes', command: echo}\n";
    let both = "cases:\n  - {name: runs}\n  - {name: skips, inputs: {go: 'no'}}\n";
    assert_eq!(run(recipe, both)["coverage"]["percent"], 100.0);
    let one = world(recipe, "cases: [{name: runs}]");
    let output = one.run(["test", "--coverage"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert!(
        output.stdout.contains("r.yaml") && output.stdout.contains("a.condition.false (line 4)"),
        "{}",
        output.stdout
    );
    let low = one.run(["test", "--coverage-min", "90"]);
    assert_eq!(low.code, 1, "{}", low.all());
    assert!(
        low.stdout.contains("a.condition.false") && low.stdout.contains("66.7 %, at least 90 %"),
        "{}",
        low.stdout
    );
    assert_eq!(one.run(["test", "--coverage-min", "66"]).code, 0);
}

#[test]
fn a15_exceptions_need_a_reason_and_a_branch() {
    let recipe =
        "name: r\ncontext: {go: 'yes'}\nsteps:\n  - {id: a, condition: go == 'yes', command: echo}\n";
    let tests = |rule: &str| format!("coverage: {rule}\ncases: [{{name: runs}}]\n");
    for (rule, code) in [
        ("{min: 100}", 1),
        ("{min: 100, allow: {a.condition.false: needs a full moon}}", 0),
        ("{min: 100, allow: {a.condition.false: }}", 2),
        ("{min: 100, allow: {a.condition.maybe: because}}", 2),
        ("{min: 60}", 0),
    ] {
        let output = world(recipe, &tests(rule)).run(["test"]);
        assert_eq!(output.code, code, "{rule}: {}", output.all());
    }
    let unknown = world(recipe, &tests("{allow: {a.condition.flase: because}}")).run(["test"]);
    assert!(unknown.stderr.contains("did you mean `a.condition.false`?"), "{}", unknown.stderr);
    let filtered =
        world(recipe, "coverage: {min: 100}\ncases: [{name: runs}, {name: skips, inputs: {go: 'no'}}]")
            .run(["test", "--case", "runs"]);
    assert_eq!(filtered.code, 0, "a part of the cases cannot reach everything: {}", filtered.all());
}

#[test]
fn a15_a_sub_recipe_that_is_used_twice_counts_once() {
    let recipe = "name: r\nsteps:\n  - {id: one, recipe: child}\n  - {id: two, recipe: child}\n";
    let env = world(recipe, "coverage: {min: 100}\ncases: [{name: both}]").file("child.yaml", CHILD);
    let output = env.run(["test", "--output-format", "json"]);
    assert_eq!(output.code, 0, "{}", output.all());
    let recipes = &output.json()["coverage"]["recipes"];
    assert_eq!(recipes.as_array().unwrap().len(), 2);
    assert_eq!((&recipes[1]["file"], &recipes[1]["total"]), (&"child.yaml".into(), &1.into()));
}
