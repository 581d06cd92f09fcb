//! Exit codes that name a cause, such as those of programs that download.
//!
//! Never blames the network for a local server that an agent had to provide: if it does not answer, the work failed.

use super::{Class, Confidence, Diagnosis, Facts, Producer, Signal, StepType, failing_command::deciders};
use crate::knowledge::{ExitMeaning, Habit};

/// Whether a local server is meant that an agent had to provide: if it does not answer, the work failed.
pub(super) fn is_own_server(facts: &Facts, text: &str) -> bool {
    let hosts = &facts.knowledge.phrases().local_hosts;
    facts.producer != Producer::None && hosts.iter().any(|host| text.contains(host))
}

/// The meaning of an exit code of a program.
fn meaning<'a>(facts: &'a Facts, words: &[String], code: i32) -> Option<&'a ExitMeaning> {
    facts.knowledge.program(&program(facts, words))?.exits.get(&code)
}

/// The program that does the work of a command.
fn program(facts: &Facts, words: &[String]) -> String {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    facts.knowledge.use_of(&words).program.to_owned()
}

/// A program whose exit code names the cause, even if it was silent.
pub(super) fn by_exit_code(facts: &Facts) -> Option<Diagnosis> {
    let code = facts.exit_code().filter(|_| facts.step_type == StepType::Bash)?;
    // checked before the script is parsed: few failures have such a code
    if !facts.knowledge.names_exit_code(code) || facts.exits_with(code) {
        return None;
    }
    let mut commands = deciders(&facts.command, Some(code));
    commands.retain(|words| !facts.knowledge.has_habit(&program(facts, words), Habit::Harmless));
    let at = commands.iter().rposition(|words| meaning(facts, words, code).is_some())?;
    let meaning = meaning(facts, &commands[at], code)?;
    let words = commands[at].join(" ");
    let is_own = || is_own_server(facts, &words) || is_own_server(facts, &facts.stderr);
    if meaning.class == Class::Network && is_own() {
        return None;
    }
    // later commands may exit with the same number; those that work on files are not known to do so
    let is_local = |words: &Vec<String>| facts.knowledge.has_habit(&program(facts, words), Habit::Local);
    let confidence = match &commands[at + 1..] {
        [] => Confidence::High,
        later if later.iter().all(is_local) => Confidence::Medium,
        _ => return None,
    };
    let ended = Signal::new(&meaning.what, &format!("exit {code}"), "outcome");
    let signals = [ended, Signal::new("the command that failed", &words, "command")];
    let signals = signals.into_iter().chain(super::rules::last_line(facts)).collect();
    Some(Diagnosis::new(meaning.class, confidence, signals))
}
