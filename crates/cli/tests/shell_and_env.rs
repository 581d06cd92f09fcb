//! How commands run (`shell`), and the environment that a recipe gives its steps (`env.set`).

use testkit::TestEnv;

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

#[test]
fn d4_a_strict_command_ends_at_its_first_failure() {
    for command in ["false\\ntouch ran", "false | true; touch ran", "echo $NOWHERE_AT_ALL; touch ran"] {
        let strict = format!("name: r\nshell: strict\nsteps: [{{id: a, command: \"{command}\"}}]\n");
        let world = env().file("r.yaml", &strict);
        let output = world.run(["r.yaml"]);
        assert_eq!(output.code, 1, "{command}: {}", output.all());
        assert!(!world.path("ran").exists(), "{command}");
        let plain = strict.replace("shell: strict", "shell: bash");
        let world = env().file("r.yaml", &plain);
        assert_eq!(world.run(["r.yaml"]).code, 0, "{command}");
        assert!(world.path("ran").exists(), "{command}");
    }
}

#[test]
fn d4_a_step_decides_for_itself_and_so_does_a_sub_recipe() {
    let recipe = "name: r\nshell: strict\nsteps:\n  - {id: a, shell: bash, command: 'false; true'}\n  - {id: b, recipe: child}\n";
    let child = "name: child\nsteps: [{id: x, command: 'false; true'}]\n";
    let output = env().file("child.yaml", child).file("r.yaml", recipe).run(["r.yaml"]);
    assert_eq!(output.code, 0, "{}", output.all());
    let strict = "name: child\nshell: strict\nsteps: [{id: x, command: 'false; true'}]\n";
    let plain = recipe.replace("shell: strict\n", "");
    let output = env().file("child.yaml", strict).file("r.yaml", &plain).run(["r.yaml"]);
    assert_eq!(output.code, 1, "{}", output.all());
}

