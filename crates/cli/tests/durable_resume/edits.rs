//! The recipe of a resume: as it was, or as it is now.

use super::*;

#[test]
fn a_plain_resume_uses_the_recipes_as_they_were() {
    let child = "name: child\nsteps:\n  - id: k\n    command: '[ -e go ] && echo {{a}}k'\n";
    let recipe = "name: r\nsteps:\n  - id: a\n    command: echo a\n  - id: n\n    recipe: child\n";
    for change in ["remove", "change"] {
        let env = env(recipe).file("child.yaml", child);
        assert_eq!(env.run(["r.yaml"]).code, 1);
        for file in ["r.yaml", "child.yaml"] {
            match change {
                "remove" => std::fs::remove_file(env.path(file)).unwrap(),
                _ => env.write(file, "not: [a recipe"),
            }
        }
        env.write("go", "");
        let output = resume(&env, &[]);
        assert_eq!(output.code, 0, "{change}: {}", output.all());
        assert_eq!(output.json()["context"]["n"], "ak", "{change}");
    }
}

/// A recipe found by name only in a resume is there for the next resume too.
#[test]
fn recipes_found_later_are_kept_too() {
    let recipe = "name: r
steps:
  - id: a
    command: '[ -e go ] && echo child'
  - id: n
    recipe: '{{a}}'
  - id: c
    command: '[ -e more ] && echo {{n}}'
";
    let child = "name: child\nsteps:\n  - id: k\n    command: echo k >>ledger; echo k\n";
    let env = env(recipe).file("child.yaml", child);
    assert_eq!(env.run(["r.yaml"]).code, 1);
    env.write("go", "");
    assert_eq!(resume(&env, &[]).code, 1);
    std::fs::remove_file(env.path("child.yaml")).unwrap();
    env.write("more", "");
    let output = resume(&env, &[]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(output.json()["context"]["c"], "k");
    assert_eq!(env.read("ledger"), "k\n");
}

/// Runs, edits, resumes; the ledger shows which steps ran after the edit.
fn check_edit(edits: &[(&str, &str, &str)], expected: &str) {
    let recipe = "name: r
context: {mode: old}
steps:
  - id: a
    command: echo a >>ledger; echo va
  - id: uses_a
    command: echo uses_a >>ledger; echo '{{a}}'
  - id: alone
    command: echo alone >>ledger; echo x
  - id: n
    recipe: child
  - id: uses_n
    command: echo uses_n >>ledger; echo '{{k1}}'
  - id: moded
    command: echo moded >>ledger; echo '{{mode}}'
  - id: bad
    command: echo bad >>ledger; false
  - id: end
    command: echo end >>ledger
    depends_on: [bad]
";
    let child = "name: child
steps:
  - id: k1
    command: echo k1 >>ledger; echo vk1
  - id: k2
    command: echo k2 >>ledger; echo vk2
";
    let env = env(recipe).file("child.yaml", child);
    assert_eq!(env.run(["r.yaml"]).code, 1);
    env.write("ledger", "");
    let mut edits = edits.to_vec();
    edits.push(("r.yaml", "ledger; false", "ledger; true"));
    for (file, from, to) in edits {
        let text = env.read(file);
        assert!(text.contains(from), "{from}");
        env.write(file, text.replace(from, to));
    }
    let output = env.run(["resume", "last", "--recipe", "r.yaml", "--output-format", "json"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(env.read("ledger").replace('\n', " ").trim(), expected, "{}", output.all());
}

#[test]
fn an_edited_recipe_reruns_changed_steps_and_their_dependents() {
    check_edit(&[], "bad end");
    check_edit(&[("r.yaml", "echo va", "echo VA")], "a uses_a alone k1 k2 uses_n moded bad end");
    check_edit(&[("r.yaml", "echo x", "echo y")], "alone k1 k2 uses_n moded bad end");
    check_edit(&[("child.yaml", "echo vk1", "echo VK1")], "k1 k2 uses_n moded bad end");
    check_edit(&[("child.yaml", "echo vk2", "echo VK2")], "k2 uses_n moded bad end");
    check_edit(&[("r.yaml", "mode: old", "mode: new")], "moded bad end");
    check_edit(
        &[("r.yaml", "  - id: alone\n", "  - id: new\n    command: echo new >>ledger\n  - id: alone\n")],
        "new alone k1 k2 uses_n moded bad end",
    );
    check_edit(
        &[("child.yaml", "  - id: k2\n", "  - id: k3\n    command: echo k3 >>ledger\n  - id: k2\n")],
        "k3 k2 uses_n moded bad end",
    );
}

#[test]
fn steps_after_a_failure_are_pending_again() {
    let env = env("name: r
steps:
  - id: a
    command: echo a >>ledger; [ -e go ]
    continue_on_error: true
  - id: b
    command: echo b >>ledger; [ -e go ]
  - id: c
    command: echo c >>ledger
    depends_on: [b]
");
    assert_eq!(env.run(["r.yaml"]).code, 1);
    env.write("go", "");
    let output = resume(&env, &[]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(env.read("ledger"), "a\nb\nb\nc\n");
    assert_eq!(output.json()["step_results"][2]["status"], "completed");
}
