//! Recorded transcripts of the real programs, test doubles, and outputs that no program should print.

use super::{ProgramEnded as Ended, *};

/// The recorded output of a program, from `tests/real_agents.rs`.
macro_rules! transcript {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/transcripts/", $name, ".jsonl"))
    };
}

mod calls;
mod custom;
mod null_answers;
mod partial;
mod prose;
mod sizes;

fn known(name: &str) -> Program {
    Program::named(name, &[]).unwrap()
}

fn read_in(pieces: &[&[u8]], program: &str, ended: Ended, stderr: &str) -> (AgentOutcome, Vec<AgentEvent>) {
    let mut reader = known(program).reader();
    let mut events = Vec::new();
    for piece in pieces {
        reader.feed(piece, &mut events);
    }
    (reader.finish(ended, stderr, None), events)
}

fn read(program: &str, output: &str, ended: Ended, stderr: &str) -> AgentOutcome {
    read_in(&[output.as_bytes()], program, ended, stderr).0
}

/// The outcome in one line: the answer, or `!` and the failure.
fn line(outcome: &AgentOutcome) -> String {
    match &outcome.result {
        Ok(answer) => answer.text.clone(),
        Err(failure) => format!("!{failure}"),
    }
}

fn check(program: &str, output: &str, exit: i32, stderr: &str, expected: &str) {
    let outcome = read(program, output, Ended::Exit(exit), stderr);
    assert_eq!(line(&outcome), expected, "{program} prints {output:?}");
}

const TRANSCRIPTS: &[(&str, &str, i32, &str)] = &[
    ("claude", transcript!("claude-hello"), 0, "Hello from the model."),
    ("claude", transcript!("claude-tool"), 0, "Hello from the model."),
    (
        "claude",
        transcript!("claude-429"),
        1,
        "!the agent is rate limited: API Error: Request rejected (429) · Rate limit reached, slow down",
    ),
    (
        "claude",
        transcript!("claude-401"),
        1,
        "!the agent cannot log in: Invalid API key · Fix external API key; check its login or its key",
    ),
    (
        "claude",
        transcript!("claude-500"),
        1,
        "!the agent's model service fails with status 500: API Error: 500 Internal server error. This is a server-side issue, usually temporary — try again in a moment. If it persists, check your inference gateway (127.0.0.1:8080).",
    ),
    (
        "claude",
        transcript!("claude-unknown"),
        1,
        "!the agent reports a failure: No conversation found with session ID: 00000000-0000-4000-8000-000000000000",
    ),
    ("codex", transcript!("codex-hello"), 0, "Hello from the model."),
    ("codex", transcript!("codex-tool"), 0, "Hello from the model."),
    (
        "codex",
        transcript!("codex-429"),
        1,
        "!the agent is rate limited: exceeded retry limit, last status: 429 Too Many Requests",
    ),
    (
        "codex",
        transcript!("codex-401"),
        1,
        "!the agent cannot log in: unexpected status 401 Unauthorized: invalid x-api-key, url: http://127.0.0.1:8080/v1/responses; check its login or its key",
    ),
    (
        "codex",
        transcript!("codex-500"),
        1,
        "!the agent's model service fails: We’re currently experiencing high demand, which may cause temporary errors.",
    ),
    ("copilot", transcript!("copilot-hello"), 0, "Hello from the model."),
    ("copilot", transcript!("copilot-tool"), 0, "Hello from the model."),
    (
        "copilot",
        transcript!("copilot-429"),
        1,
        "!the agent is rate limited: Failed to get response from the AI model; retried 5 times (total retry wait time: 5.59 seconds) Last error: 429 Rate limit reached, slow down",
    ),
    ("copilot", transcript!("copilot-401"), 1, "!the agent cannot log in: "),
    ("copilot", transcript!("copilot-500"), 1, "!the agent's model service fails with status 500: "),
    ("gemini", transcript!("gemini-hello"), 0, "Hello from the model."),
    ("gemini", transcript!("gemini-tool"), 0, "Hello from the model."),
    ("gemini", transcript!("gemini-401"), 145, "!the agent cannot log in: "),
    ("opencode", transcript!("opencode-hello"), 0, "Hello from the model."),
    (
        "opencode",
        "{\"type\":\"text\",\"part\":{\"type\":\"text\",\"text\":\"ANS\"}}\n{\"type\":\"step_finish\",\"part\":{\"cost\":0.5,\"tokens\":{\"input\":1}}}\n",
        0,
        "ANS",
    ),
    (
        "opencode",
        "{\"type\":\"step_start\",\"part\":{}}\n{\"type\":\"text\",\"part\":{\"text\":\"let me look\"}}\n{\"type\":\"tool_use\",\"part\":{\"tool\":\"bash\"}}\n{\"type\":\"step_finish\",\"part\":{\"reason\":\"tool-calls\"}}\n{\"type\":\"step_start\",\"part\":{}}\n{\"type\":\"text\",\"part\":{\"text\":\"final \"}}\n{\"type\":\"text\",\"part\":{\"text\":\"answer\"}}\n{\"type\":\"step_finish\",\"part\":{\"reason\":\"stop\"}}\n",
        0,
        "final answer",
    ),
    (
        "opencode",
        "{\"type\":\"error\",\"error\":{\"message\":\"no model\"}}\n",
        1,
        "!the agent reports a failure: no model",
    ),
    ("gemini", "{\"response\":\"ANS\",\"stats\":{}}\n", 0, "ANS"),
    ("gemini", "{\"response\":\"ANS\"}\n", 0, "ANS"),
    ("opencode", transcript!("opencode-tool"), 0, "Hello from the model."),
    ("opencode", transcript!("opencode-429"), 1, "!the agent is rate limited: Rate limit reached, slow down"),
    (
        "opencode",
        transcript!("opencode-401"),
        1,
        "!the agent cannot log in: invalid x-api-key; check its login or its key",
    ),
];

