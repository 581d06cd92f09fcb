//! Diagnosis, resume plans, auto-fix, workspaces and health, tried from the outside with a scripted agent.

mod auto_fix;

use serde_json::Value as Json;
use testkit::{Output, TestEnv};

/// A world with an agent program that runs this script.
fn world(agent: &str) -> TestEnv {
    TestEnv::scripted(env!("CARGO_BIN_EXE_recipe-runner-rs"), agent)
}

fn json(env: &TestEnv, arguments: &[&str]) -> Output {
    env.run(arguments.iter().copied().chain(["--output-format", "json"]))
}

fn ledger(env: &TestEnv) -> String {
    let text = std::fs::read_to_string(env.path("ledger")).unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `keep`, `rerun` and `pending` of every step, as `path:action`.
fn actions(plan: &Json) -> String {
    let steps = plan["steps"].as_array().cloned().unwrap_or_default();
    let word = |step: &Json| {
        format!("{}:{}", step["path"].as_str().unwrap_or("?"), step["action"].as_str().unwrap_or("?"))
    };
    steps.iter().map(word).collect::<Vec<_>>().join(" ")
}

const INCIDENT: &str = "name: incident
steps:
  - {id: prep, command: echo prep >> ledger}
  - {id: fix-a, prompt: write it, output: verdict}
  - {id: mid, command: 'echo mid >> ledger; echo \"{{verdict}}\"', output: seen}
  - {id: gate, command: 'echo gate >> ledger; grep -q PASS <<< \"{{seen}}\"'}
  - {id: after, command: echo after >> ledger}
";

#[test]
fn a_failed_check_takes_its_producers_along() {
    let env = world("[ $N -ge 2 ] && echo PASS || echo FAIL").file("r.yaml", INCIDENT);
    let failed = json(&env, &["r.yaml"]);
    assert_eq!(failed.code, 1, "{}", failed.all());
    assert_eq!(failed.json()["diagnosis"]["bucket"], "work", "{}", failed.all());
    let plan = json(&env, &["resume", "last", "--plan"]).json();
    assert_eq!(plan["anchor"], "fix-a");
    assert_eq!(actions(&plan), "prep:keep fix-a:rerun mid:rerun gate:rerun after:pending");
    assert_eq!(ledger(&env), "prep mid gate", "a plan runs nothing");
    let resumed = json(&env, &["resume", "last"]);
    assert_eq!(resumed.code, 0, "{}", resumed.all());
    assert_eq!(ledger(&env), "prep mid gate mid gate after");
}

#[test]
fn plans_for_many_shapes() {
    for (what, steps, anchor, expected) in [
        (
            "two producers at the same distance: both, the later one is the anchor",
            "  - {id: a, prompt: p, output: x}\n  - {id: b, prompt: p, output: y}\n  - {id: g, command: 'grep -q PASS <<< \"{{x}}{{y}}\"'}\n",
            "b",
            "a:rerun b:rerun g:rerun",
        ),
        (
            "a parallel group of producers is one level",
            "  - {id: a, prompt: p, output: x, parallel_group: g}\n  - {id: b, prompt: p, output: y, parallel_group: g}\n  - {id: g, command: 'grep -q PASS <<< \"{{x}}{{y}}\"'}\n",
            "b",
            "a:rerun b:rerun g:rerun",
        ),
        (
            "no producer upstream: the failed step itself",
            "  - {id: a, command: echo hi, output: x}\n  - {id: g, command: 'grep -q PASS <<< \"{{x}}\"'}\n",
            "g",
            "a:keep g:rerun",
        ),
        (
            "a person's resume does not follow mere order",
            "  - {id: a, prompt: p}\n  - {id: g, command: 'test -e made.txt'}\n",
            "g",
            "a:keep g:rerun",
        ),
        (
            "depends_on is a link",
            "  - {id: a, prompt: p}\n  - {id: g, command: 'test -e made.txt', depends_on: [a]}\n",
            "a",
            "a:rerun g:rerun",
        ),
        (
            "declared files are a link",
            "  - {id: a, prompt: p, produces: ['out/*.txt']}\n  - {id: b, command: 'true'}\n  - {id: g, command: 'test -e out/made.txt', reads: [out/made.txt]}\n",
            "a",
            "a:rerun b:keep g:rerun",
        ),
        (
            "a mentioned environment name is a link",
            "  - {id: a, prompt: p, output: verdict}\n  - {id: g, command: 'grep -q PASS <<< \"$VERDICT\"'}\n",
            "a",
            "a:rerun g:rerun",
        ),
        (
            "re-running work does not fix the environment",
            "  - {id: a, prompt: p, output: x}\n  - {id: g, command: 'no-such-tool-here \"{{x}}\"'}\n",
            "g",
            "a:keep g:rerun",
        ),
        (
            "a skipped producer made nothing",
            "  - {id: a, prompt: p, output: x, condition: 'false'}\n  - {id: g, command: 'grep -q PASS <<< \"{{x}}\"'}\n",
            "g",
            "a:pending g:rerun",
        ),
        (
            "other readers of what is made again work again too",
            "  - {id: a, prompt: p, output: x}\n  - {id: side, command: 'echo \"{{x}}\"'}\n  - {id: g, command: 'grep -q PASS <<< \"{{x}}\"'}\n",
            "a",
            "a:rerun side:rerun g:rerun",
        ),
    ] {
        let env = world("echo FAIL").file("r.yaml", format!("name: r\nsteps:\n{steps}"));
        assert_eq!(json(&env, &["r.yaml"]).code, 1, "{what}");
        let output = json(&env, &["resume", "last", "--plan"]);
        let plan = output.json();
        assert_eq!(
            (actions(&plan).as_str(), plan["anchor"].as_str()),
            (expected, Some(anchor)),
            "{what}\n{}",
            output.all()
        );
    }
}

#[test]
fn order_alone_names_the_flag_that_works_again() {
    let env = world("[ $N -ge 2 ] && touch made.txt; echo done").file(
        "r.yaml",
        "name: r\nsteps:\n  - {id: a, prompt: p}\n  - {id: g, command: 'test -e made.txt'}\n",
    );
    assert_eq!(env.run(["r.yaml"]).code, 1);
    let again = env.run(["resume", "last"]);
    assert_eq!(again.code, 1);
    assert!(again.all().contains("--rerun-producers"), "{}", again.all());
    assert_eq!(env.run(["resume", "last", "--rerun-producers"]).code, 0);
}

#[test]
fn producers_inside_a_sub_recipe_count() {
    let env = world("[ $N -ge 2 ] && echo PASS || echo FAIL")
        .file("child.yaml", "name: child\nsteps:\n  - {id: w, prompt: p, output: made}\n")
        .file("r.yaml", "name: r\nsteps:\n  - {id: c, recipe: child}\n  - {id: g, command: 'grep -q PASS <<< \"{{made}}\"'}\n");
    assert_eq!(env.run(["r.yaml"]).code, 1);
    let plan = json(&env, &["resume", "last", "--plan"]).json();
    assert_eq!(plan["anchor"], "c", "{plan}");
    assert_eq!(env.run(["resume", "last"]).code, 0);
}

#[test]
fn a_repaired_step_is_the_anchor_itself() {
    let env = world("echo FAIL").file("r.yaml", INCIDENT);
    assert_eq!(env.run(["r.yaml"]).code, 1);
    env.write("r.yaml", INCIDENT.replace("grep -q PASS", "grep -q FAIL"));
    let plan = json(&env, &["resume", "last", "--recipe", "r.yaml", "--plan"]).json();
    assert_eq!(actions(&plan), "prep:keep fix-a:keep mid:keep gate:rerun after:pending");
    assert_eq!(env.run(["resume", "last", "--recipe", "r.yaml"]).code, 0);
    assert_eq!(ledger(&env), "prep mid gate gate after");
}

#[test]
fn completed_effects_are_repeated_only_on_request() {
    let steps = "name: r\nsteps:\n  - {id: a, prompt: p, output: x}\n  - {id: push, command: 'echo push >> ledger; echo \"{{x}}\"', effects: [push], output: y}\n  - {id: g, command: 'grep -q PASS <<< \"{{y}}\"'}\n";
    let env = world("[ $N -ge 2 ] && echo PASS || echo FAIL").file("r.yaml", steps);
    assert_eq!(env.run(["r.yaml"]).code, 1);
    let stopped = env.run(["resume", "last"]);
    assert_eq!(stopped.code, 6, "{}", stopped.all());
    assert!(stopped.all().contains("--rerun-effects"), "{}", stopped.all());
    assert_eq!(ledger(&env), "push");
    assert_eq!(env.run(["resume", "last", "--rerun-effects"]).code, 0);
    assert_eq!(ledger(&env), "push push");
}

#[test]
fn going_on_from_a_named_step() {
    let steps = "name: r\nsteps:\n  - {id: a, command: echo a >> ledger}\n  - {id: b, command: echo b >> ledger}\n  - {id: c, command: 'echo c >> ledger; test -e ok'}\n";
    for arguments in [
        vec!["resume", "last", "--from", "b"],
        vec!["r.yaml", "--start-from", "b", "--previous-run-id", "last"],
    ] {
        let env = world("").file("r.yaml", steps);
        assert_eq!(env.run(["r.yaml"]).code, 1);
        env.write("ok", "");
        let output = env.run(arguments.clone());
        assert_eq!(output.code, 0, "{arguments:?} {}", output.all());
        assert_eq!(ledger(&env), "a b c b c");
    }
}

#[test]
fn one_run_per_workspace() {
    let env = world("").file("r.yaml", "name: r\nsteps:\n  - {id: a, command: 'echo x >> started; while [ ! -e go ]; do sleep 0.02; done'}\n");
    let started: Vec<_> = (0..20)
        .map(|_| {
            env.command(std::path::Path::new(env!("CARGO_BIN_EXE_recipe-runner-rs")))
                .arg("r.yaml")
                .stdout(std::process::Stdio::null())
                .stderr(std::process::Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    while !env.path("started").exists() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let beside = env.run(["r.yaml"]);
    env.write("go", "");
    let outputs: Vec<_> = started.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
    let count = |code: i32| outputs.iter().filter(|output| output.status.code() == Some(code)).count();
    assert_eq!(beside.code, 7, "{}", beside.all());
    for word in ["cancel", "logs", "show", "--allow-concurrent"] {
        assert!(beside.stderr.contains(word), "{word}: {}", beside.all());
    }
    // those that came after the first one had ended may run too; at the same time there is only ever one
    assert!(count(0) >= 1 && count(0) + count(7) == 20, "{} {}", count(0), count(7));
}

#[test]
fn a_dead_run_is_named_and_left_alone() {
    let env = world("")
        .file("r.yaml", "name: r\nsteps:\n  - {id: a, command: '[ -e go ] || kill -9 $PPID; echo done'}\n");
    let _ = env.run(["r.yaml"]);
    env.write("go", "");
    let second = env.run(["r.yaml"]);
    assert_eq!(second.code, 0, "{}", second.all());
    assert!(second.stderr.contains("resume"), "{}", second.all());
    let third = env.run(["r.yaml", "--clear-stale"]);
    assert!(third.stderr.contains("cleared the stale lock of run"), "{}", third.all());
    let fourth = env.run(["r.yaml"]);
    assert!(!fourth.stderr.contains("interrupted here"), "{}", fourth.all());
    assert_eq!(json(&env, &["runs"]).json().as_array().unwrap().len(), 4, "nothing was deleted");
}

#[test]
fn health_names_recipe_step_and_runs_and_is_repeatable() {
    let env = world("").file("r.yaml", "name: flaky\nsteps:\n  - {id: a, command: '[ -e ok ]'}\n");
    for round in 0..5 {
        if round % 2 == 0 {
            env.write("ok", "")
        } else {
            std::fs::remove_file(env.path("ok")).unwrap()
        }
        env.run(["r.yaml"]);
    }
    let health = json(&env, &["health"]);
    let recipe = &health.json()["recipes"][0];
    assert_eq!((&recipe["runs"], &recipe["passed"]), (&Json::from(5), &Json::from(3)), "{}", health.all());
    let kinds: Vec<&str> =
        recipe["findings"].as_array().unwrap().iter().map(|f| f["kind"].as_str().unwrap()).collect();
    assert!(kinds.contains(&"flaky_step") && kinds.contains(&"recurring_failure"), "{kinds:?}");
    assert!(recipe["cost_usd"].is_null() && recipe["environment_score"] == 100);
    assert_eq!(health.stdout, json(&env, &["health"]).stdout);
    assert_eq!(env.run(["health", "--since", "nonsense"]).code, 4);
}

#[test]
fn a_step_that_needs_a_person_stops_the_run() {
    let recipe = "name: r\nsteps:\n  - {id: a, command: exit 3, exit_codes: {3: needs_human}}\n";
    let env = world("").file("r.yaml", recipe);
    let output = json(&env, &["r.yaml", "--auto-fix"]);
    assert_eq!(output.code, 6, "{}", output.all());
    assert!(output.json()["auto_fix"]["escalation"]["reason"].as_str().unwrap().contains("person"));
}

#[test]
fn a_run_whose_processes_are_alive_is_not_pruned() {
    let env = world("").file("r.yaml", "name: r\nsteps:\n  - {id: a, command: 'kill -9 $PPID; sleep 60'}\n");
    let _ = env.run(["r.yaml"]);
    assert_eq!(env.run(["prune", "--keep", "0"]).stdout, "");
    assert_eq!(env.run(["cancel", "last"]).code, 0);
    assert_ne!(env.run(["prune", "--keep", "0"]).stdout, "");
}

#[test]
fn the_timeout_of_a_recipe_step_is_a_timeout() {
    let env = world("")
        .file("child.yaml", "name: child\nsteps:\n  - {id: slow, command: sleep 30}\n")
        .file("r.yaml", "name: r\nsteps:\n  - {id: c, recipe: child, timeout: 0.3}\n");
    let result = json(&env, &["r.yaml"]).json();
    assert_eq!(result["diagnosis"]["class"], "timeout", "{result}");
    let error = result["step_results"][0]["error"].as_str().unwrap();
    for part in ["Sub-recipe 'child' failed", "slow", "[error]", "timed out after 0.3 s"] {
        assert!(error.contains(part), "{error}");
    }
}
