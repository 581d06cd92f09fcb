//! The files that the work may change: a section of target files, or paths in backticks.

use crate::{
    brief::{DroppedPath, Target, TargetSource, Targets},
    project::ProjectFiles,
    reading::{
        constraints,
        criterion::{ReadCheck, ReadCriterion},
        paths::{PathShape, shape},
    },
    spec::{Block, BlockKind, Section, SectionKind, Sentence, Spec, Token, TokenKind},
    words::targets as words,
};

/// Reads the targets. Criteria name files that must change (`docs/cli.md` mentions …) and files that are only read.
pub(crate) fn targets(spec: &Spec, criteria: &[ReadCriterion], files: &dyn ProjectFiles) -> Targets {
    let mut reader = TargetReader { files, paths: Vec::new(), dropped: Vec::new() };
    let blocks: Vec<&Section> =
        spec.of(SectionKind::Targets).filter(|section| !section.blocks.is_empty()).collect();
    for section in &blocks {
        reader.section(section);
    }
    if !blocks.is_empty() {
        let source = if reader.paths.is_empty() { TargetSource::Unstated } else { TargetSource::Block };
        return Targets { source, paths: reader.paths, dropped: reader.dropped };
    }
    for (section, sentence) in spec.sentences() {
        match section.kind {
            SectionKind::Acceptance => reader.noise(sentence, Some("it is part of a criterion")),
            SectionKind::Constraints => {}
            SectionKind::Questions | SectionKind::Answers => {}
            SectionKind::Agents | SectionKind::Environment | SectionKind::Delivery => {
                reader.noise(sentence, Some("it is not part of the goal"));
            }
            _ if criteria.iter().any(|one| one.line == sentence.line && one.text == sentence.text) => {
                reader.noise(sentence, Some("it is part of a criterion"));
            }
            _ => reader.prose(sentence),
        }
    }
    reader.required_by(criteria);
    let source = if reader.paths.is_empty() { TargetSource::Unstated } else { TargetSource::Prose };
    Targets { source, paths: reader.paths, dropped: reader.dropped }
}

/// The targets that a track names.
pub(crate) fn of_blocks<'a>(
    blocks: impl Iterator<Item = &'a Block>,
    files: &dyn ProjectFiles,
) -> Vec<Target> {
    let mut reader = TargetReader { files, paths: Vec::new(), dropped: Vec::new() };
    for sentence in blocks.flat_map(|block| &block.sentences) {
        reader.prose(sentence);
    }
    reader.paths
}

struct TargetReader<'a> {
    files: &'a dyn ProjectFiles,
    paths: Vec<Target>,
    dropped: Vec<DroppedPath>,
}

