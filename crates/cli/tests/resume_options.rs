//! What a resume says about an edited recipe, which options it takes over, and how runs are named.

use testkit::TestEnv;

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

#[test]
fn an_edited_recipe_is_noticed_and_the_command_for_it_works() {
    let env = env().file("my r.yaml", "name: r\nsteps: [{id: a, command: exit 3}]\n");
    assert_eq!(env.run(["my r.yaml"]).code, 1);
    let same = env.run(["resume", "last"]);
    assert!(!same.all().contains("--recipe"), "{}", same.all());
    env.write("my r.yaml", "name: r\nsteps: [{id: a, command: touch edited}]\n");
    let plan = env.run(["resume", "last", "--plan"]);
    assert!(plan.stdout.contains("--recipe"), "{}", plan.all());
    let json = env.run(["resume", "last", "--plan", "--output-format", "json"]).json();
    assert!(json["changed_recipe"].as_str().unwrap().ends_with("my r.yaml"), "{json}");
    let old = env.run(["resume", "last"]);
    assert_eq!(old.code, 1, "it goes on with the recipe as it was");
    let said = old.stderr.lines().find(|line| line.contains("--recipe")).unwrap();
    let command =
        said[said.find("recipe-runner-rs").unwrap()..].replacen("recipe-runner-rs", "\"$RUNNER\"", 1);
    let edited = env.shell(&format!("cd / && {command}"));
    assert_eq!(edited.code, 0, "{command}\n{}", edited.all());
    assert!(env.path("edited").exists());
}

#[test]
fn max_parallel_of_a_resume_counts() {
    let member = |id: &str| {
        format!("  - {{id: {id}, parallel_group: g, command: 'echo + >> log; sleep 0.3; echo - >> log'}}\n")
    };
    let recipe = format!(
        "name: r\nsteps:\n  - {{id: first, command: '[ -e ok ]'}}\n{}{}{}",
        member("a"),
        member("b"),
        member("c")
    );
    for (first, second, expected) in [("1", None, 1), ("1", Some("64"), 3), ("64", Some("1"), 1)] {
        let env = env().file("r.yaml", &recipe);
        assert_eq!(env.run(["r.yaml", "--max-parallel", first]).code, 1);
        env.write("ok", "");
        let arguments =
            ["resume", "last"].into_iter().chain(second.into_iter().flat_map(|n| ["--max-parallel", n]));
        assert_eq!(env.run(arguments).code, 0);
        let log = std::fs::read_to_string(env.path("log")).unwrap();
        let (mut now, mut most) = (0, 0);
        for line in log.lines() {
            now += if line == "+" { 1 } else { -1 };
            most = most.max(now);
        }
        assert_eq!(most, expected, "{first} then {second:?}");
    }
}

/// A run whose first step keeps a ledger and whose second one fails until `v` is `two`.
fn gated() -> TestEnv {
    let recipe = "name: r\ncontext: {v: one, w: w}\nsteps:\n  - {id: b, command: 'echo {{w}} | tee -a ledger'}\n  \
                  - {id: a, command: 'echo a{{v}} | tee -a ledger'}\n  - {id: gate, command: '[ \"{{v}}\" = two ]'}\n";
    let env = env().file("r.yaml", recipe);
    assert_eq!(env.run(["r.yaml"]).code, 1);
    env
}

fn ledger(env: &TestEnv) -> String {
    std::fs::read_to_string(env.path("ledger")).unwrap_or_default().replace('\n', " ")
}

#[test]
fn a_resume_with_other_values_reruns_their_readers() {
    for (given, expected) in [
        (&["--set", "v=two"][..], (0, "w aone atwo ")),
        (&["--context-file", "c.json"], (0, "w aone atwo ")),
        (&["--set", "v=two", "--set", "w=w"], (0, "w aone atwo ")),
        (&["--set", "v=one"], (1, "w aone ")),
        (&[], (1, "w aone ")),
    ] {
        let env = gated();
        env.write("c.json", "{\"v\": \"two\"}");
        for start in [&["resume", "last"][..], &["r.yaml", "--previous-run-id", "last"]] {
            let arguments: Vec<&str> = start.iter().chain(given).copied().collect();
            let output = env.run(&arguments);
            assert_eq!((output.code, ledger(&env).as_str()), expected, "{arguments:?}\n{}", output.all());
            if output.code == 0 {
                break;
            }
        }
    }
    // what was given stays given
    let env = gated();
    assert_eq!(env.run(["resume", "last", "--set", "w=x"]).code, 1);
    assert_eq!(env.run(["resume", "last", "--set", "v=two"]).code, 0);
    let context = env.run(["show", "last", "--output-format", "json"]).json()["context"].clone();
    assert_eq!((context["v"].as_str(), context["w"].as_str()), (Some("two"), Some("x")), "{context}");
    let secret = gated();
    let output =
        secret.run(["resume", "last", "--set", "api_token=hunter2-hunter2", "--set", "w=hunter2-hunter2"]);
    assert!(!output.all().contains("hunter2"), "{}", output.all());
}

