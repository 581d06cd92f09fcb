//! The order of things: conditions, tags, dependencies, groups, retries, hooks, failures.

use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};
use testkit::{Output, TestEnv};

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

/// The statuses of all steps as `id:status`.
fn statuses(output: &Output) -> String {
    let json = output.json();
    let steps = json["step_results"].as_array().cloned().unwrap_or_default();
    let word = |step: &Json| {
        format!("{}:{}", step["step_id"].as_str().unwrap_or("?"), step["status"].as_str().unwrap_or("?"))
    };
    steps.iter().map(word).collect::<Vec<_>>().join(" ")
}

fn check(steps: &str, arguments: &[&str], code: i32, expected: &str) -> Output {
    let output =
        env().json(&format!("name: r\ncontext: {{yes: 'y', none: '', n: 5}}\nsteps:\n{steps}"), arguments);
    assert_eq!((output.code, statuses(&output).as_str()), (code, expected), "{steps}\n{}", output.all());
    output
}

#[test]
fn conditions_choose_and_their_errors_fail_the_step() {
    let steps = "  - {id: a, command: 'true', condition: \"yes == 'y' and n > 3\"}\n  - {id: b, command: 'true', condition: none}\n  - {id: c, command: 'true', condition: undefined_name}\n  - {id: d, command: 'true', condition: 'not none'}\n";
    let output = check(steps, &[], 0, "a:completed b:skipped c:skipped d:completed");
    assert!(
        output.step("b")["skip_reason"].as_str().is_some_and(|why| why.contains("condition")),
        "{}",
        output.all()
    );
    let failing = "  - {id: a, command: 'true', condition: 'n.lower() == 5'}\n  - {id: b, command: 'true'}\n";
    let output = check(failing, &[], 1, "a:failed b:pending");
    assert!(output.step("a")["error"].to_string().contains("condition"), "{}", output.all());
    let tolerated = failing.replacen("command: 'true',", "command: 'true', continue_on_error: true,", 1);
    check(&tolerated, &[], 0, "a:failed b:completed");
    check("  - {id: a, command: 'true', condition: 'n =='}\n", &[], 2, "");
}

#[test]
fn tags_choose() {
    let steps = "  - {id: u, command: 'true'}\n  - {id: a, command: 'true', when_tags: [a]}\n  - {id: ab, command: 'true', when_tags: [a, b]}\n  - {id: c, command: 'true', when_tags: [c]}\n";
    for (arguments, expected) in [
        (vec![], "u:completed a:completed ab:completed c:completed"),
        (vec!["--include-tags", "a"], "u:completed a:completed ab:completed c:skipped"),
        (vec!["--include-tags", "b,c"], "u:completed a:skipped ab:completed c:completed"),
        (vec!["--exclude-tags", "b"], "u:completed a:completed ab:skipped c:completed"),
        (vec!["--include-tags", "a", "--exclude-tags", "b"], "u:completed a:completed ab:skipped c:skipped"),
        (vec!["--include-tags", "zzz"], "u:completed a:skipped ab:skipped c:skipped"),
        (vec!["--exclude-tags", "a,b,c"], "u:completed a:skipped ab:skipped c:skipped"),
    ] {
        check(steps, &arguments, 0, expected);
    }
}

#[test]
fn dependents_of_an_incomplete_step_are_skipped_with_the_reason() {
    let steps = "  - {id: no, command: 'true', condition: none}\n  - {id: bad, command: 'false', continue_on_error: true}\n  - {id: good, command: 'true'}\n  - {id: x, command: 'true', depends_on: [no]}\n  - {id: y, command: 'true', depends_on: [good, bad]}\n  - {id: z, command: 'true', depends_on: [good]}\n  - {id: chain, command: 'true', depends_on: [x]}\n";
    let output = check(
        steps,
        &[],
        0,
        "no:skipped bad:failed good:completed x:skipped y:skipped z:completed chain:skipped",
    );
    for (step, part) in [("x", "no"), ("y", "bad"), ("chain", "x")] {
        assert!(output.step(step)["skip_reason"].as_str().is_some_and(|why| why.contains(part)), "{step}");
    }
}

