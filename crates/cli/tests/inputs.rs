//! Typed inputs: values are checked before the first step, and arrive with their types.

use testkit::{Output, TestEnv};

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

const SECRET: &str = "hidden-value-42";

const INPUTS: &str = r"
inputs:
  - {name: version, pattern: 'v[0-9]+'}
  - {name: count, type: integer, default: 3, description: How many}
  - {name: ratio, type: number}
  - {name: publish, type: boolean, default: no}
  - {name: target, type: choice, choices: [dev, prod]}
  - {name: files, type: list}
  - {name: config, type: path}
  - {name: extra, type: json}
  - {name: code, type: secret}
";

/// A recipe with these inputs and steps.
fn recipe(steps: &str) -> String {
    format!("name: typed{INPUTS}steps:\n{steps}")
}

/// The lines of a blocked run that say what is wrong.
fn problems(output: &Output) -> Vec<String> {
    let error = output.json()["failure"]["error"].as_str().unwrap_or_default().to_owned();
    error.lines().filter_map(|line| line.strip_prefix("  - ")).map(str::to_owned).collect()
}

#[test]
fn all_values_that_do_not_fit_are_reported_before_the_first_step() {
    let arguments = "--set version=12 --set count=2.5 --set ratio=x --set publish=maybe --set target=prd \
        --set files=[1 --set config=nowhere --set extra={a}";
    let output = env().json(
        &recipe("  - {id: a, command: touch started}"),
        &arguments.split_whitespace().collect::<Vec<_>>(),
    );
    assert_eq!(output.code, 5, "{}", output.all());
    assert_eq!(
        problems(&output),
        [
            "input `version` must match the pattern `v[0-9]+`, but it is `12`",
            "input `count` (How many) must be a whole number, but it is `2.5`",
            "input `ratio` must be a number, but it is `x`",
            "input `publish` must be `true` or `false` (also yes, no, 1, 0), but it is `maybe`",
            "input `target` must be one of `dev`, `prod`, but it is `prd`; did you mean `prod`?",
            "input `files` must be a JSON list or texts with commas between them, but it is `[1`",
            "input `config` must be a path that exists, but `nowhere` does not",
            "input `extra` must be JSON, but it is `{a}`: key must be a string at line 1 column 2",
        ]
    );
    let result = output.json();
    assert_eq!(result["advice"][1], "give `count` another value: `--set count=VALUE`");
    let again = result["advice"].as_array().unwrap().last().unwrap().as_str().unwrap().to_owned();
    assert!(
        again.ends_with(
            "--set version=VALUE --set count=VALUE --set ratio=VALUE --set publish=VALUE --set target=VALUE \
         --set files=VALUE --set config=VALUE --set extra=VALUE"
        ),
        "{again}"
    );
    let text = env().text(&recipe("  - {id: a, command: 'true'}"), &["--set", "count=x"]);
    assert!(text.stderr.contains("likely cause: a given value does not fit its input"), "{}", text.stderr);
}

