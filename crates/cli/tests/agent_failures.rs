//! Agents that fail, hit a rate limit, or wait for each other: kept output, retries, and the number at one time.

use testkit::{Output, TestEnv};

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

fn run(env: &TestEnv, recipe: &str, args: &[&str]) -> Output {
    env.write("r.yaml", recipe);
    env.run(["r.yaml", "--output-format", "json"].iter().chain(args))
}

/// What a program prints whose service refuses.
fn refused(status: u32) -> String {
    format!(
        "echo '{{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,\"api_error_status\":{status},\"result\":\"refused {status}\"}}'; exit 1"
    )
}

#[test]
fn a_question_for_json_waits_for_rate_limits_and_reports_why_it_failed() {
    const REQUIRED: &str =
        "name: r\nsteps:\n- {id: a, prompt: x, parse_json: true, parse_json_required: true}\n";
    for (second, code, calls, class) in [
        (refused(429), 0, 3, None),
        (refused(401), 1, 2, Some("environment.credentials")),
        ("exit 7".to_owned(), 1, 2, Some("agent_drift")),
    ] {
        let agent = format!("case $n in 1) result nope ;; 2) {second} ;; *) result '{{}}' ;; esac");
        let env = env().agent("claude", &agent).env("AMPLIHACK_RATELIMIT_BASE_DELAY_SECS", "0");
        let output = run(&env, REQUIRED, &[]);
        assert_eq!((output.code, env.calls()), (code, calls), "{second} {}", output.all());
        let Some(class) = class else { continue };
        let error = output.step("a")["error"].as_str().unwrap_or_default().to_owned();
        assert!(error.contains("asking again for JSON failed: "), "{error}");
        assert_eq!(output.json()["diagnosis"]["class"], class, "{}", output.all());
    }
}

#[test]
fn every_call_of_an_attempt_has_files_of_its_own() {
    let agent = "case $n in 2) echo 'HTTP 429' >&2; exit 1 ;; 4) echo '{}' ;; *) echo nope ;; esac";
    let env = env()
        .agent("codex", agent)
        .env("AMPLIHACK_AGENT_BINARY", "codex")
        .env("AMPLIHACK_RATELIMIT_BASE_DELAY_SECS", "0");
    let recipe = "name: r\nsteps:\n- {id: a, prompt: x, parse_json: true, parse_json_required: true, json_retries: 2}\n";
    let output = run(&env, recipe, &[]);
    assert_eq!((output.code, env.calls()), (0, 4), "{}", output.all());
    for call in 1..=4 {
        let given = env.asked(call, "argv");
        assert!(given.contains(&format!("private-{call}")), "{call}: {given}");
    }
}

#[test]
fn a_rate_limited_agent_reports_its_attempts() {
    const ONE: &str = "name: r\nsteps:\n- {id: a, prompt: x}\n";
    const TWO: &str =
        "name: r\nsteps:\n- {id: a, prompt: x, retry: {max_attempts: 3, delay: 0, on: [exit, rate_limit]}}\n";
    let later = format!("[ $n = 1 ] && exit 7; {}", refused(429));
    for (recipe, agent, retries, words) in [
        (ONE, refused(429), "5", "tried 6 times"),
        (ONE, refused(429), "0", "tried once"),
        (TWO, later, "5", "tried 3 times"),
    ] {
        let env = env()
            .agent("claude", &agent)
            .env("AMPLIHACK_RATELIMIT_BASE_DELAY_SECS", "0")
            .env("AMPLIHACK_RATELIMIT_MAX_RETRIES", retries);
        let output = run(&env, recipe, &[]);
        let expected = format!("the agent is rate limited: refused 429; {words}");
        let error = output.step("a")["error"].as_str().unwrap_or_default().to_owned();
        assert!(error.ends_with(&expected), "{error}");
        let screen = env.run(["r.yaml"]).stderr;
        assert!(screen.contains(&expected), "{screen}");
    }
}

