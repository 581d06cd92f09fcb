//! Resumes of runs with loops: what runs again after `--from`, after an edit and after a changed list, and that the
//! plan of a resume says it.

use testkit::{Output, TestEnv};

fn world() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

fn json(env: &TestEnv, arguments: &[&str]) -> Output {
    env.run(arguments.iter().copied().chain(["--output-format", "json"]))
}

/// The lines that steps have written since the last look.
fn log(env: &TestEnv) -> String {
    let text = env.read("log").lines().collect::<Vec<_>>().join(" ");
    env.write("log", "");
    text
}

/// The steps that a plan does this to.
fn planned(plan: &serde_json::Value, action: &str) -> Vec<String> {
    let steps = plan["steps"].as_array().cloned().unwrap_or_default();
    let meant = steps.iter().filter(|step| step["action"] == action);
    meant.map(|step| step["path"].as_str().unwrap_or_default().to_owned()).collect()
}

const ONE: &str = "name: one\ncontext: {item: ''}\nsteps:\n  - {id: a, command: 'echo a{{item}} >> log'}\n  - {id: b, command: 'echo b{{item}} >> log; test {{item}} != 2 || test -e fixed'}\n";

#[test]
fn from_a_step_everything_after_it_runs_again_inside_failed_recipes_too() {
    let recipe = "name: r\nsteps:\n  - {id: x, command: 'echo x >> log'}\n  - {id: sub, recipe: one, context: {item: '2'}}\n";
    let env = world().file("r.yaml", recipe).file("one.yaml", ONE);
    assert_eq!(json(&env, &["r.yaml"]).code, 1);
    assert_eq!(log(&env), "x a2 b2");
    env.write("fixed", "");
    let plan = json(&env, &["resume", "last", "--from", "x", "--plan"]).json();
    assert_eq!(planned(&plan, "rerun"), ["x", "sub", "sub/a", "sub/b"]);
    let output = json(&env, &["resume", "last", "--from", "x", "--yes"]);
    assert_eq!((output.code, log(&env).as_str()), (0, "x a2 b2"), "{}", output.all());
}

#[test]
fn from_a_step_everything_after_it_runs_again_in_a_failed_repeat_too() {
    let recipe = "name: r\nsteps:\n  - {id: x, command: 'echo x >> log'}\n  - {id: rep, repeat: {max: 3}, recipe: one, context: {item: '{{iteration}}'}}\n  - {id: z, command: 'echo z >> log; test -e never'}\n";
    for (from, expected) in [
        ("x", "x a1 b1 a2 b2 a3 b3 z"),
        ("rep", "a1 b1 a2 b2 a3 b3 z"),
        ("rep[0]", "a1 b1 a2 b2 a3 b3 z"),
        ("rep.0/b", "b1 a2 b2 a3 b3 z"),
        ("rep[1]", "a2 b2 a3 b3 z"),
        ("rep[1]/b", "b2 a3 b3 z"),
    ] {
        let env = world().file("r.yaml", recipe).file("one.yaml", ONE);
        assert_eq!(json(&env, &["r.yaml"]).code, 1);
        assert_eq!(log(&env), "x a1 b1 a2 b2");
        env.write("fixed", "");
        let output = json(&env, &["resume", "last", "--from", from, "--yes"]);
        assert_eq!((output.code, log(&env).as_str()), (1, expected), "{from}: {}", output.all());
    }
}

#[test]
fn from_a_step_instances_that_did_not_complete_run_again_as_a_whole() {
    let recipe = "name: r\nsteps:\n  - {id: x, command: 'echo x >> log'}\n  - {id: e, for_each: [1, 2, 3], keep_going: true, recipe: one}\n";
    for (from, expected) in [("x", "x a2 b2"), ("e", "a1 b1 a2 b2 a3 b3"), ("e[1]", "a2 b2"), ("e.1/b", "b2")]
    {
        let env = world().file("r.yaml", recipe).file("one.yaml", ONE);
        assert_eq!(json(&env, &["r.yaml"]).code, 1);
        assert_eq!(log(&env), "x a1 b1 a2 b2 a3 b3");
        env.write("fixed", "");
        let output = json(&env, &["resume", "last", "--from", from, "--yes"]);
        assert_eq!((output.code, log(&env).as_str()), (0, expected), "{from}: {}", output.all());
    }
}

