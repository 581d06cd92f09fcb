//! What lines of output speak for: whole words, in their context, and never more than a hint.
//!
//! A line of a check is believed only if the tool itself says it and no verdict was given: what a test prints about
//! a refused connection is the test's business.

use super::{
    AgentTrouble, Class, Facts, Producer, Signal, StepType,
    phrases::{NO_SUCH_HOST, PHRASES, Phrase},
    tools::{TOOL_LINES, VERDICTS},
};
use crate::outcome::Outcome;

/// The part of a line that is looked at, in bytes.
const MAX_LINE: usize = 2_000;

/// A line that speaks for a class.
pub(super) struct Hint {
    pub(super) class: Class,
    /// What it is about: a program, a variable.
    pub(super) subject: Option<String>,
    pub(super) signal: Signal,
    /// The smaller, the more it explains.
    pub(super) rank: usize,
    pub(super) is_believed: bool,
    /// Said in plain output, by whom nobody knows.
    pub(super) is_plain: bool,
}

/// Whether `phrase` stands in `text` as whole words. Both are lower case.
pub(super) fn has_words(text: &str, phrase: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(phrase).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + phrase.len()..].chars().next();
        let opens = !phrase.starts_with(part) || !before.is_some_and(part);
        let closes = !phrase.ends_with(part) || !after.is_some_and(part);
        opens && closes
    })
}

/// Whether a test runner or a linter has given its verdict.
pub(super) fn has_verdict(facts: &Facts) -> bool {
    [&facts.stderr, &facts.stdout].iter().any(|text| judges(&text.to_lowercase()))
}

/// Whether a text, in lower case, has a verdict. What npm says about a request that failed is none.
fn judges(text: &str) -> bool {
    let text = text.replace("failed, reason:", "");
    VERDICTS.iter().any(|verdict| has_words(&text, verdict))
}

/// Everything that the output speaks for.
pub(super) fn hints(facts: &Facts, is_check: bool) -> Vec<Hint> {
    // a service that answered with a status of its own has said what is wrong; its words are about the request
    let is_told = facts.agent_trouble == Some(AgentTrouble::Request);
    if is_told || matches!(facts.outcome, Some(Outcome::Ok) | None) {
        return Vec::new();
    }
    let failure = facts.agent_failure.as_deref().unwrap_or_default();
    let texts = [("stderr", facts.stderr.as_str()), ("stdout", facts.stdout.as_str()), ("agent", failure)];
    let whole = texts.map(|(_, text)| text.to_lowercase()).join("\n");
    let judged = is_check && judges(&whole);
    let mut hints = Vec::new();
    for (stream, text) in texts {
        for (at, line) in text.lines().enumerate() {
            let line = cut(line);
            let Some((class, subject, what)) = read(facts, line, &whole) else { continue };
            let by_tool = is_tool_line(line);
            let needs_tool = is_check || (stream == "stdout" && facts.step_type == StepType::Bash);
            let plain = match class {
                Class::ValidationStrategy | Class::Structure | Class::MissingEnv | Class::Memory => {
                    stream != "agent"
                }
                Class::Disk => stream == "stderr",
                Class::Network => stream == "stderr" && names_nobody(line),
                _ => false,
            };
            let is_own = match class {
                Class::Network => is_own_server(facts, line),
                Class::MissingEnv => subject.as_ref().is_some_and(|name| facts.declared_names.contains(name)),
                _ => false,
            };
            let is_said = !needs_tool || by_tool || plain;
            hints.push(Hint {
                class,
                subject,
                signal: Signal::new(what, line, format!("{stream}:{}", at + 1)),
                rank: rank_of(class),
                is_believed: is_said && !judged && !is_own,
                is_plain: stream == "stdout" && !is_check && !is_own,
            });
        }
    }
    hints
}

fn cut(line: &str) -> &str {
    let mut end = line.len().min(MAX_LINE);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    &line[..end]
}

/// A local server that an agent was to provide: that it does not answer is about the work.
fn is_own_server(facts: &Facts, line: &str) -> bool {
    let local = ["localhost", "127.0.0.1", "0.0.0.0", "[::1]"].iter().any(|host| line.contains(host));
    local && facts.producer != Producer::None
}

fn names_nobody(line: &str) -> bool {
    let lower = line.to_lowercase();
    NO_SUCH_HOST.iter().any(|phrase| has_words(&lower, phrase))
}

fn is_tool_line(line: &str) -> bool {
    let lower = line.trim_start().to_lowercase();
    TOOL_LINES.iter().any(|prefix| lower.starts_with(prefix))
}

/// What a line speaks for, what it is about, and what it shows.
fn read(facts: &Facts, line: &str, whole: &str) -> Option<(Class, Option<String>, &'static str)> {
    if line.trim().is_empty() {
        return None;
    }
    let lower = line.to_lowercase();
    if let Some(name) = missing_program(facts, line, &lower, whole) {
        return Some((Class::MissingBinary, Some(name), "a program is not there"));
    }
    if let Some(name) = missing_variable(facts, line, &lower, whole) {
        return Some((Class::MissingEnv, Some(name), "a variable is not set"));
    }
    let phrase = PHRASES.iter().find(|phrase| phrase.matches(&lower))?;
    Some((phrase.class, None, phrase.what))
}