impl TargetReader<'_> {
    fn keep(&mut self, text: &str, line: usize, reason: &str) -> bool {
        let PathShape::Path(path, kind) = shape(text, self.files) else { return false };
        if !self.paths.iter().any(|known| known.path == path) {
            self.paths.push(Target { path, kind, line, reason: reason.to_owned() });
        }
        true
    }

    fn drop(&mut self, text: &str, line: usize, reason: &str) {
        if !self.dropped.iter().any(|known| known.text == text) {
            self.dropped.push(DroppedPath { text: text.to_owned(), line, reason: reason.to_owned() });
        }
    }

    /// A section of target files: each item begins with its path.
    fn section(&mut self, section: &Section) {
        let header = section.blocks.iter().position(|block| block.kind == BlockKind::Row);
        for (at, block) in section.blocks.iter().enumerate() {
            if header != Some(at) {
                self.listed(block);
            }
        }
    }

    fn listed(&mut self, block: &Block) {
        let reason = "a target file of the spec";
        let codes: Vec<&Token> = block.tokens.iter().filter(|token| token.code().is_some()).collect();
        let mut is_kept = false;
        for token in &codes {
            let is_first = token.span == codes[0].span;
            let is_noise = matches!(shape(&token.text, self.files), PathShape::Noise(_));
            if self.keep(&token.text, token.line, reason) {
                is_kept = true;
            } else if is_first && !is_noise && !token.text.contains(char::is_whitespace) {
                // a name without an ending, in the place where the spec lists its files
                let kind = crate::brief::TargetKind::Other;
                self.paths.push(Target {
                    path: token.text.clone(),
                    kind,
                    line: token.line,
                    reason: reason.to_owned(),
                });
                is_kept = true;
            } else {
                self.explain(token, "it is not a path");
            }
        }
        if !codes.is_empty() && is_kept {
            return;
        }
        // without backticks, the paths before the first other word
        let words = block.tokens.iter().filter(|token| token.kind == TokenKind::Word);
        for token in words {
            if token.is_word("and") || token.is_word("or") {
                continue;
            }
            if !self.keep(&token.text, token.line, reason) {
                if !is_kept {
                    self.explain(token, "it is not a path");
                }
                break;
            }
            is_kept = true;
        }
    }

    fn explain(&mut self, token: &Token, otherwise: &str) {
        match shape(&token.text, self.files) {
            PathShape::Noise(reason) => self.drop(&token.text, token.line, reason),
            PathShape::Other | PathShape::Path(..) => self.drop(&token.text, token.line, otherwise),
        }
    }

    /// Paths in backticks are targets, unless the words before them say that they are read or must stay.
    fn prose(&mut self, sentence: &Sentence) {
        let lower = sentence.lower();
        let forbidden = constraints::forbidden(sentence, self.files);
        for (at, token) in sentence.tokens.iter().enumerate() {
            if token.code().is_none() {
                self.bare(token);
                continue;
            }
            let PathShape::Path(path, _) = shape(&token.text, self.files) else {
                self.dropped_code(token);
                continue;
            };
            if forbidden.contains(&path) {
                self.drop(&token.text, token.line, "the spec says that it must not change");
            } else if is_read(&lower, at) {
                self.drop(&token.text, token.line, "the spec says that it is read, not changed");
            } else {
                self.keep(&token.text, token.line, "named in backticks in the spec");
            }
        }
    }

    fn dropped_code(&mut self, token: &Token) {
        if let PathShape::Noise(reason) = shape(&token.text, self.files) {
            self.drop(&token.text, token.line, reason);
        }
    }

    /// A word without backticks is never a target; the record says why.
    fn bare(&mut self, token: &Token) {
        if token.kind != TokenKind::Word || !token.text.contains(['/', '.', '-']) {
            return;
        }
        match shape(&token.text, self.files) {
            PathShape::Noise(reason) if token.text.contains('/') || token.text.starts_with("--") => {
                self.drop(&token.text, token.line, reason);
            }
            PathShape::Path(..) => self.drop(&token.text, token.line, "it is not in backticks"),
            PathShape::Noise(_) | PathShape::Other => {}
        }
    }

    /// Records why words of a criterion are no targets.
    fn noise(&mut self, sentence: &Sentence, reason: Option<&str>) {
        for token in &sentence.tokens {
            match shape(&token.text, self.files) {
                _ if token.code().is_none() => self.bare(token),
                PathShape::Path(..) => self.drop(&token.text, token.line, reason.unwrap_or_default()),
                PathShape::Noise(_) | PathShape::Other => self.dropped_code(token),
            }
        }
    }

    /// Files that a criterion wants to be changed.
    fn required_by(&mut self, criteria: &[ReadCriterion]) {
        for one in criteria {
            for check in &one.checks {
                let path = match check {
                    ReadCheck::FileMentions { path, .. }
                    | ReadCheck::FileLacks { path, .. }
                    | ReadCheck::FileExists { path, .. } => path,
                    _ => continue,
                };
                // criteria alone do not make a spec one that names its files
                if !self.paths.is_empty() || is_document(path, self.files) {
                    self.keep(path, one.line, "a criterion is about this file");
                    self.dropped.retain(|known| known.text != *path);
                }
            }
        }
    }
}

fn is_document(path: &str, files: &dyn ProjectFiles) -> bool {
    matches!(shape(path, files), PathShape::Path(_, crate::brief::TargetKind::Document))
}

/// Whether the words before code say that the file is read.
fn is_read(lower: &[String], at: usize) -> bool {
    // words of the same part: marks, code and `and` end it, except in a list of paths
    let mut start = at;
    while start > 0 && at - start < 5 && !lower[start - 1].is_empty() {
        start -= 1;
    }
    let before = &lower[start..at];
    let known = words();
    let near = &before[before.len().saturating_sub(3)..];
    let phrase = |count: usize| {
        before.len() >= count && known.reading_phrases.at(&before[before.len() - count..]) == Some(count)
    };
    near.last().is_some_and(|word| known.reading.has(word))
        || near.iter().rev().take(2).any(|word| known.reading.has(word) && word != "from" && word != "like")
        || (1..=4).any(phrase)
}