#[test]
fn a_failure_ends_the_recipe_unless_it_is_tolerated() {
    check("  - {id: a, command: exit 3}\n  - {id: b, command: 'true'}\n", &[], 1, "a:failed b:pending");
    for tolerated in ["continue_on_error: true", "fatal: false", "nonfatal: true"] {
        let steps = format!("  - {{id: a, command: exit 3, {tolerated}}}\n  - {{id: b, command: 'true'}}\n");
        let output = check(&steps, &[], 0, "a:failed b:completed");
        assert_eq!(output.step("a")["exit_code"], 3);
        assert!(output.step("a")["error"].to_string().contains("bash step failed"));
        assert_eq!(output.json()["success"], true);
    }
}

#[test]
fn failures_say_how_they_came_about() {
    for (command, parts) in [
        ("exit 3", vec!["bash step failed", "exit code 3"]),
        ("echo reason >&2; exit 1", vec!["exit code 1", "reason"]),
        ("echo only stdout; exit 1", vec!["only stdout"]),
        ("kill -9 $$", vec!["bash step failed", "SIGKILL"]),
        ("kill -TERM $$", vec!["SIGTERM"]),
        ("kill -SEGV $$", vec!["SIGSEGV"]),
        ("echo 'unclosed", vec!["bash step failed"]),
    ] {
        let output = env().json(&format!("name: r\nsteps: [{{id: s, command: {command:?}}}]\n"), &[]);
        let error = output.step("s")["error"].as_str().unwrap_or_default().to_owned();
        assert_eq!(output.code, 1);
        for part in parts {
            assert!(error.contains(part), "{command}: {error}");
        }
        assert_eq!(error.matches("bash step failed").count(), 1, "{error}");
    }
    for (more, arguments, words) in [
        ("timeout: 1", vec![], "timed out after 1 s"),
        ("timeout: 0.3", vec![], "timed out after 0.3 s"),
        ("continue_on_error: false", vec!["--step-timeout", "1"], "timed out after 1 s"),
    ] {
        let recipe = format!("name: r\nsteps: [{{id: s, command: 'echo last words; sleep 30', {more}}}]\n");
        let output = env().json(&recipe, &arguments);
        let error = output.step("s")["error"].as_str().unwrap_or_default().to_owned();
        assert!(error.contains(words) && error.contains("last words"), "{error}");
        assert_eq!(output.code, 1);
    }
    let default = "name: r\ndefault_step_timeout: 1\nsteps:\n  - {id: a, command: sleep 1.3, timeout: 5}\n  - {id: s, command: sleep 30}\n";
    let output = env().json(default, &[]);
    assert_eq!(statuses(&output), "a:completed s:failed");
}

#[test]
fn groups_run_together_and_see_the_context_from_before() {
    let steps = "  - {id: before, command: echo old, output: v}\n  - {id: a, parallel_group: g, command: 'sleep 0.4; echo \"{{v}} a\"', output: v}\n  - {id: b, parallel_group: g, command: 'sleep 0.1; echo \"{{v}} b [{{a}}]\"', output: v}\n  - {id: after, command: 'echo \"{{v}}\"'}\n";
    let output = env().json(&format!("name: r\nsteps:\n{steps}"), &[]);
    assert_eq!(
        output.value("after"),
        "old b []",
        "declaration order, not the order of ends\n{}",
        output.all()
    );
    let many: String =
        (0..20).map(|at| format!("  - {{id: p{at}, parallel_group: g, command: sleep 0.5}}\n")).collect();
    let began = Instant::now();
    assert_eq!(env().json(&format!("name: r\nsteps:\n{many}"), &[]).code, 0);
    assert!(began.elapsed() < Duration::from_millis(4000), "{:?}", began.elapsed());
}