#[test]
fn transcripts() {
    for (program, output, exit, expected) in TRANSCRIPTS {
        let outcome = line(&read(program, output, Ended::Exit(*exit), "noise on stderr"));
        assert!(outcome.starts_with(expected), "{program}: {outcome}");
    }
}

#[test]
fn wherever_the_output_is_cut() {
    for (program, output, exit, _) in TRANSCRIPTS {
        let bytes = output.as_bytes();
        let whole = read_in(&[bytes], program, Ended::Exit(*exit), "");
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(read_in(&single, program, Ended::Exit(*exit), ""), whole);
        // Single bytes covered every place; two pieces are the usual case.
        let step = (bytes.len() / 200).max(1);
        for at in (0..bytes.len()).step_by(step) {
            let (a, b) = bytes.split_at(at);
            assert_eq!(read_in(&[a, b], program, Ended::Exit(*exit), ""), whole, "{program} at {at}");
        }
    }
}

#[test]
fn cut_inside_a_character() {
    let output =
        "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"grüße 🦀\"}".as_bytes();
    for at in 0..output.len() {
        let (a, b) = output.split_at(at);
        let (outcome, _) = read_in(&[a, b], "claude", Ended::Exit(0), "");
        assert_eq!(outcome.result.as_deref(), Ok("grüße 🦀"));
    }
}

#[test]
fn usage() {
    let usage = |program, output| read(program, output, Ended::Exit(0), "").usage;
    let claude = usage("claude", transcript!("claude-tool"));
    assert_eq!(claude.input_tokens, Some(22));
    assert_eq!(claude.cache_read_tokens, Some(6));
    assert_eq!(claude.cache_write_tokens, Some(4));
    assert_eq!(claude.output_tokens, Some(10));
    assert_eq!(claude.turns, Some(2));
    assert_eq!(claude.cost_usd, Some(0.000_309_2));
    assert_eq!(claude.model.as_deref(), Some("claude-opus-5-5"));
    let codex = usage("codex", transcript!("codex-hello"));
    assert_eq!((codex.input_tokens, codex.cache_read_tokens), (Some(11), Some(3)));
    assert_eq!((codex.cost_usd, codex.model), (None, None));
    let gemini = usage("gemini", transcript!("gemini-hello"));
    assert_eq!((gemini.input_tokens, gemini.output_tokens), (Some(11), Some(5)));
    assert_eq!(gemini.model.as_deref(), Some("gemini-2.5-pro"));
    let opencode = usage("opencode", transcript!("opencode-tool"));
    assert_eq!((opencode.input_tokens, opencode.output_tokens), (Some(16), Some(10)));
    assert_eq!((opencode.cost_usd, opencode.turns), (None, Some(2)));
    let copilot = usage("copilot", transcript!("copilot-hello"));
    assert_eq!((copilot.input_tokens, copilot.output_tokens, copilot.cache_read_tokens), (None, None, None));
    assert_eq!(copilot.model.as_deref(), Some("test-model"));
}

