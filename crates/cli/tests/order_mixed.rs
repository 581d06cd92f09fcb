//! Cleanup steps and graphs together with loops, questions and `ensure`.

use testkit::{Output, TestEnv};

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

/// Statuses of the steps of the main recipe, by id; cleanup steps have a star.
fn statuses(output: &Output) -> String {
    let json = output.json();
    let steps = json["step_results"].as_array().cloned().unwrap_or_default();
    let text = |step: &serde_json::Value, name: &str| step[name].as_str().unwrap_or_default().to_owned();
    let line = |step: &serde_json::Value| {
        let cleanup = if step["cleanup"] == true { "*" } else { "" };
        format!("{}{cleanup}={}", text(step, "step_id"), text(step, "status"))
    };
    steps.iter().map(line).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_list_and_the_condition_of_a_loop_are_needs() {
    let recipe = r#"name: r
schedule: graph
steps:
- {id: use, command: 'echo "{{each.1}}"'}
- {id: each, for_each: '{{list}}', max_parallel: 2, command: 'echo "x {{item}}"'}
- {id: list, command: "echo '[\"a\",\"b\"]'", parse_json: true}
- {id: poll, repeat: {max: 3, until: 'limit == "1"'}, command: echo again >> log}
- {id: limit, command: sleep 0.3; echo 1}
"#;
    let env = env();
    let output = env.json(recipe, &[]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(output.step("use")["output"], "x b");
    assert_eq!(env.read("log"), "again\n", "the condition was read before its value was there");
    let explained = env.run(["explain", "recipe.yaml"]).stdout;
    assert!(explained.contains("Wave 2: each, poll\n"), "{explained}");
}

const LOOPED: &str = "name: r
steps:
- {id: work, command: 'echo work >> log; test -e fine'}
- {id: undo, when: always, for_each: [a, b, c], command: 'echo \"undo {{item}}\" >> log; test {{item}} != b || test -e whole'}
- {id: tell, when: failed, command: 'echo \"{{failure.step}}: {{undo}}\" >> log'}
";

#[test]
fn a_looped_cleanup_step_runs_its_instances_once() {
    let env = env();
    let output = env.json(LOOPED, &[]);
    assert_eq!(output.code, 1, "{}", output.all());
    assert_eq!(statuses(&output), "work=failed undo*=failed tell*=completed");
    // the instance that failed stops the loop: the third one is no cleanup step of its own
    assert_eq!(env.read("log"), "work\nundo a\nundo b\nwork: \n");
    assert_eq!(output.json()["failure"]["step"], "work");
    assert_eq!(output.json()["cleanup_failures"][0]["step"], "undo");
    let plan = env.run(["resume", "last", "--plan"]).stdout;
    assert!(plan.contains("pending  undo  (it runs again when the run ends)"), "{plan}");
    assert!(!plan.contains("undo[0]"), "{plan}");
    env.write("fine", "");
    env.write("whole", "");
    let output = env.run(["resume", "last", "--output-format", "json"]);
    assert_eq!(statuses(&output), "work=completed undo=completed tell=skipped");
    assert_eq!(env.read("log"), "work\nundo a\nundo b\nwork: \nwork\nundo a\nundo b\nundo c\n");
}

#[test]
fn all_steps_inside_an_always_step_run_after_ctrl_c() {
    let inner = "name: inner\nsteps:\n- {id: a, command: 'echo x > inside; sleep 1; echo a >> log'}\n- {id: b, command: echo b >> log}\n";
    let recipe = "name: r\nsteps:\n- {id: each, when: always, for_each: [1, 2], recipe: ./inner.yaml}\n";
    let env = env().file("inner.yaml", inner).file("r.yaml", recipe);
    let started = env.spawn(["r.yaml", "--output-format", "json"]);
    env.wait_for("inside");
    started.signal("INT");
    let output = started.wait();
    assert_eq!(output.code, 130, "{}", output.all());
    assert_eq!(env.read("log"), "a\nb\na\nb\n");
    assert_eq!(env.survivors(), Vec::<String>::new());
}

const ASKING: &str = "name: r
schedule: graph
steps:
- {id: publish, command: 'echo \"publish {{build}}: {{approve.choice}}\" >> log'}
- {id: approve, ask: 'Publish {{build}}?'}
- {id: build, command: echo v1}
- {id: test, command: 'sleep 0.3; test ! -e broken'}
- {id: report, command: 'echo \"report {{test}}\" >> log'}
";

#[test]
fn a_graph_goes_on_while_a_question_waits() {
    let env = env();
    let output = env.json(ASKING, &[]);
    assert_eq!(output.code, 6, "{}", output.all());
    let waiting = "publish=pending approve=waiting build=completed test=completed report=completed";
    assert_eq!(statuses(&output), waiting);
    let output = env.run(["answer", "last", "approve", "--output-format", "json"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(env.read("log"), "report \npublish v1: approve\n");
}

#[test]
fn a_failure_in_a_graph_withdraws_its_questions() {
    let env = env().file("broken", "");
    let output = env.json(ASKING, &[]);
    assert_eq!(output.code, 1, "{}", output.all());
    assert_eq!(
        statuses(&output),
        "publish=pending approve=pending build=completed test=failed report=pending"
    );
    assert!(output.stderr.contains("question withdrawn: `test` failed"), "{}", output.stderr);
    std::fs::remove_file(env.path("broken")).unwrap();
    assert_eq!(env.run(["resume", "last"]).code, 6);
    assert_eq!(env.run(["answer", "last", "reject"]).code, 1);
    assert_eq!(env.read("log"), "report \n");
}

const ROLLBACK: &str = "name: r
steps:
- {id: deploy, command: 'echo deploy >> log; exit 1'}
- {id: really, when: failed, ask: 'Undo {{failure.step}}?', choices: ['yes', 'no']}
- {id: undo, when: failed, condition: \"really.choice == 'yes'\", command: echo undone >> log}
";

#[test]
fn a_cleanup_step_can_ask() {
    let env = env();
    let output = env.text(ROLLBACK, &[]);
    assert_eq!(output.code, 6, "{}", output.all());
    assert!(output.stderr.contains("⏸ really is waiting for you: Undo deploy?"), "{}", output.stderr);
    let output = env.run(["answer", "last", "yes", "--output-format", "json"]);
    assert_eq!(output.code, 1, "{}", output.all());
    assert_eq!(statuses(&output), "deploy=failed really*=completed undo*=completed");
    assert_eq!(env.read("log"), "deploy\nundone\n", "an answer about the cleanup repeats no other step");
    assert_eq!(output.json()["failure"]["step"], "deploy");
}

#[test]
fn a_stopped_run_asks_nothing() {
    let recipe = "name: r\nsteps:\n- {id: work, command: 'echo x > working; sleep 60'}\n- {id: sure, when: always, ask: 'Sure?'}\n- {id: last, when: always, command: touch last}\n";
    let env = env().file("r.yaml", recipe);
    let started = env.spawn(["r.yaml", "--wait", "--output-format", "json"]);
    env.wait_for("working");
    started.signal("INT");
    let output = started.wait();
    assert_eq!(output.code, 130, "{}", output.all());
    assert_eq!(statuses(&output), "work=pending sure*=failed last*=completed");
    assert!(env.path("last").exists());
}

#[test]
fn a_waiting_question_does_not_keep_a_stopped_run_from_cleaning_up() {
    let recipe = "name: r\nsteps:\n- {id: work, command: 'sleep 1; echo x > working; sleep 60', parallel_group: g}\n- {id: sure, ask: 'Sure?', parallel_group: g}\n- {id: last, when: always, command: touch last}\n";
    let env = env().file("r.yaml", recipe);
    let started = env.spawn(["r.yaml"]);
    env.wait_for("working");
    started.signal("INT");
    assert_eq!(started.wait().code, 130);
    assert!(env.path("last").exists());
}

#[test]
fn a_cleanup_step_must_meet_its_rules() {
    let recipe = "name: r\nsteps:\n- {id: work, command: exit 1}\n- {id: undo, when: always, command: 'echo undo >> log', ensure: [{file: proof}]}\n- {id: last, when: always, command: echo last >> log}\n";
    let env = env();
    let output = env.json(recipe, &[]);
    assert_eq!(output.code, 1, "{}", output.all());
    assert_eq!(statuses(&output), "work=failed undo*=failed last*=completed");
    assert_eq!(output.json()["cleanup_failures"][0]["step"], "undo");
    assert_eq!(env.read("log"), "undo\nlast\n");
}

/// Waits for the file `go` in the first life of a run.
const SLOW: &str = "test -e go || { echo x > slow; sleep 60; }";

/// Runs a recipe, kills the runner when a step is slow, and resumes.
fn killed_and_resumed(env: &TestEnv, recipe: &str) -> Output {
    env.write("r.yaml", recipe.replace("SLOW", SLOW));
    let started = env.spawn(["r.yaml"]);
    env.wait_for("slow");
    started.kill();
    env.write("go", "");
    env.run(["resume", "last", "--output-format", "json"])
}

#[test]
fn a_killed_cleanup_repeats_nothing_that_is_done() {
    let inner = "name: inner\nsteps:\n- {id: x, command: echo x >> log; echo X}\n- {id: y, command: 'SLOW; echo \"y{{x}}\" >> log'}\n";
    let failing = "name: failing\nsteps:\n- {id: k, command: 'echo k >> log; exit 1'}\n- {id: c1, when: failed, command: echo c1 >> log}\n- {id: c2, when: failed, command: 'SLOW; echo c2 >> log'}\n";
    for (steps, code, log) in [
        // a sub-recipe that cleans up
        (
            "- {id: a, command: echo a >> log; exit 1}\n- {id: n, when: failed, recipe: inner}\n- {id: z, when: always, command: echo z >> log}\n",
            1,
            "a x yX z",
        ),
        // a loop that cleans up
        (
            "- {id: a, command: echo a >> log; exit 1}\n- {id: n, when: failed, for_each: [1, 2, 3], command: 'test {{item}} != 2 || SLOW; echo \"n{{item}}\" >> log'}\n",
            1,
            "a n1 n2 n3",
        ),
        // the cleanup of a sub-recipe
        (
            "- {id: n, recipe: failing}\n- {id: z, when: failed, command: 'echo \"z {{failure.step}}\" >> log'}\n",
            1,
            "k c1 c2 z n/k",
        ),
        (
            "- {id: n, recipe: failing, continue_on_error: true}\n- {id: z, command: echo z >> log}\n",
            0,
            "k c1 c2 z",
        ),
        ("- {id: n, for_each: [p, q], keep_going: true, recipe: failing}\n", 1, "k c1 c2 k c1 c2"),
        // members of the group that have not run
        (
            "- {id: s, parallel_group: g, condition: 'false', command: echo s >> log}\n- {id: q, parallel_group: g, ask: 'Go on?'}\n- {id: a, parallel_group: g, command: sleep 0.2; echo a >> log; exit 1}\n- {id: c, when: failed, command: 'SLOW; echo c >> log'}\n",
            1,
            "a c",
        ),
        // a cleanup step that failed is not tried again
        (
            "- {id: a, command: echo a >> log; exit 1}\n- {id: c, when: failed, command: 'echo c >> log; exit 2'}\n- {id: d, when: failed, command: 'SLOW; echo d >> log'}\n",
            1,
            "a c d",
        ),
    ] {
        let env = env().file("inner.yaml", inner.replace("SLOW", SLOW));
        env.write("failing.yaml", failing.replace("SLOW", SLOW));
        let output = killed_and_resumed(&env, &format!("name: r\nsteps:\n{steps}"));
        assert_eq!(output.code, code, "{steps}: {}", output.all());
        assert_eq!(env.read("log").trim_end().replace('\n', " "), log, "{steps}");
        let asked = output.stderr.contains("waiting for a person");
        assert!(!asked, "a failed recipe asks: {}", output.stderr);
    }
}

#[test]
fn the_cleanup_of_a_killed_graph_has_all_values() {
    let recipe = "name: r\nschedule: graph\nsteps:\n- {id: a, command: sleep 0.3; echo a >> log; exit 1}\n- {id: b, command: echo B}\n- {id: d, command: 'echo \"{{b}}D\"'}\n- {id: never, depends_on: [a], command: echo never >> log}\n- {id: c1, when: failed, command: 'echo \"c1 {{d}}\" >> log; echo C'}\n- {id: c2, when: failed, command: 'SLOW; echo \"c2 {{b}}{{c1}}\" >> log'}\n";
    let env = env();
    let output = killed_and_resumed(&env, recipe);
    assert_eq!(output.code, 1, "{}", output.all());
    assert_eq!(env.read("log"), "a\nc1 BD\nc2 BC\n");
    let expected = "a=failed b=completed d=completed never=pending c1*=completed c2*=completed";
    assert_eq!(statuses(&output), expected);
}

#[test]
fn a_changed_recipe_does_not_continue_the_old_cleanup() {
    let recipe = "name: r\nsteps:\n- {id: a, command: 'echo a >> log; exit 1'}\n- {id: c, when: failed, command: 'SLOW; echo c >> log'}\n";
    let env = env().file("r.yaml", recipe.replace("SLOW", SLOW));
    let started = env.spawn(["r.yaml"]);
    env.wait_for("slow");
    started.kill();
    env.write("r.yaml", recipe.replace("SLOW", "true").replace("exit 1", "true"));
    let output = env.run(["resume", "last", "--recipe", "r.yaml", "--output-format", "json"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(statuses(&output), "a=completed c=skipped");
    assert_eq!(env.read("log"), "a\na\n");
}

#[test]
fn the_same_sub_recipe_can_run_twice_in_a_graph() {
    let inner = "name: inner\nsteps:\n- {id: build, command: 'sleep 1; echo \"{{arg}}\"'}\n- {id: test, command: 'echo BUILD; echo \"{{build}} tested\"'}\n";
    let recipe = "name: r\nschedule: graph\nsteps:\n- {id: report, command: 'echo \"{{one}}, {{two}}\" | tr \"\\n\" \" \"'}\n- {id: one, recipe: inner, context: {arg: 1}}\n- {id: two, recipe: inner, context: {arg: 2}}\n";
    let env = env().file("inner.yaml", inner);
    let begun = std::time::Instant::now();
    let output = env.json(recipe, &[]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert!(begun.elapsed().as_secs_f64() < 1.9, "one waits for the other: {:?}", begun.elapsed());
    assert_eq!(output.step("report")["output"], "BUILD 1 tested, BUILD 2 tested ");
}

#[test]
fn the_result_of_a_graph_is_that_of_its_last_wave() {
    let inner = "name: inner\nschedule: graph\nsteps:\n- {id: z, command: 'echo \"z after {{y}}\"'}\n- {id: y, command: echo y}\n- {id: x, command: sleep 0.5; echo x}\n";
    let recipe = "name: r\nsteps:\n- {id: n, recipe: inner}\n- {id: show, command: 'echo \"{{n}}\"'}\n";
    let output = env().file("inner.yaml", inner).json(recipe, &[]);
    assert_eq!(output.step("show")["output"], "z after y", "{}", output.all());
}

#[test]
fn cancelling_a_run_without_a_process_cleans_up() {
    let inner =
        "name: inner\nsteps:\n- {id: WORK}\n- {id: d, when: always, command: sleep 0.3; echo inner >> log}\n";
    let recipe = "name: r\nsteps:\n- {id: up, command: echo up >> log; echo U}\n- {id: n, recipe: inner}\n- {id: f, when: failed, command: echo failed >> log}\n- {id: down, when: always, command: 'echo \"down {{up}} {{failure.class}}\" >> log'}\n";
    for work in ["q, ask: 'Go on?'", "k, command: 'echo x > slow; sleep 60'"] {
        let env = env().file("inner.yaml", inner.replace("WORK", work)).file("r.yaml", recipe);
        match work.starts_with('q') {
            true => assert_eq!(env.run(["r.yaml"]).code, 6),
            false => {
                let started = env.spawn(["r.yaml"]);
                env.wait_for("slow");
                started.kill();
            }
        }
        let cancelled = env.run(["cancel", "last"]);
        assert_eq!(cancelled.code, 0, "{}", cancelled.all());
        assert!(cancelled.stdout.contains("cancelled; all its processes have ended"), "{}", cancelled.all());
        let log = env.read("log");
        assert_eq!(log, "up\ninner\ndown U interrupted\n", "{work}: the inner recipe comes first");
        assert_eq!(env.run(["show", "last", "--output-format", "json"]).json()["status"], "cancelled");
        assert_eq!(env.run(["cancel", "last"]).code, 0);
        assert_eq!(env.read("log"), log, "{work}: twice");
        assert_eq!(env.survivors(), Vec::<String>::new());
    }
}

#[test]
fn cancelling_a_run_that_was_killed_while_it_cleaned_up_ends_the_cleanup() {
    let inner = "name: inner\nsteps:\n- {id: k, command: 'echo x > slow; sleep 60'}\n- {id: d, when: always, command: 'echo d >> log; test -e slow2 || { echo x > slow2; sleep 60; }'}\n";
    let recipe =
        "name: r\nsteps:\n- {id: n, recipe: inner}\n- {id: down, when: always, command: echo down >> log}\n";
    for (again, log) in [("", "d\nd\ndown\n"), ("idempotent: false, ", "d\ndown\n")] {
        let inner = inner.replace("{id: d, ", &format!("{{id: d, {again}"));
        let env = env().file("inner.yaml", inner).file("r.yaml", recipe);
        let started = env.spawn(["r.yaml"]);
        env.wait_for("slow");
        started.signal("INT");
        env.wait_for("slow2");
        started.kill();
        let cancelled = env.run(["cancel", "last"]);
        assert_eq!((cancelled.code, env.read("log").as_str()), (0, log), "{again}{}", cancelled.all());
        assert_eq!(env.survivors(), Vec::<String>::new());
    }
}

#[test]
fn cancelling_a_run_that_was_killed_inside_a_recipe_that_cleans_up_continues_that_recipe() {
    let inner = "name: inner\nsteps:\n- {id: one, command: echo one >> log}\n- {id: two, command: 'echo two >> log; test -e slow || { echo x > slow; sleep 60; }'}\n- {id: three, command: echo three >> log}\n";
    let recipe = "name: r\nsteps:\n- {id: a, command: exit 1}\n- {id: down, when: always, recipe: inner}\n- {id: last, when: always, command: echo last >> log}\n";
    let env = env().file("inner.yaml", inner).file("r.yaml", recipe);
    let started = env.spawn(["r.yaml"]);
    env.wait_for("slow");
    started.kill();
    let cancelled = env.run(["cancel", "last"]);
    assert_eq!(cancelled.code, 0, "{}", cancelled.all());
    assert_eq!(env.read("log"), "one\ntwo\ntwo\nthree\nlast\n", "{}", cancelled.all());
    let shown = env.run(["show", "last", "--output-format", "json"]).json();
    assert_eq!(shown["status"], "cancelled");
    assert_eq!(shown["step_results"][1]["status"], "completed", "{shown}");
    assert_eq!(shown["step_results"][1]["steps"][0]["attempts"], 1, "{shown}");
    assert_eq!(env.survivors(), Vec::<String>::new());
}

#[test]
fn a_failed_cleanup_of_a_cancelled_run_is_reported() {
    let recipe = "name: r\nsteps:\n- {id: q, ask: 'Go on?'}\n- {id: w, when: always, command: exit 4}\n- {id: v, when: always, command: touch v}\n";
    let env = env();
    assert_eq!(env.text(recipe, &[]).code, 6);
    assert_eq!(env.run(["cancel", "last"]).code, 0);
    assert!(env.path("v").exists());
    let shown = env.run(["show", "last"]);
    assert!(shown.all().contains("cleanup failed: step `w`: exit code 4"), "{}", shown.all());
}

#[test]
fn a_waiting_run_can_be_cancelled_without_its_cleanup() {
    let recipe =
        "name: r\nsteps:\n- {id: q, ask: 'Go on?'}\n- {id: down, when: always, command: touch down}\n";
    let env = env();
    assert_eq!(env.text(recipe, &[]).code, 6);
    assert_eq!(env.run(["cancel", "last", "--no-cleanup"]).code, 0);
    assert!(!env.path("down").exists());
}

#[test]
fn cleanup_runs_after_a_rejection_and_after_the_time_for_an_answer() {
    let steps = "- {id: f, when: failed, command: 'echo \"{{failure.step}} {{failure.class}}: {{failure.error}}\" >> log'}\n- {id: w, when: always, command: echo w >> log}\n";
    let env = env();
    let output = env.text(&format!("name: r\nsteps:\n- {{id: q, ask: 'Go on?'}}\n{steps}"), &[]);
    assert_eq!(output.code, 6, "{}", output.all());
    assert!(!env.path("log").exists());
    let output = env.run(["answer", "last", "reject", "--comment", "not now", "--output-format", "json"]);
    assert_eq!(output.code, 1, "{}", output.all());
    assert_eq!(statuses(&output), "q=failed f*=completed w*=completed");
    assert!(env.read("log").contains(": not now\nw\n"), "{}", env.read("log"));
    for (more, expected) in [("", "q timeout: "), (", on_timeout: reject", "q verification: ")] {
        env.write("log", "");
        let recipe = format!("name: r\nsteps:\n- {{id: q, ask: 'Go on?', timeout: 1{more}}}\n{steps}");
        let output = env.json(&recipe, &["--wait"]);
        assert_eq!(output.code, 1, "{}", output.all());
        assert!(
            env.read("log").starts_with(expected) && env.read("log").ends_with("w\n"),
            "{}",
            env.read("log")
        );
    }
}