#[test]
fn a_dry_resume_executes_nothing() {
    for start in [&["resume", "last", "--dry-run"][..], &["r.yaml", "--previous-run-id", "last", "--dry-run"]]
    {
        let env = gated();
        let before = ledger(&env);
        let arguments: Vec<&str> = start.iter().chain(&["--set", "v=two"]).copied().collect();
        let output = env.run(&arguments);
        assert_eq!((output.code, ledger(&env)), (0, before), "{}", output.all());
        assert!(output.stdout.contains("re-run   gate"), "{}", output.all());
        assert_eq!(env.run(["show", "last", "--output-format", "json"]).json()["status"], "failed");
    }
}

#[test]
fn a_run_resumes_in_its_directory() {
    let env = gated();
    let output = env.run(["resume", "last", "-C", "/"]);
    assert_eq!(output.code, 4, "{}", output.all());
    assert!(output.stderr.contains("works in"), "{}", output.all());
    assert_eq!(env.run(["resume", "last", "-C", "."]).code, 1, "the same place");
}

#[test]
fn a_completed_run_is_reported_as_completed() {
    let env = env().file("r.yaml", "name: r\nsteps: [{id: a, command: 'true'}]\n");
    assert_eq!(env.run(["r.yaml"]).code, 0);
    let output = env.run(["resume", "last", "--output-format", "json"]);
    let json = output.json();
    assert_eq!((output.code, json["status"].as_str()), (0, Some("completed")));
    assert!(json["message"].as_str().is_some_and(|text| text.contains("has already completed")), "{json}");
}

#[test]
fn an_ambiguous_beginning_names_a_few_runs() {
    let env = env().file("r.yaml", "name: r\nsteps: [{id: a, command: 'true'}]\n");
    for _ in 0..6 {
        assert_eq!(env.run(["r.yaml"]).code, 0);
    }
    let ids = env.run_ids();
    let output = env.run(["show", "20"]);
    assert_eq!(output.code, 3, "{}", output.all());
    let named = ids.iter().filter(|id| output.stderr.contains(id.as_str())).count();
    assert!(
        named <= 3 && output.stderr.contains("matches 6 runs") && output.stderr.contains("3 more"),
        "{}",
        output.all()
    );
}

#[test]
fn printed_commands_repeat_the_options_and_no_secret() {
    let recipe = "name: r\ncontext: {v: one}\nsteps:\n  - {id: push, command: 'echo {{v}}', effects: [push], when_tags: [t]}\n  - {id: gate, command: '[ -e ok ]'}\n";
    let env = env().file("r.yaml", recipe);
    assert_eq!(env.run(["r.yaml"]).code, 1);
    let asked =
        ["resume", "last", "--set", "v=two", "--set", "api_token=hunter2-hunter2", "--include-tags", "t"];
    for arguments in [asked.to_vec(), [&asked[..], &["--plan"]].concat()] {
        let output = env.run(&arguments);
        let all = output.all();
        assert!(
            all.contains("--set v=two") && all.contains("api_token=…") && all.contains("--include-tags t"),
            "{all}"
        );
        assert!(!all.contains("hunter2"), "{all}");
    }
}

#[test]
fn a_resume_counts_as_a_session_too() {
    let env = env();
    env.write("recipe.yaml", "name: r\nsteps:\n- {id: a, command: 'echo x >> ledger; test -f go'}\n");
    assert_eq!(env.run(["recipe.yaml"]).code, 1);
    env.write("go", "");
    let program = env!("CARGO_BIN_EXE_recipe-runner-rs");
    let refused = env.shell(&format!("AMPLIHACK_SESSION_DEPTH=3 {program} resume last"));
    assert_eq!(refused.code, 5, "{}", refused.all());
    assert!(refused.stderr.contains("session depth 3 has reached the maximum of 3"), "{}", refused.all());
    assert_eq!(env.read("ledger"), "x\n");
    assert_eq!(env.run(["resume", "last"]).code, 0);
}

