//! The problems of a recipe, for users and programs.
//!
//! Never decides what is wrong; it shows the place, the line and the help of a diagnostic.

use std::collections::HashMap;

use annotate_snippets::{AnnotationKind, Element, Level, Origin, Renderer, Snippet};
use recipe::{
    diagnostic::{Code, Diagnostic, Severity},
    source::{FileId, Place, SourceFile, Sources},
};
use serde::Serialize;

use crate::report::failure::clean;

/// More problems than this are only counted in text; JSON has them all.
const MOST_SHOWN: usize = 200;
/// LineStarts longer than this are not shown.
const LONGEST_LINE: usize = 4_096;
/// A span over more lines than this is shown by its first line.
const MOST_LINES: usize = 3;
/// Places of a repeated warning that are listed; JSON has them all.
const MOST_PLACES: usize = 12;

/// A problem as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Problem {
    severity: &'static str,
    code: &'static str,
    message: String,
    file: Option<String>,
    line: Option<usize>,
    column: Option<usize>,
    help: Option<String>,
}

impl Problem {
    /// A problem that is not in any file.
    pub(crate) fn outside(code: &'static str, message: String, help: Option<String>) -> Problem {
        Problem { severity: "error", code, message, file: None, line: None, column: None, help }
    }
}

/// All problems as JSON.
pub(crate) fn problems(diagnostics: &[Diagnostic], sources: &Sources) -> Vec<Problem> {
    let mut lines = LineStarts::new(sources);
    let problem = |diagnostic: &Diagnostic| {
        let at = diagnostic.place.map(|place| lines.at(place));
        Problem {
            severity: word(diagnostic.severity),
            code: diagnostic.code.as_str(),
            message: diagnostic.message.clone(),
            file: diagnostic.place.map(|place| sources.file(place.file).path.clone()),
            line: at.as_ref().map(|at| at.line),
            column: at.as_ref().map(|at| at.column),
            help: diagnostic.help.clone(),
        }
    };
    diagnostics.iter().map(problem).collect()
}

pub(crate) fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

/// The look of a report.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    /// Whether it may be coloured.
    pub(crate) colour: bool,
    /// The width of a line in columns.
    pub(crate) width: usize,
}

/// All problems as text, each with its line and a caret, and a summary. Empty if there are no problems.
pub(crate) fn report(diagnostics: &[Diagnostic], sources: &Sources, look: Look) -> String {
    if diagnostics.is_empty() {
        return String::new();
    }
    let renderer = if look.colour { Renderer::styled() } else { Renderer::plain() };
    let renderer = renderer.term_width(look.width);
    let mut lines = LineStarts::new(sources);
    let mut text = String::new();
    let facts = fold(diagnostics);
    for fact in facts.iter().take(MOST_SHOWN) {
        text.push_str(&render(fact, sources, &mut lines, &renderer));
        text.push_str("\n\n");
    }
    if facts.len() > MOST_SHOWN {
        let more = facts.len() - MOST_SHOWN;
        text.push_str(&format!("… and {more} more problems; `--output-format json` shows them all\n\n"));
    }
    text.push_str(&summary(diagnostics, sources));
    if facts.len() < diagnostics.len() {
        text.push_str(&format!(" ({} different)", facts.len()));
    }
    text.push('\n');
    text
}

/// A problem, and the other places where the same warning applies.
struct Fact<'a> {
    diagnostic: &'a Diagnostic,
    also: Vec<Place>,
}

/// The problems, with equal warnings merged. Errors stay separate: each has to be corrected.
fn fold(diagnostics: &[Diagnostic]) -> Vec<Fact<'_>> {
    let mut facts: Vec<Fact<'_>> = Vec::new();
    let mut known = HashMap::new();
    for diagnostic in diagnostics {
        let Diagnostic { code, message, label, help, .. } = diagnostic;
        let foldable = diagnostic.place.filter(|_| diagnostic.severity != Severity::Error);
        let first = foldable.map(|_| *known.entry((code, message, label, help)).or_insert(facts.len()));
        match (foldable, first.and_then(|first| facts.get_mut(first))) {
            (Some(place), Some(fact)) => fact.also.push(place),
            _ => facts.push(Fact { diagnostic, also: Vec::new() }),
        }
    }
    facts
}

/// `also at 12:3, 40:3 and child.yaml:7:5`: the file is named if it is another one.
fn also_at(fact: &Fact<'_>, sources: &Sources, lines: &mut LineStarts<'_>) -> Option<String> {
    let mut file = fact.diagnostic.place?.file;
    let mut words = |place: &Place| {
        let at = lines.at(*place);
        let name = match place.file == file {
            true => String::new(),
            false => format!("{}:", sources.file(place.file).path),
        };
        file = place.file;
        format!("{name}{}:{}", at.line, at.column)
    };
    let places: Vec<String> = fact.also.iter().take(MOST_PLACES).map(&mut words).collect();
    let more = match fact.also.len().saturating_sub(MOST_PLACES) {
        0 => String::new(),
        more => format!(" and {more} more places"),
    };
    (!places.is_empty()).then(|| format!("also at {}{more}", places.join(", ")))
}