#[test]
fn d4_hooks_and_ensure_commands_follow_their_recipe() {
    let recipe = "name: r\nshell: strict\nhooks: {post_step: 'false; touch hooked'}\nsteps:\n  - id: a\n    shell: bash\n    command: 'false; true'\n    ensure: [{command: 'false; true'}]\n";
    let world = env().file("r.yaml", recipe);
    let output = world.run(["r.yaml"]);
    assert_eq!(output.code, 1, "{}", output.all());
    let world = env().file("r.yaml", recipe.replace("    ensure: [{command: 'false; true'}]\n", ""));
    let output = world.run(["r.yaml"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert!(!world.path("hooked").exists(), "{}", output.all());
    let loose = recipe.replace("shell: strict", "shell: bash");
    let world = env().file("r.yaml", &loose);
    assert_eq!(world.run(["r.yaml"]).code, 0);
    assert!(world.path("hooked").exists());
}

#[test]
fn d4_values_and_large_scripts_work_in_a_strict_shell() {
    let long = format!("# {}\n      ", "x".repeat(70_000));
    for before in ["", long.as_str()] {
        let recipe = format!(
            "name: r\nshell: strict\ncontext: {{empty: '', none: null}}\nsteps:\n  - id: big\n    command: head -c 300000 /dev/zero | tr '\\0' a\n  - id: a\n    command: |\n      {before}echo \"[{{{{empty}}}}][{{{{none}}}}][{{{{nowhere}}}}]\"\n      printf %s {{{{big}}}} | wc -c\n"
        );
        let output = env().json(&recipe, &[]);
        assert_eq!(output.code, 0, "{}", output.all());
        assert_eq!(output.json()["step_results"][1]["output"], "[][][]\n300000", "{}", output.all());
    }
}

#[test]
fn d4_the_shell_is_shown() {
    let recipe = "name: r\nshell: strict\nsteps: [{id: a, command: echo hi}, {id: b, shell: bash, command: echo ho}]\n";
    let world = env().file("r.yaml", recipe);
    let explained = world.run(["explain", "r.yaml", "--output-format", "json"]).json();
    assert_eq!(explained["shell"], "strict");
    assert_eq!(
        (&explained["steps"][0]["shell"], &explained["steps"][1]["shell"]),
        (&"strict".into(), &"bash".into())
    );
    let output = world.run(["explain", "r.yaml"]);
    assert!(output.stdout.contains("Shell: strict (bash -euo pipefail)"), "{}", output.all());
    let output = world.run(["r.yaml", "--dry-run"]);
    assert!(output.all().contains("would run (shell: strict): echo hi"), "{}", output.all());
    assert!(output.all().contains("would run: echo ho"), "{}", output.all());
    let output = world.run(["r.yaml", "--audit-dir", "audit"]);
    assert_eq!(output.code, 0, "{}", output.all());
    let lines = world.shell("cat audit/*.jsonl").stdout;
    assert!(lines.contains("\"shell\":\"strict\"") && lines.contains("\"shell\":\"bash\""), "{lines}");
}

#[test]
fn d4_the_note_about_several_lines_is_no_warning() {
    let recipe = "name: r\nsteps:\n  - id: a\n    command: |\n      false\n      true\n";
    let world = env().file("r.yaml", recipe);
    let output = world.run(["r.yaml", "--strict"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert!(output.stderr.contains("only the last line"), "{}", output.all());
    assert!(output.stderr.contains("shell: strict"), "{}", output.all());
    assert!(!world.run(["r.yaml", "--quiet"]).stderr.contains("only the last line"));
    let checked = world.run(["validate", "r.yaml", "--output-format", "json"]).json();
    assert_eq!((&checked["valid"], &checked["diagnostics"][0]["severity"]), (&true.into(), &"note".into()));
}

#[test]
fn d6_env_set_reaches_all_steps_and_sub_recipes_with_this_precedence() {
    let show = "printf '%s/%s/%s/%s ' \"$A\" \"$B\" \"$C\" \"$D\"";
    let recipe = format!(
        "name: r\ncontext: {{who: world}}\nenv:\n  required: [A]\n  files: [.env]\n  set: {{A: 'hello {{{{who}}}}', B: recipe, C: recipe}}\nhooks: {{post_step: 'echo \"$B\" >> hooked'}}\nsteps:\n  - {{id: a, command: {command}}}\n  - {{id: b, env: {{B: step}}, command: {command}}}\n  - {{id: c, recipe: child}}\n",
        command = serde_json::Value::from(show),
    );
    let child = format!(
        "name: child\nenv: {{required: [B], set: {{C: child}}}}\nsteps: [{{id: x, command: {}}}]\n",
        serde_json::Value::from(show)
    );
    let world = env().file("child.yaml", &child).file("r.yaml", &recipe).file(".env", "B=file\nD=file\n");
    let output = world.shell("A=inherited C=inherited \"$RUNNER\" r.yaml --output-format json");
    assert_eq!(output.code, 0, "{}", output.all());
    let results = output.json()["step_results"].clone();
    assert_eq!(results[0]["output"], "hello world/recipe/recipe/file ");
    assert_eq!(results[1]["output"], "hello world/step/recipe/file ");
    assert!(output.stdout.contains("hello world/recipe/child/file"), "{}", output.all());
    assert_eq!(world.shell("head -1 hooked").stdout, "recipe\n");
}

#[test]
fn d6_an_env_map_without_a_known_field_is_an_error() {
    let recipe = "name: r\nenv: {TOKEN: abc}\nsteps: [{id: a, command: touch ran}]\n";
    let world = env().file("r.yaml", recipe);
    let output = world.run(["r.yaml"]);
    assert_eq!(output.code, 2, "{}", output.all());
    assert!(output.stderr.contains("none of `required`, `files` and `set`"), "{}", output.all());
    assert!(!world.path("ran").exists());
}
