//! Faulty agents: whatever they do, the step ends, says the truth, and leaves nothing behind.

use std::time::{Duration, Instant};

use testkit::{Output, TestEnv};

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
        .env("RECIPE_RUNNER_RESULT_GRACE_SECONDS", "0.3")
        .env("AMPLIHACK_RATELIMIT_BASE_DELAY_SECS", "0")
        .env("AMPLIHACK_RATELIMIT_MAX_RETRIES", "2")
}

const RECIPE: &str = "name: r\nsteps:\n- {id: a, prompt: do it, output: answer}\n";

fn ask(env: &TestEnv, recipe: &str) -> Output {
    env.write("r.yaml", recipe);
    env.run(["r.yaml", "--output-format", "json"])
}

/// Runs one agent step with this agent; the answer, or the error of the step.
fn check(body: &str, expected: Result<&str, &str>) {
    check_step(RECIPE, body, expected);
}

fn check_step(recipe: &str, body: &str, expected: Result<&str, &str>) {
    let env = env().agent("claude", body);
    let began = Instant::now();
    let output = ask(&env, recipe);
    assert!(began.elapsed() < Duration::from_secs(9), "took {:?}\n{body}", began.elapsed());
    let step = &output.json()["step_results"][0];
    match expected {
        Ok(answer) => {
            assert_eq!(output.code, 0, "{body}\n{}", output.all());
            assert_eq!(step["output"], answer, "{body}");
        }
        Err(error) => {
            assert_eq!(output.code, 1, "{body}\n{}", output.all());
            let said = step["error"].as_str().unwrap_or_default();
            assert!(said.contains(error) && said.contains("agent step failed"), "{body}\n{said}");
        }
    }
}

#[test]
fn answers_are_heard() {
    check("result 'the answer'", Ok("the answer"));
    check("say thinking; tool Read a.rs; result done", Ok("done"));
    check("echo a plain answer", Ok("a plain answer"));
    check("result first; result second", Ok("second"));
    // claims without work are the next step's business
    check("result 'All done, I promise'", Ok("All done, I promise"));
}

