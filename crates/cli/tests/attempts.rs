//! The facts about every attempt, and the clean-up before the next one.

use serde_json::{Value as Json, json};
use testkit::{Output, TestEnv};

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

/// What is told about the last attempt at step `s`, in both places.
fn check_code(output: &Output, outcome: &Json, code: &Json) {
    let attempts = output.json()["evidence"]["attempts"].as_array().cloned().unwrap_or_default();
    for told in [output.step("s"), attempts.last().cloned().unwrap_or_default()] {
        assert_eq!((&told["outcome"], &told["exit_code"]), (outcome, code), "{}", output.all());
    }
}

#[test]
fn the_exit_code_of_every_attempt_is_reported() {
    for (step, outcome, code) in [
        ("command: 'true'", json!("ok"), json!(0)),
        ("command: exit 3", json!({"exit": 3}), json!(3)),
        ("command: exit 3, exit_codes: {3: ok}", json!("ok"), json!(3)),
        ("command: exit 3, exit_codes: {3: needs_human}", json!("needs_human"), json!(3)),
        ("command: exit 0, exit_codes: {0: needs_human}", json!("needs_human"), json!(0)),
        ("command: echo no, parse_json: true", json!("not_json"), json!(0)),
        (
            "command: echo no; exit 4, parse_json: true, parse_json_required: true, exit_codes: {4: ok}",
            json!("not_json"),
            json!(4),
        ),
        ("command: 'echo 1', parse_json: true, json_schema: {type: string}", json!("not_json"), json!(0)),
        (r"command: printf 'a\0b'", json!("refused"), json!(0)),
        ("command: kill -9 $$", json!({"signal": 9}), Json::Null),
        ("command: sleep 30, timeout: 0.2", json!({"timed_out": 0.2}), Json::Null),
        ("command: 'true', working_dir: nowhere", json!("refused"), Json::Null),
    ] {
        let output = env().json(&format!("name: r\nsteps: [{{id: s, {step}}}]\n"), &[]);
        check_code(&output, &outcome, &code);
    }
}