/// A step that its timeout ends half-way, and one after it.
fn half_way(more: &str) -> TestEnv {
    env().file(
        "r.yaml",
        format!(
            "name: r\nsteps:\n  - {{id: a, timeout: 1, command: 'echo a >>ledger; [ -e go ] || sleep 60'{more}}}\n  \
             - {{id: b, command: echo b >>ledger}}\n"
        ),
    )
}

#[test]
fn a_step_that_is_not_idempotent_and_timed_out_is_not_simply_repeated() {
    for (arguments, code) in [(&["r.yaml"][..], 1), (&["r.yaml", "--auto-fix=3"], 6)] {
        for (choice, ledger) in [("--rerun-interrupted", "a\na\nb\n"), ("--skip-interrupted", "a\nb\n")] {
            let env = half_way(", idempotent: false");
            let output = env.run(arguments);
            assert_eq!((output.code, env.read("ledger")), (code, "a\n".to_owned()), "{}", output.all());
            if code == 6 {
                assert!(output.all().contains(choice), "{}", output.all());
            }
            env.write("go", "");
            let plan = env.run(["resume", "last", "--plan"]);
            assert!(plan.stdout.contains("choose --rerun-interrupted"), "{}", plan.all());
            let asked = env.run(["resume", "last"]);
            assert_eq!((asked.code, env.read("ledger")), (6, "a\n".to_owned()), "{}", asked.all());
            assert!(asked.all().contains(choice), "{}", asked.all());
            let chosen = env.run(["resume", "last", choice]);
            assert_eq!((chosen.code, env.read("ledger")), (0, ledger.to_owned()), "{}", chosen.all());
        }
    }
}

#[test]
fn a_step_that_timed_out_is_repeated_where_that_does_no_harm() {
    for (arguments, ledger) in [(&["r.yaml"][..], "a\n"), (&["r.yaml", "--auto-fix=2"], "a\na\n")] {
        let env = half_way("");
        env.run(arguments);
        assert_eq!(env.read("ledger"), ledger);
        env.write("go", "");
        assert_eq!(env.run(["resume", "last"]).code, 0);
    }
}

#[test]
fn a_step_that_failed_by_itself_asks_no_question() {
    let recipe = "name: r\nsteps:\n  - {id: a, idempotent: false, command: 'echo a >>ledger; [ -e go ]'}\n";
    let env = env().file("r.yaml", recipe);
    assert_eq!(env.run(["r.yaml"]).code, 1);
    env.write("go", "");
    assert_eq!((env.run(["resume", "last"]).code, env.read("ledger")), (0, "a\na\n".to_owned()));
}

#[test]
fn steps_of_a_completed_sub_recipe_are_kept_unless_requested() {
    let env = env();
    env.write(
        "c.yaml",
        "name: c\nsteps:\n- {id: k0, command: 'echo k0 >>ledger'}\n- {id: k, command: 'echo k >>ledger; exit 9'}\n- {id: k2, command: 'echo k2 >>ledger'}\n",
    );
    env.write(
        "r.yaml",
        "name: r\nsteps:\n- {id: s, recipe: c, continue_on_error: true}\n- {id: z, command: 'echo z >>ledger; test -f go'}\n",
    );
    assert_eq!(env.run(["r.yaml"]).code, 1);
    let plan = env.run(["resume", "last", "--plan", "--output-format", "json"]).json();
    assert_eq!(plan["rerun"], serde_json::json!(["z"]), "{plan}");
    assert_eq!(plan["goes_on_at"], "z");
    for (path, action) in [("s", "keep"), ("s/k0", "keep"), ("s/k", "keep"), ("s/k2", "keep"), ("z", "rerun")]
    {
        let steps = plan["steps"].as_array().cloned().unwrap_or_default();
        let entry = steps.iter().find(|entry| entry["path"] == path).cloned().unwrap_or_default();
        assert_eq!(entry["action"], action, "{path}: {plan}");
    }
    env.write("go", "");
    assert_eq!(env.run(["resume", "last", "--from", "s/k"]).code, 0);
    assert_eq!(env.read("ledger"), "k0\nk\nz\nk\nz\n");
}

#[test]
fn a_plan_obeys_the_choice_about_interrupted_steps() {
    let env = half_way(", idempotent: false");
    assert_eq!(env.run(["r.yaml"]).code, 1);
    for (choice, action) in
        [("", "pending"), ("--rerun-interrupted", "rerun"), ("--skip-interrupted", "keep")]
    {
        let mut all = vec!["resume", "last", "--plan", "--output-format", "json"];
        all.extend(Some(choice).filter(|choice| !choice.is_empty()));
        let plan = env.run(all).json();
        assert_eq!(plan["steps"][0]["action"], action, "{choice}: {plan}");
    }
}

