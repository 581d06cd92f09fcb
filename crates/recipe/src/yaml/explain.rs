//! Errors of the YAML scanner as diagnostics with a fix.
//!
//! Never reads on: the scanner stops at its first complaint.

use granit_parser::ErrorKind;

use super::{
    quote::{line_of, quote, rest_of_line},
    shared::too_deep,
};
use crate::{
    diagnostic::{Code, Diagnostic},
    source::{FileId, Place, Span},
};

/// Where the scanner stopped.
pub(super) struct ScannerError<'a> {
    pub(super) text: &'a str,
    pub(super) file: FileId,
    /// The byte that it names.
    pub(super) at: usize,
    /// The end of the text that it read before.
    pub(super) last_end: usize,
    /// The bracket of the innermost `[` or `{` that is still open.
    pub(super) open: Option<usize>,
}

/// The complaint as a diagnostic.
pub(super) fn explain(kind: &ErrorKind, trouble: &ScannerError<'_>) -> Diagnostic {
    use ErrorKind as E;
    match kind {
        E::RecursionLimitExceeded => too_deep(trouble.place(trouble.at)),
        E::TabNotAllowed
        | E::TabInBlockIndentation
        | E::TabInIndentation
        | E::TabInPlainScalar
        | E::TabAtBlockScalarStart
        | E::InvalidBlockEntryWhitespace
        | E::InvalidMappingValueWhitespace => tab(trouble),
        E::UnclosedQuotedScalar | E::InvalidQuotedScalarIndent | E::DocumentIndicatorInQuotedScalar => {
            open_quote(trouble)
        }
        E::InvalidTrailingSingleQuotedScalar | E::InvalidTrailingDoubleQuotedScalar => after_quote(trouble),
        E::UnknownQuotedScalarEscape => escape(trouble),
        E::MappingValueNotAllowed => colon(trouble),
        E::InvalidColonPlacement
        | E::ExpectedFlowMappingSeparator
        | E::ExpectedFlowSequenceSeparator
        | E::UnclosedFlowCollection { .. }
        | E::UnexpectedEofFlowMapping
        | E::UnexpectedEofFlowSequence
        | E::UnexpectedEofImplicitFlowMapping
        | E::InvalidFlowScalarIndent => open_bracket(trouble),
        E::UnexpectedCharacter { character } => bad_character(*character, trouble),
        _ => by_table(kind, trouble),
    }
}

/// A value like `{{name}}` without quotes, which is a map whose key is a map.
pub(super) fn unquoted_braces(text: &str, file: FileId, start: usize) -> Diagnostic {
    let rest = rest_of_line(text, start);
    let end = start + rest.find("}}").map_or(rest.len(), |at| at + 2);
    let place = Place { file, span: Span::new(start..end) };
    let help = match quote(rest) {
        Some(quoted) => format!("write `{quoted}`"),
        None => "put quotes around the whole text".to_owned(),
    };
    Diagnostic::new(Code::YamlSyntax, place, "`{{` starts a YAML map here; put quotes around the text")
        .label("needs quotes")
        .help(help)
}

/// Complaints that need no look at the text.
fn by_table(kind: &ErrorKind, trouble: &ScannerError<'_>) -> Diagnostic {
    use ErrorKind as E;
    let (message, help) = match kind {
        E::ExpectedBlockMappingKey | E::InvalidIndentation => (
            "the indentation does not fit: a key of the map was expected here".to_owned(),
            "align it with the other keys of the map, or put quotes around a text that continues here",
        ),
        E::ExpectedBlockSequenceEntry => (
            "the indentation does not fit: a `-` of the list was expected here".to_owned(),
            "align it with the other items of the list, or indent it less",
        ),
        E::SimpleKeyExpected | E::InvalidSimpleKey => (
            "a `:` is missing after the key".to_owned(),
            "write `key: value`; indent the line more if it continues the text above",
        ),
        E::BlockSequenceEntryNotAllowed | E::BlockEntryInFlowCollection => (
            "a list item cannot start here".to_owned(),
            "put the `-` on a line of its own below the key, or put quotes around the text",
        ),
        E::MisplacedFlowCollectionEnd => (
            format!("`{}` closes nothing here", trouble.character()),
            "remove it, or put quotes around the text",
        ),
        E::MismatchedFlowCollectionEnd { open, close } => (
            format!("`{open}` is closed by `{close}`"),
            "close each bracket with its own kind, or put quotes around the text",
        ),
        E::InvalidBlockScalarHeader => (
            "text follows the `|` or `>` on the same line".to_owned(),
            "start the text on the next line, or put quotes around it",
        ),
        E::InvalidBlockScalarIndent => (
            "a line of the text block is indented less than its first line".to_owned(),
            "indent all lines of the block alike",
        ),
        E::UndeclaredTagHandle
        | E::MissingTagUri
        | E::InvalidTagTerminator
        | E::InvalidGlobalTagCharacter => (
            "this `!` starts a tag that is not known".to_owned(),
            "put quotes around the text if the `!` is part of it",
        ),
        E::MissingAnchorOrAliasName => (
            format!("`{}` must be followed by a name here", trouble.character()),
            "put quotes around the text if it is part of it",
        ),
        E::UnexpectedEofBlockMapping | E::ExpectedNodeContent | E::UnexpectedEndOfPlainScalar => {
            (format!("a text cannot start with `{}` here", trouble.character()), "put quotes around the text")
        }
        other => (other.to_string(), "put quotes around the text if it is not YAML"),
    };
    trouble.at(trouble.at, message).help(help)
}

