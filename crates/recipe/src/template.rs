//! Templates: `{{name}}`, `{{a.b[0]}}` and `{{#if path}}…{{else}}…{{/if}}`, parsed once.
//!
//! Never fails at run time: an undefined name renders as empty text. Double braces that cannot be meant as
//! a template, such as `{{.Names}}` or `{{"a": 1}}`, stay as they are.

mod parser;

use std::{ops::Range, sync::Arc};

use crate::{
    scope::{Path, Scope},
    shell::{self, Piece, Quoting},
    value::Segment,
};

/// A parsed template.
#[derive(Clone, Debug)]
pub struct Template {
    text: Arc<str>,
    parts: Vec<TemplatePart>,
}

#[derive(Clone, Debug)]
enum TemplatePart {
    Text(Range<usize>),
    Value {
        path: Path,
        at: Range<usize>,
    },
    If {
        path: Path,
        at: Range<usize>,
        then: Vec<TemplatePart>,
        otherwise: Vec<TemplatePart>,
        whole: Range<usize>,
    },
}

/// A problem of a template, and its place in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateError {
    /// The problem.
    pub message: String,
    /// The bytes concerned.
    pub at: Range<usize>,
    /// What to do.
    pub help: Option<String>,
}

impl Template {
    /// Parses a template, or finds everything that is wrong with it, in the order of the text.
    pub fn parse(text: &str) -> Result<Template, Vec<TemplateError>> {
        parser::parse(text).map(|parts| Template { text: text.into(), parts })
    }

    /// A template without holes.
    pub fn literal(text: &str) -> Template {
        Template { text: text.into(), parts: vec![TemplatePart::Text(0..text.len())] }
    }

    /// The text as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text, if nothing in it needs a value.
    pub fn as_literal(&self) -> Option<&str> {
        self.parts.iter().all(|part| matches!(part, TemplatePart::Text(_))).then_some(&*self.text)
    }

    /// The text with every value put in. What depends on a value that the scope does not know yet stays as it is
    /// written.
    pub fn render(&self, scope: &dyn Scope) -> String {
        let mut out = String::with_capacity(self.text.len());
        self.walk(scope, &mut |flat| match flat {
            FlatPart::Text(text) => out.push_str(text),
            FlatPart::Value(path) => out.push_str(&path.resolve(scope).render()),
        });
        out
    }

    /// The template as pieces for the shell scanner, with its `{{#if}}`s decided, and the paths of the holes: `Hole(n)`
    /// is `paths[n]`, each path once.
    pub fn pieces(&self, scope: &dyn Scope) -> (Vec<Piece<'_>>, Vec<&Path>) {
        let (mut pieces, mut paths) = (Vec::new(), Vec::<&Path>::new());
        self.walk(scope, &mut |flat| match flat {
            FlatPart::Text(text) => pieces.push(Piece::Text(text)),
            FlatPart::Value(path) => {
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
            [TemplatePart::Value { path, .. }] if scope.is_known(path) => path.resolve(scope),
            _ => self.render(scope).into(),
        }
    }

    /// Every path that the template reads, with its place in the text.
    pub fn names(&self) -> Vec<(&Path, Range<usize>)> {
        let mut names = Vec::new();
        collect_names(&self.parts, &mut names);
        names
    }

    /// The same for a shell command: templates in its comments read nothing.
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
        // the hole is a separate word, whatever comes before it
        pieces.extend([Piece::Text(" "), Piece::Hole(0)]);
        shell::scan(&pieces).pop()
    }

    fn walk<'a>(&'a self, scope: &dyn Scope, visit: &mut dyn FnMut(FlatPart<'a>)) {
        walk(&self.parts, &self.text, scope, visit);
    }
}

enum FlatPart<'a> {
    Text(&'a str),
    Value(&'a Path),
}

fn walk<'a>(
    parts: &'a [TemplatePart],
    text: &'a str,
    scope: &dyn Scope,
    visit: &mut dyn FnMut(FlatPart<'a>),
) {
    for part in parts {
        match part {
            TemplatePart::Text(range) => visit(FlatPart::Text(&text[range.clone()])),
            TemplatePart::Value { path, at: whole } | TemplatePart::If { path, whole, .. }
                if !scope.is_known(path) =>
            {
                visit(FlatPart::Text(&text[whole.clone()]));
            }
            TemplatePart::Value { path, .. } => visit(FlatPart::Value(path)),
            TemplatePart::If { path, then, otherwise, .. } => {
                let branch = if path.resolve(scope).is_truthy() { then } else { otherwise };
                walk(branch, text, scope, visit);
            }
        }
    }
}

/// The text before `end`, and all holes: one that follows changes nothing.
fn flatten<'a>(parts: &'a [TemplatePart], text: &'a str, end: usize, pieces: &mut Vec<Piece<'a>>) {
    for part in parts {
        match part {
            TemplatePart::Text(range) => {
                pieces.push(Piece::Text(&text[range.start.min(end)..range.end.min(end)]))
            }
            TemplatePart::Value { .. } => pieces.push(Piece::Hole(0)),
            TemplatePart::If { then, otherwise, .. } => {
                flatten(then, text, end, pieces);
                flatten(otherwise, text, end, pieces);
            }
        }
    }
}

fn collect_names<'a>(parts: &'a [TemplatePart], names: &mut Vec<(&'a Path, Range<usize>)>) {
    for part in parts {
        match part {
            TemplatePart::Text(_) => {}
            TemplatePart::Value { path, at } => names.push((path, at.clone())),
            TemplatePart::If { path, at, then, otherwise, .. } => {
                names.push((path, at.clone()));
                collect_names(then, names);
                collect_names(otherwise, names);
            }
        }
    }
}

/// Commands with more names than this are not searched for comments: every name is a search.
const MOST_SCANNED: usize = 200;

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

#[cfg(test)]
mod tests;
