//! Whether an agent reported success without doing anything.
//!
//! Hollow needs all of it: the agent says that it could not reach the work, it describes nothing concrete, and its
//! answer has no file, diff, test result or code. A small but real result is never hollow.

use super::{Signal, text::has_words};
use crate::knowledge::{HollowWords, Knowledge};

/// The evidence that an answer is hollow. `files_changed` says whether files changed while the agent worked.
pub fn is_hollow(answer: &str, files_changed: Option<bool>) -> Option<Signal> {
    if files_changed == Some(true) {
        return None;
    }
    let knowledge = Knowledge::built_in();
    let words = &knowledge.phrases().hollow;
    let lower = answer.to_lowercase().replace('’', "'");
    let has_result = words.deeds.iter().any(|deed| has_words(&lower, deed)) || mentions_code(answer);
    let mut lines = lower.lines().enumerate();
    let (at, _) = lines.find(|(_, line)| {
        words.cannot.iter().any(|phrase| has_words(line, phrase) && !is_of_others(words, line, phrase))
            && words.places.iter().any(|place| has_words(line, place))
    })?;
    let quote = answer.lines().nth(at).unwrap_or_default();
    (!has_result)
        .then(|| Signal::new("the agent could not reach the work", quote, format!("agent:{}", at + 1)))
}

/// Whether something else cannot do it: `the handler cannot access files outside its root` is a finding.
fn is_of_others(known: &HollowWords, line: &str, phrase: &str) -> bool {
    let before = line.split(phrase).next().unwrap_or_default();
    let subject = before.rsplit(['.', ';', ':', '!', '?', ',', '(']).next().unwrap_or_default();
    let mut words = subject.split_whitespace();
    words.next().is_some_and(|first| ["the", "this", "that", "a", "an"].contains(&first))
        && !words.any(|word| known.own.iter().any(|own| own == word))
}

/// Whether the text contains a path, a diff or a piece of code.
fn mentions_code(answer: &str) -> bool {
    let fenced = answer.contains("```") || answer.contains("\n+++ ") || answer.contains("\n@@ ");
    fenced || answer.split_whitespace().any(is_reference)
}

fn is_reference(word: &str) -> bool {
    if word.contains("()") {
        return word.starts_with(|c: char| c.is_alphabetic() || c == '`');
    }
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    let Some((stem, extension)) = word.rsplit_once('.') else { return word.contains("::") };
    let extension = extension.split(':').next().unwrap_or_default();
    let is_extension = (1..=5).contains(&extension.len())
        && extension.chars().all(|c| c.is_ascii_alphanumeric())
        && extension.starts_with(|c: char| c.is_ascii_lowercase());
    !stem.is_empty() && is_extension && !matches!(word, "e.g" | "i.e")
}
