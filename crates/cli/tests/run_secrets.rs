//! Secrets: nothing that leaves the private folder of a run shows their values.

use testkit::{Output, TestEnv};

const SECRET: &str = "s3cr3t-value-42";

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

const RECIPE: &str = r#"
name: leaky
secrets: [declared, ssh]
context: {api_token: "", declared: "", plain: visible, pin_key: "12", deep: {db: {password: ""}}, ssh: ""}
hooks:
  pre_step: echo "hook {{api_token}}"; echo "{{api_token}}" >&2; exit 1
steps:
  - {id: say, command: 'echo "out {{api_token}} {{declared}} {{plain}}"; echo "err {{api_token}}" >&2'}
  - {id: part, command: 'printf %s {{api_token}}; sleep 0.1; printf "%s tail\n" {{api_token}}'}
  - {id: lines, command: 'echo "{{ssh}}"'}
  - {id: json, parse_json: true, command: 'printf ''{"a": "%s", "user_password": "pw-in-%s", "l": ["%s"]}'' {{api_token}} json {{api_token}}'}
  - {id: made, command: echo made-by-$(echo step)-1, output: new_secret}
  - {id: reveal, command: 'echo {{new_secret}} {{json.user_password}}'}
  - {id: own, env: {STEP_TOKEN: env-of-a-step}, command: echo $STEP_TOKEN}
  - {id: retried, retry: 2, continue_on_error: true, command: 'echo {{api_token}} >&2; exit 3'}
  - {id: group, parallel_group: g, command: 'printf "%s" "a{{api_token}}b"'}
  - {id: ungood, command: 'echo "stdout {{api_token}}"; echo "{{declared}}" >&2; exit 1'}
"#;

/// Runs the recipe in one way after the other and gives everything that could be read.
fn everything(env: &TestEnv) -> Vec<(&'static str, Output)> {
    env.write("recipe.yaml", RECIPE);
    let ssh = "-----BEGIN KEY-----\nfirst-line-of-key\nsecond-line-of-key\n-----END KEY-----";
    let values = [
        format!("api_token={SECRET}"),
        "declared=hidden \"quoted\" too".to_owned(),
        format!("deep={{\"db\": {{\"password\": \"{SECRET}-deep\"}}}}"),
        format!("ssh={ssh}"),
    ];
    let with = |arguments: &[&str]| {
        let mut all: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        values.iter().for_each(|value| all.extend(["--set".to_owned(), value.clone()]));
        env.run(all)
    };
    vec![
        ("text", with(&["recipe.yaml", "--audit-dir", "audit"])),
        ("progress", with(&["recipe.yaml", "--progress"])),
        ("json", with(&["recipe.yaml", "--output-format", "json"])),
        ("dry", with(&["recipe.yaml", "--dry-run", "--progress"])),
        ("dry json", with(&["recipe.yaml", "--dry-run", "--output-format", "json"])),
        ("explain", with(&["explain", "recipe.yaml"])),
        ("show", env.run(["show", "last"])),
        ("show json", env.run(["show", "last", "--output-format", "json"])),
        ("logs", env.run(["logs", "last"])),
        ("logs json", env.run(["logs", "last", "--output-format", "json"])),
        ("logs of a step", env.run(["logs", "last", "say"])),
        ("runs", env.run(["runs", "--output-format", "json"])),
        ("audit", env.shell("cat audit/*")),
    ]
}

#[test]
fn no_secret_is_shown_anywhere() {
    let env = env();
    for (way, output) in everything(&env) {
        let all = format!("{}{}", output.stdout, output.stderr);
        for secret in [
            SECRET,
            "hidden \"quoted\" too",
            r#"hidden \"quoted\" too"#,
            "pw-in-json",
            "made-by-step-1",
            "env-of-a-step",
            "first-line-of-key",
            "second-line-of-key",
        ] {
            // a step that prints a secret inside of something else does so before anybody can know
            let is_too_early = secret == "pw-in-json" && ["text", "progress"].contains(&way);
            assert!(is_too_early || !all.contains(secret), "{way} shows {secret}\n{}", output.all());
        }
        assert_eq!(
            output.code,
            i32::from(["text", "progress", "json"].contains(&way)),
            "{way}\n{}",
            output.all()
        );
    }
}

