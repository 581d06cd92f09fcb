//! Processes: none outlives its timeout, its step or its run, and every end is reported.

use std::time::{Duration, Instant};

use testkit::{Output, TestEnv, is_alive, until};

fn env(recipe: &str) -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs")).file("r.yaml", recipe)
}

/// A recipe with one step.
fn one(command: &str, more: &str) -> TestEnv {
    let command = command.replace('\n', "\n      ");
    env(&format!("name: r\nsteps:\n  - id: s\n    command: |\n      {command}\n{more}"))
}

fn first_error(output: &Output) -> String {
    output.json()["step_results"][0]["error"].as_str().unwrap_or_default().to_owned()
}

/// A timeout ends everything that the command started; the pids stand in the file `pids`.
fn check_timeout(command: &str, at_most: f64) {
    let env = one(command, "    timeout: 1\n");
    let start = Instant::now();
    let output = env.run(["r.yaml", "--output-format", "json"]);
    let took = start.elapsed().as_secs_f64();
    assert_eq!(output.code, 1, "{command}: {}", output.all());
    assert!(took < at_most, "{command}: took {took}");
    let error = first_error(&output);
    assert!(error.contains("timed out after 1 s"), "{command}: {error}");
    assert!(error.contains("last words"), "{command}: {error}");
    for pid in env.read("pids").lines() {
        assert!(!is_alive(pid), "{command}: {pid} is alive");
    }
    assert_eq!(env.survivors(), Vec::<String>::new(), "{command}");
}

#[test]
fn a_timeout_ends_the_whole_tree() {
    for (command, at_most) in [
        ("echo last words; echo $$ >pids; sleep 60", 4.0),
        ("echo last words >&2; sleep 60 & echo $! >pids; wait", 4.0),
        ("echo last words; setsid sleep 60 & sleep 0.1; pgrep -P $$ >pids; sleep 60", 4.0),
        ("echo last words; (setsid bash -c 'echo $$ >>pids; sleep 60' & ) ; sleep 60", 4.0),
        ("echo last words; (env -i setsid bash -c 'echo $$ >>pids; sleep 60; true' & ) ; sleep 60", 4.0),
    ] {
        check_timeout(command, at_most);
    }
}

#[test]
fn an_error_quotes_both_streams() {
    let env = one("echo words; echo complaint >&2; sleep 20", "    timeout: 1\n");
    let error = first_error(&env.run(["r.yaml", "--output-format", "json"]));
    let quoted = "last on stdout:\nwords\nlast on stderr:\ncomplaint";
    assert_eq!(error, format!("bash step failed: timed out after 1 s\n{quoted}"));
}

