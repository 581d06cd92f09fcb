//! The word of a person holds: no agent and no retry overrides it, and it is used only for what the person saw.

use serde_json::{Value as Json, json};
use testkit::TestEnv;

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

const INNER: &str = "name: inner\nsteps:\n- {id: q, ask: 'ok?'}\n- {id: i, command: 'echo x >> published'}\n";

#[test]
fn no_agent_recovers_what_a_person_did_not_approve() {
    for (question, given) in [
        ("ask: 'ok?'", Some("reject")),
        ("ask: 'ok?', choices: [reject, approve]", Some("reject")),
        ("ask: 'ok?', timeout: 0.2", None),
        ("ask: 'ok?', show: [gone.md]", None),
    ] {
        let env = env()
            .agent("claude", "result 'STATUS: COMPLETE'")
            .file("inner.yaml", INNER.replace("ask: 'ok?'", question))
            .file("middle.yaml", "name: middle\nsteps: [{id: m, recipe: inner}]\n");
        let recipe = "name: r\nsteps:\n- {id: s, recipe: middle, recovery_on_failure: true, retry: {max_attempts: 3, on: [exit, timeout]}}\n\
            - {id: z, command: 'echo x >> published'}\n";
        let set = given.map(|choice| format!("ask.s/m/q={choice}"));
        let mut arguments = vec!["--recovery", "always", "--wait"];
        arguments.extend(set.iter().flat_map(|set| ["--set", set]));
        let output = env.text(recipe, &arguments);
        assert_eq!((output.code, env.calls()), (1, 0), "{question}: {}", output.all());
        assert!(!env.path("published").exists(), "{question}");
        if given.is_some() {
            assert_eq!(env.events("question_put"), 1, "{question}: {}", output.all());
            assert!(output.stderr.contains("rejected by "), "{}", output.all());
        }
    }
}

/// D10: a run that waits overnight has not worked all night.
#[test]
fn the_time_between_runs_is_not_work() {
    let took = |env: &TestEnv| -> Vec<f64> {
        let listed = env.run(["runs", "--output-format", "json"]).json();
        let shown = env.run(["show", "last", "--output-format", "json"]).json();
        let steps = shown["step_results"].as_array().into_iter().flatten();
        let times = [&listed[0]["duration"], &shown["duration"]]
            .into_iter()
            .chain(steps.map(|step| &step["duration"]));
        times.filter_map(Json::as_f64).collect()
    };
    let pause = || std::thread::sleep(std::time::Duration::from_secs(3));
    let recipe = "name: r\nsteps:\n- {id: q, ask: 'ok?'}\n- {id: k, command: 'test -e go || { echo x > slow; sleep 60; }'}\n- {id: e, ask: 'end?'}\n";
    let env = env().file("r.yaml", recipe);
    assert_eq!(env.run(["r.yaml"]).code, 6);
    pause();
    assert_eq!(env.answer("approve --no-resume").code, 0);
    let started = env.spawn(["resume", "last"]);
    env.wait_for("slow");
    started.kill();
    pause();
    env.write("go", "");
    assert_eq!(env.run(["resume", "last"]).code, 6);
    assert!(took(&env).iter().all(|seconds| *seconds < 3.0), "waiting: {:?}", took(&env));
    pause();
    let done = env.answer("approve --output-format json");
    assert_eq!(done.code, 0, "{}", done.all());
    assert!(done.json()["duration"].as_f64().is_some_and(|seconds| seconds < 3.0), "{}", done.all());
    assert!(took(&env).iter().all(|seconds| *seconds < 3.0), "completed: {:?}", took(&env));
    // the end of a run that nothing has worked on for a while
    let other = TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
        .file("r.yaml", recipe.replace("ask: 'ok?'", "command: 'true'"));
    let started = other.spawn(["r.yaml"]);
    other.wait_for("slow");
    started.kill();
    pause();
    assert_eq!(other.run(["cancel", "last"]).code, 0);
    assert!(took(&other).iter().all(|seconds| *seconds < 3.0), "cancelled: {:?}", took(&other));
}

