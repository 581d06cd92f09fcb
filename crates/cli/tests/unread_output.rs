//! Readers that do not read: the run continues, can be stopped at any moment, and loses no output.
#![expect(clippy::expect_used, reason = "a test that cannot start its runner fails")]

use std::{
    io::Read,
    process::{Child, ChildStdout, Stdio},
    thread,
    time::Duration,
};

use testkit::{TestEnv, until};

/// Three million bytes without a line end, more than any pipe holds.
const MUCH: &str = r#"head -c 3000000 /dev/zero | tr "\0" x"#;

fn env(recipe: &str) -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs")).file("r.yaml", recipe)
}

/// A recipe with one step.
fn one(command: &str, more: &str) -> TestEnv {
    env(&format!("name: r\nsteps:\n  - id: s\n    command: |\n      {command}\n{more}"))
}

/// A runner whose outputs are pipes of this test. It is killed when the test forgets it.
struct Unread(Child);

impl Unread {
    fn start(env: &TestEnv, arguments: &[&str]) -> Unread {
        let mut command = env.runner();
        command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        Unread(command.spawn().expect("the runner starts"))
    }

    /// The same with nothing on stderr that could be read.
    fn without_stderr(env: &TestEnv, arguments: &[&str]) -> Unread {
        let mut command = env.runner();
        command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::null());
        Unread(command.spawn().expect("the runner starts"))
    }

    fn signal(&self, name: &str) {
        let status =
            std::process::Command::new("kill").args([&format!("-{name}"), &self.0.id().to_string()]).status();
        assert!(status.is_ok_and(|status| status.success()));
    }

    fn stdout(&mut self) -> ChildStdout {
        self.0.stdout.take().expect("a pipe")
    }

    /// Waits for its end without reading anything.
    fn code(&mut self) -> Option<i32> {
        let mut status = None;
        until("the runner ends", || {
            status = self.0.try_wait().expect("a child");
            status.is_some()
        });
        status.and_then(|status| status.code())
    }
}