#[test]
fn unknown_usage_is_left_out_of_json() {
    let json = serde_json::to_string(&Usage::default()).unwrap();
    assert_eq!(json, "{}");
    assert_eq!(serde_json::from_str::<Usage>("{}").unwrap(), Usage::default());
}

#[test]
fn what_is_shown_while_it_works() {
    for (program, output, tool) in [
        ("claude", transcript!("claude-tool"), "Bash echo made > made.txt"),
        ("codex", transcript!("codex-tool"), "shell /bin/bash -lc 'echo made > made.txt'"),
        ("copilot", transcript!("copilot-tool"), "bash echo made > made.txt"),
        ("gemini", transcript!("gemini-tool"), "run_shell_command echo made > made.txt"),
        ("opencode", transcript!("opencode-tool"), "bash echo made > made.txt"),
    ] {
        let (_, events) = read_in(&[output.as_bytes()], program, Ended::Exit(0), "");
        let tools: Vec<String> = events
            .iter()
            .filter_map(|event| match event {
                AgentEvent::Tool { name, detail, .. } => Some(format!("{name} {detail}")),
                _ => None,
            })
            .collect();
        assert_eq!(tools, [tool], "{program}");
        let said = |event: &AgentEvent| matches!(event, AgentEvent::Text { text } | AgentEvent::Piece { text } if text == "Hello from the model.");
        assert!(events.iter().any(said), "{program}: {events:?}");
        assert!(events.iter().any(|event| matches!(event, AgentEvent::Session { .. })));
    }
}

#[test]
fn programs_that_print_plain_text() {
    for program in Program::known_names() {
        check(program, "hello\n", 0, "", "hello");
        check(program, "two\nlines, no end", 0, "warning", "two\nlines, no end");
        check(program, "{\"verdict\": \"good\"}\n", 0, "", "{\"verdict\": \"good\"}");
        check(program, "{\n  \"verdict\": 1\n}\n", 0, "", "{\n  \"verdict\": 1\n}");
        check(program, "{\"type\": \"feature\"}", 0, "", "{\"type\": \"feature\"}");
        check(program, "{\"broken\": ", 0, "", "{\"broken\": ");
        check(program, "    def f():\n        pass  \n\r\n", 0, "", "    def f():\n        pass  ");
        check(program, "see issue 429, and 4290", 0, "HTTP 429", "see issue 429, and 4290");
        check(program, "", 0, "", "!the agent ends with exit code 0 and without a result");
        check(program, " \n\n", 0, "oops", "!the agent ends with exit code 0 and without a result: oops");
        check(program, "half an answer", 3, "", "!the agent ends with exit code 3: half an answer");
        check(program, "", 3, "", "!the agent ends with exit code 3");
        check(
            program,
            "x",
            1,
            "Error: 429 Too Many Requests",
            "!the agent is rate limited: Error: 429 Too Many Requests",
        );
        check(program, "", 1, "rate limit exceeded", "!the agent is rate limited: rate limit exceeded");
        check(program, "fix issue 4290", 1, "", "!the agent ends with exit code 1: fix issue 4290");
        check(
            program,
            "",
            1,
            "please fix issue 4290: error",
            "!the agent ends with exit code 1: please fix issue 4290: error",
        );
    }
}

#[test]
fn events_without_an_end() {
    let half = |text: &str| text.lines().take(2).collect::<Vec<_>>().join("\n");
    for (program, output) in [
        ("claude", half(transcript!("claude-hello"))),
        ("codex", half(transcript!("codex-hello"))),
        ("copilot", half(transcript!("copilot-hello"))),
        ("gemini", half(transcript!("gemini-hello"))),
        ("opencode", half(transcript!("opencode-hello"))),
    ] {
        check(program, &output, 0, "", "!the agent ends with exit code 0 and without a result");
        check(program, &output, 2, "it broke", "!the agent ends with exit code 2: it broke");
        let killed = read(program, &output, Ended::Signal(11), "");
        assert_eq!(line(&killed), "!the agent is ended by signal 11");
        let ended = read(program, &output, Ended::AfterResult, "");
        assert!(ended.result.is_err());
    }
}

#[test]
fn a_result_before_another_end() {
    for (program, output, exit, expected) in TRANSCRIPTS.iter().filter(|row| row.2 == 0) {
        assert_eq!(*exit, 0);
        let mut reader = known(program).reader();
        reader.feed(output.as_bytes(), &mut Vec::new());
        assert!(reader.has_result(), "{program}");
        assert_eq!(line(&reader.finish(Ended::AfterResult, "", None)), *expected);
        check(program, output, 7, "late", "!the agent ends with exit code 7: late");
        let killed = read(program, output, Ended::Signal(9), "");
        assert_eq!(line(&killed), "!the agent is ended by signal 9");
    }
}

