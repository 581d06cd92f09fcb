//! Failures behind an agent: whether its work was found wanting, and whether it did any.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up its world has failed")]

use testkit::{Output, TestEnv};

/// A world whose agent program runs this script.
fn with_agent(script: &str) -> TestEnv {
    TestEnv::scripted(env!("CARGO_BIN_EXE_recipe-runner-rs"), script)
}

/// `class confidence` of a failure.
#[track_caller]
fn check(output: &Output, expected: &str) {
    let found = output.json()["diagnosis"].clone();
    let class = format!("{} {}", found["class"].as_str().unwrap(), found["confidence"].as_str().unwrap());
    assert_eq!(class, expected, "{found}");
}

#[test]
fn a_failed_check_of_an_agents_work_is_the_agents_failure() {
    let agent = "id: ag, prompt: p, produces: [d/out.txt]";
    for (steps, expected) in [
        // what it declares, read by name or by pattern
        (&[agent, "id: g, command: test -f d/out.txt"][..], "agent_drift high"),
        (&[agent, "id: x, command: x=1", "id: g, command: 'test -f \"./d/out.txt\"'"], "agent_drift high"),
        (
            &["id: ag, prompt: p, produces: ['d/*']", "id: g, command: grep -q OK d/out.txt"],
            "agent_drift high",
        ),
        // what says that it depends on it
        (&["id: ag, prompt: p", "id: g, depends_on: [ag], command: grep -q OK out.txt"], "agent_drift high"),
        // mere order is not enough, nor is a step that checks nothing or something else
        (&["id: ag, prompt: p", "id: g, command: grep -q OK out.txt"], "verification high"),
        (&[agent, "id: x, command: x=1", "id: g, command: test -f e/out.txt"], "verification high"),
        (&["id: ag, prompt: p", "id: g, depends_on: [ag], command: exit 7"], "verification medium"),
        (&["id: ag, prompt: p", "id: g, command: exit 7"], "verification medium"),
    ] {
        let steps: String = steps.iter().map(|step| format!("  - {{{step}}}\n")).collect();
        let recipe = format!("name: r\nsteps:\n{steps}");
        let output = with_agent("echo done").json(&recipe, &[]);
        check(&output, expected);
    }
    // an agent that was skipped has made nothing
    let skipped = "name: r\ncontext: {no: ''}\nsteps:\n  - {id: ag, prompt: p, condition: no, produces: [out.txt]}\n  \
                   - {id: g, command: test -f out.txt}\n";
    check(&with_agent("echo done").json(skipped, &[]), "verification high");
}

#[test]
fn an_agent_that_changed_files_is_not_hollow_whatever_it_says() {
    let says = "echo 'I cannot access the codebase or any files.'";
    let recipe = "name: r\nsteps:\n  - {id: ag, prompt: p}\n  - {id: g, command: test -f nope}\n";
    for (does, expected) in [
        ("true", "hollow_success medium"),
        ("echo x > made.rs", "verification high"),
        ("mkdir -p src && echo x > src/made.rs", "verification high"),
        ("rm old/gone.txt", "verification high"),
        ("rm gone.txt", "verification high"),
    ] {
        for is_repository in [false, true] {
            let env = with_agent(&format!("{does}; {says}")).file("old/gone.txt", "x");
            env.write("gone.txt", "x");
            if is_repository {
                assert_eq!(env.shell("git init -q . && git add -A").code, 0);
            }
            let output = env.file("r.yaml", recipe).run(["r.yaml", "--output-format", "json"]);
            check(&output, expected);
        }
    }
}

