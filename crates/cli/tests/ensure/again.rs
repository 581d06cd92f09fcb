//! Attempts after unmet rules, resumes after a crash, and sub-recipes.

use serde_json::json;
use testkit::{Output, Started, TestEnv};

use crate::{commit, env, found, met, one, repository};

#[test]
fn an_agent_is_asked_again_with_its_answer_and_the_unmet_rules() {
    let env = env().agent("claude", "if [ $n = 2 ]; then echo x > made; fi; result \"answer $n\"");
    commit(&env);
    let recipe = one(&["prompt: Do it", "auto_stage: false", "ensure: [{file: made}, {unchanged: [x]}]"]);
    let output = env.json(&recipe, &[]);
    assert_eq!(output.code, 0, "{}", output.all());
    let step = output.step("work");
    assert_eq!((&step["output"], &step["attempts"]), (&json!("answer 2"), &json!(2)));
    assert_eq!(env.asked(1, "cwd"), env.asked(2, "cwd"));
    let prompt = env.asked(2, "prompt");
    for part in [
        "Do it",
        "file: expected a file `made`",
        "answer 1",
        "nothing was restored",
        "only to pass the check",
    ] {
        assert!(prompt.contains(part), "{part}\n{prompt}");
    }
    assert!(!prompt.contains("unchanged:"), "a rule that is met is not named: {prompt}");
    let json = output.json();
    assert_eq!((&json["usage"]["runs"], &json["usage"]["cost_usd"]), (&json!(2), &json!(0.5)), "{json:#}");
    let shown = env.run(["show", "last", "--output-format", "json"]).json();
    assert_eq!((&shown["usage"]["runs"], &shown["usage"]["cost_usd"]), (&json!(2), &json!(0.5)));
    assert!(env.run(["runs", "--output-format", "json"]).stdout.contains("0.5"));
}

#[test]
fn steps_are_repeated_as_often_as_they_ask() {
    for (fields, calls) in [
        (vec!["prompt: p"], 2),
        (vec!["prompt: p", "ensure_retries: 0"], 1),
        (vec!["prompt: p", "ensure_retries: 3"], 4),
        (vec!["prompt: p", "ensure_retries: 3", "retry: 2"], 4),
    ] {
        let env = env().agent("claude", "result no");
        let fields: Vec<&str> = fields.into_iter().chain(["ensure: [{file: never}]"]).collect();
        let output = env.json(&one(&fields), &[]);
        assert_eq!((output.code, env.calls()), (1, calls), "{fields:?} {}", output.all());
        let error = output.step("work")["error"].as_str().unwrap().to_owned();
        assert!(error.starts_with("agent step failed: ensure: file: expected"), "{error}");
    }
    for (retries, runs) in [("", 1), ("ensure_retries: 2", 3), ("retry: 3", 1)] {
        let env = env();
        let output = env.json(&one(&["command: echo x >> ran", "ensure: [{file: never}]", retries]), &[]);
        assert_eq!((output.code, env.read("ran").lines().count()), (1, runs), "{retries}");
    }
}

#[test]
fn a_spent_budget_ends_the_questions() {
    let env = env().agent("claude", "result no");
    let recipe = one(&["prompt: p", "ensure_retries: 9", "ensure: [{file: never}]"]);
    let output = env.json(&format!("{recipe}budget: {{agent_runs: 2}}\n"), &[]);
    assert_eq!((output.code, env.calls()), (1, 2), "{}", output.all());
    assert_eq!(output.step("work")["outcome"], "budget", "{}", output.all());
}

/// Starts a recipe whose check waits for a file `go`, and waits until the check runs.
fn start_check(env: &TestEnv, fields: &[&str]) -> Started {
    let check =
        "ensure: [{command: 'echo x >> checked; while [ ! -e go ]; do sleep 0.05; done'}, {changed: [made]}]";
    let fields: Vec<&str> = fields.iter().copied().chain([check]).collect();
    env.write("recipe.yaml", format!("{}- {{id: next, command: 'echo got {{{{work}}}}'}}\n", one(&fields)));
    let run = env.spawn(["recipe.yaml", "--output-format", "json"]);
    env.wait_for("checked");
    run
}

fn resumed(env: &TestEnv) -> Output {
    env.write("go", "now");
    env.run(["resume", "last", "--output-format", "json"])
}

#[test]
fn a_crash_between_work_and_proof_does_not_repeat_the_work() {
    for signal in ["KILL", "INT", "TERM"] {
        for idempotent in ["idempotent: true", "idempotent: false"] {
            let env = repository();
            let run = start_check(&env, &["command: echo x >> made; echo value", idempotent]);
            run.signal(signal);
            let ended = run.wait();
            assert_ne!(ended.code, 0, "{signal}");
            let shown = env.run(["show", "last", "--output-format", "json"]);
            assert_eq!(shown.step("work")["status"], "pending", "{signal} {}", shown.all());
            let error = shown.step("work")["error"].to_string();
            assert!(error.contains("its work is done, and a resume checks"), "{signal} {error}");
            let output = resumed(&env);
            assert_eq!(output.code, 0, "{signal} {idempotent} {}", output.all());
            assert_eq!(env.read("made"), "x\n", "{signal}: the work is not repeated");
            assert_eq!(env.read("checked"), "x\nx\n", "{signal}: the rules are checked again");
            assert_eq!(output.value("next"), "got value", "{signal}");
            let step = output.step("work");
            assert_eq!((&step["attempts"], met(&step)), (&json!(1), vec![true, true]), "{step:#}");
            let attempts = output.json()["evidence"]["attempts"].clone();
            assert_eq!(attempts.as_array().unwrap().len(), 2, "{attempts:#}");
        }
    }
}

