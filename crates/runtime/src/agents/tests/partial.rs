//! Partial answers of calls without a result, and the evidence for what was wrong.

use engine::run::outcome::{AgentTrouble, KnownBy};

use super::*;

fn text_event(words: &str) -> String {
    format!("{{\"type\":\"text\",\"part\":{{\"type\":\"text\",\"text\":\"{words}\"}}}}\n")
}

fn claude_says(id: &str, words: &str) -> String {
    format!(
        "{{\"type\":\"assistant\",\"message\":{{\"id\":\"{id}\",\"content\":[{{\"type\":\"text\",\"text\":\"{words}\"}}]}},\"session_id\":\"s\"}}\n"
    )
}

#[test]
fn what_was_said_before_a_failure_is_kept() {
    let failed = "{\"type\":\"result\",\"is_error\":true,\"result\":\"gave up\"}\n";
    let turns = "{\"type\":\"result\",\"subtype\":\"error_max_turns\",\"is_error\":true}\n";
    let init = "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\"}\n";
    let codex = "{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":\"half\"}}\n{\"type\":\"turn.failed\",\"error\":{\"message\":\"no\"}}\n";
    let sub_agent =
        claude_says("m2", "mine").replace("\"session_id\"", "\"parent_tool_use_id\":\"t\",\"session_id\"");
    for (program, output, expected) in [
        ("claude", "half of it\nand more\n".to_owned(), Some("half of it\nand more")),
        ("claude", String::new(), None),
        ("claude", init.to_owned(), None),
        ("claude", claude_says("m1", "one") + &claude_says("m1", " two"), Some("one two")),
        ("claude", claude_says("m1", "one") + &claude_says("m2", "two"), Some("two")),
        ("claude", claude_says("m1", "one") + &sub_agent, Some("one")),
        ("claude", claude_says("m1", "one") + failed, Some("gave up")),
        ("claude", claude_says("m1", "one") + turns, Some("one")),
        ("codex", codex.to_owned(), Some("half")),
        ("opencode", text_event("half"), Some("half")),
    ] {
        let outcome = read(program, &output, Ended::Exit(1), "boom");
        assert!(outcome.result.is_err(), "{program} {output}");
        assert_eq!(outcome.partial.as_deref(), expected, "{program} {output}");
        let mut reader = known(program).reader();
        reader.feed(output.as_bytes(), &mut Vec::new());
        assert_eq!(reader.partial().as_deref(), expected, "{program} {output}");
    }
}

#[test]
fn texts_of_opencode_are_an_answer_where_no_step_is_open() {
    let start = "{\"type\":\"step_start\",\"part\":{}}\n";
    let tools = "{\"type\":\"step_finish\",\"part\":{\"reason\":\"tool-calls\"}}\n";
    let stop = "{\"type\":\"step_finish\",\"part\":{\"reason\":\"stop\"}}\n";
    let tool = "{\"type\":\"tool_use\",\"part\":{\"tool\":\"bash\"}}\n";
    let (one, two) = (text_event("one"), text_event(" two"));
    let missing = "!the agent ends with exit code 0 and without a result";
    for (output, expected) in [
        (format!("{one}{two}"), "one two"),
        (format!("{start}{one}{stop}"), "one"),
        (format!("{start}{one}{tools}{two}"), "one two"),
        (format!("{start}{one}"), missing),
        (format!("{start}{one}{tools}"), missing),
        (format!("{one}{tool}"), missing),
        (format!("{one}{start}"), missing),
        (tool.to_owned(), missing),
    ] {
        check("opencode", &output, 0, "", expected);
    }
    check("opencode", &one, 3, "", "!the agent ends with exit code 3");
}

#[test]
fn it_is_known_whether_a_result_or_words_tell_the_trouble() {
    let result = |status: u16, text: &str| {
        format!(
            "{{\"type\":\"result\",\"is_error\":true,\"api_error_status\":{status},\"result\":\"{text}\"}}\n"
        )
    };
    use {AgentTrouble::*, KnownBy as By};
    for (output, stderr, trouble, known_by) in [
        (String::new(), "HTTP 429 Too Many Requests", Some(RateLimit), By::Words),
        (String::new(), "Invalid API key", Some(Credentials), By::Words),
        (String::new(), "connect ECONNREFUSED", Some(Network), By::Words),
        ("connect ECONNREFUSED\n".to_owned(), "", None, By::Result),
        (String::new(), "boom", None, By::Result),
        (result(429, "slow down"), "", Some(RateLimit), By::Result),
        (result(401, "who?"), "HTTP 429", Some(Credentials), By::Result),
        (result(529, "busy"), "", Some(Service), By::Result),
        (result(400, "429 is not a valid number"), "HTTP 429", Some(Request), By::Result),
    ] {
        let outcome = read("claude", &output, Ended::Exit(1), stderr);
        let found = outcome.result.unwrap_err().trouble();
        assert_eq!((found, outcome.known_by), (trouble, known_by), "{output} {stderr}");
    }
}

#[test]
fn half_an_event_is_no_answer_and_a_list_of_events_is_read() {
    let missing = "!the agent ends with exit code 0 and without a result";
    let list = "[{\"type\":\"system\",\"subtype\":\"init\"},{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"ANS\"}]\n";
    for (program, output, expected) in [
        ("claude", "{\"type\":\"result\",\"subtype\":\"succ", missing),
        ("codex", "\n{ \"type\": \"item.comp", missing),
        ("claude", "{\"type\":\"pear\"}", "{\"type\":\"pear\"}"),
        ("claude", "{\"answer\": 1", "{\"answer\": 1"),
        ("claude", list, "ANS"),
        ("claude", "[1, 2]\n", "[1, 2]"),
    ] {
        let said = line(&read(program, output, Ended::Exit(0), ""));
        assert!(said.starts_with(expected), "{program} {output}: {said}");
    }
}