#[test]
fn a_hollow_answer_is_found_in_a_sub_recipe_and_a_group() {
    let says =
        "case \"$P\" in *dig*) echo 'I cannot access the codebase.';; *) echo 'I fixed src/a.rs';; esac";
    let (dig, work) = ("{id: p, prompt: dig}", "{id: q, prompt: work}");
    let gate = "{id: g, command: 'test \"{{s}}\" = good'}";
    let group = "parallel_group: x";
    for (child, steps, expected, named) in [
        (dig, format!("{{id: s, recipe: c}}, {gate}"), "hollow_success medium", "`s/p`"),
        (dig, format!("{{id: s, recipe: d}}, {gate}"), "hollow_success medium", "`s/c/p`"),
        (work, format!("{{id: s, recipe: c}}, {gate}"), "agent_drift high", ""),
        // what comes out of a recipe is the work of its last agent
        (
            "{id: p, prompt: dig}, {id: q, prompt: work}",
            format!("{{id: s, recipe: c}}, {gate}"),
            "agent_drift high",
            "",
        ),
        (
            dig,
            format!("{{id: s, prompt: dig, {group}}}, {{id: t, prompt: work, {group}}}, {gate}"),
            "hollow_success medium",
            "`s`",
        ),
        (dig, format!("{{id: s, prompt: dig}}, {gate}"), "hollow_success medium", "`s`"),
    ] {
        let env = with_agent(says)
            .file("c.yaml", format!("name: c\nsteps: [{child}]\n"))
            .file("d.yaml", "name: d\nsteps: [{id: c, recipe: c}]\n");
        let output = env.json(&format!("name: r\nsteps: [{steps}]\n"), &[]);
        check(&output, expected);
        let signal = output.json()["diagnosis"]["signals"][0]["what"].as_str().unwrap().to_owned();
        assert!(signal.contains(named), "{steps}: {signal}");
    }
}

#[test]
fn an_agents_text_is_not_evidence_about_its_service() {
    let said = |text: &str| {
        format!(
            "echo '{{\"type\":\"assistant\",\"message\":{{\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}]}}}}'"
        )
    };
    for (script, expected) in [
        ("echo 'I looked at 500 files'".to_owned(), "unknown low"),
        ("echo 'I looked at 500 files and the error is gone'".to_owned(), "unknown low"),
        (said("The login test answers 401 unauthorized, connection refused"), "unknown low"),
        ("echo 'fixed the rate limit test' >&2".to_owned(), "unknown low"),
        ("echo 'log: connection refused in test 3' >&2".to_owned(), "unknown low"),
        (format!("{}; echo 'API Error: 500 busy' >&2", said("done")), "environment.network medium"),
        ("echo 'Invalid API key · Please run /login' >&2".to_owned(), "environment.credentials medium"),
        ("echo 'Invalid API key · Please run /login'".to_owned(), "unknown low"),
        ("echo done; echo 'API Error: 500 busy'".to_owned(), "unknown low"),
        ("echo '429 Too Many Requests'".to_owned(), "unknown low"),
    ] {
        let env = TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"));
        let env = env.agent("claude", &format!("{script}; exit 3"));
        let output = env.json("name: r\nsteps: [{id: p, prompt: work}]\n", &[]);
        check(&output, expected);
        assert_eq!(env.calls(), 1, "{script}");
        let beside = output.json()["diagnosis"]["secondary"].clone();
        assert_eq!(beside, serde_json::json!([]), "{script}");
    }
}

#[test]
fn an_agent_that_stops_at_a_limit_is_quoted() {
    let stops = r#"echo '{"type":"result","subtype":"error_max_turns","is_error":true,"session_id":"s"}'"#;
    let env = TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs")).agent("claude", stops);
    let output = env.json("name: r\nsteps: [{id: p, prompt: work}]\n", &[]);
    check(&output, "unknown low");
    let advice = output.json()["advice"].to_string();
    assert!(advice.contains("the agent of `p` stopped at a limit (error_max_turns)"), "{}", output.all());
    assert!(!advice.contains("cause unknown"), "{advice}");
}

#[test]
fn an_agent_is_not_asked_again_because_a_push_failed() {
    let agent = "echo asked >> asked; echo notes";
    let guard = "[ -n \"{{notes}}\" ] || { echo none >&2; exit 1; }";
    for (publish, extra, expected) in [
        (format!("{guard}\n      git push nowhere main"), "", "unknown low"),
        ("git push nowhere main # {{notes}}".to_owned(), "", "unknown low"),
        (format!("{guard}\n      test -f shipped && rm ship.lock"), ", effects: [release]", "unknown low"),
    ] {
        let steps = format!(
            "steps:\n  - {{id: ask, prompt: p, output: notes}}\n  - id: publish\n    command: |\n      {publish}\n"
        );
        let extra = extra.strip_prefix(", ").map(|more| format!("    {more}\n")).unwrap_or_default();
        let env = with_agent(agent);
        let output = env.json(&format!("name: r\n{steps}{extra}"), &[]);
        check(&output, expected);
        assert_eq!(env.run(["resume", "last"]).code, 1);
        assert_eq!(env.read("asked"), "asked\n", "{publish}");
    }
}
