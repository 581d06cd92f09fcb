//! `validate` and `--validate-only`: every problem at once, with its place and its fix.

use testkit::{Output, TestEnv};

const HELLO: &str = "name: hello\nsteps:\n  - id: greet\n    command: echo hi\n";

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

/// Validates a recipe with this text.
fn validate(text: &str) -> Output {
    env().file("x.yaml", text).run(["validate", "x.yaml"])
}

#[test]
fn a_good_recipe_is_praised_on_stdout() {
    let output = validate(HELLO);
    assert_eq!(output.stdout, "✓ x.yaml is valid: recipe `hello`, 1 step\n", "{}", output.all());
    assert_eq!((output.stderr.as_str(), output.code), ("", 0));
}

#[test]
fn a_problem_is_shown_with_its_line_and_the_fix() {
    let output = validate("name: x\nsteps:\n  - id: a\n    comand: echo hi\n");
    let expected = "\
error[field-typo]: unknown field `comand` in a step: did you mean `command`?
 --> x.yaml:4:5
  |
4 |     comand: echo hi
  |     ^^^^^^ not a known field
  |
  = help: write `command:`

1 error in x.yaml
";
    assert_eq!(output.stderr, expected);
    assert_eq!((output.stdout.as_str(), output.code), ("", 2));
}

#[test]
fn every_kind_of_problem_stops_a_recipe() {
    let steps = |step: &str| format!("name: x\nsteps:\n  - id: a\n    {step}\n");
    for (text, part) in [
        ("", "error[empty-file]"),
        ("- a", "error[wrong-type]"),
        ("steps: []", "error[missing-field]"),
        ("name: x", "error[no-steps]"),
        ("name: x\nsteps: [", "error[yaml-syntax]"),
        ("name: x\n---\nname: y", "error[several-documents]"),
        ("name: x\nname: y\nsteps: []", "error[duplicate-key]"),
        (&steps("type: bash"), "error"),
        (&steps("name: nothing"), "error[nothing-to-do]"),
        (&steps("command: 'echo {{a'"), "error[template-syntax]"),
        (&steps("command: x\n    condition: a is None"), "error[condition-syntax]"),
        (&steps("command: x\n    condition: exec('x')"), "error[unknown-function]"),
        (&steps("recipe: nowhere"), "recipe `nowhere` not found"),
        (&steps("command: x\n    depends_on: [b]"), "error[unknown-step]"),
        ("name: x\nextends: x.yaml", "circular"),
    ] {
        let output = validate(text);
        assert_eq!(output.code, 2, "{text}\n{}", output.all());
        assert!(output.stderr.contains(part), "{text}: expected {part}\n{}", output.all());
        assert_eq!(output.stdout, "", "{text}");
    }
}

#[test]
fn an_empty_file_and_empty_steps_are_reported_where_they_are() {
    for (text, place) in [
        ("", "x.yaml:1:1"),
        ("\n# nothing yet\n", "x.yaml:1:1"),
        ("name: x\nversion: 1\nsteps:\n", "x.yaml:3:1"),
        ("extends: base\nversion: 1\nsteps:\n", "x.yaml:3:1"),
    ] {
        let env = env().file("base.yaml", "name: base\n").file("x.yaml", text);
        let output = env.run(["validate", "x.yaml"]);
        assert_eq!(output.code, 2, "{text}\n{}", output.all());
        let found = output.stderr.lines().find(|line| line.trim_start().starts_with("-->"));
        let found = found.map(|line| line.trim_start().trim_start_matches("--> "));
        assert_eq!(found, Some(place), "{text}\n{}", output.all());
    }
}

#[test]
fn problems_come_together_and_are_counted() {
    let text = "name: x\nowner: me\nsteps:\n  - id: a\n    command: x\n    timout: 5\n  - id: a\n    command: 'echo {{a'\n";
    let output = validate(text);
    for part in ["unknown-field", "field-typo", "duplicate-id", "template-syntax"] {
        assert!(output.stderr.contains(part), "{part}\n{}", output.all());
    }
    assert!(output.stderr.ends_with("3 errors, 1 warning in x.yaml\n"), "{}", output.all());
}