#[test]
fn a_rate_limited_recovery_reports_its_attempts() {
    let env = env()
        .agent("claude", &refused(429))
        .file("child.yaml", "name: child\nsteps:\n- {id: c, command: exit 3}\n")
        .env("AMPLIHACK_RATELIMIT_BASE_DELAY_SECS", "0")
        .env("AMPLIHACK_RATELIMIT_MAX_RETRIES", "2");
    let recipe = "name: r\nsteps:\n- {id: sub, recipe: child, recovery_on_failure: true}\n";
    let output = run(&env, recipe, &[]);
    assert_eq!((output.code, env.calls()), (1, 3), "{}", output.all());
    assert!(output.all().contains("refused 429; tried 3 times"), "{}", output.all());
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
        (None, vec![], 12),
        (None, vec!["--max-agents", "11"], 11),
        (Some("many"), vec![], 12),
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

const TOLERATED: &str = "name: r\nsteps:\n- {id: a, prompt: x, output: o, continue_on_error: true, timeout: 6}\n- {id: b, command: 'printf %s {{o}}'}\n";

#[test]
fn a_tolerated_failure_keeps_the_agents_message() {
    for (body, expected) in [
        ("echo half of it; echo and more; exit 3", "half of it\nand more"),
        ("echo half of it; kill -9 $$", "half of it"),
        ("echo half of it; exec sleep 60", "half of it"),
        ("echo boom >&2; exit 3", ""),
        ("say 'half of it'; exit 3", "half of it"),
        ("say 'half of it'; exec sleep 60", "half of it"),
        ("say one; tool Read x; say two; exit 3", "two"),
        ("result 'the whole'; exit 3", "the whole"),
        ("echo '{\"type\":\"result\",\"is_error\":true,\"result\":\"half of it\"}'; exit 1", "half of it"),
        ("echo '{\"type\":\"result\",\"is_error\":true,\"result\":\"half of it\"}'", "half of it"),
    ] {
        let env = env().agent("claude", body);
        let output = run(&env, TOLERATED, &[]);
        assert_eq!(output.code, 0, "{body} {}", output.all());
        let step = output.step("a");
        assert_eq!((&step["status"], &step["output"]), (&"failed".into(), &expected.into()), "{body}");
        assert_eq!(output.value("o"), expected, "{body}");
        assert_eq!(output.step("b")["output"], expected, "{body}");
    }
    // events that say nothing are what it printed
    let env = env().agent("claude", "tool Read x.rs; exit 3");
    let output = run(&env, TOLERATED, &[]);
    assert!(output.value("o").to_string().contains("x.rs"), "{}", output.all());
    // what cannot become a value leaves none, and not that of another step
    assert_eq!(run(&env_with_nul(), TOLERATED, &[]).value("o"), "");
}

fn env_with_nul() -> TestEnv {
    env().agent("claude", "printf 'a\\0b'; exit 3")
}

#[test]
fn exit_codes_of_agents_have_the_meaning_of_the_step() {
    let failed = "echo '{\"type\":\"result\",\"is_error\":true,\"result\":\"no\"}'; exit 3";
    for (codes, body, code, outcome, said) in [
        ("{3: needs_human}", "echo help; exit 3", 6, "needs_human", "waiting for a person (exit code 3)"),
        ("{3: needs_human}", "result ok; exit 3", 6, "needs_human", "waiting for a person (exit code 3)"),
        (
            "{3: needs_human}",
            failed,
            6,
            "needs_human",
            "waiting for a person (exit code 3): the agent reports a failure: no",
        ),
        ("{0: needs_human}", "result ok", 6, "needs_human", "waiting for a person (exit code 0)"),
        ("{3: needs_human}", "exit 4", 1, "failed", "exit code 4"),
        ("{3: ok}", "result ok; exit 3", 0, "ok", ""),
        ("{3: ok}", "exit 3", 1, "failed", "without a result"),
        ("{0: failed}", "result ok", 1, "failed", "agent step failed: exit code 0"),
        ("{3: failed}", "echo why >&2; exit 3", 1, "failed", "exit code 3: why"),
    ] {
        let env = env().agent("claude", body);
        let output =
            run(&env, &format!("name: r\nsteps:\n- {{id: a, prompt: x, exit_codes: {codes}}}\n"), &[]);
        assert_eq!(output.code, code, "{codes} {body} {}", output.all());
        assert_eq!(output.json()["outcome"], outcome, "{codes} {body}");
        let error = output.step("a")["error"].as_str().unwrap_or_default().to_owned();
        assert!(error.contains(said), "{codes} {body} {error}");
    }
    let env = env().agent("claude", "[ $n = 1 ] && result 'no idea' || exit 3");
    let recipe = "name: r\nsteps:\n- {id: a, prompt: x, parse_json: true, exit_codes: {3: needs_human}}\n";
    assert_eq!(run(&env, recipe, &[]).code, 6);
}

#[test]
fn an_answer_of_any_size_is_a_value() {
    let claude = "printf '{\"type\":\"result\",\"is_error\":false,\"result\":\"begin'; head -c $SIZE /dev/zero | tr '\\0' x; printf ' end\"}\\n'";
    let plain = "printf begin; head -c $SIZE /dev/zero | tr '\\0' x; echo ' end'";
    let recipe =
        "name: r\nsteps:\n- {id: a, prompt: x, output: o}\n- {id: b, command: 'printf %s {{o}} | wc -c'}\n";
    for (body, size, kept) in [
        (claude, "9000000", Some(9_000_009)),
        (plain, "9000000", Some(9_000_009)),
        (claude, "30000000", None),
        (plain, "30000000", None),
    ] {
        let env = env().agent("claude", body).env("SIZE", size);
        let output = run(&env, recipe, &[]);
        assert_eq!(output.code, 0, "{size} {}", output.stderr);
        let bytes: usize =
            output.step("b")["output"].as_str().unwrap_or_default().parse().unwrap_or_default();
        let value = output.value("o").as_str().unwrap_or_default().to_owned();
        assert!(value.starts_with("begin") && value.ends_with(" end"), "{size}");
        match kept {
            Some(kept) => assert_eq!(bytes, kept),
            None => {
                assert!((9_000_000..=10_000_000).contains(&bytes), "{bytes}");
                assert!(value.contains("bytes cut here"));
                assert!(
                    output.stderr.contains("the output is larger than 10000000 bytes"),
                    "{}",
                    output.stderr
                );
            }
        }
    }
}

#[test]
fn texts_alone_are_an_answer_of_opencode() {
    let text = |words: &str| {
        format!("echo '{{\"type\":\"text\",\"part\":{{\"type\":\"text\",\"text\":\"{words}\"}}}}'")
    };
    let recipe = "name: r\nsteps:\n- {id: a, prompt: x, agent_binary: opencode}\n";
    let env = env().agent("opencode", &format!("{}; {}", text("one"), text(" two")));
    let output = run(&env, recipe, &[]);
    assert_eq!((output.code, output.value("a")), (0, "one two".into()), "{}", output.all());
}