#[test]
fn a_completed_run_has_a_plan_without_anything_to_do() {
    let env = env().file("r.yaml", "name: r\nsteps:\n- {id: a, command: 'true'}\n");
    assert_eq!(env.run(["r.yaml"]).code, 0);
    let plan = env.run(["resume", "last", "--plan", "--from", "a", "--output-format", "json"]).json();
    assert_eq!(plan["rerun"], serde_json::json!([]), "{plan}");
    let wrong = env.run(["resume", "last", "--plan", "--from", "b"]);
    assert_eq!(wrong.code, 0, "{}", wrong.all());
}

#[test]
fn a_step_is_named_by_its_path_alone() {
    let env = env().file("r.yaml", "name: r\nsteps:\n- {id: a, command: 'exit 1'}\n");
    assert_eq!(env.run(["r.yaml"]).code, 1);
    for wrong in ["/a", "a/", "b", ""] {
        let output = env.run(["resume", "last", "--plan", "--from", wrong]);
        assert_eq!(output.code, 4, "{wrong}: {}", output.all());
    }
}

#[test]
fn a_run_of_another_recipe_is_not_taken_for_one_of_this() {
    let env = env()
        .file("r.yaml", "name: r\nsteps:\n- {id: a, command: 'true'}\n- {id: b, command: 'exit 1'}\n")
        .file("o.yaml", "name: other\nsteps:\n- {id: a, command: 'true'}\n- {id: b, command: 'true'}\n")
        .file("renamed.yaml", "name: r\nsteps:\n- {id: a, command: 'true'}\n- {id: b, command: 'true'}\n");
    assert_eq!(env.run(["r.yaml"]).code, 1);
    let refused = env.run(["o.yaml", "--start-from", "b", "--previous-run-id", "last"]);
    assert_eq!(refused.code, 4, "{}", refused.all());
    assert!(refused.stderr.contains("is a run of `r`, not of `other`"), "{}", refused.all());
    assert!(refused.stderr.contains("--recipe"), "{}", refused.all());
    assert_eq!(env.run(["renamed.yaml", "--start-from", "b", "--previous-run-id", "last", "--yes"]).code, 0);
}

#[test]
fn a_run_that_waits_for_a_choice_names_the_choices() {
    let env = half_way(", idempotent: false");
    env.run(["r.yaml"]);
    assert_eq!(env.run(["resume", "last"]).code, 6);
    let shown = env.run(["show", "last", "--output-format", "json"]).json();
    let advice = shown["advice"].to_string();
    for flag in ["--rerun-interrupted", "--skip-interrupted"] {
        assert!(advice.contains(flag), "{advice}");
        assert!(env.run(["show", "last"]).all().contains(flag));
    }
}

#[test]
fn every_interrupted_step_that_a_choice_holds_for_is_named() {
    let env = env();
    let once = "idempotent: false, timeout: 1";
    env.write("c.yaml", format!("name: c\nsteps:\n- {{id: eff, {once}, command: sleep 60}}\n"));
    env.write(
        "r.yaml",
        format!(
            "name: r\nsteps:\n- {{id: mig-a, {once}, parallel_group: g, command: sleep 60}}\n\
             - {{id: mig-b, {once}, parallel_group: g, command: sleep 60}}\n\
             - {{id: plain, timeout: 1, parallel_group: g, command: sleep 60}}\n\
             - {{id: nested, recipe: c, parallel_group: g}}\n"
        ),
    );
    assert_eq!(env.run(["r.yaml"]).code, 1);
    let all = "steps `mig-a`, `mig-b`, `nested/eff` of run";
    let text = env.run(["resume", "last"]);
    assert_eq!(text.code, 6, "{}", text.all());
    let json = env.run(["resume", "last", "--output-format", "json"]).json();
    let shown = env.run(["show", "last", "--output-format", "json"]).json();
    let hints = json["hints"].to_string();
    for (said, part) in [
        (&text.stderr, all),
        (&text.stderr, "choose for all of them"),
        (&text.stderr, "--plan"),
        (&json["error"].to_string(), all),
        (&hints, "run them again: "),
        (&hints, "leave them out: "),
        (&hints, "--plan"),
        (&shown["advice"].to_string(), "`mig-a`, `mig-b`, `nested/eff`"),
        (&shown["advice"].to_string(), "run all of them again"),
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}
