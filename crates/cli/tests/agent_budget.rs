//! Budgets: before and while agents work, over nested recipes, retries, recovery and resumes.

use testkit::{Output, TestEnv};

fn env(body: &str) -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs")).agent("claude", body)
}

fn run(env: &TestEnv, recipe: &str, args: &[&str]) -> Output {
    env.write("r.yaml", recipe);
    env.run(["r.yaml", "--output-format", "json"].iter().chain(args))
}

fn recipe(budget: &str, steps: usize) -> String {
    let steps: String = (1..=steps).map(|n| format!("- {{id: s{n}, prompt: x}}\n")).collect();
    format!("name: r\n{budget}steps:\n{steps}")
}

/// The run stops for its budget after so many calls.
fn check_stops(output: &Output, env: &TestEnv, calls: usize) {
    assert_eq!(output.code, 1, "{}", output.all());
    let json = output.json();
    assert_eq!((&json["outcome"], &json["status"]), (&"failed".into(), &"failed".into()), "{}", output.all());
    assert_eq!(json["failure"]["outcome"], "budget", "{}", output.all());
    assert!(json["failure"]["error"].as_str().unwrap_or_default().contains("the budget is used up"));
    assert_eq!(env.calls(), calls, "{}", output.all());
}

#[test]
fn a_budget_ends_the_run_before_the_next_agent() {
    // each call: $0.25, 120 tokens
    for (budget, flags, calls) in [
        ("budget: {agent_runs: 2}\n", vec![], 2),
        ("budget: {usd: 0.5}\n", vec![], 2),
        ("budget: {tokens: 240}\n", vec![], 2),
        ("", vec!["--budget-agent-runs", "1"], 1),
        ("", vec!["--budget-usd", "0.25"], 1),
        ("", vec!["--budget-tokens", "100"], 1),
        ("budget: {agent_runs: 1}\n", vec!["--budget-agent-runs", "3"], 3),
    ] {
        let env = env("result ok");
        let output = run(&env, &recipe(budget, 4), &flags);
        check_stops(&output, &env, calls);
        // what was paid for is kept
        let json = output.json();
        for at in 0..calls {
            assert_eq!(json["step_results"][at]["status"], "completed", "{budget} {flags:?}");
        }
    }
}

#[test]
fn enough_is_enough() {
    let env = env("result ok");
    let output = run(&env, &recipe("budget: {agent_runs: 3, usd: 1, tokens: 400, minutes: 5}\n", 3), &[]);
    assert_eq!(output.code, 0, "{}", output.all());
}

#[test]
fn an_agent_at_work_is_stopped_when_it_uses_too_much() {
    let body = r#"printf '{"type":"assistant","message":{"id":"m1","usage":{"input_tokens":900,"output_tokens":200},"content":[]},"session_id":"s"}\n'; sleep 60"#;
    let env = env(body);
    let output = run(&env, &recipe("budget: {tokens: 1000}\n", 1), &[]);
    check_stops(&output, &env, 1);
    let env = self::env("sleep 60");
    let output = run(&env, &recipe("budget: {minutes: 0.01}\n", 1), &[]);
    check_stops(&output, &env, 1);
}

#[test]
fn a_group_shares_the_budget() {
    let steps: String = (1..=5).map(|n| format!("- {{id: s{n}, prompt: x, parallel_group: g}}\n")).collect();
    let env = env("sleep 0.3; result ok");
    let output = run(&env, &format!("name: r\nbudget: {{agent_runs: 3}}\nsteps:\n{steps}"), &[]);
    check_stops(&output, &env, 3);
    let env = self::env("sleep 60");
    let output = run(&env, &format!("name: r\nbudget: {{minutes: 0.05}}\nsteps:\n{steps}"), &[]);
    check_stops(&output, &env, 5);
}

