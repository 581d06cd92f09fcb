//! Gemini CLI (`gemini --output-format stream-json`); also reads the single object of its `json` format. Never takes
//! text before its last tool for the answer.

use serde_json::Value;

use super::call_state::{CallState, number, say, text, tool};
use super::{AgentEvent, Invocation, Request, joined_prompt};

/// The prompt is passed on stdin; a piped prompt is headless even without `-p`.
pub(super) fn invocation(request: &Request) -> Invocation {
    let mut call = Invocation::new(["--output-format", "stream-json", "--yolo", "--skip-trust"]);
    call.option("--model", request.model.as_deref());
    call.option("--resume", request.session.as_deref());
    call.stdin = Some(joined_prompt(request));
    call
}

/// Takes one event, or the whole result.
pub(super) fn read(event: &Value, draft: &mut CallState, out: &mut Vec<AgentEvent>) -> bool {
    match text(event, "/type") {
        Some("init") if event.get("session_id").is_some() => {
            draft.set_session(text(event, "/session_id"), out);
            draft.set_model(text(event, "/model"), out);
        }
        Some("message") if event.get("role").is_some() => read_message(event, draft, out),
        Some("tool_use") if event.get("tool_name").is_some() => {
            let name = text(event, "/tool_name").unwrap_or("tool");
            out.push(tool(name, event.get("parameters")));
            "tool".clone_into(&mut draft.message_id);
        }
        Some("tool_result") => return event.get("tool_id").is_some(),
        Some("error") if event.get("severity").is_some() => {
            draft.complain(text(event, "/message").unwrap_or("error"), out);
        }
        Some("result") if event.get("status").is_some() => read_result(event, draft),
        None if is_whole(event) => return read_whole(event, draft, out),
        _ => return false,
    }
    true
}

fn read_message(event: &Value, draft: &mut CallState, out: &mut Vec<AgentEvent>) {
    if text(event, "/role") != Some("assistant") {
        return;
    }
    if draft.message_id == "tool" {
        draft.message_id.clear();
        draft.answer.clear();
    }
    let content = text(event, "/content").unwrap_or_default();
    draft.say_more(content);
    say(content, out);
}

fn read_result(event: &Value, draft: &mut CallState) {
    let usage = &mut draft.usage;
    usage.input_tokens = number(event, "/stats/input_tokens");
    usage.output_tokens = number(event, "/stats/output_tokens");
    usage.cache_read_tokens = number(event, "/stats/cached");
    if text(event, "/status") == Some("success") {
        return draft.finish(None);
    }
    let message = text(event, "/error/message").unwrap_or("the session failed");
    draft.fail(number(event, "/error/code"), message);
}

/// Whether this is the object of the `json` format: it names its session, or has only fields of that format.
fn is_whole(event: &Value) -> bool {
    const KNOWN: [&str; 4] = ["response", "stats", "error", "warnings"];
    let is_known = |key: &String| KNOWN.contains(&key.as_str());
    event.as_object().is_some_and(|all| all.contains_key("session_id") || all.keys().all(is_known))
}

fn read_whole(event: &Value, draft: &mut CallState, out: &mut Vec<AgentEvent>) -> bool {
    let failed = event.get("error").is_some_and(|error| !error.is_null());
    if !failed && event.get("response").is_none() {
        return false;
    }
    draft.set_session(text(event, "/session_id"), out);
    let models = event.pointer("/stats/models").and_then(Value::as_object);
    for (name, model) in models.into_iter().flatten() {
        draft.set_model(Some(name), out);
        let usage = &mut draft.usage;
        super::call_state::add(&mut usage.input_tokens, number(model, "/tokens/prompt"));
        super::call_state::add(&mut usage.cache_read_tokens, number(model, "/tokens/cached"));
        super::call_state::add(&mut usage.output_tokens, number(model, "/tokens/candidates"));
    }
    if failed {
        let message = text(event, "/error/message").unwrap_or("the session failed");
        draft.fail(number(event, "/error/code"), message);
    } else {
        draft.finish(Some(text(event, "/response").unwrap_or_default()));
    }
    true
}
