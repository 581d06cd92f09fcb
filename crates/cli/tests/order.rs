//! The order of steps: cleanup after a failure, a timeout or a request to stop.

use std::time::{Duration, Instant};

use testkit::{Output, TestEnv};

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

/// Statuses of the steps of the main recipe, by id.
fn statuses(output: &Output) -> String {
    let json = output.json();
    let steps = json["step_results"].as_array().cloned().unwrap_or_default();
    let line = |step: &serde_json::Value| {
        let cleanup = if step["cleanup"] == true { "*" } else { "" };
        format!(
            "{}{cleanup}={}",
            step["step_id"].as_str().unwrap_or_default(),
            step["status"].as_str().unwrap_or_default()
        )
    };
    steps.iter().map(line).collect::<Vec<_>>().join(" ")
}

const CLEANUP: &str = "name: r
steps:
- {id: deploy, command: echo deploy >> log}
- {id: smoke, command: 'test -e fine || { echo no answer; exit 1; }'}
- {id: publish, command: echo publish >> log}
- {id: rollback, when: failed, command: 'echo \"rollback {{failure.step}} {{failure.class}}\" >> log; echo \"{{failure.error}}\" > error'}
- {id: alarm, when: failed, command: exit 3}
- {id: teardown, when: always, command: 'echo \"teardown {{failure.step}}\" >> log'}
";

#[test]
fn cleanup_steps_run_after_a_failure_and_see_it() {
    let env = env();
    let output = env.json(CLEANUP, &[]);
    assert_eq!(output.code, 1, "{}", output.all());
    let expected =
        "deploy=completed smoke=failed publish=pending rollback*=completed alarm*=failed teardown*=completed";
    assert_eq!(statuses(&output), expected);
    assert_eq!(env.read("log"), "deploy\nrollback smoke verification\nteardown smoke\n");
    assert!(env.read("error").starts_with("bash step failed: exit code 1\n"), "{}", env.read("error"));
    let json = output.json();
    assert_eq!(json["failure"]["step"], "smoke");
    assert_eq!(json["cleanup_failures"][0]["step"], "alarm");
    assert_eq!(json["diagnosis"]["beside"], serde_json::Value::Null);
    assert!(output.stderr.contains("cleanup failed too: step `alarm`: "), "{}", output.stderr);
    let shown = env.run(["show", "last"]);
    assert!(shown.stdout.contains("rollback (cleanup) completed"), "{}", shown.all());
    assert!(shown.all().contains("cleanup failed too: step `alarm`"), "{}", shown.all());
}

#[test]
fn nothing_failed_so_only_always_steps_run() {
    let env = env().file("fine", "");
    let output = env.json(CLEANUP, &[]);
    assert_eq!(output.code, 0, "{}", output.all());
    let expected = "deploy=completed smoke=completed publish=completed rollback=skipped alarm=skipped teardown=completed";
    assert_eq!(statuses(&output), expected);
    assert_eq!(env.read("log"), "deploy\npublish\nteardown \n");
    assert_eq!(output.step("rollback")["skip_reason"], "no step failed");
    assert_eq!(output.json()["output"], "");
}