fn render(fact: &Fact<'_>, sources: &Sources, lines: &mut LineStarts<'_>, renderer: &Renderer) -> String {
    let diagnostic = fact.diagnostic;
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let title = level.primary_title(clean(&diagnostic.message)).id(diagnostic.code.as_str());
    let mut elements: Vec<Element<'_>> = Vec::new();
    if let Some(place) = diagnostic.place {
        elements.push(excerpt(diagnostic, place, sources.file(place.file), lines));
    }
    if let Some(places) = also_at(fact, sources, lines) {
        elements.push(Level::NOTE.message(clean(&places)).into());
    }
    // the label may say the same already
    if let Some(help) = diagnostic.help.as_deref().filter(|help| diagnostic.label != *help) {
        elements.push(Level::HELP.message(clean(help)).into());
    }
    renderer.render(&[title.elements(elements)])
}

/// The line of a problem with a caret under its place; only the place if there is no line to show.
fn excerpt<'a>(
    diagnostic: &Diagnostic,
    place: Place,
    file: &'a SourceFile,
    lines: &mut LineStarts<'_>,
) -> Element<'a> {
    let at = lines.at(place);
    if at.text.is_empty() || at.text.len() > LONGEST_LINE {
        let origin = Origin::path(file.path.as_str());
        // a file that could not be decoded has no lines to point at
        if file.text.is_empty() && diagnostic.code != Code::EmptyFile {
            return origin.into();
        }
        return origin.line(at.line).char_column(at.column).into();
    }
    let caret = AnnotationKind::Primary.span(at.span);
    let caret = match diagnostic.label.as_str() {
        "" => caret,
        label => caret.label(clean(label)),
    };
    Snippet::source(at.text).line_start(at.line).path(file.path.as_str()).annotation(caret).into()
}

/// `2 errors, 1 warning in build.yaml`.
pub(crate) fn summary(diagnostics: &[Diagnostic], sources: &Sources) -> String {
    let count = |severity| diagnostics.iter().filter(|diagnostic| diagnostic.severity == severity).count();
    let counts = [Severity::Error, Severity::Warning, Severity::Note].map(|one| (count(one), word(one)));
    let counts: Vec<String> = counts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}{}", if count == 1 { "" } else { "s" }))
        .collect();
    let mut files: Vec<&str> = Vec::new();
    for place in diagnostics.iter().filter_map(|diagnostic| diagnostic.place) {
        let path = sources.file(place.file).path.as_str();
        if !files.contains(&path) {
            files.push(path);
        }
    }
    match files.is_empty() {
        true => format!("{} about the command line", counts.join(", ")),
        false => format!("{} in {}", counts.join(", "), files.join(", ")),
    }
}

/// A place: its line from 1, its column in characters from 1, the line's text, and the span in it.
pub(super) struct At {
    pub(super) line: usize,
    pub(super) column: usize,
    pub(super) text: String,
    pub(super) span: std::ops::Range<usize>,
}

/// The starts of all lines, looked up once per file: a file may have thousands of problems.
pub(super) struct LineStarts<'a> {
    sources: &'a Sources,
    starts: HashMap<FileId, Vec<usize>>,
}

impl<'a> LineStarts<'a> {
    pub(super) fn new(sources: &'a Sources) -> LineStarts<'a> {
        LineStarts { sources, starts: HashMap::new() }
    }

    pub(super) fn at(&mut self, place: Place) -> At {
        let text: &str = &self.sources.file(place.file).text;
        let starts = self.starts.entry(place.file).or_insert_with(|| line_starts(text));
        let start = floor(text, place.span.start as usize);
        let end = floor(text, place.span.end as usize).max(start);
        let first = starts.partition_point(|at| *at <= start) - 1;
        let last = starts.partition_point(|at| *at < end.max(start + 1)) - 1;
        let last = if last - first >= MOST_LINES { first } else { last };
        let from = starts[first];
        let until = starts.get(last + 1).map_or(text.len(), |next| next - 1);
        let shown = &text[from..until.max(from)];
        let span = start - from..(end - from).min(shown.len()).max(start - from);
        At { line: first + 1, column: text[from..start].chars().count() + 1, text: shown.to_owned(), span }
    }
}

fn line_starts(text: &str) -> Vec<usize> {
    let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
    std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect()
}

fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
