//! Templates: `{{name}}`, `{{a.b[0]}}` and `{{#if path}}…{{else}}…{{/if}}`, parsed once.
//!
//! Never fails at run time: an undefined name renders as empty text. Double braces that cannot be meant as
//! a template, such as `{{.Names}}` or `{{"a": 1}}`, stay as they are.

use std::{ops::Range, sync::Arc};

use crate::{
    diagnostic::shorten,
    scope::{Path, Scope},
    shell::{self, Piece, Quoting},
    value::Segment,
};

/// A parsed template.
#[derive(Clone, Debug)]
pub struct Template {
    text: Arc<str>,
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
enum Part {
    Text(Range<usize>),
    Value { path: Path, at: Range<usize> },
    If { path: Path, at: Range<usize>, then: Vec<Part>, otherwise: Vec<Part> },
}

/// What is wrong with a template, and where in its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateError {
    /// What is wrong.
    pub message: String,
    /// The bytes concerned.
    pub at: Range<usize>,
    /// What to do.
    pub help: Option<String>,
}

impl Template {
    /// Parses a template.
    pub fn parse(text: &str) -> Result<Template, TemplateError> {
        let mut parser = Parser { text, at: 0 };
        let (parts, end) = parser.parts(0)?;
        match end {
            End::Text => Ok(Template { text: text.into(), parts }),
            End::Else(at) => Err(error(at, "`{{else}}` stands outside of an `{{#if}}`", None)),
            End::Close(at) => Err(error(at, "`{{/if}}` closes nothing", None)),
        }
    }

    /// A template without holes.
    pub fn literal(text: &str) -> Template {
        Template { text: text.into(), parts: vec![Part::Text(0..text.len())] }
    }

    /// The text as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text, if nothing in it needs a value.
    pub fn as_literal(&self) -> Option<&str> {
        self.parts.iter().all(|part| matches!(part, Part::Text(_))).then_some(&*self.text)
    }

    /// The text with every value put in.
    pub fn render(&self, scope: &dyn Scope) -> String {
        let mut out = String::with_capacity(self.text.len());
        self.walk(scope, &mut |flat| match flat {
            Flat::Text(text) => out.push_str(text),
            Flat::Value(path) => out.push_str(&path.resolve(scope).render()),
        });
        out
    }

    /// The template as pieces for the shell scanner, with its `{{#if}}`s decided, and the paths that the holes
    /// stand for: `Hole(n)` is `paths[n]`, each path once.
    pub fn pieces(&self, scope: &dyn Scope) -> (Vec<Piece<'_>>, Vec<&Path>) {
        let (mut pieces, mut paths) = (Vec::new(), Vec::<&Path>::new());
        self.walk(scope, &mut |flat| match flat {
            Flat::Text(text) => pieces.push(Piece::Text(text)),
            Flat::Value(path) => {
                let hole = paths.iter().position(|known| *known == path).unwrap_or_else(|| {
                    paths.push(path);
                    paths.len() - 1
                });
                pieces.push(Piece::Hole(hole));
            }
        });
        (pieces, paths)
    }

    /// The value of a template that is nothing but one hole, typed; otherwise the rendered text.
    pub fn value(&self, scope: &dyn Scope) -> crate::value::Value {
        match self.parts.as_slice() {
            [Part::Value { path, .. }] => path.resolve(scope),
            _ => self.render(scope).into(),
        }
    }

    /// Every path that the template reads, with its place in the text.
    pub fn names(&self) -> Vec<(&Path, Range<usize>)> {
        let mut names = Vec::new();
        collect_names(&self.parts, &mut names);
        names
    }

    /// The same of a shell command: what stands in its comments reads nothing.
    pub(crate) fn command_names(&self) -> Vec<(&Path, Range<usize>)> {
        let names = self.names();
        if names.len() > MOST_SCANNED {
            return names;
        }
        let is_comment = |at: &Range<usize>| {
            let line = self.text[..at.start].rsplit('\n').next().unwrap_or_default();
            // only a line with a `#` before the name can be a comment there
            line.contains('#') && self.quoting_at(at.start) == Some(Quoting::Comment)
        };
        names.into_iter().filter(|(_, at)| !is_comment(at)).collect()
    }

