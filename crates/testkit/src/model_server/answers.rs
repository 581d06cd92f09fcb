//! The answers of the model server in each protocol. Pure: a request in, a reply out.

use serde_json::{Value, json};

use super::{HELLO, Reply};

/// The answer that a request asks for, from its markers.
struct Wish {
    text: String,
    tool: Option<(&'static str, Value)>,
    stall: bool,
    stream: bool,
}

/// The reply to a request. `marked` is its body, perhaps with more markers.
pub(super) fn answer(path: &str, body: &str, marked: &str) -> Reply {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    if let Some(status) = wanted_status(marked) {
        return Reply::json(status, &failure(path, status));
    }
    let wish = read_wish(path, query, marked);
    match path {
        p if p.ends_with("/messages") => anthropic(&wish, &model(body)),
        p if p.ends_with("/responses") => responses(&wish, &model(body)),
        p if p.ends_with("/chat/completions") => chat(&wish, &model(body)),
        p if p.to_ascii_lowercase().ends_with("generatecontent") => gemini(&wish),
        p if p.ends_with("/count_tokens") => Reply::json(200, &json!({"input_tokens": 7})),
        p if p.ends_with("/models") => {
            Reply::json(200, &json!({"object": "list", "data": [{"id": "test-model", "object": "model"}]}))
        }
        _ => Reply::json(404, &json!({"error": {"message": "no such path"}})),
    }
}

fn read_wish(path: &str, query: &str, body: &str) -> Wish {
    let text = match marker(body, "[[say:") {
        Some(text) => text,
        None if body.contains("[[empty]]") => String::new(),
        None => HELLO.to_owned(),
    };
    let done = ["\"tool_result\"", "function_call_output", "\"role\":\"tool\"", "functionResponse"];
    let is_done = done.iter().any(|word| body.contains(word));
    let write = marker(body, "[[write:").and_then(|path| write_tool(body, &path));
    let run = || marker(body, "[[tool:").and_then(|command| shell_tool(body, &command));
    let tool = write.or_else(run).filter(|_| !is_done);
    Wish {
        text,
        tool,
        stall: body.contains("[[stall]]"),
        stream: body.contains("\"stream\":true") || path.contains("stream") || query.contains("alt=sse"),
    }
}

/// The text between an opening marker and `]]`.
fn marker(body: &str, open: &str) -> Option<String> {
    let rest = &body[body.find(open)? + open.len()..];
    Some(rest[..rest.find("]]")?].to_owned())
}

fn wanted_status(body: &str) -> Option<u16> {
    [429, 401, 400, 403, 500, 503, 529].into_iter().find(|status| body.contains(&format!("[[{status}]]")))
}

fn model(body: &str) -> String {
    serde_json::from_str::<Value>(body)
        .ok()
        .and_then(|body| Some(body.get("model")?.as_str()?.to_owned()))
        .unwrap_or_else(|| "test-model".to_owned())
}

/// The shell tool that the request offers, under the name that the program gave it.
fn shell_tool(body: &str, command: &str) -> Option<(&'static str, Value)> {
    let named = |name: &str| body.contains(&format!("\"name\":\"{name}\""));
    match () {
        () if named("Bash") => Some(("Bash", json!({"command": command, "description": "a command"}))),
        () if named("exec_command") => Some(("exec_command", json!({"cmd": command}))),
        () if named("shell") => Some(("shell", json!({"command": ["bash", "-c", command]}))),
        () if named("run_shell_command") => Some(("run_shell_command", json!({"command": command}))),
        () if named("bash") => Some(("bash", json!({"command": command, "description": "a command"}))),
        () => None,
    }
}

/// The tool for new files that the request offers; a shell command if there is none.
fn write_tool(body: &str, path: &str) -> Option<(&'static str, Value)> {
    let named = |name: &str| body.contains(&format!("\"name\":\"{name}\""));
    match () {
        () if named("Write") => Some(("Write", json!({"file_path": path, "content": "made"}))),
        () if named("write_file") => Some(("write_file", json!({"file_path": path, "content": "made"}))),
        () if named("create") => Some(("create", json!({"path": path, "file_text": "made"}))),
        () if named("write") => Some(("write", json!({"filePath": path, "content": "made"}))),
        () => shell_tool(body, &format!("echo made > {path}")),
    }
}

fn failure(path: &str, status: u16) -> Value {
    let (kind, message) = match status {
        429 => ("rate_limit_error", "Rate limit reached, slow down"),
        401 => ("authentication_error", "invalid x-api-key"),
        403 => ("permission_error", "not allowed"),
        400 => ("invalid_request_error", "bad request"),
        529 => ("overloaded_error", "Overloaded"),
        _ => ("api_error", "Internal server error"),
    };
    if path.to_ascii_lowercase().ends_with("generatecontent") {
        return json!({"error": {"code": status, "message": message, "status": kind}});
    }
    json!({"type": "error", "error": {"type": kind, "code": kind, "message": message}})
}

/// Named events, as Anthropic and OpenAI Responses send them; a stalled answer stops half-way.
fn named_events(wish: &Wish, events: &[Value]) -> Reply {
    let sent = if wish.stall { events.len() / 2 } else { events.len() };
    let body = events[..sent]
        .iter()
        .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or("")))
        .collect();
    stream(wish, body)
}