impl Drop for Unread {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn status(env: &TestEnv) -> String {
    let shown = env.run(["show", "last", "--output-format", "json"]).json();
    shown["status"].as_str().unwrap_or_default().to_owned()
}

/// Long enough for the pipe to be full and the runner to be stuck, if it gets stuck.
fn let_it_fill() {
    thread::sleep(Duration::from_millis(700));
}

fn check_stopped(env: &TestEnv, mut runner: Unread, code: i32, expected: &str) {
    assert_eq!(runner.code(), Some(code), "{expected}");
    assert_eq!(env.survivors(), Vec::<String>::new(), "{expected}");
    assert_eq!(status(env), expected);
}

#[test]
fn a_signal_ends_a_run_with_unread_stdout() {
    for (signal, code) in [("TERM", 143), ("INT", 130)] {
        let env = one(&format!("{MUCH}; echo $$ >printed; sleep 303"), "");
        let runner = Unread::start(&env, &["r.yaml"]);
        env.wait_for("printed");
        let_it_fill();
        runner.signal(signal);
        check_stopped(&env, runner, code, "interrupted");
    }
}

/// What a run still prints that is told to stop when very much of its output waits, and what it says.
fn stopped_in_a_flood() -> (u64, String) {
    let env = one("head -c 300000000 /dev/zero; echo $$ >printed; sleep 303", "");
    let mut runner = Unread::start(&env, &["r.yaml"]);
    let (mut stdout, mut stderr) = (runner.stdout(), runner.0.stderr.take().expect("a pipe"));
    env.wait_for("printed");
    runner.signal("INT");
    until("everything is ended", || env.survivors().is_empty());
    let reader = thread::spawn(move || std::io::copy(&mut stdout, &mut std::io::sink()).unwrap_or_default());
    let mut said = String::new();
    stderr.read_to_string(&mut said).expect("text");
    check_stopped(&env, runner, 130, "interrupted");
    (reader.join().unwrap_or_default(), said)
}

#[test]
fn a_stopping_runner_does_not_print_for_minutes() {
    // on a busy machine the reader may come too late
    let seen = (0..5).map(|_| stopped_in_a_flood()).find(|(_, said)| said.contains("resume:"));
    let (shown, said) = seen.unwrap_or_default();
    assert!(shown < 100_000_000, "{shown}");
    assert!(said.contains("bytes that `s` printed are not shown; `logs` has them"), "{said}");
}

#[test]
fn a_cancel_ends_a_run_with_unread_stdout() {
    let env = one(&format!("{MUCH}; echo $$ >printed; sleep 303"), "");
    let runner = Unread::start(&env, &["r.yaml"]);
    env.wait_for("printed");
    let_it_fill();
    let output = env.run(["cancel", "last"]);
    assert_eq!(output.code, 0, "{}", output.all());
    check_stopped(&env, runner, 130, "cancelled");
}

#[test]
fn a_timeout_ends_a_step_with_unread_output_that_can_be_read_later() {
    let env = one(&format!("{MUCH}; sleep 303"), "    timeout: 5\n");
    let mut runner = Unread::without_stderr(&env, &["r.yaml"]);
    until("the run has failed", || !env.run_ids().is_empty() && status(&env) == "failed");
    assert_eq!(env.survivors(), Vec::<String>::new());
    let mut text = String::new();
    runner.stdout().read_to_string(&mut text).expect("text");
    assert_eq!(runner.code(), Some(1));
    assert!(text.starts_with(&"x".repeat(3_000_000)), "{}", text.len());
    assert!(text[3_000_000..].starts_with("\n  ✗ s failed after"), "{}", &text[3_000_000..]);
}

#[test]
fn a_runner_that_waits_for_a_reader_can_be_stopped() {
    let env = one(MUCH, "");
    let mut runner = Unread::start(&env, &["r.yaml"]);
    until("the run is completed", || !env.run_ids().is_empty() && status(&env) == "completed");
    let_it_fill();
    runner.signal("TERM");
    assert_eq!(runner.code(), Some(143));
    assert_eq!(status(&env), "completed");
}

#[test]
fn a_signal_ends_a_run_with_unread_stderr() {
    let steps: String = (0..120).map(|at| format!("  - {{id: s{at}, command: 'true'}}\n")).collect();
    let env =
        env(&format!("name: r\nsteps:\n{steps}  - {{id: last, command: echo $$ >printed; sleep 303}}\n"));
    let runner = Unread::start(&env, &["r.yaml"]);
    let stderr = runner.0.stderr.as_ref().expect("a pipe");
    rustix::pipe::fcntl_setpipe_size(stderr, 4096).expect("a small pipe");
    env.wait_for("printed");
    runner.signal("TERM");
    check_stopped(&env, runner, 143, "interrupted");
}

#[test]
fn a_slow_reader_gets_everything_in_its_order() {
    let recipe = "name: r\nsteps:\n  - {id: a, command: seq 600000}\n  - {id: b, command: echo second}\n  - {id: c, command: seq 300000; echo end}\n";
    let env = env(recipe);
    let mut runner = Unread::without_stderr(&env, &["r.yaml"]);
    until("the run is completed", || !env.run_ids().is_empty() && status(&env) == "completed");
    let mut text = String::new();
    runner.stdout().read_to_string(&mut text).expect("text");
    assert_eq!(runner.code(), Some(0));
    let file = |step: &str| {
        std::fs::read_to_string(env.run_dir().join("steps").join(step).join("1/stdout")).expect("a file")
    };
    let expected = file("a") + &file("b") + &file("c");
    assert_eq!(expected.lines().count(), 900_002);
    assert!(text.starts_with(&expected), "{} and {}", text.len(), expected.len());
    assert!(text[expected.len()..].starts_with("  ✓ a completed in"), "{}", &text[expected.len()..]);
}

#[test]
fn lines_of_parallel_steps_stay_whole_for_a_slow_reader() {
    let step = |id: &str| {
        format!(
            "  - {{id: {id}, parallel_group: g, command: 'seq 200000 | sed s/^/{id}/; printf {id}-end'}}\n"
        )
    };
    let env = env(&format!("name: r\nsteps:\n{}{}", step("a"), step("b")));
    let mut runner = Unread::without_stderr(&env, &["r.yaml"]);
    until("the run is completed", || !env.run_ids().is_empty() && status(&env) == "completed");
    let mut text = String::new();
    runner.stdout().read_to_string(&mut text).expect("text");
    assert_eq!(runner.code(), Some(0));
    for id in ["a", "b"] {
        let label = format!("{id} │ {id}");
        let seen: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix(&label)).collect();
        assert_eq!(seen.len(), 200_001, "{id}");
        assert!(seen[..200_000].iter().zip(1..).all(|(line, at)| *line == at.to_string()), "{id}");
        assert_eq!(seen[200_000], "-end");
    }
}

