//! What blocks a run before its first step, and the exit code of everything.

use serde_json::json;
use testkit::TestEnv;

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

/// A recipe with these top-level fields that must not run.
fn recipe(fields: &str) -> String {
    format!("name: guarded\n{fields}\nsteps: [{{id: s, command: touch ran}}]\n")
}

fn check_blocked(env: &TestEnv, fields: &str, arguments: &[&str], parts: &[&str]) {
    let output = env.json(&recipe(fields), arguments);
    let json = output.json();
    assert_eq!(output.code, 5, "{fields}\n{}", output.all());
    assert_eq!((json["success"].clone(), json["outcome"].clone()), (json!(false), json!("blocked")));
    assert_eq!(json["step_results"].as_array().map(Vec::len), Some(1));
    let step = output.step("preflight-validation");
    assert_eq!(
        (step["status"].clone(), step["step_id"].clone()),
        (json!("failed"), json!("preflight-validation"))
    );
    let error = step["error"].as_str().unwrap_or_default();
    assert!(error.starts_with("=== PRE-FLIGHT VALIDATION FAILED for 'guarded' ==="), "{error}");
    let text = env.text(&recipe(fields), arguments);
    assert_eq!(text.code, 5);
    for part in parts {
        assert!(error.contains(part), "{part}: {error}");
        // names for programs are only in JSON
        assert!(text.stderr.contains(part) || part.starts_with("MISSING_ENV"), "{part}\n{}", text.all());
    }
    assert!(!env.path("ran").exists());
}

#[test]
fn all_missing_things_are_reported_together() {
    let fields = "inputs:\n  - {name: ticket, description: the ticket, required: true}\n  - {name: other, required: true}\n  - {name: free}\n  - {name: given, required: true, default: d}\ncontext: {a: '', dir: nowhere, repo: '.', o: ''}\ncontext_validation: {a: nonempty, dir: path, repo: git_repo, o: optional}";
    check_blocked(
        &env(),
        fields,
        &[],
        &[
            "`ticket` (the ticket)",
            "--set ticket=",
            "`other`",
            "`a` is empty",
            "`dir` must be a path",
            "`repo` must be a git work tree",
        ],
    );
    let twice = "inputs: [{name: ticket, required: true}]\ncontext_validation: {ticket: nonempty}";
    let output = env().json(&recipe(twice), &[]);
    let said = output.json()["advice"].to_string();
    assert_eq!(
        (said.matches("give `ticket`").count(), said.matches("ticket=VALUE").count()),
        (1, 2),
        "{said}"
    );
    let output = env().json(&recipe("context_validation: {a: sometimes}"), &[]);
    assert_eq!(output.code, 2, "another word is an error");
}

#[test]
fn existing_things_do_not_block() {
    let env = env().file("repo/.git/HEAD", "").file("repo/sub/x", "");
    let fields = "inputs: [{name: t, required: true}]\ncontext: {a: '', dir: '', repo: ''}\ncontext_validation: {a: nonempty, dir: path, repo: git_repo}";
    let arguments = ["--set", "t=0", "--set", "a=false", "--set", "dir=repo/sub", "--set", "repo=repo/sub"];
    let output = env.json(&recipe(fields), &arguments);
    assert_eq!(output.code, 0, "{}", output.all());
    assert!(env.path("ran").exists());
}

#[test]
fn the_working_directory_must_exist() {
    let env = env().file("plain", "");
    for dir in ["nowhere", "plain"] {
        check_blocked(&env, "version: 1", &["-C", dir], &[dir]);
    }
}

#[test]
fn a_current_directory_that_is_gone_is_called_that() {
    let env = env().file("r.yaml", recipe("version: 1"));
    let output = env.shell("here=$PWD; mkdir gone; cd gone; rmdir ../gone; exec $RUNNER \"$here/r.yaml\"");
    assert_eq!(output.code, 5, "{}", output.all());
    assert!(output.stderr.contains("the current directory no longer exists"), "{}", output.all());
    assert!(!output.stderr.contains("-C ''"), "{}", output.all());
}

