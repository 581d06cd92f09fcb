//! Environment variables that a line of output reports as unset.
//!
//! Knows only unambiguous forms: a check may say "is not set" about anything that it checks.

use super::{Facts, names::is_constant};
use crate::knowledge::Knowledge;

/// The variable that a line reports as unset. `whole` is all the output in lower case.
pub(super) fn missing_variable(facts: &Facts, line: &str, whole: &str) -> Option<String> {
    let line = line.trim();
    said_by_shell(facts, line)
        .or_else(|| said_by_runner(line))
        .or_else(|| said_by_python(line, whole))
        .or_else(|| said_by_rust(line))
        .or_else(|| said_by_program(facts, line))
        .map(str::to_owned)
}

/// A shell's message: `bash: line 3: NAME: unbound variable`; for `${NAME:?words}`, the words of the command.
fn said_by_shell<'a>(facts: &Facts, line: &'a str) -> Option<&'a str> {
    let (name, words) = shell_error(&facts.knowledge, line)?;
    let endings = &facts.knowledge.phrases().unset_variable.endings;
    let is_asked = || ["?", ":?"].iter().any(|sign| facts.command.contains(&format!("${{{name}{sign}")));
    (is_identifier(name) && (endings.iter().any(|ending| ending == words) || is_asked())).then_some(name)
}

/// The name and the words in a shell's error: `bash: line 3: NAME: words`, `x.sh: 3: NAME: words`,
/// `zsh:3: NAME: words`, `bash: NAME: words`.
fn shell_error<'a>(knowledge: &Knowledge, line: &'a str) -> Option<(&'a str, &'a str)> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (speaker, rest) = line.split_once(": ")?;
    let place = rest.split_once(": ").filter(|(place, _)| is_number(place.trim_start_matches("line ")));
    let is_shell = knowledge.is_shell(speaker);
    let has_place = || speaker.rsplit_once(':').is_some_and(|(_, number)| is_number(number));
    match place {
        Some((_, error)) => error.split_once(": "),
        None if is_shell || has_place() => rest.split_once(": "),
        None => None,
    }
}

/// The runner's own message, in the output of a step that starts it.
fn said_by_runner(line: &str) -> Option<&str> {
    let names = line.trim_start_matches("- ").strip_prefix("MISSING_ENV_VAR: ")?;
    names.split([',', ':', ' ']).next().filter(|name| is_identifier(name))
}

fn said_by_python<'a>(line: &'a str, whole: &str) -> Option<&'a str> {
    let rest = line.strip_prefix("KeyError: '").filter(|_| whole.contains("os.environ"))?;
    rest.split('\'').next()
}

/// A Rust program's message: `env::var(…).expect("NAME must be set")`.
fn said_by_rust(line: &str) -> Option<&str> {
    let words = line.strip_suffix(": NotPresent")?;
    words.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).find(|word| is_constant(word))
}

fn said_by_program<'a>(facts: &Facts, line: &'a str) -> Option<&'a str> {
    let line = line.trim_end_matches(['.', '!']);
    let lower = line.to_ascii_lowercase();
    let from =
        ["error: ", "fatal: "].iter().find(|word| lower.starts_with(**word)).map_or(0, |word| word.len());
    let name = |sentence: &str| {
        let (before, after) = sentence.split_once("{}")?;
        let end = line.len().checked_sub(after.len()).filter(|end| from + before.len() <= *end)?;
        let fits = lower[from..].starts_with(before) && lower.ends_with(after);
        line.get(from + before.len()..end).filter(|name| fits && is_identifier(name) && is_constant(name))
    };
    facts.knowledge.phrases().unset_variable.sentences.iter().find_map(|sentence| name(sentence))
}

fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