#[test]
fn sub_recipes_retries_and_questions_count() {
    let env = env("result ok").file("child.yaml", recipe("budget: {agent_runs: 1}\n", 2));
    let outer = "name: o\nsteps:\n- {id: n, recipe: child}\n";
    check_stops(&run(&env, outer, &[]), &env, 1);
    let env = self::env("result ok").file("child.yaml", recipe("", 2));
    let outer = "name: o\nbudget: {agent_runs: 2}\nsteps:\n- {id: n, recipe: child}\n- {id: z, prompt: x}\n";
    check_stops(&run(&env, outer, &[]), &env, 2);
    let env = self::env("exit 1");
    let retried = "name: r\nbudget: {agent_runs: 2}\nsteps:\n- {id: a, prompt: x, retry: {max_attempts: 5, delay: 0}}\n";
    check_stops(&run(&env, retried, &[]), &env, 2);
    let env = self::env("result 'no json'");
    let json = "name: r\nbudget: {agent_runs: 2}\nsteps:\n- {id: a, prompt: x, parse_json: true, json_retries: 5}\n- {id: b, prompt: x}\n";
    check_stops(&run(&env, json, &[]), &env, 2);
    let env = self::env("result 'STATUS: COMPLETE'")
        .file("child.yaml", "name: child\nsteps:\n- {id: x, command: exit 1}\n");
    let recovered = "name: o\nbudget: {agent_runs: 1}\nsteps:\n- {id: n, recipe: child, recovery_on_failure: true}\n- {id: z, prompt: x}\n";
    check_stops(&run(&env, recovered, &[]), &env, 1);
}