#[test]
fn a_directory_whose_path_cannot_be_stored_is_refused() {
    let env = env().file("r.yaml", recipe("version: 1"));
    let output = env.shell("mkdir $'w\\xffd'; exec $RUNNER r.yaml -C $'w\\xffd'");
    assert_eq!(output.code, 5, "{}", output.all());
    assert!(output.stderr.contains("is not valid UTF-8"), "{}", output.all());
    assert!(!env.path("ran").exists());
}

#[test]
fn names_from_outside_that_collide_are_called_that() {
    let output = env().text(&recipe("version: 1"), &["--set", "a-b=2", "--set", "a_b=3"]);
    assert_eq!(output.code, 2, "{}", output.all());
    assert!(output.stderr.contains("both are given from outside"), "{}", output.all());
}

#[test]
fn a_nul_in_a_given_value_is_refused() {
    let env = env().file("c.json", "{\"p\": \"a\\u0000b\"}");
    for arguments in [&["--context-file", "c.json"][..], &["--set", "p={\"k\":\"a\\u0000b\"}"]] {
        let output = env.text(&recipe("context: {p: x}"), arguments);
        assert_eq!(output.code, 4, "{}", output.all());
        assert!(output.stderr.contains("`p` has a NUL"), "{}", output.all());
    }
}

#[test]
fn an_empty_list_is_empty() {
    let fields = "context: {v: x}\ncontext_validation: {v: nonempty}";
    for (value, code) in [("v=[]", 5), ("v={}", 5), ("v=[1]", 0), ("v=0", 0), ("v=false", 0)] {
        let output = env().json(&recipe(fields), &["--set", value]);
        assert_eq!(output.code, code, "{value} {}", output.all());
    }
}

#[test]
fn the_next_steps_lead_out() {
    let env = env();
    for (fields, variables, parts, never) in [
        (
            "inputs: [{name: v, required: true}]",
            &[][..],
            &["give `v` a value: `--set v=VALUE`", " --set v=VALUE"][..],
            ".env",
        ),
        (
            "context: {q: ''}\ncontext_validation: {q: nonempty}",
            &[],
            &["give `q` a value: `--set q=VALUE`", " --set q=VALUE"],
            ".env",
        ),
        ("env: {required: [NEEDED]}", &[], &["`.env` or the files that `env.files` names (NEEDED)"], "--set"),
        (
            "version: 1",
            &["AMPLIHACK_SESSION_DEPTH=abc"],
            &["next:    AMPLIHACK_SESSION_DEPTH: `abc`", "unset AMPLIHACK_SESSION_DEPTH"],
            "correct the recipe",
        ),
        (
            "version: 1",
            &["AMPLIHACK_SESSION_DEPTH=3"],
            &["next:    session depth 3", "raise AMPLIHACK_MAX_DEPTH"],
            "correct the recipe",
        ),
    ] {
        env.write("r.yaml", recipe(fields));
        let output = env.shell(&format!("env {} $RUNNER r.yaml", variables.join(" ")));
        assert_eq!(output.code, 5, "{}", output.all());
        for part in parts {
            assert!(output.stderr.contains(part), "{part}\n{}", output.all());
        }
        let next = output.stderr.split("next:").nth(1).unwrap_or_default();
        assert!(!next.contains(never), "{}", output.all());
    }
}

