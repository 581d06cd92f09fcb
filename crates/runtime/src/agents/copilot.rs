//! GitHub Copilot CLI (`copilot --output-format json`), which reads a piped prompt from stdin.
//!
//! It hides the values of secrets in its own output, including keys of JSON, so only the needed fields are read. Never
//! takes the message of a sub-agent for the answer.

use serde_json::Value;

use super::call_state::{CallState, add, number, say, text, tool};
use super::{AgentEvent, Invocation, Request, Tools, joined_prompt};

/// The prompt is passed on stdin.
pub(super) fn invocation(request: &Request) -> Invocation {
    let mut call = Invocation::new(["--output-format", "json"]);
    if request.tools == Tools::All {
        call.arg("--allow-all-tools");
    }
    call.arg("--allow-all-paths").arg("--allow-all-urls");
    call.arg("--no-ask-user");
    call.arg("--add-dir").arg(request.cwd.clone());
    call.option("--model", request.model.as_deref());
    if let Some(session) = &request.session {
        call.arg(format!("--resume={session}"));
    }
    call.default_env("COPILOT_AUTO_UPDATE", "false");
    call.stdin = Some(joined_prompt(request));
    call
}

/// Takes one event.
pub(super) fn read(event: &Value, draft: &mut CallState, out: &mut Vec<AgentEvent>) -> bool {
    let Some(kind) = text(event, "/type") else {
        return false;
    };
    match (kind, event.get("data")) {
        ("result", _) if event.get("sessionId").is_some() => read_result(event, draft, out),
        (kind, Some(data)) if kind.contains('.') => read_data(kind, data, draft, out),
        _ => return false,
    }
    true
}

fn read_data(kind: &str, data: &Value, draft: &mut CallState, out: &mut Vec<AgentEvent>) {
    match kind {
        "session.start" => draft.set_session(text(data, "/sessionId"), out),
        "session.tools_updated" => draft.set_model(text(data, "/model"), out),
        "assistant.turn_start" => add(&mut draft.usage.turns, Some(1)),
        "assistant.message" => read_message(data, draft, out),
        "assistant.usage" => read_usage(data, draft),
        "tool.execution_start" => {
            let name = text(data, "/toolName").unwrap_or("tool");
            out.push(tool(name, data.get("arguments")));
        }
        "model.call_failure" => {
            let message = text(data, "/errorMessage").unwrap_or("model call failed");
            draft.complain(message, out);
        }
        "session.error" => {
            let message = text(data, "/message").unwrap_or("the session failed");
            draft.fail(number(data, "/statusCode"), message);
            draft.done = false;
        }
        _ => {}
    }
}

fn read_message(data: &Value, draft: &mut CallState, out: &mut Vec<AgentEvent>) {
    if data.get("parentToolCallId").is_some_and(|id| !id.is_null()) {
        return;
    }
    draft.set_model(text(data, "/model"), out);
    let content = text(data, "/content").unwrap_or_default();
    if !content.is_empty() {
        draft.answer.set(content);
        say(content, out);
    }
}

/// Reads the usage. `cost` counts premium requests, not dollars, and is left out.
fn read_usage(data: &Value, draft: &mut CallState) {
    let usage = &mut draft.usage;
    add(&mut usage.input_tokens, number(data, "/inputTokens"));
    add(&mut usage.cache_read_tokens, number(data, "/cacheReadTokens"));
    add(&mut usage.cache_write_tokens, number(data, "/cacheWriteTokens"));
    add(&mut usage.output_tokens, number(data, "/outputTokens"));
}

fn read_result(event: &Value, draft: &mut CallState, out: &mut Vec<AgentEvent>) {
    draft.set_session(text(event, "/sessionId"), out);
    match number(event, "/exitCode") {
        Some(0) => draft.finish(None),
        Some(code) if draft.failure.is_none() => {
            let complaint = draft.complaint.take();
            draft.fail(None, &complaint.unwrap_or_else(|| format!("exit code {code}")));
        }
        // The name of the field can be hidden; then the exit code of the process decides.
        _ => draft.done = true,
    }
}