#[test]
fn auto_fix_leaves_a_rejected_run_alone() {
    for question in ["ask: 'ok?'", "ask: 'ok?', timeout: 0.2, on_timeout: reject", "ask: 'ok?', timeout: 0.2"]
    {
        let recipe = format!(
            "name: r\nsteps:\n- {{id: bad, command: 'sleep 0.5; exit 3', parallel_group: g}}\n- {{id: q, {question}, parallel_group: g}}\n"
        );
        let env = TestEnv::scripted(env!("CARGO_BIN_EXE_recipe-runner-rs"), "echo no").file("r.yaml", recipe);
        let mut arguments = vec!["r.yaml", "--auto-fix", "--wait"];
        if !question.contains("timeout") {
            arguments.extend(["--set", "ask.q=reject"]);
        }
        let output = env.run(arguments);
        assert_eq!((output.code, env.script_calls()), (1, 0), "{question}: {}", output.all());
        assert_eq!((env.events("question_put"), env.events("run_resumed")), (1, 0), "{question}");
    }
}

const SHOWN: &str = "name: r\ncontext: {v: '1'}\nsteps:\n- {id: q, ask: 'publish {{v}}?', show: [notes.md], fields: [{name: n, default: a}]}\n\
    - {id: z, command: 'echo {{q.choice}} {{v}} >> published'}\n";

#[test]
fn a_recorded_answer_holds_only_for_the_question_that_was_answered() {
    let edited = |from: &str, to: &str| SHOWN.replace(from, to);
    for (text, notes, arguments) in [
        (edited("publish", "delete"), "one\n", &["--recipe", "r.yaml"][..]),
        (edited("[notes.md]", "[notes.md, notes.md]"), "one\n", &["--recipe", "r.yaml"]),
        (edited("fields:", "choices: [approve, never], fields:"), "one\n", &["--recipe", "r.yaml"]),
        (edited("default: a", "default: b"), "one\n", &["--recipe", "r.yaml"]),
        (SHOWN.to_owned(), "one\n", &["--set", "v=2"]),
        (SHOWN.to_owned(), "two\n", &[]),
    ] {
        let env = env().file("r.yaml", SHOWN).file("notes.md", "one\n");
        assert_eq!(env.run(["r.yaml"]).code, 6);
        assert_eq!(env.answer("approve --no-resume").code, 0);
        env.write("r.yaml", &text);
        env.write("notes.md", notes);
        let resumed = env.run(["resume", "last"].iter().chain(arguments).copied());
        assert_eq!(resumed.code, 6, "{text}: {}", resumed.all());
        assert!(
            resumed.stderr.contains("is not used, because the question has changed"),
            "{}",
            resumed.all()
        );
        assert!(!env.path("published").exists());
        assert_eq!(env.waiting().len(), 1);
        assert_eq!(env.answer("approve").code, 0);
    }
    let env = env().file("r.yaml", SHOWN).file("notes.md", "one\n");
    assert_eq!(env.run(["r.yaml"]).code, 6);
    assert_eq!(env.answer("approve --no-resume").code, 0);
    // another change of the recipe does not touch the question
    env.write("r.yaml", SHOWN.replace("{{v}} >> pub", "{{v}} again >> pub"));
    let resumed = env.run(["resume", "last", "--recipe", "r.yaml"]);
    assert_eq!((resumed.code, env.read("published").as_str()), (0, "approve 1 again\n"), "{}", resumed.all());
    assert_eq!((env.events("question_put"), env.events("answered")), (1, 1));
}