#[test]
fn an_agent_is_not_paid_twice_for_one_proof() {
    let env = env().agent("claude", "echo x >> made; result \"answer $n\"");
    commit(&env);
    start_check(&env, &["prompt: p", "auto_stage: false"]).kill();
    let output = resumed(&env);
    assert_eq!((output.code, env.calls()), (0, 1), "{}", output.all());
    let json = output.json();
    assert_eq!((&json["usage"]["runs"], &json["usage"]["cost_usd"]), (&json!(1), &json!(0.25)), "{json:#}");
    assert_eq!(output.value("next"), "got answer 1");
}

#[test]
fn changed_steps_and_changed_inputs_do_their_work_again() {
    let env = repository();
    start_check(&env, &["command: echo x >> made"]).kill();
    let edited = env.read("recipe.yaml").replace("echo x >> made", "echo x >> made; echo y");
    env.write("edited.yaml", edited);
    env.write("go", "now");
    let output = env.run(["resume", "last", "--recipe", "edited.yaml", "--output-format", "json"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(env.read("made"), "x\nx\n", "{}", output.all());
    assert_eq!(output.step("work")["attempts"], 2);
}

#[test]
fn files_are_compared_with_those_before_the_first_attempt() {
    let env = repository();
    let fields = [
        "command: 'echo x >> ran; [ $(wc -l < ran) = 3 ] || { echo 2 > src/a; exit 1; }'",
        "retry: {max_attempts: 2, delay: 0}",
    ];
    let recipe = one(&[fields[0], fields[1], "ensure: [{changed: [src]}, {only_changed: [src, ran]}]"]);
    let failed = env.json(&recipe, &[]);
    assert_eq!(failed.code, 1, "{}", failed.all());
    let output = env.run(["resume", "last", "--output-format", "json"]);
    let step = output.step("work");
    assert_eq!((output.code, met(&step)), (0, vec![true, true]), "{step:#}");
    assert_eq!((found(&step, 0), &step["attempts"]), ("`src/a`", &json!(3)));
}

#[test]
fn a_recipe_step_is_checked_before_its_value_flows() {
    let child = "name: child\noutput: {template: '{{version}}'}\nsteps:\n- {id: version, command: 'echo 7; echo x >> ran'}\n- {id: passed, command: echo 0}\n";
    let env = repository();
    env.write("child.yaml", child);
    let recipe = |rules: &str| {
        let ensure = format!("ensure: {rules}");
        let step = one(&["recipe: child", &ensure]);
        format!("{step}- {{id: next, command: 'echo {{{{work}}}} {{{{passed}}}}'}}\n")
    };
    let rules = "[{changed: [ran]}, {condition: 'work == 7 and work.passed == 0 and passed == 0'}, {command: 'test {{work}} = 7'}]";
    let output = env.json(&recipe(rules), &[]);
    assert_eq!((output.code, output.value("next")), (0, json!("7 0")), "{}", output.all());
    let rules = "[{condition: 'passed > 0'}, {file: never}]";
    let output = env.json(&recipe(rules), &[]);
    assert_eq!(output.code, 1, "{}", output.all());
    let error = output.step("work")["error"].as_str().unwrap().to_owned();
    assert!(error.starts_with("recipe step failed: ensure: 2 of 2 rules"), "{error}");
    assert_eq!(output.json()["failure"]["step"], "work", "{}", output.all());
    assert_eq!(output.json()["context"].get("passed"), None, "nothing flows back");
    // the recipe runs again from its beginning if the step asks for it
    let again = recipe("[{command: '[ $(wc -l < ran) -ge 4 ]'}]")
        .replace("recipe: child", "recipe: child\n  ensure_retries: 3");
    let output = env.json(&again, &[]);
    assert_eq!((output.code, env.read("ran").lines().count()), (0, 4), "{}", output.all());
    assert_eq!(output.step("work")["attempts"], 2);
}

#[test]
fn a_recipe_step_that_was_killed_in_its_check_keeps_its_steps() {
    let env = repository();
    env.write("child.yaml", "name: child\nsteps:\n- {id: a, command: 'echo x >> made; echo v'}\n");
    start_check(&env, &["recipe: child"]).kill();
    let output = resumed(&env);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!((env.read("made").as_str(), output.value("next")), ("x\n", json!("got v")));
}

#[test]
fn a_timeout_around_a_check_ends_it() {
    let env = env();
    let inner = "name: child\nsteps:\n- {id: a, command: echo hi, ensure: [{command: sleep 60}]}\n";
    env.write("child.yaml", inner);
    let output = env.json(&one(&["recipe: child", "timeout: 0.5"]), &[]);
    assert_eq!(output.code, 1, "{}", output.all());
    let error = output.step("work/a")["error"].as_str().unwrap().to_owned();
    assert!(error.contains("bash step failed: ensure: ended because the timeout of `work`"), "{error}");
    assert!(env.survivors().is_empty());
}

#[test]
fn hooks_run_once_around_the_work_and_its_proof() {
    let recipe = one(&["command: echo x >> ran", "ensure: [{file: never}]", "ensure_retries: 1"]);
    let hooks = "hooks: {pre_step: echo pre >> hooks, post_step: echo post >> hooks, on_error: echo error >> hooks}\n";
    let env = env();
    let output = env.json(&format!("{recipe}{hooks}"), &[]);
    assert_eq!(output.code, 1, "{}", output.all());
    assert_eq!(env.read("hooks"), "pre\nerror\n");
}
