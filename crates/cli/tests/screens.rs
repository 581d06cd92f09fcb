//! What people see: output of steps, failures in few lines, GitHub Actions.

use testkit::{Output, TestEnv};

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

fn steps(steps: &str) -> String {
    format!("name: r\nsteps:\n{steps}\n")
}

/// The lines of the failure report, on a screen of 80 columns.
#[track_caller]
fn failure(env: TestEnv, recipe: &str, arguments: &[&str]) -> Vec<String> {
    let env = env.env("COLUMNS", "80");
    let arguments: Vec<&str> = ["--quiet"].into_iter().chain(arguments.iter().copied()).collect();
    let output = env.text(recipe, &arguments);
    let lines: Vec<String> = env.stable(&output.stderr).lines().map(str::to_owned).collect();
    assert!(lines.len() <= 12, "{} lines:\n{}", lines.len(), output.all());
    for line in output.stderr.lines() {
        let is_one_word = !line.trim().contains(' ') || line.trim().starts_with('\'');
        assert!(line.chars().count() <= 80 || is_one_word, "too wide: {line}");
    }
    lines
}

#[track_caller]
fn has(lines: &[String], expected: &[&str]) {
    for part in expected {
        assert!(lines.iter().any(|line| line.contains(part)), "no `{part}` in\n{}", lines.join("\n"));
    }
}

#[track_caller]
fn has_not(output: &Output, parts: &[&str]) {
    for part in parts {
        assert!(!output.stderr.contains(part), "{part}\n{}", output.all());
    }
}

#[test]
fn what_steps_write_to_stderr_is_shown() {
    let recipe = steps("- {id: a, command: 'echo out; echo warn >&2; printf half >&2'}");
    let output = env().text(&recipe, &[]);
    assert!(output.stderr.contains("! warn\n! half\n"), "{}", output.all());
    assert!(output.stdout.starts_with("out\n"), "{}", output.all());
    let quiet = env().text(&recipe, &["--quiet"]);
    assert_eq!(quiet.stderr, "", "{}", quiet.all());
    let json = env().json(&recipe, &[]);
    assert!(!json.stderr.contains("warn"), "{}", json.all());
}

#[test]
fn lines_of_parallel_steps_have_labels() {
    let recipe = steps(
        "- {id: lint, command: 'echo l1; echo l2 >&2', parallel_group: g}\n\
         - {id: unit, command: 'printf u1', parallel_group: g}\n\
         - {id: alone, command: echo a1}",
    );
    let output = env().text(&recipe, &[]);
    for line in ["lint │ l1\n", "unit │ u1\n", "\na1\n"] {
        assert!(output.stdout.contains(line), "{line}\n{}", output.all());
    }
    assert!(output.stderr.contains("lint ! l2\n"), "{}", output.all());
}

#[test]
fn a_failure_of_a_sub_recipe_names_the_whole_path() {
    let env = env()
        .file("mid.yaml", "name: mid\nsteps: [{id: b, recipe: leaf}]\n")
        .file("leaf.yaml", "name: leaf\nsteps: [{id: c, command: 'echo broken >&2; exit 254'}]\n");
    let lines = failure(env, &steps("- {id: a, recipe: mid}"), &[]);
    has(
        &lines,
        &[
            "error: failed at a/b/c: exit code 254 (after",
            "  stderr: broken",
            "  logs:    recipe-runner-rs logs RUN-1 a/b/c",
        ],
    );
}

#[test]
fn all_failed_steps_of_a_group_are_shown_with_their_own_output() {
    let recipe = steps(
        "- {id: lint, command: exit 3, parallel_group: g}\n\
         - {id: unit, command: 'echo 2 tests failed >&2; exit 4', parallel_group: g}\n\
         - {id: tool, command: no-such-tool, parallel_group: g}",
    );
    let lines = failure(env(), &recipe, &[]);
    has(
        &lines,
        &[
            "error: failed at lint: exit code 3, no output",
            "error: failed at unit: exit code 4",
            "  stderr: 2 tests failed",
            "error: failed at tool: exit code 127: `no-such-tool` is not installed",
        ],
    );
}