#[test]
fn a_suspended_run_can_be_cancelled() {
    let env = one("echo $$ >pids; sleep 60", "");
    let started = env.spawn(["r.yaml"]);
    env.wait_for("pids");
    started.signal("STOP");
    let output = env.run(["cancel", "last"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(started.wait().code, 130);
    assert_eq!(env.survivors(), Vec::<String>::new());
}

#[test]
fn a_process_that_ignores_term_is_killed() {
    check_timeout("trap '' TERM; echo last words; echo $$ >pids; while :; do sleep 0.2; done", 9.0);
}

#[test]
fn a_process_that_ignores_all_signals_in_its_own_session_is_killed() {
    check_timeout(
        "echo last words; (setsid bash -c \"trap '' TERM HUP; echo \\$\\$ >pids; while :; do sleep 0.2; done\" & ); sleep 60",
        9.0,
    );
}

#[test]
fn a_step_that_never_stops_printing_times_out() {
    let env = one("yes last words", "    timeout: 1\n");
    let start = Instant::now();
    let output = env.shell("$RUNNER r.yaml >/dev/null");
    assert_eq!(output.code, 1, "{}", output.stderr);
    assert!(output.stderr.contains("timed out after 1 s"), "{}", output.stderr);
    assert!(start.elapsed() < Duration::from_secs(12), "{:?}", start.elapsed());
    assert_eq!(env.survivors(), Vec::<String>::new());
}

#[test]
fn a_death_by_signal_is_a_failure_that_names_the_signal() {
    for (signal, name) in [("KILL", "SIGKILL"), ("TERM", "SIGTERM"), ("SEGV", "SIGSEGV"), ("ABRT", "SIGABRT")]
    {
        let output = one(&format!("kill -{signal} $$"), "").run(["r.yaml", "--output-format", "json"]);
        assert_eq!(output.code, 1, "{signal}");
        let error = first_error(&output);
        assert!(error.contains("bash step failed") && error.contains(name), "{signal}: {error}");
    }
}

#[test]
fn a_step_ends_with_its_main_process_even_if_its_output_stays_open() {
    for command in ["sleep 30 & echo done", "setsid sleep 30 & echo done", "(sleep 30 &) ; echo done"] {
        let env = one(command, "    output: x\n");
        let start = Instant::now();
        let output = env.run(["r.yaml", "--output-format", "json"]);
        assert_eq!(output.code, 0, "{command}: {}", output.all());
        assert!(start.elapsed() < Duration::from_secs(4), "{command}: {:?}", start.elapsed());
        let result = output.json();
        assert_eq!(result["context"]["x"], "done", "{command}");
        let ended = result["ended_processes"].to_string();
        assert!(ended.contains("sleep 30"), "{command}: {ended}");
        assert_eq!(env.survivors(), Vec::<String>::new(), "{command}");
    }
}

#[test]
fn a_background_process_lives_until_the_end_of_the_run() {
    let env = env("name: r
steps:
  - id: server
    command: |
      (while :; do echo tick; sleep 0.05; done) &
      echo $! >server.pid
  - id: wait
    command: sleep 0.4; kill -0 $(cat server.pid) && echo alive
    output: seen
");
    let output = env.run(["r.yaml"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert!(output.stdout.contains("alive"), "{}", output.all());
    let said = format!("{}{}", output.stdout, output.stderr);
    assert!(said.contains("ended a background process"), "{}", output.all());
    assert!(!is_alive(&env.read("server.pid")));
    let log = env.run(["logs", "last", "server"]).stdout;
    assert!(log.matches("tick").count() >= 4, "{log}");
}

#[test]
fn stdin_is_at_its_end() {
    let env = one("read x && echo got || echo end", "    output: x\n");
    let mut command = env.command(std::path::Path::new("/bin/bash"));
    command
        .args(["-c", "yes | $RUNNER r.yaml --output-format json"])
        .env("RUNNER", env.runner().get_program());
    let output = env.start(command).wait();
    assert_eq!(output.json()["context"]["x"], "end");
}

/// Runs the recipe until its step says that it is there, sends signals, and expects a clean end.
fn check_signal(name: &str, format: &str, code: i32, body: &str, at_most: f64) {
    let env = env(&format!(
        "name: r
steps:
  - id: before
    command: echo kept
  - id: a
    parallel_group: g
    command: |
      setsid sleep 60 &
      echo up >a; {body}
  - id: b
    parallel_group: g
    command: echo up >b; sleep 60
  - id: after
    command: echo never >never
"
    ));
    let started = env.spawn(["r.yaml", "--output-format", format]);
    env.wait_for("a");
    env.wait_for("b");
    let start = Instant::now();
    for signal in name.split(',') {
        started.signal(signal);
        std::thread::sleep(Duration::from_millis(200));
    }
    let output = started.wait();
    assert_eq!(output.code, code, "{name} {}", output.all());
    assert!(start.elapsed().as_secs_f64() < at_most, "{name}: {:?}", start.elapsed());
    assert_eq!(env.survivors(), Vec::<String>::new(), "{name}");
    assert!(env.read("never").is_empty());
    if format == "json" {
        let result = output.json();
        assert_eq!(result["status"], "interrupted");
        assert_eq!(result["exit_code"], code);
        assert_eq!(result["step_results"][0]["status"], "completed");
    } else {
        assert!(output.stdout.contains("interrupted"), "{}", output.all());
    }
    let shown = env.run(["show", "last", "--output-format", "json"]).json();
    assert_eq!(shown["status"], "interrupted");
    let listed = env.run(["runs", "--output-format", "json"]).json();
    assert_eq!(listed[0]["status"], "interrupted");
}

#[test]
fn signals_end_everything_and_the_result_is_written() {
    for (name, format, code) in
        [("INT", "json", 130), ("TERM", "text", 143), ("HUP", "json", 143), ("INT", "text", 130)]
    {
        check_signal(name, format, code, "sleep 60", 4.0);
    }
}

#[test]
fn a_second_signal_does_not_wait() {
    check_signal("INT,INT", "json", 130, "trap '' TERM; while :; do sleep 0.1; done", 3.5);
}

#[test]
fn one_signal_kills_stubborn_processes_after_a_while() {
    check_signal("TERM", "json", 143, "trap '' TERM; while :; do sleep 0.1; done", 9.0);
}

#[test]
fn nohup_is_respected() {
    let env = one("echo up >up; sleep 0.7; echo done", "    output: x\n");
    let mut command = env.command(std::path::Path::new("nohup"));
    command.arg(env.runner().get_program()).args(["r.yaml", "--output-format", "json"]);
    let started = env.start(command);
    env.wait_for("up");
    started.signal("HUP");
    let output = started.wait();
    assert_eq!(output.code, 0, "{}", output.all());
}

#[test]
fn a_closed_stdout_does_not_stop_the_run() {
    for line in [
        "$RUNNER r.yaml | head -1",
        "$RUNNER r.yaml >&-",
        "$RUNNER r.yaml >&- 2>&-",
        "$RUNNER r.yaml --output-format json | true",
        "$RUNNER r.yaml >/dev/full",
        "$RUNNER r.yaml --progress 2>/dev/full",
    ] {
        let env = env("name: r
steps:
  - id: a
    command: for i in $(seq 2000); do echo line $i; done
  - id: b
    command: seq 20000; echo b >b
");
        let output = env.shell(line);
        assert!(!output.stderr.contains("panicked"), "{line}: {}", output.all());
        assert_eq!(env.read("b").trim(), "b", "{line}: {}", output.all());
        assert_eq!(env.run(["show", "last", "--output-format", "json"]).json()["status"], "completed");
    }
}

#[test]
fn many_parallel_steps_take_as_long_as_one() {
    for (count, at_most) in [(100, 15.0), (200, 25.0)] {
        let steps: String = (0..count)
            .map(|n| format!("  - id: s{n}\n    parallel_group: g\n    command: sleep 0.5\n"))
            .collect();
        let env = env(&format!("name: r\nsteps:\n{steps}"));
        let start = Instant::now();
        let output = env.run(["r.yaml", "--max-parallel", "200", "--output-format", "json"]);
        assert_eq!(output.code, 0, "{}", output.stderr);
        assert!(start.elapsed().as_secs_f64() < at_most, "{count}: {:?}", start.elapsed());
    }
}

#[test]
fn neither_zombies_nor_descriptors_pile_up() {
    let steps: String = (0..150)
        .map(|n| format!("  - id: s{n}\n    command: (true &) ; echo {n}\n    output: v{n}\n"))
        .collect();
    let env = env(&format!(
        "name: r\nsteps:\n{steps}  - id: last\n    command: echo up >up; for i in $(seq 400); do [ -e go ] && break; sleep 0.05; done\n"
    ));
    let started = env.spawn(["r.yaml"]);
    env.wait_for("up");
    let pid = started.pid();
    let open = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count();
    assert!(open < 24, "{open} descriptors");
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    // the last step, and on a slow day a guardian
    let children = children.split_whitespace().filter(|pid| !env.guardians().contains(&(*pid).to_owned()));
    assert_eq!(children.count(), 1);
    env.write("go", "go");
    assert_eq!(started.wait().code, 0);
}

#[test]
fn a_run_resumes_after_a_step_killed_the_runner() {
    let env = env("name: r
steps:
  - id: a
    command: echo a >>ledger; echo va
    output: x
  - id: b
    command: |
      if [ ! -e once ]; then touch once; kill -9 $PPID; sleep 0.3; fi
      echo b {{x}} >>ledger
");
    let output = env.run(["r.yaml"]);
    assert_eq!(output.code, 128 + 9, "{}", output.all());
    assert_eq!(env.run(["runs", "--output-format", "json"]).json()[0]["status"], "interrupted");
    let output = env.run(["resume", "last"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert!(env.read("ledger").starts_with("a\n"), "{}", env.read("ledger"));
    assert!(env.read("ledger").ends_with("b va\n"), "{}", env.read("ledger"));
    assert_eq!(env.read("ledger").matches("a\n").count() - env.read("ledger").matches("va\n").count(), 1);
}

#[test]
fn a_vanished_directory_fails_only_the_steps_that_need_it() {
    let env = env("name: r
steps:
  - id: make
    command: mkdir -p d
  - id: vanish
    working_dir: d
    command: rmdir ../d; echo still here
    output: x
  - id: gone
    working_dir: d
    command: echo never
    continue_on_error: true
  - id: fine
    command: echo '{{x}}'
");
    let output = env.run(["r.yaml", "--output-format", "json"]);
    assert_eq!(output.code, 0, "{}", output.all());
    let result = output.json();
    assert!(result["step_results"][2]["error"].as_str().unwrap().contains("does not exist"), "{result}");
    assert_eq!(result["step_results"][3]["output"], "still here");
}

#[test]
fn a_huge_output_needs_little_memory() {
    let (small, _) = peak_after("echo x");
    let (large, env) = peak_after("head -c 1000000000 /dev/zero | tr '\\0' x");
    // the value itself is 10 MB, and is copied once
    assert!(large < small + 21_000, "{large} kB, {small} kB without it");
    let size = std::fs::metadata(env.run_dir().join("steps/big/1/stdout")).unwrap().len();
    assert_eq!(size, 1_000_000_000);
}

/// The most memory that the runner had needed after a step with this command, in kB.
fn peak_after(command: &str) -> (u64, TestEnv) {
    let env = env(&format!(
        "name: r
steps:
  - id: big
    command: {command}
    output: x
  - id: after
    command: 'grep VmHWM: /proc/$PPID/status'
"
    ));
    let output = env.run(["r.yaml", "--quiet", "--output-format", "json"]);
    assert_eq!(output.code, 0, "{}", output.all());
    let json = output.json();
    let words = json["step_results"][1]["output"].as_str().and_then(|line| line.split_whitespace().nth(1));
    let peak = words.and_then(|number| number.parse().ok());
    assert!(peak.is_some(), "{}", output.all());
    (peak.unwrap_or_default(), env)
}

#[test]
fn binary_output_is_kept_in_the_log_and_made_readable_in_the_value() {
    let env = one("printf 'a\\377b\\n'", "    output: x\n");
    let output = env.run(["r.yaml", "--output-format", "json"]);
    assert_eq!(output.json()["context"]["x"], "a\u{fffd}b");
    assert_eq!(std::fs::read(env.run_dir().join("steps/s/1/stdout")).unwrap(), b"a\xffb\n");
}

#[test]
fn few_descriptors_slow_a_run_down_and_do_not_stop_it() {
    let steps: String = (0..40)
        .map(|n| format!("  - id: s{n}\n    parallel_group: g\n    command: sleep 0.1; echo {n} >>ledger\n"))
        .collect();
    let env = env(&format!("name: r\nsteps:\n{steps}"));
    let output = env.shell("ulimit -n 32; $RUNNER r.yaml --output-format json");
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(env.read("ledger").lines().count(), 40);
    until("nothing is left", || env.survivors().is_empty());
}