#[test]
fn a_group_finishes_before_it_fails() {
    let steps = "  - {id: a, parallel_group: g, command: exit 3}\n  - {id: b, parallel_group: g, command: 'sleep 0.3; touch b-was-here'}\n  - {id: c, parallel_group: g, command: exit 4, continue_on_error: true}\n  - {id: d, command: 'true'}\n";
    let env = env();
    let output = env.json(&format!("name: r\nsteps:\n{steps}"), &[]);
    assert_eq!((output.code, statuses(&output).as_str()), (1, "a:failed b:completed c:failed d:pending"));
    assert!(env.path("b-was-here").exists());
    assert_eq!(output.json()["failure"]["step"], "a");
    let kept = "name: r\nsteps:\n  - {id: a, parallel_group: g, command: echo no; exit 3}\n  - {id: b, parallel_group: g, command: echo yes}\n";
    assert_eq!(
        env.json(kept, &[]).json()["context"],
        json!({"b": "yes"}),
        "what was completed has its value"
    );
    let tolerated = steps.replacen("exit 3", "'false', continue_on_error: true", 1);
    assert_eq!(env.json(&format!("name: r\nsteps:\n{tolerated}"), &[]).code, 0);
}

#[test]
fn few_at_a_time_and_names_used_again() {
    let member = |id: &str, group: &str| {
        format!(
            "  - {{id: {id}, parallel_group: {group}, command: 'echo + >> log; sleep 0.1; echo - >> log'}}\n"
        )
    };
    let steps: String = (0..6).map(|at| member(&format!("p{at}"), "g")).collect();
    let most = |log: &str| {
        let mut running = 0;
        log.lines()
            .map(|line| {
                running += if line == "+" { 1 } else { -1 };
                running
            })
            .max()
            .unwrap_or(0)
    };
    for (limit, expected) in [("1", 1), ("2", 2)] {
        let env = env();
        assert_eq!(env.json(&format!("name: r\nsteps:\n{steps}"), &["--max-parallel", limit]).code, 0);
        assert_eq!(most(&std::fs::read_to_string(env.path("log")).unwrap_or_default()), expected);
    }
    let again = "  - {id: a, parallel_group: g, command: 'echo a >> log', output: v}\n  - {id: m, command: 'echo m >> log'}\n  - {id: b, parallel_group: g, command: 'echo \"{{m}}b\" >> log'}\n";
    let env = env();
    let output = env.json(&format!("name: r\nsteps:\n{again}"), &[]);
    assert!(output.stderr.contains("warning") && output.stderr.contains("`g`"), "{}", output.all());
    assert_eq!(std::fs::read_to_string(env.path("log")).unwrap_or_default(), "a\nm\nb\n");
    assert_eq!(env.json(&format!("name: r\nsteps:\n{again}"), &["--strict"]).code, 2);
}

