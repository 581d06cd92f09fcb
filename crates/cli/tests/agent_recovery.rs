//! Recovery: an agent may finish the work of a failed sub-recipe, and a refusal never counts as a success.

use testkit::{Output, TestEnv, until};

const PARENT: &str = "name: parent
context: {task: mend it, api_key: hunter2hunter2, long: ''}
steps:
- {id: sub, recipe: child, output: value, recovery_on_failure: true}
- {id: after, command: 'echo \"got {{value}} [{{made}}]\"'}
";
const CHILD: &str = "name: child
steps:
- {id: first, command: echo part, output: made}
- {id: second, command: echo broken >&2; exit 3}
";

fn env(body: &str) -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
        .agent("claude", body)
        .file("parent.yaml", PARENT)
        .file("child.yaml", CHILD)
        .env("AMPLIHACK_RATELIMIT_BASE_DELAY_SECS", "0")
        .env("AMPLIHACK_RATELIMIT_MAX_RETRIES", "2")
}

fn run(env: &TestEnv, args: &[&str]) -> Output {
    env.run(["parent.yaml", "--output-format", "json"].iter().chain(args))
}

#[test]
fn answers_are_judged_by_the_mode() {
    for (answer, declared, always) in [
        ("STATUS: COMPLETE", 0, 0),
        ("fixed\\nstatus: complete", 0, 0),
        ("The work has been recovered.", 0, 0),
        ("This failure cannot be recovered.", 1, 0),
        ("It could not be recovered", 1, 0),
        ("I did something", 1, 0),
        ("UNRECOVERABLE: no docker", 1, 1),
        ("STATUS: COMPLETE, though partly unrecoverable", 1, 1),
        ("", 1, 1),
        ("  ", 1, 1),
    ] {
        for (mode, code) in [("declared", declared), ("always", always), ("off", 1)] {
            let env = env(&format!("result '{answer}'"));
            let output = run(&env, &["--recovery", mode]);
            assert_eq!(output.code, code, "{mode} {answer:?} {}", output.all());
            assert_eq!(env.calls(), usize::from(mode != "off"));
        }
    }
}

#[test]
fn only_declared_steps_are_offered_unless_all_are() {
    for (args, calls) in [(vec![], 0), (vec!["--recovery", "always"], 1)] {
        let env = env("result 'STATUS: COMPLETE'")
            .file("parent.yaml", "name: parent\nsteps:\n- {id: sub, recipe: child}\n");
        run(&env, &args);
        assert_eq!(env.calls(), calls);
    }
    let env = env("result never").file("child.yaml", "name: child\nsteps:\n- {id: a, command: 'true'}\n");
    assert_eq!((run(&env, &[]).code, env.calls()), (0, 0));
}

#[test]
fn the_step_chooses_the_agent_and_its_model() {
    for (fields, args, program, model) in [
        ("", vec![], "claude", None),
        (", model: big", vec![], "claude", Some("big")),
        (", model: '{{size}}'", vec![], "claude", Some("huge")),
        (", agent_binary: codex", vec!["--agent-binary", "claude"], "codex", None),
        (", agent_binary: codex, model: big", vec!["--recovery", "always"], "codex", Some("big")),
    ] {
        let parent = format!(
            "name: parent\ncontext: {{size: huge}}\nsteps:\n- {{id: sub, recipe: child, recovery_on_failure: true{fields}}}\n"
        );
        let env = env("result 'claude: STATUS: COMPLETE recovered'")
            .agent("codex", "echo recovered")
            .file("parent.yaml", &parent);
        let output = run(&env, &[&args[..], &["--strict"]].concat());
        assert_eq!(output.code, 0, "{fields} {}", output.all());
        assert_eq!(output.step("sub")["usage"]["program"], program, "{fields}");
        let argv = env.asked(1, "argv");
        assert_eq!(argv.lines().skip_while(|arg| *arg != "--model").nth(1), model, "{fields} {argv}");
    }
    let env = env("result never").file(
        "parent.yaml",
        "name: p\nsteps:\n- {id: sub, recipe: child, recovery_on_failure: true, agent_binary: gemini}\n",
    );
    let output = run(&env.env("PATH", "/usr/bin:/bin"), &[]);
    assert!(output.step("sub")["error"].to_string().contains("`gemini` is not found"), "{}", output.all());
}

