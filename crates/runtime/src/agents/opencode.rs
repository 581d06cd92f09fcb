//! opencode (`opencode run --format json`). It has no final event: a step that finishes with `stop` is the end, and so
//! is the end of the output if no step has begun. Never takes the text of an earlier message for the answer.

use serde_json::Value;

use super::call_state::{CallState, add, number, say, text, tool};
use super::{AgentEvent, AgentFailure, Invocation, Request, joined_prompt};

/// The prompt is passed on stdin.
pub(super) fn invocation(request: &Request) -> Invocation {
    let mut call = Invocation::new(["run", "--format", "json", "--auto"]);
    call.option("--model", request.model.as_deref());
    call.option("--session", request.session.as_deref());
    call.default_env("OPENCODE_DISABLE_AUTOUPDATE", "1");
    call.stdin = Some(joined_prompt(request));
    call
}

/// An id that no message has: the next text is a new answer, with or without an id.
const BETWEEN: &str = "\n";

/// Takes one event.
pub(super) fn read(event: &Value, draft: &mut CallState, out: &mut Vec<AgentEvent>) -> bool {
    let Some(kind) = text(event, "/type") else {
        return false;
    };
    let body = if kind == "error" { "error" } else { "part" };
    if text(event, "/sessionID").is_none() && !event.get(body).is_some_and(Value::is_object) {
        return false;
    }
    draft.set_session(text(event, "/sessionID"), out);
    match kind {
        "step_start" => {
            draft.done = false;
            draft.is_settled = false;
            draft.in_step = true;
            BETWEEN.clone_into(&mut draft.message_id);
        }
        "text" => read_text(event, draft, out),
        "tool_use" => {
            draft.is_settled = false;
            BETWEEN.clone_into(&mut draft.message_id);
            let name = text(event, "/part/tool").unwrap_or("tool");
            out.push(tool(name, event.pointer("/part/state/input")));
        }
        "step_finish" => read_finish(event, draft),
        "error" => read_error(event, draft),
        _ => {}
    }
    true
}

fn read_text(event: &Value, draft: &mut CallState, out: &mut Vec<AgentEvent>) {
    let message = text(event, "/part/messageID").unwrap_or_default();
    if draft.message_id != message {
        message.clone_into(&mut draft.message_id);
        draft.answer.clear();
    }
    let words = text(event, "/part/text").unwrap_or_default();
    draft.say_more(words);
    draft.is_settled = !draft.in_step;
    say(words, out);
}

fn read_finish(event: &Value, draft: &mut CallState) {
    read_usage(event, draft);
    (draft.in_step, draft.is_settled) = (false, false);
    let limit = |message: &str| AgentFailure::Limit { message: message.to_owned() };
    match text(event, "/part/reason") {
        Some("tool-calls") => {}
        Some("length") => {
            draft.fail(None, "length");
            draft.failure = Some(limit("the answer is cut off at the model's output limit"));
        }
        Some("content-filter") => {
            draft.fail(None, "content-filter");
            draft.failure = Some(AgentFailure::Refused {
                status: None,
                message: "a content filter stopped the answer".to_owned(),
            });
        }
        _ => draft.finish(None),
    }
}

/// Reads the usage. A cost of 0 means that opencode does not know the price of the model.
fn read_usage(event: &Value, draft: &mut CallState) {
    let usage = &mut draft.usage;
    add(&mut usage.input_tokens, number(event, "/part/tokens/input"));
    add(&mut usage.output_tokens, number(event, "/part/tokens/output"));
    add(&mut usage.cache_read_tokens, number(event, "/part/tokens/cache/read"));
    add(&mut usage.cache_write_tokens, number(event, "/part/tokens/cache/write"));
    add(&mut usage.turns, Some(1));
    let cost = event.pointer("/part/cost").and_then(Value::as_f64);
    if let Some(cost) = cost.filter(|cost| *cost > 0.0) {
        usage.cost_usd = Some(usage.cost_usd.unwrap_or(0.0) + cost);
    }
}

fn read_error(event: &Value, draft: &mut CallState) {
    let message = text(event, "/error/data/message")
        .or_else(|| text(event, "/error/message"))
        .or_else(|| text(event, "/error/name"))
        .unwrap_or("the session failed");
    draft.fail(number(event, "/error/data/statusCode"), message);
    let header = text(event, "/error/data/responseHeaders/retry-after");
    if let Some(AgentFailure::RateLimited { retry_after, .. }) = &mut draft.failure {
        *retry_after = header.and_then(|wait| wait.parse().ok()).or(*retry_after);
    }
}
