//! How an agent call ended: its outcome and its message. Never ends anything itself.

use std::path::Path;

use engine::{
    Outcome,
    run::{
        cause::{AgentFailure, Exhausted},
        message::waiting_for_person,
    },
};
use recipe::syntax::ExitMeaning;

use crate::{
    os::process::Exit,
    steps::{
        agent::attempt::{AgentTask, Call},
        shell::attempt::{StopSignal, signal_words},
    },
    store::values,
};

/// How a call ended.
pub(crate) enum End {
    Exited(Exit),
    AfterResult,
    TimedOut,
    Idle(f64),
    Budget(Vec<Exhausted>),
    Stopped(StopSignal),
}

/// The outcome of a call that the runner ended before it had a result.
pub(crate) fn cut_short(end: End, task: &AgentTask, stdout: &Path, said: &str) -> (Outcome, String) {
    match end {
        End::TimedOut => {
            let seconds = task.request.timeout.unwrap_or_default();
            explained(Outcome::TimedOut(seconds), &last_words(stdout, said))
        }
        End::Idle(seconds) => explained(Outcome::Idle(seconds), ""),
        End::Budget(exhausted) => explained(Outcome::Budget(exhausted), ""),
        End::Stopped(told @ StopSignal::Timeout(_)) => {
            (Outcome::Cancelled, format!("{}{}", told.ended(), last_words(stdout, said)))
        }
        End::Stopped(told) => (Outcome::Cancelled, told.ended()),
        End::Exited(_) | End::AfterResult => (Outcome::Cancelled, StopSignal::Run.ended()),
    }
}

/// An outcome, with its cause in words and more words after it.
fn explained(outcome: Outcome, more: &str) -> (Outcome, String) {
    let error = format!("{}{more}", outcome.cause().unwrap_or_default());
    (outcome, error)
}

/// The recipe's `exit_codes` override the agent's own result, except for a rate limit.
pub(crate) fn by_exit_code(call: Call, meant: Option<(i32, ExitMeaning)>) -> Call {
    let (outcome, what) = match meant {
        _ if matches!(call.outcome, Outcome::RateLimited { .. }) => return call,
        Some((code, ExitMeaning::NeedsHuman)) => (Outcome::NeedsHuman, waiting_for_person(code)),
        Some((code, ExitMeaning::Failed)) if call.result.is_ok() => explained(Outcome::Exit(code), ""),
        _ => return call,
    };
    let (partial, error) = match call.result {
        Ok(answer) => (Some(answer), what),
        Err(error) => (call.partial, format!("{what}: {error}")),
    };
    Call { outcome, result: Err(error), partial, trouble: None, ..call }
}

pub(crate) fn failure_outcome(failure: &AgentFailure) -> Outcome {
    match failure {
        AgentFailure::RateLimited { message, .. } => {
            Outcome::RateLimited { message: message.clone(), tries: 0 }
        }
        AgentFailure::Exit { code, .. } => Outcome::Exit(*code),
        AgentFailure::Signal { signal, .. } => Outcome::Signal(*signal),
        failure => Outcome::Agent(failure.clone()),
    }
}

pub(crate) fn failure_text(failure: &AgentFailure) -> String {
    match failure {
        AgentFailure::Signal { signal, .. } => format!("ended by {}: {failure}", signal_words(*signal)),
        failure => failure.to_string(),
    }
}

fn last_words(stdout: &Path, said: &str) -> String {
    match said.is_empty() {
        false => format!("\nlast on stderr:\n{said}"),
        true => match values::tail(stdout, 3, 2048) {
            printed if printed.is_empty() => ", no output".to_owned(),
            printed => format!("\nlast on stdout:\n{printed}"),
        },
    }
}
