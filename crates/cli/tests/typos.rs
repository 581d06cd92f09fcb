//! Typos and other mistakes of people, and the problems that dry runs find.

use serde_json::json;
use testkit::{Output, TestEnv};

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

fn contains(output: &Output, parts: &[&str]) {
    let all = output.all();
    for part in parts {
        assert!(all.contains(part), "expected: {part}\n{all}");
    }
}

/// A dry run of `recipe.yaml`, which may run `child.yaml`.
fn rehearse(recipe: &str, child: &str, arguments: &[&str], code: i32, parts: &[&str]) {
    let env = env().file("child.yaml", child);
    let output = env.json(recipe, &[&["--dry-run"], arguments].concat());
    assert_eq!(output.code, code, "{recipe}\n{}", output.all());
    assert_eq!(output.json()["success"], json!(code == 0), "{recipe}\n{}", output.all());
    assert_eq!(output.json()["exit_code"], json!(code), "{recipe}\n{}", output.all());
    contains(&output, parts);
}

#[test]
fn d1_quiet_shows_warnings_about_the_recipe() {
    let recipe = "name: r\nowner: me\nsteps: [{id: a, command: 'true'}]\n";
    let output = env().file("r.yaml", recipe).run(["r.yaml", "--quiet"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert!(output.stderr.contains("unknown field `owner`"), "{}", output.all());
}

#[test]
fn d1_a_word_of_another_tool_stops_the_run_before_it_starts() {
    let recipe = "name: r\nsteps: [{id: a, if: 'false', command: touch ran}]\n";
    let env = env().file("r.yaml", recipe);
    let output = env.run(["r.yaml"]);
    assert_eq!(output.code, 2, "{}", output.all());
    contains(&output, &["a step has no field `if`: did you mean `condition`?"]);
    assert!(!env.path("ran").exists());
}

#[test]
fn a_dry_run_fails_where_the_run_would_fail() {
    let outer = "name: r\nsteps: [{id: a, recipe: child}]\n";
    let good = "name: c\nsteps: [{id: x, command: 'true'}]\n";
    for (recipe, child, arguments, code, parts) in [
        (outer, good, &[][..], 0, &[][..]),
        (outer, "name: c\nsteps: [{id: x, recipe: child}]\n", &[], 1, &["recursion depth (6) exceeded"]),
        (outer, "name: c\nsteps: [{id: x, recipe: recipe}]\n", &[], 1, &["recursion depth (6) exceeded"]),
        (
            "name: r\nrecursion: {max_depth: 1}\nsteps: [{id: a, recipe: child}]\n",
            "name: c\nsteps: [{id: x, recipe: child}]\n",
            &[],
            1,
            &["recursion depth (1) exceeded"],
        ),
        (
            outer,
            "name: c\ncontext: {n: 5}\nsteps: [{id: x, command: 'true', condition: 'n.lower() == 5'}]\n",
            &[],
            1,
            &["cannot be evaluated", "Sub-recipe 'child' failed"],
        ),
        (
            "name: r\nsteps: [{id: a, recipe: child, continue_on_error: true}]\n",
            "name: c\nsteps: [{id: x, recipe: child}]\n",
            &[],
            0,
            &["recursion depth"],
        ),
        (
            "name: r\nhooks: {on_error: 'touch hooked'}\nsteps: [{id: a, recipe: child, retry: 3}]\n",
            "name: c\nsteps: [{id: x, recipe: child}]\n",
            &[],
            1,
            &["recursion depth"],
        ),
        (
            "name: r\ncontext: {w: nope}\nsteps: [{id: a, recipe: '{{w}}'}]\n",
            good,
            &[],
            1,
            &["recipe `nope` not found"],
        ),
        ("name: r\ncontext: {w: child}\nsteps: [{id: a, recipe: '{{w}}'}]\n", good, &[], 0, &[]),
        (
            "name: r\nsteps: [{id: w, command: echo child}, {id: a, recipe: '{{w}}'}]\n",
            good,
            &[],
            0,
            &["a name that is known only later"],
        ),
        (
            "name: r\ninputs: [{name: q, required: true}]\nsteps: [{id: a, command: 'true'}]\n",
            good,
            &[],
            5,
            &["PRE-FLIGHT VALIDATION FAILED", "`q`"],
        ),
        (
            "name: r\ninputs: [{name: q, required: true}]\nsteps: [{id: a, command: 'true'}]\n",
            good,
            &["--set", "q=1"],
            0,
            &[],
        ),
        (
            outer,
            "name: c\ninputs: [{name: q, required: true}]\nsteps: [{id: x, command: 'true'}]\n",
            &[],
            1,
            &["PRE-FLIGHT VALIDATION FAILED", "`q`"],
        ),
        (
            "name: r\nsteps: [{id: w, command: echo}, {id: a, recipe: child, context: {q: '{{w}}'}}]\n",
            "name: c\ninputs: [{name: q, required: true}]\nsteps: [{id: x, command: 'echo {{q}}'}]\n",
            &[],
            0,
            &["echo {{q}}"],
        ),
        (
            "name: r\nsteps: [{id: notes, command: echo}, {id: b, command: 'echo {{notes.title}} {{notes}}'}]\n",
            good,
            &[],
            0,
            &["echo {{notes.title}} {{notes}}"],
        ),
    ] {
        rehearse(recipe, child, arguments, code, parts);
    }
}

#[test]
fn a_dry_run_writes_its_audit_log() {
    let env = env().file("child.yaml", "name: c\nsteps: [{id: x, command: 'true'}]\n");
    let recipe = "name: r\nsteps:\n  - {id: a, command: echo a}\n  - {id: b, command: 'true', condition: 'false'}\n  - {id: c, recipe: child}\n";
    let output = env.json(recipe, &["--dry-run", "--audit-dir", "audit"]);
    assert_eq!(output.code, 0, "{}", output.all());
    let files: Vec<_> = std::fs::read_dir(env.path("audit")).unwrap().flatten().collect();
    assert_eq!(files.len(), 1);
    let text = std::fs::read_to_string(files[0].path()).unwrap();
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let statuses: Vec<String> =
        lines.iter().map(|line| format!("{} {}", line["path"], line["status"])).collect();
    let skipped = |path: &str| format!("\"{path}\" \"skipped\"");
    assert_eq!(statuses, ["a", "b", "c/x", "c"].map(skipped), "{text}");
}

#[test]
fn tags_are_trimmed_and_unknown_ones_are_reported() {
    let recipe = "name: r\nsteps:\n  - {id: f, command: 'true', when_tags: [fast]}\n  - {id: s, command: 'true', when_tags: [slow]}\n  - {id: o, command: 'true', when_tags: [other]}\n";
    for (arguments, ran, parts) in [
        (["--include-tags", "fast, slow"], "f s", &[][..]),
        (["--include-tags", " fast ,"], "f", &[]),
        (["--exclude-tags", "fast, slow"], "o", &[]),
        (["--include-tags", "fsat"], "", &["warning[unknown-tag]", "`fsat`", "`fast`, `other`, `slow`"]),
        (["--exclude-tags", "nope"], "f s o", &["no step has the tag `nope`"]),
    ] {
        let output = env().json(recipe, &arguments);
        assert_eq!(output.code, 0, "{}", output.all());
        let steps = output.json()["step_results"].as_array().cloned().unwrap();
        let done: Vec<&str> = steps
            .iter()
            .filter(|step| step["status"] == "completed")
            .filter_map(|step| step["step_id"].as_str())
            .collect();
        assert_eq!(done.join(" "), ran, "{arguments:?}");
        assert_eq!(output.stderr.contains("unknown-tag"), !parts.is_empty(), "{}", output.stderr);
        contains(&output, parts);
        // a check reports the same as a run, and that the command line is wrong
        let env = env();
        env.write("r.yaml", recipe);
        for words in [&["r.yaml"][..], &["validate", "r.yaml"], &["r.yaml", "--validate-only"]] {
            let output = env.run(words.iter().chain(&["--strict"]).chain(&arguments));
            assert_eq!(output.code, if parts.is_empty() { 0 } else { 2 }, "{words:?} {}", output.all());
            let is_reported = output.stderr.contains("1 error about the command line");
            assert_eq!(is_reported, !parts.is_empty(), "{words:?} {}", output.all());
        }
        let output = env.run(["r.yaml", "--strict", "--output-format", "json"].iter().chain(&arguments));
        assert!(!output.stdout.contains("correct the recipe"), "{}", output.all());
    }
}

#[test]
fn secrets_in_lists_are_masked_everywhere() {
    let recipe = "name: r\ncontext: {cfg: {list: [{api_token: ListTok11}]}}\noutput: {template: 'end {{cfg.list[0].api_token}}'}\nsteps:\n  - {id: a, command: 'echo got {{cfg.list[0].api_token}}; echo {{cfg}} >&2'}\n";
    let env = env();
    env.write("recipe.yaml", recipe);
    for arguments in [
        &["recipe.yaml", "--audit-dir", "audit"][..],
        &["recipe.yaml", "--output-format", "json"],
        &["recipe.yaml", "--dry-run"],
        &["recipe.yaml", "--dry-run", "--output-format", "json"],
        &["show", "last"],
        &["show", "last", "--output-format", "json"],
        &["logs", "last"],
        &["logs", "last", "--output-format", "json"],
        &["explain", "recipe.yaml"],
        &["explain", "recipe.yaml", "--output-format", "json"],
    ] {
        let output = env.run(arguments);
        assert_eq!(output.code, 0, "{arguments:?}\n{}", output.all());
        assert!(!output.all().contains("ListTok11"), "{arguments:?}\n{}", output.all());
    }
    for file in std::fs::read_dir(env.path("audit")).unwrap().flatten() {
        assert!(!std::fs::read_to_string(file.path()).unwrap().contains("ListTok11"));
    }
}

#[test]
fn text_from_the_environment_stays_what_the_recipe_declares() {
    let recipe = "name: r\ncontext: {t: '', n: 1, b: true, z: null, l: []}\ninputs: [{name: i}, {name: d, default: x}]\nsteps: [{id: s, command: 'true'}]\n";
    for (name, value, expected) in [
        ("t", "007", json!("007")),
        ("t", "true", json!("true")),
        ("t", "[1]", json!("[1]")),
        ("n", "7", json!(7)),
        ("n", "x", json!("x")),
        ("b", "false", json!(false)),
        ("z", "7", json!(7)),
        ("l", "[1]", json!([1])),
        ("i", "7", json!(7)),
        ("d", "7", json!("7")),
    ] {
        let output = env().env(&format!("RECIPE_VAR_{name}"), value).json(recipe, &[]);
        assert_eq!(output.value(name), expected, "{name}={value}\n{}", output.all());
    }
    assert_eq!(env().json(recipe, &["--set", "t=7"]).value("t"), json!(7));
}

#[test]
fn problems_in_texts_are_found_before_anything_runs() {
    let step = |rest: &str| format!("name: r\ncontext: {{o: {{aa: 1}}}}\nsteps:\n  - id: s\n    {rest}\n");
    for (recipe, strict, part) in [
        (step("command: \"echo a\\0b\""), 2, "recipe.yaml:5:14"),
        (step("command: x\n    env: {A: \"a\\0b\"}"), 2, "recipe.yaml:6:14"),
        (step("command: 'true'").replace("aa: 1", "aa: \"a\\0b\""), 2, "recipe.yaml:2:19"),
        (step("command: 'echo {{ x'"), 2, "template-syntax"),
        (step("command: 'echo {{x'"), 2, "template-syntax"),
        (step("command: 'echo ${{'"), 0, ""),
        (step("command: 'true # {{nobody}}'"), 0, ""),
        (step("command: |\n      # {{nobody}} {{#if no}}x{{/if}}\n      true"), 0, ""),
        (step("command: 'echo a#{{nobody}}'"), 2, "nothing defines `nobody`"),
        (step("command: 'echo \"# {{nobody}}\"'"), 2, "nothing defines `nobody`"),
        (step("command: 'echo {{o.aa}} {{o.length}}'"), 0, ""),
        (step("command: 'echo {{o.zz}}'"), 2, "nothing defines `o.zz`"),
        (step("command: 'echo {{o.aa.zz}}'"), 0, ""),
        (step("command: 'true'\n    output: o\n  - id: t\n    command: 'echo {{o.zz}}'"), 0, ""),
    ] {
        let env = env().file("recipe.yaml", &recipe);
        let output = env.run(["validate", "recipe.yaml", "--strict"]);
        assert_eq!(output.code, strict, "{recipe}\n{}", output.all());
        contains(&output, &[part]);
    }
    let env = env().file("recipe.yaml", step("command: 'echo {{o.zz}}'"));
    assert_eq!(env.run(["validate", "recipe.yaml", "--strict", "--set", "o.zz=1"]).code, 0);
    assert_eq!(env.run(["recipe.yaml"]).code, 0);
}

#[test]
fn a_misspelt_setting_is_reported() {
    let recipe = "name: r\ncontext: {topic: a}\nsteps: [{id: s, command: 'echo {{topic}}'}]\n";
    for (setting, is_reported) in [("topc=x", true), ("topic=x", false), ("unrelated=x", false)] {
        let output = env().text(recipe, &["--set", setting]);
        assert_eq!(output.code, 0, "{}", output.all());
        let words = "the recipe has no variable `topc`; did you mean `topic`?";
        assert_eq!(output.stderr.contains(words), is_reported, "{}", output.all());
    }
}

#[test]
fn the_session_depth_is_explained() {
    let recipe = "name: r\nsteps: [{id: s, command: 'true'}]\n";
    for (value, code, parts) in [
        ("", 0, &[][..]),
        (" ", 0, &[]),
        ("0", 0, &[]),
        ("abc", 5, &["`abc` is not a number, so it counts as the maximum", "unset AMPLIHACK_SESSION_DEPTH"]),
        ("-1", 5, &["`-1` is not a number"]),
        ("3", 5, &["session depth 3 has reached the maximum of 3"]),
    ] {
        let output = env().env("AMPLIHACK_SESSION_DEPTH", value).text(recipe, &[]);
        assert_eq!(output.code, code, "{value}\n{}", output.all());
        contains(&output, parts);
    }
}

#[test]
fn messages_are_whole_sentences() {
    let step = |rest: &str| format!("name: r\nsteps:\n  - {{id: z, {rest}}}\n");
    for (recipe, parts) in [
        (step("type: agent, prompt: x, command: y"), &["step `z` is an agent step"][..]),
        (step("command: x, condition: 'x := 1'"), &["unexpected `:=`: write `==`"]),
        (
            "name: r\nrecursion: {max_depth: 0}\nsteps: [{id: a, recipe: child}]\n".to_owned(),
            &["recipes nest 1 level deep below `r`"],
        ),
        (
            step("command: 'true', when_tags: [no]}\n  - {id: y, command: 'true', depends_on: [z]"),
            &["depends on `z`, which did not complete: it was left out by the tag filter"],
        ),
        (
            step("command: 'false', fatal: false}\n  - {id: y, command: 'true', depends_on: [z]"),
            &["depends on `z`, which did not complete: it failed"],
        ),
        (
            step("command: 'true', condition: 'false'}\n  - {id: y, command: 'true', depends_on: [z]"),
            &["did not complete: it was skipped because its condition is false"],
        ),
        (step("command: printf hi"), &["hi\n  ✓ z completed"]),
    ] {
        let env = env().file("child.yaml", "name: c\nsteps: [{id: x, command: 'true'}]\n");
        let output = env.text(&recipe, &["--exclude-tags", "no"]);
        contains(&output, parts);
        assert!(!output.all().contains("()"), "{}", output.all());
    }
}

#[test]
fn incomplete_commands_name_the_missing_part() {
    let hello = "name: hello\nsteps: [{id: greet, command: 'exit 1', retry: {max_attempts: 3, delay: 0}}]\n";
    let env = env().file("mine.yaml", hello).file("closed", "not a directory");
    env.run(["mine.yaml"]);
    for (arguments, code, parts) in [
        (&["validate"][..], 4, &["usage: recipe-runner-rs validate RECIPE"][..]),
        (&["explain"], 4, &["usage: recipe-runner-rs explain RECIPE"]),
        (&["mi.yaml"], 3, &["did you mean the file `mine.yaml`?"]),
        (&["./mien.yaml"], 3, &["did you mean the file `./mine.yaml`?"]),
        (&["last"], 3, &["recipe-runner-rs resume last", "recipe-runner-rs show last"]),
        (&["logs", "last", "nope"], 3, &["steps that ran: greet\n"]),
        (&["health"], 0, &["hello: 1 run, "]),
    ] {
        let output = env.run(arguments);
        assert_eq!(output.code, code, "{arguments:?}\n{}", output.all());
        contains(&output, parts);
    }
    for arguments in [["--audit-dir", "closed/a"], ["--state-dir", "closed/s"]] {
        let output = env.run(["mine.yaml"].iter().chain(&arguments));
        assert_eq!(output.code, 8, "{}", output.all());
        assert!(!output.stderr.contains("is kept"), "{}", output.all());
        contains(&output, &["choose another directory", arguments[0]]);
    }
    let empty = self::env();
    empty.run(["init"]);
    let text = std::fs::read_to_string(empty.path("recipe.yaml")).unwrap();
    assert!(!text.contains("a unknown"), "{text}");
}

#[test]
fn a_value_is_not_larger_than_the_cap() {
    let recipe = "name: r\nsteps: [{id: big, command: 'head -c 10000100 /dev/zero | tr \"\\\\0\" a'}, {id: n, command: 'printf %s {{big}} | wc -c'}]\n";
    let output = env().json(recipe, &[]);
    assert_eq!(output.code, 0, "{}", &output.all()[..2000]);
    let size: u64 = output.value("n").as_str().unwrap().trim().parse().unwrap();
    assert!(size <= 10_000_000, "{size}");
}

#[test]
fn invalid_lines_of_env_files_are_reported_once_without_their_text() {
    let env = env().file(".env", "GOOD=1\nhush-hush\nA B=hush-hush\nC=\"hush-hush\n");
    let recipe = "name: r\nsteps: [{id: s, command: echo $GOOD}, {id: t, command: test -e go}]\n";
    let first = env.json(recipe, &[]);
    assert_eq!((first.code, first.value("s")), (1, json!("1")), "{}", first.all());
    let resumed = env.run(["resume", "last"]);
    for output in [first, resumed] {
        for line in [2, 3, 4] {
            let warning = format!("/.env` line {line} ");
            assert_eq!(output.stderr.matches(&warning).count(), 1, "{warning}\n{}", output.all());
        }
        assert!(output.stderr.contains("is ignored: write `NAME=value`"), "{}", output.all());
        assert!(!output.all().contains("hush-hush"), "{}", output.all());
    }
}

#[test]
fn output_without_json_is_quoted_as_printed() {
    let recipe = "name: r\nsteps: [{id: a, command: 'cat j', parse_json_required: true}]\n";
    let output = env().file("j", "{\"a\\b\":1,}\n\tx").json(recipe, &[]);
    let error = output.step("a")["error"].clone();
    let begins = r#"begins with `{"a\b":1,}\n\tx`"#;
    assert!(error.as_str().unwrap_or_default().contains(begins), "{begins}\n{error}");
}
