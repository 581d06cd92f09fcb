//! Values of any size from outside: how agents get them, how a run with them is repeated, how messages quote them.

use testkit::TestEnv;

fn world(agent: &str) -> TestEnv {
    TestEnv::scripted(env!("CARGO_BIN_EXE_recipe-runner-rs"), agent)
}

#[test]
fn a_variable_of_an_agent_step_may_have_any_size() {
    for size in [10, 300_000] {
        let recipe = format!(
            "name: r\ncontext: {{p: {}}}\nsteps:\n  - {{id: b, prompt: q, env: {{MYV: \"{{{{p}}}}\", OTHER: kept}}}}\n",
            "P".repeat(size)
        );
        let env = world("if [ -n \"$MYV_FILE\" ]; then MYV=$(<\"$MYV_FILE\"); fi; echo ${#MYV} $OTHER")
            .file("r.yaml", recipe);
        let output = env.run(["r.yaml", "--output-format", "json"]);
        assert_eq!(output.code, 0, "{}", output.all());
        assert_eq!(output.step("b")["output"], format!("{size} kept"));
        let is_told = output.stderr.contains("`MYV` of its `env`") && output.stderr.contains("MYV_FILE");
        assert_eq!(is_told, size > 10, "{}", output.stderr);
    }
}

/// A run with these values of a context file, done again with the command of its evidence: it sees the same.
fn check_repeated(values: &str, longest: usize) {
    let recipe = "name: r\ncontext: {text: a}\nsteps: [{id: a, command: 'cat \"$RECIPE_CONTEXT_FILE\" >> seen; exit 3'}]\n";
    let env = world("").file("r.yaml", recipe).file("values.json", values);
    let output = env.run(["r.yaml", "--context-file", "values.json", "--output-format", "json"]);
    let command = output.json()["evidence"]["repro_command"].as_str().unwrap_or_default().to_owned();
    assert!(command.len() < longest, "{command:.300}");
    let first = env.read("seen");
    env.write("seen", "");
    let again = env.shell(&format!("cd / && {}", command.replacen("recipe-runner-rs", "\"$RUNNER\"", 1)));
    assert_eq!(again.code, 1, "{command:.300}\n{}", again.all());
    assert_eq!(env.read("seen"), first, "{command:.300}");
}

#[test]
fn a_run_is_repeated_with_the_same_values() {
    let large = format!(r#"{{"p": "{}"}}"#, "P".repeat(300_000));
    for values in [
        r#"{"n": 7}"#,
        r#"{"n": "007"}"#,
        r#"{"n": null}"#,
        r#"{"n": "true", "m": true}"#,
        r#"{"text": 5}"#,
        r#"{"text": "5"}"#,
        r#"{"n": {"k": ["1", 1]}, "plain": "x y"}"#,
        &large,
    ] {
        check_repeated(values, 1000);
    }
}

#[test]
fn values_that_fit_on_a_command_line_need_no_file() {
    let env = world("").file("r.yaml", "name: r\nsteps: [{id: a, command: exit 3}]\n");
    let output = env.run(["r.yaml", "--set", "n=7", "--set", "t=x y", "--output-format", "json"]);
    let command = output.json()["evidence"]["repro_command"].to_string();
    assert!(command.contains("--set n=7") && !command.contains("--context-file"), "{command}");
}

#[test]
fn messages_quote_values_in_brief() {
    for step in ["command: echo, working_dir: '{{p}}'", "prompt: q, working_dir: '{{p}}'", "recipe: '{{p}}'"]
    {
        let env = world("")
            .file("r.yaml", format!("name: r\nsteps: [{{id: a, {step}}}]\n"))
            .file("values.json", format!(r#"{{"p": "{}"}}"#, "P".repeat(300_000)));
        let output = env.run(["r.yaml", "--context-file", "values.json", "--output-format", "json"]);
        assert_eq!(output.code, 1, "{step}");
        let error = output.step("a")["error"].to_string();
        assert!(error.contains("PPP") && error.len() < 2000, "{step}: {error:.3000}");
        assert!(output.stderr.len() < 10_000, "{step}: {}", output.stderr.len());
    }
}