#[test]
fn each_missing_thing_is_reported_separately() {
    let env = env();
    let fields =
        "inputs: [{name: i1, required: true}, {name: i2, required: true}]\nenv: {required: [NEEDA, NEEDB]}";
    let output = env.json(&recipe(fields), &["-C", "."]);
    let json = output.json();
    let advice: Vec<&str> =
        json["advice"].as_array().unwrap().iter().filter_map(|line| line.as_str()).collect();
    let wanted = [
        "give `i1` a value: `--set i1=VALUE`",
        "give `i2` a value: `--set i2=VALUE`",
        "set the missing value, or write it into `.env` or the files that `env.files` names (NEEDA, NEEDB)",
    ];
    assert_eq!(advice[..3], wanted, "{advice:?}");
    assert!(advice.len() == 4 && advice[3].starts_with("start again: "), "{advice:?}");
    let signals: Vec<String> = json["diagnosis"]["signals"]
        .as_array()
        .unwrap()
        .iter()
        .map(|signal| format!("{} {}", signal["at"], signal["quote"]).replace('"', ""))
        .collect();
    assert_eq!(signals, ["context i1", "context i2", "environment NEEDA, NEEDB"], "{signals:?}");
    let more = "env: {required: [NEEDA]}\ncontext: {dir: nowhere}\ncontext_validation: {dir: path}";
    let text = env.json(&recipe(more), &[]).json()["advice"].to_string();
    assert!(
        text.contains("(NEEDA)") && text.contains("create the missing path, or name another one"),
        "{text}"
    );
}

#[test]
fn files_with_variables_count_for_the_runner_too() {
    let env = env().file(".env", "\u{feff}RECIPE_VAR_v=from the file\nAMPLIHACK_AGENT_BINARY=codex\n");
    let fields = "name: r\ninputs: [{name: v, required: true}]\nenv: {files: [.env]}\n";
    let step = "steps: [{id: s, command: 'echo {{v}} $RECIPE_VAR_v'}]\n";
    let output = env.json(&format!("{fields}{step}"), &[]);
    assert_eq!(output.value("s"), "from the file from the file", "{}", output.all());
    let output = env.env("RECIPE_VAR_v", "exported").json(&format!("{fields}{step}"), &[]);
    assert_eq!(output.value("s"), "exported exported", "{}", output.all());
    let output = self::env()
        .file(".env", "AMPLIHACK_AGENT_BINARY=codex\n")
        .json("name: r\nsteps: [{id: s, prompt: x}]\n", &[]);
    assert!(output.all().contains("codex") && !output.all().contains("claude"), "{}", output.all());
}

#[test]
fn a_secret_that_is_not_a_path_is_not_shown() {
    for (rule, secrets) in [("path", "[]"), ("git_repo", "[]"), ("path", "[api_key, place]")] {
        let fields = format!(
            "context: {{api_key: S3cr3tV4lue!, place: Pl4ceV4lue!}}\nsecrets: {secrets}\ncontext_validation: {{api_key: {rule}, place: {rule}}}"
        );
        let env = env();
        let hidden = if secrets == "[]" {
            "Pl4ceV4lue!` does not"
        } else {
            "`place` must be a path that exists, but `[REDACTED]` does not"
        };
        check_blocked(
            &env,
            &fields,
            &[],
            &["`api_key` must be a path that exists, but `[REDACTED]` does not", hidden],
        );
        let shown = env.json(&recipe(&fields), &[]).all() + &env.text(&recipe(&fields), &["--dry-run"]).all();
        assert!(!shown.contains("S3cr3t"), "{shown}");
    }
}

#[test]
fn required_variables_come_from_the_environment_or_files() {
    let fields = "env: {required: [FIRST_VAR, SECOND_VAR], files: [.env.local, .env]}";
    check_blocked(&env(), fields, &[], &["MISSING_ENV_VAR: FIRST_VAR, SECOND_VAR", "export FIRST_VAR="]);
    check_blocked(&env().env("FIRST_VAR", "x"), fields, &[], &["MISSING_ENV_VAR: SECOND_VAR: set it with"]);
    let empty = env().env("FIRST_VAR", "x").file(".env", "SECOND_VAR=\n");
    check_blocked(&empty, fields, &[], &["MISSING_ENV_VAR: SECOND_VAR: it is empty: set it with"]);
    let env = env()
        .env("EXPORTED", "exported")
        .file(".env", "export FIRST_VAR='from env' # note\nSECOND_VAR=env\nEXPORTED=no\n")
        .file(".env.local", "SECOND_VAR=\"local\"\n");
    let recipe =
        format!("name: r\n{fields}\nsteps: [{{id: s, command: 'echo $FIRST_VAR/$SECOND_VAR/$EXPORTED'}}]\n");
    let output = env.json(&recipe, &[]);
    assert_eq!(output.value("s"), "from env/local/exported", "{}", output.all());
}