#[test]
fn a_secret_is_masked_for_a_slow_reader_too() {
    let recipe = "name: r\ncontext: {api_token: hush-hush-1}\nsteps:\n  - id: s\n    command: 'for i in $(seq 60); do seq 8000; echo \"{{api_token}}\"; done; printf %s \"{{api_token}}\"'\n";
    let env = env(recipe);
    let mut runner = Unread::without_stderr(&env, &["r.yaml"]);
    until("the run is completed", || !env.run_ids().is_empty() && status(&env) == "completed");
    let mut text = String::new();
    runner.stdout().read_to_string(&mut text).expect("text");
    assert_eq!(text.matches("[REDACTED]").count(), 61);
    assert!(!text.contains("hush"));
}

#[test]
fn a_json_result_of_any_size_arrives_whole() {
    let env = one("seq 300000", "    output: numbers\n");
    let output = env.shell("$RUNNER r.yaml --output-format json | (sleep 3; cat)");
    assert_eq!(output.code, 0, "{}", output.stderr);
    assert_eq!(output.step("s")["status"], "completed");
    let shown = env.shell("$RUNNER show last --output-format json | (sleep 1; cat)");
    assert_eq!(shown.step("s")["status"], "completed");
}

#[test]
fn following_a_log_ends_with_its_reader() {
    let env = one("seq 5; echo $$ >printed; sleep 303", "");
    let mut runner = env.spawn(["r.yaml"]);
    env.wait_for("printed");
    let output = env.shell("$RUNNER logs last -f | head -3");
    assert_eq!(output.stdout, "1\n2\n3\n", "{}", output.all());
    assert!(runner.is_running(), "the log was followed until the end of the run");
    runner.signal("TERM");
    assert_eq!(runner.wait().code, 143);
}

#[test]
fn a_long_log_does_not_wait_for_ever_for_a_reader_that_is_gone() {
    let env = one("seq 600000", "");
    assert_eq!(env.run(["r.yaml", "--quiet"]).code, 0);
    let output = env.shell("$RUNNER logs last | head -2; echo ${PIPESTATUS[0]}");
    assert_eq!(output.stdout, "1\n2\n0\n", "{}", output.all());
    let output = env.shell("$RUNNER logs last | (sleep 1; tail -1)");
    assert_eq!(output.stdout, "600000\n", "{}", output.all());
}

/// The step waits until what it has printed was read.
#[test]
fn output_is_shown_while_a_step_runs() {
    let wait = "until [ -e seen-$word ]; do sleep 0.05; done";
    let command = format!("for word in first second; do echo $word; {wait}; done");
    let recipe = format!("name: r\nsteps: [{{id: s, command: '{command}', timeout: 30}}]\n");
    let env = env(&recipe);
    let reader = "\"$RUNNER\" r.yaml | while read -r word; do touch \"seen-$word\" 2>/dev/null; done; exit ${PIPESTATUS[0]}";
    let output = env.shell(reader);
    assert_eq!(output.code, 0, "{}", output.all());
}
