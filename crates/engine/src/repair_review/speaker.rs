//! Which command the failure of a script belongs to: the last command that can have ended it so.
//!
//! Never runs anything. The output only serves as evidence against a silent command, or for a test runner's verdict.

use super::{
    checks::{self, CheckKind},
    effects,
    flow::{Flow, Found, Level, follow},
    known::FILTERS,
    program::Call,
};

/// How a script ended, as far as that distinguishes its commands.
#[derive(Clone, Copy, Debug)]
pub struct Ended<'a> {
    /// The exit code, if there is one.
    pub code: Option<i32>,
    /// Its standard error.
    pub stderr: &'a str,
    /// Its standard output.
    pub stdout: &'a str,
    /// Whether a test runner or a linter gave its verdict.
    pub has_verdict: bool,
    /// Whether the step declares that it changes the world outside.
    pub has_effects: bool,
}

/// The command that a failure belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// A check: no later command can have failed instead.
    Check(String),
    /// A check that is followed by harmless commands, or by commands that would have printed an error, or whose verdict
    /// was printed.
    Likely(String),
    /// A command that changes the world outside may have failed.
    Effect(String),
    /// Some other command, or an unknown one.
    Other,
}

/// The commands between a check and the end of its script.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Between {
    Nothing,
    /// Commands that hardly ever fail, and printed no error.
    Harmless,
    /// Commands that print an error when they fail, and printed none.
    Silent,
    /// Commands that can fail.
    Work,
}

/// Programs that always print an error on standard error when they fail.
const OUTSPOKEN: [&str; 36] = [
    "git",
    "npm",
    "pnpm",
    "cargo",
    "docker",
    "podman",
    "kubectl",
    "oc",
    "helm",
    "gh",
    "glab",
    "terraform",
    "tofu",
    "aws",
    "gcloud",
    "az",
    "rsync",
    "scp",
    "cp",
    "mv",
    "rm",
    "ln",
    "tar",
    "chmod",
    "chown",
    "mkdir",
    "touch",
    "cd",
    "cat",
    "ls",
    "rmdir",
    "install",
    "gzip",
    "unzip",
    "pip",
    "pip3",
];

/// Finds the command that a failure belongs to.
pub fn speaker(script: &str, ended: &Ended<'_>) -> Speaker {
    let flow = follow(script);
    let decides = |found: &&Found| found.level != Level::Ignored && !found.answers;
    let tells = |found: &&Found| can_fail(found, ended) && !passes_on(found, &flow);
    let deciders: Vec<&Found> = flow.found.iter().filter(decides).filter(tells).collect();
    let is_heard = is_heard(script);
    let weight = |found: &Found| match weight(found, ended) {
        Between::Work if is_heard && is_silent(&found.call, ended) => Between::Silent,
        weight => weight,
    };
    let acting = || deciders.iter().rev().filter_map(|found| Some((found, effect(found, ended)?)));
    let loudest = acting().map(|(found, _)| match is_heard && is_silent(&found.call, ended) {
        true => Between::Silent,
        false => Between::Work,
    });
    let mut between = loudest.max().unwrap_or(Between::Nothing);
    for found in deciders.iter().rev() {
        let words = || found.call.words.join(" ");
        match (check(&found.call), between) {
            (Some(_), Between::Nothing) => return Speaker::Check(words()),
            (Some(_), Between::Harmless) => return Speaker::Likely(words()),
            (Some(kind), _)
                if kind != CheckKind::Compare && (ended.has_verdict || between == Between::Silent) =>
            {
                return Speaker::Likely(words());
            }
            // it printed an error itself
            (Some(_), _) if acting().next().is_none() && complains(&found.call.program, ended.stderr) => {
                return Speaker::Likely(words());
            }
            (Some(_), _) => {}
            (None, _) => between = between.max(weight(found)),
        }
    }
    acting().next().map_or(Speaker::Other, |(_, effect)| Speaker::Effect(effect))
}

/// Whether errors of a script reach its standard error.
fn is_heard(script: &str) -> bool {
    !["2>", "&>", ">&", "|&"].iter().any(|sign| script.contains(sign))
}

/// Whether a command would have printed an error, and no line can be its error.
fn is_silent(call: &Call, ended: &Ended<'_>) -> bool {
    let printed = ended.stdout.to_lowercase();
    let verb = call.verbs().first().copied().unwrap_or_default().to_lowercase();
    let spoken_of =
        ["error", "fatal", "denied", "rejected", "failed to"].iter().any(|word| printed.contains(word))
            || (verb.len() > 2 && printed.contains(&verb));
    let hushed = ["--silent", "-s", "--quiet", "-q"].iter().any(|option| call.has(option));
    OUTSPOKEN.contains(&call.program.as_str()) && !hushed && ended.stderr.trim().is_empty() && !spoken_of
}

/// Whether a command only looks at the status of another one: `[ $? -eq 0 ]`, `[ $fail = 0 ]`.
fn passes_on(found: &Found, flow: &Flow) -> bool {
    let call = &found.call;
    let named = |word: &str| {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        word.split(|c: char| !is_part(c)).any(|name| flow.noted.contains(name))
    };
    let told = |word: &String| word.contains("$?") || word.contains("PIPESTATUS") || named(word);
    matches!(call.program.as_str(), "test" | "[" | "[[" | "((" | "case") && call.arguments().iter().any(told)
}

/// How a command checks; a command that changes the world outside checks nothing.
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
        "trap" | "unset" | "shopt" | "local" | "declare" | "readonly" | "typeset" | "alias" | "break"
        | "continue" | "shift" => false,
        // a filter of another command's output does not fail by itself
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
        // a status that was stored before it decides
        Level::Ignored => Between::Nothing,
        Level::Maybe if !found.noted => Between::Nothing,
        _ if is_harmless && !complains(&call.program, ended.stderr) => Between::Harmless,
        _ => Between::Work,
    }
}

/// Whether a program prints an error in its own name: `cat: notes: No such file`, `bash: line 2: cd: x: Not a
/// directory`.
fn complains(program: &str, stderr: &str) -> bool {
    let name = format!("{program}: ");
    stderr.lines().any(|line| line.starts_with(&name) || line.contains(&format!(": {name}")))
}

/// The effect of a command. A server on this machine is not outside.
fn effect(found: &Found, ended: &Ended<'_>) -> Option<String> {
    let call = &found.call;
    let is_near = |word: &String| ["localhost", "127.0.0.1", "[::1]"].iter().any(|host| word.contains(host));
    let seen = effects::effect(call)
        .filter(|_| effects::rehearses(call).is_none() && !call.arguments().iter().any(is_near));
    let acts = ended.has_effects && check(call).is_none() && weight(found, ended) == Between::Work;
    seen.or_else(|| acts.then(|| call.words.join(" ")))
}
