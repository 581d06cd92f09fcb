//! Open questions: their section, markers such as `TBD`, and questions where a decision belongs.

use crate::{
    spec::{Block, SectionKind, Sentence, Spec},
    words::work,
};

/// A question of the spec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SpecQuestion {
    /// Verbatim.
    pub(crate) text: String,
    pub(crate) line: usize,
    /// Its number in the list of open questions, or its place there.
    pub(crate) number: Option<u64>,
    /// The answer beside it.
    pub(crate) answer: Option<String>,
}

/// The questions, in the order of the spec.
pub(crate) fn questions(spec: &Spec) -> Vec<SpecQuestion> {
    let mut found = Vec::new();
    let mut place = 0;
    for section in &spec.sections {
        match section.kind {
            SectionKind::Questions => {
                for block in section.blocks.iter().filter(|block| !is_none(block)) {
                    place += 1;
                    found.push(question(block, place));
                }
            }
            SectionKind::Answers => {}
            kind => {
                for sentence in section.blocks.iter().flat_map(|block| &block.sentences) {
                    if has_marker(sentence) || (decides(kind) && sentence.is_question()) {
                        let text = sentence.text.clone();
                        found.push(SpecQuestion { text, line: sentence.line, number: None, answer: None });
                    }
                }
            }
        }
    }
    let marked_title = spec.title.iter().filter(|title| has_marker(title));
    found.extend(marked_title.map(|title| SpecQuestion {
        text: title.text.clone(),
        line: title.line,
        number: None,
        answer: None,
    }));
    found.sort_by_key(|question| question.line);
    found
}

/// Sections in which a question cannot be rhetorical.
fn decides(kind: SectionKind) -> bool {
    matches!(
        kind,
        SectionKind::Acceptance
            | SectionKind::Targets
            | SectionKind::Constraints
            | SectionKind::Agents
            | SectionKind::Delivery
            | SectionKind::Environment
    )
}

/// `None.`, `-`, `n/a`: the section says that nothing is open.
fn is_none(block: &Block) -> bool {
    let text = block.text.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    ["", "none", "n/a", "nothing", "no", "none so far", "no open questions", "none at this time"]
        .contains(&text.as_str())
}

fn question(block: &Block, place: u64) -> SpecQuestion {
    let number = match block.kind {
        crate::spec::BlockKind::Item { number, .. } => number,
        _ => None,
    };
    let (text, answer) = split_answer(&block.text);
    SpecQuestion { text, line: block.line, number: number.or(Some(place)), answer }
}

/// Splits a question from the answer beside it: `Which format? → JSON`, `… Answer: JSON`.
pub(crate) fn split_answer(text: &str) -> (String, Option<String>) {
    let marks = ["→", "=>", "->", "**Answer:**", "**A:**", "_Answer:_", "Answer:", " A:"];
    for mark in marks {
        if let Some((question, answer)) = text.split_once(mark) {
            let (question, answer) = (question.trim(), answer.trim().trim_matches('*').trim());
            if !question.is_empty() && !answer.is_empty() {
                return (question.to_owned(), Some(answer.to_owned()));
            }
        }
    }
    (text.trim().to_owned(), None)
}

/// Whether a sentence says that something is open.
fn has_marker(sentence: &Sentence) -> bool {
    let lower = sentence.lower();
    let marks = lower.iter().any(|word| word.len() >= 3 && word.chars().all(|c| c == '?'));
    let word = sentence
        .tokens
        .iter()
        .any(|token| ["TBD", "TBC", "TBA"].contains(&token.text.as_str()) && token.code().is_none());
    marks || word || work().markers.is_in(&lower)
}