#[test]
fn other_values_stay_readable() {
    let output = env().json(RECIPE, &["--set", "api_token=ab", "--set", "declared=xyz"]);
    let said = output.step("say")["output"].as_str().unwrap_or_default().to_owned();
    assert_eq!(said, "out ab xyz visible", "values shorter than four characters are masked by name only");
    for name in ["api_token", "declared", "pin_key"] {
        assert_eq!(output.value(name), "[REDACTED]", "{name}");
    }
    assert_eq!(output.value("plain"), "visible");
    assert_eq!(output.value("deep")["db"]["password"], "[REDACTED]");
}

#[test]
fn steps_themselves_see_the_values() {
    let env = env();
    let recipe = "name: r\ncontext: {api_key: abcdef}\nsteps: [{id: s, command: 'test {{api_key}} = abcdef && test $API_KEY = abcdef && echo right > seen'}]\n";
    assert_eq!(env.json(recipe, &[]).code, 0);
    assert!(env.path("seen").exists());
}

#[test]
fn a_secret_may_end_with_a_newline_or_stand_inside_a_value() {
    let recipe = "name: r\nsecrets: [cfg.v]\ncontext:\n  api_key: |\n    S3cr3tV4lue!\n  cfg: {v: D33pV4lue!, w: seen}\nsteps:\n  - {id: s, command: 'echo \"{{api_key}}\" | tr -d \"\\n\"; echo; echo \"{{cfg.v}} {{cfg.w}}\"; echo \"{{api_key}}\" >&2; exit 3'}\n";
    let env = env();
    let ways =
        [env.text(recipe, &[]), env.json(recipe, &[]), env.run(["show", "last"]), env.run(["logs", "last"])];
    for output in ways {
        assert!(!output.all().contains("V4lue!"), "{}", output.all());
        assert!(output.all().contains("seen"), "{}", output.all());
    }
}

#[test]
fn a_secret_that_a_message_cuts_is_not_shown_in_part() {
    let long = format!("eyJhbGciOiJIUzI1NiJ9.{}", "Qx7".repeat(70));
    for (value, command, fields, variable) in [
        ("Zq8Wk3Lm9Xv2Rt7B", "printf \"aaaaaaaaaa%sbbbbbbbb\" {{my_token}} >&2; exit 1", "", "21"),
        ("Zq8Wk3Lm9Xv2Rt7B", "printf %0108d 0; printf %s {{my_token}}", ", parse_json: true", "8192"),
        (&long, "echo {{my_token}}", ", parse_json: true", "8192"),
        (&long, "echo $(( {{my_token}} ))", "", "8192"),
    ] {
        let recipe = format!(
            "name: r\ncontext: {{my_token: {value}}}\nsteps:\n  - {{id: s, command: '{command}'{fields}}}\n"
        );
        let env = env().env("AMPLIHACK_RECIPE_SNIPPET_BYTES", variable);
        for output in [env.text(&recipe, &[]), env.json(&recipe, &[]), env.run(["show", "last"])] {
            let all = output.all();
            let part = (0..value.len() - 6).find(|at| all.contains(&value[*at..at + 6]));
            assert_eq!(part, None, "{command} {all}");
        }
    }
}