#[test]
fn a_recovered_step_has_the_answer_and_not_the_childs_context() {
    let env = env(r"result 'Mended.\nSTATUS: COMPLETE'");
    let output = run(&env, &[]);
    let json = output.json();
    let step = &json["step_results"][0];
    assert_eq!(step["status"], "completed", "{}", output.all());
    assert_eq!(step["recovered"], true);
    assert_eq!(step["output"], "Mended.\nSTATUS: COMPLETE");
    assert_eq!(step["usage"]["cost_usd"], 0.25);
    assert_eq!(json["usage"]["cost_usd"], 0.25);
    assert_eq!(json["step_results"][1]["output"], "got Mended.\nSTATUS: COMPLETE []");
    for line in [
        "Sub-recipe 'child' failed (step 'second'). Attempting agent recovery.",
        "Agent recovery succeeded for sub-recipe 'child' (step 'sub')",
    ] {
        assert!(output.stderr.contains(line), "{line}\n{}", output.stderr);
    }
}

#[test]
fn the_recovery_prompt_is_complete_and_has_no_secret() {
    let many: String = (0..40).map(|n| format!("  z{n:02}: v\n")).collect();
    let parent = format!(
        "name: parent\ncontext:\n  task: mend it\n  api_key: hunter2hunter2\n  MyToken: abcdefgh\n  long: {}\n{many}steps:\n- {{id: sub, recipe: child, recovery_on_failure: true}}\n",
        "L".repeat(300)
    );
    let child = "name: child\nsteps:\n- {id: first, command: 'printf \"%0800d\" 7; echo hunter2hunter2', output: made}\n- {id: second, command: echo broken >&2; exit 3}\n";
    let env = env("result 'STATUS: COMPLETE'").file("parent.yaml", parent).file("child.yaml", child);
    let output = run(&env, &[]);
    assert_eq!(output.code, 0, "{}", output.all());
    let prompt = env.asked(1, "prompt");
    for part in [
        "Sub-recipe: child\n",
        "Failed steps: second\n",
        "Error: Sub-recipe 'child' failed",
        "broken",
        "Partial outputs (first 500 chars):\n",
        "'UNRECOVERABLE: <reason>'",
        "Current context summary:\n",
        "  task: mend it\n",
        "  api_key: [REDACTED]\n",
        "  MyToken: [REDACTED]\n",
    ] {
        assert!(prompt.contains(part), "{part}\n{prompt}");
    }
    assert!(!prompt.contains("hunter2") && !prompt.contains("abcdefgh"), "{prompt}");
    assert!(prompt.contains(&format!("  long: {}\n", "L".repeat(80))), "{prompt}");
    let zeros = prompt.lines().map(|line| line.matches('0').count()).max().unwrap_or(0);
    assert!((400..500).contains(&zeros), "{zeros}");
    let (_, summary) = prompt.split_once("Current context summary:\n").unwrap_or_default();
    assert_eq!(summary.lines().filter(|line| line.starts_with("  ")).count(), 20, "{summary}");
    assert!(!output.stderr.contains("Current context summary"), "{}", output.stderr);
}

#[test]
fn it_works_where_the_step_works() {
    let parent =
        "name: parent\nsteps:\n- {id: sub, recipe: child, recovery_on_failure: true, working_dir: sub}\n";
    let env = env("result recovered").file("parent.yaml", parent).file("sub/x", "");
    assert_eq!(run(&env, &[]).code, 0);
    assert_eq!(env.asked(1, "cwd").trim(), env.dir().join("sub").display().to_string());
    let env = self::env("result recovered");
    assert_eq!(run(&env, &[]).code, 0);
    assert_eq!(env.asked(1, "cwd").trim(), env.dir().display().to_string());
}