#[test]
fn an_iteration_that_runs_again_takes_the_later_ones_with_it() {
    let recipe = "name: r\ncontext: {n: '0'}\nsteps:\n  - {id: rep, repeat: {max: 3}, recipe: one}\n  - {id: z, command: test -e never}\n";
    let one = "name: one\nsteps:\n  - {id: keep, command: 'echo k >> log'}\n  - {id: n, command: 'echo n{{n}} >> log; echo $(( {{n}} + 1 ))'}\n";
    let env = world().file("r.yaml", recipe).file("one.yaml", one);
    assert_eq!(json(&env, &["r.yaml"]).code, 1);
    assert_eq!(log(&env), "k n0 k n1 k n2");
    env.write("one.yaml", one.replace("+ 1", "+ 10"));
    let plan = json(&env, &["resume", "last", "--recipe", "r.yaml", "--plan"]).json();
    assert_eq!(planned(&plan, "keep"), ["rep[0]/keep"], "{plan:#}");
    let output = json(&env, &["resume", "last", "--recipe", "r.yaml"]);
    assert_eq!((output.code, log(&env).as_str()), (1, "n0 k n10 k n20"), "{}", output.all());
}

#[test]
fn the_plan_of_a_resume_says_what_happens_to_instances() {
    let recipe = "name: r\nsteps:\n  - {id: e, for_each: [a, b, c], command: 'echo {{item}} >> log; test {{item}} != b || test -e fixed'}\n";
    let env = world().file("r.yaml", recipe);
    assert_eq!(json(&env, &["r.yaml"]).code, 1);
    assert_eq!(log(&env), "a b");
    let plan = json(&env, &["resume", "last", "--plan"]).json();
    assert_eq!(planned(&plan, "keep"), ["e[0]"]);
    assert_eq!(planned(&plan, "rerun"), ["e", "e[1]"]);
    assert_eq!(planned(&plan, "pending"), ["e[2]"], "an instance that was not reached");
    // a list that is written in another way: the plan uses the new numbers
    env.write("fixed", "");
    env.write("r.yaml", recipe.replace("[a, b, c]", "[n, b, a]"));
    let plan = json(&env, &["resume", "last", "--recipe", "r.yaml", "--plan"]).json();
    assert_eq!(planned(&plan, "keep"), ["e[2]"], "{plan:#}");
    assert_eq!(planned(&plan, "rerun"), ["e", "e[1]"]);
    assert_eq!(planned(&plan, "pending"), ["e[0]"]);
    let text = env.run(["resume", "last", "--recipe", "r.yaml", "--plan"]).stdout;
    assert!(text.contains("keep     e[2]  (it is done; it was `e[0]`)"), "{text}");
    let output = json(&env, &["resume", "last", "--recipe", "r.yaml"]);
    assert_eq!((output.code, log(&env).as_str()), (0, "n b"), "{}", output.all());
}

#[test]
fn the_plan_of_a_resume_does_not_promise_instances_whose_list_is_made_again() {
    let recipe = "name: r\nsteps:\n  - {id: l, command: cat list}\n  - {id: e, for_each: '{{l}}', command: 'echo {{item}} >> log'}\n  - {id: z, command: test -e never}\n";
    let env = world().file("r.yaml", recipe).file("list", "[1, 2]");
    assert_eq!(json(&env, &["r.yaml"]).code, 1);
    let text = env.run(["resume", "last", "--from", "l", "--plan"]).stdout;
    assert!(text.contains("keep     e[0]  (it is done; it is kept if its inputs stay the same)"), "{text}");
}

