//! Values in runs: where they come from, how they are typed, how templates and steps see and store them.

use serde_json::{Value as Json, json};
use testkit::TestEnv;

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

/// Runs a recipe with these steps and values, and gives what `out` holds at the end.
fn out(context: &str, steps: &str, arguments: &[&str]) -> Json {
    let output = env().json(&format!("name: r\ncontext: {context}\nsteps:\n{steps}"), arguments);
    assert_eq!(output.code, 0, "{}", output.all());
    output.value("out")
}

/// What a template in a command prints.
fn rendered(context: &str, template: &str, arguments: &[&str]) -> Json {
    let steps = format!("  - id: s\n    output: out\n    command: |\n      printf %s \"{template}\"\n");
    out(context, &steps, arguments)
}

#[test]
fn text_is_never_lost_by_typing() {
    for text in [
        "3.10",
        "4517e12",
        "1e5",
        "0x1F",
        "007",
        "+5",
        "-0",
        "1.0",
        "1.500",
        "1234567890123456789012345",
        "0.1234567890123456789012345",
        "true",
        "false",
        "True",
        "null",
        "",
        " padded ",
        "a=b=c",
        "it's \"quoted\" $HOME `id` $(id) \\ *",
        "line\nline",
        "tab\there",
        "☃ snow",
        "[not json",
        "{not json}",
        "-n",
        "--",
        "~",
        "NaN",
        "inf",
    ] {
        let set = format!("v={text}");
        assert_eq!(rendered("{}", "{{v}}", &["--set", &set]), text, "--set {set:?}");
        let output = env().env("RECIPE_VAR_v", text).json(
            "name: r\ncontext: {v: default}\nsteps: [{id: s, output: out, command: 'printf %s \"{{v}}\"'}]\n",
            &[],
        );
        assert_eq!(output.value("out"), text, "RECIPE_VAR_v={text:?}");
        let file = env().file("c.json", json!({ "v": text }).to_string());
        let recipe = "name: r\nsteps: [{id: s, output: out, command: 'printf %s \"{{v}}\"'}]\n";
        assert_eq!(file.json(recipe, &["--context-file", "c.json"]).value("out"), text, "{text:?}");
    }
}

#[test]
fn numbers_in_recipes_and_files_keep_their_spelling() {
    for number in ["3.10", "4517e12", "1234567890123456789012345", "1.0", "0.10", "007", "1e400"] {
        assert_eq!(rendered(&format!("{{v: {number}}}"), "{{v}}", &[]), number, "recipe {number}");
        let yaml = env().file("c.yaml", format!("v: {number}\n"));
        let recipe = "name: r\nsteps: [{id: s, output: out, command: 'printf %s \"{{v}}\"'}]\n";
        assert_eq!(yaml.json(recipe, &["--context-file", "c.yaml"]).value("out"), number, "yaml {number}");
    }
    for json in ["{\"k\": \"x\"}", "[1,  2]", "[4517e12, 1E3]", "{}"] {
        assert_eq!(rendered("{}", "{{v}}", &["--set", &format!("v={json}")]), json, "--set {json}");
    }
    assert_eq!(rendered("{}", "{{v.n}}", &["--set", "v={\"n\": 4517e12}"]), "4517e12");
    assert_eq!(
        rendered("{}", "{{v[1]}}", &["--set", "v=[1, 12345678901234567890123]"]),
        "12345678901234567890123"
    );
}

#[test]
fn set_values_have_their_types_in_conditions_and_in_the_result() {
    for (set, condition) in [
        ("v=5", "v == 5 and v < 10"),
        ("v=-5", "v < 0"),
        ("v=0.75", "v > 0.5 and v < 1"),
        ("v=true", "v == true and v == 'true' and v == 'True'"),
        ("v=false", "not v and v == 'false'"),
        ("v=0", "not v"),
        ("v={\"host\": \"h\", \"port\": 8080}", "v.host == 'h' and v.port == 8080"),
        ("v=[\"web\", \"api\"]", "'api' in v and len(v) == 2 and v[-1] == 'api'"),
        ("v=hello", "v == 'hello'"),
        ("v=3.10", "v == 3.1"),
        ("v=", "v == '' and not v"),
        ("v=a=b", "v == 'a=b'"),
    ] {
        let output = env().json(
            &format!("name: r\nsteps: [{{id: s, command: 'echo ran', condition: {condition:?}}}]\n"),
            &["--set", set],
        );
        assert_eq!(output.step("s")["status"], "completed", "{set} {condition}\n{}", output.all());
    }
}

