//! Hooks: when they run, the values that they see, and that their failure changes nothing.

use serde_json::json;
use testkit::TestEnv;

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

const HOOKED: &str = r#"
name: hooked
context: {v: "it's"}
hooks:
  pre_step: echo "pre {{step_id}} {{step_type}} {{step_status}} [{{step_error}}] {{recipe_name}} $STEP_ID $STEP_TYPE $RECIPE_NAME {{v}}" >> hooks
  post_step: echo "post {{step_id}} {{step_status}} $STEP_STATUS" >> hooks
  on_error: echo "error {{step_id}} {{step_status}} $(echo "$STEP_ERROR" | head -1)" >> hooks; test -n "{{run_id}}" && test "$RUN_ID" = '{{run_id}}' && echo same >> hooks
steps:
  - {id: a, command: echo A}
  - {id: skipped, command: 'true', condition: "false"}
  - {id: tagged, command: 'true', when_tags: [t]}
  - {id: b, command: exit 3}
  - {id: c, command: 'true'}
"#;

#[test]
fn hooks_have_the_whole_context() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"));
    let hook =
        "grep -q \\\"v\\\" $RECIPE_CONTEXT_FILE && cmp $RECIPE_CONTEXT_FILE $AMPLIHACK_CONTEXT_FILE && touch";
    let recipe = format!(
        "name: r\ncontext: {{v: 1}}\nhooks: {{pre_step: \"{hook} before\", post_step: \"{hook} after\"}}\nsteps: [{{id: s, command: 'true'}}]\n"
    );
    let output = env.json(&recipe, &[]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert!(env.path("before").exists() && env.path("after").exists(), "{}", output.all());
}