#[test]
fn refusals_are_reported_and_the_first_failure_stays() {
    for (body, line) in [
        (
            "result 'UNRECOVERABLE: no docker'",
            "Agent recovery reported unrecoverable failure for sub-recipe 'child': UNRECOVERABLE: no docker",
        ),
        ("result ''", "Agent recovery returned empty output for sub-recipe 'child'"),
        ("echo kaputt >&2; exit 9", "Agent recovery invocation failed for sub-recipe 'child': "),
    ] {
        let env = env(body);
        let output = run(&env, &[]);
        assert_eq!(output.code, 1);
        assert!(output.stderr.contains(line), "{line}\n{}", output.stderr);
        let step = &output.json()["step_results"][0];
        let error = step["error"].as_str().unwrap_or_default();
        assert!(error.contains("Sub-recipe 'child' failed") && error.contains("second"), "{error}");
        assert!(error.contains(line), "the error says why recovery failed: {error}");
        assert_eq!(step["recovered"], false);
    }
    let env = env("x").env("PATH", "/usr/bin:/bin");
    let output = run(&env, &[]);
    assert_eq!(output.code, 1, "{}", output.all());
    assert!(
        output.stderr.contains("Cannot attempt agent recovery: no adapter configured"),
        "{}",
        output.stderr
    );
}

#[test]
fn recovery_waits_for_rate_limits_and_keeps_the_timeout() {
    let env = env("[ $n -lt 3 ] && { echo 'HTTP 429' >&2; exit 1; }; result recovered");
    assert_eq!((run(&env, &[]).code, env.calls()), (0, 3));
    let parent = "name: parent\nsteps:\n- {id: sub, recipe: child, recovery_on_failure: true, timeout: 1}\n";
    let env = self::env("sleep 60").file("parent.yaml", parent);
    let output = run(&env, &[]);
    assert_eq!(output.code, 1);
    assert!(output.stderr.contains("timed out after 1 s"), "{}", output.stderr);
}

#[test]
fn an_agent_does_not_take_the_place_of_a_person() {
    let child = "name: child\nsteps:\n- {id: c, command: exit 75, exit_codes: {75: needs_human}}\n";
    let env = env("result 'STATUS: COMPLETE'").file("child.yaml", child);
    let output = run(&env, &[]);
    assert_eq!((output.code, env.calls()), (6, 0), "{}", output.all());
}

#[test]
fn the_agent_gets_a_limited_part_of_the_output() {
    let child = "name: child\nsteps:\n- {id: c, command: \"head -c 2000 /dev/zero | tr '\\\\0' P; echo; head -c 2000 /dev/zero | tr '\\\\0' Q >&2; exit 3\"}\n";
    let env = env("result recovered").file("child.yaml", child);
    assert_eq!(run(&env, &[]).code, 0);
    let asked = env.asked(1, "prompt");
    assert!(asked.contains("exit code 3") && asked.contains("PPPP"), "{asked}");
    for letter in ['P', 'Q'] {
        let most = asked.chars().filter(|c| *c == letter).count();
        assert!(most <= 1010, "{most} of {letter}: {asked}");
        assert!(!asked.contains(&letter.to_string().repeat(501)), "{letter}: {asked}");
    }
}

/// What agents do that say how many of them are at work.
const COUNTING: &str = "touch \"$ZOO_DIR/on-$n\"; sleep 0.4; seen=$(ls \"$ZOO_DIR\" | grep -c on-); rm \"$ZOO_DIR/on-$n\"; echo $seen >> \"$ZOO_DIR/seen\"; result recovered";

#[test]
fn recovery_waits_for_its_turn_like_any_agent() {
    let sub =
        |id: &str| format!("- {{id: {id}, recipe: child, recovery_on_failure: true, parallel_group: g}}\n");
    let parent =
        format!("name: parent\nsteps:\n{}{}- {{id: c, prompt: x, parallel_group: g}}\n", sub("a"), sub("b"));
    for (args, most) in [(vec!["--max-agents", "1"], 1), (vec!["--max-agents", "2"], 2), (vec![], 3)] {
        let env = env(COUNTING).file("parent.yaml", &parent);
        let output = run(&env, &args);
        assert_eq!((output.code, env.calls()), (0, 3), "{args:?} {}", output.all());
        let seen = std::fs::read_to_string(env.zoo().join("seen")).unwrap_or_default();
        let seen: Vec<u32> = seen.lines().filter_map(|line| line.parse().ok()).collect();
        assert!(seen.iter().max() <= Some(&most), "{args:?} {seen:?}");
    }
}