#[test]
fn the_session_tree_has_an_end() {
    for (depth, most, is_blocked) in [
        ("3", None, true),
        ("2", None, false),
        ("7", None, true),
        ("garbage", None, true),
        ("-1", None, true),
        ("3", Some("5"), false),
        ("0", Some("0"), true),
    ] {
        let mut env = env().env("AMPLIHACK_SESSION_DEPTH", depth);
        if let Some(most) = most {
            env = env.env("AMPLIHACK_MAX_DEPTH", most);
        }
        match is_blocked {
            true => check_blocked(&env, "version: 1", &[], &["depth"]),
            false => assert_eq!(env.json(&recipe("version: 1"), &[]).code, 0, "{depth} {most:?}"),
        }
    }
    let recipe = "name: r\nsteps: [{id: s, command: 'echo $AMPLIHACK_SESSION_DEPTH $AMPLIHACK_MAX_DEPTH $AMPLIHACK_MAX_SESSIONS $AMPLIHACK_TREE_ID'}]\n";
    let output = env().env("AMPLIHACK_TREE_ID", "tree").env("AMPLIHACK_SESSION_DEPTH", "1").json(recipe, &[]);
    assert_eq!(output.value("s"), "2 3 10 tree");
    let own = env().json(recipe, &[]);
    let run = own.json()["run_id"].as_str().unwrap_or_default().to_owned();
    assert_eq!(own.value("s"), format!("1 3 10 {run}"));
}

#[test]
fn a_missing_agent_program_blocks_and_is_never_replaced() {
    let fields = "name: r\nsteps:\n  - {id: first, command: touch ran}\n  - {id: ask, prompt: hello, when_tags: [ai]}\n";
    let env = env();
    let output = env.json(fields, &["--agent-binary", "no-such-agent"]);
    assert_eq!((output.code, env.path("ran").exists()), (5, false), "{}", output.all());
    assert!(output.step("preflight-validation")["error"].to_string().contains("no-such-agent"));
    assert_eq!(env.json(fields, &["--agent-binary", "no-such-agent", "--exclude-tags", "ai"]).code, 0);
}

#[test]
fn a_dry_run_needs_values_but_no_programs_and_writes_nothing() {
    for (fields, code) in [
        ("inputs: [{name: t, required: true}]", 5),
        ("context_validation: {t: nonempty}", 5),
        ("env: {required: [NOT_SET_ANYWHERE]}", 0),
        ("version: 1", 0),
    ] {
        let env = env();
        let output = env.json(&recipe(fields), &["--dry-run", "--agent-binary", "no-such-agent"]);
        assert_eq!((output.code, output.json()["dry_run"] == true), (code, true), "{}", output.all());
        assert_eq!(std::fs::read_dir(env.state()).map(Iterator::count).unwrap_or(0), 0);
    }
}

#[test]
fn an_unusable_state_directory_is_the_runners_own_failure() {
    let env = env().file("plain", "");
    let output = env.text(&recipe("version: 1"), &["--state-dir", "plain"]);
    assert_eq!((output.code, env.path("ran").exists()), (8, false), "{}", output.all());
    assert!(output.stderr.contains("error"), "{}", output.all());
}

