//! Who owns a run: of several processes one continues it, and any of them can cancel it.

use std::time::Duration;

use super::*;

#[test]
fn of_two_resumers_one_wins() {
    let env = killed("", "sleep 30");
    env.write("r.yaml", "gone");
    let two = [env.spawn(["resume", "last"]), env.spawn(["resume", "last"])];
    let outputs = two.map(testkit::Started::wait);
    let mut codes = outputs.each_ref().map(|output| output.code);
    codes.sort_unstable();
    let said = format!("{}{}", outputs[0].all(), outputs[1].all());
    assert!(codes == [0, 7] || said.contains("has already completed"), "{said}");
    assert_eq!(env.read("ledger"), "a\nb\nb\nc\n");
}

#[test]
fn a_run_that_is_alive_belongs_to_its_process() {
    let env = env(
        "name: r\nsteps:\n  - id: s\n    command: echo up >up; for i in $(seq 400); do [ -e go ] && break; sleep 0.05; done\n",
    );
    let started = env.spawn(["r.yaml"]);
    env.wait_for("up");
    let output = env.run(["resume", "last"]);
    assert_eq!(output.code, 7, "{}", output.all());
    assert_eq!(env.run(["runs", "--output-format", "json"]).json()[0]["status"], "running");
    let removed = env.run(["prune", "--keep", "0", "--output-format", "json"]);
    assert_eq!(removed.json()["removed"], serde_json::json!([]));
    env.write("go", "");
    assert_eq!(started.wait().code, 0);
    let output = env.run(["resume", "last"]);
    assert_eq!(output.code, 0);
    assert!(output.stdout.contains("has already completed"), "{}", output.all());
    assert_eq!(env.run(["prune", "--keep", "0"]).code, 0);
    assert!(env.run_ids().is_empty());
}

#[test]
fn cancelling() {
    let recipe = "name: r
steps:
  - id: s
    command: |
      setsid sleep 60 &
      echo up >up; sleep 60
";
    let env = env(recipe);
    let started = env.spawn(["r.yaml", "--output-format", "json"]);
    env.wait_for("up");
    let output = env.run(["cancel", "last"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(env.survivors(), Vec::<String>::new());
    let ended = started.wait();
    assert_eq!(ended.code, 130, "{}", ended.all());
    assert_eq!(ended.json()["status"], "cancelled");
    assert_eq!(env.run(["runs", "--output-format", "json"]).json()[0]["status"], "cancelled");
    let output = env.run(["cancel", "last"]);
    assert_eq!(output.code, 0);
    assert!(output.stdout.contains("has already ended"), "{}", output.all());
}

#[test]
fn cancelling_at_any_moment_after_the_start() {
    for delay in [0, 3, 6, 10, 15, 25, 40] {
        let env = env("name: r\nsteps:\n  - id: s\n    command: sleep 60\n");
        let started = env.spawn(["r.yaml"]);
        testkit::until("there is a run", || !env.run_ids().is_empty());
        std::thread::sleep(Duration::from_millis(delay));
        let output = env.run(["cancel", "last"]);
        assert_eq!(output.code, 0, "{delay}: {}", output.all());
        drop(started.wait());
        let listed = env.run(["runs", "--output-format", "json"]).json();
        assert_eq!(listed[0]["status"], "cancelled", "{delay}: {listed}");
        assert_eq!(env.survivors(), Vec::<String>::new(), "{delay}");
    }
}

#[test]
fn cancelling_a_killed_run_ends_its_orphans() {
    let env = killed("", "(setsid sleep 60 &); sleep 60");
    assert!(!env.survivors().is_empty());
    let output = env.run(["cancel", "last"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(env.survivors(), Vec::<String>::new());
    let shown = env.run(["show", "last", "--output-format", "json"]).json();
    assert_eq!(shown["status"], "cancelled");
}

#[test]
fn names_of_runs() {
    let env = env("name: r\nsteps:\n  - id: s\n    command: 'true'\n");
    for verb in ["show", "resume", "cancel", "logs"] {
        assert_eq!(env.run([verb, "last"]).code, 3, "{verb}");
        assert_eq!(env.run([verb, "nothing"]).code, 3, "{verb}");
        assert_eq!(env.run([verb, "../x"]).code, 3, "{verb}");
    }
    env.run(["r.yaml"]);
    env.run(["r.yaml"]);
    let ids = env.run_ids();
    assert_eq!(env.run(["show", &ids[0]]).code, 0);
    assert_eq!(env.run(["show", &ids[0][..ids[0].len() - 1]]).code, 0);
    let output = env.run(["show", "20"]);
    assert_eq!(output.code, 3);
    assert!(output.stderr.contains("`20` matches 2 runs"), "{}", output.all());
    let shown = env.run(["show", "last", "--output-format", "json"]).json();
    assert_eq!(shown["run_id"], ids[1].as_str());
}