#[test]
fn attempts_are_repeated_as_asked() {
    let flaky = |retry: &str, more: &str| {
        format!(
            "name: r\nsteps:\n  - id: s\n    retry: {retry}\n    {more}\n    command: echo x >> tries; n=$(wc -l < tries); echo try $n; test $n -ge 3\n"
        )
    };
    for (retry, code, tries) in [
        ("3", 0, 3),
        ("5", 0, 3),
        ("2", 1, 2),
        ("1", 1, 1),
        ("{max_attempts: 3}", 0, 3),
        ("{max_attempts: 4, delay: 0.05, backoff: exponential, max_delay: 0.1}", 0, 3),
        ("{max_attempts: 4, on: [timeout]}", 1, 1),
        ("{max_attempts: 4, on: [json, exit]}", 0, 3),
    ] {
        let env = env();
        let output = env.json(&flaky(retry, "timeout: 20"), &[]);
        let step = output.step("s");
        assert_eq!(
            (output.code, step["attempts"].clone()),
            (code, json!(tries)),
            "{retry}\n{}",
            output.all()
        );
        if code == 0 {
            assert_eq!(output.value("s"), "try 3");
            assert!(env.state().join("runs").exists());
            let run = output.json()["run_dir"].as_str().unwrap_or_default().to_owned();
            for attempt in 1..=3 {
                let file = format!("{run}/steps/s/{attempt}/stdout");
                assert_eq!(
                    std::fs::read_to_string(&file).unwrap_or_default(),
                    format!("try {attempt}\n"),
                    "{file}"
                );
            }
        }
    }
    let none = env().json("name: r\nsteps: [{id: s, command: 'echo x >> tries; false'}]\n", &[]);
    assert_eq!(none.step("s")["attempts"], 1);
    for (retry, least) in [
        ("{max_attempts: 3, delay: 0.2}", 400),
        ("{max_attempts: 3, delay: 0.2, backoff: exponential}", 600),
        ("{max_attempts: 3, delay: 0.2, backoff: exponential, max_delay: 0.25}", 450),
    ] {
        let began = Instant::now();
        assert_eq!(env().json(&flaky(retry, "timeout: 20"), &[]).code, 0);
        let taken = began.elapsed().as_millis();
        assert!((least..least + 1500).contains(&taken), "{retry}: {taken} ms");
    }
    let json = "name: r\nsteps:\n  - {id: s, parse_json: true, parse_json_required: true, retry: {max_attempts: 3, on: [json]}, command: 'echo x >> tries; n=$(wc -l < tries); test $n -ge 2 && echo [$n] || echo no'}\n";
    let output = env().json(json, &[]);
    assert_eq!((output.step("s")["attempts"].clone(), output.value("s")), (json!(2), json!([2])));
    let timeout = "name: r\nsteps: [{id: s, timeout: 0.3, retry: {max_attempts: 2, on: [timeout]}, command: sleep 9}]\n";
    assert_eq!(env().json(timeout, &[]).step("s")["attempts"], 2);
}

#[test]
fn output_without_json_is_retried_if_allowed() {
    for (on, attempts, status) in
        [(", on: [json]", 2, "completed"), ("", 2, "completed"), (", on: [exit]", 1, "degraded")]
    {
        let command = "echo x >> tries; [ $(wc -l < tries) -ge 2 ] && echo [] || echo no";
        let recipe = format!(
            "name: r\nsteps:\n  - {{id: s, parse_json: true, retry: {{max_attempts: 2, delay: 0{on}}}, command: '{command}'}}\n"
        );
        let step = env().json(&recipe, &[]).step("s");
        assert_eq!((&step["attempts"], &step["status"]), (&json!(attempts), &json!(status)), "{on}");
    }
}

#[test]
fn a_dry_run_of_a_recipe_that_runs_itself_ends() {
    let recipe = "name: r\ncontext: {n: 0}\nsteps:\n  - {id: inc, command: 'echo $(( {{n}} + 1 ))', output: n}\n  - {id: s, recipe: r, condition: 'int(n) < 5'}\n";
    let env = env().file("r.yaml", recipe);
    let real = env.run(["r.yaml"]);
    assert_eq!(real.code, 0, "{}", real.all());
    let dry = env.run(["r.yaml", "--dry-run"]);
    assert_eq!(dry.code, 0, "{}", dry.all());
    assert!(dry.all().contains("already running"), "{}", dry.all());
}

#[test]
fn exit_codes_can_have_meanings() {
    let output =
        env().json("name: r\nsteps: [{id: s, command: exit 3, exit_codes: {3: needs_human}}]\n", &[]);
    assert_eq!((output.code, output.json()["status"].clone()), (6, json!("waiting")), "{}", output.all());
    assert_eq!(output.json()["outcome"], "needs_human");
}