#[test]
fn only_recipes_that_may_run_need_their_variables() {
    const CHILD: &str =
        "name: c\nenv: {required: [DEPLOY_TOKEN]}\nsteps:\n- {id: k, command: 'echo t=$DEPLOY_TOKEN'}\n";
    for (steps, arguments, code) in [
        ("{id: s, recipe: c}", &[][..], 5),
        ("{id: s, recipe: c, when_tags: [release]}", &[], 5),
        ("{id: s, recipe: c, when_tags: [release]}", &["--exclude-tags", "release"], 0),
        ("{id: s, recipe: c, condition: 'false'}", &[], 0),
        ("{id: s, recipe: c, condition: 'n == 2'}", &[], 0),
        ("{id: s, recipe: c, env: {DEPLOY_TOKEN: given}}", &[], 0),
        ("{id: s, recipe: c, env: {DEPLOY_TOKEN: given}}\n- {id: t, recipe: c}", &[], 5),
        ("{id: s, recipe: m, env: {DEPLOY_TOKEN: given}}", &[], 0),
    ] {
        let env = env();
        env.write("c.yaml", CHILD);
        env.write("m.yaml", "name: m\nsteps:\n- {id: c, recipe: c}\n");
        env.write(
            "r.yaml",
            format!("name: r\ncontext: {{n: 1}}\nsteps:\n- {steps}\n- {{id: z, command: 'true'}}\n"),
        );
        let mut all = vec!["r.yaml"];
        all.extend(arguments);
        let output = env.run(all);
        assert_eq!(output.code, code, "{steps} {arguments:?}: {}", output.all());
        assert_eq!(
            output.stderr.contains("variable `DEPLOY_TOKEN` is not set"),
            code == 5,
            "{}",
            output.all()
        );
    }
}

#[test]
fn a_rule_may_name_a_member() {
    for (context, rule, arguments, code) in [
        ("{o: {k: x}}", "{o.k: nonempty}", &[][..], 0),
        ("{o: {k: ''}}", "{o.k: nonempty}", &[], 5),
        ("{o: {k: ''}}", "{o.k: nonempty}", &["--set", "o.k=y"], 0),
        ("{o: {k: .}}", "{o.k: path}", &[], 0),
        ("{o: {k: nowhere}}", "{o.k: path}", &[], 5),
        ("{o: {l: [a]}}", "{o.l: nonempty}", &[], 0),
        ("{o: x}", "{o.k: nonempty}", &[], 5),
    ] {
        let env = env();
        env.write(
            "r.yaml",
            format!("name: r\ncontext: {context}\ncontext_validation: {rule}\nsteps:\n- {{id: a, command: 'true'}}\n"),
        );
        let mut all = vec!["r.yaml"];
        all.extend(arguments);
        let output = env.run(all);
        assert_eq!(output.code, code, "{context} {rule} {arguments:?}: {}", output.all());
    }
}

#[test]
fn a_recipe_that_is_found_late_needs_its_variables_when_it_is_entered() {
    for (more, code) in [("", 1), (", env: {KK: given}", 0)] {
        let env = env();
        env.write("c.yaml", "name: c\nenv: {required: [KK]}\nsteps:\n- {id: k, command: 'echo [$KK]'}\n");
        env.write(
            "r.yaml",
            format!("name: r\ncontext: {{w: c}}\nsteps:\n- {{id: s, recipe: '{{{{w}}}}'{more}}}\n"),
        );
        let output = env.run(["r.yaml"]);
        assert_eq!(output.code, code, "{}", output.all());
        assert_eq!(output.stderr.contains("variable `KK` is not set"), code == 1, "{}", output.all());
    }
}

#[test]
fn a_file_of_variables_does_not_say_where_runs_are_stored() {
    let env = env();
    env.write(".env", "RECIPE_RUNNER_HOME=elsewhere\nXDG_STATE_HOME=elsewhere\n");
    env.write("r.yaml", "name: r\nsteps:\n- {id: a, command: 'exit 3'}\n");
    assert_eq!(env.run(["r.yaml"]).code, 1);
    assert_eq!(env.run_ids().len(), 1);
    assert_eq!(env.run(["show", "last"]).code, 0);
    assert!(!env.path("elsewhere").exists());
}
