//! Whether a comparison still compares the same things: the expected value, and the place.
//!
//! The expected value never changes. The name of a compared file may change only if the old one was a typo and another
//! step is told to write the new one. A check that never worked, because its program does not have one of its options,
//! may come to expect what the other steps mention.

use super::{
    commands::{Case, Objection},
    flow::Found,
    grep::Grep,
    program::Call,
    world,
};

/// Operators of `test` before a file.
const FILE_TESTS: [&str; 20] = [
    "-f", "-s", "-d", "-e", "-r", "-w", "-x", "-L", "-h", "-b", "-c", "-g", "-k", "-p", "-u", "-G", "-N",
    "-O", "-S", "-a",
];

/// The other operators of `test`.
const OTHER_TESTS: [&str; 14] =
    ["-z", "-n", "-t", "-v", "-o", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"];

/// The expected values of a comparison, and where it looks for them.
#[derive(Debug, PartialEq, Eq)]
struct Expectation {
    texts: Vec<String>,
    sources: Vec<String>,
}

/// Why a comparison cannot replace another one.
pub(super) fn compare_objection(case: &Case<'_>, old: &Found, new: &Found) -> Option<Objection> {
    let words = new.call.words.join(" ");
    if let Some(option) = loosened_option(&old.call, &new.call) {
        return Some(("check_narrowed", format!("`{option}` makes `{words}` easier to pass")));
    }
    let (before, after) = (expectation(old), expectation(new));
    let is_mended = || {
        same_text(old, new)
            || is_corrected(case, &before, &after)
            || (never_worked(&old.call) && is_agreed(case, &before, &after))
    };
    if before == after || (case.role.failed && is_mended()) {
        return None;
    }
    let detail = format!("`{words}` expects something else than `{}`", old.call.words.join(" "));
    Some(("expectation_changed", detail))
}

/// The family of a program: programs that do the same.
pub(super) fn family(program: &str) -> &str {
    match program {
        "[" | "[[" => "test",
        "egrep" | "fgrep" | "rg" | "zgrep" => "grep",
        "cmp" => "diff",
        "python3" => "python",
        "gawk" | "mawk" => "awk",
        other => other,
    }
}

fn expectation(found: &Found) -> Expectation {
    let call = &found.call;
    let operands = || call.operands().map(plain_name).collect::<Vec<String>>();
    let split = |at: usize| {
        let mut texts = operands();
        let sources = texts.split_off(at.min(texts.len()));
        Expectation { texts, sources: or_input(sources, found) }
    };
    match family(&call.program) {
        "test" | "((" | "case" | "let" | "expr" => Expectation { texts: tested(call), sources: Vec::new() },
        "grep" => {
            let grep = Grep::new(call);
            Expectation { texts: grep.patterns, sources: or_input(grep.files, found) }
        }
        "jq" | "awk" => split(1),
        "diff" => {
            let mut sources = operands();
            sources.sort();
            // `-` is an operand for a program, but looks like an option here
            if call.has("-") {
                sources.extend(input(found));
            }
            Expectation { texts: Vec::new(), sources }
        }
        "git" => Expectation { texts: operands(), sources: Vec::new() },
        _ => match call.inline_code() {
            Some(code) => {
                let rest = operands().into_iter().filter(|word| word != code).collect();
                Expectation { texts: tokens(code), sources: or_input(rest, found) }
            }
            None => split(0),
        },
    }
}

fn or_input(files: Vec<String>, found: &Found) -> Vec<String> {
    if files.is_empty() { input(found) } else { files }
}

/// The input of a command that names no file.
fn input(found: &Found) -> Vec<String> {
    let fed = found.feeds.iter().filter(|call| call.program != "tee").flat_map(|call| {
        let operands = || call.operands().map(plain_name);
        match call.program.as_str() {
            "cat" => operands().collect::<Vec<String>>(),
            program => vec![[program.to_owned()].into_iter().chain(operands()).collect::<Vec<_>>().join(" ")],
        }
    });
    found.inputs.iter().map(|name| plain_name(name)).chain(fed).collect()
}

/// The names of everything that a comparison looks at.
pub(super) fn looked_at(found: &Found) -> Vec<String> {
    let Expectation { texts, mut sources } = expectation(found);
    let code = found.call.inline_code().into_iter().flat_map(|code| code.split(['\'', '"'])).map(plain_name);
    sources.extend(code.chain(found.feeds.iter().flat_map(Call::operands).map(plain_name)));
    if family(&found.call.program) != "grep" {
        sources.extend(texts);
    }
    sources
}

/// A path in its usual form.
pub(super) fn plain_name(word: &str) -> String {
    let here = ["./", "$PWD/", "${PWD}/", "$(pwd)/"].iter().find_map(|here| word.strip_prefix(here));
    here.unwrap_or(word).to_owned()
}

/// The words of a `test`, a calculation or a `case`.
fn tested(call: &Call) -> Vec<String> {
    let words = call.arguments().iter().filter(|word| !matches!(word.as_str(), "]" | "]]" | "))"));
    words.map(|word| if word == "==" { "=".to_owned() } else { plain_name(word) }).collect()
}

/// The words and operators of a piece of code; brackets and quotes do not change what it expects.
fn tokens(code: &str) -> Vec<String> {
    let kind = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' => 1,
        '=' | '!' | '<' | '>' | '&' | '|' | '~' | '^' | '%' | '*' | '/' | '+' | '-' | '?' => 2,
        _ => 0,
    };
    let mut tokens: Vec<String> = Vec::new();
    let mut before = 0;
    for c in code.chars() {
        match tokens.last_mut() {
            Some(token) if kind(c) == before && before > 0 => token.push(c),
            _ if kind(c) > 0 => tokens.push(c.to_string()),
            _ => {}
        }
        before = kind(c);
    }
    tokens
}