#[test]
fn a_recovery_that_waits_ends_with_the_recipe_around_it() {
    let parent = "name: parent\nsteps:\n- {id: long, prompt: x, parallel_group: g, continue_on_error: true}\n- {id: outer, recipe: middle, timeout: 1, parallel_group: g, continue_on_error: true}\n";
    let middle = "name: middle\nsteps:\n- {id: sub, recipe: child, recovery_on_failure: true}\n";
    for (args, calls) in [(vec!["--max-agents", "1"], 1), (vec![], 2)] {
        let body = "case \"$(cat \"$CALL/prompt\")\" in x*) sleep 3; result ok;; *) sleep 60;; esac";
        let env = env(body).file("parent.yaml", parent).file("middle.yaml", middle);
        let output = run(&env, &args);
        assert_eq!((output.code, env.calls()), (0, calls), "{args:?} {}", output.all());
        let outer = output.step("outer");
        assert_eq!(outer["status"], "failed", "{outer}");
        assert!(outer["error"].as_str().unwrap_or_default().contains("timed out after 1 s"), "{outer}");
        assert_eq!(output.step("long")["output"], "ok");
    }
}

#[test]
fn all_failed_steps_are_named() {
    let child = "name: child\nsteps:\n- {id: a, command: exit 1, parallel_group: g}\n- {id: b, command: exit 1, parallel_group: g}\n";
    let env = env("result recovered").file("child.yaml", child);
    let output = run(&env, &[]);
    assert!(output.stderr.contains("failed (step 'a, b'). Attempting"), "{}", output.stderr);
    assert!(env.asked(1, "prompt").contains("Failed steps: a, b\n"));
}

#[test]
fn a_recovery_whose_runner_is_killed_is_asked_again_and_counted_twice() {
    let env = env("[ $n = 1 ] && sleep 60; result recovered");
    let runner = env.spawn(["parent.yaml", "--quiet"]);
    until("the recovery is asked for", || env.asked(1, "prompt").contains("UNRECOVERABLE"));
    runner.kill();
    let output = env.run(["resume", "last", "--output-format", "json"]);
    assert_eq!((output.code, env.calls()), (0, 2), "{}", output.all());
    assert_eq!(env.survivors(), Vec::<String>::new());
    assert_eq!(output.step("sub")["recovered"], true);
    assert_eq!(output.step("sub/first")["attempts"], 1, "what was done is kept");
    // what the killed one cost is unknown, not nothing
    let usage = &output.json()["usage"];
    assert_eq!((&usage["runs"], &usage["runs_without_cost"]), (&2.into(), &1.into()), "{usage}");
}

#[test]
fn a_recovered_value_is_read_as_the_step_says() {
    const REQUIRED: &str = "parse_json: true, parse_json_required: true";
    for (fields, answer, code, status, value) in [
        ("parse_json: true", "[5]\\nSTATUS: COMPLETE", 0, "completed", "5"),
        (REQUIRED, "[5]\\nSTATUS: COMPLETE", 0, "completed", "5"),
        ("parse_json: true", "plain\\nSTATUS: COMPLETE", 0, "degraded", ""),
        (REQUIRED, "plain\\nSTATUS: COMPLETE", 1, "failed", ""),
    ] {
        let parent = format!(
            "name: parent\nsteps:\n- {{id: sub, recipe: child, output: o, recovery_on_failure: true, {fields}}}\n\
             - {{id: after, command: 'echo \"{{{{o[0]}}}}\"'}}\n"
        );
        let env = env(&format!("result '{answer}'")).file("parent.yaml", parent);
        let output = run(&env, &[]);
        let found = (output.code, output.step("sub")["status"].clone());
        assert_eq!(found, (code, status.into()), "{fields} {answer}: {}", output.all());
        if code == 0 {
            assert_eq!(output.value("after"), value, "{}", output.all());
        }
    }
}

#[test]
fn a_recipe_has_its_own_attempts_before_an_agent_is_asked() {
    let parent = "name: parent\nsteps:\n- {id: sub, recipe: child, recovery_on_failure: true, retry: {max_attempts: 2, delay: 0}}\n";
    for (child, calls) in [("echo x >> n; [ $(wc -l < n) -ge 2 ]", 0), ("exit 3", 1)] {
        let env = env("result 'STATUS: COMPLETE'")
            .file("parent.yaml", parent)
            .file("child.yaml", format!("name: child\nsteps:\n- {{id: a, command: '{child}'}}\n"));
        let output = run(&env, &[]);
        assert_eq!((output.code, env.calls()), (0, calls), "{child}: {}", output.all());
    }
}