#[test]
fn ends_without_a_result_are_failures() {
    check("exit 0", Err("exit code 0 and without a result"));
    check("say working; exit 0", Err("without a result"));
    check("echo gone wrong >&2; exit 3", Err("exit code 3: gone wrong"));
    check("kill -SEGV $$", Err("SIGSEGV"));
    check("say working; kill -KILL $$", Err("SIGKILL"));
    check(r#"say working; printf '{"type":"result","result":"cut'"#, Err("without a result"));
    check(
        r#"printf '{"type":"result","subtype":"success","is_error":true,"result":"no good"}\n'"#,
        Err("no good"),
    );
    check("result fine; exit 4", Err("exit code 4"));
}

#[test]
fn an_answer_that_is_cut_inside_a_character_is_whole() {
    check(
        r#"printf '{"type":"result","is_error":false,"result":"gr\xc3'; sleep 0.2; printf '\xbcn"}\n'"#,
        Ok("grün"),
    );
    check(r"printf 'gr\xc3'; sleep 0.1; printf '\xbcn'", Ok("grün"));
}

#[test]
fn an_agent_that_hangs_is_ended() {
    let timed = "name: r\nsteps:\n- {id: a, prompt: do it, timeout: 0.6}\n";
    check_step(timed, "sleep 60", Err("timed out after 0.6 s"));
    check_step(timed, "say hello; sleep 60", Err("timed out after 0.6 s"));
    check_step(timed, r#"printf '{"type":"res'; sleep 60"#, Err("timed out after 0.6 s"));
    // exit 0 after our signal is no success
    check_step(timed, "trap 'exit 0' TERM; say hello; sleep 60 & wait", Err("timed out after 0.6 s"));
}

#[test]
fn an_agent_that_answers_and_stays_is_ended_and_its_answer_kept() {
    check("result kept; sleep 60", Ok("kept"));
    check("result kept; while :; do say more; sleep 0.1; done", Ok("kept"));
    check("trap '' TERM; result kept; exec 3>&1; sleep 60 & wait; wait", Ok("kept"));
    let timed = "name: r\nsteps:\n- {id: a, prompt: do it, timeout: 0.2}\n";
    check_step(timed, "result kept; sleep 60", Ok("kept"));
}

#[test]
fn the_second_question_is_watched_like_the_first() {
    let json = "name: r\nsteps:\n- {id: a, prompt: do it, parse_json: true, timeout: 5}\n";
    let body = r#"if [ "$n" = 1 ]; then result 'no json here'; else printf '{"type":"result","is_error":false,"result":"{}"}\n'; sleep 60; fi"#;
    check_step(json, body, Ok("{}"));
}

#[test]
fn leftover_processes_of_an_agent_end_with_its_step() {
    let env = env().agent(
        "claude",
        "setsid sleep 4321 </dev/null >/dev/null 2>&1 & (setsid bash -c 'sleep 4322 & sleep 4323' &) ; sleep 0.2; result done",
    );
    env.write(
        "r.yaml",
        "name: r\nsteps:\n- {id: a, prompt: do it}\n- {id: b, command: 'pgrep -f \"^sleep 432[123]\" || echo nothing'}\n",
    );
    let output = env.run(["r.yaml", "--output-format", "json"]);
    assert_eq!(output.json()["step_results"][1]["output"], "nothing", "{}", output.all());
}

#[test]
fn an_agent_that_ignores_sigterm_is_killed() {
    let env = env().agent("claude", "trap '' TERM; say hello; while :; do sleep 1; done");
    let began = Instant::now();
    let output = ask(&env, "name: r\nsteps:\n- {id: a, prompt: do it, timeout: 0.3}\n");
    assert!(output.stdout.contains("timed out after 0.3 s"), "{}", output.all());
    assert!(began.elapsed() < Duration::from_secs(8));
}

#[test]
fn a_question_on_stdin_meets_the_end_of_the_prompt() {
    check("read -r -t 5 line; result \"got:$line:$?\"", Ok("got::1"));
}

#[test]
fn innocent_numbers_are_not_a_rate_limit() {
    for body in [
        "result 'error 429 is what the docs describe'",
        "result 'fix issue 4290'",
        "echo 'I read about rate limits'",
    ] {
        let env = env().agent("claude", body);
        assert_eq!(ask(&env, RECIPE).code, 0);
        assert_eq!(env.calls(), 1, "{body}");
    }
    for body in ["echo 'fix issue 4290' >&2; exit 1", "echo 'see issue 429' >&2; exit 1"] {
        let env = env().agent("claude", body);
        assert_eq!(ask(&env, RECIPE).code, 1);
        assert_eq!(env.calls(), 1, "{body}");
    }
}

#[test]
fn a_hundred_megabytes_of_events_are_read_in_flat_memory() {
    let env = env().agent(
        "claude",
        r#"line=$(say "$(head -c 990 /dev/zero | tr '\0' x)"); yes "$line" | head -n 95000; result done"#,
    );
    env.write("r.yaml", RECIPE);
    let output = env
        .shell("/usr/bin/env bash -c 'ulimit -v 400000; exec $RUNNER r.yaml --output-format json --quiet'");
    assert_eq!(output.code, 0, "{}", &output.all()[..output.all().len().min(2000)]);
    assert_eq!(output.json()["step_results"][0]["output"], "done");
}

#[test]
fn a_chatty_agent_does_not_flood_the_terminal() {
    let env = env().agent("claude", r#"line=$(say x); yes "$line" | head -n 20000; result done"#);
    let output = ask(&env, RECIPE);
    assert_eq!(output.code, 0);
    assert!(output.stderr.lines().count() < 200, "{}", output.stderr.lines().count());
}

#[test]
fn a_nul_in_an_answer_is_refused() {
    check(
        r#"printf '{"type":"result","is_error":false,"result":"a\\u0000b"}\n'"#,
        Err("NUL byte at offset 1"),
    );
}

#[test]
fn silence_is_not_death() {
    let idle = "name: r\nsteps:\n- {id: a, prompt: do it, idle_timeout: 0.5}\n";
    check_step(idle, "sleep 60", Err("no activity for 0.5 s"));
    check_step(idle, "say hello; sleep 60", Err("no activity for 0.5 s"));
    check_step(
        idle,
        "end=$((SECONDS+2)); while [ $SECONDS -lt $end ]; do :; done; result worked",
        Ok("worked"),
    );
    check_step(idle, "for i in 1 2 3 4 5 6; do sleep 0.25; touch f; done; result filed", Ok("filed"));
    check_step(idle, "for i in 1 2 3 4 5 6; do sleep 0.25; echo . >&2; done; result talked", Ok("talked"));
}

/// What is wrong with an agent's service is told by its structured result, and not by words that happen to be in it.
#[test]
fn trouble_with_the_service_is_a_fact() {
    let reported = |status: &str, text: &str| {
        format!(
            "printf '{{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,\"api_error_status\":{status},\"result\":\"{text}\"}}\\n'; exit 1"
        )
    };
    for (body, class, trouble) in [
        (reported("401", "nope"), "environment.credentials", Some("credentials")),
        (reported("403", "nope"), "environment.credentials", Some("credentials")),
        (reported("429", "nope"), "environment.rate_limit", Some("rate_limit")),
        (reported("500", "nope"), "environment.network", Some("service")),
        (reported("529", "nope"), "environment.network", Some("service")),
        (
            "echo 'connect ECONNREFUSED 127.0.0.1:1' >&2; exit 1".to_owned(),
            "environment.network",
            Some("network"),
        ),
        ("echo 'Not logged in' >&2; exit 1".to_owned(), "environment.credentials", Some("credentials")),
        (reported("null", "the tests say that users cannot log in"), "", None),
    ] {
        let env = env().agent("claude", &body);
        let output = ask(&env, RECIPE);
        let json = output.json();
        assert_eq!(output.code, 1, "{}", output.all());
        let found = json["diagnosis"]["class"].as_str().unwrap_or_default();
        match trouble {
            Some(_) => assert_eq!(found, class, "{body}"),
            None => assert!(!found.starts_with("environment."), "{body} {found}"),
        }
        let journal = std::fs::read_to_string(env.run_dir().join("events.jsonl")).unwrap_or_default();
        let noted = trouble.map(|trouble| format!("\"trouble\":\"{trouble}\""));
        match noted {
            Some(noted) => assert!(journal.contains(&noted), "{journal}"),
            None => assert!(!journal.contains("\"trouble\""), "{journal}"),
        }
    }
}

#[test]
fn denied_tools_are_reported() {
    let body = r#"printf '{"type":"result","subtype":"success","is_error":false,"result":"all done","permission_denials":[{"tool_name":"Bash"},{"tool_name":"Write"},{"tool_name":"Bash"}]}\n'"#;
    let env = env().agent("claude", body);
    let output = ask(&env, RECIPE);
    assert_eq!((output.code, output.value("answer")), (0, "all done".into()), "{}", output.all());
    assert!(output.stderr.contains("the agent was not allowed to use Bash, Write"), "{}", output.stderr);
}