    /// How the place at `at` is quoted, with both branches of every `{{#if}}` before it taken for written.
    fn quoting_at(&self, at: usize) -> Option<Quoting> {
        let mut pieces = Vec::new();
        flatten(&self.parts, &self.text, at, &mut pieces);
        // whatever stands before, the hole is a word of its own
        pieces.extend([Piece::Text(" "), Piece::Hole(0)]);
        shell::scan(&pieces).pop()
    }

    fn walk<'a>(&'a self, scope: &dyn Scope, visit: &mut dyn FnMut(Flat<'a>)) {
        walk(&self.parts, &self.text, scope, visit);
    }
}

enum Flat<'a> {
    Text(&'a str),
    Value(&'a Path),
}

fn walk<'a>(parts: &'a [Part], text: &'a str, scope: &dyn Scope, visit: &mut dyn FnMut(Flat<'a>)) {
    for part in parts {
        match part {
            Part::Text(range) => visit(Flat::Text(&text[range.clone()])),
            Part::Value { path, .. } => visit(Flat::Value(path)),
            Part::If { path, then, otherwise, .. } => {
                let branch = if path.resolve(scope).is_truthy() { then } else { otherwise };
                walk(branch, text, scope, visit);
            }
        }
    }
}

/// The text before `end`, and all holes: one that follows changes nothing.
fn flatten<'a>(parts: &'a [Part], text: &'a str, end: usize, pieces: &mut Vec<Piece<'a>>) {
    for part in parts {
        match part {
            Part::Text(range) => pieces.push(Piece::Text(&text[range.start.min(end)..range.end.min(end)])),
            Part::Value { .. } => pieces.push(Piece::Hole(0)),
            Part::If { then, otherwise, .. } => {
                flatten(then, text, end, pieces);
                flatten(otherwise, text, end, pieces);
            }
        }
    }
}

fn collect_names<'a>(parts: &'a [Part], names: &mut Vec<(&'a Path, Range<usize>)>) {
    for part in parts {
        match part {
            Part::Text(_) => {}
            Part::Value { path, at } => names.push((path, at.clone())),
            Part::If { path, at, then, otherwise } => {
                names.push((path, at.clone()));
                collect_names(then, names);
                collect_names(otherwise, names);
            }
        }
    }
}

/// Commands with more names than this are not searched for comments: every name is a search.
const MOST_SCANNED: usize = 200;

/// How deeply `{{#if}}`s may nest.
const MAX_DEPTH: usize = 50;

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

/// What ended a run of parts.
enum End {
    Text,
    Else(Range<usize>),
    Close(Range<usize>),
}

