//! How loops end: degraded, skipped and vanished instances, timeouts, and what is printed about many instances.

use testkit::{Output, TestEnv};

fn world() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

fn json(env: &TestEnv, arguments: &[&str]) -> Output {
    env.run(arguments.iter().copied().chain(["--output-format", "json"]))
}

#[test]
fn the_condition_of_a_repeat_sees_the_first_iteration() {
    let recipe = "name: r\nsteps:\n  - {id: a, repeat: {max: 2}, condition: 'iteration == 1 and iterations == 2', command: 'echo {{iteration}}'}\n  - {id: b, repeat: {max: 2}, condition: 'iteration == 2', command: echo b}\n";
    let env = world().file("r.yaml", recipe);
    let output = json(&env, &["r.yaml"]);
    assert_eq!(output.step("a")["status"], "completed", "{}", output.all());
    assert_eq!(output.value("a"), "2");
    assert_eq!(output.step("b")["status"], "skipped");
}

#[test]
fn a_degraded_instance_degrades_its_step() {
    let recipe = "name: r\nsteps:\n  - {id: e, for_each: ['{}', oops], parse_json: true, command: 'echo \"{{item}}\"'}\n  - {id: rep, repeat: {max: 2}, parse_json: true, command: 'echo no'}\n  - {id: fine, repeat: {max: 2}, parse_json: true, command: 'test {{iteration}} = 2 && echo {} || echo no'}\n";
    let env = world().file("r.yaml", recipe);
    let output = json(&env, &["r.yaml"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(output.step("e[1]")["status"], "degraded");
    assert_eq!(output.step("e")["status"], "degraded");
    let error = output.step("e")["error"].as_str().unwrap_or_default().to_owned();
    assert!(error.starts_with("for_each: 1 of 2 degraded (e[1]): "), "{error}");
    assert!(error.contains("parse_json failed"), "{error}");
    assert_eq!(output.step("rep")["status"], "degraded");
    assert_eq!(output.step("fine")["status"], "completed", "the last iteration counts");
    let text = env.run(["r.yaml", "--quiet"]);
    assert!(text.all().contains("1 completed, 2 degraded"), "{}", text.all());
}

#[test]
fn vanished_instances_are_reported_with_their_items_also_those_that_failed() {
    let recipe = "name: r\nsteps:\n  - {id: l, command: cat list}\n  - {id: e, for_each: '{{l}}', keep_going: true, command: 'test {{item}} != b'}\n";
    let env = world().file("r.yaml", recipe).file("list", r#"["a", "b", "c"]"#);
    assert_eq!(json(&env, &["r.yaml"]).code, 1);
    env.write("list", r#"["a", "d"]"#);
    let output = env.run(["resume", "last", "--from", "l", "--yes"]);
    assert_eq!(output.code, 0, "{}", output.all());
    let expected = r#"dropped e[1] ("b", failed), e[2] ("c"): their items are no longer in the list"#;
    assert!(output.stderr.contains(expected), "{}", output.all());
}

#[test]
fn the_timeout_of_a_recipe_begins_with_its_work() {
    let recipe =
        "name: r\nsteps:\n  - {id: e, for_each: [1, 2, 3, 4], max_parallel: 4, timeout: 2, recipe: one}\n";
    let one = "name: one\nsteps:\n  - {id: a, command: sleep 0.8}\n";
    let env = world().file("r.yaml", recipe).file("one.yaml", one);
    let output = json(&env, &["r.yaml", "--max-parallel", "1"]);
    assert_eq!(output.code, 0, "{}", output.all());
}

#[test]
fn many_failed_instances_are_folded() {
    let recipe = "name: r\nsteps:\n  - {id: l, command: 'seq -s, 1 60 | sed \"s/.*/[&]/\"'}\n  - {id: e, for_each: '{{l}}', max_parallel: 8, keep_going: true, command: 'test {{item}} = 60'}\n";
    let env = world().file("r.yaml", recipe);
    let output = env.run(["r.yaml", "--quiet"]);
    assert_eq!(output.code, 1);
    let about: Vec<&str> = output.stdout.lines().filter(|line| line.contains("e[")).collect();
    assert!(about.len() <= 10, "{}", output.all());
    assert!(output.stdout.contains("… and 52 more: 1 completed, 51 failed"), "{}", output.all());
    assert!(output.all().lines().count() < 35, "{}", output.all());
    let shown = env.run(["show", "last"]).stdout;
    assert!(shown.contains("e[58] failed"), "{shown}");
}

#[test]
fn the_delay_before_an_iteration_is_announced() {
    let recipe = "name: r\nsteps:\n  - {id: rep, repeat: {max: 2, delay: 0.4}, command: echo x}\n";
    let env = world().file("r.yaml", recipe);
    let output = env.run(["r.yaml"]);
    assert!(output.stderr.contains("[step rep[1]] begins in 0.4s"), "{}", output.all());
    assert!(!env.run(["r.yaml", "--quiet"]).stderr.contains("begins in"));
}

#[test]
fn a_repeat_without_an_iteration_that_ran_is_skipped() {
    let recipe = "name: r\nsteps:\n  - {id: rep, repeat: {max: 1}, idempotent: false, command: 'echo x > began; sleep 30'}\n  - {id: z, command: echo z}\n";
    let env = world().file("r.yaml", recipe);
    let started = env.spawn(["r.yaml"]);
    env.wait_for("began");
    started.kill();
    let output = json(&env, &["resume", "last", "--skip-interrupted"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(output.step("rep[0]")["status"], "skipped");
    assert_eq!(output.step("rep")["status"], "skipped", "{}", output.all());
}

#[test]
fn the_width_of_a_loop_may_be_a_template() {
    let recipe = "name: r\ncontext: {width: 2, plan: {width: '3'}}\nsteps:\n  - {id: e, for_each: [1, 2, 3, 4], max_parallel: '{{WIDTH}}', command: 'echo begin >> log; sleep 0.7; echo end >> log'}\n";
    for (width, begun) in [("width", 2), ("plan.width", 3)] {
        let env = TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"));
        let output = env.text(&recipe.replace("WIDTH", width), &[]);
        assert_eq!(output.code, 0, "{}", output.all());
        let log = env.read("log");
        assert_eq!(log.lines().take_while(|line| *line == "begin").count(), begun, "{log}");
    }
    for wrong in ["0", "many", "1.5", "[2]"] {
        let env = TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"));
        let output = env.text(&recipe.replace("WIDTH", "width"), &["--set", &format!("width={wrong}")]);
        assert_eq!((output.code, env.path("log").exists()), (1, false), "{wrong}: {}", output.all());
        assert!(output.stderr.contains("needs a whole number from 1 as `max_parallel`"), "{}", output.all());
    }
    let env = TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"));
    let undefined = env.text(&recipe.replace("WIDTH", "unknown"), &["--strict"]);
    assert_eq!(undefined.code, 2, "{}", undefined.all());
}
