//! The goal status in the answer of a reflecting agent: in its JSON, and in its last status line.
//!
//! If both are there and disagree, the weaker one counts. A text without a status is `UNKNOWN`, never a guess.

use recipe::value::Value;

use super::{
    kinds::GoalStatus,
    words::{StatusWords, words},
};

/// Marks of Markdown that may stand around a label and a status.
const MARKS: &[char] = &['#', '*', '_', '-', '`'];

/// A goal status with what the agent says about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadStatus {
    /// The status.
    pub status: GoalStatus,
    /// What follows the status, or what the JSON says is missing.
    pub detail: String,
}

/// Reads an answer.
pub fn read_goal_status(answer: &str) -> ReadStatus {
    let line = answer.split(['\n', '\r']).rev().find_map(status_line);
    let found = match (status_in_json(answer), line) {
        (Some(json), Some(line)) if line.status < json.status => Some(line),
        (json, line) => json.or(line),
    };
    found.unwrap_or(ReadStatus { status: GoalStatus::Unknown, detail: String::new() })
}

/// The status of the last object that has one as text.
fn status_in_json(answer: &str) -> Option<ReadStatus> {
    let objects = recipe::json::objects(answer);
    let (object, text) =
        objects.iter().rev().find_map(|(_, object)| Some((object, text_of(object, "goal_status")?)))?;
    let mut read = status_at_start(text.trim().trim_start_matches(MARKS).trim_start(), IsCapital::No)?;
    if read.detail.is_empty() {
        let keys: &[&str] = match read.status {
            GoalStatus::Achieved => &["summary"],
            _ => &["missing", "summary"],
        };
        read.detail = keys.iter().find_map(|key| said(object, key)).unwrap_or_default();
    }
    Some(read)
}

