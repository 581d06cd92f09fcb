//! Commands about stored runs: their JSON, and that printed commands work.

use serde_json::Value as Json;
use testkit::{Output, TestEnv, until};

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

const FAILS: &str = "name: r\nsteps:\n  - {id: a, command: 'true'}\n  - {id: b, command: exit 1}\n";
const BAD: &str = "name: bad\nsteps:\n  - {id: a, comand: 'true'}\n  - {id: b, command: 'echo {{x'}\n";

#[test]
fn every_command_reports_an_invalid_recipe_alike() {
    let env = env();
    assert_eq!(env.json(FAILS, &[]).code, 1);
    env.write("bad.yaml", BAD);
    for (recipe, code) in [("bad.yaml", 2), ("nosuch.yaml", 3)] {
        let run = env.run([recipe, "--output-format", "json"]);
        assert_eq!(run.code, code, "{}", run.all());
        for command in [
            vec!["resume", "last", "--recipe", recipe],
            vec!["resume", "last", "--recipe", recipe, "--plan"],
            vec![recipe, "--previous-run-id", "last"],
            vec![recipe, "--start-from", "a", "--previous-run-id", "last"],
        ] {
            let output = env.run(command.iter().chain(&["--output-format", "json"]));
            assert_eq!((output.code, output.json()), (code, run.json()), "{command:?}");
            assert_eq!(output.stderr, run.stderr, "{command:?}");
        }
    }
    let diagnostics = env.run(["resume", "last", "--recipe", "bad.yaml", "--output-format", "json"]).json();
    assert_eq!(diagnostics["diagnostics"].as_array().map_or(0, Vec::len), 2, "{diagnostics}");
}

#[test]
fn followed_logs_are_one_value_when_the_run_is_over() {
    let env = env().file(
        "r.yaml",
        "name: r\nsteps:\n  - {id: a, command: echo early; echo x >there}\n  - {id: b, command: 'until [ -e go ]; do sleep 0.05; done; echo late'}\n",
    );
    let run = env.spawn(["r.yaml"]);
    env.wait_for("there");
    let mut logs = env.spawn(["logs", "last", "-f", "--output-format", "json"]);
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert!(logs.is_running());
    env.write("go", "");
    let list = logs.wait().json();
    assert_eq!(run.wait().code, 0);
    let printed = |at: usize| list[at]["stdout"].as_str().unwrap_or_default().trim().to_owned();
    assert_eq!((printed(0).as_str(), printed(1).as_str()), ("early", "late"), "{list}");
    // of a run that is over there is nothing to wait for
    let again = env.run(["logs", "last", "-f", "--output-format", "json"]);
    assert_eq!(again.json(), list);
}

/// D26: what `logs -f` reads is what is new, however much is there.
#[test]
fn following_reads_only_what_is_new() {
    let items: Vec<String> = (0..120).map(|at| at.to_string()).collect();
    let env = env().file(
        "r.yaml",
        format!(
            "name: r\nsteps:\n\
             \x20 - {{id: fill, max_items: 120, for_each: [{}], command: 'printf \"%08000d\" {{{{item}}}}'}}\n\
             \x20 - {{id: b, command: 'echo second; until [ -e go ]; do sleep 0.05; done; echo third'}}\n\
             \x20 - {{id: c, command: 'echo fourth; until [ -e end ]; do sleep 0.05; done; echo last'}}\n",
            items.join(", ")
        ),
    );
    let run = env.spawn(["r.yaml", "--quiet"]);
    until("`b` is at work", || env.is_at_work("b"));
    let journal = std::fs::metadata(env.run_dir().join("events.jsonl")).unwrap().len();
    assert!(journal > 900_000, "{journal}");
    let logs = env.spawn(["logs", "last", "-f"]);
    let read = || {
        let io = std::fs::read_to_string(format!("/proc/{}/io", logs.pid())).unwrap();
        io.lines().find_map(|line| line.strip_prefix("rchar: ")?.parse::<u64>().ok()).unwrap()
    };
    until("everything so far is shown", || logs.stdout().contains("second\n"));
    let before = read();
    env.write("go", "");
    until("news are shown", || logs.stdout().contains("third\nfourth\n"));
    let more = read() - before;
    assert!(before > journal && more < 50_000, "{before} bytes, then {more} more");
    env.write("end", "");
    assert_eq!(run.wait().code, 0);
    let shown = logs.wait();
    assert!(shown.stdout.ends_with("second\nthird\nfourth\nlast\n"), "{}", shown.stderr);
}

