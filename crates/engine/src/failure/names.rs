//! Programs that lines of output report as missing or unusable.
//!
//! Never takes a word for a name without its context: "not found" alone means nothing.

use super::{Facts, text::has_words};
use crate::knowledge::Knowledge;

/// The last word of a text.
fn last_name(text: &str) -> Option<String> {
    let name = text.rsplit([':', ' ']).find(|part| !part.is_empty())?;
    let name = name.trim_matches(['\'', '"', '`', '‘', '’']);
    (!name.is_empty() && name.len() < 80).then(|| name.to_owned())
}

/// The program that a line reports as not executable.
///
/// It counts as missing: the machine has no program of this name that it can start, and a person has to change that,
/// with a permission or a build for this machine. The recipe may be right.
pub(super) fn unexecutable(facts: &Facts, line: &str) -> Option<String> {
    let endings =
        [": Permission denied", ": cannot execute binary file: Exec format error", ": Exec format error"];
    let ended_so = facts.exit_code() == Some(126);
    let before = endings.iter().find_map(|ending| line.trim_end().strip_suffix(ending));
    before.filter(|_| ended_so).and_then(last_name)
}

/// The program that a step itself searched for and reports as missing.
fn told(facts: &Facts, line: &str) -> Option<String> {
    let line = line.trim_end().trim_end_matches(['.', '!']);
    let known = &facts.knowledge.phrases().missing_program;
    let strip = |endings: &[String]| endings.iter().find_map(|ending| line.strip_suffix(ending.as_str()));
    let is_name = |name: &String| {
        name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.+/".contains(c))
            && !is_constant(name)
            && !known.no_names.contains(name)
    };
    let looked = |name: &String| {
        let by = |word: &String| has_words(&facts.command, &format!("{word} {name}"));
        known.lookups.iter().any(by)
    };
    let ended_so = facts.exit_code() == Some(127);
    let named = strip(&known.endings).and_then(last_name).filter(|name| ended_so || looked(name));
    named.or_else(|| strip(&known.asked_for).and_then(last_name).filter(looked)).filter(is_name)
}

/// Whether the shell itself reports a missing program.
fn shell_misses(knowledge: &Knowledge, lower: &str) -> bool {
    let line = lower.trim_end();
    let endings = [": not found", ": no such file or directory", ": required file not found"];
    line.ends_with(": command not found")
        || (is_of_shell(knowledge, line) && endings.iter().any(|ending| line.ends_with(ending)))
}

fn is_of_shell(knowledge: &Knowledge, line: &str) -> bool {
    let speaker = line.split(": ").next().unwrap_or_default();
    knowledge.is_shell(speaker)
}

/// The program that a line reports as missing.
pub(super) fn missing_program(facts: &Facts, line: &str, lower: &str, whole: &str) -> Option<String> {
    let name = last_name;
    let trimmed = line.trim_end();
    if let Some(before) = trimmed.strip_suffix(": command not found") {
        return name(before);
    }
    let speaker = line.split(": ").next().unwrap_or_default();
    let knowledge = &facts.knowledge;
    let is_shell = is_of_shell(knowledge, line);
    let ended_so = facts.exit_code() == Some(127);
    let not_found = trimmed.strip_suffix(": not found");
    if let Some(before) = not_found.filter(|_| is_shell) {
        return name(before);
    }
    // the shell's message, or the runner's own search, decides; other missing programs did not end the step
    let named = not_found.filter(|_| ended_so).and_then(name).or_else(|| told(facts, line));
    let is_other = |name: &String| facts.absent_program.as_ref().is_some_and(|absent| absent != name);
    if let Some(name) =
        named.filter(|name| !is_other(name) && !whole.lines().any(|line| shell_misses(knowledge, line)))
    {
        return Some(name);
    }
    if let Some(before) =
        trimmed.strip_suffix(": cannot execute: required file not found").filter(|_| ended_so)
    {
        return name(before);
    }
    let no_file = trimmed.strip_suffix(": No such file or directory");
    let by_env = lower.starts_with("/usr/bin/env: ") || lower.starts_with("env: ");
    let by_make = lower.starts_with("make: ") && whole.contains("error 127");
    // a redirection from a missing file has the same message, but another exit code
    let by_shell = (is_shell || knowledge.is_wrapper(speaker)) && ended_so;
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

/// Whether a word looks like the name of an environment variable.
pub(super) fn is_constant(word: &str) -> bool {
    word.len() > 3
        && word.starts_with(|c: char| c.is_ascii_uppercase())
        && word.contains(|c: char| c.is_ascii_uppercase())
        && (word.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
            || word.starts_with("TF_VAR_"))
        && word != "ERROR"
        && word != "FATAL"
}
