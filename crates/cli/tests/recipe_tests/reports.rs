//! The report: a line for each case as it ends, failures with all that is needed to understand and repeat them, and files
//! for other programs.

use crate::{case, is_absent, lines, run, world};

const RECIPE: &str =
    "name: r\ncontext: {who: world}\nsteps:\n  - id: greet\n    command: echo hello {{who}} | tee out.txt\n";

#[test]
fn a1_every_case_has_a_line_and_nothing_else_changes() {
    let env =
        world(RECIPE, "fixture: {dir: fix}\ncases:\n  - {name: one}\n  - {name: two, inputs: {who: you}}\n")
            .file("fix/a.txt", "a")
            .file("deep/s.yaml", "name: s\nsteps:\n  - {id: a, prompt: Do it}\n")
            .file("deep/s.test.yaml", "cases: [{name: three, stubs: {a: {answer: done}}}]")
            .file("target/x.test.yaml", "nonsense")
            .file("node_modules/x.test.yaml", "nonsense")
            .file(".hidden/x.test.yaml", "nonsense");
    let before = env.run(["list", "--output-format", "json"]).stdout;
    let output = env.run(["test"]);
    assert_eq!(output.code, 0, "{}", output.all());
    let mut found = lines(&output, &["PASS"]);
    found.sort_by_key(|line| line.split("] ").nth(1).map(str::to_owned));
    assert_eq!(found.len(), 3, "{}", output.all());
    for (line, name) in found.iter().zip(["deep/s.test.yaml: three", "r.test.yaml: one", "r.test.yaml: two"])
    {
        let (time, rest) = line.strip_prefix("PASS [").unwrap().split_once("s] ").unwrap();
        assert_eq!(rest, name);
        assert!(time.len() == 7 && time.trim().parse::<f64>().is_ok(), "{line}");
    }
    assert!(
        output.stdout.trim_end().lines().last().unwrap().starts_with("3 cases: 3 passed in "),
        "{}",
        output.stdout
    );
    assert!(is_absent(&env, "out.txt") && is_absent(&env, "fix/out.txt"));
    assert!(!env.state().exists() || env.run_ids().is_empty());
    assert_eq!(std::fs::read_dir(env.tmp()).unwrap().count(), 0, "the temporary folder is as before");
    assert_eq!(env.survivors(), [""; 0]);
    assert_eq!(env.run(["runs", "--output-format", "json"]).json(), serde_json::json!([]));
    assert_eq!(env.run(["list", "--output-format", "json"]).stdout, before);
    assert_eq!(env.script_calls(), 0);
}

#[test]
fn test_files_are_no_recipes() {
    let env = world(RECIPE, "cases: [{name: one}]")
        .file("recipes/r.yaml", RECIPE)
        .file("recipes/r.test.yaml", "cases: [{name: one}]");
    let list = env.run(["list"]);
    assert!(list.stdout.contains("recipes/r.yaml") && !list.stdout.contains("test.yaml"), "{}", list.all());
    let named = env.run(["r.test"]);
    assert_eq!(named.code, 3, "{}", named.all());
    let by_path = env.run(["./r.test.yaml"]);
    assert_eq!(by_path.code, 2, "{}", by_path.all());
    assert!(
        by_path.stderr.contains("this is a test file")
            && by_path.stderr.contains("recipe-runner-rs test r.test.yaml")
    );
}