#[test]
fn a_run_resumes_with_a_higher_budget_and_pays_nothing_twice() {
    let env = env("result ok");
    check_stops(&run(&env, &recipe("budget: {usd: 0.5}\n", 4), &[]), &env, 2);
    let resume = |args: &[&str]| env.run(["resume", "last", "--output-format", "json"].iter().chain(args));
    check_stops(&resume(&[]), &env, 2);
    check_stops(&resume(&["--budget-usd", "0.75"]), &env, 3);
    let output = resume(&["--budget-usd", "5"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(env.calls(), 4);
    assert_eq!(output.json()["usage"]["cost_usd"], 1.0);
    let env = self::env("result ok");
    check_stops(&run(&env, &recipe("", 2), &["--budget-agent-runs", "1"]), &env, 1);
    check_stops(&env.run(["resume", "last", "--output-format", "json"]), &env, 1);
    assert_eq!(env.run(["resume", "last", "--budget-agent-runs", "2"]).code, 0);
    let env = self::env("result ok").file("child.yaml", recipe("budget: {agent_runs: 1}\n", 2));
    check_stops(&run(&env, "name: o\nsteps:\n- {id: n, recipe: child}\n", &[]), &env, 1);
    check_stops(&env.run(["resume", "last", "--output-format", "json"]), &env, 1);
    assert_eq!(env.run(["resume", "last", "--budget-agent-runs", "2"]).code, 0);
}

#[test]
fn the_resume_command_of_a_used_up_budget_gives_enough() {
    // each call: $0.25, 120 tokens
    let child = recipe("budget: {agent_runs: 1}\n", 2);
    let around = "name: o\nsteps:\n- {id: a, prompt: x}\n- {id: b, prompt: x}\n- {id: n, recipe: child}\n";
    for (recipe, option) in [
        (recipe("budget: {agent_runs: 2}\n", 3), "--budget-agent-runs 4"),
        (recipe("budget: {usd: 0.1}\n", 2), "--budget-usd 0.4"),
        (recipe("budget: {tokens: 50}\n", 2), "--budget-tokens 200"),
        (recipe("budget: {agent_runs: 2, usd: 0.5}\n", 3), "--budget-agent-runs 4 --budget-usd 1"),
        (around.to_owned(), "--budget-agent-runs 4"),
    ] {
        let env = env("result ok").file("child.yaml", &child);
        env.write("r.yaml", recipe);
        let output = env.run(["r.yaml"]);
        let run = env.run_ids().remove(0);
        let command = format!("recipe-runner-rs resume {run} {option}");
        assert!(output.all().contains(&format!("resume:  {command}\n")), "{}", output.all());
        let shown = env.run(["show", &run, "--output-format", "json"]).json();
        assert_eq!(shown["resume_command"], command.as_str());
        let words: Vec<&str> = command.split(' ').skip(1).collect();
        assert_eq!(env.run(&words).code, 0, "{command}");
    }
}

#[test]
fn an_unreported_cost_is_shown_as_unknown() {
    let env = env("echo plain");
    let output = run(&env, &recipe("budget: {usd: 1}\n", 2), &[]);
    assert_eq!(output.code, 0, "{}", output.all());
    let told = output.stderr.matches("`claude` does not report its cost").count();
    assert_eq!(told, 1, "{}", output.stderr);
    let output = run(&env, &recipe("", 1), &[]);
    assert!(!output.stderr.contains("does not report its cost"));
}

#[test]
fn agents_that_wait_for_their_turn_are_refused_when_it_comes() {
    let step = |id: &str| format!("- {{id: {id}, prompt: x, parallel_group: g}}\n");
    let recipe =
        format!("name: r\nbudget: {{agent_runs: 1}}\nsteps:\n{}{}{}", step("a"), step("b"), step("c"));
    let env = env("result ok");
    check_stops(&run(&env, &recipe, &["--max-agents", "1"]), &env, 1);
}

const BROKEN: &str = "name: r
steps:
- {id: one, command: 'echo one >> ledger'}
- {id: check, command: 'grep --quite one ledger'}
";

/// The repair of [`BROKEN`]; every call costs $0.25.
fn repairing() -> String {
    let fixed = BROKEN.replace("--quite", "--quiet").replace('\n', "\\\\n");
    format!("result \"\\`\\`\\`yaml\\\\n{fixed}\\`\\`\\`\"")
}

#[test]
fn a_repair_is_paid_from_the_same_budget() {
    let env = env(&repairing());
    let output = run(&env, BROKEN, &["--auto-fix"]);
    assert_eq!((output.code, env.calls()), (0, 1), "{}", output.all());
    let json = output.json();
    assert_eq!((&json["usage"]["runs"], &json["usage"]["cost_usd"]), (&1.into(), &0.25.into()));
    assert_eq!(env.run(["show", "last", "--output-format", "json"]).json()["usage"], json["usage"]);
    assert_eq!(env.run(["runs", "--output-format", "json"]).json()[0]["usage"]["runs"], 1);
}

#[test]
fn no_repair_is_asked_for_beyond_the_budget() {
    let with_agent = BROKEN.replace("steps:\n", "steps:\n- {id: first, prompt: x}\n");
    let env = env(&repairing());
    let output = run(&env, &with_agent, &["--auto-fix", "--budget-agent-runs", "1"]);
    assert_eq!((output.code, env.calls()), (6, 1), "{}", output.all());
    assert!(output.stdout.contains("the budget is used up: 1 agent runs"), "{}", output.all());
    assert_eq!(output.json()["usage"]["runs"], 1);
}

#[test]
fn a_refused_repair_is_paid_too() {
    let env = env("result 'no idea'");
    let output = run(&env, BROKEN, &["--auto-fix"]);
    assert_eq!((output.code, env.calls()), (6, 2), "{}", output.all());
    assert_eq!(output.json()["usage"]["cost_usd"], 0.5, "{}", output.all());
    let shown = env.run(["show", "last", "--output-format", "json"]).json();
    assert_eq!(shown["usage"]["cost_usd"], 0.5, "{shown}");
    assert_eq!(env.run(["resume", "last", "--output-format", "json"]).json()["usage"]["runs"], 2);
}