#[test]
fn values_arrive_with_their_types() {
    let steps = r#"
  - id: all
    command: 'echo "{{version}} {{count}} {{ratio}} {{publish}} {{target}} {{files}} {{files[1]}} {{config}} {{extra.a}}"'
  - {id: is_set, condition: publish, command: echo set}
  - {id: more, condition: count == 4 and len(files) == 2, command: echo more}
"#;
    let env = env().file("sub/conf.ini", "");
    let given = [
        "version=v1",
        "count=4.0",
        "ratio=3.10",
        "publish=YES",
        "target=prod",
        "files=a, b",
        "config=conf.ini",
        r#"extra={"a": 7}"#,
    ];
    let mut arguments: Vec<&str> = given.iter().flat_map(|value| ["--set", value]).collect();
    arguments.extend(["-C", "sub"]);
    let output = env.json(&recipe(steps), &arguments);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(output.value("all"), r#"v1 4 3.10 true prod ["a","b"] b conf.ini 7"#);
    assert_eq!((output.value("is_set"), output.value("more")), ("set".into(), "more".into()));
    let context = &output.json()["context"];
    assert_eq!((&context["publish"], &context["files"][0]), (&true.into(), &"a".into()));
}

#[test]
fn values_of_every_source_are_checked_and_typed() {
    let steps = "  - {id: a, command: 'echo {{count}} {{ratio}} {{publish}} {{files}}'}\n  - {id: b, condition: publish, command: echo on}\n";
    let good = env().env("RECIPE_VAR_count", "7.0").file("values.yaml", "ratio: '2'\nfiles: x,y\n");
    let output = good.json(&recipe(steps), &["--context-file", "values.yaml"]);
    assert_eq!(output.value("a"), r#"7 2 false ["x","y"]"#, "{}", output.all());
    assert_eq!(output.step("b")["status"], "skipped");
    let bad = env().env("RECIPE_VAR_count", "many").file("values.yaml", "ratio: [1]\nversion: {a: 1}\n");
    let output = bad.json(&recipe(steps), &["--context-file", "values.yaml", "--set", "publish=2"]);
    assert_eq!(
        (output.code, problems(&output)),
        (
            5,
            vec![
                "input `version` must be text, but it is an object".to_owned(),
                "input `count` (How many) must be a whole number, but it is `many`".to_owned(),
                "input `ratio` must be a number, but it is a list".to_owned(),
                "input `publish` must be `true` or `false` (also yes, no, 1, 0), but it is `2`".to_owned(),
            ]
        )
    );
}

#[test]
fn a_required_input_must_not_be_empty() {
    let demanding = "name: r\ninputs:\n  - {name: a, type: text, required: true}\n  - {name: b, type: list, required: true}\n  \
        - {name: c, type: json, required: true}\n  - {name: d, type: secret, required: true}\nsteps: [{id: s, command: 'true'}]\n";
    let output = env().json(demanding, &["--set", "a= ", "--set", "b=,", "--set", "c={}"]);
    assert_eq!(
        (output.code, problems(&output)),
        (
            5,
            vec![
                "input `a` has no value: pass it with `--set a=…`".to_owned(),
                "input `b` has no value: pass it with `--set b=…`".to_owned(),
                "input `d` has no value: pass it with `--set-file d=FILE`".to_owned(),
            ]
        )
    );
    // an optional input may be empty, whatever its type is
    let arguments = "--set ratio= --set target= --set config= --set files= --set publish=";
    let steps =
        "  - {id: s, command: 'echo [{{ratio}}{{target}}{{config}}{{files}}]', condition: not publish}\n";
    let output = env().json(&recipe(steps), &arguments.split(' ').collect::<Vec<_>>());
    assert_eq!(output.value("s"), "[[]]", "{}", output.all());
}

#[test]
fn a_sub_recipe_checks_its_inputs_when_it_is_entered() {
    let main = r#"
name: main
context: {many: lots, hidden: hidden-value-42}
steps:
  - {id: before, command: echo before}
  - {id: bad, recipe: sub, continue_on_error: true, context: {count: "{{many}}", config: nowhere, code: ["{{hidden}}"]}}
  - {id: good, recipe: sub, context: {count: "3.0", publish: "yes", files: "{{before}},x", code: "{{hidden}}"}}
"#;
    let steps = "  - {id: inner, condition: publish, command: 'echo {{count}} {{files[0]}} {{code}}'}\n";
    let env = env().file("sub.yaml", recipe(steps));
    let output = env.json(main, &[]);
    assert_eq!(output.code, 0, "{}", output.all());
    let error = output.step("bad")["error"].as_str().unwrap().to_owned();
    for line in [
        "input `count` (How many) must be a whole number, but it is `lots`",
        "input `config` must be a path that exists, but `nowhere` does not",
        "input `code` must be text, but its value is not (it is secret)",
    ] {
        assert!(error.contains(line), "{error}");
    }
    assert_eq!(output.value("good"), "3 before [REDACTED]");
    let dry = env.json(main, &["--dry-run"]);
    // a value that only the run knows is not a problem
    assert_eq!(dry.step("good")["status"], "skipped", "{}", dry.all());
    assert_eq!(dry.step("bad")["status"], "failed");
}

#[test]
fn a_file_gives_a_value_without_its_last_newline() {
    let env = env().file("two", "line\n\n").file("win", "line\r\n").file("n", "7\n").file("bin", b"\xff");
    let recipe = "name: r\ninputs: [{name: a}, {name: b}, {name: n, type: integer}]\nsteps: [{id: s, command: 'printf \"%s\" \"<{{a}}><{{b}}>{{n}}\"'}]\n";
    let output = env.json(recipe, &["--set-file", "a=two", "--set-file", "b=win", "--set-file", "n=n"]);
    assert_eq!(output.value("s"), "<line\n><line>7", "{}", output.all());
    for (argument, code, message) in [
        ("a=nowhere", 4, "nowhere cannot be read: No such file"),
        ("a=bin", 4, "bin cannot be read: it is not UTF-8 text"),
        ("a", 4, "`--set-file a` is not of the form KEY=FILE"),
        ("=two", 4, "`--set-file =two` is not of the form KEY=FILE"),
    ] {
        let output = env.text(recipe, &["--set-file", argument]);
        assert_eq!(output.code, code, "{}", output.all());
        assert!(output.stderr.contains(message), "{}", output.stderr);
    }
}

#[test]
fn a_secret_input_is_never_shown() {
    let env = env().file("code", format!("{SECRET}\n"));
    let steps = "  - {id: say, command: 'echo {{code}}; echo {{code}} >&2'}\n  - {id: fail, command: 'echo {{code}}; test -e go'}\n";
    env.write("r.yaml", recipe(steps));
    let given = ["--set-file", "code=code"];
    let run = |more: &[&str]| env.run([&["r.yaml"], &given[..], more].concat());
    let outputs = [
        run(&["--audit-dir", "audit"]),
        run(&["--progress"]),
        run(&["--output-format", "json"]),
        run(&["--dry-run"]),
        run(&["--dry-run", "--output-format", "json"]),
        run(&["--set", "count=x"]),
        run(&["--set", &format!("count={SECRET}"), "--output-format", "json"]),
        env.run(["show", "last"]),
        env.run(["show", "last", "--output-format", "json"]),
        env.run(["logs", "last"]),
        env.run(["resume", "last", "--plan", "--set", &format!("code={SECRET}-2")]),
        env.run(["resume", "last", "--set", &format!("code={SECRET}-2"), "--output-format", "json"]),
        env.shell("cat audit/*"),
    ];
    for output in &outputs {
        assert!(!output.all().contains(SECRET), "{}", output.all());
    }
    assert!(outputs[0].stdout.contains("[REDACTED]"), "{}", outputs[0].all());
    let command = outputs[8].json()["evidence"]["repro_command"].as_str().unwrap().to_owned();
    assert!(command.ends_with(" --set-file code=FILE"), "{command}");
    let header: serde_json::Value =
        serde_json::from_str(&env.read(env.run_dir().join("run.json").to_str().unwrap())).unwrap();
    assert_eq!(header["request"]["inputs"]["code"]["value"], "[REDACTED]");
    // a default in the recipe is hidden too, even where a diagnostic points at it
    let text = format!(
        "name: r\ninputs:\n  - {{name: a, type: secret, default: {SECRET}, tpye: x}}\nsteps: [{{id: s, command: echo}}]\n"
    );
    env.write("d.yaml", &text);
    for arguments in [&["validate", "d.yaml"][..], &["d.yaml"]] {
        let output = env.run(arguments);
        assert!(output.code == 2 && !output.all().contains(SECRET), "{}", output.all());
    }
    env.write("d.yaml", text.replace(", tpye: x", ""));
    for arguments in [&["explain", "d.yaml"][..], &["list", "--inputs", "-R", "."], &["d.yaml", "--dry-run"]]
    {
        let output = env.run(arguments);
        assert!(output.stdout.contains("a (secret) = [REDACTED]"), "{}", output.all());
        assert!(!output.all().contains(SECRET), "{}", output.all());
    }
}

#[test]
fn inputs_are_shown_with_everything_about_them() {
    let env = env().file("r.yaml", recipe("  - {id: a, command: 'true'}\n"));
    let lines = [
        "version (text matching `v[0-9]+`)",
        "count (integer) = 3: How many",
        "ratio (number)",
        "publish (boolean) = no",
        "target (choice: dev | prod)",
        "files (list)",
        "config (path)",
        "extra (json)",
        "code (secret)",
    ];
    for arguments in [&["explain", "r.yaml"][..], &["r.yaml", "--dry-run"], &["list", "--inputs", "-R", "."]]
    {
        let output = env.run(arguments);
        for line in lines {
            assert!(output.stdout.lines().any(|shown| shown.trim() == line), "{line}\n{}", output.stdout);
        }
    }
    assert!(!env.run(["list", "-R", "."]).stdout.contains("count"), "only if asked for");
    let count = serde_json::json!({
        "name": "count", "type": "integer", "required": false, "default": 3, "description": "How many",
    });
    let target = serde_json::json!({
        "name": "target", "type": "choice", "choices": ["dev", "prod"], "required": false, "default": null,
        "description": "",
    });
    for arguments in [&["explain", "r.yaml"][..], &["r.yaml", "--dry-run"], &["list", "--inputs", "-R", "."]]
    {
        let json = env.run([arguments, &["--output-format", "json"]].concat()).json();
        let recipes = json.as_array().into_iter().flatten();
        let listed = recipes.into_iter().find(|recipe| recipe["name"] == "typed").cloned();
        let inputs = listed.unwrap_or(json)["inputs"].clone();
        assert_eq!((&inputs[1], &inputs[4]), (&count, &target), "{arguments:?}");
        assert_eq!(inputs[0]["pattern"], "v[0-9]+");
    }
}

#[test]
fn a_broken_recipe_has_no_inputs_in_the_list() {
    let env =
        env().file("r.yaml", "name: wrong\ninputs: [{name: a, type: strng}]\nsteps: [{id: s, command: x}]\n");
    let json = env.run(["list", "--inputs", "-R", ".", "--output-format", "json"]).json();
    let listed = json.as_array().unwrap().iter().find(|recipe| recipe["name"] == "wrong").cloned();
    assert!(listed.unwrap()["inputs"].is_null());
}

#[test]
fn a_resume_checks_new_values_and_keeps_the_types() {
    let steps = "  - {id: a, command: 'echo {{count}}'}\n  - {id: b, condition: publish, command: 'test -e go && echo {{files[1]}}'}\n";
    let env = env().file("here", "");
    env.write("r.yaml", recipe(steps));
    let arguments = "r.yaml --set count=2.0 --set publish=yes --set files=x,y --set config=here";
    assert_eq!(env.run(arguments.split(' ')).code, 1);
    env.shell("rm here");
    let output =
        env.run(["resume", "last", "--set", "count=x", "--set", "ratio=y", "--output-format", "json"]);
    assert_eq!(
        (output.code, problems(&output)),
        (
            5,
            vec![
                "input `count` (How many) must be a whole number, but it is `x`".to_owned(),
                "input `ratio` must be a number, but it is `y`".to_owned(),
            ]
        )
    );
    env.write(
        "other.yaml",
        recipe(steps).replace("name: count, type: integer", "name: count, type: boolean"),
    );
    let output = env.run(["resume", "last", "--recipe", "other.yaml", "--output-format", "json"]);
    assert_eq!(output.code, 2, "the default does not fit either: {}", output.all());
    env.write("other.yaml", recipe(steps).replace("type: list", "type: integer"));
    let output = env.run(["resume", "last", "--recipe", "other.yaml", "--output-format", "json"]);
    assert_eq!(problems(&output), ["input `files` must be a whole number, but it is `x,y`"]);
    // the same values in other words are no reason to repeat a step, and a path may be gone by now
    env.write("go", "");
    let output =
        env.run(["resume", "last", "--set", "count=2", "--set", "publish=1", "--output-format", "json"]);
    assert_eq!((output.code, output.value("b")), (0, "y".into()), "{}", output.all());
    assert_eq!(output.step("a")["attempts"], 1);
}

#[test]
fn a_killed_run_has_the_same_values_when_it_is_resumed() {
    let steps = "  - {id: wait, command: 'echo x > waits; test -e go || sleep 60'}\n  - {id: b, condition: publish, command: 'echo {{count}} {{files[1]}}'}\n";
    let env = env();
    env.write("r.yaml", recipe(steps));
    let run = env.spawn("r.yaml --set count=2.0 --set publish=yes --set files=x,y".split(' '));
    env.wait_for("waits");
    run.kill();
    env.write("go", "");
    let output = env.run(["resume", "last", "--output-format", "json"]);
    assert_eq!((output.code, output.value("b")), (0, "2 y".into()), "{}", output.all());
}

#[test]
fn an_input_without_a_type_takes_values_as_before() {
    let recipe = "name: r\ninputs: [{name: on}, {name: n}]\nsteps: [{id: a, condition: on, command: echo on}, {id: b, command: 'echo {{n}}'}]\n";
    let output = env().json(recipe, &["--set", "on=false", "--set", "n=4.0"]);
    assert_eq!((output.step("a")["status"].clone(), output.value("b")), ("skipped".into(), "4.0".into()));
}

#[test]
fn an_input_without_a_type_is_shown_as_text() {
    let env = env();
    env.write(
        "r.yaml",
        "name: r\ninputs: [{name: a}, {name: b, type: text}]\nsteps: [{id: s, command: 'true'}]\n",
    );
    let json = env.run(["explain", "r.yaml", "--output-format", "json"]).json();
    let types: Vec<&str> =
        json["inputs"].as_array().unwrap().iter().filter_map(|input| input["type"].as_str()).collect();
    assert_eq!(types, ["text", "text"], "{json:#}");
    assert!(env.run(["explain", "r.yaml"]).stdout.contains("Inputs:\n  a (text)\n  b (text)\n"));
}

#[test]
fn paths_of_a_sub_recipe_start_from_the_directory_of_the_run() {
    let child = "name: child\ninputs: [{name: config, type: path, required: true}]\nsteps: [{id: s, command: 'echo {{config}}'}]\n";
    let middle = "name: middle\nsteps: [{id: inner, recipe: ./child.yaml}]\n";
    let env = env()
        .file("child.yaml", child)
        .file("middle.yaml", middle)
        .file("conf.ini", "")
        .file("sub/other.ini", "");
    for (config, code) in [("conf.ini", 0), ("other.ini", 1), ("sub/other.ini", 0)] {
        for recipe in ["./child.yaml", "./middle.yaml"] {
            let main = format!(
                "name: main\nsteps: [{{id: call, recipe: {recipe}, working_dir: sub, context: {{config: {config}}}}}]\n"
            );
            let output = env.json(&main, &[]);
            assert_eq!(output.code, code, "{config} {recipe} {}", output.all());
        }
    }
}