#[test]
fn the_nearest_source_wins() {
    let recipe = "name: r\ncontext: {a: recipe, b: recipe, c: recipe, d: recipe}\nsteps:\n  - id: s\n    output: out\n    command: printf %s \"{{a}} {{b}} {{c}} {{d}}{{e}}\"\n";
    let env = env()
        .env("RECIPE_VAR_b", "environment")
        .env("RECIPE_VAR_c", "environment")
        .env("RECIPE_VAR_d", "environment")
        .env("RECIPE_VAR_e", "not declared")
        .file("c.json", r#"{"c": "file", "d": "file"}"#);
    let output = env.json(recipe, &["--context-file", "c.json", "--set", "d=set"]);
    assert_eq!(output.value("out"), "recipe environment file set", "{}", output.all());
    let twice = env.json(recipe, &["-c", "a=first", "--set", "a=second"]);
    assert_eq!(twice.value("a"), "second");
}

#[test]
fn templates_reach_into_values() {
    let context = "{o: {a: {b: deep, n: 7}, l: [x, y, {k: v}], e: '', t: true, z: null}, s: häus, j: '{\"k\": [1, 2], \"s\": {\"q\": \"r\"}}', l: [], h-y: hyphen}";
    for (template, expected) in [
        ("{{o.a.b}}", "deep"),
        ("{{ o.a.b }}", "deep"),
        ("{{o.a.n}}", "7"),
        ("{{o.l[0]}}", "x"),
        ("{{o.l[1]}}", "y"),
        ("{{o.l[2].k}}", "v"),
        ("{{o.l[-1].k}}", "v"),
        ("{{o.l.1}}", "y"),
        ("{{o.l.length}}", "3"),
        ("{{l.length}}", "0"),
        ("{{s.length}}", "4"),
        ("{{o.t}}", "true"),
        ("{{o.z}}", ""),
        ("{{o.e}}", ""),
        ("{{o.missing}}", ""),
        ("{{o.a.b.c}}", ""),
        ("{{o.l[9]}}", ""),
        ("{{j.k[1]}}", "2"),
        ("{{j.s.q}}", "r"),
        ("{{j.k.length}}", "2"),
        ("{{h-y}}", "hyphen"),
        ("{{o.a}}", r#"{"b":"deep","n":7}"#),
        ("[{{#if o.a.b}}yes{{else}}no{{/if}}]", "[yes]"),
        ("[{{#if o.e}}yes{{else}}no{{/if}}]", "[no]"),
        ("[{{#if nothing}}yes{{/if}}]", "[]"),
        ("{{#if s}}<{{s}}>{{#if l}}!{{else}}?{{/if}}{{/if}}", "<häus>?"),
    ] {
        assert_eq!(rendered(context, template, &[]), expected, "{template}");
    }
}

#[test]
fn an_undefined_name_is_empty_and_strict_refuses_it() {
    let recipe = "name: r\nsteps: [{id: s, output: out, command: 'echo [{{nowhere}}]'}]\n";
    let output = env().json(recipe, &[]);
    assert_eq!((output.code, output.value("out")), (0, json!("[]")));
    assert!(output.stderr.contains("nowhere"), "{}", output.all());
    assert_eq!(env().json(recipe, &["--strict"]).code, 2);
    assert_eq!(env().json(recipe, &["--strict", "--set", "nowhere=x"]).code, 0);
}

#[test]
fn outputs_are_stored_under_their_name_or_id_byte_for_byte() {
    for (step, name, expected) in [
        ("{id: a, command: 'echo hi'}", "a", json!("hi")),
        ("{id: a, command: 'echo hi', output: b}", "b", json!("hi")),
        ("{id: a, command: 'echo hi', output: b}", "a", Json::Null),
        (r#"{id: a, command: "printf '  x  \\n\\n\\n'"}"#, "a", json!("  x  ")),
        (r#"{id: a, command: "printf '\\n\\nx\\r\\n'"}"#, "a", json!("\n\nx\r")),
        ("{id: a, command: 'true'}", "a", json!("")),
        ("{id: a, command: 'echo no >&2'}", "a", json!("")),
        (r#"{id: a, command: "echo '{\"x\": 1}'"}"#, "a", json!(r#"{"x": 1}"#)),
        ("{id: a, command: 'echo 42'}", "a", json!("42")),
        ("{id: a, command: 'echo true'}", "a", json!("true")),
        ("{id: a, command: 'echo part; exit 3', continue_on_error: true}", "a", json!("part")),
        ("{id: a, command: 'echo part; exit 3', fatal: false}", "a", json!("part")),
        ("{id: a, command: 'echo part; exit 3', nonfatal: true, output: b}", "b", json!("part")),
        (r#"{id: a, command: "echo '{\"x\": 1}'", parse_json: true}"#, "a", json!({"x": 1})),
    ] {
        let output = env().json(&format!("name: r\nsteps: [{step}]\n"), &[]);
        assert_eq!(output.code, 0, "{step}\n{}", output.all());
        assert_eq!(output.value(name), expected, "{step}");
    }
}

#[test]
fn an_id_never_overwrites_a_declared_name() {
    let recipe = "name: r\ncontext: {build: declared}\nsteps:\n  - {id: build, command: echo printed}\n  - {id: s, command: 'echo {{build}}', output: out}\n";
    let output = env().json(recipe, &[]);
    assert_eq!((output.value("build"), output.value("out")), (json!("declared"), json!("declared")));
    assert!(output.stderr.contains("warning") && output.stderr.contains("build"), "{}", output.all());
    let named = recipe.replace("command: echo printed", "command: echo printed, output: build");
    assert_eq!(env().json(&named, &[]).value("out"), "printed");
}

#[test]
fn a_json_text_stays_text_and_can_be_looked_into() {
    let steps = r#"
  - {id: api, command: 'echo ''{"approved": true, "items": [{"n": "first"}], "count": 3}'''}
  - {id: gate, condition: "api.approved == true and api.count > 2 and api.items[0].n == 'first'", command: "printf '%s|' {{api.items[0].n}} {{api.count}} \"$API\" \"$RECIPE_VAR_api\"", output: out}
"#;
    let raw = r#"{"approved": true, "items": [{"n": "first"}], "count": 3}"#;
    assert_eq!(out("{}", steps, &[]), json!(format!("first|3|{raw}|{raw}|")));
}

#[test]
fn json_is_extracted_degraded_or_required() {
    for (printed, expected) in [
        (r#"{"a": 1}"#, json!({"a": 1})),
        ("[1, 2]", json!([1, 2])),
        ("text\n```json\n{\"a\": 2}\n```\nmore", json!({"a": 2})),
        (r#"noise {"a": "}\" {"} tail"#, json!({"a": "}\" {"})),
        (r#"answer: [1, {"b": []}] done"#, json!([1, {"b": []}])),
    ] {
        let env = env().file("printed", printed);
        let output = env.json("name: r\nsteps: [{id: s, command: cat printed, parse_json: true}]\n", &[]);
        assert_eq!(output.step("s")["status"], "completed", "{}", output.all());
        assert_eq!(output.value("s"), expected, "{printed}");
    }
    let step = |more: &str| {
        format!(
            "name: r\nsteps:\n  - {{id: s, command: echo plain words, parse_json: true{more}}}\n  - {{id: t, command: 'echo [{{{{s}}}}]'}}\n"
        )
    };
    let degraded = env().json(&step(""), &["--progress"]);
    assert_eq!((degraded.code, degraded.json()["success"].clone()), (0, json!(true)));
    assert_eq!(degraded.step("s")["status"], "degraded");
    assert!(degraded.step("s")["error"].as_str().is_some_and(|error| error.contains("parse_json failed")));
    assert_eq!(degraded.value("t"), "[plain words]");
    assert!(degraded.stderr.contains('⚠'), "{}", degraded.all());
    let required = env().json(&step(", parse_json_required: true"), &[]);
    assert_eq!((required.code, required.step("t")["status"].clone()), (1, json!("pending")));
    let error = required.step("s")["error"].as_str().unwrap_or_default().to_owned();
    assert!(error.contains("bash step failed") && error.contains("parse_json failed"), "{error}");
}

#[test]
fn large_and_strange_outputs() {
    let recipe = |command: &str| {
        format!(
            "name: r\nsteps:\n  - {{id: s, output: v, command: {command:?}}}\n  - {{id: t, output: out, command: 'printf %s \"{{{{v}}}}\" | wc -c'}}\n"
        )
    };
    let output = env().json(&recipe("head -c 10000000 /dev/zero | tr '\\0' x"), &[]);
    assert_eq!(output.value("out"), "10000000", "{}", output.stderr);
    let cut = env().json(&recipe("echo START; head -c 11000000 /dev/zero | tr '\\0' x; echo END"), &[]);
    let value = cut.value("v").as_str().unwrap_or_default().to_owned();
    assert_eq!(cut.code, 0);
    assert!(
        value.starts_with("START") && value.ends_with("END") && value.contains("bytes cut"),
        "{}",
        value.len()
    );
    assert!(value.len() < 10_000_200);
    assert!(cut.stderr.contains("10000000 bytes"), "{}", cut.stderr);
    assert_eq!(cut.step("s")["stdout"]["bytes"], 11_000_010);
    let binary = env().json(&recipe("printf 'a\\377b'"), &[]);
    assert_eq!((binary.code, binary.value("v")), (0, json!("a\u{fffd}b")));
    let nul = env().json(&recipe("printf 'a\\000b'"), &[]);
    assert_eq!(nul.code, 1);
    let error = nul.step("s")["error"].as_str().unwrap_or_default().to_owned();
    assert!(error.contains("NUL") && error.contains("bash step failed"), "{error}");
}

#[test]
fn a_nul_is_refused_where_it_is_produced() {
    for step in [
        "{id: a, command: \"printf 'a\\\\0b'\"}",
        "{id: a, command: \"printf 'a\\\\0b'\", output: v}",
        "{id: a, command: \"echo '{\\\"k\\\": \\\"x\\\\u0000y\\\"}'\", parse_json: true}",
    ] {
        let env = TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"));
        let output = env.json(&format!("name: r\nsteps:\n  - {step}\n  - {{id: b, command: 'true'}}\n"), &[]);
        assert_eq!(output.code, 1, "{step}: {}", output.all());
        assert!(output.step("a")["error"].to_string().contains("NUL"), "{step}: {}", output.all());
    }
}

#[test]
fn names_that_share_a_variable_keep_their_values() {
    let parsed = r#"name: r
steps:
  - id: s
    parse_json: true
    command: |
      echo '{"a-b": 1, "a_b": 2}'
  - {id: t, output: out, command: 'echo {{s.a-b}} {{s.a_b}} {{s.a-b}}'}
"#;
    assert_eq!(env().json(parsed, &[]).value("out"), "1 2 1");
    let dotted = "name: r\ncontext: {'a.b': dotted, a: {c: 1}}\nsteps: [{id: t, output: out, command: 'echo {{a.b}} {{a.c}}'}]\n";
    assert_eq!(env().json(dotted, &[]).value("out"), "dotted 1");
    let given = "name: r\nsteps:\n  - {id: t, output: out, command: 'echo {{a.b}} {{a__b}}'}\n";
    let output = env().json(given, &["--set", "a={\"b\":1}", "--set", "a__b=3"]);
    assert_eq!(output.value("out"), "1 3", "{}", output.all());
}

#[test]
fn no_subscript_in_a_name_is_evaluated() {
    for command in [
        "read {{v}} <<< 5",
        "printf -v {{v}} y",
        "declare {{v}}=5",
        "a=(1); unset {{v}}",
        "[[ -v {{v}} ]]",
        "test -v {{v}}",
    ] {
        let env = env();
        let recipe = format!("name: r\nsteps:\n  - id: s\n    command: |\n      {command}\n");
        let output = env.json(&recipe, &["--set", "v=a[$(touch pwned)]"]);
        assert!(!env.path("pwned").exists(), "{command}: {}", output.all());
        assert_eq!(output.code, 1, "{command}: {}", output.all());
        let fine = env.json(&recipe, &["--set", "v=a[0]"]);
        let error = fine.step("s")["error"].as_str().unwrap_or_default().to_owned();
        assert!(!error.contains("is not a name"), "{command}: {error}");
    }
}

#[test]
fn context_files_add_up_and_the_later_one_wins() {
    let env = env();
    env.write(
        "recipe.yaml",
        "name: r\ncontext: {a: '', b: ''}\nsteps:\n- {id: s, command: 'echo {{a}} {{b}}'}\n",
    );
    env.write("one.json", r#"{"a": 1, "b": 1}"#);
    env.write("two.yaml", "b: 2\n");
    for (files, expected) in [(["one.json", "two.yaml"], "1 2"), (["two.yaml", "one.json"], "1 1")] {
        let output = env.run([
            "recipe.yaml",
            "--context-file",
            files[0],
            "--context-file",
            files[1],
            "--format",
            "json",
        ]);
        assert_eq!(output.value("s"), expected, "{}", output.all());
    }
}

#[test]
fn json_that_was_cut_is_not_read() {
    let env = env();
    let step = "python3 -c 'print(\"[\" + \",\".join([\"{\\\"k\\\": 1}\"] * 1200000) + \"]\")'";
    let recipe = format!("name: r\nsteps:\n- id: s\n  parse_json: true\n  command: |\n    {step}\n");
    let output = env.json(&recipe, &[]);
    assert_eq!(output.step("s")["status"], "degraded", "{}", output.stderr);
    let error = output.step("s")["error"].to_string();
    assert!(error.contains("parse_json failed") && error.contains("were cut"), "{error}");
}

#[test]
fn json_after_a_cut_is_read() {
    let env = env();
    let recipe = "name: r\nsteps:\n- id: s\n  parse_json: true\n  command: |\n    yes 'a line of a log' | head -c 12000000; echo; echo '{\"a\": 1}'\n";
    let output = env.json(recipe, &[]);
    assert_eq!(output.value("s"), json!({"a": 1}), "{}", output.stderr);
}
