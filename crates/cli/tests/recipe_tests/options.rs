//! The options of `test`, and its exit codes.

use crate::{lines, world};

const RECIPE: &str = "name: r\nsteps:\n  - {id: a, command: echo}\n";
const TESTS: &str = "cases:\n  - {name: first}\n  - {name: second, expect: {exit: 1}}\n  - {name: third}\n  - {name: fourth one}\n";

#[test]
fn cases_are_chosen_by_text_and_by_name() {
    let env = world(RECIPE, TESTS);
    let names = |arguments: &[&str]| {
        let output = env.run(["test", "--list"].iter().chain(arguments));
        assert_eq!(output.code, 0, "{}", output.all());
        output.stdout.lines().map(|line| line.replace("r.test.yaml: ", "")).collect::<Vec<_>>().join(",")
    };
    assert_eq!(names(&[]), "first,second,third,fourth one");
    assert_eq!(names(&["--filter", "ir"]), "first,third");
    assert_eq!(names(&["--filter", "r.test"]), "first,second,third,fourth one");
    assert_eq!(names(&["--case", "third"]), "third");
    assert_eq!(names(&["--case", "third", "--case", "first"]), "first,third");
    assert_eq!(names(&["r.yaml"]), "first,second,third,fourth one", "a recipe stands for its test file");
    assert_eq!(names(&["."]), "first,second,third,fourth one");
    let json = env.run(["test", "--list", "--output-format", "json"]).json();
    assert_eq!((&json["cases"][3]["name"], &json["cases"][3]["line"]), (&"fourth one".into(), &5.into()));
    assert_eq!(env.run(["test", "--case", "fourth one"]).code, 0);
    let none = env.run(["test", "--case", "frist"]);
    assert_eq!(none.code, 4, "{}", none.all());
    assert!(none.stderr.contains("no case matched") && none.stderr.contains("`first`"), "{}", none.stderr);
}

#[test]
fn every_exit_code_has_its_cause() {
    let env = world(RECIPE, TESTS);
    assert_eq!(env.run(["test"]).code, 1);
    assert_eq!(env.run(["test", "--case", "first"]).code, 0);
    assert_eq!(env.run(["test", "none.test.yaml"]).code, 3);
    assert_eq!(env.run(["test", "r.test.yml"]).code, 3);
    let near = env.run(["test", "rr.test.yaml"]);
    assert!(near.code == 3 && near.stderr.contains("not found"), "{}", near.all());
    assert_eq!(env.run(["test", "--filter", "nothing like it"]).code, 4);
    assert_eq!(env.run(["test", "--jobs", "0"]).code, 2);
    assert_eq!(env.run(["test", "--coverage-min", "200"]).code, 2);
    env.write("lonely.test.yaml", "cases: [{name: a}]");
    let lonely = env.run(["test", "lonely.test.yaml"]);
    assert!(lonely.code == 3 && lonely.stderr.contains("lonely.yaml"), "{}", lonely.all());
    env.write("empty/x.txt", "");
    let empty = env.run(["test", "empty"]);
    assert!(empty.code == 4 && empty.stderr.contains("--init"), "{}", empty.all());
    for arguments in [["test", "none.test.yaml"], ["test", "empty"]] {
        let json = env.run(arguments.iter().chain(&["--output-format", "json"]));
        assert_eq!(json.json()["exit_code"], json.code);
    }
}

#[test]
fn fail_fast_starts_no_more_cases() {
    let env = world(RECIPE, TESTS);
    let output = env.run(["test", "--fail-fast", "--jobs", "1"]);
    assert_eq!(output.code, 1, "{}", output.all());
    assert_eq!(lines(&output, &["PASS", "FAIL ["]).len(), 2, "{}", output.stdout);
    assert!(
        output.stdout.contains("2 cases: 1 passed, 1 failed") && output.stdout.contains("2 not run"),
        "{}",
        output.stdout
    );
}

#[test]
fn a17_a_case_that_depends_on_order_is_flaky() {
    let recipe = "name: r\nsteps:\n  - {id: a, command: 'sleep 0.0$((RANDOM % 5)); echo a >> log', parallel_group: g}\n  - {id: b, command: 'sleep 0.0$((RANDOM % 5)); echo b >> log', parallel_group: g}\n";
    let env = world(recipe, "cases:\n  - {name: order}\n");
    let output = env.run(["test", "--repeat", "20", "--output-format", "json"]);
    assert_eq!(output.code, 1, "{}", output.all());
    let json = output.json();
    assert_eq!(json["cases"][0]["status"], "flaky");
    assert!(json["cases"][0]["repeat"].as_str().unwrap().ends_with("--repeat 20"), "{json:#}");
    assert_eq!(json["summary"]["flaky"], 1);
    let steady = world(RECIPE, "cases: [{name: first}]").run(["test", "--repeat", "5"]);
    assert_eq!(steady.code, 0, "{}", steady.all());
}

#[test]
fn cases_run_at_the_same_time() {
    let recipe = "name: r\nsteps:\n  - {id: a, command: sleep 1}\n";
    let env = world(recipe, "cases: [{name: a}, {name: b}, {name: c}, {name: d}]");
    let began = std::time::Instant::now();
    assert_eq!(env.run(["test", "--jobs", "4"]).code, 0);
    let together = began.elapsed();
    let json = env.run(["test", "--jobs", "1", "--output-format", "json"]).json();
    assert!(together.as_secs_f64() < json["duration"].as_f64().unwrap(), "{together:?} {json:#}");
}
