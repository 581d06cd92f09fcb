//! Prompts as clauses: what a text asks for, in the words with which a clause begins.
//!
//! Only simple imperative sentences are understood; everything else means nothing.

use crate::knowledge::authoring::{AuthoringWords, EditWords};

/// A clause of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PromptClause {
    /// Its words in lower case, without the words before its verb.
    pub(super) words: Vec<String>,
    /// As written.
    pub(super) text: String,
    /// Whether it, or an earlier clause of its sentence, forbids something.
    pub(super) is_negated: bool,
    /// Whether its sentence leaves a choice.
    pub(super) has_choice: bool,
}

impl PromptClause {
    /// Whether its first word is one of these.
    pub(super) fn begins_with(&self, verbs: &[String]) -> bool {
        self.words.first().is_some_and(|first| verbs.contains(first))
    }

    /// Whether it has one of these words or phrases.
    pub(super) fn has(&self, phrases: &[String]) -> bool {
        phrases.iter().any(|phrase| has_phrase(&self.words, phrase))
    }

    /// Whether the object of its verb is a thing that files have.
    pub(super) fn object_has(&self, edits: &EditWords) -> bool {
        let object = self.words.iter().skip(1).take_while(|word| !edits.object_ends.contains(*word));
        object.into_iter().any(|word| edits.things.contains(word))
    }

    /// Whether it begins with one of these phrases.
    pub(super) fn starts_with(&self, phrases: &[String]) -> bool {
        phrases.iter().any(|phrase| is_prefix(&self.words, phrase))
    }
}

/// The clauses of a prompt.
pub(super) fn clauses(text: &str, known: &AuthoringWords) -> Vec<PromptClause> {
    let mut found = Vec::new();
    for sentence in sentences(text) {
        let all = words(&sentence);
        let has_choice =
            known.choices.iter().any(|word| has_phrase(&all, word) && !is_time(&all, word, known));
        let mut is_negated = false;
        for part in parts(&sentence) {
            let words = after_fillers(words(&part), &known.fillers);
            is_negated |= known.negations.iter().any(|word| has_phrase(&words, word));
            if !words.is_empty() {
                found.push(PromptClause { words, text: part, is_negated, has_choice });
            }
        }
    }
    found
}

/// The sentences of a text: a list item is one, and a line break inside a paragraph is a blank.
fn sentences(text: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    for line in text.lines() {
        let line = line.trim();
        let item = line.trim_start_matches(|c: char| c.is_ascii_digit() || "-*•#.)".contains(c)).trim_start();
        if line.is_empty() || item.len() < line.len() {
            found.push(String::new());
        }
        let mut rest = item;
        while let Some(at) = sentence_end(rest) {
            add(&mut found, &rest[..at]);
            found.push(String::new());
            rest = rest[at..].trim_start_matches(['.', '!', '?', ';', ' ']);
        }
        add(&mut found, rest);
    }
    found.retain(|sentence| !sentence.trim().is_empty());
    found
}

fn add(found: &mut [String], text: &str) {
    if let Some(last) = found.last_mut() {
        last.push_str(text);
        last.push(' ');
    }
}

/// Where the first sentence of a line ends: at a sign that a blank follows.
fn sentence_end(line: &str) -> Option<usize> {
    let ends = line.char_indices().filter(|(_, c)| matches!(c, '.' | '!' | '?' | ';'));
    ends.map(|(at, _)| at).find(|at| line[at + 1..].is_empty() || line[at + 1..].starts_with(' '))
}

/// The clauses of a sentence: between commas, colons, `and` and `then`.
fn parts(sentence: &str) -> Vec<String> {
    let mut text = sentence.to_owned();
    for joint in [": ", ", ", " and ", " And ", " then ", " but ", " — "] {
        text = text.replace(joint, "\u{0}");
    }
    text.split('\u{0}').map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

/// Words in lower case, without signs around them.
fn words(text: &str) -> Vec<String> {
    let is_inside = |c: char| c.is_alphanumeric() || "_'/.{}".contains(c);
    let plain = |word: &str| word.trim_matches(|c: char| !is_inside(c)).trim_end_matches('.').to_lowercase();
    text.split_whitespace().map(plain).filter(|word| !word.is_empty()).collect()
}

/// Whether a word says only when something is to be done: `when you are finished`.
fn is_time(words: &[String], word: &str, known: &AuthoringWords) -> bool {
    let after = words.iter().skip_while(|other| *other != word).skip(1).take(5);
    matches!(word, "when" | "once") && after.into_iter().any(|word| known.finished.contains(word))
}

fn after_fillers(mut words: Vec<String>, fillers: &[String]) -> Vec<String> {
    while let Some(filler) = fillers.iter().find(|filler| is_prefix(&words, filler)) {
        words.drain(..filler.split(' ').count());
    }
    words
}

fn is_prefix(words: &[String], phrase: &str) -> bool {
    let mut words = words.iter();
    phrase.split(' ').all(|part| words.next().is_some_and(|word| word == part))
}

fn has_phrase(words: &[String], phrase: &str) -> bool {
    (0..words.len()).any(|at| is_prefix(&words[at..], phrase))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::Knowledge;

    fn read(text: &str) -> Vec<String> {
        let knowledge = Knowledge::built_in();
        let shown = |clause: PromptClause| {
            let sign = if clause.is_negated { "-" } else { "+" };
            format!("{sign}{}", clause.words.join(" "))
        };
        clauses(text, knowledge.authoring()).into_iter().map(shown).collect()
    }

    #[test]
    fn prompts_have_clauses() {
        assert_eq!(read("Please implement {{task}}."), ["+implement {{task}}"]);
        assert_eq!(read("Fix it, then run\nthe tests."), ["+fix it", "+run the tests"]);
        assert_eq!(read("Do not commit and push."), ["-do not commit", "-push"]);
        assert_eq!(read("- Edit `src/a.rs`.\n- Never push."), ["+edit src/a.rs", "-never push"]);
        assert_eq!(read("See https://a.b/c. Answer: yes"), ["+see https://a.b/c", "+answer", "+yes"]);
    }
}
