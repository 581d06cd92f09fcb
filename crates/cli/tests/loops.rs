//! `for_each` and `repeat` through the program: instances, resumes, reports, and wrong uses.

use testkit::{Output, TestEnv};

fn world() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

fn json(env: &TestEnv, arguments: &[&str]) -> Output {
    env.run(arguments.iter().copied().chain(["--output-format", "json"]))
}

/// The lines of the file that steps write into.
fn log(env: &TestEnv) -> String {
    env.read("log").lines().collect::<Vec<_>>().join(" ")
}

const REVIEW: &str = r#"name: r
steps:
  - {id: plan, command: cat list.json, parse_json: true}
  - id: review
    for_each: "{{plan}}"
    as: file
    keep_going: true
    command: |
      echo "{{file.name}}" >> log
      test "{{file.name}}" != b || test -e fixed || exit 3
      echo "$RECIPE_VAR_file__name {{item_index}}/{{item_count}}"
  - {id: after, command: 'echo "{{review}}"'}
"#;

fn names(names: &str) -> String {
    let items: Vec<String> = names.chars().map(|name| format!(r#"{{"name":"{name}"}}"#)).collect();
    format!("[{}]", items.join(","))
}

#[test]
fn each_item_has_an_instance_with_values_files_and_a_path_of_its_own() {
    let env = world().file("r.yaml", REVIEW).file("list.json", names("ab"));
    env.write("fixed", "");
    let output = json(&env, &["r.yaml"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(output.value("review").to_string(), r#"["a 0/2","b 1/2"]"#);
    assert_eq!(output.value("item_index"), serde_json::Value::Null);
    let step = output.step("review[1]");
    assert_eq!((step["step_id"].as_str(), step["status"].as_str()), (Some("review[1]"), Some("completed")));
    let file = env.run_dir().join(step["stdout"]["file"].as_str().unwrap_or_default());
    assert_eq!(std::fs::read_to_string(file).ok().as_deref(), Some("b 1/2\n"));
    let one = env.run(["logs", "last", "review.1"]);
    assert_eq!(one.stdout, "b 1/2\n", "{}", one.all());
    assert_eq!(env.run(["logs", "last", "review[0]"]).stdout, "a 0/2\n");
    assert_eq!(env.run(["logs", "last", "review"]).stdout, "a 0/2\nb 1/2\n");
    assert_eq!(env.run(["logs", "last", "review[7]"]).code, 3);
}

#[test]
fn a_failure_names_the_instances_and_a_resume_runs_only_those() {
    let env = world().file("r.yaml", REVIEW).file("list.json", names("abc"));
    let output = json(&env, &["r.yaml"]);
    assert_eq!(output.code, 1, "{}", output.all());
    let error = output.step("review")["error"].as_str().unwrap_or_default().to_owned();
    assert!(
        error.starts_with("for_each: 1 of 3 failed (review[1]): bash step failed: exit code 3"),
        "{error}"
    );
    assert_eq!(output.json()["failure"]["step"], "review[1]");
    env.write("fixed", "");
    let plan = json(&env, &["resume", "last", "--plan"]).json();
    assert_eq!(plan["rerun"], serde_json::json!(["review", "review[1]"]));
    let resumed = json(&env, &["resume", "last"]);
    assert_eq!(resumed.code, 0, "{}", resumed.all());
    assert_eq!(log(&env), "a b c b");
    assert_eq!(resumed.value("review").to_string(), r#"["a 0/3","b 1/3","c 2/3"]"#);
}

#[test]
fn a_changed_list_moves_results_runs_new_items_and_reports_vanished_ones() {
    let env = world().file("r.yaml", REVIEW).file("list.json", names("abcd"));
    assert_eq!(json(&env, &["r.yaml"]).code, 1);
    env.write("fixed", "");
    env.write("list.json", names("xdba"));
    let resumed = env.run(["resume", "last", "--from", "plan", "--yes"]);
    assert_eq!(resumed.code, 0, "{}", resumed.all());
    assert_eq!(log(&env), "a b c d x b");
    assert!(
        resumed.stderr.contains("dropped review[2] ({\"name\":\"c\"}): its item is no longer in the list"),
        "{}",
        resumed.all()
    );
    let value = json(&env, &["show", "last"]).value("review").to_string();
    assert_eq!(value, r#"["x 0/4","d 3/4","b 2/4","a 0/4"]"#);
}

#[test]
fn a_completed_loop_keeps_its_results_when_the_list_is_made_again() {
    let env = world().file("r.yaml", REVIEW.replace("echo \"{{review}}\"", "test -e never"));
    env.write("list.json", names("ab"));
    env.write("fixed", "");
    assert_eq!(json(&env, &["r.yaml"]).code, 1);
    env.write("list.json", names("bn"));
    let resumed = json(&env, &["resume", "last", "--from", "plan", "--yes"]);
    assert_eq!((resumed.code, log(&env).as_str()), (1, "a b n"), "{}", resumed.all());
    assert_eq!(resumed.value("review").to_string(), r#"["b 1/2","n 1/2"]"#);
}

#[test]
fn an_edited_list_keeps_results_and_an_edited_command_does_not() {
    let recipe = "name: r\nsteps:\n  - {id: e, for_each: [a, b], command: 'echo {{item}} >> log'}\n  - {id: z, command: test -e fixed}\n";
    let env = world().file("r.yaml", recipe);
    assert_eq!(json(&env, &["r.yaml"]).code, 1);
    env.write("r.yaml", recipe.replace("[a, b]", "[c, b, a]"));
    assert_eq!(json(&env, &["resume", "last", "--recipe", "r.yaml"]).code, 1);
    assert_eq!(log(&env), "a b c");
    env.write("r.yaml", recipe.replace(">> log", " >> log #"));
    assert_eq!(json(&env, &["resume", "last", "--recipe", "r.yaml"]).code, 1);
    assert_eq!(log(&env), "a b c a b");
}

#[test]
fn a_resume_can_begin_at_an_instance_or_inside_one() {
    let recipe = "name: r\nsteps:\n  - {id: e, for_each: [a, b], command: 'echo {{item}} >> log'}\n  - {id: round, repeat: {max: 2}, recipe: one, context: {now: '{{iteration}}'}}\n  - {id: z, command: test -e never}\n";
    let child = "name: one\ncontext: {now: ''}\nsteps:\n  - {id: work, command: 'echo w{{now}} >> log'}\n  - {id: test, command: 'echo t{{now}} >> log'}\n";
    let env = world().file("r.yaml", recipe).file("one.yaml", child);
    assert_eq!(json(&env, &["r.yaml"]).code, 1);
    assert_eq!(log(&env), "a b w1 t1 w2 t2");
    env.write("log", "");
    let output = json(&env, &["resume", "last", "--from", "round[0]/test", "--yes"]);
    assert_eq!((output.code, log(&env).as_str()), (1, "t1 w2 t2"), "{}", output.all());
    env.write("log", "");
    let output = json(&env, &["resume", "last", "--from", "e.1", "--yes"]);
    assert_eq!((output.code, log(&env).as_str()), (1, "b w1 t1 w2 t2"), "{}", output.all());
    let output = json(&env, &["resume", "last", "--from", "e[5]", "--yes"]);
    assert_ne!(output.code, 0, "{}", output.all());
}

#[test]
fn instances_are_killed_at_many_moments_and_none_completes_twice() {
    let recipe = "name: r\nsteps:\n  - {id: plan, command: 'echo [1,2,3,4,5,6]'}\n  - {id: e, for_each: '{{plan}}', max_parallel: 2, recipe: one}\n  - {id: round, repeat: {max: 3, delay: 0.05}, command: 'echo r{{iteration}} >> log'}\n";
    let child = "name: one\nsteps:\n  - {id: a, command: 'sleep 0.02; echo a{{item}} >> log'}\n  - {id: b, command: 'echo b{{item}} >> log'}\n";
    for delay in [60, 110, 160, 230, 300] {
        let env = world().file("r.yaml", recipe).file("one.yaml", child);
        let started = env.spawn(["r.yaml"]);
        std::thread::sleep(std::time::Duration::from_millis(delay));
        started.kill();
        let mut resumed = json(&env, &["resume", "last"]);
        if env.run_ids().is_empty() {
            resumed = json(&env, &["r.yaml"]);
        }
        assert!(resumed.code == 0 || resumed.stdout.contains("already completed"), "{}", resumed.all());
        let mut finished: Vec<String> = Vec::new();
        for record in env.records() {
            let end = &record["event"]["step_finished"];
            if end["status"] == "completed" {
                finished.push(end["path"].as_str().unwrap_or_default().to_owned());
            }
        }
        let count = finished.len();
        finished.sort();
        finished.dedup();
        assert_eq!(count, finished.len(), "no instance completes twice");
        assert_eq!(count, 6 * 3 + 3 + 3, "{finished:?}");
    }
}

#[test]
fn a_repeat_sees_what_the_last_iteration_gave() {
    let recipe = "name: r\nsteps:\n  - id: round\n    repeat: {max: 5, until: \"round.n >= 3\"}\n    parse_json: true\n    command: 'echo \"{\\\"n\\\": $(( {{#if round}}{{round.n}}{{else}}0{{/if}} + 1 )), \\\"of\\\": {{iterations}}}\"'\n";
    let env = world().file("r.yaml", recipe);
    let output = json(&env, &["r.yaml"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(output.value("round").to_string(), r#"{"n":3,"of":5}"#);
    assert_eq!(output.step("round")["steps"].as_array().map(Vec::len), Some(3));
}

#[test]
fn a_repeat_that_is_exhausted_says_what_it_read() {
    let recipe = "name: r\nsteps:\n  - {id: round, repeat: {max: 2, until: \"round == 'PASS'\"}, command: echo FAIL}\n";
    let env = world().file("r.yaml", recipe);
    let output = json(&env, &["r.yaml"]);
    assert_eq!(output.code, 1);
    let expected =
        "repeat: until was not reached in 2 iterations: `round == 'PASS'` is false (round = \"FAIL\")";
    assert_eq!(output.step("round")["error"], expected);
    assert_eq!(output.step("round")["outcome"], "loop");
    env.write("r.yaml", recipe.replace("max: 2,", "max: 2, on_exhausted: continue,"));
    let output = env.run(["r.yaml"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert!(output.stderr.contains(expected), "{}", output.all());
}

#[test]
fn the_delay_of_a_repeat_outlives_a_kill() {
    let recipe =
        "name: r\nsteps:\n  - {id: round, repeat: {max: 2, delay: 3}, command: 'date +%s%N >> log'}\n";
    let env = world().file("r.yaml", recipe);
    let started = env.spawn(["r.yaml"]);
    env.wait_for("log");
    std::thread::sleep(std::time::Duration::from_millis(500));
    started.kill();
    assert_eq!(json(&env, &["resume", "last"]).code, 0);
    let times: Vec<f64> = env.read("log").lines().filter_map(|line| line.parse().ok()).collect();
    let apart = (times[1] - times[0]) / 1e9;
    assert!((2.9..8.0).contains(&apart), "{apart}");
}

#[test]
fn secret_items_are_masked() {
    let recipe = "name: r\nsecrets: [credential]\nsteps:\n  - {id: e, for_each: [first-hidden-one, second-hidden-one], as: credential, command: 'echo got {{credential}}'}\n";
    let env = world().file("r.yaml", recipe);
    let output = env.run(["r.yaml"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert!(!output.all().contains("hidden-one"), "{}", output.all());
    let shown = json(&env, &["show", "last"]);
    assert!(!shown.all().contains("hidden-one"), "{}", shown.all());
}

#[test]
fn directories_environment_hooks_and_groups_belong_to_instances() {
    let recipe = "name: r\nhooks: {post_step: 'echo \"{{step_id}}\" >> ../hooks'}\nsteps:\n  - {id: e, parallel_group: g, for_each: [one, two], working_dir: '{{item}}', env: {WHO: 'me-{{item}}'}, command: 'echo $(basename $PWD) $WHO $ITEM_INDEX'}\n  - {id: f, parallel_group: g, command: echo f}\n";
    let env = world().file("r.yaml", recipe.replace("../hooks", "hooks"));
    env.write("one/x", "");
    env.write("two/x", "");
    let output = json(&env, &["r.yaml"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(output.value("e").to_string(), r#"["one me-one 0","two me-two 1"]"#);
    let mut hooks: Vec<String> = env.read("hooks").lines().map(str::to_owned).collect();
    hooks.sort();
    assert_eq!(hooks, ["e[0]", "e[1]", "f"]);
}

#[test]
fn a_dry_run_shows_loops_and_executes_nothing() {
    let recipe = "name: r\nsteps:\n  - {id: plan, command: 'echo [1]'}\n  - {id: e, for_each: [a, b], command: 'echo {{item}} >> log'}\n  - {id: late, for_each: '{{plan}}', command: 'echo {{item}} >> log'}\n  - {id: round, repeat: {max: 4, until: 'round'}, command: echo x >> log}\n";
    let env = world().file("r.yaml", recipe);
    let output = json(&env, &["r.yaml", "--dry-run"]);
    assert_eq!(output.code, 0, "{}", output.all());
    let reason = |path: &str| output.step(path)["skip_reason"].as_str().unwrap_or_default().to_owned();
    assert_eq!(reason("e"), "dry run: would run once for each of 2 items");
    assert_eq!(reason("e[1]"), "dry run: would run: echo b >> log");
    assert_eq!(
        reason("late"),
        "dry run: would run once for each item of a list that is known only later: {{plan}}"
    );
    assert_eq!(reason("round"), "dry run: would run at most 4 times until `round`");
    assert!(!env.path("log").exists());
}

#[test]
fn explain_draws_loops() {
    let recipe = "name: r\nsteps:\n  - {id: e, for_each: [a, b], max_parallel: 2, command: 'echo {{item}}'}\n  - {id: round, repeat: {max: 4, until: \"round == 'x'\"}, command: echo x}\n";
    let env = world().file("r.yaml", recipe);
    let text = env.run(["explain", "r.yaml"]).stdout;
    assert!(text.contains("Loop: for each item of 2 items, 2 at the same time"), "{text}");
    assert!(text.contains("Loop: at most 4 times, until round == 'x'"), "{text}");
    let described = json(&env, &["explain", "r.yaml"]).json();
    assert_eq!(described["steps"][0]["for_each"]["max_parallel"], 2);
    assert_eq!(described["steps"][1]["repeat"]["on_exhausted"], "fail");
    let graph = env.run(["explain", "r.yaml", "--graph", "mermaid"]).stdout;
    assert!(graph.contains("e<br>for each item of 2 items"), "{graph}");
}

#[test]
fn wrong_uses_are_reported_all_at_once() {
    let recipe = r#"name: r
steps:
  - {id: a, for_each: [1], repeat: {max: 2}, command: 'echo {{item}}'}
  - {id: b, as: x, max_parallel: 3, keep_going: true, max_items: 5, command: echo}
  - {id: c, for_each: plan.files, command: echo}
  - {id: d, for_each: {a: 1}, command: echo}
  - {id: e, for_each: [1, 2], max_items: 1, command: echo}
  - {id: f, for_each: [1], max_items: 20000, max_parallel: 0, as: 'a.b', command: echo}
  - {id: g, repeat: {until: 'x =='}, command: echo}
  - {id: h, repeat: {max: 1001, delay: 1, on_exhausted: fail}, command: echo}
  - {id: a.2, command: echo}
  - {id: i, for_each: , command: echo}
"#;
    let env = world().file("r.yaml", recipe);
    let output = json(&env, &["validate", "r.yaml"]);
    assert_eq!(output.code, 2, "{}", output.all());
    let found = output.json()["diagnostics"].as_array().cloned().unwrap_or_default();
    let found: Vec<&str> = found.iter().filter_map(|problem| problem["message"].as_str()).collect();
    for expected in [
        "a step cannot have both `for_each` and `repeat`",
        "`as` has no effect without `for_each`",
        "`max_parallel` has no effect without `for_each`",
        "`keep_going` has no effect without `for_each`",
        "`max_items` has no effect without `for_each`",
        "`for_each` needs a list, not `plan.files`",
        "`for_each` needs a list, not an object",
        "`for_each` has 2 items, but at most 1 are allowed",
        "`max_items` must be from 1 to 10000",
        "`max_parallel` must be at least 1",
        "`a.b` cannot be the name of an item",
        "`repeat` has no `max`",
        "`max` must be from 1 to 1000",
        "`on_exhausted` has no effect without `until`",
        "the id `a.2` means an instance of step `a`",
        "`for_each` is empty",
    ] {
        assert!(found.contains(&expected), "{expected}\n{found:#?}");
    }
}

#[test]
fn names_of_a_loop_are_known_inside_it_and_nowhere_else() {
    let recipe = "name: r\nsecrets: [file]\nhooks: {post_step: 'echo {{file}} {{item_index}} > /dev/null'}\nsteps:\n  - {id: a, for_each: [1], as: file, condition: 'file and item_index < 1', env: {X: '{{item_count}}'}, command: 'echo {{file}}'}\n  - {id: b, for_each: '{{item}}', command: echo}\n  - {id: c, command: 'echo {{file}} {{iteration}}'}\n";
    let env = world().file("r.yaml", recipe);
    let output = json(&env, &["validate", "r.yaml"]);
    let found = output.json()["diagnostics"].as_array().cloned().unwrap_or_default();
    let found: Vec<&str> = found.iter().filter_map(|problem| problem["message"].as_str()).collect();
    let undefined = |name: &str| format!("nothing defines `{name}` before this step");
    assert_eq!(found, [undefined("item"), undefined("file"), undefined("iteration")], "{}", output.all());
}

#[test]
fn auto_fix_repairs_the_step_of_an_instance() {
    let broken = "name: r\nsteps:\n- {id: check, for_each: [root, daemon], command: 'grep --quite {{item}} /etc/passwd'}\n";
    let fixed = broken.replace("--quite", "--quiet").replace('\n', "\\\\n");
    let env = world().agent("claude", &format!("result \"\\`\\`\\`yaml\\\\n{fixed}\\`\\`\\`\""));
    let output = env.json(broken, &["--auto-fix"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(output.step("check[1]")["status"], "completed");
}