#[test]
fn a_shown_file_that_is_gone_is_never_approved() {
    let env = env().file("r.yaml", SHOWN).file("notes.md", "one\n");
    assert_eq!(env.run(["r.yaml"]).code, 6);
    assert_eq!(env.shell("rm notes.md").code, 0);
    for _ in 0..3 {
        let refused = env.answer("approve");
        assert_eq!(refused.code, 7, "{}", refused.all());
        assert!(
            refused.stderr.contains("`notes.md`, which `q` shows, cannot be read any more"),
            "{}",
            refused.all()
        );
    }
    assert!(!env.path("published").exists());
    env.write("notes.md", "one\n");
    assert_eq!(env.answer("approve").code, 0);
}

#[test]
fn the_difference_of_a_shown_file_hides_secrets() {
    let recipe =
        "name: r\ncontext: {api_key: hunter2hunter2}\nsteps: [{id: q, ask: 'ok?', show: [notes.md]}]\n";
    let env = env().file("r.yaml", recipe).file("notes.md", "one\n");
    assert_eq!(env.run(["r.yaml"]).code, 6);
    env.write("notes.md", "key hunter2hunter2\n");
    let refused = env.answer("approve");
    assert_eq!(refused.code, 7, "{}", refused.all());
    assert!(refused.stderr.contains("+ key [REDACTED]"), "{}", refused.all());
    let other = env.answer("approve --digest nothing");
    assert_eq!(other.code, 7, "{}", other.all());
    assert!(other.stderr.contains("the digest is not that of the question `q`"), "{}", other.all());
}

#[test]
fn a_timeout_gives_the_fields_their_defaults() {
    let recipe = "name: r\nsteps:\n- {id: q, ask: 'ok?', timeout: 0.2, on_timeout: approve, fields: [{name: n, type: integer, default: 4}, {name: why, required: true}]}\n\
        - {id: z, command: 'echo \"[{{q.n}}] [{{q.why}}] {{q.via}}\"'}\n";
    let output = env().text(recipe, &["--wait"]);
    assert_eq!((output.code, output.stdout.contains("[4] [] timeout")), (0, true), "{}", output.all());
    let answered = json!({"n": 4, "why": null});
    let env = env();
    env.text(recipe, &["--wait"]);
    let found = env.records().into_iter().find_map(|record| record["event"].get("answered").cloned());
    assert_eq!(found.unwrap_or_default()["fields"], answered);
}

#[test]
fn an_answered_run_waits_for_its_resume() {
    let env = env().file("r.yaml", SHOWN).file("notes.md", "one\n");
    assert_eq!(env.run(["r.yaml"]).code, 6);
    assert_eq!(env.answer("approve --no-resume").code, 0);
    let listed = env.run(["runs", "--output-format", "json"]).json()[0].clone();
    assert_eq!((&listed["status"], &listed["exit_code"]), (&json!("waiting"), &json!(6)), "{listed}");
    assert!(listed["error"].as_str().unwrap_or_default().contains("the run is not resumed yet"), "{listed}");
    let shown = env.run(["show", "last"]);
    assert!(shown.all().contains("answered; the run is not resumed yet"), "{}", shown.all());
    assert!(shown.all().contains("recipe-runner-rs resume"), "{}", shown.all());
    assert_eq!(env.run(["resume", "last"]).code, 0);
}

#[test]
fn instances_of_a_question_are_named_with_a_dot_too() {
    let recipe = "name: r\nsteps:\n- {id: q, for_each: [a, b], ask: '{{item}}?', fields: [{name: n}]}\n- {id: z, command: 'echo \"{{q}}\"'}\n";
    let env = env().file("r.yaml", recipe);
    let output = env.run(["r.yaml", "--set", "ask.q.1=approve", "--set", "ask.q.1.n=x"]);
    assert_eq!(output.code, 6, "{}", output.all());
    assert_eq!(env.answer("q.0 approve").code, 0);
    let repro =
        env.run(["show", "last", "--output-format", "json"]).json()["evidence"]["repro_command"].clone();
    let repro = repro.as_str().unwrap_or_default();
    assert!(repro.contains("ask.q[1]=approve") && repro.contains("ask.q[1].n=x"), "{repro}");
    for name in ["ask.q[7]=approve", "ask.q.2=approve", "ask.z=approve", "ask.q[x]=approve"] {
        let output = env.run(["r.yaml", "--set", name]);
        assert_eq!(
            (output.code, output.stderr.contains("has no question")),
            (4, true),
            "{name}: {}",
            output.all()
        );
    }
}

