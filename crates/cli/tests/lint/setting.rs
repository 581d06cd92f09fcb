//! Levels, allowances, exit codes, and which recipes are looked at.

use crate::{codes, env, findings, recipe};

const LOOP: &str = "name: x\nsteps:\n  - id: poll\n    repeat: {max: 3}\n    command: ./status\n";

#[test]
fn the_exit_code_is_that_of_the_worst_finding() {
    let error = "name: e\nsteps:\n  - id: verify\n    command: make test || true\n";
    let env =
        env().file("warn.yaml", LOOP).file("err.yaml", error).file("bad.yaml", "name: bad\nsteps: [x]\n");
    for (arguments, expected) in [
        (vec!["lint", "warn.yaml"], 0),
        (vec!["lint", "warn.yaml", "--deny", "warning"], 1),
        (vec!["lint", "err.yaml"], 1),
        (vec!["lint", "bad.yaml"], 2),
        (vec!["lint", "err.yaml", "bad.yaml"], 2),
        (vec!["lint", "nowhere.yaml"], 3),
        (vec!["lint", "nowhere.yaml", "err.yaml"], 3),
        (vec!["lint", "warn.yaml", "--deny", "nonsense"], 2),
    ] {
        let output = env.run(&arguments);
        assert_eq!(output.code, expected, "{arguments:?}\n{}", output.all());
    }
    for arguments in [vec!["lint", "bad.yaml"], vec!["lint", "nowhere.yaml"]] {
        let output = env.run(arguments.iter().chain(&["--output-format", "json"]));
        assert_eq!(findings(&output).len(), 0, "{}", output.all());
        assert!(output.json()["diagnostics"][0]["message"].is_string(), "{}", output.all());
    }
}

#[test]
fn a_finding_has_all_keys() {
    let output = env().file("x.yaml", LOOP).run(["lint", "x.yaml", "--output-format", "json"]);
    let found = findings(&output);
    let finding = found.iter().find(|finding| finding["code"] == "endless-loop");
    let finding = finding.cloned().unwrap_or_default();
    assert_eq!(finding["level"], "warning");
    assert_eq!(
        (&finding["file"], &finding["line"], &finding["column"]),
        (&"x.yaml".into(), &4.into(), &5.into())
    );
    assert!(finding["message"].is_string() && finding["help"].is_string(), "{finding}");
    assert_eq!(finding["fixable"], false);
}

#[test]
fn the_project_sets_levels_before_the_user() {
    let env = env()
        .file("x.yaml", LOOP)
        .file(".recipe-runner.yaml", "lint: {endless-loop: error}\n")
        .file("config/recipe-runner/config.yaml", "lint: {endless-loop: \"off\", untested: \"off\"}\n");
    let env = {
        let dir = env.path("config");
        env.env("XDG_CONFIG_HOME", &dir.to_string_lossy())
    };
    let output = env.run(["lint", "x.yaml", "--output-format", "json"]);
    let found = findings(&output);
    assert_eq!(found.len(), 1, "{}", output.all());
    assert_eq!((&found[0]["code"], &found[0]["level"]), (&"endless-loop".into(), &"error".into()));
    assert_eq!(output.code, 1);
}

#[test]
fn a_configuration_with_a_mistake_is_refused() {
    for (text, part) in [
        ("lint: {endles-loop: error}\n", "did you mean `endless-loop`?"),
        ("lint: {endless-loop: loud}\n", "off, note, warning, error"),
        ("lint: [a]\n", "a map of rules"),
    ] {
        let output = env().file("x.yaml", LOOP).file(".recipe-runner.yaml", text).run(["lint", "x.yaml"]);
        assert_eq!(output.code, 4, "{text}\n{}", output.all());
        assert!(output.stderr.contains(part), "{}", output.all());
    }
}

