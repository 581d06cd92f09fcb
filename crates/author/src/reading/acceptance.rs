//! All criteria of a spec: its acceptance sections; without them, what the rest of the spec says that can be checked.

use crate::{
    project::ProjectFiles,
    reading::criterion::{ReadCriterion, read},
    spec::{Block, BlockKind, Section, SectionKind, Sentence, Spec, Token},
    words::criteria,
};

/// Reads every criterion.
pub(crate) fn criteria_of(spec: &Spec, files: &dyn ProjectFiles) -> Vec<ReadCriterion> {
    let mut command = version_command(spec);
    let mut found: Vec<ReadCriterion> = Vec::new();
    let has_section = spec.of(SectionKind::Acceptance).any(|section| !section.blocks.is_empty());
    for section in &spec.sections {
        let mut of_section = match section.kind {
            SectionKind::Acceptance => from_section(section, &mut command, files),
            SectionKind::Tracks => from_prose(section, &mut command, files, &|one| one.is_checkable()),
            SectionKind::Goal | SectionKind::Prose | SectionKind::Constraints if !has_section => {
                from_prose(section, &mut command, files, &|one| one.is_checkable())
            }
            SectionKind::Goal | SectionKind::Prose => from_prose(section, &mut command, files, &|_| false),
            _ => Vec::new(),
        };
        for one in &mut of_section {
            one.track = section.track.clone();
        }
        found.extend(of_section);
    }
    found.dedup_by(|later, earlier| later.checks == earlier.checks && later.text == earlier.text);
    found
}

/// The command that prints a version: a criterion about the sources of the version need not repeat it.
fn version_command(spec: &Spec) -> Option<String> {
    let tokens = spec.sentences().flat_map(|(_, sentence)| &sentence.tokens);
    tokens
        .filter_map(Token::code)
        .find(|code| code.contains(' ') && code.ends_with("--version"))
        .map(str::to_owned)
}

/// Every item and every sentence of an acceptance section.
fn from_section(
    section: &Section,
    command: &mut Option<String>,
    files: &dyn ProjectFiles,
) -> Vec<ReadCriterion> {
    let mut found = Vec::new();
    let header = section.blocks.iter().position(|block| block.kind == BlockKind::Row);
    for (at, block) in section.blocks.iter().enumerate() {
        for sentence in units(block).into_iter().filter(|_| header != Some(at)) {
            let criterion = read(&sentence, command, files);
            let is_lead_in = sentence.tokens.last().is_some_and(|last| last.is_mark(':'));
            let is_empty = !sentence.text.contains(char::is_alphanumeric);
            if !is_empty && !sentence.is_question() && (!is_lead_in || criterion.is_checkable()) {
                found.push(criterion);
            }
        }
    }
    found
}

/// The sentences of a section that can be checked, or that say when the work is done.
fn from_prose(
    section: &Section,
    command: &mut Option<String>,
    files: &dyn ProjectFiles,
    is_wanted: &dyn Fn(&ReadCriterion) -> bool,
) -> Vec<ReadCriterion> {
    let mut found = Vec::new();
    for sentence in section.blocks.iter().flat_map(units).filter(|sentence| !sentence.is_question()) {
        let has_cue = criteria().cues.at(&sentence.lower()).is_some();
        let criterion = read(&sentence, command, files);
        if has_cue || is_wanted(&criterion) {
            found.push(criterion);
        }
    }
    found
}

/// A criterion is a whole item, a whole row, or one sentence of a paragraph.
fn units(block: &Block) -> Vec<Sentence> {
    match block.kind {
        BlockKind::Item { .. } | BlockKind::Row => vec![block.whole()],
        BlockKind::Paragraph => block.sentences.clone(),
    }
}