/// A world in which the recipe of `sub` cannot come to its end.
fn stuck(answer: &str, step: &str, child: &str) -> TestEnv {
    env(&format!("result '{answer}'"))
        .file("parent.yaml", format!("name: parent\nsteps:\n- {{id: sub, recipe: child, {step}}}\n"))
        .file("child.yaml", format!("name: child\n{child}"))
}

#[test]
fn a_recipe_that_took_too_long_or_may_not_begin_is_offered_too() {
    let slow = "steps:\n- {id: a, command: echo a >>ledger; sleep 60}\n";
    let lacks = "inputs: [{name: must, required: true}]\nsteps:\n- {id: a, command: echo a >>ledger}\n";
    let invalid = "context_validation: {must: nonempty}\nsteps:\n- {id: a, command: echo a >>ledger}\n";
    for (child, more, reason, failed, ledger) in [
        (slow, ", timeout: 3", "timed out after 3 s", " (step 'a')", "a\n"),
        (lacks, "", "PRE-FLIGHT VALIDATION FAILED", "", ""),
        (invalid, "", "PRE-FLIGHT VALIDATION FAILED", "", ""),
    ] {
        for (declared, args, offered) in [
            (", recovery_on_failure: true", &[][..], true),
            ("", &["--recovery", "always"], true),
            ("", &[], false),
            (", recovery_on_failure: true", &["--recovery", "off"], false),
        ] {
            let step = format!("output: v{more}{declared}");
            for (answer, helps) in [("STATUS: COMPLETE", true), ("UNRECOVERABLE: no", false)] {
                let env = stuck(answer, &step, child);
                let output = run(&env, args);
                let code = i32::from(!(offered && helps));
                assert_eq!((output.code, env.calls()), (code, usize::from(offered)), "{}", output.all());
                assert_eq!(env.read("ledger"), ledger, "{}", output.all());
                let told = format!("Sub-recipe 'child' failed{failed}. Attempting agent recovery.");
                assert_eq!(output.stderr.contains(&told), offered, "{}", output.stderr);
                let error = output.step("sub")["error"].to_string();
                let says = |part: &str| error.contains(part);
                let is_told = says("Sub-recipe 'child' failed") && says("[error]") && says(reason);
                assert_eq!((is_told, says("[recovery]")), (code == 1, offered && !helps), "{error}");
                assert_eq!(output.step("sub")["recovered"] == true, code == 0, "{}", output.all());
            }
        }
    }
}

#[test]
fn a_recipe_that_took_too_long_is_tried_again_before_an_agent_is_asked() {
    let step = "timeout: 2, retry: {max_attempts: 2, delay: 0}, recovery_on_failure: true";
    let env = stuck("STATUS: COMPLETE", step, "steps:\n- {id: a, command: echo a >>ledger; sleep 60}\n");
    let output = run(&env, &[]);
    assert_eq!(
        (output.code, env.calls(), env.read("ledger")),
        (0, 1, "a\na\n".to_owned()),
        "{}",
        output.all()
    );
}

#[test]
fn a_recipe_stopped_with_its_caller_is_not_recovered() {
    let inner = "steps:\n- {id: inner, recipe: leaf, recovery_on_failure: true}\n";
    for (args, code, calls) in [(&[][..], 1, 0), (&["--recovery", "always"], 0, 1)] {
        let env = stuck("STATUS: COMPLETE", "timeout: 2", inner)
            .file("leaf.yaml", "name: leaf\nsteps:\n- {id: a, command: sleep 60}\n");
        let output = run(&env, args);
        assert_eq!((output.code, env.calls()), (code, calls), "{}", output.all());
    }
}

#[test]
fn a_refused_recipe_resumes_when_its_values_exist() {
    let child =
        "inputs: [{name: must, required: true}]\nsteps:\n- {id: a, command: 'echo {{must}} >>ledger'}\n";
    let env = stuck("UNRECOVERABLE: no", "recovery_on_failure: true", child);
    assert_eq!(run(&env, &[]).code, 1);
    let output = env.run(["resume", "last", "--set", "must=1"]);
    assert_eq!((output.code, env.read("ledger"), env.calls()), (0, "1\n".to_owned(), 1), "{}", output.all());
}
