//! Sessions: runs inside runs are counted in a tree, and the dead do not count.

use std::{path::PathBuf, process::Stdio};

use serde_json::{Value as Json, json};
use testkit::{TestEnv, until};

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

const HELLO: &str = "name: r\nsteps: [{id: a, command: echo hello}]\n";

fn trees(env: &TestEnv) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(env.state().join("trees")).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .collect()
}

fn tree(env: &TestEnv) -> Json {
    let files = trees(env);
    assert_eq!(files.len(), 1, "{files:?}");
    serde_json::from_slice(&std::fs::read(&files[0]).unwrap_or_default()).unwrap_or_default()
}

fn statuses(tree: &Json) -> Vec<&str> {
    let sessions = tree["sessions"].as_object().into_iter().flatten();
    sessions.filter_map(|(_, session)| session["status"].as_str()).collect()
}

#[test]
fn a_run_alone_writes_no_tree() {
    let env = env();
    assert_eq!(env.text(HELLO, &[]).code, 0);
    assert!(!env.state().join("trees").exists());
}

#[test]
fn a_run_at_the_maximum_depth_is_refused() {
    for (depth, max, code) in [
        ("2", "", 0),
        ("3", "", 5),
        ("abc", "", 5),
        ("3", "4", 0),
        ("40", "1000", 5),
        ("31", "1000", 0),
        ("32", "1000", 5),
    ] {
        let env = env().env("AMPLIHACK_SESSION_DEPTH", depth).env("AMPLIHACK_TREE_ID", "t");
        let env = if max.is_empty() { env } else { env.env("AMPLIHACK_MAX_DEPTH", max) };
        let output = env.text(HELLO, &[]);
        assert_eq!(output.code, code, "{depth} of {max}: {}", output.all());
        if code == 5 {
            assert!(output.stderr.contains("depth"), "{}", output.all());
        } else {
            assert_eq!(statuses(&tree(&env)), ["completed"], "{depth}");
        }
    }
}

#[test]
fn a_nested_run_is_in_the_tree_while_it_lives() {
    let inner = "name: inner\nsteps: [{id: a, command: 'cp \"$AMPLIHACK_SESSION_TREE_DIR/$AMPLIHACK_TREE_ID.json\" seen'}]\n";
    for fails in ["", "; exit 3"] {
        let env = env().file("inner.yaml", inner.replace("seen'", &format!("seen{fails}'")));
        let outer = "name: r\nsteps: [{id: a, command: '\"$RECIPE_RUNNER_EXE\" inner.yaml || true'}]\n";
        let output = env.text(outer, &[]);
        assert_eq!(output.code, 0, "{}", output.all());
        let runs = env.run_ids();
        let seen: Json = serde_json::from_str(&env.read("seen")).unwrap();
        let session = &seen["sessions"][&runs[1]];
        assert_eq!((&seen["schema"], &seen["tree_id"]), (&json!(1), &json!(runs[0])), "{seen}");
        assert_eq!((&session["status"], &session["kind"]), (&json!("active"), &json!("run")), "{seen}");
        assert_eq!((&session["depth"], &session["parent"]), (&json!(1), &json!(runs[0])), "{seen}");
        assert!(session["pid"].is_u64() && session["run_id"] == runs[1], "{seen}");
        let after = tree(&env);
        assert_eq!(after["sessions"][&runs[1]]["status"], "completed", "{after}");
    }
}

