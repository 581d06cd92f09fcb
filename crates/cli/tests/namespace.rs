//! Inside a pid namespace, as containers and sandboxes make them: the process group and the session of the runner may
//! belong to a process outside, and have no number there; or the runner is itself the first process.

use std::time::{Duration, Instant};

use testkit::{TestEnv, is_alive};

const UNSHARE: &str = "unshare --map-root-user --pid --fork --mount-proc";
/// How the runner is started: as a child, in a group of its own, and as the first process.
const PLACES: [&str; 3] = [r#""$@"; exit $?"#, r#"set -m; "$@"; exit $?"#, r#"exec "$@""#];

/// Whether this machine lets us make namespaces; where it does not, there is nothing to see.
fn is_allowed(env: &TestEnv) -> bool {
    env.shell(&format!("{UNSHARE} true")).code == 0
}

#[test]
fn leftover_processes_are_known_and_ended() {
    let is_alive = "command: pgrep -x sleep >/dev/null && echo alive";
    for (steps, code, told) in [
        (format!("- {{id: s, command: sleep 300 &}}\n- {{id: v, {is_alive}}}"), 0, "sleep 300"),
        (format!("- {{id: s, command: setsid sleep 300 &}}\n- {{id: v, {is_alive}}}"), 0, "sleep 300"),
        ("- {id: v, command: 'exec > >(sleep 0.2; cat) 2>&1; echo alive'}".to_owned(), 0, ""),
        (
            "- {id: v, timeout: 1, command: '(setsid sleep 300 &); sleep 300 & wait'}".to_owned(),
            1,
            "after 1 s",
        ),
    ] {
        for place in PLACES {
            let env = TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
                .file("r.yaml", format!("name: r\nsteps:\n{steps}\n"));
            if !is_allowed(&env) {
                eprintln!("skipped: namespaces are not allowed here");
                return;
            }
            let runner = r#"bash "$RUNNER" r.yaml --output-format json"#;
            let output = env.shell(&format!("{UNSHARE} bash -c '{place}' {runner}"));
            assert_eq!(output.code, code, "{place} {steps} {}", output.all());
            assert!(code == 1 || output.value("v") == "alive", "{place} {steps} {}", output.all());
            let result = output.json();
            let said = format!("{} {}", result["ended_processes"], output.step("v")["error"]);
            assert!(said.contains(told), "{place} {steps} {}", output.all());
        }
    }
}

/// If `/proc` is empty or belongs to the outer namespace, its numbers mean no process here, or another one.
#[test]
fn without_a_proc_of_its_own_the_runner_ends_the_groups_that_it_started() {
    let outside = "unshare --map-root-user --pid --fork";
    let empty = "unshare --map-root-user --mount bash -c 'mount -t tmpfs none /proc; \"$@\"' bash";
    let first =
        "unshare --map-root-user --pid --fork --mount bash -c 'mount -t tmpfs none /proc; exec \"$@\"' bash";
    for place in [outside, empty, first] {
        let env = TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs")).file(
            "r.yaml",
            "name: r\nsteps:\n- {id: s, command: sleep 300 &}\n\
             - {id: v, timeout: 1, continue_on_error: true, command: \"trap 'exit 0' TERM; while :; do sleep 0.1; done\"}\n",
        );
        if !is_allowed(&env) || env.shell(&format!("{place} true")).code != 0 {
            eprintln!("skipped: namespaces are not allowed here");
            return;
        }
        let began = Instant::now();
        let output = env.shell(&format!("{place} \"$RUNNER\" r.yaml --output-format json"));
        assert_eq!(output.code, 0, "{place} {}", output.all());
        assert!(began.elapsed() < Duration::from_secs(5), "{place} {}", output.all());
        let ended = output.json()["ended_processes"].to_string();
        assert!(ended.contains("process group"), "{place} {}", output.all());
        assert!(output.stderr.contains("warning: `/proc` is missing, or shows"), "{place} {}", output.all());
        let doctor = env.shell(&format!("{place} \"$RUNNER\" doctor"));
        assert!(doctor.stdout.contains("! /proc"), "{place} {}", doctor.all());
        assert_eq!(env.survivors(), Vec::<String>::new(), "{place}");
    }
}

/// The number of a runner in another namespace may belong to another process here.
#[test]
fn only_the_run_in_the_other_namespace_is_cancelled() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
        .file("r.yaml", "name: r\nsteps:\n- {id: s, command: 'echo x >began; sleep 300'}\n");
    if !is_allowed(&env) {
        eprintln!("skipped: namespaces are not allowed here");
        return;
    }
    let mut command = env.command("/bin/bash".as_ref());
    let line = r#"sleep 300 & echo $! >innocent; unshare --map-root-user --pid --fork --mount-proc bash -c \
        'echo $(( $(cat innocent) - 1 )) >/proc/sys/kernel/ns_last_pid; "$0" r.yaml' "$RUNNER""#;
    command.args(["-c", line]).env("RUNNER", env!("CARGO_BIN_EXE_recipe-runner-rs"));
    let started = env.start(command);
    env.wait_for("began");
    let pid = env.read("innocent").trim().to_owned();
    let busy = env.run(["r.yaml"]);
    assert!(busy.code == 7 && busy.stderr.contains("in another container"), "{}", busy.all());
    let cancelled = env.run(["cancel", "last"]);
    assert!(cancelled.code == 0 && is_alive(&pid), "{}", cancelled.all());
    env.shell(&format!("kill {pid}"));
    assert!(started.wait().stderr.contains("cancelled"));
    assert_eq!(env.survivors(), Vec::<String>::new());
}