/// Bare data lines, as Chat Completions and Gemini send them.
fn data_events(wish: &Wish, events: &[Value], end: &str) -> Reply {
    let sent = if wish.stall { events.len() / 2 } else { events.len() };
    let mut body: String = events[..sent].iter().map(|event| format!("data: {event}\n\n")).collect();
    if !wish.stall {
        body.push_str(end);
    }
    stream(wish, body)
}

fn stream(wish: &Wish, body: String) -> Reply {
    Reply { status: 200, stream: true, stall: wish.stall, body }
}

fn anthropic(wish: &Wish, model: &str) -> Reply {
    let (block, start, delta, reason) = match &wish.tool {
        Some((name, input)) => (
            json!({"type": "tool_use", "id": "toolu_01", "name": name, "input": input}),
            json!({"type": "tool_use", "id": "toolu_01", "name": name, "input": {}}),
            json!({"type": "input_json_delta", "partial_json": input.to_string()}),
            "tool_use",
        ),
        None => (
            json!({"type": "text", "text": wish.text}),
            json!({"type": "text", "text": ""}),
            json!({"type": "text_delta", "text": wish.text}),
            "end_turn",
        ),
    };
    let usage = json!({"input_tokens": 11, "output_tokens": 5, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 2});
    let message = |content: Value, reason: Value| json!({"id": "msg_01", "type": "message", "role": "assistant", "model": model, "content": content, "stop_reason": reason, "stop_sequence": null, "usage": usage});
    if !wish.stream {
        return Reply::json(200, &message(json!([block]), json!(reason)));
    }
    named_events(
        wish,
        &[
            json!({"type": "message_start", "message": message(json!([]), Value::Null)}),
            json!({"type": "content_block_start", "index": 0, "content_block": start}),
            json!({"type": "content_block_delta", "index": 0, "delta": delta}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null}, "usage": usage}),
            json!({"type": "message_stop"}),
        ],
    )
}

fn responses(wish: &Wish, model: &str) -> Reply {
    let item = match &wish.tool {
        Some((name, input)) => {
            json!({"type": "function_call", "id": "fc_01", "call_id": "call_01", "name": name, "arguments": input.to_string(), "status": "completed"})
        }
        None => {
            json!({"type": "message", "id": "item_01", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": wish.text, "annotations": []}]})
        }
    };
    let done = json!({"id": "resp_01", "object": "response", "model": model, "status": "completed", "output": [item],
        "usage": {"input_tokens": 11, "input_tokens_details": {"cached_tokens": 3}, "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 16}});
    if !wish.stream {
        return Reply::json(200, &done);
    }
    named_events(
        wish,
        &[
            json!({"type": "response.created", "response": {"id": "resp_01", "object": "response", "model": model, "status": "in_progress", "output": []}}),
            json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
            json!({"type": "response.completed", "response": done}),
        ],
    )
}

fn chat(wish: &Wish, model: &str) -> Reply {
    let (said, reason) = match &wish.tool {
        Some((name, input)) => (
            json!({"role": "assistant", "content": null, "tool_calls": [{"index": 0, "id": "call_01", "type": "function", "function": {"name": name, "arguments": input.to_string()}}]}),
            "tool_calls",
        ),
        None => (json!({"role": "assistant", "content": wish.text}), "stop"),
    };
    let usage = json!({"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16, "prompt_tokens_details": {"cached_tokens": 3}});
    if !wish.stream {
        return Reply::json(
            200,
            &json!({"id": "chat_01", "object": "chat.completion", "created": 1, "model": model, "usage": usage,
            "choices": [{"index": 0, "message": said, "finish_reason": reason}]}),
        );
    }
    let chunk = |delta: Value, reason: Value, usage: Value| {
        json!({"id": "chat_01", "object": "chat.completion.chunk", "created": 1, "model": model, "usage": usage,
        "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})
    };
    data_events(
        wish,
        &[chunk(said, Value::Null, Value::Null), chunk(json!({}), json!(reason), usage)],
        "data: [DONE]\n\n",
    )
}

fn gemini(wish: &Wish) -> Reply {
    let part = match &wish.tool {
        Some((name, input)) => json!({"functionCall": {"name": name, "args": input}}),
        None => json!({"text": wish.text}),
    };
    let whole = json!({"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 11, "candidatesTokenCount": 5, "totalTokenCount": 16, "cachedContentTokenCount": 3}, "modelVersion": "test-model"});
    if !wish.stream {
        return Reply::json(200, &whole);
    }
    data_events(wish, &[whole], "")
}
