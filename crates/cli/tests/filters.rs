//! Processes that pass on a step's output, as `exec > >(tee log)` starts them: the step ends after them.

use testkit::TestEnv;

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

/// A header that many scripts begin with: a filter gets everything, and writes it a moment later.
#[test]
fn filtered_output_is_part_of_the_value() {
    let recipe = r#"name: r
steps:
  - id: version
    command: |
      exec > >(sleep 0.3; tee -a build.log) 2>&1
      echo 1.4.2
  - id: checked
    command: |
      exec 2> >(sleep 0.3; tee -a err.log >&2)
      echo "no such version {{version}}" >&2
      exit 3
    continue_on_error: true
  - id: tag
    command: echo "v{{version}}"
"#;
    let output = env().json(recipe, &[]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(output.step("tag")["output"], "v1.4.2", "{}", output.all());
    let error = output.step("checked")["error"].to_string();
    assert!(error.contains("no such version 1.4.2"), "{error}");
}

/// What it printed was not all there: it is not done.
#[test]
fn a_step_that_is_stopped_while_a_filter_copies_is_done_again() {
    let env = env().file(
        "r.yaml",
        "name: r\nsteps:\n  - id: a\n    command: |\n      exec > >(test -e go || sleep 60; cat)\n      echo hi; echo up >up\n  - {id: z, command: 'printf \"[%s]\" {{a}}'}\n",
    );
    let started = env.spawn(["r.yaml"]);
    env.wait_for("up");
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(env.run(["cancel", "last"]).code, 0);
    drop(started);
    env.write("go", "");
    let output = env.run(["resume", "last", "--output-format", "json"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(output.step("z")["output"], "[hi]", "{}", output.all());
}

#[test]
fn a_slow_filter_is_reported_and_a_server_is_not_awaited() {
    let env = env();
    let slow = "name: r\nsteps:\n  - id: a\n    timeout: 0.5\n    command: |\n      exec > >(sleep 60; cat)\n      echo hi\n";
    let output = env.json(slow, &[]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert!(
        output.json()["evidence"]["notes"].to_string().contains("forwards the step's output"),
        "{}",
        output.all()
    );
    // it reads from a pipe without a writer, and prints nothing here
    let server = "name: r\nsteps:\n  - id: a\n    command: |\n      coproc S { sleep 60 >/dev/null 2>&1; }\n      echo up\n";
    let output = env.json(server, &[]);
    assert_eq!(output.json()["evidence"]["notes"].to_string(), "[]", "{}", output.all());
    assert!(output.step("a")["duration"].as_f64().is_some_and(|seconds| seconds < 4.0), "{}", output.all());
}
