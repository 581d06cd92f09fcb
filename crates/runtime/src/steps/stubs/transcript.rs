//! What a stub prints in place of an agent program, in the form that the reader of agent programs reads: an answer, or
//! the trace of something that went wrong. The outcome is not decided here: the reader and the watch over the call do
//! that, as for a real program.

use std::time::Duration;

use recipe::{
    plan::{JsonMode, Step},
    test_file::{AgentReply, Fault, ReplyKind, StubReply, StubUsage},
};
use serde_json::{Map, Value, json};

use super::{auto_value::smallest, script::Script};

/// What a stub answers if it only has to answer.
const PLAIN: &str = "done";
/// What a program claims that did nothing.
const CLAIM: &str = "Done. I made all the changes, and all checks pass.";
/// What a crash prints.
const CRASH: &[u8] = b"fatal: unexpected end of the program (stub)\n";
/// Bytes that are neither an event nor JSON.
const GARBAGE: &[u8] = b"\x1b[31m<<%%% ~~ garbage {]} ~~ %%%>>\n";
/// The signal of a program that uses memory that is not its own.
const SEGMENTATION_FAULT: i32 = 11;

/// What a program does that gives this reply for a step.
pub(super) fn script(path: &str, reply: &StubReply, step: &Step) -> Result<Script, String> {
    let (stdout, stderr, exit, signal) = match &reply.kind {
        ReplyKind::Agent(AgentReply::Text(text)) => (result(text, reply.usage), Vec::new(), Some(0), None),
        ReplyKind::Agent(AgentReply::Json(value)) => {
            (result(&value.to_json(), reply.usage), Vec::new(), Some(0), None)
        }
        ReplyKind::Auto => (result(&auto(step)?, reply.usage), Vec::new(), Some(0), None),
        ReplyKind::Fault(fault) => trace(*fault, step, reply.usage)?,
        // the test file was checked: no other answer fits an agent
        ReplyKind::Bash(_) | ReplyKind::Recipe(_) | ReplyKind::Real => {
            (Vec::new(), Vec::new(), Some(1), None)
        }
    };
    Ok(Script {
        path: path.to_owned(),
        after: Duration::try_from_secs_f64(reply.after).unwrap_or_default(),
        stdout,
        stderr,
        files: reply.files.clone(),
        patch: reply.patch.clone(),
        exit,
        signal,
        is_busy: matches!(reply.kind, ReplyKind::Fault(Fault::Timeout)),
    })
}

/// What a program leaves behind: standard output, standard error, exit code, signal. Without the last two it never ends.
type Trace = (Vec<u8>, Vec<u8>, Option<i32>, Option<i32>);

fn trace(fault: Fault, step: &Step, usage: Option<StubUsage>) -> Result<Trace, String> {
    let nothing = Vec::new;
    Ok(match fault {
        Fault::Timeout | Fault::Idle => (nothing(), nothing(), None, None),
        Fault::RateLimit => (trouble(Some(429), "rate limit exceeded", usage), nothing(), Some(1), None),
        Fault::Auth => (trouble(Some(401), "invalid API key", usage), nothing(), Some(1), None),
        Fault::Network => (trouble(None, "API Error: connection refused", usage), nothing(), Some(1), None),
        Fault::Crash => (nothing(), CRASH.to_vec(), Some(1), None),
        Fault::Signal => (nothing(), nothing(), None, Some(SEGMENTATION_FAULT)),
        Fault::Garbage => (GARBAGE.to_vec(), nothing(), Some(0), None),
        Fault::Empty | Fault::Missing => (nothing(), nothing(), Some(0), None),
        Fault::Lie => (result(&claim(step)?, usage), nothing(), Some(0), None),
        Fault::HangAfterResult => (result(&auto(step)?, usage), nothing(), None, None),
    })
}

/// The smallest answer that a step accepts.
fn auto(step: &Step) -> Result<String, String> {
    match (&step.json_schema, step.json) {
        (Some(schema), _) => smallest(schema).map(|value| value.to_string()),
        (None, JsonMode::Text) => Ok(PLAIN.to_owned()),
        (None, _) => Ok("{}".to_owned()),
    }
}

/// The answer of a program that did nothing.
fn claim(step: &Step) -> Result<String, String> {
    match (&step.json_schema, step.json) {
        (None, JsonMode::Text) => Ok(CLAIM.to_owned()),
        _ => auto(step),
    }
}

/// The final event of a call that succeeded.
fn result(text: &str, usage: Option<StubUsage>) -> Vec<u8> {
    let event = json!({"type": "result", "subtype": "success", "is_error": false, "result": text});
    line(event, usage)
}

/// The final event of a call whose service did not work.
fn trouble(status: Option<u16>, text: &str, usage: Option<StubUsage>) -> Vec<u8> {
    let event = json!({"type": "result", "subtype": "success", "is_error": true, "api_error_status": status, "result": text});
    line(event, usage)
}

/// An event as a line, with what the stub reports about its cost: nothing, unless it says so.
fn line(mut event: Value, usage: Option<StubUsage>) -> Vec<u8> {
    let StubUsage { usd, input_tokens, output_tokens } = usage.unwrap_or_default();
    event["session_id"] = Value::from("stub");
    if let Some(usd) = usd {
        event["total_cost_usd"] = Value::from(usd);
    }
    let mut tokens = Map::new();
    tokens.extend(input_tokens.map(|count| ("input_tokens".to_owned(), Value::from(count))));
    tokens.extend(output_tokens.map(|count| ("output_tokens".to_owned(), Value::from(count))));
    if !tokens.is_empty() {
        event["usage"] = Value::Object(tokens);
    }
    format!("{event}\n").into_bytes()
}
