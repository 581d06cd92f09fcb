//! How an agent call ended: its outcome and its message. Never ends anything itself.

use std::path::Path;

use engine::Outcome;
use recipe::syntax::ExitMeaning;

use crate::{
    agents::AgentFailure,
    os::process::Exit,
    steps::{
        agent::attempt::{AgentTask, Call},
        shell::attempt::{Go, number, signal_words},
    },
    store::values,
};

/// How a call ended.
pub(crate) enum End {
    Exited(Exit),
    AfterResult,
    TimedOut,
    Idle(f64),
    Budget(String),
    Stopped(Go),
}

/// The outcome of a call that the runner ended before it had a result.
pub(crate) fn cut_short(end: End, task: &AgentTask, stdout: &Path, said: &str) -> (Outcome, String) {
    match end {
        End::TimedOut => {
            let seconds = task.timeout.unwrap_or_default();
            let error = format!("timed out after {} s{}", number(seconds), last_words(stdout, said));
            (Outcome::TimedOut(seconds), error)
        }
        End::Idle(seconds) => {
            let error = format!(
                "no activity for {} s: no output, no file change, no processor time",
                number(seconds)
            );
            (Outcome::Idle(seconds), error)
        }
        End::Budget(what) => (Outcome::Budget, format!("the budget is used up: {what}")),
        End::Stopped(told @ Go::Late(_)) => {
            (Outcome::Cancelled, format!("{}{}", told.ended(), last_words(stdout, said)))
        }
        End::Stopped(told) => (Outcome::Cancelled, told.ended()),
        End::Exited(_) | End::AfterResult => (Outcome::Cancelled, Go::Stop.ended()),
    }
}

/// The recipe's `exit_codes` override the agent's own result, except for a rate limit.
pub(crate) fn by_exit_code(call: Call, meant: Option<(i32, ExitMeaning)>) -> Call {
    let (outcome, what) = match meant {
        _ if call.outcome == Outcome::RateLimited => return call,
        Some((code, ExitMeaning::NeedsHuman)) => {
            (Outcome::NeedsHuman, format!("waiting for a person (exit code {code})"))
        }
        Some((code, ExitMeaning::Failed)) if call.result.is_ok() => {
            (Outcome::Exit(code), format!("exit code {code}"))
        }
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
        failure if failure.is_rate_limit() => Outcome::RateLimited,
        AgentFailure::Exit { code, .. } => Outcome::Exit(*code),
        AgentFailure::Signal { signal, .. } => Outcome::Signal(*signal),
        _ => Outcome::Agent,
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
            printed if printed.is_empty() => "; it printed nothing".to_owned(),
            printed => format!("\nlast on stdout:\n{printed}"),
        },
    }
}