#[test]
fn logs_follow_the_item_that_has_the_number_now() {
    let recipe = "name: r\nsteps:\n  - {id: l, command: cat list}\n  - {id: e, for_each: '{{l}}', command: 'echo out-{{item}}'}\n  - {id: z, command: test -e never}\n";
    let env = world().file("r.yaml", recipe).file("list", r#"["a", "b", "c"]"#);
    assert_eq!(json(&env, &["r.yaml"]).code, 1);
    env.write("list", r#"["n", "a"]"#);
    assert_eq!(json(&env, &["resume", "last", "--from", "l", "--yes"]).code, 1);
    assert_eq!(env.run(["logs", "last", "e[0]"]).stdout, "out-n\n");
    let shown = json(&env, &["show", "last"]).json();
    let instance = &shown["step_results"][1]["steps"][0];
    assert_eq!((&instance["step_id"], &instance["attempts"]), (&"e[0]".into(), &1.into()), "the item is new");
    assert_eq!(env.run(["logs", "last", "e.1"]).stdout, "out-a\n");
    let gone = env.run(["logs", "last", "e[2]"]);
    assert_eq!(gone.stdout, "out-c\n");
    assert!(gone.stderr.contains("==> e[2] (its item is no longer in the list) <=="), "{}", gone.all());
    let all = env.run(["logs", "last", "e"]).stdout;
    assert_eq!(all, "out-a\nout-b\nout-c\nout-n\n");
    let none = env.run(["logs", "last", "e[7]"]);
    assert_eq!(none.code, 3);
    assert!(none.stderr.contains("`e` has 2 instances, `e[0]` to `e[1]`"), "{}", none.all());
    let list = json(&env, &["logs", "last", "e[1]"]).json();
    assert_eq!((&list[0]["step"], &list[0]["stdout"]), (&"e[1]".into(), &"out-a\n".into()), "{list:#}");
    let none = json(&env, &["resume", "last", "--from", "e.9", "--yes"]);
    assert!(none.all().contains("there is no step `e.9`"), "{}", none.all());
    assert!(none.all().contains("`e` has 2 instances, `e[0]` to `e[1]`"), "{}", none.all());
}

#[test]
fn a_changed_value_that_all_instances_read_runs_all_of_them_again_and_the_plan_says_so() {
    let recipe = "name: r\ncontext: {v: one}\nsteps:\n  - {id: e, for_each: [1, 2], command: 'echo {{item}}{{v}} >> log'}\n  - {id: z, command: test -e never}\n";
    let env = world().file("r.yaml", recipe);
    assert_eq!(json(&env, &["r.yaml"]).code, 1);
    assert_eq!(log(&env), "1one 2one");
    let plan = json(&env, &["resume", "last", "--set", "v=two", "--plan"]).json();
    assert_eq!(planned(&plan, "rerun"), ["e", "e[0]", "e[1]", "z"], "{plan:#}");
    assert_eq!(plan["steps"][1]["reason"], "its loop runs again");
    assert_eq!(plan["rerun"], serde_json::json!(["e", "z"]), "what runs again for a reason of its own");
    assert_eq!(json(&env, &["resume", "last", "--set", "v=two"]).code, 1);
    assert_eq!(log(&env), "1two 2two");
}

#[test]
fn the_plan_does_not_promise_instances_that_the_last_process_did_not_reach() {
    let recipe = "name: r\nsteps:\n  - {id: l, command: cat list}\n  - {id: m, command: test ! -e bad}\n  - {id: e, for_each: '{{l}}', command: 'test {{item}} != 2'}\n";
    let env = world().file("r.yaml", recipe).file("list", "[1, 2]");
    assert_eq!(json(&env, &["r.yaml"]).code, 1);
    env.write("list", "[3]");
    env.write("bad", "");
    let output = json(&env, &["resume", "last", "--from", "l", "--yes"]);
    assert_eq!(output.json()["failure"]["step"], "m", "{}", output.all());
    let text = env.run(["resume", "last", "--plan"]).stdout;
    assert!(text.contains("keep     e[0]  (it is done; it is kept if its inputs stay the same)"), "{text}");
}