#[test]
fn a_value_that_begins_or_ends_a_secret_stays_readable() {
    let env = env();
    let recipe = "
name: r
context: {repo_path: /srv/app, key_name: id_rsa.pem, ssh_key: /srv/app/keys/id_rsa.pem}
steps:
  - {id: say, command: 'echo {{repo_path}}; echo {{key_name}}; echo {{ssh_key}}'}
  - {id: stop, command: 'exit 3'}
";
    let printed = "/srv/app\nid_rsa.pem\n[REDACTED]";
    for output in [env.json(recipe, &[]), env.run(["show", "last", "--output-format", "json"])] {
        assert_eq!(output.value("repo_path"), "/srv/app", "{}", output.all());
        assert_eq!(output.value("key_name"), "id_rsa.pem", "{}", output.all());
        assert_eq!(output.step("say")["output"], printed, "{}", output.all());
    }
    for output in [env.text(recipe, &[]), env.run(["logs", "last"])] {
        assert!(output.all().contains(printed), "{}", output.all());
    }
}

#[test]
fn an_explanation_hides_a_secret_wherever_the_recipe_repeats_it() {
    let env = env().file(
        "r.yaml",
        "name: r\ncontext: {api_key: S3cr3tV4lue!}\nsteps:\n  - {id: s, condition: \"api_key == 'S3cr3tV4lue!'\", command: echo S3cr3tV4lue!}\n",
    );
    for arguments in [
        &["explain", "r.yaml"][..],
        &["explain", "r.yaml", "--output-format", "json"],
        &["explain", "r.yaml", "--graph", "mermaid"],
    ] {
        let output = env.run(arguments);
        assert_eq!(output.code, 0, "{}", output.all());
        assert!(!output.all().contains("S3cr3t"), "{}", output.all());
    }
}

#[test]
fn bytes_around_a_secret_stay_as_they_are() {
    let recipe = "name: r\ncontext: {api_key: abcdef}\nsteps: [{id: s, command: \"printf 'x\\\\377abcdef\\\\376\\\\n'\"}]\n";
    let env = env();
    env.write("recipe.yaml", recipe);
    let output = env.shell("$RUNNER recipe.yaml 2>/dev/null | head -1 | od -An -tx1 | tr -d ' \\n'");
    assert_eq!(output.stdout, "78ff5b52454441435445445dfe0a", "{}", output.all());
}

#[test]
fn problems_do_not_show_the_secrets_of_their_lines() {
    for recipe in [
        "name: r\ncontext: {api_key: topsecretval, Api_Key: other12345}\nsteps: [{id: a, command: 'true'}]\n",
        "name: r\ncontext: {api_key: topsecretval}\nsteps:\n  - {id: a, command: 'echo {{undef}} topsecretval'}\n",
        "name: r\ncontext: {api_key: topsecretval}\nsteps:\n  - {id: a, command: 'true', topsecretval: 1}\n",
        "name: r\nsecrets: [plain]\ncontext: {plain: topsecretval, x: {{}\nsteps: [{id: a, command: 'true'}]\n",
        "name: r\nsecrets: [plain]\ncontext: {plain: topsecretval}\nsteps: [{id: a, comand: topsecretval}]\n",
        "name: r\ncontext:\n  api_key: other12345\n  api_key: topsecretval\nsteps: [{id: a, command: 'true'}]\n",
        "name: r\nsecrets: [plain]\ncontext: {plain: other12345, plain: {x: topsecretval}}\nsteps: [{id: a, command: 'true'}]\n",
        "name: r\ncontext: {}\ncontext: {api_key: topsecretval}\nsteps: [{id: a, command: 'true'}]\n",
        "name: r\nsteps:\n  - {id: a, command: 'true', env: {API_KEY: other12345, API_KEY: topsecretval}}\n",
        "name: r\nsteps:\n  - {id: a, command: 'echo {{undef}}', env: {API_KEY: topsecretval}}\n",
    ] {
        let env = env().file("r.yaml", recipe);
        let output = env.run(["r.yaml"]);
        assert!(!output.stderr.is_empty(), "{recipe}");
        // a file that is no YAML has no names
        let is_yaml = !recipe.contains("{{}");
        assert!(!is_yaml || !output.all().contains("topsecretval"), "{}", output.all());
    }
}

