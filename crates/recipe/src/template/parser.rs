//! Reads the text of a template: its parts, or everything that is wrong with it.
//!
//! Never stops at the first mistake, and never recurses deeper than [`MAX_DEPTH`].

use std::ops::Range;

use super::{TemplateError, TemplatePart, parse_path};
use crate::{diagnostic::shorten, scope::Path};

/// How deeply `{{#if}}`s may nest.
const MAX_DEPTH: usize = 50;

/// How many mistakes of one text are reported: a hostile one could have a hundred thousand.
pub(super) const MAX_ERRORS: usize = 100;

/// The parts of a text, or its mistakes in their order.
pub(super) fn parse(text: &str) -> Result<Vec<TemplatePart>, Vec<TemplateError>> {
    let mut parser = TemplateParser { text, at: 0, errors: Vec::new() };
    let parts = parser.whole().unwrap_or_default();
    let mut errors = parser.errors;
    if errors.is_empty() {
        return Ok(parts);
    }
    errors.sort_by_key(|error| error.at.start);
    // several mistakes at one place count as one; the first is the most precise
    errors.dedup_by_key(|error| error.at.start);
    Err(errors)
}

/// Parses a template. After a mistake it continues as if the text were right, to find later mistakes; the result of
/// such a text is thrown away.
struct TemplateParser<'a> {
    text: &'a str,
    at: usize,
    errors: Vec<TemplateError>,
}

/// The rest cannot be understood, or there are too many mistakes.
struct Stopped;

/// The end of a sequence of parts.
enum End {
    Text,
    Else(Range<usize>),
    Close(Range<usize>),
}

impl TemplateParser<'_> {
    fn report(&mut self, error: TemplateError) -> Result<(), Stopped> {
        self.errors.push(error);
        if self.errors.len() < MAX_ERRORS { Ok(()) } else { Err(Stopped) }
    }

    fn whole(&mut self) -> Result<Vec<TemplatePart>, Stopped> {
        loop {
            match self.parts(0)? {
                (parts, End::Text) => return Ok(parts),
                (_, End::Else(at)) => {
                    self.report(error(at, "`{{else}}` without an `{{#if}}`", None))?;
                }
                (_, End::Close(at)) => match self.is_if_end(&at) {
                    true => self.report(error(at, "`{{/if}}` closes nothing", None))?,
                    false => self.report(self.no_block(at))?,
                },
            }
        }
    }

    fn parts(&mut self, depth: usize) -> Result<(Vec<TemplatePart>, End), Stopped> {
        let mut parts = Vec::new();
        let mut text_start = self.at;
        let mut search = self.at;
        while let Some(open) = self.text[search..].find("{{").map(|at| at + search) {
            let Some(hole) = self.hole(open)? else {
                search = open + 1;
                continue;
            };
            push_text(&mut parts, text_start..hole.at.start);
            self.at = hole.at.end;
            match hole.what {
                TagKind::Else => return Ok((parts, End::Else(hole.at))),
                TagKind::Close => return Ok((parts, End::Close(hole.at))),
                TagKind::Value(path) => parts.push(TemplatePart::Value { path, at: hole.at }),
                TagKind::If(path) => parts.push(self.branches(path, hole.at, depth)?),
            }
            text_start = self.at;
            search = self.at;
        }
        push_text(&mut parts, text_start..self.text.len());
        Ok((parts, End::Text))
    }

    fn branches(&mut self, path: Path, at: Range<usize>, depth: usize) -> Result<TemplatePart, Stopped> {
        if depth >= MAX_DEPTH {
            self.report(error(at, format!("`{{{{#if}}}}` nests more than {MAX_DEPTH} levels deep"), None))?;
            return Err(Stopped);
        }
        let mut branches = Vec::new();
        loop {
            let (parts, end) = self.parts(depth + 1)?;
            branches.push(parts);
            match end {
                End::Else(second) if branches.len() > 1 => {
                    self.report(error(second, "a second `{{else}}` in the same `{{#if}}`", None))?;
                }
                End::Else(_) => {}
                End::Close(close) if self.is_if_end(&close) => break,
                End::Close(close) => break self.report(self.no_block(close))?,
                End::Text => {
                    let help = "add `{{/if}}` where the conditional text ends";
                    break self.report(error(at.clone(), "`{{#if}}` is not closed", Some(help)))?;
                }
            }
        }
        let mut branches = branches.into_iter();
        let (then, otherwise) = (branches.next().unwrap_or_default(), branches.next().unwrap_or_default());
        let whole = at.start..self.at;
        Ok(TemplatePart::If { path, at, then, otherwise, whole })
    }

    /// The hole at the double brace at `open`; `None` if it is plain text.
    fn hole(&mut self, open: usize) -> Result<Option<Hole>, Stopped> {
        // of `{{{x}}}` the inner pair is the template
        if self.text[open + 2..].starts_with('{') {
            return Ok(None);
        }
        let inner = open + 2;
        let rest = &self.text[inner..];
        let Some(close) = closing(rest).map(|at| at + inner) else { return self.unclosed(open) };
        let content = self.text[inner..close].trim();
        let at = open..close + 2;
        let what = match content.chars().next() {
            Some('#') => self.block(content, &at)?,
            Some('/') => TagKind::Close,
            Some(_) if content == "else" => TagKind::Else,
            Some(c) if is_name_start(c) => TagKind::Value(self.name(content, &at)?),
            _ => return Ok(None),
        };
        Ok(Some(Hole { what, at }))
    }

    /// Reports a `{{` without its `}}`, unless it is plain text. A block marker still opens or closes its block.
    fn unclosed(&mut self, open: usize) -> Result<Option<Hole>, Stopped> {
        let rest = &self.text[open + 2..];
        let what = match rest.trim_start_matches(' ').chars().next() {
            Some('#') => Some(TagKind::If(nowhere())),
            Some('/') => Some(TagKind::Close),
            Some(_) if begins_with_name(rest) => None,
            _ => return Ok(None),
        };
        let line = self.text[open..].lines().next().unwrap_or_default().len();
        self.report(error(open..open + line, "`{{` is not closed", Some("add `}}` after the name")))?;
        Ok(what.map(|what| Hole { what, at: open..open + 2 }))
    }

    fn block(&mut self, content: &str, at: &Range<usize>) -> Result<TagKind, Stopped> {
        match content.split_once(char::is_whitespace) {
            Some(("#if", path)) => Ok(TagKind::If(self.name(path.trim(), at)?)),
            _ => {
                self.report(self.no_block(at.clone()))?;
                Ok(TagKind::If(nowhere()))
            }
        }
    }

    fn name(&mut self, content: &str, at: &Range<usize>) -> Result<Path, Stopped> {
        if let Some(path) = parse_path(content) {
            return Ok(path);
        }
        let shown = shorten(content);
        let help = match is_foreign(content) {
            true => format!(
                "in a command, braces for another program are kept apart by quotes: `'{{''{{{shown}}}}}'`"
            ),
            false => {
                "a name has letters, digits, `_`, `-`, `.` and `[n]`; there are no filters or expressions"
                    .to_owned()
            }
        };
        self.report(error(at.clone(), format!("`{shown}` is not a name"), Some(&help)))?;
        Ok(nowhere())
    }

    fn is_if_end(&self, at: &Range<usize>) -> bool {
        self.content(at) == "/if"
    }

    fn content(&self, at: &Range<usize>) -> &str {
        self.text[at.clone()].trim_start_matches("{{").trim_end_matches("}}").trim()
    }

    fn no_block(&self, at: Range<usize>) -> TemplateError {
        let message = format!("`{{{{{}}}}}` is not a block that exists", shorten(self.content(&at)));
        error(at, message, Some("blocks are `{{#if name}}…{{else}}…{{/if}}`"))
    }
}