/// Causes come before their consequences: a full disk before a failed connection, a refused login before both.
fn rank_of(class: Class) -> usize {
    const ORDER: [Class; 12] = [
        Class::Disk,
        Class::Memory,
        Class::RateLimit,
        Class::MissingBinary,
        Class::MissingEnv,
        Class::Credentials,
        Class::Network,
        Class::WorkdirDirty,
        Class::StaleState,
        Class::AlreadyRunning,
        Class::ValidationStrategy,
        Class::Structure,
    ];
    ORDER.iter().position(|known| *known == class).unwrap_or(ORDER.len())
}

impl Phrase {
    fn matches(&self, line: &str) -> bool {
        self.any.iter().any(|phrase| has_words(line, phrase))
            && (self.with.is_empty() || self.with.iter().any(|phrase| has_words(line, phrase)))
            && !self.without.iter().any(|phrase| line.contains(phrase))
    }
}

/// Shells.
pub const SHELLS: [&str; 4] = ["sh", "bash", "dash", "zsh"];
/// Programs that start others, and end as a shell does where there is none.
pub const STARTERS: [&str; 7] = ["timeout", "nohup", "nice", "ionice", "xargs", "stdbuf", "setsid"];

/// The program that a line says is not there.
fn missing_program(facts: &Facts, line: &str, lower: &str, whole: &str) -> Option<String> {
    let name = |text: &str| {
        let name = text.rsplit([':', ' ']).find(|part| !part.is_empty())?;
        let name = name.trim_matches(['\'', '"', '`', '‘', '’']);
        (!name.is_empty() && name.len() < 80).then(|| name.to_owned())
    };
    let trimmed = line.trim_end();
    if let Some(before) = trimmed.strip_suffix(": command not found") {
        return name(before);
    }
    let speaker = line.split(": ").next().unwrap_or_default();
    let is_shell = SHELLS.contains(&speaker.rsplit('/').next().unwrap_or_default());
    if is_shell && let Some(before) = trimmed.strip_suffix(": not found") {
        return name(before);
    }
    let ended_so = facts.exit_code() == Some(127);
    if let Some(before) =
        trimmed.strip_suffix(": cannot execute: required file not found").filter(|_| ended_so)
    {
        return name(before);
    }
    let no_file = trimmed.strip_suffix(": No such file or directory");
    let by_env = lower.starts_with("/usr/bin/env: ") || lower.starts_with("env: ");
    let by_make = lower.starts_with("make: ") && whole.contains("error 127");
    // a redirection from a missing file reads the same, and ends with another code
    let by_shell = (is_shell || STARTERS.contains(&speaker)) && ended_so;
    if let Some(before) = no_file.filter(|_| by_env || by_make || by_shell) {
        return name(before);
    }
    if lower.contains("executable file not found in $path") {
        return lower.split("exec: ").last().and_then(|rest| rest.split('"').nth(1)).map(str::to_owned);
    }
    if let Some(rest) = line.strip_prefix("error: linker `") {
        return rest.split('`').next().filter(|_| lower.ends_with("not found")).map(str::to_owned);
    }
    if has_words(lower, "spawn") && lower.trim_end().ends_with("enoent") {
        return line.split("spawn ").last().and_then(|rest| rest.split(' ').next()).map(str::to_owned);
    }
    let python = line.starts_with("FileNotFoundError: [Errno 2] No such file or directory: '");
    let program = python.then(|| line.rsplit('\'').nth(1)).flatten()?;
    (whole.contains("subprocess.py") && !program.contains('/')).then(|| program.to_owned())
}

/// The variable that a line says is not set.
fn missing_variable(facts: &Facts, line: &str, lower: &str, whole: &str) -> Option<String> {
    // `${NAME:?what is wanted}`: the shell says its words
    let is_asked = |name: &&str| {
        is_identifier(name)
            && [":?", "?"].iter().any(|sign| facts.command.contains(&format!("${{{name}{sign}")))
    };
    if let Some(name) = line.split(": ").skip(1).find(is_asked) {
        return Some(name.to_owned());
    }
    for ending in [": unbound variable", ": parameter null or not set", ": parameter not set"] {
        if let Some(before) = line.trim_end().strip_suffix(ending) {
            let name = before.rsplit([':', ' ']).next().unwrap_or_default();
            return is_identifier(name).then(|| name.to_owned());
        }
    }
    if let Some(rest) = line.trim_start().strip_prefix("KeyError: '")
        && whole.contains("os.environ")
    {
        return rest.split('\'').next().map(str::to_owned);
    }
    let absent = [
        "not set",
        "is not defined",
        "must be set",
        "is required",
        "is missing",
        "undefined",
        "client option must be set",
    ];
    let spoken_of = has_words(lower, "environment variable") || has_words(lower, "environment variables");
    let says_absent =
        absent.iter().any(|phrase| has_words(lower, phrase)) || (spoken_of && has_words(lower, "missing"));
    if !says_absent {
        return None;
    }
    line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .find(|word| is_constant(word) && (spoken_of || word.contains('_')))
        .map(str::to_owned)
}

fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether a word looks like the name of an environment variable.
fn is_constant(word: &str) -> bool {
    word.len() > 3
        && word.starts_with(|c: char| c.is_ascii_uppercase())
        && word.contains(|c: char| c.is_ascii_uppercase())
        && (word.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
            || word.starts_with("TF_VAR_"))
        && word != "ERROR"
        && word != "FATAL"
}