#[test]
fn a12_a_failure_can_be_understood_and_repeated() {
    let tests = "cases:\n  - name: it's wrong\n    expect:\n      exit: 0\n      values: {greet: bye}\n  - {name: fine}\n";
    let env = world(RECIPE, tests);
    let output = env.run(["test", "--keep"]);
    assert_eq!(output.code, 1, "{}", output.all());
    for part in [
        "FAIL r.test.yaml: it's wrong",
        "values.greet",
        "expected: \"bye\"",
        "actual:   \"hello world\"",
        "at r.test.yaml:5:16",
    ] {
        assert!(output.stdout.contains(part), "{part}: {}", output.stdout);
    }
    let repeat =
        output.stdout.lines().find_map(|line| line.trim().strip_prefix("repeat: recipe-runner-rs ")).unwrap();
    let again = env.shell(&format!("\"$RUNNER\" {repeat}"));
    assert_eq!(again.code, 1, "{}", again.all());
    assert!(
        again.stdout.contains("actual:   \"hello world\"")
            && again.stdout.contains("1 case: 0 passed, 1 failed")
    );
    let kept = output.stdout.lines().find_map(|line| line.trim().strip_prefix("kept:")).unwrap().trim();
    assert_eq!(std::fs::read_to_string(format!("{kept}/work/out.txt")).unwrap(), "hello world\n");
    assert_eq!(std::fs::read_dir(env.tmp()).unwrap().count(), 1, "only the failed case is kept");
}

#[test]
fn json_has_the_same_facts() {
    let tests = "cases:\n  - {name: good}\n  - {name: bad, expect: {exit: 3}}\n  - {name: wrong, stubs: {greet: {exit: 0}, '*et': {exit: 1}}}\n  - {name: later, skip: too slow}\n";
    let result = run(RECIPE, tests);
    let statuses: Vec<&str> =
        result["cases"].as_array().unwrap().iter().map(|case| case["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["passed", "failed", "error", "skipped"]);
    let bad = case(&result, "bad");
    assert_eq!((&bad["file"], &bad["failures"][0]["line"]), (&"r.test.yaml".into(), &3.into()));
    assert_eq!((&bad["failures"][0]["expected"], &bad["failures"][0]["actual"]), (&"3".into(), &"0".into()));
    assert!(bad["duration"].is_f64() && bad["repeat"].as_str().unwrap().contains("--case bad"));
    assert_eq!(case(&result, "later")["reason"], "too slow");
    assert_eq!(result["summary"]["cases"], 4);
    assert_eq!(result["coverage"]["recipes"][0]["file"], "r.yaml");
    assert_eq!(result["exit_code"], 1);
}

#[test]
fn a14_junit_is_well_formed_for_hostile_names() {
    let tests = "cases:\n  - name: \"<&\\\"'>\\x01\\uFFFE\\u2028]]>\\n\"\n  - name: \"bad ]]> & <x>\"\n    expect: {values: {greet: \"\\x07<\"}}\n  - {name: wrong, stubs: {greet: {exit: 0}, '*et': {exit: 1}}}\n  - {name: later, skip: \"<reason>\"}\n";
    let env = world(RECIPE, tests);
    let output = env.run(["test", "--junit", "out/report.xml"]);
    assert_eq!(output.code, 1, "{}", output.all());
    let xml = env.read("out/report.xml");
    let checked = env.shell(
        "python3 - <<'E'\nimport xml.etree.ElementTree as E\nr=E.parse('out/report.xml').getroot()\ns=r[0]\nprint(r.get('tests'),r.get('failures'),r.get('errors'),r.get('skipped'),s.get('name'),len(s),len(s.findall('.//failure')),len(s.findall('.//error')),len(s.findall('.//skipped')))\nE",
    );
    assert_eq!(checked.stdout.trim(), "4 1 1 1 r.test.yaml 4 1 1 1", "{xml}\n{}", checked.all());
    assert!(
        output.stdout.contains("4 cases: 1 passed, 1 failed, 1 with errors, 1 skipped"),
        "{}",
        output.stdout
    );
    assert!(!output.stdout.contains('\u{1}') && !output.stdout.contains('\u{7}'));
}

#[test]
fn a_recipe_with_the_name_of_the_command_is_noted() {
    let env = world(RECIPE, "cases: [{name: one}]")
        .file("recipes/test.yaml", "name: test\nsteps: [{id: a, command: echo ran}]\n");
    let output = env.run(["test", "r.test.yaml"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert!(output.stderr.contains("recipe-runner-rs run test"), "{}", output.stderr);
    assert!(env.run(["run", "test"]).stdout.contains("ran"));
    let other = world(RECIPE, "cases: [{name: one}]").run(["test"]);
    assert_eq!(other.stderr, "");
}