#[test]
fn sixty_failures_fit_on_a_screen() {
    let list: Vec<String> = (0..60).map(|at| at.to_string()).collect();
    let recipe = steps(&format!(
        "- {{id: r, for_each: [{}], keep_going: true, command: 'echo no {{{{item}}}} >&2; exit 3'}}",
        list.join(", ")
    ));
    let lines = failure(env(), &recipe, &[]);
    has(
        &lines,
        &["error: failed at r[0]: exit code 3", "  stderr: no 0", "more steps failed: r[", "  resume:"],
    );
}

#[test]
fn long_lines_wrap_at_words_and_commands_stay_commands() {
    let long = "word ".repeat(200);
    let recipe = steps(&format!("- {{id: a, command: 'echo {long} >&2; echo {}; exit 1'}}", "x".repeat(500)));
    let dir = "a directory with blanks/and a long name that does not fit on one line of a screen";
    let env = env();
    let state = env.path(dir).display().to_string();
    let lines = failure(env, &recipe, &["--state-dir", &state]);
    assert!(
        lines.iter().all(|line| !line.ends_with("wor") && !line.contains("wo …")),
        "{}",
        lines.join("\n")
    );
    has(&lines, &["recipe-runner-rs resume ", " --state-dir \\"]);
}

#[test]
fn other_failures_are_short_too() {
    let ensured = "- {id: w, command: echo hi, ensure: [{file: out.txt}, {command: 'false'}]}";
    has(
        &failure(env(), &steps(ensured), &[]),
        &["error: failed at w: ensure: 2 of 2 rules are not met", "- file: "],
    );
    let slow = "- {id: s, command: 'echo waiting for db >&2; sleep 60', timeout: 1}";
    has(
        &failure(env(), &steps(slow), &[]),
        &["error: failed at s: timed out after 1 s", "  stderr: waiting for db"],
    );
    let hooked = "name: r\nhooks: {on_error: exit 9}\nsteps: [{id: a, command: exit 1}]\n";
    has(
        &failure(env(), hooked, &[]),
        &["hook on_error failed", "error: failed at a: exit code 1, no output"],
    );
    let lacking = "name: rel\nenv: {required: [TOKEN_X, TOKEN_Y]}\nsteps: [{id: a, command: 'true'}]\n";
    has(
        &failure(env(), lacking, &[]),
        &["error: cannot start `rel`:", "- environment variables `TOKEN_X`, `TOKEN_Y` are not set"],
    );
    let waiting = "- {id: ok, command: 'echo create the file; exit 75', exit_codes: {75: needs_human}}";
    has(&failure(env(), &steps(waiting), &[]), &["⏸ ok is waiting for you: create the file", "  resume:  "]);
}

#[test]
fn names_for_programs_stay_in_json() {
    let recipe = steps("- {id: g, command: 'test -e nothing'}");
    let output = env().text(&recipe, &["--verbose"]);
    has_not(&output, &["verification", "confidence", "bash step failed"]);
    let likely = "likely cause: `g` found a real problem. Fix the code, not the check\n";
    assert!(output.stderr.contains(likely), "{}", output.all());
    let unknown = env().text(&steps("- {id: g, command: exit 9}"), &[]);
    has_not(&unknown, &["likely cause", "unknown"]);
    let json = env().json(&recipe, &[]);
    assert_eq!(json.json()["diagnosis"]["class"], "verification");
    assert!(
        json.step("g")["error"].as_str().unwrap_or_default().starts_with("bash step failed: exit code 1")
    );
}

/// A world inside a workflow of GitHub Actions.
fn in_actions() -> TestEnv {
    let env = env();
    let (workspace, summary) =
        (env.dir().display().to_string(), env.path("summary.md").display().to_string());
    env.env("GITHUB_ACTIONS", "true").env("GITHUB_WORKSPACE", &workspace).env("GITHUB_STEP_SUMMARY", &summary)
}