#[test]
fn named_environment_variables_are_secrets_too() {
    let env = env();
    env.write(
        "sub/recipe.yaml",
        r#"
name: named
env: {required: [ASKED_TOKEN]}
secrets: [PLAIN_NAME]
steps:
  - {id: say, command: 'echo "a $ASKED_TOKEN b $FILE_API_KEY c $PLAIN_NAME d $OPEN e $OTHER_KEY"; exit 3'}
"#,
    );
    env.write("sub/.env", "FILE_API_KEY=from-a-file-1\nPLAIN_NAME=declared-env-1\nOPEN=seen-by-all\n");
    let vars = "ASKED_TOKEN=asked-token-1 OTHER_KEY=nobody-names-it";
    let program = env!("CARGO_BIN_EXE_recipe-runner-rs");
    let told = "a [REDACTED] b [REDACTED] c [REDACTED] d seen-by-all e nobody-names-it";
    env.shell("mkdir -p elsewhere");
    for command in [
        "sub/recipe.yaml --audit-dir audit".to_owned(),
        "sub/recipe.yaml --output-format json".to_owned(),
        "show last --output-format json".to_owned(),
        "logs last".to_owned(),
        "logs last --output-format json".to_owned(),
    ] {
        let output = env.shell(&format!("{vars} {program} {command}"));
        let all = output.all();
        assert!(all.contains(told), "{command}: {all}");
        for secret in ["asked-token-1", "from-a-file-1", "declared-env-1"] {
            assert!(!all.contains(secret), "{command} shows {secret}: {all}");
        }
    }
    // files beside the recipe are found wherever a person stands
    let resumed = env.shell(&format!("cd elsewhere; {vars} {program} resume last"));
    assert!(resumed.all().contains(told), "{}", resumed.all());
    let looked = env.shell(&format!("cd elsewhere; {vars} {program} logs last"));
    assert!(looked.all().contains(told) && !looked.all().contains("from-a-file-1"), "{}", looked.all());
}

#[test]
fn a_recipe_that_is_found_while_the_run_is_under_way_has_its_secrets_too() {
    let env = env();
    env.write(
        "child.yaml",
        "name: child\nsecrets: [pin]\ncontext: {pin: hidden-pin-1}\nsteps:\n- {id: say, command: 'echo pin {{pin}}'}\n",
    );
    env.write(
        "recipe.yaml",
        "name: late\ncontext: {which: child}\nsteps:\n- {id: go, recipe: '{{which}}'}\n",
    );
    for arguments in [&["recipe.yaml"][..], &["recipe.yaml", "--output-format", "json"], &["logs", "last"]] {
        let output = env.run(arguments);
        assert!(output.all().contains("pin [REDACTED]"), "{arguments:?}: {}", output.all());
        assert!(!output.all().contains("hidden-pin-1"), "{arguments:?}: {}", output.all());
    }
}

#[test]
fn printed_commands_work_whatever_a_secret_is() {
    let env = env();
    env.write(
        "recipe.yaml",
        "name: words\ncontext: {cache_key: build, a_key: failed, year_token: \"20\"}\nsteps:\n- {id: build, command: 'exit 3'}\n",
    );
    let failed = env.run(["recipe.yaml", "--set", "my_key=2026", "--set", "sort_key=bash"]);
    let run = &env.run_ids()[0];
    for words in ["failed at build: exit code 3", &format!("recipe-runner-rs resume {run}")] {
        assert!(failed.stderr.contains(words), "{words}: {}", failed.stderr);
    }
}

