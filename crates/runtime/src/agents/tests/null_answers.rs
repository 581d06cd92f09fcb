//! A result that is `null` is no result, unlike one that is empty.

use super::check;

#[test]
fn a_null_result_is_not_an_answer() {
    let nothing = "!the agent ends with exit code 0 and without a result";
    let good = r#"{"type":"result","subtype":"success","is_error":false,"result":"yes"}"#;
    let null = r#"{"type":"result","subtype":"success","is_error":false,"result":null}"#;
    check("claude", null, 0, "", nothing);
    check("claude", &format!("{good}\n{null}\n"), 0, "", nothing);
    check("claude", &format!("{null}\n{good}\n"), 0, "", "yes");
    check("claude", &good.replace("yes", ""), 0, "", "");
    check("amplifier", r#"{"status":"success","response":null,"session_id":"s"}"#, 0, "", nothing);
}
