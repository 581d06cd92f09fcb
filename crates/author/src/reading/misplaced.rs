//! Sentences in an acceptance section that are no criteria: hints about programs, delivery, constraints and limits.

use crate::{
    project::ProjectFiles,
    reading::{budget, constraints, criterion, delivery, environment},
    spec::{Block, BlockKind, Section, SectionKind, Sentence, Spec},
    tools,
};

/// The spec with such sentences in a section of their own, after the one that they were in.
pub(crate) fn moved(spec: Spec, files: &dyn ProjectFiles, programs: &[String]) -> Spec {
    let mut sections = Vec::new();
    for section in spec.sections {
        if section.kind != SectionKind::Acceptance {
            sections.push(section);
            continue;
        }
        let is_misplaced = |sentence: &Sentence| is_other(sentence, files, programs);
        let mut kept = Section { blocks: Vec::new(), ..section.clone() };
        let mut other = Section { kind: SectionKind::Delivery, heading: String::new(), ..kept.clone() };
        for block in section.blocks {
            let (away, stays): (Vec<Sentence>, Vec<Sentence>) = match block.kind {
                BlockKind::Paragraph => block.sentences.iter().cloned().partition(is_misplaced),
                _ if is_misplaced(&block.whole()) => (block.sentences.clone(), Vec::new()),
                _ => (Vec::new(), block.sentences.clone()),
            };
            match (away.is_empty(), stays.is_empty()) {
                (true, _) => kept.blocks.push(block),
                (false, true) => other.blocks.push(block),
                (false, false) => {
                    kept.blocks.push(of(&block, stays));
                    other.blocks.push(of(&block, away));
                }
            }
        }
        sections.push(kept);
        if !other.blocks.is_empty() {
            sections.push(other);
        }
    }
    Spec { sections, ..spec }
}

/// The block with only these sentences.
fn of(block: &Block, sentences: Vec<Sentence>) -> Block {
    let tokens = sentences.iter().flat_map(|sentence| sentence.tokens.clone()).collect();
    let texts: Vec<&str> = sentences.iter().map(|sentence| sentence.text.as_str()).collect();
    let (text, line) = (texts.join(". "), sentences.first().map_or(block.line, |first| first.line));
    Block { kind: block.kind, tokens, text, line, sentences }
}

fn is_other(sentence: &Sentence, files: &dyn ProjectFiles, programs: &[String]) -> bool {
    let checkable = criterion::read(sentence, &mut None, files).is_checkable();
    let is_about_run = || {
        !tools::of_sentence(sentence, programs).is_empty()
            || delivery::is_delivery(sentence)
            || !constraints::forbidden(sentence, files).is_empty()
            || constraints::most_files(sentence).is_some()
            || budget::is_limited(sentence)
            || environment::names_variable(sentence)
    };
    !checkable && !sentence.is_question() && is_about_run()
}