fn text_of<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    match object {
        Value::Map(members) => match members.get(key)? {
            Value::Text(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// A text, or a list of texts, that says something.
fn said(object: &Value, key: &str) -> Option<String> {
    let Value::Map(members) = object else { return None };
    let text = match members.get(key)? {
        Value::Text(text) => text.trim().to_owned(),
        Value::List(items) => {
            let texts = items.iter().map(|item| item.render().trim().to_owned());
            texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("; ")
        }
        _ => String::new(),
    };
    (!text.is_empty()).then_some(text)
}

/// Whether a status word has to be in capitals.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IsCapital {
    Yes,
    No,
}

/// The status of a line, if it is a status line.
fn status_line(line: &str) -> Option<ReadStatus> {
    let line = without_marks(line);
    if let Some(after) = after_label(line) {
        return status_at_start(after, IsCapital::No);
    }
    let read = status_at_start(line, IsCapital::Yes)?;
    let (_, rest) = status_word(line, IsCapital::Yes)?;
    let rest = rest.trim_matches(['*', '_', '`']).trim();
    let is_alone = rest.trim_matches(['.', '!', '?', '*', '_', '`']).trim().is_empty();
    (is_alone || ["--", "—", ":"].iter().any(|mark| rest.starts_with(mark))).then_some(read)
}

/// The line without the marks before its text: `#`, `*`, `_`, `-`, a backtick, `1.`
fn without_marks(line: &str) -> &str {
    let mut rest = line.trim();
    loop {
        let bare = rest.trim_start_matches(MARKS).trim_start();
        let digits = bare.len() - bare.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let numbered = bare[digits..].strip_prefix('.').filter(|_| digits > 0).map(str::trim_start);
        let shorter = numbered.unwrap_or(bare);
        if shorter.len() == rest.len() {
            return rest;
        }
        rest = shorter;
    }
}

/// What follows a label and its `:` or `=`.
fn after_label(line: &str) -> Option<&str> {
    let label = |label: &String| {
        let mut rest = line;
        for (at, part) in label.split(' ').enumerate() {
            if at > 0 {
                let shorter = rest.trim_start_matches(['_', '-', ' ', '\t']);
                rest = (shorter.len() < rest.len()).then_some(shorter)?;
            }
            rest = strip_word(rest, part)?;
        }
        let rest = rest.trim_start_matches(['*', '_', '`', ' ', '\t']).strip_prefix([':', '='])?;
        Some(rest.trim_start_matches(['*', '_', '`', ' ', '\t', '#', '-']))
    };
    words().status_labels.iter().find_map(label)
}

/// The text after a word at its beginning, in any case.
fn strip_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let start = text.get(..word.len()).filter(|start| start.eq_ignore_ascii_case(word))?;
    Some(&text[start.len()..])
}

/// The status that a text begins with, unless the text offers several.
fn status_at_start(text: &str, is_capital: IsCapital) -> Option<ReadStatus> {
    let (status, rest) = status_word(text, is_capital)?;
    if offers_more(rest) {
        return None;
    }
    let is_doubted = rest.contains(['?', '？']) || has_doubt(rest);
    let status = match status {
        GoalStatus::Achieved if is_doubted => GoalStatus::Partial,
        status => status,
    };
    Some(ReadStatus { status, detail: detail(rest) })
}

/// The status word at the beginning, and what follows it. The word ends where no letter, digit or `_` follows.
fn status_word(text: &str, is_capital: IsCapital) -> Option<(GoalStatus, &str)> {
    let find = |known: &StatusWords, phrase: &String| {
        let mut rest = text;
        for (at, part) in phrase.split(' ').enumerate() {
            if at > 0 {
                let shorter = rest.trim_start_matches(['_', '-', ' ', '\t']);
                rest = (shorter.len() < rest.len()).then_some(shorter)?;
            }
            rest = strip_word(rest, part)?;
        }
        let word = &text[..text.len() - rest.len()];
        let fits = is_capital == IsCapital::No || !word.contains(char::is_lowercase);
        let ends = !ends_in_word(rest);
        (fits && ends).then_some((known.status, rest))
    };
    words().statuses.iter().find_map(|known| known.words.iter().find_map(|phrase| find(known, phrase)))
}

/// Whether the word goes on. An underscore that closes emphasis does not count.
fn ends_in_word(rest: &str) -> bool {
    let letters = rest.trim_start_matches('_');
    rest.starts_with(char::is_alphanumeric)
        || (rest.starts_with('_') && letters.starts_with(char::is_alphanumeric))
}

/// Whether another status word follows after `|`, `/`, `,` or `or`.
fn offers_more(rest: &str) -> bool {
    let blank = |c: char| c.is_whitespace() || "*_`()[]<>\"'".contains(c);
    let after = rest.trim_start_matches(blank);
    let next = match after.strip_prefix(['|', '/', ',']) {
        // `A, or B`
        Some(next) => {
            let next = next.trim_start_matches(blank);
            strip_word(next, "or").filter(|rest| rest.starts_with(blank)).unwrap_or(next)
        }
        None => match strip_word(after, "or").filter(|rest| rest.starts_with(blank)) {
            Some(next) => next,
            None => return false,
        },
    };
    status_word(next.trim_start_matches(blank), IsCapital::No).is_some()
}

/// Whether a word of doubt follows.
fn has_doubt(rest: &str) -> bool {
    let lower = rest.to_lowercase();
    let spoken: Vec<&str> =
        lower.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()).collect();
    let doubts = &words().status_doubts;
    (0..spoken.len()).any(|at| super::words::phrase_at(doubts, &spoken[at..]).is_some())
}

/// What follows a status, without the marks around it.
fn detail(rest: &str) -> String {
    let is_mark = |c: char| c.is_whitespace() || "-—–:,;.!?*_`#=".contains(c);
    let start = rest.trim_start_matches(is_mark);
    start.trim_end_matches(|c: char| c.is_whitespace() || "*_`".contains(c)).to_owned()
}
