//! One criterion: which check its words ask for.

use crate::{
    brief::{CommandCheck, SupportKind},
    project::ProjectFiles,
    reading::{command_check, http, literals::literals, paths::path, project_check},
    spec::{Sentence, Token},
    words::criteria,
};

/// A check as the spec words it; what the project has to supply may be missing.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ReadCheck {
    Command(CommandCheck),
    Http { method: String, path: String, status: Option<u16>, contains: Vec<String>, port: Option<u16> },
    FileMentions { path: String, texts: Vec<String> },
    FileLacks { path: String, texts: Vec<String> },
    FileExists { path: String, exists: bool },
    TestsPass { command: Option<String> },
    Supporting { support: SupportKind, command: Option<String> },
    CoveredByTests,
    Person,
}

/// The checks of a criterion.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ReadCriterion {
    pub(crate) text: String,
    pub(crate) line: usize,
    pub(crate) track: Option<String>,
    /// At least one.
    pub(crate) checks: Vec<ReadCheck>,
    /// A circumstance that no gate can set up.
    pub(crate) circumstance: Option<String>,
}

impl ReadCriterion {
    /// Whether a command or a file decides about every part of it.
    pub(crate) fn is_checkable(&self) -> bool {
        !self.checks.contains(&ReadCheck::Person)
    }
}

/// Reads a criterion. `command` is the last command that was named; it is replaced.
pub(crate) fn read(
    sentence: &Sentence,
    command: &mut Option<String>,
    files: &dyn ProjectFiles,
) -> ReadCriterion {
    let mut circumstance = None;
    let mut checks: Vec<ReadCheck> = http::read(sentence).into_iter().collect();
    if checks.is_empty() {
        checks.extend(file_check(&sentence.tokens, files));
    }
    if checks.is_empty() {
        let found = command_check::read(&sentence.tokens, command.as_deref(), files);
        circumstance = found.circumstance;
        if let Some(last) = found.checks.last() {
            *command = Some(last.command.clone());
        }
        checks.extend(found.checks.into_iter().map(project_check::classified));
    }
    for check in project_check::read(sentence) {
        let is_supporting = matches!(check, ReadCheck::Supporting { .. });
        let same = |known: &ReadCheck| std::mem::discriminant(known) == std::mem::discriminant(&check);
        let is_said = checks.iter().any(|known| if is_supporting { *known == check } else { same(known) });
        if !is_said {
            checks.push(check);
        }
    }
    if checks.is_empty() {
        checks.push(ReadCheck::Person);
        remember_command(&sentence.tokens, command, files);
    }
    let (text, line) = (sentence.text.clone(), sentence.line);
    ReadCriterion { text, line, track: None, checks, circumstance }
}

/// A criterion such as `t list`: introduces the command of those below it.
fn remember_command(tokens: &[Token], command: &mut Option<String>, files: &dyn ProjectFiles) {
    let is_lead_in = tokens.last().is_some_and(|last| last.is_mark(':'));
    let code = tokens.iter().find_map(Token::code).filter(|code| path(code, files).is_none());
    if let (true, Some(code)) = (is_lead_in, code) {
        *command = Some(code.to_owned());
    }
}

/// A file mentions something, exists, or is gone.
fn file_check(tokens: &[Token], files: &dyn ProjectFiles) -> Option<ReadCheck> {
    let known = &criteria().verbs;
    let lower: Vec<String> = tokens.iter().map(Token::lower).collect();
    let at = tokens.iter().position(|token| token.code().is_some())?;
    let file = tokens[at].code().and_then(|code| path(code, files));
    let Some(file) = file else { return documented_in(tokens, &lower, at, files) };
    let mut after = at + 1;
    let mut is_negated = false;
    while after < tokens.len()
        && known.exists.at(&lower[after..]).is_none()
        && known.is_gone.at(&lower[after..]).is_none()
    {
        let word = &lower[after];
        is_negated |= criteria().negations.has(word);
        if known.documents.has(word) || !(criteria().auxiliaries.has(word) || criteria().negations.has(word))
        {
            break;
        }
        after += 1;
    }
    let rest = &lower[after.min(lower.len())..];
    if known.is_gone.at(rest).is_some() {
        return Some(ReadCheck::FileExists { path: file, exists: false });
    }
    if known.exists.at(rest).is_some() {
        return Some(ReadCheck::FileExists { path: file, exists: !is_negated });
    }
    let is_program = file.ends_with(".sh") || tokens[at].text.starts_with("./");
    let says = rest.first().is_some_and(|word| known.documents.has(word));
    if !says || (is_program && rest.first().is_some_and(|word| known.prints.has(word))) {
        return None;
    }
    let texts = literals(&tokens[after + 1..]);
    match (texts.is_empty(), is_negated) {
        (true, _) => None,
        (false, true) => Some(ReadCheck::FileLacks { path: file, texts }),
        (false, false) => Some(ReadCheck::FileMentions { path: file, texts }),
    }
}

/// `--json` is documented in `docs/cli.md`.
fn documented_in(
    tokens: &[Token],
    lower: &[String],
    at: usize,
    files: &dyn ProjectFiles,
) -> Option<ReadCheck> {
    let verb =
        lower.iter().position(|word| criteria().verbs.documented.has(word)).filter(|verb| *verb > at)?;
    let file = tokens.get(verb + 1..)?.iter().filter_map(Token::code).find_map(|code| path(code, files))?;
    let texts: Vec<String> = tokens[at..verb].iter().filter_map(Token::code).map(str::to_owned).collect();
    let is_negated = lower[..verb].iter().any(|word| criteria().negations.has(word));
    match (!texts.is_empty(), is_negated) {
        (false, _) => None,
        (true, false) => Some(ReadCheck::FileMentions { path: file, texts }),
        (true, true) => Some(ReadCheck::FileLacks { path: file, texts }),
    }
}
