//! Text that an agent writes in its work is not evidence about its service or its login.

use super::*;

#[test]
fn prose_is_no_evidence() {
    let prose = "I looked at 500 files; the error was a rate limit";
    let expected = format!("!the agent ends with exit code 3: {prose}");
    for program in Program::known_names() {
        check(program, prose, 3, "", &expected);
        check(program, "x", 3, prose, &expected);
    }
}

#[test]
fn a_last_line_on_stdout_that_looks_like_an_error_is_no_evidence() {
    for last in ["API Error: 500 busy", "429 Too Many Requests", "Invalid API key", "connect ECONNREFUSED"] {
        let said = format!("The test now prints:\n{last}");
        for program in Program::known_names() {
            check(program, &said, 3, "", &format!("!the agent ends with exit code 3: {said}"));
        }
    }
    check(
        "claude",
        "hello",
        3,
        "API Error: 500 busy",
        "!the agent's model service fails with status 500: API Error: 500 busy",
    );
}

#[test]
fn a_result_in_the_models_words_is_no_evidence() {
    for (text, expected) in [
        ("I could not fix the 500 error", "!the agent reports a failure: I could not fix the 500 error"),
        ("API Error: 500 busy", "!the agent's model service fails with status 500: API Error: 500 busy"),
    ] {
        let result = format!(r#"{{"type":"result","subtype":"success","is_error":true,"result":"{text}"}}"#);
        check("claude", &result, 1, "", expected);
    }
}