#[test]
fn the_exit_code_of_every_agent_attempt_is_reported() {
    let refused = r#"echo '{"type":"result","is_error":true,"api_error_status":401,"result":"no"}'; exit 1"#;
    let no_json = "parse_json: true, json_retries: 1";
    for (step, agent, outcome, code) in [
        ("", "result fine", json!("ok"), json!(0)),
        ("", refused, json!("agent"), json!(1)),
        ("", r#"echo '{"type":"result","is_error":true,"result":"no"}'"#, json!("agent"), json!(0)),
        ("", "exit 7", json!({"exit": 7}), json!(7)),
        ("exit_codes: {3: needs_human}", "exit 3", json!("needs_human"), json!(3)),
        (no_json, "result no", json!("not_json"), json!(0)),
        // the first answer stays, and so does how it was given
        (no_json, "[ $n = 1 ] && result no || exit 5", json!("not_json"), json!(0)),
        (
            "parse_json: true, exit_codes: {3: needs_human}",
            "[ $n = 1 ] && result no || exit 3",
            json!("needs_human"),
            json!(3),
        ),
        ("timeout: 0.3", "sleep 30", json!({"timed_out": 0.3}), Json::Null),
    ] {
        let recipe = format!("name: r\nsteps: [{{id: s, prompt: x, {step}}}]\n");
        check_code(&env().agent("claude", agent).json(&recipe, &[]), &outcome, &code);
    }
}

#[test]
fn the_exit_code_of_a_retried_attempt_is_reported() {
    let recipe = "name: r
steps: [{id: s, command: echo no, parse_json: true, retry: {max_attempts: 2, delay: 0, on: [json]}}]
";
    let evidence = env().json(recipe, &[]).json()["evidence"]["attempts"].clone();
    assert_eq!((&evidence[0]["exit_code"], &evidence[1]["exit_code"]), (&json!(0), &json!(0)), "{evidence}");
}

/// A background process of step `id`, which writes down who it is.
fn server(file: &str) -> String {
    format!("sleep 300 & echo $! >>{file}")
}

/// Whether the process whose number is the first in `file` is alive, said by a step.
fn look(file: &str) -> String {
    format!("kill -0 $(head -1 {file}) 2>/dev/null && echo alive || echo gone")
}

#[test]
fn leftovers_of_a_failed_attempt_end_before_the_next_one() {
    let env = env();
    let (server, look) = (server("pids"), look("pids"));
    let command = format!("{server}; [ $(wc -l <pids) = 2 ] || exit 1; {look}");
    let recipe = format!(
        "name: r
steps:
  - {{id: s, command: {command:?}, retry: {{max_attempts: 2, delay: 0}}, output: first}}
  - {{id: z, command: 'kill -0 $(tail -1 pids) && echo alive', output: second}}
"
    );
    let output = env.json(&recipe, &[]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!((output.value("first"), output.value("second")), (json!("gone"), json!("alive")));
    let ended = output.json()["ended_processes"].as_array().map_or(0, Vec::len);
    assert_eq!(ended, 2, "{}", output.all());
    assert_eq!(env.survivors(), Vec::<String>::new());
}

/// The nested recipe `c` leaves a process behind; says what the step after it sees, and what is ended.
fn after_recipe(tail: &str, step: &str) -> (Json, Output) {
    let env = env();
    let server = server("pids");
    env.write(
        "c.yaml",
        format!("name: c\nsteps:\n  - {{id: k, command: {server:?}}}\n  - {{id: l, {tail}}}\n"),
    );
    let look = look("pids");
    let recipe = format!(
        "name: r\nsteps:\n  - {{id: s, recipe: c, {step}}}\n  - {{id: z, command: {look:?}, output: seen}}\n"
    );
    let output = env.json(&recipe, &[]);
    assert_eq!(env.survivors(), Vec::<String>::new());
    (output.value("seen"), output)
}

#[test]
fn leftovers_of_a_failed_recipe_end_with_it() {
    for (tail, step, seen) in [
        ("command: 'true'", "continue_on_error: true", "alive"),
        ("command: exit 1", "continue_on_error: true", "gone"),
        ("command: sleep 30", "timeout: 1, continue_on_error: true", "gone"),
        ("command: sleep 30, continue_on_error: true", "timeout: 1, continue_on_error: true", "gone"),
        ("command: echo no", "parse_json: true, parse_json_required: true, continue_on_error: true", "gone"),
        // the first attempt's is gone, the second's lives on
        (
            "command: '[ $(wc -l <pids) = 2 ]'",
            "retry: {max_attempts: 2, delay: 0}, continue_on_error: true",
            "gone",
        ),
    ] {
        let (told, output) = after_recipe(tail, step);
        assert_eq!(told, seen, "{tail} {step} {}", output.all());
        let ended = output.json()["ended_processes"].to_string();
        assert!(ended.contains("sleep 300"), "{tail} {step} {ended}");
    }
}

#[test]
fn a_resume_restarts_processes_that_ended_with_a_failed_recipe() {
    let env = env();
    let (server, look) = (server("pids"), look("pids").replace("head", "tail"));
    env.write(
        "c.yaml",
        format!("name: c\nsteps:\n  - {{id: k, command: {server:?}}}\n  - {{id: l, command: '[ -e go ]'}}\n  - {{id: m, command: {look:?}}}\n"),
    );
    let output = env.json("name: r\nsteps:\n  - {id: s, recipe: c, output: seen}\n", &[]);
    assert_eq!(output.code, 1, "{}", output.all());
    env.write("go", "");
    let output = env.run(["resume", "last", "--output-format", "json"]);
    assert_eq!((output.code, output.value("seen")), (0, json!("alive")), "{}", output.all());
}

#[test]
fn a_timeout_comes_from_the_step_then_the_flag_then_the_recipe() {
    for (default, own, asked, said) in [
        ("", "", "0.3", "after 0.3 s"),
        ("default_step_timeout: 9", "", "0.3", "after 0.3 s"),
        ("default_step_timeout: 0.3", "", "0.6", "after 0.6 s"),
        ("default_step_timeout: 9", ", timeout: 0.3", "9", "after 0.3 s"),
    ] {
        let recipe = format!("name: r\n{default}\nsteps: [{{id: s, command: sleep 30{own}}}]\n");
        let output = env().json(&recipe, &["--step-timeout", asked]);
        assert!(output.step("s")["error"].to_string().contains(said), "{default}{own}: {}", output.all());
    }
}

/// A recipe that charges, pushes and then looks; the look fails until `go` is there.
fn deployment(step: &str) -> TestEnv {
    env()
        .file(
            "dep.yaml",
            "name: dep\nsteps:\n- {id: charge, idempotent: false, command: echo charge >>ledger}\n\
             - {id: push, effects: [push], command: echo push >>ledger}\n\
             - {id: smoke, command: 'echo smoke >>ledger; test -e go'}\n",
        )
        .file("r.yaml", format!("name: r\nsteps:\n- {{id: deploy, recipe: dep, retry: 3{step}}}\n"))
}

#[test]
fn a_retry_repeats_no_effect_that_is_done() {
    let env = deployment("");
    let output = env.run(["r.yaml", "--output-format", "json"]);
    assert_eq!(
        (output.code, env.read("ledger")),
        (1, "charge\npush\nsmoke\n".to_owned()),
        "{}",
        output.all()
    );
    let error = output.step("deploy")["error"].to_string();
    let note =
        "not retried: `deploy/charge`, `deploy/push` are done and must not run again; a resume continues";
    assert!(error.contains(note), "{error}");
    assert!(error.contains("Sub-recipe 'dep' failed at step 'smoke': [error]"), "{error}");
    env.write("go", "");
    let output = env.run(["resume", "last"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(env.read("ledger"), "charge\npush\nsmoke\nsmoke\n");
}

#[test]
fn every_report_says_why_a_recipe_is_not_retried() {
    let env = deployment("");
    let output = env.run(["r.yaml"]);
    assert!(
        output.stderr.contains("warning: not retried: `deploy/charge`, `deploy/push` are done"),
        "{}",
        output.all()
    );
    let half = env.file("half.yaml", "name: half\nsteps: [{id: sl, idempotent: false, command: sleep 30}]\n");
    let output = half.json("name: r\nsteps: [{id: deploy, recipe: half, retry: 3, timeout: 0.5}]\n", &[]);
    let told =
        "not retried: `deploy/sl` was stopped half-way and is not idempotent; a resume asks you what to do";
    assert!(output.step("deploy")["error"].to_string().contains(told), "{}", output.all());
}

#[test]
fn a_failure_that_is_tolerated_is_not_offered_to_a_resume() {
    let env = deployment(", continue_on_error: true");
    let output = env.run(["r.yaml", "--output-format", "json"]);
    let error = output.step("deploy")["error"].to_string();
    assert!(error.contains("must not run again") && !error.contains("a resume"), "{error}");
    assert_eq!(
        (output.code, env.read("ledger")),
        (0, "charge\npush\nsmoke\n".to_owned()),
        "{}",
        output.all()
    );
}

#[test]
fn a_recipe_whose_result_is_not_json_repeats_no_effect_either() {
    for (more, code, status) in [("", 0, "degraded"), (", parse_json_required: true", 1, "failed")] {
        let env = deployment(&format!(", parse_json: true{more}")).file("go", "");
        let output = env.run(["r.yaml", "--output-format", "json"]);
        let step = output.step("deploy");
        assert_eq!((output.code, &step["status"]), (code, &json!(status)), "{}", output.all());
        assert!(step["error"].to_string().contains("not retried: "), "{step}");
        assert_eq!(env.read("ledger"), "charge\npush\nsmoke\n");
    }
}

#[test]
fn the_error_of_a_step_quotes_8192_bytes_at_most() {
    for (length, lines) in [(300, 20), (400, 20), (500, 16), (10_000, 0)] {
        let command = format!("for i in $(seq 40); do printf 'n%0{length}d\\n' 0; done >&2; exit 1");
        let recipe = format!("name: r\nsteps: [{{id: a, command: \"{command}\"}}]\n");
        let output = env().json(&recipe, &[]);
        let error = output.step("a")["error"].as_str().unwrap_or_default().to_owned();
        assert_eq!(error.lines().filter(|line| line.starts_with('n')).count(), lines, "{length}: {error}");
        assert!(error.len() < 8192 + 200, "{length}: {}", error.len());
    }
}

#[test]
fn a_recipe_is_retried_until_something_in_it_is_done_for_good() {
    let env = env()
        .file(
            "dep.yaml",
            "name: dep\nsteps:\n- {id: try, command: 'echo try >>ledger; [ $(wc -l <ledger) -ge 2 ]'}\n\
             - {id: push, effects: [push], command: echo push >>ledger}\n",
        )
        .file("r.yaml", "name: r\nsteps:\n- {id: deploy, recipe: dep, retry: {max_attempts: 3, delay: 0}}\n");
    let output = env.run(["r.yaml"]);
    assert_eq!((output.code, env.read("ledger")), (0, "try\ntry\npush\n".to_owned()), "{}", output.all());
}

#[test]
fn explain_shows_the_steps_that_a_retry_repeats() {
    let explained = deployment("").run(["explain", "r.yaml"]);
    let until = "s apart, until something in it is done that must not be repeated";
    assert!(explained.stdout.contains(until), "{}", explained.all());
    let own = "name: r\nsteps:\n- {id: a, command: x, idempotent: false, retry: 2}\n- {id: b, command: x, idempotent: false}\n";
    let explained = env().file("r.yaml", own).run(["explain", "r.yaml"]);
    for part in
        ["no: repeated by its own retry, else never without asking", "no: never repeated without asking"]
    {
        assert!(explained.stdout.contains(part), "{}", explained.all());
    }
}

#[test]
fn d5_times_may_have_units() {
    let recipe = "name: r\ndefault_step_timeout: 1h30m\nsteps:\n  - {id: a, command: sleep 9, timeout: 300ms, continue_on_error: true}\n\
        \x20 - {id: b, command: 'test -e b || { touch b; false; }', retry: {max_attempts: 2, delay: 100ms, max_delay: 1s}}\n";
    let output = env().json(recipe, &[]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert!(output.stdout.contains("timed out after 0.3 s"), "{}", output.all());
    let explained = env().file("r.yaml", recipe).run(["explain", "r.yaml", "--output-format", "json"]);
    assert_eq!(explained.json()["steps"][0]["timeout"], 0.3);
    assert_eq!(explained.json()["steps"][1]["timeout"], 5400.0);
    let output = env().json("name: r\nsteps: [{id: a, command: sleep 9}]\n", &["--step-timeout", "200ms"]);
    assert!(output.stdout.contains("timed out after 0.2 s"), "{}", output.all());
}