/// Whether only quotes changed.
fn same_text(old: &Found, new: &Found) -> bool {
    old.call.words.join(" ") == new.call.words.join(" ") && input(old) == input(new)
}

/// Whether only typos are corrected.
fn is_corrected(case: &Case<'_>, before: &Expectation, after: &Expectation) -> bool {
    let same_length = before.texts.len() == after.texts.len() && before.sources.len() == after.sources.len();
    let is_operator = |word: &str| FILE_TESTS.contains(&word) || OTHER_TESTS.contains(&word);
    let text = |at: usize| {
        let (old, new) = (before.texts[at].as_str(), after.texts[at].as_str());
        let operator = old.starts_with('-') && !is_operator(old) && is_operator(new);
        let names_file = at > 0 && FILE_TESTS.contains(&before.texts[at - 1].as_str());
        old == new || operator || (names_file && is_renamed(case, old, new))
    };
    let source = |(old, new): (&String, &String)| old == new || is_renamed(case, old, new);
    same_length && (0..before.texts.len()).all(text) && before.sources.iter().zip(&after.sources).all(source)
}

/// Whether a check could never have passed.
fn never_worked(call: &Call) -> bool {
    family(&call.program) == "grep" && Grep::new(call).is_broken
}

/// Whether every new expectation is mentioned by other steps, and no dropped one is.
fn is_agreed(case: &Case<'_>, before: &Expectation, after: &Expectation) -> bool {
    let (old, new) = (before.texts.iter().chain(&before.sources), after.texts.iter().chain(&after.sources));
    let spoken_of = |text: &str| world::mentions(case.unit, case.id, text);
    old.clone().count() == new.clone().count()
        && old.zip(new).all(|(old, new)| old == new || (spoken_of(new) && !spoken_of(old)))
}

/// Whether the old name was a typo: another step writes the new name, and no step mentions the old one.
fn is_renamed(case: &Case<'_>, old: &str, new: &str) -> bool {
    is_misspelling(old, new)
        && world::is_declared(case.unit, case.id, new)
        && !world::mentions(case.unit, case.id, old)
}

/// Whether two names differ by one letter, or by two swapped ones, inside a word.
fn is_misspelling(old: &str, new: &str) -> bool {
    let (old, new): (Vec<char>, Vec<char>) = (old.chars().collect(), new.chars().collect());
    let start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (left, right) = (&old[start..], &new[start..]);
    let end = left.iter().rev().zip(right.iter().rev()).take_while(|(a, b)| a == b).count();
    let (left, right) = (&left[..left.len() - end], &right[..right.len() - end]);
    let is_inside = start > 0
        && old[start - 1].is_alphabetic()
        && old.get(old.len() - end).is_some_and(|c| c.is_alphabetic());
    let letters = left.iter().chain(right).all(|c| c.is_alphabetic());
    let swapped = left.len() == 2 && right.len() == 2 && left[0] == right[1] && left[1] == right[0];
    is_inside && letters && (swapped || (left.len() <= 1 && right.len() <= 1))
}

fn loosened_option(old: &Call, new: &Call) -> Option<String> {
    let added = |loose: &dyn Fn(&str) -> bool| {
        let word = new.arguments().iter().find(|word| loose(word) && !old.has(word));
        word.cloned()
    };
    let lost = |strict: &dyn Fn(&str) -> bool| {
        let word = old.arguments().iter().find(|word| strict(word) && !new.has(word));
        word.cloned()
    };
    match family(&new.program) {
        "grep" => Grep::new(new).loosened(&Grep::new(old)).map(|letter| format!("-{letter}")),
        "diff" => added(&|word| {
            word.contains("ignore")
                || word.contains("exclude")
                || matches!(word, "-w" | "-b" | "-B" | "-i" | "-I" | "-x" | "-N" | "--new-file")
                || word.starts_with("-n")
        }),
        "jq" => lost(&|word| matches!(word, "-e" | "--exit-status")),
        "git" => lost(&|word| word.starts_with("--")),
        "sha256sum" | "md5sum" | "shasum" => added(&|word| matches!(word, "--ignore-missing" | "--quiet")),
        _ => None,
    }
}