/// The place of the next `}}`; one after another `{{` closes that one.
fn closing(rest: &str) -> Option<usize> {
    let next = rest.as_bytes().windows(2).position(|pair| matches!(pair, b"{{" | b"}}"))?;
    rest[next..].starts_with('}').then_some(next)
}

/// Whether this is how templates of other programs look: `json .State`, `range $x`, `printf "%s" .ID`.
fn is_foreign(content: &str) -> bool {
    [" .", " $", "\""].iter().any(|sign| content.contains(sign))
}

/// A placeholder path, in a template that is thrown away.
fn nowhere() -> Path {
    Path { root: String::new(), segments: Vec::new() }
}

struct Hole {
    what: TagKind,
    at: Range<usize>,
}

enum TagKind {
    Value(Path),
    If(Path),
    Else,
    Close,
}

fn push_text(parts: &mut Vec<TemplatePart>, range: Range<usize>) {
    if !range.is_empty() {
        parts.push(TemplatePart::Text(range));
    }
}

fn is_name_start(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether an open `{{` was meant as a template: a name follows, and not the statement of another language, as in
/// `awk '{{ print $1 }'`.
fn begins_with_name(rest: &str) -> bool {
    let trimmed = rest.trim_start_matches(' ');
    if !trimmed.starts_with(is_name_start) {
        return false;
    }
    let end = trimmed.find(|c: char| !is_name_start(c) && !"-.[]".contains(c)).unwrap_or(trimmed.len());
    let after = &trimmed[end..];
    let is_spaced = trimmed.len() < rest.len();
    let is_statement = match after.trim_start_matches(' ').chars().next() {
        Some('"' | '\'') => after.starts_with(' '),
        Some(c) => "$(=;+*/<>&|{!~".contains(c),
        None => false,
    };
    !(is_spaced && is_statement)
}

fn error(at: Range<usize>, message: impl Into<String>, help: Option<&str>) -> TemplateError {
    TemplateError { message: message.into(), at, help: help.map(str::to_owned) }
}
