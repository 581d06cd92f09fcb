//! Agents that fail, ask to wait, or wait for each other: what is tried again, and how many work
//! at once.

use testkit::{Output, TestEnv};

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

fn run(env: &TestEnv, recipe: &str, args: &[&str]) -> Output {
    env.write("r.yaml", recipe);
    env.run(["r.yaml", "--output-format", "json"].iter().chain(args))
}

#[test]
fn a_step_may_have_its_own_rule_for_rate_limits() {
    let limited = |n: u32| {
        format!("if [ $n -le {n} ]; then echo 'HTTP 429 Too Many Requests' >&2; exit 1; fi; result ok")
    };
    // the environment would wait for hours, or not try again at all
    for (retry, retries, limit, code, calls) in [
        ("{max_attempts: 3, delay: 0, on: [rate_limit]}", "5", 2, 0, 3),
        ("{max_attempts: 3, delay: 0, on: [rate_limit]}", "5", 9, 1, 3),
        ("{max_attempts: 4, delay: 0, backoff: exponential, on: [exit, rate_limit]}", "0", 3, 0, 4),
        ("{max_attempts: 1, delay: 0, on: [rate_limit]}", "5", 1, 1, 1),
        ("{max_attempts: 3, delay: 0, on: [exit]}", "0", 1, 1, 1),
        ("{max_attempts: 3, delay: 0}", "0", 1, 1, 1),
        ("3", "0", 1, 1, 1),
    ] {
        let env = env()
            .agent("claude", &limited(limit))
            .env("AMPLIHACK_RATELIMIT_BASE_DELAY_SECS", "9999")
            .env("AMPLIHACK_RATELIMIT_MAX_DELAY_SECS", "9999")
            .env("AMPLIHACK_RATELIMIT_MAX_RETRIES", retries)
            .env("AMPLIHACK_RATELIMIT_FALLBACK_AUTO_MODEL", "0");
        let recipe = format!("name: r\nsteps:\n- {{id: a, prompt: x, retry: {retry}}}\n");
        let output = run(&env, &recipe, &[]);
        assert_eq!((output.code, env.calls()), (code, calls), "{retry} {}", output.all());
    }
    let env = env()
        .agent(
            "claude",
            "if [ $n = 1 ]; then echo 'HTTP 429' >&2; exit 1; fi; [ $n = 2 ] && exit 7; result ok",
        )
        .env("AMPLIHACK_RATELIMIT_BASE_DELAY_SECS", "9999");
    let both = "{max_attempts: 2, delay: 0, on: [exit, rate_limit]}";
    let output = run(&env, &format!("name: r\nsteps:\n- {{id: a, prompt: x, retry: {both}}}\n"), &[]);
    assert_eq!((output.code, env.calls()), (1, 2), "both kinds are counted together: {}", output.all());
}

/// What agents do that count how many of them are at work.
const COUNTING: &str = "touch \"$ZOO_DIR/on-$n\"; sleep 0.6; seen=$(ls \"$ZOO_DIR\" | grep -c on-); rm \"$ZOO_DIR/on-$n\"; result \"$seen\"";

#[test]
fn no_more_agents_work_at_once_than_the_environment_allows() {
    for (sessions, args, most) in [
        (Some("2"), vec![], 2),
        (Some("2"), vec!["--max-agents", "4"], 2),
        (Some("4"), vec!["--max-agents", "1"], 1),
        (Some("0"), vec![], 1),
        (None, vec![], 10),
        (None, vec!["--max-agents", "11"], 11),
        (Some("many"), vec![], 10),
    ] {
        let steps: String =
            (1..=12).map(|n| format!("- {{id: a{n}, prompt: x, parallel_group: g}}\n")).collect();
        let mut env = env().agent("claude", COUNTING);
        if let Some(sessions) = sessions {
            env = env.env("AMPLIHACK_MAX_SESSIONS", sessions);
        }
        let output = run(&env, &format!("name: r\nsteps:\n{steps}"), &args);
        assert_eq!(output.code, 0, "{}", output.all());
        let seen = |n: usize| output.value(&format!("a{n}")).as_str()?.parse::<usize>().ok();
        let seen: Vec<usize> = (1..=12).filter_map(seen).collect();
        assert!(
            seen.len() == 12 && seen.iter().all(|count| *count <= most),
            "{sessions:?} {args:?} {seen:?}"
        );
        let is_told = output.stderr.contains("warning: AMPLIHACK_MAX_SESSIONS: `many` is not a number");
        assert_eq!(is_told, sessions == Some("many"), "{}", output.stderr);
    }
}
