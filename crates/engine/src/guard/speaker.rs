//! Whose failure the failure of a script is: the last command that can have ended it so.
//!
//! Never runs anything. What was printed can only speak against a command's silence, or for a test runner's verdict.

use super::{
    checks::{self, CheckKind},
    effects,
    flow::{Found, Level, follow},
    known::FILTERS,
    program::Call,
};

/// How a script ended, as far as that tells its commands apart.
#[derive(Clone, Copy, Debug)]
pub struct Ended<'a> {
    /// The exit code, if there is one.
    pub code: Option<i32>,
    /// What it printed on standard error.
    pub stderr: &'a str,
    /// Whether a test runner or a linter gave its verdict.
    pub has_verdict: bool,
    /// Whether the step declares that it changes the world outside.
    pub has_effects: bool,
}

/// Who speaks for a script that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// A check: nothing after it can have failed instead.
    Check(String),
    /// A check that something harmless follows, or whose verdict was printed.
    Likely(String),
    /// What changes the world outside can have failed.
    Effect(String),
    /// Some other command, or nobody knows.
    Other,
}

/// What stands between a check and the end of its script.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Between {
    Nothing,
    /// Commands that hardly ever fail, and did not complain.
    Harmless,
    /// Commands that can fail.
    Work,
}

/// Finds who speaks for a script that failed.
pub fn speaker(script: &str, ended: &Ended<'_>) -> Speaker {
    let flow = follow(script);
    let decides = |found: &&Found| found.level != Level::Ignored && !found.answers;
    let deciders: Vec<&Found> =
        flow.found.iter().filter(decides).filter(|found| can_fail(found, ended)).collect();
    let effect = deciders.iter().rev().find_map(|found| effect(found, ended));
    let mut between = if effect.is_some() { Between::Work } else { Between::Nothing };
    for found in deciders.iter().rev() {
        let words = || found.call.words.join(" ");
        match (check(&found.call), between) {
            (Some(_), Between::Nothing) => return Speaker::Check(words()),
            (Some(_), Between::Harmless) => return Speaker::Likely(words()),
            (Some(kind), Between::Work) if kind != CheckKind::Compare && ended.has_verdict => {
                return Speaker::Likely(words());
            }
            (Some(_), Between::Work) => {}
            (None, _) => between = between.max(weight(found, ended)),
        }
    }
    effect.map_or(Speaker::Other, Speaker::Effect)
}

/// What a command checks; what changes the world outside checks nothing.
fn check(call: &Call) -> Option<CheckKind> {
    checks::kind(call).filter(|_| effects::effect(call).is_none())
}

/// Whether a command can have ended its script like this.
fn can_fail(found: &Found, ended: &Ended<'_>) -> bool {
    let call = &found.call;
    match call.program.as_str() {
        "exit" | "return" => call
            .words
            .get(1)
            .and_then(|code| code.parse::<i32>().ok())
            .is_some_and(|code| code % 256 != 0 && ended.code.is_none_or(|ended| ended == code & 255)),
        "trap" | "unset" | "shopt" | "local" | "declare" | "readonly" | "typeset" | "alias" => false,
        // what passes on the output of another command fails for it
        program if !found.feeds.is_empty() && (FILTERS.contains(&program) || call.is_toothless()) => false,
        _ => !call.is_constant(),
    }
}

/// How likely it is that a command failed which checks nothing.
fn weight(found: &Found, ended: &Ended<'_>) -> Between {
    let call = &found.call;
    let ends = matches!(call.program.as_str(), "exit" | "return");
    let is_harmless = (!ends && call.is_toothless()) || checks::judged(call).is_some();
    match found.level {
        // a status that was kept before it decides
        Level::Ignored | Level::Maybe => Between::Nothing,
        Level::Counts if is_harmless && !complains(&call.program, ended.stderr) => Between::Harmless,
        Level::Counts => Between::Work,
    }
}

/// Whether a program speaks in its own name: `cat: notes: No such file`, `bash: line 2: cd: x: Not a directory`.
fn complains(program: &str, stderr: &str) -> bool {
    let name = format!("{program}: ");
    stderr.lines().any(|line| line.starts_with(&name) || line.contains(&format!(": {name}")))
}

/// What a command changes outside. A server on this machine is no outside.
fn effect(found: &Found, ended: &Ended<'_>) -> Option<String> {
    let call = &found.call;
    let is_near = |word: &String| ["localhost", "127.0.0.1", "[::1]"].iter().any(|host| word.contains(host));
    let seen = effects::effect(call)
        .filter(|_| effects::rehearses(call).is_none() && !call.arguments().iter().any(is_near));
    let acts = ended.has_effects && check(call).is_none() && weight(found, ended) == Between::Work;
    seen.or_else(|| acts.then(|| call.words.join(" ")))
}
