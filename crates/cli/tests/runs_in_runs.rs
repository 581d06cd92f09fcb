//! Runs that steps of other runs start, at any depth: they belong to the run around them.

use testkit::TestEnv;

/// A world in which runs may be nested deeply.
fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs")).env("AMPLIHACK_MAX_DEPTH", "10")
}

/// A recipe that writes a line, and starts another recipe until `n` is 0.
fn caller(name: &str, called: &str) -> String {
    format!(
        "name: {name}\ncontext: {{n: 0}}\nsteps:\n  - id: call\n    command: |\n      echo {name} >> ran\n      [ \"$N\" -eq 0 ] || exec \"$RECIPE_RUNNER_EXE\" {called}.yaml --set n=$((N - 1))\n"
    )
}

#[test]
fn a_recipe_may_start_itself_at_any_depth() {
    let env = env().file("self.yaml", caller("self", "self"));
    let output = env.run(["self.yaml", "--set", "n=5"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(env.read("ran").lines().count(), 6);
}

#[test]
fn recipes_may_start_each_other_in_turn() {
    let env = env().file("a.yaml", caller("a", "b")).file("b.yaml", caller("b", "a"));
    let output = env.run(["a.yaml", "--set", "n=4"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(env.read("ran"), "a\nb\na\nb\na\n");
}

#[test]
fn agents_may_start_the_recipe_that_asks_them() {
    let script =
        "[ \"$N\" -eq 0 ] || \"$RECIPE_RUNNER_EXE\" r.yaml --quiet --set n=$((N - 1)) >&2 || exit 1; echo ok";
    let env = env().agent("claude", script).file(
        "r.yaml",
        "name: r\ncontext: {n: 0}\nsteps:\n  - {id: ask, prompt: go, agent_binary: claude}\n",
    );
    let output = env.run(["r.yaml", "--set", "n=3"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(env.calls(), 4);
}

#[test]
fn a_run_from_outside_is_still_a_conflict() {
    let wait = "name: self\ncontext: {n: 0}\nsteps:\n  - id: call\n    command: |\n      [ \"$N\" -eq 0 ] || exec \"$RECIPE_RUNNER_EXE\" self.yaml --set n=$((N - 1))\n      echo x > deepest; while [ ! -e go ]; do sleep 0.02; done\n";
    let env = env().file("self.yaml", wait);
    let first = env.spawn(["self.yaml", "--set", "n=3"]);
    env.wait_for("deepest");
    let outermost = env.run_ids().remove(0);
    let other = env.run(["self.yaml"]);
    env.write("go", "");
    assert_eq!(first.wait().code, 0);
    assert_eq!(other.code, 7, "{}", other.all());
    assert!(other.stderr.contains(&outermost), "{}", other.all());
}

#[test]
fn members_of_a_group_may_start_the_recipe_around_them_but_not_the_same_one_beside_them() {
    let group = "name: a\ncontext: {n: 1}\nsteps:\n  - {id: one, parallel_group: g, condition: n, command: '\"$RECIPE_RUNNER_EXE\" a.yaml --set n=0'}\n  - {id: two, parallel_group: g, condition: n, command: '\"$RECIPE_RUNNER_EXE\" a.yaml --set n=0'}\n  - {id: leaf, condition: not n, command: 'echo x >> ran; while [ $(wc -l < ran) -lt 2 ]; do sleep 0.02; done'}\n";
    let both = env().file("a.yaml", group);
    let output = both.run(["a.yaml"]);
    assert_eq!(output.code, 0, "{}", output.all());

    let siblings = "name: p\nsteps:\n  - {id: one, parallel_group: g, command: '\"$RECIPE_RUNNER_EXE\" c.yaml'}\n  - {id: two, parallel_group: g, command: 'while [ ! -e began ]; do sleep 0.02; done; \"$RECIPE_RUNNER_EXE\" c.yaml; echo $? > code; touch go'}\n";
    let child =
        "name: c\nsteps:\n  - {id: wait, command: 'touch began; while [ ! -e go ]; do sleep 0.02; done'}\n";
    let beside = env().file("p.yaml", siblings).file("c.yaml", child);
    let output = beside.run(["p.yaml"]);
    assert_eq!((output.code, beside.read("code").trim()), (0, "7"), "{}", output.all());
}