#[test]
fn single_results() {
    for (program, output, expected) in [
        ("claude", r#"{"type":"result","subtype":"success","is_error":false,"result":"one"}"#, "one"),
        (
            "claude",
            "{\n \"type\": \"result\",\n \"subtype\": \"success\",\n \"result\": \"pretty\"\n}\n",
            "pretty",
        ),
        ("claude", r#"{"type":"result","result":"bare"}"#, "bare"),
        (
            "claude",
            r#"{"type":"result","subtype":"success","is_error":true,"result":"no"}"#,
            "!the agent reports a failure: no",
        ),
        (
            "claude",
            r#"{"type":"result","subtype":"error_max_turns","is_error":true,"errors":["Reached maximum number of turns (1)"]}"#,
            "!the agent stops at a limit: Reached maximum number of turns (1)",
        ),
        (
            "claude",
            r#"{"type":"result","subtype":"error_max_budget_usd","is_error":true}"#,
            "!the agent stops at a limit: error_max_budget_usd",
        ),
        (
            "claude",
            r#"{"type":"result","subtype":"success","is_error":false,"result":"rate limit 429 explained"}"#,
            "rate limit 429 explained",
        ),
        (
            "claude",
            r#"{"type":"result","subtype":"success","is_error":true,"api_error_status":529,"result":"Overloaded"}"#,
            "!the agent's model service fails with status 529: Overloaded",
        ),
        ("gemini", "{\n \"session_id\": \"s\",\n \"response\": \"whole\",\n \"stats\": {}\n}", "whole"),
        (
            "gemini",
            r#"{"session_id":"s","error":{"type":"Error","message":"quota exceeded","code":429}}"#,
            "!the agent is rate limited: quota exceeded",
        ),
        (
            "amplifier",
            "Bundle ready\n{\n  \"status\": \"success\",\n  \"response\": \"done\",\n  \"session_id\": \"s\",\n  \"model\": \"m\"\n}\n",
            "done",
        ),
        (
            "amplifier",
            r#"{"status":"error","error":"401 Unauthorized","session_id":"s"}"#,
            "!the agent cannot log in: 401 Unauthorized; check its login or its key",
        ),
        (
            "codex",
            "{\"type\":\"thread.started\",\"thread_id\":\"t\"}\n{\"type\":\"turn.completed\",\"usage\":{}}",
            "",
        ),
        (
            "copilot",
            "{\"type\":\"assistant.message\",\"data\":{\"content\":\"main\"}}\n{\"type\":\"assistant.message\",\"data\":{\"content\":\"sub\",\"parentToolCallId\":\"t\"}}\n{\"type\":\"result\",\"sessionId\":\"s\",\"exitCode\":0}",
            "main",
        ),
        (
            "copilot",
            "{\"type\":\"result\",\"sessionId\":\"s\",\"exitCode\":1}",
            "!the agent reports a failure: exit code 1",
        ),
        (
            "opencode",
            r#"{"type":"step_finish","sessionID":"s","part":{"reason":"length"}}"#,
            "!the agent stops at a limit: the answer is cut off at the model's output limit",
        ),
        (
            "opencode",
            r#"{"type":"step_finish","sessionID":"s","part":{"reason":"tool-calls"}}"#,
            "!the agent ends with exit code 0 and without a result",
        ),
    ] {
        check(program, output, 0, "", expected);
    }
}

#[test]
fn a_later_result_counts() {
    let failed = r#"{"type":"result","subtype":"success","is_error":true,"result":"no"}"#;
    let good = r#"{"type":"result","subtype":"success","is_error":false,"result":"yes"}"#;
    check("claude", &format!("{failed}\n{good}\n"), 0, "", "yes");
    check("claude", &format!("{good}\n{failed}\n"), 0, "", "!the agent reports a failure: no");
}

#[test]
fn a_retry_that_worked_does_not_explain_a_later_crash() {
    let retried = r#"{"type":"system","subtype":"api_retry","error_status":429,"error":"rate_limit"}"#;
    let worked = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"hi"}]}}"#;
    check(
        "claude",
        &format!("{retried}\n"),
        1,
        "crash",
        "!the agent is rate limited: rate_limit (status 429)",
    );
    check("claude", &format!("{retried}\n{worked}\n"), 1, "crash", "!the agent ends with exit code 1: crash");
}
