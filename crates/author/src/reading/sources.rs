//! `prints the version in A, else B, else C`: where a printed value comes from.

use crate::{
    brief::{Expectation, Source},
    project::ProjectFiles,
    reading::paths::path,
    spec::Token,
    words::criteria,
};

/// Words for the whole of a file.
const WHOLE: &[&str] = &["content", "contents", "text", "value", "line"];

/// Reads the sources after a verb, and the place after them. `start` is the first word after the verb.
pub(super) fn read(
    tokens: &[Token],
    lower: &[String],
    start: usize,
    files: &dyn ProjectFiles,
) -> Option<(Expectation, usize)> {
    let known = &criteria().sources;
    let first = (start..tokens.len()).find(|at| {
        let before = lower[start..*at].iter().any(|word| known.from.has(word) || known.variables.has(word));
        tokens[*at].code().is_some() && before
    })?;
    let between = &lower[start..first];
    let from = between.iter().rposition(|word| known.from.has(word));
    let said_field = tokens[start..first].iter().find_map(Token::code);
    let field = match (said_field, from) {
        (Some(field), _) => Some(field.to_owned()),
        (None, Some(from)) => between[..from].iter().rev().find(|word| is_field(word)).cloned(),
        (None, None) => None,
    };
    let field = field.filter(|field| !WHOLE.contains(&field.as_str()));
    let names_variable = between.iter().any(|word| known.variables.has(word));
    let code = tokens[first].code()?;
    let source = source(code, field.as_deref(), names_variable, files)?;
    if matches!(source, Source::Text { .. }) {
        return None;
    }
    let (mut sources, mut at) = (vec![source], first + 1);
    while let Some((code, next, is_variable)) = otherwise(tokens, lower, at) {
        sources.extend(self::source(code, field.as_deref(), is_variable, files));
        at = next;
    }
    let expected = match <[Source; 1]>::try_from(sources) {
        Ok([source]) => Expectation::PrintsSource { source },
        Err(sources) => Expectation::PrintsFirstOf { sources },
    };
    Some((expected, at))
}

fn is_field(word: &str) -> bool {
    let is_article =
        ["the", "a", "an", "its", "field", "key", "value", "is", "read", "taken", "comes", "same"]
            .contains(&word);
    !word.is_empty() && !is_article && !criteria().sources.from.has(word)
}

/// The source of a value: a file, a variable or a fixed text.
fn source(code: &str, field: Option<&str>, is_variable: bool, files: &dyn ProjectFiles) -> Option<Source> {
    let name = code.trim_start_matches('$').trim_start_matches('{').trim_end_matches('}');
    let is_name =
        name.contains('_') && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    if code.starts_with('$') || is_variable || is_name {
        return Some(Source::Variable { name: name.to_owned() });
    }
    match path(code, files) {
        Some(path) => {
            let has_fields = [".json", ".toml", ".yaml", ".yml"].iter().any(|end| path.ends_with(end));
            let field = field.filter(|_| has_fields).map(str::to_owned);
            Some(Source::File { path, field })
        }
        None => Some(Source::Text { text: code.to_owned() }),
    }
}

/// The next source after `else`: its code, the place after it, and whether it is called a variable.
fn otherwise<'a>(tokens: &'a [Token], lower: &[String], at: usize) -> Option<(&'a str, usize, bool)> {
    let known = &criteria().sources;
    let next = at + tokens.get(at..)?.iter().position(|token| token.code().is_some())?;
    let between = &lower[at..next];
    let ends = tokens[at..next].iter().any(|token| token.is_mark('.'));
    let is_other = between.iter().any(|word| known.otherwise.has(word)) && !ends;
    let has_verb = between.iter().any(|word| criteria().verbs.exits.has(word));
    let is_variable = between.iter().any(|word| known.variables.has(word));
    (is_other && !has_verb).then(|| (tokens[next].text.as_str(), next + 1, is_variable))
}