#[test]
fn the_eleventh_live_session_is_refused_until_one_dies() {
    let wait =
        "name: w\nsteps: [{id: a, command: 'echo x > began-$N; while [ ! -e go ]; do sleep 0.05; done'}]\n";
    let env = env()
        .file("w.yaml", format!("context: {{n: 0}}\n{wait}"))
        .env("AMPLIHACK_TREE_ID", "t")
        .env("AMPLIHACK_SESSION_DEPTH", "1");
    let start = |n: usize| {
        let mut command = env.runner();
        command.args(["w.yaml", "--allow-concurrent", "--set", &format!("n={n}")]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let mut live: Vec<_> = (0..10).map(start).collect();
    (0..10).for_each(|n| drop(env.wait_for(&format!("began-{n}"))));
    let eleventh = env.text(HELLO, &[]);
    assert_eq!(eleventh.code, 5, "{}", eleventh.all());
    assert!(
        eleventh.stderr.contains("10 sessions") && eleventh.stderr.contains("MAX_SESSIONS"),
        "{}",
        eleventh.all()
    );
    live[3].kill().unwrap();
    live[3].wait().unwrap();
    let next = env.text(HELLO, &[]);
    assert_eq!(next.code, 0, "{}", next.all());
    let lost = statuses(&tree(&env)).into_iter().filter(|status| *status == "lost").count();
    assert_eq!(lost, 1);
    env.write("go", "");
    live.iter_mut().for_each(|run| drop(run.wait()));
    until("all sessions have ended", || !statuses(&tree(&env)).contains(&"active"));
}

#[test]
fn a_hundred_sessions_at_once_lose_nothing() {
    let env = env().env("AMPLIHACK_TREE_ID", "t").env("AMPLIHACK_MAX_SESSIONS", "1000");
    let register = |id: String| {
        let mut command = env.runner();
        command.args(["orch", "session", "register", &id]).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let mut children: Vec<_> = (0..100).map(|n| (n, register(format!("s{n}")))).collect();
    let mut killed = Vec::new();
    for (n, child) in &mut children {
        if *n % 10 == 5 {
            std::thread::sleep(std::time::Duration::from_millis(3));
            child.kill().unwrap();
            killed.push(format!("s{n}"));
        }
    }
    for (n, child) in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success() || n % 10 == 5, "{n}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let tree = tree(&env);
    let known = tree["sessions"].as_object().unwrap();
    let missing: Vec<String> = (0..100)
        .map(|n| format!("s{n}"))
        .filter(|id| !known.contains_key(id) && !killed.contains(id))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
    // half of them end, at the same time
    let ends: Vec<_> = (0..50)
        .map(|n| env.runner().args(["orch", "session", "complete", &format!("s{n}")]).spawn().unwrap())
        .collect();
    ends.into_iter().for_each(|mut child| assert!(child.wait().unwrap().success()));
    let status = env.run(["orch", "session", "status"]).json();
    let active: Vec<&str> =
        status["active"].as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect();
    let number = |id: &&str| id[1..].parse::<u32>().unwrap();
    assert!(active.iter().all(|id| number(id) >= 50), "{active:?}");
    assert!(active.len() >= 45, "no session without an owner is lost within a day: {active:?}");
}

#[test]
fn the_verbs_print_what_scripts_read() {
    let env = env().env("AMPLIHACK_TREE_ID", "t").env("AMPLIHACK_MAX_SESSIONS", "2");
    let run = |line: &str| env.shell(&format!("\"$RUNNER\" orch session {line}"));
    assert_eq!(run("check").stdout, "ALLOWED\n");
    assert_eq!(run("register a").stdout, "TREE_ID=t DEPTH=0\n");
    assert_eq!(run("register b a --json").json(), json!({ "tree_id": "t", "depth": 1 }));
    let full = run("register c");
    assert_eq!((full.code, full.stdout.as_str()), (1, ""), "{}", full.all());
    assert!(full.stderr.contains("2 sessions"), "{}", full.all());
    let blocked = run("check");
    assert_eq!((blocked.code, blocked.stdout.as_str()), (2, "BLOCKED:sessions\n"));
    let done = run("complete b");
    assert_eq!((done.code, done.all().len()), (0, "exit code 0\n--- stdout\n--- stderr\n".len()));
    let status = run("status").json();
    assert_eq!(
        status,
        json!({ "tree_id": "t", "active": ["a"], "completed": ["b"], "depths": { "a": 0, "b": 1 } })
    );
    let deep = env.shell("AMPLIHACK_SESSION_DEPTH=3 \"$RUNNER\" orch session check");
    assert_eq!((deep.code, deep.stdout.as_str()), (2, "BLOCKED:depth\n"));
    let wrong = run("register ../x");
    assert_eq!(wrong.code, 1, "{}", wrong.all());
    let own = env.shell("unset AMPLIHACK_TREE_ID; \"$RUNNER\" orch session register; \"$RUNNER\" orch session complete nobody");
    assert!(
        own.code == 0 && own.stdout.starts_with("TREE_ID=2") && own.stdout.ends_with(" DEPTH=0\n"),
        "{}",
        own.all()
    );
}

#[test]
fn a_tree_that_cannot_be_written_does_not_stop_a_run() {
    let env = env().file("not-a-dir", "").env("AMPLIHACK_SESSION_DEPTH", "1").env("AMPLIHACK_TREE_ID", "t");
    let env = env.env("AMPLIHACK_SESSION_TREE_DIR", "not-a-dir/trees");
    let output = env.text(HELLO, &[]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert!(output.stderr.contains("is not counted as a session"), "{}", output.all());
    let check = env.run(["orch", "session", "check"]);
    assert_eq!((check.code, check.stdout.as_str()), (2, "BLOCKED:unregistered\n"));
    // a damaged file is moved aside
    let env = self::env().env("AMPLIHACK_SESSION_DEPTH", "1").env("AMPLIHACK_TREE_ID", "t");
    std::fs::create_dir(env.state().join("trees")).unwrap();
    std::fs::write(env.state().join("trees/t.json"), "half").unwrap();
    let output = env.text(HELLO, &[]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert!(output.stderr.contains("is damaged"), "{}", output.all());
    assert_eq!(std::fs::read_to_string(env.state().join("trees/t.damaged-1")).unwrap(), "half");
}

#[test]
fn a_resumed_run_is_a_session_again() {
    let recipe = "name: r\nsteps: [{id: a, command: 'test -e go'}]\n";
    let env = env().env("AMPLIHACK_SESSION_DEPTH", "1").env("AMPLIHACK_TREE_ID", "t");
    assert_eq!(env.text(recipe, &[]).code, 1);
    let first = tree(&env);
    env.write("go", "");
    let full = env.shell("AMPLIHACK_MAX_SESSIONS=1 \"$RUNNER\" orch session register other");
    assert_eq!(full.code, 0, "{}", full.all());
    let refused = env.shell("AMPLIHACK_MAX_SESSIONS=1 \"$RUNNER\" resume last");
    assert_eq!(refused.code, 5, "{}", refused.all());
    assert_eq!(env.run(["resume", "last"]).code, 0);
    let second = tree(&env);
    let run = env.run_ids().remove(0);
    assert_ne!(first["sessions"][&run]["started_at"], second["sessions"][&run]["started_at"]);
    assert_eq!(second["sessions"][&run]["status"], "completed");
}