#[test]
fn members_of_json_are_hidden_while_they_are_printed() {
    let env =
        env().agent("claude", r#"say '{"api_key": "S3cretVal99x"}'; result '{"api_key": "S3cretVal99x"}'"#);
    env.write(
        "recipe.yaml",
        "name: r\nsteps:\n- {id: g, parse_json: true, command: 'cat t.json'}\n- {id: a, prompt: x, parse_json: true}\n- {id: d, parse_json: true, command: 'cat d.json'}\n- {id: e, command: 'echo {{d.keys}}'}\n",
    );
    env.write("t.json", "{\"access_token\": \"S3cretVal99x\",\n \"n\": 1}\n");
    env.write("d.json", "{\"keys\": \"value\"}\n");
    for arguments in [&["recipe.yaml"][..], &["recipe.yaml", "--output-format", "json"], &["logs", "last"]] {
        let output = env.run(arguments);
        assert_eq!(output.code, 0, "{}", output.all());
        assert!(!output.all().contains("S3cretVal99x"), "{arguments:?}: {}", output.all());
        assert!(output.stdout.contains("value"), "{arguments:?}: {}", output.all());
    }
}

#[test]
fn members_of_json_are_hidden_where_the_step_fails_too() {
    for command in [r#"echo '{"api_key":"abcdef99"}'; exit 1"#, r#"echo '{"api_key":"abcdef99" oops'"#] {
        let env = env();
        env.write(
            "recipe.yaml",
            format!("name: r\nsteps:\n- id: a\n  parse_json: true\n  command: |\n    {command}\n"),
        );
        for arguments in
            [&["recipe.yaml"][..], &["recipe.yaml", "--format", "json"], &["show", "last"], &["logs", "last"]]
        {
            let all = env.run(arguments).all();
            assert!(!all.contains("abcdef99"), "{command} {arguments:?}: {all}");
        }
    }
}

#[test]
fn names_are_read_by_their_words() {
    let recipe = "
name: r
context: {key_insights: three findings, primary_key: 'true', tokens_used: 4096, api_key: hunter2hunter2}
steps:
  - {id: say, command: 'echo {{key_insights}} {{primary_key}} {{tokens_used}} true {{api_key}}'}
";
    let output = env().json(recipe, &[]);
    assert_eq!(output.value("say"), "three findings true 4096 true [REDACTED]", "{}", output.all());
    assert_eq!(output.value("key_insights"), "three findings");
    assert_eq!(output.value("api_key"), "[REDACTED]");
}

#[test]
fn a_secret_stays_hidden_when_its_environment_file_is_gone() {
    let env = env();
    env.write(".env", "DEPLOY_TOKEN=from-the-file-1\n");
    env.write("recipe.yaml", "name: gone\nenv: {files: [.env]}\nsteps: [{id: say, command: 'echo \"out $DEPLOY_TOKEN\"; echo \"err $DEPLOY_TOKEN\" >&2; exit 1'}]\n");
    env.run(["recipe.yaml"]);
    env.write(".env", "DEPLOY_TOKEN=from-the-file-2\n");
    env.run(["resume", "last"]);
    env.write(".env", "");
    for arguments in [
        vec!["show", "last"],
        vec!["show", "last", "--output-format", "json"],
        vec!["show", "last", "--evidence", "--output-format", "json"],
        vec!["logs", "last"],
        vec!["logs", "last", "say"],
        vec!["logs", "last", "--output-format", "json"],
        vec!["runs", "--output-format", "json"],
        vec!["health", "--output-format", "json"],
        vec!["waiting", "--output-format", "json"],
        vec!["resume", "last", "--plan"],
    ] {
        let output = env.run(&arguments);
        let all = format!("{}{}", output.stdout, output.stderr);
        assert!(!all.contains("from-the-file"), "{arguments:?}: {all}");
    }
    assert!(env.run(["logs", "last", "say"]).stdout.contains("out [REDACTED]"));
    let kept = std::fs::read_to_string(env.run_dir().join("secrets.json")).expect("a file");
    assert!(kept.contains("sha256") && !kept.contains("from-the-file"), "{kept}");
}
