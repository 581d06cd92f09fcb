//! Markdown → blocks of tokens: headings, paragraphs, items of lists and rows of tables.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::token::{Token, TokenKind, split};

/// A block as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RawBlock {
    pub(super) kind: RawKind,
    pub(super) tokens: Vec<Token>,
    pub(super) span: Range<usize>,
    pub(super) line: usize,
}

/// The kinds of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RawKind {
    Heading(u8),
    Paragraph,
    /// Its depth from 0, and its number in an ordered list.
    Item(usize, Option<u64>),
    Row,
}

/// The blocks of a text, without code blocks, HTML and front matter.
pub(super) fn blocks(text: &str) -> Vec<RawBlock> {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
    let mut reader = Reader::new(text);
    for (event, span) in Parser::new_ext(text, options).into_offset_iter() {
        reader.event(event, span);
    }
    reader.flush();
    reader.blocks
}

struct Reader<'a> {
    text: &'a str,
    /// Where each line begins.
    lines: Vec<usize>,
    blocks: Vec<RawBlock>,
    current: Option<RawBlock>,
    /// The next number of each open list; none for bullets.
    lists: Vec<Option<u64>>,
    /// Inside a code block or front matter.
    is_hidden: bool,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Reader<'a> {
        let breaks = text.match_indices('\n').map(|(at, _)| at + 1);
        Reader {
            text,
            lines: [0].into_iter().chain(breaks).collect(),
            blocks: Vec::new(),
            current: None,
            lists: Vec::new(),
            is_hidden: false,
        }
    }

    fn line(&self, at: usize) -> usize {
        self.lines.partition_point(|start| *start <= at)
    }

    fn open(&mut self, kind: RawKind, span: Range<usize>) {
        self.flush();
        let line = self.line(span.start);
        self.current = Some(RawBlock { kind, tokens: Vec::new(), span, line });
    }

    fn flush(&mut self) {
        if let Some(mut block) = self.current.take().filter(|block| !block.tokens.is_empty()) {
            block.line = block.tokens[0].line;
            let end = block.tokens.last().map_or(block.span.end, |token| token.span.end);
            block.span.start = block.tokens[0].span.start;
            block.span.end = end.max(block.span.start);
            self.blocks.push(block);
        }
    }

    fn event(&mut self, event: Event, span: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag, span),
            Event::End(tag) => self.end(tag),
            Event::Text(_) if !self.is_hidden => self.words(span),
            Event::Code(code) => {
                let token = Token {
                    kind: TokenKind::Code,
                    text: code.to_string(),
                    line: self.line(span.start),
                    span,
                };
                self.push(vec![token]);
            }
            _ => {}
        }
    }

    /// Words as they are written, so that a mark that Markdown hides cannot move a place.
    fn words(&mut self, span: Range<usize>) {
        let line = self.line(span.start);
        let tokens = split(&self.text[span.clone()], span.start, line);
        self.push(tokens);
    }

    fn push(&mut self, tokens: Vec<Token>) {
        if self.current.is_none() {
            let start = tokens.first().map_or(0, |token| token.span.start);
            self.open(RawKind::Paragraph, start..start);
        }
        let Some(block) = &mut self.current else { return };
        for token in tokens {
            // Markdown cuts text at marks such as `[`: parts of one word belong together
            let joins = |last: &Token| {
                last.kind == TokenKind::Word
                    && token.kind == TokenKind::Word
                    && last.span.end == token.span.start
            };
            match block.tokens.last_mut().filter(|last| joins(last)) {
                Some(last) => {
                    last.text.push_str(&token.text);
                    last.span.end = token.span.end;
                }
                None => block.tokens.push(token),
            }
        }
    }

    fn start(&mut self, tag: Tag, span: Range<usize>) {
        match tag {
            Tag::Heading { level, .. } => self.open(RawKind::Heading(level as u8), span),
            // the first paragraph of an item is the item
            Tag::Paragraph if self.is_new_item() => {}
            Tag::Paragraph => self.open(RawKind::Paragraph, span),
            Tag::List(first) => {
                self.flush();
                self.lists.push(first);
            }
            Tag::Item => {
                let depth = self.lists.len().saturating_sub(1);
                let number = self.lists.last_mut().and_then(|next| {
                    let number = *next;
                    *next = next.map(|next| next + 1);
                    number
                });
                self.open(RawKind::Item(depth, number), span);
            }
            Tag::TableHead | Tag::TableRow => self.open(RawKind::Row, span),
            Tag::CodeBlock(_) | Tag::MetadataBlock(_) => {
                self.flush();
                self.is_hidden = true;
            }
            _ => {}
        }
    }

    fn is_new_item(&self) -> bool {
        let is_item = |block: &RawBlock| matches!(block.kind, RawKind::Item(..)) && block.tokens.is_empty();
        self.current.as_ref().is_some_and(is_item)
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) | TagEnd::Paragraph | TagEnd::Item | TagEnd::TableHead | TagEnd::TableRow => {
                self.flush();
            }
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::CodeBlock | TagEnd::MetadataBlock(_) => self.is_hidden = false,
            _ => {}
        }
    }
}