#[test]
fn a_resume_cleans_up_again_only_at_its_new_end() {
    let env = env();
    env.json(CLEANUP, &[]);
    let plan = env.run(["resume", "last", "--plan"]);
    assert!(plan.all().contains("it runs again when the run ends"), "{}", plan.all());
    assert_eq!(env.run(["resume", "last"]).code, 1);
    let twice =
        "deploy\nrollback smoke verification\nteardown smoke\nrollback smoke verification\nteardown smoke\n";
    assert_eq!(env.read("log"), twice);
    env.write("fine", "");
    let output = env.run(["resume", "last", "--output-format", "json"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(env.read("log"), format!("{twice}publish\nteardown \n"));
    let expected = "deploy=completed smoke=completed publish=completed rollback=skipped alarm=skipped teardown=completed";
    assert_eq!(statuses(&output), expected);
}

#[test]
fn a_sub_recipe_cleans_up_before_its_step_ends() {
    let env = env().file(
        "inner.yaml",
        "name: inner\nsteps:\n- {id: work, recipe: deep}\n- {id: undo, when: failed, command: 'echo \"inner {{failure.step}}\" >> log'}\n",
    );
    env.write("deep.yaml", "name: deep\nsteps:\n- {id: k, command: exit 4}\n");
    let recipe = "name: r\nsteps:\n- {id: n, recipe: inner}\n- {id: after, when: always, command: 'echo \"outer {{failure.step}}\" >> log'}\n";
    let output = env.json(recipe, &[]);
    assert_eq!(output.code, 1);
    assert_eq!(env.read("log"), "inner work/k\nouter n/work/k\n");
    assert_eq!(output.json()["failure"]["step"], "n/work/k");
}

#[test]
fn the_cleanup_of_a_recipe_that_timed_out_runs_before_its_step_ends() {
    let env = env().file(
        "slow.yaml",
        "name: slow\nsteps:\n- {id: k, command: sleep 60}\n- {id: undo, when: always, command: 'sleep 1.5; echo \"{{failure.step}} {{failure.class}} {{failure.error}}\" >> log'}\n",
    );
    let output = env.json("name: r\nsteps:\n- {id: n, recipe: slow, timeout: 1}\n", &[]);
    assert_eq!(output.code, 1, "{}", output.all());
    assert_eq!(env.read("log"), "k timeout timed out after 1 s\n");
    assert_eq!(output.step("n/undo")["status"], "completed");
    assert_eq!(output.step("n")["outcome"], serde_json::json!({"timed_out": 1.0}));
}

#[test]
fn cleanup_runs_although_the_limit_of_steps_is_reached() {
    let env = env();
    let recipe = "name: r\nrecursion: {max_total_steps: 1}\nsteps:\n- {id: a, command: 'true'}\n- {id: b, command: 'true'}\n- {id: undo, when: failed, command: 'echo \"{{failure.step}} {{failure.class}}\" >> log'}\n";
    assert_eq!(env.json(recipe, &[]).code, 1);
    assert_eq!(env.read("log"), "b structure\n");
}

#[test]
fn a_run_that_waits_for_a_person_does_not_clean_up() {
    let env = env();
    let recipe = "name: r\nsteps:\n- {id: ask, command: exit 75, exit_codes: {75: needs_human}}\n- {id: undo, when: always, command: touch undone}\n";
    assert_eq!(env.json(recipe, &[]).code, 6);
    assert!(!env.path("undone").exists());
}

const STOPPED: &str = "name: r
steps:
- {id: work, command: 'echo x > working; sleep 60'}
- {id: failed, when: failed, command: 'echo failed >> log'}
- {id: teardown, when: always, command: 'echo \"teardown {{failure.class}} {{failure.error}}\" >> log'}
";

#[test]
fn after_ctrl_c_only_always_steps_run() {
    let env = env().file("r.yaml", STOPPED);
    let started = env.spawn(["r.yaml", "--output-format", "json"]);
    env.wait_for("working");
    started.signal("INT");
    let output = started.wait();
    assert_eq!(output.code, 130, "{}", output.all());
    assert_eq!(statuses(&output), "work=pending failed=pending teardown*=completed");
    assert_eq!(env.read("log"), "teardown interrupted the run was interrupted\n");
    // a resume continues with the interrupted step, and cleans up at its own end
    env.write("r.yaml", STOPPED.replace("sleep 60", "true"));
    let output = env.run(["resume", "last", "--recipe", "r.yaml", "--output-format", "json"]);
    assert_eq!(statuses(&output), "work=completed failed=skipped teardown=completed");
    assert_eq!(env.survivors(), Vec::<String>::new());
}

#[test]
fn cleanup_after_a_stop_can_be_left_out() {
    for flag in ["--no-cleanup", "--quiet"] {
        let env = env().file("r.yaml", STOPPED);
        let started = env.spawn(["r.yaml", flag]);
        env.wait_for("working");
        let cancelled = match flag {
            "--no-cleanup" => env.run(["cancel", "last"]),
            _ => env.run(["cancel", "last", "--no-cleanup"]),
        };
        assert_eq!(cancelled.code, 0, "{}", cancelled.all());
        assert_eq!(started.wait().code, 130);
        assert!(!env.path("log").exists(), "{flag}");
    }
}

#[test]
fn a_cancelled_run_cleans_up_before_cancel_returns() {
    let env = env().file("r.yaml", STOPPED);
    let started = env.spawn(["r.yaml"]);
    env.wait_for("working");
    assert_eq!(env.run(["cancel", "last"]).code, 0);
    assert_eq!(env.read("log"), "teardown interrupted the run was cancelled\n");
    assert_eq!(started.wait().code, 130);
}

#[test]
fn a_second_ctrl_c_ends_the_cleanup() {
    let recipe = "name: r\nsteps:\n- {id: work, command: 'echo x > working; sleep 60'}\n- {id: slow, when: always, command: 'echo x > cleaning; sleep 60'}\n- {id: more, when: always, command: touch more}\n";
    let env = env().file("r.yaml", recipe);
    let started = env.spawn(["r.yaml"]);
    env.wait_for("working");
    started.signal("INT");
    env.wait_for("cleaning");
    let begun = Instant::now();
    started.signal("INT");
    assert_eq!(started.wait().code, 130);
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    assert!(!env.path("more").exists());
    assert_eq!(env.survivors(), Vec::<String>::new());
}

#[test]
fn cleanup_after_a_stop_has_thirty_seconds() {
    let recipe = "name: r\nsteps:\n- {id: work, command: 'echo x > working; sleep 60'}\n- {id: quick, when: always, command: touch quick}\n- {id: slow, when: always, command: sleep 60}\n- {id: more, when: always, command: touch more}\n";
    let env = env().file("r.yaml", recipe);
    let started = env.spawn(["r.yaml"]);
    env.wait_for("working");
    let begun = Instant::now();
    started.signal("INT");
    let output = started.wait();
    assert_eq!(output.code, 130, "{}", output.all());
    let took = begun.elapsed().as_secs_f64();
    assert!((29.0..45.0).contains(&took), "{took}");
    assert!(output.stderr.contains("cleanup was stopped after 30 s: slow"), "{}", output.stderr);
    assert!(env.path("quick").exists() && !env.path("more").exists());
    assert_eq!(env.survivors(), Vec::<String>::new());
}

#[test]
fn an_always_step_that_is_running_comes_to_its_end_after_ctrl_c() {
    let recipe = "name: r\nsteps:\n- {id: a, command: exit 1}\n- {id: slow, when: always, command: 'echo x > cleaning; sleep 2; touch cleaned'}\n";
    let env = env().file("r.yaml", recipe);
    let started = env.spawn(["r.yaml"]);
    env.wait_for("cleaning");
    started.signal("INT");
    assert_eq!(started.wait().code, 130);
    assert!(env.path("cleaned").exists());
}

#[test]
fn a_killed_cleanup_continues_where_it_stopped() {
    let recipe = "name: r\nsteps:\n- {id: a, command: 'echo a >> log; exit 1'}\n- {id: first, when: failed, command: echo first >> log}\n- {id: slow, when: failed, command: 'echo slow >> log; echo x > cleaning; test -e again || sleep 60'}\n";
    let env = env().file("r.yaml", recipe);
    let started = env.spawn(["r.yaml"]);
    env.wait_for("cleaning");
    started.kill();
    env.write("again", "");
    let plan = env.run(["resume", "last", "--plan"]).stdout;
    assert!(plan.contains("keep     a  (it failed, and the cleanup after it continues)"), "{plan}");
    assert!(plan.contains("resumes at `slow`"), "{plan}");
    let output = env.run(["resume", "last", "--output-format", "json"]);
    assert_eq!(output.code, 1, "{}", output.all());
    assert_eq!(env.read("log"), "a\nfirst\nslow\nslow\n");
    assert_eq!(statuses(&output), "a=failed first*=completed slow*=completed");
    assert_eq!(output.json()["failure"]["step"], "a");
    // this was the end of the run: the next resume tries the failed step again
    assert_eq!(env.run(["resume", "last"]).code, 1);
    assert_eq!(env.read("log"), "a\nfirst\nslow\nslow\na\nfirst\nslow\n");
}

#[test]
fn a_killed_cleanup_that_is_not_idempotent_waits_for_a_choice() {
    let recipe = "name: r\nsteps:\n- {id: a, command: exit 1}\n- {id: slow, when: failed, idempotent: false, command: 'echo slow >> log; sleep 60'}\n";
    let env = env().file("r.yaml", recipe);
    let started = env.spawn(["r.yaml"]);
    env.wait_for("log");
    started.kill();
    assert_eq!(env.run(["resume", "last"]).code, 6);
    let output = env.run(["resume", "last", "--skip-interrupted", "--output-format", "json"]);
    assert_eq!(output.code, 1, "{}", output.all());
    assert_eq!(statuses(&output), "a=failed slow=skipped");
    assert_eq!(env.read("log"), "slow\n");
}

#[test]
fn cleanup_shows_in_explain_and_in_a_dry_run() {
    let env = env().file("r.yaml", CLEANUP);
    let text = env.run(["explain", "r.yaml"]).stdout;
    assert!(
        text.contains("Runs: only after a failure") && text.contains("Runs: also after a failure"),
        "{text}"
    );
    let graph = env.run(["explain", "r.yaml", "--graph", "mermaid"]).stdout;
    assert!(graph.contains("rollback<br>only after a failure"), "{graph}");
    let dry = env.run(["r.yaml", "--dry-run"]);
    assert_eq!(dry.code, 0);
    assert!(dry.stdout.contains("(only after a step has failed)"), "{}", dry.stdout);
}

#[test]
fn misuse_is_reported_with_its_place() {
    let env = env();
    let output = env.text(
        "name: r\ncontext: {failure: x}\nsteps:\n- {id: a, when: failed, command: x}\n- {id: b, when: never, command: 'echo {{failure.step}}'}\n",
        &["--validate-only"],
    );
    assert_eq!(output.code, 2);
    for part in ["no-effect", "reserved-name", "unknown-word"] {
        assert!(output.all().contains(part), "{part}: {}", output.all());
    }
}

/// Two chains of 2 seconds each; `report` reads both and is written first.
const CHAINS: &str = "name: r
schedule: graph
steps:
- {id: report, command: 'echo \"{{test}}, {{lint}}\"'}
- {id: build, command: 'echo build >> log; sleep 1; echo built'}
- {id: test, command: 'sleep 1; echo \"{{build}} and tested\"'}
- {id: fetch, command: 'sleep 1; echo fetched'}
- {id: lint, command: 'sleep 1; test ! -e broken && echo \"{{fetch}} and linted\"'}
- {id: tidy, when: always, command: 'echo tidy >> log'}
";

#[test]
fn chains_of_a_graph_run_side_by_side() {
    let env = env();
    let begun = Instant::now();
    let output = env.json(CHAINS, &[]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert!(begun.elapsed() < Duration::from_millis(3700), "{:?}", begun.elapsed());
    assert_eq!(output.step("report")["output"], "built and tested, fetched and linted");
    let slow = Instant::now();
    assert_eq!(env.json(CHAINS, &["--max-parallel", "1"]).code, 0);
    assert!(slow.elapsed() > Duration::from_secs(4), "{:?}", slow.elapsed());
}

#[test]
fn a_failed_graph_resumes_where_it_stopped() {
    let env = env().file("broken", "");
    let output = env.json(CHAINS, &[]);
    assert_eq!(output.code, 1, "{}", output.all());
    let expected =
        "report=pending build=completed test=completed fetch=completed lint=failed tidy*=completed";
    assert_eq!(statuses(&output), expected);
    std::fs::remove_file(env.path("broken")).expect("the file is there");
    let output = env.run(["resume", "last", "--output-format", "json"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(output.step("report")["output"], "built and tested, fetched and linted");
    assert_eq!(env.read("log"), "build\ntidy\ntidy\n");
}

#[test]
fn a_killed_graph_resumes_without_repeating_what_is_done() {
    let recipe = CHAINS.replace(
        "id: test, command: 'sleep 1;",
        "id: test, command: 'echo x > testing; test -e go || sleep 60;",
    );
    let env = env().file("r.yaml", &recipe);
    let started = env.spawn(["r.yaml"]);
    env.wait_for("testing");
    started.kill();
    env.write("go", "");
    let output = env.run(["resume", "last", "--output-format", "json"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(env.read("log"), "build\ntidy\n");
}

#[test]
fn explain_shows_waves_and_edges() {
    let env = env().file("r.yaml", CHAINS);
    let text = env.run(["explain", "r.yaml"]).stdout;
    for part in ["Wave 1: build, fetch", "Wave 2: test, lint", "Wave 3: report", "Wave 4: tidy"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let json = env.run(["explain", "r.yaml", "--output-format", "json"]).json();
    assert_eq!(json["schedule"], "graph");
    assert_eq!(json["waves"][0], serde_json::json!(["build", "fetch"]));
    let graph = env.run(["explain", "r.yaml", "--graph", "mermaid"]).stdout;
    assert!(graph.contains("s2 -->|\"build\"| s3") && graph.contains("s1 --> s6"), "{graph}");
    assert_eq!(env.run(["r.yaml", "--dry-run"]).code, 0);
}

#[test]
fn mistakes_in_a_graph_are_reported_together() {
    let env = env();
    let output = env.text(
        "name: r\nschedule: graph\nsteps:\n- {id: a, command: 'echo {{b}}', parallel_group: g}\n- {id: b, command: 'echo {{a}}'}\n- {id: c, command: x, output: v}\n- {id: d, command: x, output: v}\n",
        &["--validate-only"],
    );
    assert_eq!(output.code, 2);
    let circle = "`a` reads `b` of `b`, `b` reads `a` of `a`";
    for part in ["circular-needs", circle, "contradiction", "`c` and `d` both write `v`"] {
        assert!(output.all().contains(part), "{part}: {}", output.all());
    }
    let output = env.text(
        "name: r\nschedule: graph\nsteps:\n- {id: a, command: x, output: v}\n- {id: b, command: x, output: v}\n- {id: c, command: x, depends_on: [t]}\n- {id: t, when: always, command: x}\n",
        &["--validate-only"],
    );
    for part in ["unordered-writers", "recipe.yaml:4:", "recipe.yaml:5:", "later-step"] {
        assert!(output.all().contains(part), "{part}: {}", output.all());
    }
}