fn tab(trouble: &ScannerError<'_>) -> Diagnostic {
    let (line_start, _) = line_of(trouble.text, trouble.at);
    match trouble.text[line_start..].find('\t') {
        Some(at) => trouble
            .at(line_start + at, "a tab cannot be used for indentation")
            .label("tab")
            .help("use spaces"),
        None => trouble.at(trouble.at, "a space is missing here").help("put a space after the `:` or `-`"),
    }
}

fn open_quote(trouble: &ScannerError<'_>) -> Diagnostic {
    let rest = &trouble.text[trouble.last_end..];
    let starts = |(at, _): &(usize, &str)| {
        *at == 0
            || matches!(rest.as_bytes()[at - 1], b' ' | b'\t' | b'\n' | b'\r' | b'[' | b'{' | b',' | b':')
    };
    let (at, mark) = rest
        .match_indices(['"', '\''])
        .find(starts)
        .map_or((trouble.at, "quote"), |(at, mark)| (trouble.last_end + at, mark));
    trouble.at(at, "the quote that starts here is not closed").label("opening quote").help(format!(
        "add the closing {mark}; lines after the first must be indented, and a quote inside is written {}",
        if mark == "'" { "''" } else { "\\\"" }
    ))
}

fn after_quote(trouble: &ScannerError<'_>) -> Diagnostic {
    trouble
        .at(trouble.at, "text follows the closing quote")
        .label("outside the quotes")
        .help("put quotes around the whole value, with the other kind of quotes inside")
}

fn escape(trouble: &ScannerError<'_>) -> Diagnostic {
    const KNOWN: &str = "0abt\tnvfre \"/\\N_LPxuU\n\r";
    let mut characters = trouble.text[trouble.at..].char_indices();
    let mut found = (trouble.at, String::new());
    while let Some((at, character)) = characters.next() {
        if character != '\\' {
            continue;
        }
        match characters.next() {
            Some((_, next)) if KNOWN.contains(next) => {}
            Some((_, next)) => {
                found = (trouble.at + at, format!(" `\\{next}`"));
                break;
            }
            None => break,
        }
    }
    trouble
        .at(found.0, format!("double-quoted text has no escape{}", found.1))
        .label("unknown escape")
        .help("write `\\\\` for a backslash, or use single quotes")
}

fn colon(trouble: &ScannerError<'_>) -> Diagnostic {
    let found = trouble.at(trouble.at, "mapping values are not allowed here").label("unexpected `:`");
    let (line_start, line) = line_of(trouble.text, trouble.at);
    let before = &line[..(trouble.at - line_start).min(line.len())];
    let Some(key_end) = before.find(": ") else {
        return found
            .help("align the key with the keys above it, or put quotes around a text that contains `: `");
    };
    let value = rest_of_line(trouble.text, line_start + key_end + 2).trim_start();
    match quote(value) {
        Some(quoted) => found.help(format!("quote the text: `{}: {quoted}`", line[..key_end].trim_start())),
        None => found.help("put quotes around the text after the first `:`"),
    }
}

fn open_bracket(trouble: &ScannerError<'_>) -> Diagnostic {
    let Some(open) = trouble.open else {
        return trouble.at(trouble.at, "a `:` is not allowed here").help("put quotes around the text");
    };
    if trouble.text[open..].starts_with("{{") {
        return unquoted_braces(trouble.text, trouble.file, open);
    }
    let (what, close) = if trouble.text[open..].starts_with('{') { ("map", '}') } else { ("list", ']') };
    trouble
        .at(open, format!("the {what} that starts here is not closed"))
        .label(format!("no `{close}` for this"))
        .help(format!("add `{close}` or a missing `,`; put quotes around it if it is text"))
}

fn bad_character(character: char, trouble: &ScannerError<'_>) -> Diagnostic {
    if character.is_control() || character == '\u{feff}' {
        let code = u32::from(character);
        let at = trouble.text[trouble.at..].find(character).map_or(trouble.at, |at| trouble.at + at);
        return trouble
            .at(at, format!("the character U+{code:04X} is not allowed in a YAML file"))
            .label("control character")
            .help(format!("remove it, or write it as `\\u{code:04X}` in double quotes"));
    }
    let help = match quote(rest_of_line(trouble.text, trouble.at)) {
        Some(quoted) => format!("put quotes around the text: `{quoted}`"),
        None => "put quotes around the text".to_owned(),
    };
    trouble.at(trouble.at, format!("a text without quotes cannot start with `{character}`")).help(help)
}

impl ScannerError<'_> {
    fn at(&self, at: usize, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Code::YamlSyntax, self.place(at), message)
    }

    /// The character at `at`.
    fn place(&self, at: usize) -> Place {
        let length = self.text[at..].chars().next().map_or(0, char::len_utf8);
        Place { file: self.file, span: Span::new(at..at + length) }
    }

    fn character(&self) -> char {
        self.text[self.at..].chars().next().unwrap_or(' ')
    }
}
