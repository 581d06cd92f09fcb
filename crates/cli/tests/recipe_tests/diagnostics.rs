//! Mistakes of test files: all at once, with a caret, before any case runs.

use crate::world;

const RECIPE: &str = "name: r\nsteps:\n  - {id: build, command: touch ran}\n  - {id: approve, ask: Ship?}\n";

#[test]
fn a3_a_misspelt_path_stops_everything() {
    for (case, place) in [
        ("stubs: {biuld: {exit: 0}}", "3:13"),
        ("answers: {aprove: approve}", "3:15"),
        ("expect: {steps: {biuld: completed}}", "3:22"),
        ("expect: {never: [biuld]}", "3:22"),
        ("expect: {status: compleeted}", "3:22"),
        ("expct: {}", "3:5"),
    ] {
        let env = world(
            RECIPE,
            &format!(
                "cases:\n  - name: bad\n    {case}\n  - {{name: good, answers: {{approve: approve}}}}\n"
            ),
        );
        let output = env.run(["test"]);
        assert_eq!(output.code, 2, "{case}: {}", output.all());
        assert!(output.stderr.contains(&format!("r.test.yaml:{place}")), "{case}: {}", output.stderr);
        assert!(
            output.stderr.contains('^') && output.stderr.contains("did you mean"),
            "{case}: {}",
            output.stderr
        );
        assert_eq!(output.stdout, "", "no case ran");
        let json = env.run(["test", "--output-format", "json"]);
        assert_eq!((json.code, &json.json()["diagnostics"][0]["file"]), (2, &"r.test.yaml".into()));
    }
}

#[test]
fn one_bad_file_stops_the_good_ones() {
    let env = world(RECIPE, "cases: [{name: good, answers: {approve: approve}}]")
        .file("bad.yaml", RECIPE)
        .file("bad.test.yaml", "cases: 3\n");
    let output = env.run(["test"]);
    assert_eq!((output.code, output.stdout.as_str()), (2, ""), "{}", output.all());
    assert_eq!(env.run(["test", "r.test.yaml"]).code, 0);
}

#[test]
fn a_recipe_with_errors_is_reported_as_itself() {
    let env = world("name: r\nsteps:\n  - {id: a, comand: x}\n", "cases: [{name: a}]");
    let output = env.run(["test"]);
    assert_eq!(output.code, 2, "{}", output.all());
    assert!(output.stderr.contains("r.yaml:3:13"), "{}", output.stderr);
}

#[test]
fn validate_checks_test_files_beside_their_recipe() {
    let env = world(RECIPE, "cases: [{name: good}]")
        .file("bad.yaml", RECIPE)
        .file("bad.test.yaml", "cases: [{name: a, stubs: {bild: {exit: 0}}}]");
    let good = env.run(["validate", "r.yaml", "r.test.yaml"]);
    assert_eq!(good.code, 0, "{}", good.all());
    assert!(good.stdout.contains("r.test.yaml is valid: 1 case of r.yaml"), "{}", good.stdout);
    let bad = env.run(["validate", "bad.test.yaml"]);
    assert_eq!(bad.code, 2, "{}", bad.all());
    assert!(bad.stderr.contains("did you mean `build`?"), "{}", bad.stderr);
    let json = env.run(["validate", "bad.test.yaml", "--output-format", "json"]).json();
    assert_eq!((&json["valid"], &json["diagnostics"][0]["line"]), (&false.into(), &1.into()));
    assert_eq!(env.run(["validate", "none.test.yaml"]).code, 3);
}

#[test]
fn the_schema_of_test_files_accepts_what_the_reader_accepts() {
    let env = world(RECIPE, "");
    let schema = env.run(["schema", "--tests"]).json();
    assert_ne!(schema, env.run(["schema"]).json());
    let validator = jsonschema::validator_for(&schema).unwrap();
    let good = serde_json::json!({
        "fixture": {"dir": "x", "git": true},
        "coverage": {"min": 50, "allow": {"a.ran": "why"}},
        "defaults": {"inputs": {"v": 1}},
        "cases": [{
            "name": "a",
            "stubs": {"a": {"fault": "crash", "then": {"answer": "x"}}, "b": [{"json": {}}, {"exit": 1}], "c": null},
            "answers": {"q": "timeout", "p": {"choice": "approve"}},
            "programs": {"gh": [{"args": ["**"]}], "x": {"exit": 2}},
            "expect": {"exit": {"not": {"one_of": [1, 2]}}, "steps": {"a": "failed"}, "changed": ["a"], "files": {"x": null}},
        }],
    });
    assert!(
        validator.is_valid(&good),
        "{:?}",
        validator.iter_errors(&good).map(|error| error.to_string()).collect::<Vec<_>>()
    );
    for bad in [
        serde_json::json!({}),
        serde_json::json!({"cases": [{"name": "a", "stubs": {"a": {"fault": "boom"}}}]}),
        serde_json::json!({"cases": [{"name": "a", "expect": {"exit": {"contians": 1}}}]}),
        serde_json::json!({"cases": [{"name": "a", "bash": "maybe"}]}),
        serde_json::json!({"case": []}),
    ] {
        assert!(!validator.is_valid(&bad), "{bad}");
    }
}
