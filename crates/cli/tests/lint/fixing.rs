//! `--fix`: adds fields, and keeps every other byte.

use crate::{env, findings};

const RECIPE: &str = "\
# the release\r
name: x   # no quotes\r
steps:\r
  - id: test\r
    command: make test   # all of them\r
\r
  # pushes\r
  - id: push   # last\r
    command: |\r
      # not a comment of YAML\r
      git push   origin main\r
  - {id: pr, command: gh pr create --fill}   # in one line\r
";

#[test]
fn a53_fixes_keep_every_comment_and_every_byte() {
    let env = env().file("x.yaml", RECIPE);
    let output = env.run(["lint", "x.yaml", "--fix"]);
    assert_eq!(output.code, 0, "{}", output.all());
    let expected = RECIPE
        .replace("push   # last\r\n", "push   # last\r\n    effects: [push]\r\n    idempotent: false\r\n")
        .replace("{id: pr,", "{id: pr, effects: [pr], idempotent: false,");
    assert_eq!(env.read("x.yaml"), expected);
    let again = env.run(["lint", "x.yaml", "--fix", "--output-format", "json"]);
    assert!(findings(&again).iter().all(|finding| finding["fixable"] == false), "{}", again.all());
    assert_eq!(env.read("x.yaml"), expected, "a second time changes nothing");
}

#[test]
fn a_byte_order_mark_stays() {
    let text = "\u{feff}name: x\nsteps:\n  - id: push\n    command: git push\n";
    let env = env().file("x.yaml", text);
    env.run(["lint", "x.yaml", "--fix"]);
    let fixed = env.read("x.yaml");
    assert!(fixed.starts_with("\u{feff}name: x\n") && fixed.contains("    effects: [push]\n"), "{fixed}");
}

#[test]
fn a_file_in_which_more_would_change_is_left_as_it_is() {
    // the two steps are one text
    let text = "name: x\nsteps:\n  - &a\n    id: push\n    command: git push\n";
    for text in [text, "name: x\nsteps:\n  - id: >\n      push\n    command: git push\n"] {
        let env = env().file("x.yaml", text);
        let output = env.run(["lint", "x.yaml", "--fix"]);
        let fixed = env.read("x.yaml");
        let is_safe = fixed == text || env.run(["validate", "--strict", "x.yaml"]).code == 0;
        assert!(is_safe, "{fixed}\n{}", output.all());
        assert!(fixed == text || fixed.contains("effects: [push]"), "{fixed}");
    }
}

#[test]
fn sub_recipes_that_were_not_named_are_not_changed() {
    let sub = "name: sub\nsteps:\n  - id: push\n    command: git push\n";
    let env = env().file("x.yaml", "name: x\nsteps:\n  - id: a\n    recipe: sub\n").file("sub.yaml", sub);
    let output = env.run(["lint", "x.yaml", "--fix", "--output-format", "json"]);
    assert_eq!(env.read("sub.yaml"), sub);
    let found = findings(&output);
    assert!(found.iter().any(|one| one["file"] == "sub.yaml" && one["fixable"] == true), "{}", output.all());
}
