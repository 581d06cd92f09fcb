//! `.env` files: `NAME=value` lines that are set for a run unless the environment already has them.
//!
//! Never shows the content of a file: a problem is reported by its line number.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use recipe::plan::{Plan, Unit};

use crate::os::stage;

/// The definitions in the `.env` files of a plan, in order of precedence: next to each recipe, then in the working
/// directory. Relative paths of recipes start from `base`.
pub fn definitions(plan: &Plan, base: &Path, working_dir: &Path) -> Vec<(String, String)> {
    definitions_of(&plan.units, base, working_dir)
}

/// The same for some of its recipes.
pub(crate) fn definitions_of(units: &[Arc<Unit>], base: &Path, working_dir: &Path) -> Vec<(String, String)> {
    let found = files(units, base, working_dir).into_iter().flat_map(|file| parse(&text(&file)));
    found.map(|(name, value)| (name, value.replace('\0', ""))).collect()
}

/// The problems in the `.env` files of a plan, each file and line once, without the content of the line.
pub fn problems(plan: &Plan, base: &Path, working_dir: &Path) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut problems = Vec::new();
    for file in files(&plan.units, base, working_dir) {
        if seen.insert(std::fs::canonicalize(&file).unwrap_or_else(|_| file.clone())) {
            let wrong = scan(&text(&file)).1;
            problems.extend(
                wrong.into_iter().map(|(line, why)| format!("`{}` line {line} {why}", file.display())),
            );
        }
    }
    problems
}

fn files(units: &[Arc<Unit>], base: &Path, working_dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for unit in units {
        let recipe = base.join(&unit.path);
        for file in &unit.env.files {
            // a test case sees the files of its own folder only
            let beside = recipe.parent().filter(|dir| !stage::is_on() || dir.starts_with(working_dir));
            files.extend(beside.into_iter().chain([working_dir]).map(|dir| dir.join(file)));
        }
    }
    files
}

/// The text of a file; empty for anything else, such as a pipe without a writer. One invalid byte does not lose the
/// other definitions.
fn text(file: &Path) -> String {
    let bytes = if file.is_file() { std::fs::read(file).unwrap_or_default() } else { Vec::new() };
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The variables that the recipes of a plan ask for or that their `.env` files define, with the values that count;
/// `variable` looks up both.
pub fn named(
    plan: &Plan,
    defined: impl IntoIterator<Item = String>,
    variable: impl Fn(&str) -> Option<String>,
) -> Vec<(String, String)> {
    let asked = plan.units.iter().flat_map(|unit| unit.env.required.iter().cloned());
    let names: BTreeSet<String> = asked.chain(defined).collect();
    names.into_iter().filter_map(|name| Some((name.clone(), variable(&name)?))).collect()
}

/// The definitions in a text. Supports `export NAME=value`, quotes and `#` comments.
pub fn parse(text: &str) -> Vec<(String, String)> {
    scan(text).0
}

/// A line number, from 1, and the reason why the line cannot be parsed.
type WrongLine = (usize, &'static str);

/// The definitions in a text, and the lines that cannot be parsed.
fn scan(text: &str) -> (Vec<(String, String)>, Vec<WrongLine>) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (mut found, mut wrong) = (Vec::new(), Vec::new());
    let (mut at, mut number) = (0, 0);
    while at < text.len() {
        let end = text[at..].find('\n').map_or(text.len(), |length| at + length);
        let line = &text[at..end];
        number += 1;
        let Some((name, value)) = definition(line) else {
            if !is_blank(line) {
                wrong.push((number, "is not valid and is ignored: write `NAME=value`"));
            }
            at = end + 1;
            continue;
        };
        let start = end - value.len();
        let (value, used) = match value.chars().next() {
            // a quoted value may span several lines
            Some(quote @ ('"' | '\'')) => quoted(&text[start..], quote).unwrap_or_else(|open| {
                wrong.push((number, "has a quote that is not closed: the rest of the file is one value"));
                (open, text.len() - start)
            }),
            _ => (value[..value.find(" #").unwrap_or(value.len())].trim().to_owned(), value.len()),
        };
        let after = start + used;
        number += text[start..after].matches('\n').count();
        let end = text[after..].find('\n').map_or(text.len(), |length| after + length);
        if !is_blank(&text[after..end]) {
            wrong.push((number, "has text after a closing quote, which is ignored"));
        }
        at = end + 1;
        found.push((name.to_owned(), value));
    }
    (found, wrong)
}

fn is_blank(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

/// The name that a line defines, and the rest of the line, starting with its value.
fn definition(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start();
    let (name, value) = line.strip_prefix("export ").unwrap_or(line).split_once('=')?;
    let name = name.trim();
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name.then_some((name, value.trim_start()))
}

/// The text of a quoted value, and its length in bytes with the quotes; only the text if the closing quote is missing.
fn quoted(text: &str, quote: char) -> Result<(String, usize), String> {
    let mut value = String::new();
    let mut chars = text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            c if c == quote => return Ok((value, at + 1)),
            '\\' if quote == '"' => match chars.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, 't')) => value.push('\t'),
                Some((_, other @ ('"' | '\\' | '$' | '`'))) => value.push(other),
                Some((_, other)) => {
                    value.push('\\');
                    value.push(other);
                }
                None => value.push('\\'),
            },
            c => value.push(c),
        }
    }
    Err(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_read() {
        for (text, expected) in [
            ("A=1\nB=two words\n", vec![("A", "1"), ("B", "two words")]),
            ("export A=1", vec![("A", "1")]),
            ("# comment\n\nA=1 # note", vec![("A", "1")]),
            ("A='single # not a comment'\nB=2", vec![("A", "single # not a comment"), ("B", "2")]),
            ("A=\"x\\ny\" # note\nB=2", vec![("A", "x\ny"), ("B", "2")]),
            ("A=\"two\nlines\"\nB=2", vec![("A", "two\nlines"), ("B", "2")]),
            ("A=", vec![("A", "")]),
            ("not a definition\nA=1", vec![("A", "1")]),
            ("A=x=y", vec![("A", "x=y")]),
            ("  A = 1 ", vec![("A", "1")]),
            ("A=a#b", vec![("A", "a#b")]),
            ("A='unclosed\nB=2", vec![("A", "unclosed\nB=2")]),
        ] {
            let expected: Vec<(String, String)> =
                expected.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
            assert_eq!(parse(text), expected, "{text:?}");
        }
    }

    #[test]
    fn lines_that_nobody_understands_are_counted() {
        for (text, lines) in [
            ("A=1\n# note\n\n  # more\nexport B=2\n", vec![]),
            ("FOO\nA=1\nA B=1\n", vec![1, 3]),
            ("A=\"two\nlines\"\nnonsense\n", vec![3]),
            ("\u{feff}A=1\r\n\r\n=x\r\n", vec![3]),
            ("B=1\nA=\"unclosed\nC=2\n", vec![2]),
            ("A='it'\\''s'\nB='1' # note\n", vec![1]),
            ("A=\"unclosed\nB=\"2\"\nC=3\n", vec![2]),
        ] {
            let wrong: Vec<usize> = scan(text).1.into_iter().map(|(line, _)| line).collect();
            assert_eq!(wrong, lines, "{text:?}");
        }
    }
}
