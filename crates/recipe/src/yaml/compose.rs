//! From parser events to a shared tree: frames for open lists and maps, anchors, and the budget.
//!
//! Never recurses and never expands an alias, so that neither depth nor bombs cost anything here.

mod alias;

use std::{cell::OnceCell, collections::HashMap, ops::Range, rc::Rc};

use granit_parser::{Event, Parser, ScalarStyle, ScanError, StructureStyle, Tag, options};

use super::{
    Key,
    align::align,
    explain::{ScannerError, explain, unquoted_braces},
    maps::{Duplicates, RawKey, finish_map},
    quote::{line_of, quote, rest_of_line},
    scalar::{Scalar, TextStyle, Typing},
    shared::{MAX_DEPTH, MAX_NODES, MAX_TEXT, SharedKind, SharedNode, Size, too_deep, too_much},
    written::{find_token, line_number, style_of, typing_of},
};
use crate::{
    diagnostic::{Code, Diagnostic},
    source::{FileId, Place, Span},
};

/// The result of parsing a text.
pub(super) enum Composed {
    /// Its document.
    Document(Rc<SharedNode>),
    /// It holds no document.
    Nothing,
    /// It could not be read to its end; that has been reported.
    Unreadable,
}

/// Reads the only document of a text.
pub(super) fn compose(
    text: &str,
    file: FileId,
    diagnostics: &mut Vec<Diagnostic>,
    duplicates: Duplicates,
) -> Composed {
    let mut composer = Composer {
        text,
        file,
        diagnostics,
        duplicates,
        lines: OnceCell::new(),
        stack: Vec::new(),
        anchors: HashMap::new(),
        spent: Size::default(),
        last_end: 0,
        explained: None,
        root: None,
        later_document: None,
    };
    match composer.read() {
        Ok(()) => {
            composer.root.filter(|root| !is_left_out(root)).map_or(Composed::Nothing, Composed::Document)
        }
        Err(fatal) => {
            composer.report_fatal(fatal);
            Composed::Unreadable
        }
    }
}

struct Composer<'a> {
    text: &'a str,
    file: FileId,
    diagnostics: &'a mut Vec<Diagnostic>,
    duplicates: Duplicates,
    lines: OnceCell<Vec<u32>>,
    stack: Vec<OpenCollection>,
    anchors: HashMap<usize, Rc<SharedNode>>,
    spent: Size,
    /// The end of the last item with a text: the next one is searched for from here.
    last_end: usize,
    /// The number of the last line whose text needs quotes; that has been reported.
    explained: Option<usize>,
    root: Option<Rc<SharedNode>>,
    /// The `---` after the document that was read.
    later_document: Option<Place>,
}

/// A list or map that is still open.
struct OpenCollection {
    start: usize,
    /// Where the last node in it ends.
    end: usize,
    anchor: usize,
    style: StructureStyle,
    content: Content,
}

enum Content {
    List(Vec<Rc<SharedNode>>),
    Map {
        entries: Vec<(RawKey, Rc<SharedNode>)>,
        key: Option<RawKey>,
        /// It is not a map but an unquoted `{{…}}`.
        braces: bool,
    },
}

