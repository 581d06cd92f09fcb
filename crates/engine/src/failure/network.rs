//! Exit codes that name a cause, such as those of programs that download.
//!
//! Never blames the network for a local server that an agent had to provide: if it does not answer, the work failed.

use super::{Class, Confidence, Diagnosis, Facts, Producer, Signal, StepType};
use crate::knowledge::{ExitMeaning, Habit};
use crate::repair_review::{
    flow::{Level, follow},
    program::Call,
};

/// Whether a local server is meant that an agent had to provide: if it does not answer, the work failed.
pub(super) fn is_own_server(facts: &Facts, text: &str) -> bool {
    let hosts = &facts.knowledge.phrases().local_hosts;
    facts.producer != Producer::None && hosts.iter().any(|host| text.contains(host))
}

/// The meaning of an exit code of a program.
fn meaning<'a>(facts: &'a Facts, call: &Call, code: i32) -> Option<&'a ExitMeaning> {
    facts.knowledge.program(&call.program)?.exits.get(&code)
}

/// A program whose exit code names the cause, even if it was silent.
pub(super) fn by_exit_code(facts: &Facts) -> Option<Diagnosis> {
    let code = facts.exit_code().filter(|_| facts.step_type == StepType::Bash)?;
    // checked before the script is parsed: few failures have such a code
    if !facts.knowledge.names_exit_code(code) || facts.exits_with(code) {
        return None;
    }
    let flow = follow(&facts.command);
    let decides = flow.found.iter().filter(|found| found.level != Level::Ignored && !found.answers);
    let calls: Vec<&Call> = decides.map(|found| &found.call).filter(|call| !call.is_toothless()).collect();
    let at = calls.iter().rposition(|call| meaning(facts, call, code).is_some())?;
    let meaning = meaning(facts, calls[at], code)?;
    let words = calls[at].words.join(" ");
    let is_own = || is_own_server(facts, &words) || is_own_server(facts, &facts.stderr);
    if meaning.class == Class::Network && is_own() {
        return None;
    }
    // later commands may exit with the same number; those that work on files are not known to do so
    let confidence = match calls[at + 1..] {
        [] => Confidence::High,
        ref behind if behind.iter().all(|call| facts.knowledge.has_habit(&call.program, Habit::Local)) => {
            Confidence::Medium
        }
        _ => return None,
    };
    let ended = Signal::new(&meaning.what, &format!("exit {code}"), "outcome");
    let signals = [ended, Signal::new("the command that failed", &words, "command")];
    let signals = signals.into_iter().chain(super::rules::last_line(facts)).collect();
    Some(Diagnosis::new(meaning.class, confidence, signals))
}
