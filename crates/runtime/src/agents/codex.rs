//! Codex CLI (`codex exec --json`); its answer is the last-message file, or the last `agent_message`. Never takes an
//! `error` item for a failure: a successful turn can have one.

use serde_json::Value;

use super::call_state::{CallState, number, preview, say, text, tool};
use super::{AgentEvent, Invocation, Request, joined_prompt};

/// The prompt is passed on stdin (`-`).
pub(super) fn invocation(request: &Request) -> Invocation {
    let last = request.scratch.join("last-message.txt");
    let mut call = Invocation::new(["exec", "--json", "--skip-git-repo-check"]);
    call.arg("--dangerously-bypass-approvals-and-sandbox");
    call.option("--model", request.model.as_deref());
    call.arg("-o").arg(last.clone());
    if let Some(session) = &request.session {
        call.arg("resume").arg(session);
    }
    call.arg("-");
    call.stdin = Some(joined_prompt(request));
    call.answer_file = Some(last);
    call
}

/// Takes one event.
pub(super) fn read(event: &Value, draft: &mut CallState, out: &mut Vec<AgentEvent>) -> bool {
    let Some(kind) = text(event, "/type") else {
        return false;
    };
    match kind {
        "thread.started" => draft.set_session(text(event, "/thread_id"), out),
        "turn.started" => draft.done = false,
        "turn.completed" => {
            read_usage(event, draft);
            draft.finish(None);
        }
        "turn.failed" => {
            let message = text(event, "/error/message").unwrap_or("the turn failed");
            draft.fail(None, message);
        }
        "error" => match text(event, "/message") {
            Some(message) => draft.complain(message, out),
            None => return false,
        },
        kind if kind.starts_with("item.") => read_item(kind, event, draft, out),
        kind => return kind.starts_with("thread.") || kind.starts_with("turn."),
    }
    true
}

fn read_item(kind: &str, event: &Value, draft: &mut CallState, out: &mut Vec<AgentEvent>) {
    let Some(item) = event.get("item") else {
        return;
    };
    let started = kind == "item.started";
    match text(item, "/type").unwrap_or_default() {
        "agent_message" if kind == "item.completed" => {
            let message = text(item, "/text").unwrap_or_default();
            draft.answer.set(message);
            say(message, out);
        }
        "command_execution" if started => out.push(tool("shell", Some(item))),
        "web_search" if started => out.push(tool("web_search", Some(item))),
        "mcp_tool_call" if started => {
            let name = text(item, "/tool").unwrap_or("mcp tool");
            out.push(tool(name, item.get("arguments")));
        }
        "file_change" if kind == "item.completed" => {
            out.push(AgentEvent::Tool { name: "file_change".to_owned(), detail: changed_files(item) })
        }
        _ => {}
    }
}

fn changed_files(item: &Value) -> String {
    let changes = item.get("changes").and_then(Value::as_array);
    let paths = changes.into_iter().flatten().filter_map(|change| text(change, "/path"));
    preview(&paths.collect::<Vec<_>>().join(", "))
}

fn read_usage(event: &Value, draft: &mut CallState) {
    let usage = &mut draft.usage;
    usage.input_tokens = number(event, "/usage/input_tokens");
    usage.cache_read_tokens = number(event, "/usage/cached_input_tokens");
    usage.cache_write_tokens = number(event, "/usage/cache_write_input_tokens");
    usage.output_tokens = number(event, "/usage/output_tokens");
}