#[test]
fn a_rejection_is_not_called_a_failed_check() {
    let env = env().file("r.yaml", SHOWN).file("notes.md", "one\n");
    let output = env.run(["r.yaml", "--set", "ask.q=reject"]);
    assert_eq!(output.code, 1, "{}", output.all());
    assert!(output.stderr.contains("failed at q: rejected by "), "{}", output.all());
    assert!(output.stderr.contains("publish 1?") && !output.stderr.contains("{{v}}"), "{}", output.all());
    assert!(!output.stderr.contains("not the check"), "{}", output.all());
}

#[test]
fn a_waiting_run_is_not_lost_and_not_pruned() {
    let env = env().file("r.yaml", SHOWN).file("notes.md", "one\n");
    assert_eq!(env.run(["r.yaml"]).code, 6);
    let shown = env.run(["show", "last", "--output-format", "json"]).json();
    assert_eq!(shown["evidence"]["attempts"][0]["outcome"], Json::Null, "{shown}");
    let pruned = env.run(["prune", "--keep", "0"]);
    assert!(pruned.stderr.contains("kept, because it waits for a person"), "{}", pruned.all());
    assert_eq!(env.waiting().len(), 1);
    assert_eq!(env.run(["cancel", "last"]).code, 0);
    assert_eq!(env.run(["prune", "--keep", "0"]).code, 0);
    assert_eq!(env.run_ids().len(), 0);
}

#[test]
fn a_step_that_needs_a_person_waits_and_does_not_fail() {
    let recipe = "name: r\nhooks: {on_error: 'touch hooked'}\nsteps:\n- {id: a, command: test -e ready || exit 75, exit_codes: {75: needs_human}}\n";
    let env = env().file("r.yaml", recipe);
    let output = env.run(["r.yaml", "--output-format", "json"]);
    assert_eq!((output.code, output.step("a")["status"].clone()), (6, json!("waiting")), "{}", output.all());
    assert!(!env.path("hooked").exists());
    let listed = env.waiting();
    assert_eq!((listed.len(), &listed[0]["step"]), (1, &json!("a")), "{listed:?}");
    assert!(listed[0]["command"].as_str().unwrap_or_default().contains(" resume "), "{listed:?}");
    env.write("ready", "");
    assert_eq!(env.run(["resume", "last"]).code, 0);
    assert!(env.waiting().is_empty());
}

#[test]
fn explain_says_which_fields_are_needed() {
    let recipe = "name: r\nsteps: [{id: q, ask: 'ok?', fields: [{name: n, type: integer, default: 4}, {name: why, required: true}]}]\n";
    let output = env().file("r.yaml", recipe).run(["explain", "r.yaml"]);
    assert!(output.stdout.contains("n (integer, default 4), why (text, required)"), "{}", output.all());
}

#[test]
fn a_terminal_does_not_show_a_secret_that_is_typed() {
    let recipe = "name: r\nsteps: [{id: q, ask: 'ok?', fields: [{name: pin, type: secret}]}, {id: z, command: 'test {{q.pin}} = hunter22'}]\n";
    let env = env().file("r.yaml", recipe);
    let output = env.typed("$RUNNER r.yaml", "sleep 1; echo approve; sleep 1; echo hunter22; sleep 2");
    assert!(output.stdout.contains("code 0"), "{}", output.all());
    assert!(!output.stdout.contains("hunter22"), "{}", output.all());
}