impl Parser<'_> {
    fn parts(&mut self, depth: usize) -> Result<(Vec<Part>, End), TemplateError> {
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
                What::Else => return Ok((parts, End::Else(hole.at))),
                What::EndIf => return Ok((parts, End::Close(hole.at))),
                What::Value(path) => parts.push(Part::Value { path, at: hole.at }),
                What::If(path) => parts.push(self.branches(path, hole.at, depth)?),
            }
            text_start = self.at;
            search = self.at;
        }
        push_text(&mut parts, text_start..self.text.len());
        Ok((parts, End::Text))
    }

    fn branches(&mut self, path: Path, at: Range<usize>, depth: usize) -> Result<Part, TemplateError> {
        if depth >= MAX_DEPTH {
            return Err(error(at, format!("`{{{{#if}}}}` nests more than {MAX_DEPTH} levels deep"), None));
        }
        let unclosed = || {
            error(
                at.clone(),
                "`{{#if}}` is not closed",
                Some("add `{{/if}}` where the conditional text ends"),
            )
        };
        let (then, end) = self.parts(depth + 1)?;
        let otherwise = match end {
            End::Text => return Err(unclosed()),
            End::Close(_) => Vec::new(),
            End::Else(_) => match self.parts(depth + 1)? {
                (parts, End::Close(_)) => parts,
                (_, End::Else(second)) => {
                    return Err(error(second, "a second `{{else}}` in the same `{{#if}}`", None));
                }
                (_, End::Text) => return Err(unclosed()),
            },
        };
        Ok(Part::If { path, at, then, otherwise })
    }

    /// What stands at the double brace at `open`; `None` if it is just text.
    fn hole(&self, open: usize) -> Result<Option<Hole>, TemplateError> {
        // of `{{{x}}}` the inner pair is the template
        if self.text[open + 2..].starts_with('{') {
            return Ok(None);
        }
        let inner = open + 2;
        let rest = &self.text[inner..];
        // a `}}` behind another `{{` closes that one
        let close = rest.find("}}").filter(|close| !rest[..*close].contains("{{"));
        let Some(close) = close.map(|at| at + inner) else {
            return match rest.trim_start_matches(' ').chars().next() {
                Some('#' | '/') => Err(self.unclosed(open)),
                Some(_) if begins_with_name(rest) => Err(self.unclosed(open)),
                _ => Ok(None),
            };
        };
        let content = self.text[inner..close].trim();
        let at = open..close + 2;
        let what = match content.chars().next() {
            Some('#' | '/') => block(content, &at)?,
            Some(_) if content == "else" => What::Else,
            Some(c) if is_name_start(c) => What::Value(name(content, &at)?),
            _ => return Ok(None),
        };
        Ok(Some(Hole { what, at }))
    }

    fn unclosed(&self, open: usize) -> TemplateError {
        let line = self.text[open..].lines().next().unwrap_or_default().len();
        error(open..open + line, "`{{` is not closed", Some("add `}}` after the name"))
    }
}

struct Hole {
    what: What,
    at: Range<usize>,
}

enum What {
    Value(Path),
    If(Path),
    Else,
    EndIf,
}

fn push_text(parts: &mut Vec<Part>, range: Range<usize>) {
    if !range.is_empty() {
        parts.push(Part::Text(range));
    }
}

fn block(content: &str, at: &Range<usize>) -> Result<What, TemplateError> {
    let help = "blocks are `{{#if name}}…{{else}}…{{/if}}`";
    match content.split_once(char::is_whitespace) {
        None if content == "/if" => Ok(What::EndIf),
        Some(("#if", path)) => Ok(What::If(name(path.trim(), at)?)),
        _ => {
            let message = format!("`{{{{{}}}}}` is not a block that exists", shorten(content));
            Err(error(at.clone(), message, Some(help)))
        }
    }
}

fn name(content: &str, at: &Range<usize>) -> Result<Path, TemplateError> {
    parse_path(content).ok_or_else(|| {
        let help = "a name has letters, digits, `_`, `-`, `.` and `[n]`; there are no filters or expressions";
        error(at.clone(), format!("`{}` is not a name", shorten(content)), Some(help))
    })
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

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-')
}

/// Reads a path such as `deploy.targets[0]`; `None` if it is not one.
pub fn parse_path(text: &str) -> Option<Path> {
    let mut segments = Vec::new();
    let mut root = None;
    for part in text.split('.') {
        let (key, mut indexes) = match part.find('[') {
            Some(at) => part.split_at(at),
            None => (part, ""),
        };
        if !is_name(key) {
            return None;
        }
        match root {
            None => root = Some(key.to_owned()),
            Some(_) => segments.push(Segment::Key(key.to_owned())),
        }
        while let Some(rest) = indexes.strip_prefix('[') {
            let (index, after) = rest.split_once(']')?;
            segments.push(Segment::Index(index.trim().parse().ok()?));
            indexes = after;
        }
        if !indexes.is_empty() {
            return None;
        }
    }
    Some(Path { root: root?, segments })
}

fn error(at: Range<usize>, message: impl Into<String>, help: Option<&str>) -> TemplateError {
    TemplateError { message: message.into(), at, help: help.map(str::to_owned) }
}

#[cfg(test)]
mod tests;
