//! Requests: where they come from is recorded with the run and shown.

use serde_json::Value as Json;
use testkit::{TestEnv, until};

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

fn show(env: &TestEnv) -> Json {
    env.run(["show", "last", "--output-format", "json"]).json()
}

/// The user that the tests run as.
fn user(env: &TestEnv) -> String {
    env.shell("id -un").stdout.trim().to_owned()
}

/// The surface and the actor of an origin.
fn who(origin: &Json) -> String {
    assert!(origin["request_id"].as_str().is_some_and(|id| !id.is_empty()), "{origin}");
    assert!(origin["at"].as_str().is_some_and(|at| at.ends_with('Z')), "{origin}");
    format!("{} {}", origin["surface"].as_str().unwrap_or("?"), origin["actor"].as_str().unwrap_or("?"))
}

/// The first event of this kind in the journal of the last run.
fn event(env: &TestEnv, kind: &str) -> Json {
    let dir = show(env)["run_dir"].as_str().unwrap_or_default().to_owned();
    let text = std::fs::read_to_string(format!("{dir}/events.jsonl")).unwrap_or_default();
    let mut events =
        text.lines().map(|line| serde_json::from_str::<Json>(line).unwrap_or_default()["event"].clone());
    events.find_map(|event| event.get(kind).cloned()).unwrap_or_default()
}

#[test]
fn the_origin_of_a_run_and_of_its_resume_is_recorded() {
    let env = env();
    let cli = format!("cli {}", user(&env));
    let output = env.json("name: r\nsteps: [{id: a, command: test -e ready}]\n", &[]);
    assert_eq!((output.code, who(&output.json()["origin"])), (1, cli.clone()), "{}", output.all());
    assert_eq!(output.json()["origin"], show(&env)["origin"]);
    assert_eq!(event(&env, "run_started")["origin"], output.json()["origin"]);
    let runs = env.run(["runs", "--output-format", "json"]).json();
    assert_eq!(runs[0]["origin"], output.json()["origin"], "{runs}");
    let text = env.run(["show", "last"]);
    assert!(text.stdout.contains(&format!("requested  by {} (cli)", user(&env))), "{}", text.all());

    env.write("ready", "");
    assert_eq!(env.run(["resume", "last"]).code, 0);
    let resumed = event(&env, "run_resumed")["origin"].clone();
    assert_eq!(who(&resumed), cli);
    assert_ne!(resumed["request_id"], output.json()["origin"]["request_id"]);
    assert_eq!(show(&env)["evidence"]["resumes"][0]["origin"], resumed);
}

#[test]
fn the_origin_of_a_cancel_is_recorded_for_a_live_run_and_for_a_dead_one() {
    for signal in [None, Some("KILL")] {
        let env = env().file("r.yaml", "name: r\nsteps: [{id: a, command: 'touch begun; sleep 60'}]\n");
        let started = env.spawn(["r.yaml"]);
        until("the step begins", || env.path("begun").exists());
        if let Some(signal) = signal {
            started.signal(signal);
            started.wait();
        }
        let output = env.run(["cancel", "last"]);
        assert_eq!(output.code, 0, "{}", output.all());
        let finished = event(&env, "run_finished");
        assert_eq!(finished["reason"], "cancelled", "{finished}");
        assert_eq!(who(&finished["origin"]), format!("cli {}", user(&env)), "{signal:?}");
        assert_eq!(show(&env)["cancelled_by"], finished["origin"]);
        let text = env.run(["show", "last"]);
        assert!(text.stdout.contains("cancelled  by "), "{}", text.all());
    }
}
