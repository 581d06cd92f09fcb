//! Amplifier CLI (`amplifier run --output-format json`): one JSON object, perhaps after a banner.
//! It reports neither tokens nor cost.

use serde_json::Value;

use super::call_state::{CallState, text};
use super::{AgentEvent, Invocation, Request, joined_prompt};

/// The prompt is passed on stdin.
pub(super) fn invocation(request: &Request) -> Invocation {
    let mut call = Invocation::new(["run", "--mode", "single", "--output-format", "json"]);
    call.option("--model", request.model.as_deref());
    call.option("--resume", request.session.as_deref());
    call.stdin = Some(joined_prompt(request));
    call
}

/// Takes the whole result.
pub(super) fn read(event: &Value, draft: &mut CallState, out: &mut Vec<AgentEvent>) -> bool {
    let status = text(event, "/status");
    match (status, text(event, "/response"), event.get("error")) {
        (Some("success"), Some(response), _) => draft.finish(Some(response)),
        (Some("error"), _, Some(error)) => {
            let message = error.as_str().or_else(|| text(error, "/message"));
            draft.fail(None, message.unwrap_or("the session failed"));
        }
        _ => return false,
    }
    draft.set_session(text(event, "/session_id"), out);
    draft.set_model(text(event, "/model"), out);
    true
}
