//! The messages about failed sub-recipes, and the files that they leave.

use testkit::TestEnv;

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

#[test]
fn a_dynamic_recipe_reports_all_its_problems_with_their_places() {
    let env = env();
    env.write(
        "bad.yaml",
        "name: bad\nsteps:\n- {id: a, comand: 'true'}\n- {id: b, command: 'true', condition: 'x ='}\n",
    );
    let output = env.json("name: r\ncontext: {which: bad}\nsteps:\n- {id: s, recipe: '{{which}}'}\n", &[]);
    let error = output.step("s")["error"].as_str().unwrap_or_default().to_owned();
    for part in ["Sub-recipe 'bad' failed", "[error]", "bad.yaml:3:", "`comand`", "bad.yaml:4:"] {
        assert!(error.contains(part), "{part}: {error}");
    }
}

#[test]
fn every_failed_member_of_a_group_in_a_sub_recipe_is_reported() {
    let env = env();
    env.write(
        "c.yaml",
        "name: c\nsteps:\n- {id: p1, parallel_group: g, command: 'echo one >&2; exit 3'}\n- {id: ok, parallel_group: g, command: 'true'}\n- {id: p2, parallel_group: g, command: 'echo two >&2; exit 4'}\n",
    );
    let output = env.json("name: r\nsteps:\n- {id: s, recipe: c}\n", &[]);
    let error = output.step("s")["error"].as_str().unwrap_or_default().to_owned();
    for part in [
        "Sub-recipe 'c' failed at step 'p1': [error] bash step failed: exit code 3",
        "one",
        "at step 'p2': [error] bash step failed: exit code 4",
        "two",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert!(!error.contains("'ok'"), "{error}");
}

#[test]
fn a_failed_recipe_is_named_as_the_step_calls_it() {
    let env = env();
    env.write("mixed.yaml", "name: Mixed Name\nsteps:\n- {id: k, command: 'exit 3'}\n");
    for recipe in ["mixed", "./mixed.yaml", "{{which}}"] {
        let output = env.json(
            &format!("name: r\ncontext: {{which: mixed}}\nsteps:\n- {{id: s, recipe: '{recipe}'}}\n"),
            &[],
        );
        let error = output.step("s")["error"].as_str().unwrap_or_default().to_owned();
        let called = if recipe.starts_with('{') { "mixed" } else { recipe };
        assert!(error.starts_with(&format!("Sub-recipe '{called}' failed at step 'k'")), "{error}");
    }
}

#[test]
fn hooks_and_sub_recipes_leave_no_copies_of_the_context() {
    let env = env();
    env.write("c.yaml", "name: c\nsteps:\n- {id: k, command: 'head -c 20000 /dev/zero | tr \"\\0\" x'}\n");
    let calls: String = (0..8).map(|n| format!("- {{id: s{n}, recipe: c}}\n")).collect();
    env.write(
        "r.yaml",
        format!("name: r\nhooks: {{pre_step: 'true', post_step: 'test -s \"$RECIPE_CONTEXT_FILE\" && touch seen'}}\nsteps:\n{calls}"),
    );
    assert_eq!(env.run(["r.yaml"]).code, 0);
    assert!(env.path("seen").exists());
    let left = env.shell(
        "find \"$RECIPE_RUNNER_HOME\"/runs -name '*context.json' -o -path '*/contexts/*' -name '*.json'",
    );
    let mut left: Vec<&str> = left.stdout.lines().collect();
    left.retain(|file| !file.ends_with("contexts/0.json"));
    assert!(left.is_empty(), "{left:?}");
}