#[test]
fn github_actions_gets_groups_annotations_and_a_summary() {
    let env = in_actions().file(
        "sub.yaml",
        "name: sub\nsteps:\n- id: k\n  command: |\n    echo '50% broken' >&2\n    exit 3\n",
    );
    let recipe = "name: r\nsteps:\n- {id: a, command: echo hi}\n- {id: p, command: echo p, parallel_group: g}\n- {id: q, command: echo q, parallel_group: g}\n- {id: s, recipe: sub}\n";
    let output = env.text(recipe, &[]);
    assert_eq!(output.code, 1, "{}", output.all());
    let err = &output.stderr;
    for part in [
        "::group::[step 01/04 a] started (bash)\n::endgroup::\n[step 01/04 a] completed",
        "[step 02/04 p] started (bash)\n",
        "::group::[step 01/01 s/k] started (bash)\n! 50% broken\n::endgroup::\n[step 01/01 s/k] failed",
        "::error file=sub.yaml,line=3::failed at s/k: exit code 3\n",
    ] {
        assert!(err.contains(part), "{part}\n{}", output.all());
    }
    assert_eq!(err.matches("::group::").count(), err.matches("::endgroup::").count());
    let summary = env.read("summary.md");
    for part in [
        "### ✗ r: failed after ",
        "| a | ✓ completed | ",
        "| s/k | ✗ failed: exit code 3 | ",
        "stderr: 50% broken",
    ] {
        assert!(summary.contains(part), "{part}\n{summary}");
    }
    let again = env.text("name: fine\nsteps: [{id: a, command: 'true'}]\n", &[]);
    assert_eq!(again.code, 0, "{}", again.all());
    assert!(
        env.read("summary.md").starts_with(&summary)
            && env.read("summary.md").contains("### ✓ fine: completed in ")
    );
    let invalid = env.text("name: r\nsteps:\n- {id: a, comand: x}\n", &[]);
    assert!(
        invalid.stderr.contains("\n::error file=") && invalid.stderr.contains(",line=3::"),
        "{}",
        invalid.all()
    );
}

#[test]
fn nothing_is_said_to_a_workflow_that_is_not_there() {
    let output = env().text(&steps("- {id: a, command: exit 1}"), &[]);
    has_not(&output, &["::group::", "::error"]);
}

#[test]
fn an_interrupted_step_has_a_line_of_its_own() {
    let recipe = steps("- {id: a, command: echo done}\n- {id: n, recipe: inner}");
    let inner = steps("- {id: b, command: 'printf half; echo x > up; sleep 60'}");
    for (arguments, expected) in [
        (&["r.yaml"][..], "[step 01/01 n/b] interrupted after "),
        (&["r.yaml", "--progress"], "\n■ n/b (1/1) interrupted after "),
    ] {
        let env = env().file("r.yaml", &recipe).file("inner.yaml", &inner);
        let started = env.spawn(arguments.iter().copied());
        env.wait_for("up");
        started.signal("INT");
        let output = started.wait();
        assert_eq!(output.code, 130, "{}", output.all());
        assert_eq!(output.stderr.matches(expected).count(), 1, "{}", output.all());
    }
    // the summary of GitHub Actions does not call it running
    let env = env().env("GITHUB_ACTIONS", "true").env("GITHUB_STEP_SUMMARY", "summary.md");
    let env = env.file("r.yaml", &recipe).file("inner.yaml", &inner);
    let started = env.spawn(["r.yaml"]);
    env.wait_for("up");
    started.signal("INT");
    let output = started.wait();
    let summary = env.read("summary.md");
    assert!(summary.contains("| n/b | ■ interrupted |"), "{summary}{}", output.all());
    assert!(output.stderr.contains("::endgroup::"), "{}", output.all());
}

/// D10: waiting is not failing, also where runs are listed.
#[test]
fn a_run_that_waits_for_a_person_is_not_called_failed() {
    let inner = steps("- {id: k, command: 'echo please look; exit 75', exit_codes: {75: needs_human}}");
    let env = env().file("inner.yaml", inner);
    assert_eq!(env.text(&steps("- {id: n, recipe: inner}"), &[]).code, 6);
    let runs = env.run(["runs"]);
    assert!(runs.stdout.contains("`n/k` is waiting for a person (exit code 75)"), "{}", runs.all());
    let waiting = env.run(["waiting"]);
    for part in ["n/k: waiting for a person (exit code 75)", "please look"] {
        assert!(waiting.stdout.contains(part), "{part}: {}", waiting.all());
    }
    assert!(!runs.all().contains("failed") && !waiting.all().contains("failed"), "{}", waiting.all());
}
