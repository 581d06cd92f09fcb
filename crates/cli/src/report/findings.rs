//! The findings of `lint` for users and for programs: the same facts, with lines and carets or as JSON.

use annotate_snippets::{AnnotationKind, Element, Level, Origin, Renderer, Snippet};
use engine::lint::{Finding, LintCode};
use recipe::{diagnostic::Severity, source::Sources};
use serde::Serialize;

use super::{
    diagnostics::{LineStarts, Look, word},
    failure::clean,
};

/// Lines longer than this are not shown.
const LONGEST_LINE: usize = 400;

/// A finding as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct FindingJson {
    pub(crate) code: &'static str,
    pub(crate) level: &'static str,
    pub(crate) file: String,
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) message: String,
    pub(crate) help: String,
    pub(crate) fixable: bool,
}

/// Findings as JSON.
pub(crate) fn as_json(findings: &[Finding], sources: &Sources) -> Vec<FindingJson> {
    let json = |finding: &Finding| {
        let at = sources.line_column(finding.place);
        FindingJson {
            code: finding.code.as_str(),
            level: word(finding.level),
            file: sources.file(finding.place.file).path.clone(),
            line: at.line,
            column: at.column,
            message: finding.message.clone(),
            help: finding.help.clone(),
            fixable: finding.fix.is_some(),
        }
    };
    findings.iter().map(json).collect()
}

/// Findings as text, each with its line.
pub(crate) fn as_text(findings: &[Finding], sources: &Sources, look: Look) -> String {
    let renderer = if look.colour { Renderer::styled() } else { Renderer::plain() };
    let renderer = renderer.term_width(look.width);
    let mut lines = LineStarts::new(sources);
    let mut text = String::new();
    for finding in findings {
        let level = match finding.level {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
            Severity::Note => Level::NOTE,
        };
        let title = level.primary_title(clean(&finding.message)).id(finding.code.as_str());
        let at = lines.at(finding.place);
        let file = sources.file(finding.place.file);
        let mut elements: Vec<Element<'_>> = Vec::new();
        // a line with a credential is not repeated
        let is_hidden = finding.code == LintCode::SecretInRecipe || at.text.len() > LONGEST_LINE;
        elements.push(match is_hidden || at.text.is_empty() {
            true => Origin::path(file.path.as_str()).line(at.line).char_column(at.column).into(),
            false => {
                let snippet = Snippet::source(at.text).line_start(at.line).path(file.path.as_str());
                snippet.annotation(AnnotationKind::Primary.span(at.span)).into()
            }
        });
        let fixable = if finding.fix.is_some() { " (`--fix` does it)" } else { "" };
        elements.push(Level::HELP.message(clean(&format!("{}{fixable}", finding.help))).into());
        text.push_str(&renderer.render(&[title.elements(elements)]));
        text.push_str("\n\n");
    }
    text
}

/// `1 error, 2 warnings`.
pub(crate) fn counts(findings: &[FindingJson]) -> String {
    let words = ["error", "warning", "note"].map(|level| {
        let count = findings.iter().filter(|finding| finding.level == level).count();
        (count, format!("{count} {level}{}", if count == 1 { "" } else { "s" }))
    });
    let counted: Vec<String> =
        words.into_iter().filter(|(count, _)| *count > 0).map(|(_, text)| text).collect();
    counted.join(", ")
}
