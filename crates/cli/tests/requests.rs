//! Requests: what was asked and where it came from are stored with the run, and an approved plan is binding.

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

/// The stored request of the newest run, as text.
fn request(env: &TestEnv) -> String {
    let dir = show(env)["run_dir"].as_str().unwrap_or_default().to_owned();
    let text = std::fs::read_to_string(format!("{dir}/run.json")).unwrap_or_default();
    serde_json::from_str::<Json>(&text).unwrap_or_default()["request"].to_string()
}

#[test]
fn equal_requests_are_stored_as_equal_bytes() {
    let recipe = "name: r\ncontext: {a: {b: 0, c: 2}, d: x}\nsteps: [{id: s, command: 'true'}]\n";
    let env = env().file("r.yaml", recipe).file("values.json", r#"{"d": "y", "a.b": 1}"#);
    std::fs::create_dir(env.path("sub")).unwrap_or_default();
    let ways = [
        "$RUNNER r.yaml --set a.b=1 --set d=y",
        "$RUNNER run ./r.yaml -c d=y -c a.b=1 --max-parallel 64 --recovery declared",
        "$RUNNER \"$PWD/r.yaml\" --context-file values.json -C .",
        "cd sub && $RUNNER ../r.yaml -C .. --set d=z --set d=y --set a.b=1 --quiet",
    ];
    let stored = ways.map(|line| {
        let output = env.shell(line);
        assert_eq!(output.code, 0, "{line}: {}", output.all());
        request(&env)
    });
    let dir = env.dir().display();
    let expected = format!(
        r#"{{"beside":"refused","inputs":{{"a":{{"value":{{"b":1,"c":2}}}},"d":{{"value":"y"}}}},"options":{{}},"recipe":"{dir}/r.yaml","working_dir":"{dir}"}}"#
    );
    assert_eq!(stored[0], expected);
    assert!(stored.iter().all(|one| *one == stored[0]), "{stored:#?}");

    let other = env.shell("$RUNNER r.yaml --set a.b=1 --set d=y --step-timeout 9 --allow-concurrent");
    assert_eq!(other.code, 0, "{}", other.all());
    let changed = expected
        .replace("refused", "allowed")
        .replace("\"options\":{}", "\"options\":{\"step_timeout\":9.0}");
    assert_eq!(request(&env), changed);
}

#[test]
fn the_order_of_keys_and_tags_makes_no_difference_and_spellings_are_kept() {
    let recipe = "name: r\ncontext: {a: 0, m: {}}\nsteps: [{id: s, command: 'true', when_tags: [x, y]}]\n";
    let env = env().file("r.yaml", recipe);
    let stored = [
        r#"$RUNNER r.yaml --set a=007 --set 'm={"x": {"b": 1, "a": 2.50}, "l": [{"d": 1, "c": 2}]}' --include-tags x,y --exclude-tags v,w"#,
        r#"$RUNNER r.yaml --set 'm={"l":[{"c":2,"d":1}],"x":{"a":2.50,"b":1}}' --set a=007 --include-tags y,x,y --exclude-tags w,v"#,
    ]
    .map(|line| {
        let output = env.shell(line);
        assert_eq!(output.code, 0, "{line}: {}", output.all());
        request(&env)
    });
    assert_eq!(stored[0], stored[1]);
    let expected = r#""inputs":{"a":{"value":"007"},"m":{"value":{"l":[{"c":2,"d":1}],"x":{"a":2.50,"b":1}}}},"options":{"exclude_tags":["v","w"],"include_tags":["x","y"]}"#;
    assert!(stored[0].contains(expected), "{}", stored[0]);
}

#[test]
fn a_stored_request_has_no_secret() {
    let env = env();
    let recipe = "name: r\ncontext: {pin: ''}\nsecrets: [pin]\nsteps: [{id: s, command: 'true'}]\n";
    let output = env.json(recipe, &["--set", "pin=hidden-9", "--set", "api_key=hidden-8"]);
    assert_eq!(output.code, 0, "{}", output.all());
    let stored = request(&env);
    assert!(stored.contains(r#""pin":{"value":"[REDACTED]"}"#) && !stored.contains("hidden"), "{stored}");
}

fn records(env: &TestEnv) -> usize {
    let dir = show(env)["run_dir"].as_str().unwrap_or_default().to_owned();
    std::fs::read_to_string(format!("{dir}/events.jsonl")).unwrap_or_default().lines().count()
}

#[test]
fn only_the_approved_plan_is_carried_out() {
    let env = env();
    let recipe = "name: r\nsteps: [{id: a, command: echo 1}, {id: b, command: test -e ready}]\n";
    assert_eq!(env.json(recipe, &[]).code, 1);
    let plan = || env.run(["resume", "last", "--plan", "--output-format", "json"]).json();
    let approved = plan()["plan_digest"].as_str().unwrap_or_default().to_owned();
    assert_eq!((approved.len(), &plan()["plan_digest"]), (64, &Json::from(approved.as_str())));

    // another failed attempt in between
    assert_eq!(env.run(["resume", "last"]).code, 1);
    let before = records(&env);
    env.write("ready", "");
    for format in ["json", "text"] {
        let output = env.run(["resume", "last", "--plan-digest", &approved, "--output-format", format]);
        assert_eq!(output.code, 7, "{}", output.all());
        assert!(output.stderr.contains("the plan for run"), "{}", output.all());
        assert_eq!(records(&env), before, "nothing was started");
        if format == "text" {
            assert!(output.stdout.contains("re-run   b"), "{}", output.all());
        } else {
            let json = output.json();
            assert_eq!(json["plan_digest"], plan()["plan_digest"], "{}", output.all());
            assert_eq!(json["plan"]["steps"], plan()["steps"], "{}", output.all());
            assert_eq!((&json["exit_code"], &json["recipe_name"]), (&7.into(), &"r".into()));
        }
    }
    let digest = plan()["plan_digest"].as_str().unwrap_or_default().to_owned();
    let output = env.run(["resume", "last", "--plan-digest", &digest]);
    assert_eq!(output.code, 0, "{}", output.all());
}
