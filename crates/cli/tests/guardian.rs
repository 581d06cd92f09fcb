//! The guardian: when the runner is gone, nothing of its run is alive, also after `kill -9`.
#![cfg(target_os = "linux")]

use std::{fs, path::Path};

use testkit::{Output, Started, TestEnv, is_alive, until};

/// Never ends by itself, and not when it is asked to.
const STUBBORN: &str = "trap '' TERM HUP INT; while :; do sleep 0.2; done";

fn env(recipe: &str) -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs")).file("r.yaml", recipe)
}

/// A recipe of one step that is up, and stays up until the file `go` is there.
fn lasting() -> TestEnv {
    env("name: r
steps:
  - id: s
    command: echo $$ >>pids; echo up >up; until [ -e go ]; do sleep 0.05; done; echo done >>ledger
")
}

/// The one guardian of the world, as soon as there is one.
fn guardian(env: &TestEnv) -> String {
    until("there is a guardian", || !env.guardians().is_empty());
    let mut guardians = env.guardians();
    assert_eq!(guardians.len(), 1);
    guardians.remove(0)
}

fn signal(env: &TestEnv, name: &str, pid: &str) {
    assert_eq!(env.shell(&format!("kill -{name} {pid}")).code, 0, "{name} {pid}");
}

/// Starts a run that has a guardian.
fn guarded(env: &TestEnv) -> Started {
    let started = env.spawn(["r.yaml"]);
    env.wait_for("up");
    guardian(env);
    started
}

/// Kills the runner: everything ends, those in the file `pids` too; afterwards the run can be resumed.
fn check_killed(env: &TestEnv) {
    let started = guarded(env);
    let pids = env.read("pids");
    assert!(!pids.is_empty() && pids.lines().all(is_alive), "{pids}");
    started.kill();
    until("nothing of the run is alive", || env.survivors().is_empty() && !pids.lines().any(is_alive));
    until("the guardian is gone", || env.guardians().is_empty());
    assert_eq!(env.run(["runs", "--output-format", "json"]).json()[0]["status"], "interrupted");
    env.write("go", "");
    let output = env.run(["resume", "last"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(env.read("ledger"), "done\n");
    assert_eq!(env.survivors(), Vec::<String>::new());
    assert_eq!(env.guardians(), Vec::<String>::new());
}

#[test]
fn a_long_step_ends_with_its_killed_runner() {
    check_killed(&lasting());
}

#[test]
fn processes_that_left_their_group_or_environment_end_too() {
    check_killed(&env(&format!(
        "name: r
steps:
  - id: s
    command: |
      if [ ! -e go ]; then
        (setsid bash -c \"echo \\$\\$ >>pids; {STUBBORN}\" &)
        env -i sleep 61 & echo $! >>pids
        until [ $(wc -l <pids) = 2 ]; do sleep 0.05; done
        echo up >up; sleep 60
      fi
      echo done >>ledger
"
    )));
}

#[test]
fn a_parallel_group_ends_with_its_killed_runner() {
    let step = |id: &str, then: &str| {
        format!(
            "  - id: {id}\n    parallel_group: g\n    command: echo $$ >>pids; {then}; [ -e go ] || sleep 60\n"
        )
    };
    let up = "until [ $(wc -l <pids) -ge 3 ]; do sleep 0.05; done; echo up >up";
    let steps = [step("a", "true"), step("b", "true"), step("c", up)].concat();
    check_killed(&env(&format!("name: r\nsteps:\n{steps}  - id: end\n    command: echo done >>ledger\n")));
}

#[test]
fn a_background_server_ends_with_its_killed_runner() {
    check_killed(&env("name: r
steps:
  - id: server
    command: |
      setsid sleep 61 & echo $! >>pids
      (while :; do sleep 0.1; done) & echo $! >>pids
  - id: s
    command: echo up >up; until [ -e go ]; do sleep 0.05; done; echo done >>ledger
"));
}

#[test]
fn an_agent_ends_with_its_killed_runner() {
    let body = format!(
        "if [ ! -e go ]; then (setsid bash -c \"echo \\$\\$ >>pids; {STUBBORN}\" &)
         until [ -s pids ]; do sleep 0.05; done; echo $$ >>pids; echo up >up; sleep 60; fi; result fine"
    );
    let recipe = "name: r\nsteps:\n  - {id: a, prompt: work}\n  - {id: end, command: 'echo done >>ledger'}\n";
    check_killed(&env(recipe).agent("claude", &body));
}

#[test]
fn an_inner_runner_ends_with_the_killed_outer_one() {
    let inner = "name: inner
steps:
  - id: s
    command: (setsid sleep 62 & echo $! >>pids); echo $$ >>pids; echo up >up; sleep 60
";
    let outer = "name: r
steps:
  - id: s
    command: |
      [ -e go ] || \"$RECIPE_RUNNER_EXE\" inner.yaml
      echo done >>ledger
";
    let env = env(outer).file("inner.yaml", inner);
    let started = env.spawn(["r.yaml"]);
    env.wait_for("up");
    until("both have a guardian", || env.guardians().len() == 2);
    started.kill();
    until("nothing is alive", || env.survivors().is_empty() && env.guardians().is_empty());
    assert!(!env.read("pids").lines().any(is_alive));
    assert_eq!(env.read("ledger"), "");
}

/// A run that took long enough for a guardian, and how it ended: nothing is left.
fn check_end(env: &TestEnv, end: impl FnOnce(Started) -> Output, code: i32) {
    let output = end(guarded(env));
    assert_eq!(output.code, code, "{}", output.all());
    assert_eq!(env.guardians(), Vec::<String>::new(), "{code}");
    assert_eq!(env.survivors(), Vec::<String>::new(), "{code}");
}

#[test]
fn a_run_that_comes_to_its_end_leaves_no_guardian() {
    let let_go = |env: &TestEnv| env.write("go", "");
    let env = lasting();
    check_end(
        &env,
        |started| {
            let_go(&env);
            started.wait()
        },
        0,
    );
    let env = lasting();
    check_end(
        &env,
        |started| {
            fs::create_dir(env.path("ledger")).unwrap();
            let_go(&env);
            started.wait()
        },
        1,
    );
    for (name, code) in [("INT", 130), ("TERM", 143), ("HUP", 143)] {
        check_end(
            &lasting(),
            |started| {
                started.signal(name);
                started.wait()
            },
            code,
        );
    }
    let env = lasting();
    check_end(
        &env,
        |started| {
            assert_eq!(env.run(["cancel", "last"]).code, 0);
            started.wait()
        },
        130,
    );
}

#[test]
fn short_steps_have_no_guardian() {
    let steps: String = (0..20).map(|n| format!("  - id: s{n}\n    command: sleep 0.08\n")).collect();
    let env = env(&format!("name: r\nsteps:\n{steps}"));
    let mut started = env.spawn(["r.yaml"]);
    while started.is_running() {
        assert_eq!(env.guardians(), Vec::<String>::new());
    }
    assert_eq!(started.wait().code, 0);
}

#[test]
fn a_run_with_a_new_owner_is_left_alone() {
    let env = lasting();
    let started = guarded(&env);
    let guardian = guardian(&env);
    signal(&env, "STOP", &guardian);
    started.kill();
    fs::remove_file(env.path("up")).unwrap();
    let resumed = env.spawn(["resume", "last"]);
    env.wait_for("up");
    signal(&env, "CONT", &guardian);
    until("the first guardian has given up", || !is_alive(&guardian));
    let pids = env.read("pids");
    let alive: Vec<bool> = pids.lines().map(is_alive).collect();
    assert_eq!(alive, [false, true], "{pids}");
    env.write("go", "");
    let output = resumed.wait();
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(env.read("ledger"), "done\n");
}

#[test]
fn a_resume_waits_for_a_guardian_at_work() {
    let env = env(&format!(
        "name: r
steps:
  - id: s
    command: |
      echo $$ >>pids; echo up >up
      [ -e go ] || ( {STUBBORN} )
      sleep 8; echo done >>ledger
"
    ));
    let started = guarded(&env);
    env.write("go", "");
    started.kill();
    let output = env.run(["resume", "last"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(env.read("ledger"), "done\n");
    until("the guardian is gone", || env.guardians().is_empty());
}

#[test]
fn a_cancel_after_the_death_finds_nothing_alive() {
    let env = lasting();
    guarded(&env).kill();
    assert_eq!(env.run(["cancel", "last"]).code, 0);
    assert_eq!(env.survivors(), Vec::<String>::new());
    assert_eq!(env.run(["runs", "--output-format", "json"]).json()[0]["status"], "cancelled");
}

#[test]
fn a_run_continues_without_its_guardian() {
    let env = lasting();
    check_end(
        &env,
        |started| {
            signal(&env, "KILL", &guardian(&env));
            env.write("go", "");
            started.wait()
        },
        0,
    );
    let stopped = lasting();
    check_end(
        &stopped,
        |started| {
            signal(&stopped, "STOP", &guardian(&stopped));
            stopped.write("go", "");
            started.wait()
        },
        0,
    );
}

#[test]
fn a_guardian_is_not_part_of_the_run() {
    let env = lasting();
    let started = guarded(&env);
    let pid = guardian(&env);
    let process = Path::new("/proc").join(&pid);
    let text = |name: &str| fs::read_to_string(process.join(name)).unwrap();
    until("it is at its place", || text("comm") == "recipe-guardian\n");
    for name in ["INT", "TERM", "HUP", "QUIT"] {
        signal(&env, name, &pid);
    }
    assert_eq!(text("environ"), "");
    assert_eq!(fs::read_link(process.join("cwd")).unwrap(), Path::new("/"));
    let fields: Vec<String> =
        text("stat").rsplit_once(") ").unwrap().1.split(' ').map(str::to_owned).collect();
    assert_eq!((&fields[2], &fields[3]), (&pid, &pid), "group and session");
    for (number, target) in [("1", "/dev/null"), ("2", "/dev/null")] {
        assert_eq!(fs::read_link(process.join("fd").join(number)).unwrap(), Path::new(target));
    }
    // descriptors inherited from the test runner do not count
    let output = fs::read_link(format!("/proc/{}/fd/1", started.pid())).unwrap();
    let open = fs::read_dir(process.join("fd")).unwrap().flatten();
    let files = open.filter_map(|entry| fs::read_link(entry.path()).ok());
    let files: Vec<_> = files.filter(|file| file.starts_with(env.state()) || *file == output).collect();
    assert!(files.is_empty(), "the runner's: {files:?}");
    assert!(!env.pids().contains(&pid));
    env.write("go", "");
    assert_eq!(started.wait().code, 0);
    assert_eq!(env.guardians(), Vec::<String>::new());
}

#[test]
fn the_guardian_is_a_hidden_command() {
    let env = env("name: r\nsteps: []\n")
        .file("__guard.yaml", "name: g\nsteps:\n  - {id: s, command: echo mine}\n");
    for arguments in [&["--help"][..], &["completions", "bash"], &["man"]] {
        let output = env.run(arguments.iter().copied());
        assert!(!output.stdout.contains("__guard"), "{arguments:?}");
    }
    for arguments in
        [&["./__guard.yaml"][..], &["__guard.yaml"], &["run", "__guard.yaml"], &["__guard", "-R", "."]]
    {
        let output = env.run(arguments.iter().copied());
        assert_eq!(output.code, 0, "{arguments:?}: {}", output.all());
        assert!(output.stdout.contains("mine"), "{arguments:?}: {}", output.all());
    }
    assert_eq!(env.run(["__guard", "/nowhere"]).code, 0, "there is no output, and nothing is left");
}
