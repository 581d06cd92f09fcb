//! Claude Code (`claude -p`), read through its `stream-json` events; also reads the single object of its `json` format.
//! Never trusts `subtype` alone: after a failed model call it still says `success`.

use serde_json::Value;

use super::call_state::{CallState, add, number, preview, say, text, tool};
use super::{ARGUMENT_LIMIT, AgentEvent, AgentFailure, Invocation, Request, User};

/// The prompt is passed on stdin. A system prompt is an argument unless it is too long for one.
pub(super) fn invocation(request: &Request) -> Invocation {
    let mut call = Invocation::new(["-p", "--output-format", "stream-json", "--verbose"]);
    call.arg("--permission-mode").arg("bypassPermissions");
    match &request.system_prompt {
        Some(system) if system.len() > ARGUMENT_LIMIT => {
            let path = request.scratch.join("system-prompt.md");
            call.arg("--system-prompt-file").arg(path.clone());
            call.files.push((path, system.clone()));
        }
        system => {
            call.option("--system-prompt", system.as_deref());
        }
    }
    call.arg("--add-dir").arg(request.cwd.clone());
    call.option("--model", request.model.as_deref());
    call.option("--resume", request.session.as_deref());
    // Its own ten retries take three minutes; the run has its own retries, which are visible and can be interrupted.
    call.default_env("CLAUDE_CODE_MAX_RETRIES", "2");
    call.default_env("DISABLE_AUTOUPDATER", "1");
    if request.user == User::Root {
        call.default_env("IS_SANDBOX", "1");
    }
    call.stdin = Some(request.prompt.clone());
    call
}

/// Takes one event.
pub(super) fn read(event: &Value, draft: &mut CallState, out: &mut Vec<AgentEvent>) -> bool {
    match text(event, "/type") {
        Some("system") if event.get("subtype").is_some() => read_system(event, draft, out),
        Some("assistant") if event.get("message").is_some() => {
            read_message(event, draft, out);
            count_message(event, draft);
        }
        Some("result") if is_result(event) => read_result(event, draft, out),
        Some("result") | None => return false,
        Some(_) => return event.get("session_id").is_some(),
    }
    true
}

fn read_system(event: &Value, draft: &mut CallState, out: &mut Vec<AgentEvent>) {
    match text(event, "/subtype") {
        Some("init") => {
            draft.set_session(text(event, "/session_id"), out);
            draft.set_model(text(event, "/model"), out);
        }
        Some("api_retry") => {
            let error = text(event, "/error").unwrap_or("model call failed");
            let status = number(event, "/error_status");
            let status = status.map_or_else(String::new, |status| format!(" (status {status})"));
            draft.complain(&format!("{error}{status}"), out);
        }
        _ => {}
    }
}

/// Counts the usage of a message, before the result has the total. A message in several events counts once.
fn count_message(event: &Value, draft: &mut CallState) {
    let id = text(event, "/message/id").unwrap_or_default();
    if !id.is_empty() && draft.message_id == id {
        return;
    }
    id.clone_into(&mut draft.message_id);
    add(&mut draft.usage.input_tokens, number(event, "/message/usage/input_tokens"));
    add(&mut draft.usage.output_tokens, number(event, "/message/usage/output_tokens"));
}

/// Reads a message. The last one is the answer if no result follows. Messages after the result and those of a sub-agent
/// do not count.
fn read_message(event: &Value, draft: &mut CallState, out: &mut Vec<AgentEvent>) {
    let is_own = !draft.done && event.get("parent_tool_use_id").is_none_or(Value::is_null);
    let mut is_new = text(event, "/message/id").is_none_or(|id| id != draft.message_id);
    let blocks = event.pointer("/message/content").and_then(Value::as_array);
    for block in blocks.into_iter().flatten() {
        match text(block, "/type") {
            Some("text") => {
                let words = text(block, "/text").unwrap_or_default();
                if is_own && std::mem::take(&mut is_new) {
                    draft.answer.clear();
                }
                if is_own {
                    draft.say_more(words);
                }
                say(words, out);
            }
            Some("tool_use") => {
                let name = text(block, "/name").unwrap_or("tool");
                out.push(tool(name, block.get("input")));
            }
            _ => {}
        }
    }
}

fn is_result(event: &Value) -> bool {
    ["subtype", "is_error", "result", "session_id"].iter().any(|name| event.get(name).is_some())
}

fn read_result(event: &Value, draft: &mut CallState, out: &mut Vec<AgentEvent>) {
    draft.set_session(text(event, "/session_id"), out);
    read_usage(event, draft, out);
    read_denials(event, draft);
    let subtype = text(event, "/subtype").unwrap_or_default();
    let failed = event.get("is_error") == Some(&Value::Bool(true)) || subtype.starts_with("error");
    if !failed {
        return draft.finish(Some(text(event, "/result").unwrap_or_default()));
    }
    let message = failure_message(event, subtype);
    if let Some(result) = text(event, "/result").filter(|result| !result.is_empty()) {
        draft.answer.set(result);
    }
    match number(event, "/api_error_status") {
        Some(status) => draft.fail(Some(status), &message),
        None => draft.fail_in_words(&message),
    }
    if subtype.starts_with("error_max") {
        draft.failure = Some(AgentFailure::Limit { message });
    }
}

/// Denied tools are listed only here: the result itself is a success.
fn read_denials(event: &Value, draft: &mut CallState) {
    let denials = event.get("permission_denials").and_then(Value::as_array);
    for tool in denials.into_iter().flatten().filter_map(|denial| text(denial, "/tool_name")) {
        let tool = preview(tool);
        if !draft.denied.contains(&tool) {
            draft.denied.push(tool);
        }
    }
}

fn failure_message(event: &Value, subtype: &str) -> String {
    let errors = event.get("errors").and_then(Value::as_array);
    let errors: Vec<&str> = errors.into_iter().flatten().filter_map(Value::as_str).collect();
    match text(event, "/result") {
        Some(result) if !result.is_empty() => result.to_owned(),
        _ if errors.is_empty() => subtype.to_owned(),
        _ => errors.join("; "),
    }
}

fn read_usage(event: &Value, draft: &mut CallState, out: &mut Vec<AgentEvent>) {
    let models = event.get("modelUsage").and_then(Value::as_object);
    if draft.usage.model.is_none() {
        let first = models.and_then(|models| models.keys().next());
        draft.set_model(first.map(String::as_str), out);
    }
    let usage = &mut draft.usage;
    usage.input_tokens = number(event, "/usage/input_tokens");
    usage.output_tokens = number(event, "/usage/output_tokens");
    usage.cache_read_tokens = number(event, "/usage/cache_read_input_tokens");
    usage.cache_write_tokens = number(event, "/usage/cache_creation_input_tokens");
    usage.cost_usd = event.get("total_cost_usd").and_then(Value::as_f64);
    usage.turns = number(event, "/num_turns");
}