#[test]
fn warnings_let_a_recipe_pass_unless_strict() {
    let env = env().file("x.yaml", "name: x\nowner: me\nsteps: [{id: a, command: 'echo {{nobody}}'}]\n");
    let output = env.run(["validate", "x.yaml"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert!(output.stderr.contains("2 warnings in x.yaml"), "{}", output.all());
    assert!(output.stdout.contains("is valid"));
    for arguments in [["validate", "--strict", "x.yaml"], ["x.yaml", "--validate-only", "--strict"]] {
        let output = env.run(arguments);
        assert_eq!(output.code, 2, "{}", output.all());
        assert!(output.stderr.contains("2 errors in x.yaml"), "{}", output.all());
    }
}

#[test]
fn values_from_outside_define_names() {
    let env = env()
        .file("x.yaml", "name: x\nsteps: [{id: a, command: 'echo {{one}} {{two.x}}'}]\n")
        .file("values.yaml", "two: {x: 1}\n");
    for (arguments, code) in [
        (&[][..], 2),
        (&["--set", "one=1"], 2),
        (&["--set", "one=1", "--set", "two.x=1"], 0),
        (&["-c", "one=1", "--context-file", "values.yaml"], 0),
    ] {
        let output = env.run(["validate", "x.yaml", "--strict"].iter().chain(arguments));
        assert_eq!(output.code, code, "{arguments:?}\n{}", output.all());
    }
}

#[test]
fn several_recipes_are_checked_in_one_go() {
    let env = env().file("a.yaml", HELLO).file("b.yaml", HELLO).file("bad.yaml", "name: x");
    for (files, code) in [
        (&["a.yaml", "b.yaml"][..], 0),
        (&["a.yaml", "bad.yaml"], 2),
        (&["a.yaml", "missing"], 3),
        (&["missing", "bad.yaml", "a.yaml"], 2),
    ] {
        let output = env.run(std::iter::once(&"validate").chain(files));
        assert_eq!(output.code, code, "{files:?}\n{}", output.all());
        assert!(output.stdout.contains("a.yaml is valid"), "{}", output.all());
    }
}

#[test]
fn json_has_one_entry_per_problem() {
    let env = env().file("x.yaml", "name: x\nowner: me\nsteps:\n  - id: a\n    comand: x\n");
    for arguments in [
        ["validate", "x.yaml", "--output-format", "json"],
        ["--output-format", "json", "validate", "x.yaml"],
        ["x.yaml", "--validate-only", "--format", "json"],
    ] {
        let output = env.run(arguments);
        let json = output.json();
        assert_eq!(output.code, 2);
        assert_eq!(json["valid"], false);
        let problems = json["diagnostics"].as_array().unwrap();
        assert_eq!(problems.len(), 2, "{}", output.all());
        let typo = serde_json::json!({
            "severity": "error",
            "code": "field-typo",
            "message": "unknown field `comand` in a step: did you mean `command`?",
            "file": "x.yaml",
            "line": 5,
            "column": 5,
            "help": "write `command:`",
        });
        assert_eq!(problems[1], typo);
        assert_eq!(problems[0]["severity"], "warning");
        assert!(output.stderr.contains("1 error, 1 warning"));
    }
}

#[test]
fn json_of_a_good_or_missing_recipe_is_json_too() {
    let env = env().file("x.yaml", HELLO);
    let good = env.run(["validate", "x.yaml", "--output-format", "json"]);
    assert_eq!((good.json()["valid"].as_bool(), good.code), (Some(true), 0));
    assert_eq!(good.stderr, "");
    let missing = env.run(["validate", "y.yaml", "--output-format", "json"]);
    assert_eq!((missing.json()["valid"].as_bool(), missing.code), (Some(false), 3));
    assert_eq!(missing.json()["diagnostics"][0]["code"], "unknown-recipe");
}

#[test]
fn sub_recipes_and_parents_are_checked_too() {
    let env = env()
        .file("main.yaml", "name: main\nsteps: [{id: a, recipe: child}]\n")
        .file("child.yaml", "name: child\nextends: sub/parent.yaml\nsteps: [{id: c, comand: x}]\n")
        .file("sub/parent.yaml", "name: parent\nsteps: [{id: p, command: x, condition: 'a =='}]\n");
    let output = env.run(["validate", "main.yaml"]);
    assert_eq!(output.code, 2);
    for part in ["child.yaml:3:", "sub/parent.yaml:2:", "in child.yaml, sub/parent.yaml"] {
        assert!(output.stderr.contains(part), "{part}\n{}", output.all());
    }
}

#[test]
fn hostile_files_are_refused_with_a_reason() {
    let bomb = format!("a: &a [{}]\n", "x,".repeat(50))
        + &(0..20).map(|n| format!("b{n}: &b{n} [*a,*a,*a,*a,*a]\n")).collect::<String>();
    let nested = "[".repeat(100_000);
    let large = format!("name: x\n#{}\n", "x".repeat(1_100_000));
    for (bytes, part) in [
        (b"name: \xff\xfe".to_vec(), "not UTF-8"),
        (large.into_bytes(), "1 MB"),
        (nested.into_bytes(), "error"),
        (bomb.into_bytes(), "error"),
        (b"name: \"a\x00b\"\n".to_vec(), "error"),
        (b"name: x\nsteps:\n\t- id: a\n".to_vec(), "tab"),
    ] {
        let env = env().file("x.yaml", &bytes);
        let start = std::time::Instant::now();
        let output = env.run(["validate", "x.yaml"]);
        assert_eq!(output.code, 2, "{part}");
        assert!(
            output.stderr.to_lowercase().contains(&part.to_lowercase()),
            "{part}\n{:.500}",
            output.stderr
        );
        assert!(output.stderr.len() < 20_000, "{part}: the message is short");
        assert!(start.elapsed().as_secs() < 5, "{part}: the answer is quick");
    }
}

#[test]
fn a_name_from_a_file_cannot_steer_the_terminal() {
    let output = validate("name: x\n\"evil\\e[31m\": 1\nsteps: [{id: a, command: x}]\n");
    assert!(!output.stderr.contains('\u{1b}'), "{:?}", output.stderr);
}

#[test]
fn d1_words_about_rights_are_refused_on_every_level() {
    for (step, recipe) in [
        ("read_only: true", ""),
        ("readonly: true", ""),
        ("user: root", ""),
        ("before_script: make", ""),
        ("try: make", ""),
        ("", "agent_args: [--verbose]\n"),
        ("", "read-only: true\n"),
    ] {
        let recipe = format!("name: r\n{recipe}steps:\n- {{id: a, command: 'echo ran', {step}}}\n");
        let output = env().text(&recipe, &[]);
        assert_eq!(output.code, 2, "{recipe}{}", output.all());
        assert!(output.stderr.contains("error[foreign-field]"), "{recipe}{}", output.all());
    }
}
