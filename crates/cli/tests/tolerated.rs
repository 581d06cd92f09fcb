//! Steps that may fail: their values, and the limits of `continue_on_error`.

use testkit::TestEnv;

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
        .file("c.yaml", "name: c\nsteps:\n- {id: k, command: 'echo P; exit 1'}\n")
        .file("late.yaml", "name: late\nsteps:\n- {id: j, command: echo J}\n- {id: k, command: 'exit 1'}\n")
        .file(
            "closed.yaml",
            "name: closed\ninputs: [{name: must, required: true}]\nsteps:\n- {id: k, command: 'true'}\n",
        )
}

/// What `z` sees of a name under which `a` stored `PASS` and then `b`, which fails, something else.
#[track_caller]
fn check(step: &str, expected: &str) {
    let env = env();
    env.write(
        "r.yaml",
        format!(
            "name: r\ncontext: {{word: x, n: 5}}\nsteps:\n- {{id: a, command: echo PASS, output: v}}\n\
             - {{id: b, {step}, output: v, continue_on_error: true}}\n\
             - {{id: gate, command: touch opened, condition: \"v == 'PASS'\"}}\n\
             - {{id: z, command: 'echo \"[{{{{v}}}}]\" >>seen; test -e go'}}\n"
        ),
    );
    let output = env.run(["r.yaml"]);
    assert_eq!((output.code, env.read("seen")), (1, format!("[{expected}]\n")), "{step}: {}", output.all());
    assert!(!env.path("opened").exists(), "{step}: {}", output.all());
    env.write("go", "");
    let output = env.run(["resume", "last"]);
    assert_eq!(output.code, 0, "{step}: {}", output.all());
    assert_eq!(env.read("seen"), format!("[{expected}]\n[{expected}]\n"), "{step}: {}", output.all());
}

#[test]
fn a_failure_that_printed_nothing_leaves_empty_text() {
    for step in [
        "command: 'exit 1'",
        "recipe: c",
        "recipe: late",
        "recipe: closed",
        "command: echo x, working_dir: nope",
        "command: 'echo $(({{word}} + 1))'",
        "command: 'printf \"a\\\\0b\"'",
        "command: echo x, condition: 'n.lower() == 5'",
    ] {
        check(step, "");
    }
}

#[test]
fn a_failure_that_printed_something_leaves_that() {
    check("command: 'echo said; exit 1'", "said");
}

#[test]
fn a_limit_is_not_for_a_step_to_tolerate() {
    let may = "continue_on_error: true";
    let step = |id: &str| format!("- {{id: {id}, command: 'echo {id} >>ledger', {may}}}\n");
    let steps: String = ["a", "b", "c"].map(step).concat();
    let limit = "recursion: {max_total_steps: 2}\n";
    let inner = |limit: &str| format!("name: inner\n{limit}steps:\n{steps}");
    let outer =
        |limit: &str| format!("name: r\n{limit}steps:\n- {{id: n, recipe: inner, {may}}}\n{}", step("z"));
    for (recipe, nested, code, ledger) in [
        (format!("name: r\n{limit}steps:\n{steps}"), inner(""), 1, "a\nb\n"),
        (outer(limit), inner(""), 1, "a\nb\n"),
        // that the recipe of a step has come to its own limit is a failure of the step
        (outer(""), inner(limit), 0, "a\nb\nz\n"),
        // and so is that it lies too deep
        (outer("recursion: {max_depth: 0}\n"), inner(""), 0, "z\n"),
    ] {
        let env = env().file("inner.yaml", &nested);
        let output = env.json(&recipe, &[]);
        assert_eq!(
            (output.code, env.read("ledger")),
            (code, ledger.to_owned()),
            "{recipe}: {}",
            output.all()
        );
        assert!(output.stdout.contains(") exceeded"), "{}", output.all());
        assert_eq!(output.json()["success"], code == 0, "{}", output.all());
    }
}

/// Nor is it for an agent to get round.
#[test]
fn a_limit_is_not_offered_to_recovery() {
    let inner = |limit: &str| {
        format!("name: inner\n{limit}steps:\n- {{id: x, command: 'true'}}\n- {{id: y, command: 'true'}}\n")
    };
    let outer = |limit: &str| {
        format!("name: r\n{limit}steps:\n- {{id: o, recipe: inner, recovery_on_failure: true}}\n")
    };
    let limit = "recursion: {max_total_steps: 1}\n";
    for (recipe, nested, code) in [(outer(limit), inner(""), 1), (outer(""), inner(limit), 0)] {
        let env = env().agent("claude", "result 'STATUS: COMPLETE'").file("inner.yaml", &nested);
        let output = env.json(&recipe, &[]);
        assert_eq!((output.code, env.calls()), (code, 1 - code as usize), "{}", output.all());
    }
}
