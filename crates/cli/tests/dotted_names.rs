//! Names that contain dots, paths below them, and dotted names that mean a member.

use testkit::TestEnv;

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

const KID: &str = "name: kid\nsteps:\n  - {id: k, command: echo K}\n  - {id: o, command: echo XY, output: x.y}\n  - {id: j, command: 'echo [7]', output: x.j, parse_json: true}\n";

#[test]
fn a_path_continues_after_a_name_with_dots() {
    let recipe = |check: &str| {
        format!(
            r#"
name: r
context: {{a.b: {{c: X, l: [1, 2]}}, t.u: [5, 6]}}
steps:
  - {{id: v1.2, command: 'echo ''{{"z": [1]}}''', parse_json: true}}
  - {{id: plain, command: 'echo ''{{"z": [1]}}''', output: a.n}}
  - {{id: kid.1, recipe: kid}}
  - {{id: s, recipe: kid}}
  - id: check
{check}
"#
        )
    };
    for (path, expected) in [
        ("a.b.c", "X"),
        ("a.b.l[1]", "2"),
        ("a.b.l.length", "2"),
        ("t.u[0]", "5"),
        ("t.u.length", "2"),
        ("v1.2.z", "[1]"),
        ("v1.2.z[0]", "1"),
        ("a.n.z[0]", "1"),
        ("kid.1.k", "K"),
        ("kid.1.x.y", "XY"),
        ("s.k", "K"),
        ("s.x.y", "XY"),
        ("s.x.j[0]", "7"),
    ] {
        let env = env().file("kid.yaml", KID);
        let command =
            format!("    command: \"echo {{{{{path}}}}}\"\n    condition: \"{path} == '{expected}'\"");
        let command = command.replace("'[1]'", "[1]");
        // reading inside plain text works, with a warning
        let arguments: &[&str] = if path.starts_with("a.n") { &[] } else { &["--strict"] };
        let output = env.json(&recipe(&command), arguments);
        assert_eq!(
            (output.code, &output.step("check")["output"]),
            (0, &expected.into()),
            "{path}\n{}",
            output.all()
        );
    }
    let env = env().file("kid.yaml", KID);
    let command = "    command: 'echo {{a.b.c}} $RECIPE_VAR_a__b__c $A_B_C $RECIPE_VAR_v1__2__z {{v1.2.z}}'";
    let output = env.json(&recipe(command), &[]);
    assert_eq!(output.step("check")["output"], "X X X [1] [1]", "{}", output.all());
}

#[test]
fn a_dotted_name_that_is_given_changes_the_member() {
    let show = "'echo {{a.b}} {{a.c}} $A_B $RECIPE_VAR_a__b {{#if a.b}}yes{{/if}}'";
    let own = format!("name: r\ncontext: {{a: {{b: 1, c: 2}}}}\nsteps: [{{id: s, command: {show}}}]\n");
    let calls = |given: &str| {
        format!(
            "name: r\ncontext: {{a: {{b: 1, c: 2}}}}\nsteps:\n  - {{id: n, recipe: kid, context: {given}}}\n  - {{id: after, command: 'echo {{{{a.b}}}}'}}\n"
        )
    };
    for (recipe, arguments, path, expected) in [
        (own.clone(), vec!["--set", "a.b=9"], "s", "9 2 9 9 yes"),
        (own.clone(), vec!["--context-file", "dotted.json"], "s", "9 2 9 9 yes"),
        (own.clone(), vec!["--context-file", "both.json"], "s", "9 3 9 9 yes"),
        (own.clone(), vec!["--context-file", "dotted.json", "--set", "a.b=8"], "s", "8 2 8 8 yes"),
        (calls("{a.b: 9}"), vec![], "n/s", "9 2 9 9 yes"),
        (calls("{a.b: '{{a.c}}'}"), vec![], "n/s", "2 2 2 2 yes"),
        (calls("{a.b: 9, a: {c: 4}}"), vec![], "n/s", "9 4 9 9 yes"),
        (calls("{a.b: 9}"), vec![], "after", "1"),
        (calls("{a: text, a.b: 9}"), vec![], "n/s", "9  9 9 yes"),
    ] {
        let env = env()
            .file("dotted.json", r#"{"a.b": 9}"#)
            .file("both.json", r#"{"a.b": 9, "a": {"b": 1, "c": 3}}"#)
            .file(
                "kid.yaml",
                format!("name: kid\ncontext: {{a: {{}}}}\nsteps: [{{id: s, command: {show}}}]\n"),
            );
        let output = env.json(&recipe, &arguments);
        let step = output.step(path);
        assert_eq!((output.code, &step["output"]), (0, &expected.into()), "{recipe}\n{}", output.all());
    }
}

#[test]
fn changes_of_a_call_in_a_map_do_not_come_back() {
    let env = env().file(
        "kid.yaml",
        "name: kid\ncontext: {a: {b: 1}, d: 2}\nsteps: [{id: k, command: 'echo {{a.b}}'}]\n",
    );
    let recipe = "name: r\nsteps:\n  - {id: n, recipe: kid, context: {a.b: 9}}\n  - {id: after, command: 'echo {{k}} {{d}} [{{a.b}}]'}\n";
    let output = env.json(recipe, &[]);
    assert_eq!(output.step("after")["output"], "9 2 []", "{}", output.all());
}
