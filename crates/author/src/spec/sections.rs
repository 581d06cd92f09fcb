//! Sections by heading, by label (`Done when: …`) and by what they are below.

use super::{
    markdown::{RawBlock, RawKind},
    sentence::{Sentence, one_line, sentences},
    token::Token,
};
use crate::words::words;

/// A spec, cut into sections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spec {
    /// The first heading, unless it begins a known section.
    pub(crate) title: Option<Sentence>,
    pub(crate) sections: Vec<Section>,
}

/// The blocks below a heading or a label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) kind: SectionKind,
    /// The words of the heading; empty before the first one.
    pub(crate) heading: String,
    pub(crate) line: usize,
    pub(crate) blocks: Vec<Block>,
    /// The heading of the track that it belongs to.
    pub(crate) track: Option<String>,
}

/// What a section is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SectionKind {
    Goal,
    Acceptance,
    Targets,
    Constraints,
    Tracks,
    Agents,
    Environment,
    Delivery,
    Questions,
    Answers,
    /// Everything else: read like the goal.
    Prose,
}

/// A paragraph, an item of a list or a row of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) kind: BlockKind,
    pub(crate) tokens: Vec<Token>,
    pub(crate) sentences: Vec<Sentence>,
    /// As written, in one line.
    pub(crate) text: String,
    pub(crate) line: usize,
}

/// The kinds of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockKind {
    Paragraph,
    Item { depth: usize, number: Option<u64> },
    Row,
}

impl Block {
    fn new(kind: RawKind, tokens: &[Token], source: &str) -> Option<Block> {
        let (first, last) = (tokens.first()?, tokens.last()?);
        let kind = match kind {
            RawKind::Item(depth, number) => BlockKind::Item { depth, number },
            RawKind::Row => BlockKind::Row,
            RawKind::Heading(_) | RawKind::Paragraph => BlockKind::Paragraph,
        };
        let text = one_line(source.get(first.span.start..last.span.end)?);
        let sentences = sentences(tokens, source);
        Some(Block { kind, tokens: tokens.to_vec(), sentences, text, line: first.line })
    }

    /// The whole block as one sentence.
    pub(crate) fn whole(&self) -> Sentence {
        let text = self.text.trim_end_matches('.').to_owned();
        Sentence { tokens: self.tokens.clone(), text, line: self.line }
    }
}

impl Spec {
    /// The sections of a kind.
    pub(crate) fn of(&self, kind: SectionKind) -> impl Iterator<Item = &Section> {
        self.sections.iter().filter(move |section| section.kind == kind)
    }

    /// Every sentence with its section, in order.
    pub(crate) fn sentences(&self) -> impl Iterator<Item = (&Section, &Sentence)> {
        self.sections.iter().flat_map(|section| {
            section.blocks.iter().flat_map(move |block| block.sentences.iter().map(move |one| (section, one)))
        })
    }
}

/// Cuts blocks into sections.
pub(super) fn sections(source: &str, blocks: Vec<RawBlock>) -> Spec {
    let levels: Vec<u8> = blocks
        .iter()
        .filter_map(|block| match block.kind {
            RawKind::Heading(level) => Some(level),
            _ => None,
        })
        .collect();
    // `# Publish` above sections of the second level is a title, though a section may have this name too
    let has_title = levels.first() == Some(&1) && levels.len() > 1 && !levels[1..].contains(&1);
    let mut cutter =
        Cutter { source, title: None, sections: Vec::new(), open: Vec::new(), label: None, has_title };
    for block in &blocks {
        match block.kind {
            RawKind::Heading(level) => cutter.heading(level, block),
            _ => cutter.block(block),
        }
    }
    let is_full = |section: &Section| !section.blocks.is_empty() || section.kind != SectionKind::Prose;
    Spec { title: cutter.title, sections: cutter.sections.into_iter().filter(is_full).collect() }
}

/// An open heading.
struct Open {
    level: u8,
    kind: SectionKind,
    track: Option<String>,
}

struct Cutter<'a> {
    source: &'a str,
    title: Option<Sentence>,
    sections: Vec<Section>,
    /// The headings above the current place.
    open: Vec<Open>,
    /// Inside the section of a label: whether it has had an item or a sentence of its own.
    label: Option<bool>,
    /// The first heading is the title, whatever it says.
    has_title: bool,
}