#[test]
fn a53_an_allowance_needs_a_reason() {
    let with = |comment: &str| LOOP.replace("  - id: poll", &format!("  {comment}\n  - id: poll"));
    assert_eq!(codes(&with("# lint: allow endless-loop three looks are enough")), [""; 0]);
    assert_eq!(codes(&with("# lint: allow endless-loop")), ["bad-allowance", "endless-loop"]);
    assert_eq!(codes(&with("# lint: allow endless-loop -")), ["bad-allowance", "endless-loop"]);
    assert_eq!(codes(&with("# lint: allow endles-loop too short")), ["bad-allowance", "endless-loop"]);
    assert_eq!(codes(&with("# lint: allow cannot-fail another rule")), ["endless-loop"]);
    // a comment of a command is not one of the recipe
    let inside = "name: x\nsteps:\n  - id: a\n    command: |\n      # lint: allow nothing\n      ./work\n";
    assert_eq!(codes(inside), [""; 0]);
}

#[test]
fn an_allowance_is_about_its_step_alone() {
    let two = "\
name: x
steps:
  # why:
  # lint: allow endless-loop three looks are enough
  - id: a
    repeat: {max: 3}
    command: ./status
  - id: b
    repeat: {max: 3}
    command: ./status
";
    assert_eq!(codes(two), ["endless-loop"]);
}

#[test]
fn an_allowance_at_the_head_of_the_file_is_about_the_recipe() {
    let text = "# lint: allow untested a demonstration\nname: x\nsteps:\n  - id: a\n    command: ./work\n";
    let output = env().file("x.yaml", text).run(["lint", "x.yaml", "--deny", "note"]);
    assert_eq!(output.code, 0, "{}", output.all());
}

#[test]
fn without_a_file_the_recipes_of_the_project_are_looked_at() {
    let env = env()
        .file("one.yaml", LOOP)
        .file("recipes/two.yaml", LOOP)
        .file("other.yaml", "services: {}\n")
        .file("deep/three.yaml", LOOP);
    let output = env.run(["lint", "--output-format", "json"]);
    let mut files: Vec<String> = findings(&output)
        .iter()
        .filter(|finding| finding["code"] == "endless-loop")
        .map(|finding| finding["file"].as_str().unwrap_or_default().to_owned())
        .collect();
    files.sort();
    assert_eq!(files, ["one.yaml", "recipes/two.yaml"], "{}", output.all());
    let output = crate::env().run(["lint"]);
    assert_eq!(output.code, 3, "{}", output.all());
}

#[test]
fn a_recipe_called_lint_is_mentioned() {
    let output =
        env().file("lint.yaml", recipe("  - id: a\n    command: ./work\n")).run(["lint", "lint.yaml"]);
    assert!(output.stderr.contains("recipe-runner-rs run lint"), "{}", output.all());
}

#[test]
fn a_command_that_cannot_be_parsed_gives_no_finding() {
    assert_eq!(
        codes(&recipe("  - id: verify\n    command: 'select x in a; do git push; done || true ('\n")),
        [""; 0]
    );
}

#[test]
fn a_credential_is_not_repeated() {
    let token = format!("ghp_{}", "a1b2c3d4e5f6".repeat(3));
    let text = format!("name: x\nsteps:\n  - id: a\n    command: ./call {token}\n");
    for format in ["text", "json"] {
        let output = env().file("x.yaml", &text).run(["lint", "x.yaml", "--output-format", format]);
        assert_eq!(output.code, 1, "{}", output.all());
        assert!(
            output.all().contains("secret-in-recipe") && !output.all().contains(&token),
            "{}",
            output.all()
        );
    }
}

#[test]
fn a_user_adds_programs() {
    let text = recipe("  - id: a\n    command: shipit send\n");
    let env = env()
        .file("x.yaml", &text)
        .file(".recipe-runner.yaml", "knowledge: {programs: {shipit: {effects: [send]}}}\n");
    let output = env.run(["lint", "x.yaml", "--output-format", "json"]);
    assert!(output.stdout.contains("undeclared-effect"), "{}", output.all());
    assert_eq!(codes(&text), [""; 0]);
}