/// The commands for logs that a result names, in its text and its JSON.
fn printed_logs(text: &Output, json: &Json) -> Vec<String> {
    let lines = text.stderr.lines().chain(text.stdout.lines());
    let line = lines.filter_map(|line| line.trim().strip_prefix("logs:")).map(|line| line.trim().to_owned());
    let advice = json["advice"].as_array().cloned().unwrap_or_default();
    let advice = advice.iter().filter_map(Json::as_str).filter_map(|text| text.split_once(": "));
    let advice = advice.map(|(_, command)| command.to_owned()).filter(|command| command.contains(" logs "));
    line.chain(advice).collect()
}

#[test]
fn printed_commands_work_for_every_id() {
    for id in ["b", "a-n", "b.2"] {
        for flags in ["", " --state-dir 'my runs'"] {
            let env = env().file(
                "r.yaml",
                format!("name: r\nsteps:\n  - {{id: '{id}', command: echo printed words; exit 1}}\n"),
            );
            let text = env.shell(&format!("\"$RUNNER\" r.yaml{flags}"));
            let json = env.shell(&format!("\"$RUNNER\" show last --output-format json{flags}")).json();
            let commands = printed_logs(&text, &json);
            assert!(!commands.is_empty(), "{id} {}", text.all());
            for command in commands {
                let output = env.shell(&command.replacen("recipe-runner-rs", "\"$RUNNER\"", 1));
                assert!(output.stdout.contains("printed words"), "{id}: {command}: {}", output.all());
            }
        }
    }
}

#[test]
fn health_names_the_runs_that_failed() {
    let env = env();
    let id = |output: Output| output.json()["run_id"].as_str().unwrap().to_owned();
    let failed: Vec<String> = (0..7).map(|_| id(env.json(FAILS, &[]))).collect();
    let other = id(env.json("name: other\nsteps:\n  - {id: a, command: no-such-tool}\n", &[]));
    env.json("name: good\nsteps:\n  - {id: a, command: 'true'}\n", &[]);
    let health = env.run(["health", "--output-format", "json"]).json();
    let runs = |recipe: &str| {
        let all = health["recipes"].as_array().unwrap();
        all.iter().find(|known| known["recipe"] == recipe).unwrap()["failed_runs"].clone()
    };
    assert_eq!(runs("r"), serde_json::json!({ "unknown": failed }), "{health}");
    assert_eq!(runs("other"), serde_json::json!({ "environment.missing_binary": [other] }), "{health}");
    assert_eq!(runs("good"), serde_json::json!({}), "{health}");
    let text = env.run(["health"]).stdout;
    let newest: Vec<&str> = failed.iter().rev().take(5).map(String::as_str).collect();
    let line = format!("    unknown 7: {} and 2 more\n", newest.join(", "));
    assert!(text.contains(&line), "{text}");
    assert!(text.contains(&format!("    environment.missing_binary 1: {other}\n")), "{text}");
}

#[test]
fn health_keeps_facts_beside_each_run_and_gathers_them_again_when_needed() {
    let env = env();
    env.write("r.yaml", "name: r\nsteps: [{id: a, command: test -e ok}]\n");
    env.run(["r.yaml"]);
    let health = || env.run(["health", "--output-format", "json"]).stdout;
    let (first, facts) = (health(), env.run_dir().join("health.json"));
    assert!(facts.exists());
    assert_eq!(health(), first);
    std::fs::write(&facts, "{").unwrap();
    assert_eq!(health(), first, "a broken cache is replaced");
    std::fs::remove_file(&facts).unwrap();
    std::fs::create_dir(&facts).unwrap();
    assert_eq!(health(), first, "a cache that cannot be written is not needed");
    env.write("ok", "");
    assert_eq!(env.run(["resume", "last"]).code, 0);
    std::fs::remove_dir(&facts).unwrap();
    assert!(health().contains(r#""passed": 1"#), "{}", health());
    env.write("r.yaml", "name: r\nsteps: [{id: a, command: 'echo more; exit 3'}]\n");
    env.run(["r.yaml"]);
    health();
    env.run(["resume", "last", "--recipe", "r.yaml", "--yes"]);
    let all: serde_json::Value = serde_json::from_str(&health()).unwrap();
    assert_eq!((&all["runs"], &all["recipes"][0]["passed"]), (&2.into(), &1.into()), "{all}");
}

#[test]
fn health_names_runs_that_cannot_be_read() {
    let env = env();
    let run = env.json(FAILS, &[]).json()["run_id"].as_str().unwrap().to_owned();
    std::fs::write(env.run_dir().join("events.jsonl"), "").unwrap();
    let text = env.run(["health"]).stdout;
    assert!(text.contains(&format!("run {run} cannot be read: ")), "{text}");
}