/// D10
#[test]
fn a_step_that_needs_a_person_has_not_failed() {
    let env = env().file(
        "inner.yaml",
        "name: inner\nsteps: [{id: k, command: exit 75, exit_codes: {75: needs_human}}]\n",
    );
    let recipe =
        "name: r\nhooks: {on_error: touch hook}\nsteps: [{id: n, recipe: inner}, {id: b, command: 'true'}]\n";
    let output = env.text(recipe, &[]);
    assert_eq!(output.code, 6, "{}", output.all());
    let line = |text: &str| assert!(output.stderr.contains(text), "{text}: {}", output.stderr);
    line("n/k] waiting for a person (exit code 75)\n");
    line("n] waiting for a person\n");
    line("[recipe r] waiting after ");
    line("1 waiting, 1 pending\n");
    assert!(!output.stderr.contains("failed"), "{}", output.stderr);
    assert!(!env.path("hook").exists());
    // a failure that the recipe tolerates waits for no person
    let tolerated = "name: r\nsteps: [{id: a, command: exit 75, exit_codes: {75: needs_human}, continue_on_error: true}]\n";
    let output = env.text(tolerated, &[]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert!(output.stderr.contains("a] failed after "), "{}", output.stderr);
}

#[test]
fn hooks_know_their_step_and_run_only_for_dispatched_ones() {
    let env = env();
    let output = env.json(HOOKED, &["--exclude-tags", "t"]);
    assert_eq!(output.code, 1);
    let hooks = std::fs::read_to_string(env.path("hooks")).unwrap_or_default();
    assert_eq!(
        hooks,
        "pre a bash running [] hooked a bash hooked it's\npost a completed completed\npre b bash running [] hooked b bash hooked it's\nerror b failed bash step failed: exit code 3, no output\nsame\n",
        "{}",
        output.all()
    );
    let dry = TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"));
    assert_eq!(dry.json(HOOKED, &["--dry-run"]).code, 0);
    assert!(!dry.path("hooks").exists());
}

#[test]
fn hooks_see_the_value_of_their_step() {
    for (steps, expected) in [
        ("[{id: a, command: echo ok, output: res}]", "post [ok] [ok] [ok]\n"),
        (
            "[{id: a, command: echo ok, output: res}, {id: b, command: echo on, output: res}]",
            "post [ok] [ok] [ok]\npost [on] [on] [on]\n",
        ),
        (
            "[{id: a, command: echo part; exit 1, output: res, continue_on_error: true}]",
            "error [part] [part] [part]\n",
        ),
        ("[{id: a, command: echo lost; exit 1, output: res}]", "error [] [] []\n"),
        ("[{id: a, recipe: child, output: res}]", "post [deep] [deep] [deep]\n"),
        // a member of a group sees the context from before the group
        ("[{id: a, command: echo ok, output: res, parallel_group: g}]", "post [ok] [ok] [ok]\n"),
    ] {
        let env = env();
        env.write("child.yaml", "name: child\nsteps: [{id: x, command: echo deep}]\n");
        let show = |name: &str| format!("echo \"{name} [{{{{res}}}}] [$RES] [$RECIPE_VAR_res]\" >> hooks");
        let (post, error) = (show("post"), show("error"));
        let recipe = format!("name: r\nhooks:\n  post_step: {post}\n  on_error: {error}\nsteps: {steps}\n");
        let output = env.json(&recipe, &[]);
        let hooks = std::fs::read_to_string(env.path("hooks")).unwrap_or_default();
        assert_eq!(hooks, expected, "{steps}\n{}", output.all());
    }
}

#[test]
fn a_failing_hook_is_reported_and_changes_nothing() {
    for hook in ["pre_step", "post_step"] {
        let recipe = format!(
            "name: r\nhooks: {{{hook}: 'echo broken >&2; exit 7'}}\nsteps: [{{id: s, command: echo ok}}, {{id: t, command: echo ok}}]\n"
        );
        let output = env().json(&recipe, &[]);
        let status = |step: &str| output.step(step)["status"].clone();
        assert_eq!(
            (output.code, status("s"), status("t")),
            (0, "completed".into(), "completed".into()),
            "{hook}"
        );
        assert!(output.stderr.contains(hook) && output.stderr.contains("exit code 7"), "{}", output.all());
    }
    let recipe = "name: r\nhooks: {on_error: exit 7}\nsteps: [{id: s, command: exit 3}]\n";
    let output = env().json(recipe, &[]);
    assert_eq!((output.code, output.step("s")["exit_code"].clone()), (1, json!(3)));
}

#[test]
fn hook_values_cannot_break_out() {
    let env = env();
    let recipe = "name: r\nhooks: {on_error: 'printf %s \"{{step_error}}\" > error; printf %s ''{{step_error}}'' > error2'}\nsteps:\n  - {id: s, command: 'echo \"\\$(touch pwned) `touch pwned`\" >&2; echo \"; touch pwned\" >&2; exit 1'}\n";
    let output = env.json(&recipe.replace("`touch pwned`", "\\`touch pwned\\`"), &[]);
    assert_eq!(output.code, 1);
    assert!(!env.path("pwned").exists(), "{}", output.all());
    let error = output.step("s")["error"].as_str().unwrap_or_default().to_owned();
    for file in ["error", "error2"] {
        assert_eq!(std::fs::read_to_string(env.path(file)).unwrap_or_default(), error);
    }
}

#[test]
fn a_hook_gets_the_error_of_its_step() {
    for (command, limit, expected) in [
        (r#"printf "x\0y" >&2; exit 1"#, "8192", "x\u{fffd}y"),
        ("head -c 300000 /dev/zero | tr '\\0' z >&2; exit 1", "500000", "zzzzzzzz"),
    ] {
        let env = env().env("AMPLIHACK_RECIPE_SNIPPET_BYTES", limit);
        env.write(
            "r.yaml",
            format!("name: r\nhooks:\n  on_error: printf %s \"$STEP_ERROR\" > told; printf %s {{{{step_error}}}} > rendered\nsteps:\n- id: a\n  command: |\n    {command}\n"),
        );
        let output = env.run(["r.yaml"]);
        assert_eq!(output.code, 1, "{}", output.all());
        for file in ["told", "rendered"] {
            assert!(env.read(file).contains(expected), "{file}: {}", output.stderr);
        }
    }
}

#[test]
fn equal_failures_of_a_hook_are_shown_once_and_counted() {
    let env = env();
    let recipe = "
name: r
hooks: {post_step: 'echo no pager >&2; exit 7', on_error: exit 8}
steps:
  - {id: a, command: 'true'}
  - {id: b, command: 'true'}
  - {id: c, command: 'true'}
  - {id: d, command: exit 3}
";
    for arguments in [&["--progress"][..], &["--quiet"]] {
        let shown = env.text(recipe, arguments).stderr;
        let warnings: Vec<&str> = shown.lines().filter(|line| line.contains("warning: hook")).collect();
        let [first, failed, counted] = warnings[..] else { panic!("{shown}") };
        assert!(first.ends_with("a] warning: hook post_step failed: exit code 7: no pager"), "{shown}");
        assert!(failed.ends_with("d] warning: hook on_error failed: exit code 8"), "{shown}");
        assert_eq!(
            counted, "[run] warning: hook post_step failed 2 more times: exit code 7: no pager",
            "{shown}"
        );
    }
    let notes = env.run(["show", "last", "--output-format", "json"]).json()["evidence"]["notes"].clone();
    assert_eq!(notes.as_array().map(Vec::len), Some(4), "{notes}");
}