impl Cutter<'_> {
    fn heading(&mut self, level: u8, block: &RawBlock) {
        let Some(sentence) = Sentence::new(&block.tokens, self.source) else { return };
        self.label = None;
        let own = kind_of(&sentence.text);
        let track = track_name(&sentence.text);
        let is_first = self.title.is_none() && self.sections.is_empty();
        if is_first && (self.has_title || (own.is_none() && track.is_none())) {
            self.title = Some(sentence);
            return;
        }
        while self.open.last().is_some_and(|open| open.level >= level) {
            self.open.pop();
        }
        let above = self.open.last();
        let in_tracks = above.is_some_and(|above| above.kind == SectionKind::Tracks && above.track.is_none());
        let inherited = above.map_or(SectionKind::Prose, |above| above.kind);
        let (kind, track) = match (own, track) {
            (Some(kind), _) => (kind, above.and_then(|above| above.track.clone())),
            (None, Some(name)) => (SectionKind::Tracks, Some(name)),
            (None, None) if in_tracks => (SectionKind::Tracks, Some(sentence.text.clone())),
            (None, None) => (inherited, above.and_then(|above| above.track.clone())),
        };
        self.open.push(Open { level, kind, track: track.clone() });
        let heading = sentence.text.clone();
        self.sections.push(Section { kind, heading, line: sentence.line, blocks: Vec::new(), track });
    }

    fn block(&mut self, block: &RawBlock) {
        let is_item = matches!(block.kind, RawKind::Item(..));
        if let Some((kind, rest)) = label(&block.tokens) {
            return self.labelled(kind, block, rest);
        }
        // the section of a label ends with the first paragraph after its list or its sentence
        if self.label == Some(true) && !is_item {
            self.label = None;
            self.reopen(block.line);
        } else if let (Some(has_content), true) = (&mut self.label, is_item) {
            *has_content = true;
        }
        self.push(block.kind, &block.tokens);
    }

    fn labelled(&mut self, kind: SectionKind, block: &RawBlock, rest: &[Token]) {
        let track = self.open.last().and_then(|open| open.track.clone());
        let heading = Sentence::new(&block.tokens[..block.tokens.len() - rest.len()], self.source);
        self.sections.push(Section {
            kind,
            heading: heading.map(|heading| heading.text).unwrap_or_default(),
            line: block.line,
            blocks: Vec::new(),
            track,
        });
        self.push(block.kind, rest);
        let is_item = matches!(block.kind, RawKind::Item(..));
        self.label = Some(!rest.is_empty());
        if is_item && !rest.is_empty() {
            self.label = None;
            self.reopen(block.line);
        }
    }

    /// Continues the section of the nearest heading after that of a label.
    fn reopen(&mut self, line: usize) {
        let (kind, track) = match self.open.last() {
            Some(open) => (open.kind, open.track.clone()),
            None => (SectionKind::Prose, None),
        };
        self.sections.push(Section { kind, heading: String::new(), line, blocks: Vec::new(), track });
    }

    fn push(&mut self, kind: RawKind, tokens: &[Token]) {
        let Some(block) = Block::new(kind, tokens, self.source) else { return };
        if self.sections.is_empty() {
            self.reopen(block.line);
        }
        if let Some(section) = self.sections.last_mut() {
            section.blocks.push(block);
        }
    }
}

/// The kind of section that a heading names.
fn kind_of(heading: &str) -> Option<SectionKind> {
    let heading = heading.split('(').next().unwrap_or_default();
    let is_letter = |c: char| c.is_alphanumeric();
    let name =
        heading.trim_start_matches(|c: char| !c.is_alphabetic()).trim_end_matches(|c: char| !is_letter(c));
    let name = name.to_lowercase();
    let mut kinds = words().sections.iter();
    kinds.find(|(_, names)| names.has(&name)).map(|(kind, _)| *kind)
}

/// The name of a track whose heading says so: `Track A: parser`.
fn track_name(heading: &str) -> Option<String> {
    let (first, rest) = heading.split_once(char::is_whitespace)?;
    let is_track = words().track_words.has(&first.to_lowercase());
    let rest = rest.trim();
    (is_track && !rest.is_empty()).then(|| rest.to_owned())
}

/// The kind of section that a paragraph begins with a label, and the tokens after it.
fn label(tokens: &[Token]) -> Option<(SectionKind, &[Token])> {
    let colon = tokens.iter().take(6).position(|token| token.is_mark(':'))?;
    let words: Vec<String> =
        tokens[..colon].iter().map(Token::lower).filter(|word| !word.is_empty()).collect();
    let kind = kind_of(&words.join(" "))?;
    // the marks of emphasis around a label belong to it
    let rest = &tokens[colon + 1..];
    let skipped = rest.iter().take_while(|token| token.is_mark('*') || token.is_mark('_')).count();
    Some((kind, &rest[skipped..]))
}