impl Composer<'_> {
    fn read(&mut self) -> Result<(), Diagnostic> {
        let options = options! {
            emit_comments: false,
            emit_unresolved_aliases: true,
            flow_nesting_limit: MAX_DEPTH,
            block_nesting_limit: MAX_DEPTH,
        };
        for event in Parser::new_from_str_with_options(self.text, options) {
            let (event, span) = event.map_err(|error| self.explain(&error))?;
            let range = span.byte_range().unwrap_or_default();
            if self.starts_second_document(&event, &range) {
                break;
            }
            self.take(event, range)?;
        }
        Ok(())
    }

    fn take(&mut self, event: Event<'_>, range: Range<usize>) -> Result<(), Diagnostic> {
        let end = range.end;
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.notice_tag(tag.as_deref(), range.start);
                self.scalar(&text, style, anchor, tag.as_deref(), range)?
            }
            Event::Alias(anchor) => self.alias(anchor, range)?,
            Event::UnresolvedAlias(name) => self.unknown_alias(&name, range)?,
            Event::SequenceStart(style, anchor, tag) => {
                self.notice_tag(tag.as_deref(), range.start);
                let start = self.list_start(range.start);
                self.open(
                    OpenCollection { start, end: start, anchor, style, content: Content::List(Vec::new()) },
                    range,
                )?;
            }
            Event::MappingStart(style, anchor, tag) => {
                self.notice_tag(tag.as_deref(), range.start);
                self.notice_braces(range.start);
                let content = Content::Map { entries: Vec::new(), key: None, braces: false };
                self.open(
                    OpenCollection { start: range.start, end: range.start, anchor, style, content },
                    range,
                )?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(range),
            _ => return Ok(()),
        }
        self.last_end = self.last_end.max(end);
        Ok(())
    }

    fn place(&self, range: Range<usize>) -> Place {
        Place { file: self.file, span: Span::new(range) }
    }

    fn scalar(
        &mut self,
        text: &str,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<&Tag>,
        range: Range<usize>,
    ) -> Result<(), Diagnostic> {
        // a value that was left out is announced as `~`
        let text = if style == ScalarStyle::Plain && range.is_empty() { "" } else { text };
        let style = style_of(style);
        let (range, written) = match style {
            TextStyle::Plain => (range.clone(), range),
            TextStyle::SingleQuoted | TextStyle::DoubleQuoted => {
                (range.clone(), range.start + 1..range.end.saturating_sub(1))
            }
            TextStyle::Literal | TextStyle::Folded => self.block_ranges(style, range),
        };
        let place = self.place(range);
        let pieces = align(self.text, written, text, style);
        let scalar = Scalar { text: text.to_owned(), style, typing: typing_of(tag), pieces };
        self.spend(Size::of_text(text), place)?;
        let node = SharedNode::scalar(scalar, place);
        self.remember(anchor, &node);
        self.add(node, place);
        Ok(())
    }

    /// Of a block scalar: all of it, from its `|` or `>`; and its lines.
    fn block_ranges(&self, style: TextStyle, content: Range<usize>) -> (Range<usize>, Range<usize>) {
        let mark = if style == TextStyle::Literal { b'|' } else { b'>' };
        let header = find_token(self.text.as_bytes(), self.last_end, mark).unwrap_or(content.start);
        let (line_start, line) = line_of(self.text, header);
        let lines = line_start + line.len();
        let first = lines + usize::from(self.text[lines..].starts_with("\r\n")) + 1;
        let content_end = content.end.max(header).min(self.text.len());
        let end = header + self.text[header..content_end].trim_end().len();
        (header..end, first.min(content_end)..content_end)
    }

    /// Where a list starts. The parser announces one that is not indented only after its first `-`.
    fn list_start(&self, announced: usize) -> usize {
        let after_key = matches!(
            self.stack.last(),
            Some(OpenCollection { content: Content::Map { key: Some(_), .. }, .. })
        );
        if !after_key {
            return announced;
        }
        let mut at = self.last_end;
        for line in self.text[self.last_end.min(announced)..announced].split_inclusive('\n') {
            let blanks = line.len() - line.trim_start().len();
            if line[blanks..].starts_with('-') {
                return at + blanks;
            }
            at += line.len();
        }
        announced
    }

    /// Reports a tag without a meaning. It is usually a `!` for "not", and without it the text means the opposite.
    fn notice_tag(&mut self, tag: Option<&Tag>, content: usize) {
        if tag.is_none_or(Tag::is_yaml_core_schema) {
            return;
        }
        let at = find_token(self.text.as_bytes(), self.last_end, b'!').unwrap_or(content);
        let written = rest_of_line(self.text, at);
        let help = match quote(written) {
            Some(quoted) => format!("put quotes around the text: `{quoted}`"),
            None => "put quotes around the text".to_owned(),
        };
        let message = "a `!` at the beginning starts a YAML tag, which would be lost silently";
        let place = self.place(at..at + written.len().max(1));
        self.diagnostics
            .push(Diagnostic::new(Code::YamlSyntax, place, message).label("not part of the text").help(help));
    }

    fn open(&mut self, frame: OpenCollection, range: Range<usize>) -> Result<(), Diagnostic> {
        let place = self.place(range);
        self.spend(Size { nodes: 1, ..Size::default() }, place)?;
        if self.stack.len() >= MAX_DEPTH {
            return Err(too_deep(place));
        }
        self.stack.push(frame);
        Ok(())
    }

    fn close(&mut self, range: Range<usize>) {
        let Some(frame) = self.stack.pop() else { return };
        let end = if frame.style == StructureStyle::Flow { range.end } else { frame.end };
        let place = self.place(frame.start..end.max(frame.start));
        let node = match frame.content {
            Content::List(items) => SharedNode::list(items, place),
            Content::Map { braces: true, .. } => self.written(place),
            Content::Map { entries, .. } => {
                let (lines, text) = (&self.lines, self.text);
                let entries = finish_map(
                    entries,
                    |place| line_number(lines, text, place.span.start as usize),
                    self.diagnostics,
                    self.duplicates,
                );
                SharedNode::map(entries, place)
            }
        };
        self.remember(frame.anchor, &node);
        self.add(node, place);
    }

    /// Puts a finished node where it belongs; `place` is where it is used.
    fn add(&mut self, node: Rc<SharedNode>, place: Place) {
        let Some(frame) = self.stack.last_mut() else {
            self.root.get_or_insert(node);
            return;
        };
        frame.end = frame.end.max(place.span.end as usize);
        match &mut frame.content {
            Content::List(items) => items.push(node),
            Content::Map { entries, key, braces } => match key.take() {
                Some(key) => entries.push((key, node)),
                None if *braces => *key = Some(RawKey::Unusable),
                None => *key = Some(raw_key(&node, place, self.diagnostics)),
            },
        }
    }

    fn remember(&mut self, anchor: usize, node: &Rc<SharedNode>) {
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
    }

    fn spend(&mut self, size: Size, place: Place) -> Result<(), Diagnostic> {
        self.spent = self.spent.plus(size);
        if self.spent.nodes > MAX_NODES {
            Err(too_much(place, &format!("{MAX_NODES} nodes")))
        } else if self.spent.text > MAX_TEXT {
            Err(too_much(place, &format!("{MAX_TEXT} bytes of text")))
        } else {
            Ok(())
        }
    }

    /// Reports a value like `{{name}}` without quotes: a map whose key is a map.
    fn notice_braces(&mut self, at: usize) {
        let Some(OpenCollection { start, style: StructureStyle::Flow, content, .. }) = self.stack.last_mut()
        else {
            return;
        };
        let Content::Map { key: None, braces, .. } = content else { return };
        let start = *start;
        if at != start + 1 {
            return;
        }
        *braces = true;
        self.explained = Some(line_number(&self.lines, self.text, start));
        self.diagnostics.push(unquoted_braces(self.text, self.file, start));
    }

    /// Whether a second document with something in it starts; that has been reported then.
    fn starts_second_document(&mut self, event: &Event<'_>, range: &Range<usize>) -> bool {
        if let Event::DocumentStart(..) = event {
            self.forget_empty_document();
            if self.root.is_some() {
                self.later_document = Some(self.place(range.clone()));
            }
            return false;
        }
        let Some(place) = self.later_document else { return false };
        let left_out = matches!(event, Event::Scalar(_, ScalarStyle::Plain, ..)) && range.is_empty();
        if !event.is_node() || left_out {
            return false;
        }
        self.diagnostics.push(
            Diagnostic::new(Code::SeveralDocuments, place, "the file holds more than one YAML document")
                .label("a second document starts here")
                .help("remove the `---`, or move the second document into a file of its own"),
        );
        true
    }

    fn forget_empty_document(&mut self) {
        if self.root.as_ref().is_some_and(|root| is_left_out(root)) {
            self.root = None;
        }
    }

    fn explain(&self, error: &ScanError) -> Diagnostic {
        let flow = self.stack.iter().rev().find(|frame| frame.style == StructureStyle::Flow);
        let trouble = ScannerError {
            text: self.text,
            file: self.file,
            at: error.marker().byte_offset().unwrap_or(self.last_end).min(self.text.len()),
            last_end: self.last_end,
            open: flow.map(|frame| frame.start),
        };
        explain(error.kind(), &trouble)
    }

    /// Reports the error that ended the parsing, unless it only follows from an earlier message about that line.
    fn report_fatal(&mut self, fatal: Diagnostic) {
        let line = fatal.place.map(|place| line_number(&self.lines, self.text, place.span.start as usize));
        if self.explained.is_none() || self.explained != line {
            self.diagnostics.push(fatal);
        }
    }
}

fn raw_key(node: &SharedNode, place: Place, diagnostics: &mut Vec<Diagnostic>) -> RawKey {
    match &node.kind {
        SharedKind::Scalar(scalar) if is_merge(scalar) => RawKey::Merge(place),
        SharedKind::Scalar(scalar) => RawKey::Text(Key { text: scalar.text.clone(), place }),
        SharedKind::List(_) | SharedKind::Map(_) => {
            let message = format!("a key must be text, but this is {}", node.type_name());
            diagnostics.push(
                Diagnostic::new(Code::WrongType, place, message)
                    .label("not a key")
                    .help("put quotes around the key if it is text"),
            );
            RawKey::Unusable
        }
    }
}

fn is_merge(scalar: &Scalar) -> bool {
    scalar.style == TextStyle::Plain && scalar.typing == Typing::ByStyle && scalar.text == "<<"
}

fn is_left_out(node: &SharedNode) -> bool {
    matches!(&node.kind, SharedKind::Scalar(scalar) if scalar.is_null() && scalar.text.is_empty())
}
