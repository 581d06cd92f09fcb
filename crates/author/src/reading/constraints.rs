//! What the work must not do: paths that stay, and the most files that may change.

use crate::{
    brief::Constraints,
    project::ProjectFiles,
    reading::{delivery::work_of, paths::path},
    spec::{SectionKind, Sentence, Spec, Token},
    words::targets,
};

/// Reads the constraints.
pub(crate) fn constraints(spec: &Spec, files: &dyn ProjectFiles) -> Constraints {
    let mut found = Constraints::default();
    for (section, sentence) in spec.sentences() {
        let is_section = section.kind == SectionKind::Constraints;
        let can_forbid =
            !matches!(section.kind, SectionKind::Acceptance | SectionKind::Questions | SectionKind::Answers);
        let paths = if can_forbid { forbidden(sentence, files) } else { Vec::new() };
        for path in &paths {
            if !found.unchanged.iter().any(|(known, _)| known == path) {
                found.unchanged.push((path.clone(), sentence.line));
            }
        }
        let most = most_files(sentence);
        if most.is_some() {
            found.max_changed_files = found.max_changed_files.min(most).or(most);
        }
        let is_constraint = is_section || !paths.is_empty() || most.is_some();
        let text = work_of(sentence);
        if is_constraint && !text.is_empty() && !sentence.is_question() && !found.texts.contains(&text) {
            found.texts.push(text);
        }
    }
    found
}

/// The paths of a sentence that must not change: `do not touch A or B`, `A stays unchanged`.
pub(crate) fn forbidden(sentence: &Sentence, files: &dyn ProjectFiles) -> Vec<String> {
    let known = targets();
    let lower = sentence.lower();
    let Some((at, count)) = known.forbidding.find(&lower) else { return Vec::new() };
    let phrase = lower[at..at + count].join(" ");
    let needs_more = ["leave", "keep"].contains(&phrase.as_str());
    if needs_more && !known.keep_words.is_in(&lower[at..]) {
        return Vec::new();
    }
    // `… stays unchanged` is about what comes before it, `do not touch …` about what follows
    let follows = sentence.tokens[at + count..].iter().any(|token| token.code().is_some());
    let end = sentence.tokens[at..].iter().position(|token| token.is_word("but") || token.is_mark(';'));
    let part: &[Token] = match follows && !is_passive(&phrase) {
        true => &sentence.tokens[at..end.map_or(sentence.tokens.len(), |end| at + end)],
        false => &sentence.tokens[..at],
    };
    let listed = part.iter().filter_map(|token| match token.code() {
        Some(code) => path(code, files),
        None if token.text.contains('.') || token.text.contains('/') => path(&token.text, files),
        None => None,
    });
    listed.collect()
}

fn is_passive(phrase: &str) -> bool {
    let first = phrase.split(' ').next().unwrap_or_default();
    ["stays", "stay", "is", "remains", "remain", "must"].contains(&first)
        && !phrase.ends_with("touch")
        && !phrase.ends_with("change")
        && !phrase.ends_with("modify")
        || ["untouched", "read-only"].contains(&first)
}

/// `at most 5 files`.
pub(crate) fn most_files(sentence: &Sentence) -> Option<u32> {
    let known = targets();
    let lower = sentence.lower();
    let (at, count) = known.count_phrases.find(&lower)?;
    let number = number(lower.get(at + count)?)?;
    let names_files = lower[at + count + 1..].iter().take(3).any(|word| known.file_nouns.has(word));
    let is_below = matches!(lower[at].as_str(), "fewer" | "less");
    let most = if is_below { number.saturating_sub(1) } else { number };
    (names_files && most > 0).then_some(most)
}

fn number(word: &str) -> Option<u32> {
    let names = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
    word.parse().ok().or_else(|| names.iter().position(|name| *name == word).map(|at| at as u32))
}
