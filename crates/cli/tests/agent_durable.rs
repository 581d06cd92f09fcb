//! Agents and the end of the runner: nothing is left behind, and nothing that is finished is paid for twice.
#![expect(clippy::unwrap_used, reason = "a test that cannot set up its world has failed")]

use std::{
    process::Child,
    time::{Duration, Instant},
};

use testkit::TestEnv;

const PROGRAM: &str = env!("CARGO_BIN_EXE_recipe-runner-rs");

/// The second call hangs, with a helper that has left its group.
const BODY: &str = "if [ $n = 2 ]; then (setsid sleep 5432 &); sleep 5433; fi; result \"answer $n\"";
const RECIPE: &str = "name: r\nsteps:\n- {id: a, prompt: x}\n- {id: b, prompt: 'after {{a}}'}\n- {id: c, prompt: 'after {{b}}'}\n";

fn start(env: &TestEnv) -> Child {
    env.write("r.yaml", RECIPE);
    let mut command = env.command(PROGRAM.as_ref());
    command.args(["r.yaml", "--output-format", "json"]);
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let child = command.spawn().unwrap();
    wait_for(|| env.calls() == 2 && env.shell("pgrep -f '^sleep 5432'").code == 0);
    child
}

fn wait_for(condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < deadline, "it does not happen");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn end(child: &mut Child, signal: &str, env: &TestEnv) -> Option<i32> {
    assert_eq!(env.shell(&format!("kill -{signal} {}", child.id())).code, 0);
    child.wait().ok().and_then(|status| status.code())
}

fn none_alive(env: &TestEnv, zoo: &str) -> bool {
    // the stand-ins of this world carry its directory in their environment
    env.shell(&format!("grep -lzs 'ZOO_DIR={zoo}' /proc/[0-9]*/environ | grep -v \"/$$/\" | xargs -r dirname | while read p; do tr '\\0' ' ' < $p/cmdline; done | grep '^sleep 543'")).code != 0
}

#[test]
fn no_finished_agent_is_paid_twice() {
    for (signal, code) in [("KILL", None), ("INT", Some(130)), ("TERM", Some(143))] {
        let env = TestEnv::new(PROGRAM).agent("claude", BODY);
        let zoo = env.zoo().display().to_string();
        let mut child = start(&env);
        assert_eq!(end(&mut child, signal, &env), code, "{signal}");
        if signal != "KILL" {
            assert!(none_alive(&env, &zoo), "{signal}");
        }
        assert_eq!(env.run(["show", "last", "--output-format", "json"]).json()["status"], "interrupted");
        let output = env.run(["resume", "last", "--output-format", "json"]);
        assert_eq!(output.code, 0, "{signal} {}", output.all());
        assert!(none_alive(&env, &zoo), "{signal}");
        assert_eq!(env.calls(), 4, "{signal}");
        assert!(env.asked(4, "prompt").starts_with("after answer 3"), "{signal}");
        let json = output.json();
        assert_eq!(json["step_results"][0]["output"], "answer 1");
        assert_eq!(json["step_results"][1]["attempts"], 2);
        // three that told, and one that was interrupted
        assert_eq!(
            (&json["usage"]["runs"], &json["usage"]["cost_usd"]),
            (&4.into(), &0.75.into()),
            "{signal}"
        );
    }
}

#[test]
fn cancelling_ends_an_agent_and_all_it_started() {
    let env = TestEnv::new(PROGRAM).agent("claude", BODY);
    let zoo = env.zoo().display().to_string();
    let mut child = start(&env);
    let output = env.run(["cancel", "last"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert!(none_alive(&env, &zoo));
    assert_eq!(child.wait().ok().and_then(|status| status.code()), Some(130));
}

#[test]
fn a_result_that_was_given_survives_the_end_of_the_run() {
    let env = TestEnv::new(PROGRAM)
        .agent("claude", "result \"answer $n\"; touch \"$CALL/told\"; if [ $n = 1 ]; then sleep 60; fi")
        .env("RECIPE_RUNNER_RESULT_GRACE_SECONDS", "30");
    env.write("r.yaml", RECIPE);
    let mut command = env.command(PROGRAM.as_ref());
    let mut child = command
        .args(["r.yaml", "--quiet"])
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap_or_else(|error| panic!("cannot start: {error}"));
    wait_for(|| env.zoo().join("asked/1/told").exists());
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(end(&mut child, "INT", &env), Some(130));
    let output = env.run(["resume", "last", "--output-format", "json"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(env.calls(), 3);
    assert_eq!(output.json()["step_results"][0]["output"], "answer 1");
}

/// Another shell, as that of a night job, has not the variables of the one that began.
#[test]
fn a_resume_asks_the_program_that_the_environment_chose_when_the_run_began() {
    let recipe = "name: r\nsteps:\n- {id: a, command: test -f go}\n- {id: p, prompt: x}\n";
    for (variables, expected) in [
        ("AMPLIHACK_AGENT_BINARY=codex", "by codex"),
        ("AMPLIHACK_LAUNCHER_BINARY=launcher", "by the launcher"),
        ("", "by claude"),
    ] {
        let env = TestEnv::new(PROGRAM)
            .agent("claude", "result 'by claude'")
            .agent("codex", "echo 'by codex'")
            .agent("launcher", "echo 'by the launcher'")
            .file("r.yaml", recipe);
        assert_eq!(env.shell(&format!("{variables} \"$RUNNER\" r.yaml --quiet")).code, 1, "{variables}");
        env.write("go", "");
        let output = env.run(["resume", "last", "--output-format", "json"]);
        assert_eq!(output.code, 0, "{}", output.all());
        assert_eq!(output.step("p")["output"], expected, "{}", output.all());
    }
    // who says something else now is heard
    let env = TestEnv::new(PROGRAM)
        .agent("claude", "result 'by claude'")
        .agent("codex", "echo 'by codex'")
        .file("r.yaml", recipe);
    assert_eq!(env.shell("AMPLIHACK_AGENT_BINARY=codex \"$RUNNER\" r.yaml --quiet").code, 1);
    env.write("go", "");
    let output = env.shell("AMPLIHACK_AGENT_BINARY=claude \"$RUNNER\" resume last --output-format json");
    assert_eq!(output.step("p")["output"], "by claude", "{}", output.all());
}
