//! The answers section of a spec.

use crate::{
    intake::question::{Cause, Question},
    reading::markers::{questions, split_answer},
    spec::{Block, BlockKind, SectionKind, Spec},
};

/// An entry of the section.
struct Entry {
    number: Option<u64>,
    question: Option<String>,
    answer: String,
}

/// The answer of the spec to a question: beside the question, by its words, by its number or by its place.
pub(super) fn in_spec(spec: &Spec, question: &Question) -> Option<String> {
    let asked = questions(spec);
    let beside = asked.iter().find(|one| Some(one.line) == question.line && one.text == question.text);
    if let Some(answer) = beside.and_then(|one| one.answer.clone()) {
        return Some(answer);
    }
    let entries: Vec<Entry> =
        spec.of(SectionKind::Answers).flat_map(|section| section.blocks.iter().filter_map(entry)).collect();
    let wanted = normal(&question.text);
    let same = |entry: &&Entry| {
        entry.question.as_ref().is_some_and(|text| {
            let text = normal(text);
            !text.is_empty() && (text == wanted || wanted.contains(&text) && text.len() * 2 > wanted.len())
        })
    };
    if let Some(entry) = entries.iter().find(same) {
        return Some(entry.answer.clone());
    }
    if question.cause != Cause::OpenQuestion {
        return None;
    }
    if let Some(listed) = question.listed
        && let Some(entry) =
            entries.iter().find(|entry| entry.number == Some(listed) && entry.question.is_none())
    {
        return Some(entry.answer.clone());
    }
    let open: Vec<_> = asked.iter().filter(|one| one.answer.is_none()).collect();
    let is_plain = entries.iter().all(|entry| entry.number.is_none() && entry.question.is_none());
    let place = open.iter().position(|one| Some(one.line) == question.line && one.text == question.text)?;
    (is_plain && entries.len() == open.len()).then(|| entries[place].answer.clone())
}

fn normal(text: &str) -> String {
    let lower = text.to_lowercase();
    lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// `1. JSON`, `Q1: JSON`, `Which format? JSON`, `Q: Which format? A: JSON`.
fn entry(block: &Block) -> Option<Entry> {
    let number = match block.kind {
        BlockKind::Item { number, .. } => number,
        BlockKind::Paragraph | BlockKind::Row => None,
    };
    let text = block.text.replace("**", "").replace("__", "");
    let (label, text) = numbered(text.trim());
    let number = number.or(label);
    let (before, answer) = split_answer(&text);
    if let Some(answer) = answer {
        let question = before.trim_start_matches("Q:").trim().to_owned();
        return Some(Entry { number, question: Some(question), answer });
    }
    let asked = text.find("? ").map(|at| (text[..=at].trim().to_owned(), text[at + 1..].trim().to_owned()));
    let entry = match asked {
        Some((question, answer)) if !answer.is_empty() => Entry { number, question: Some(question), answer },
        _ => Entry { number, question: None, answer: text },
    };
    (!entry.answer.is_empty()).then_some(entry)
}

/// `Q1: …`, `Question 2: …`, `A3: …`.
fn numbered(text: &str) -> (Option<u64>, String) {
    let Some((head, rest)) = text.split_once(':') else { return (None, text.to_owned()) };
    let lower = head.trim().to_lowercase();
    let digits =
        ["question", "answer", "q", "a"].iter().find_map(|word| lower.strip_prefix(word)).unwrap_or(&lower);
    match digits.trim().parse() {
        Ok(number) => (Some(number), rest.trim().to_owned()),
        Err(_) => (None, text.to_owned()),
    }
}
