//! The answer of an agent as sentences of words, and as text in which JSON is read like prose.

use std::borrow::Cow;

use recipe::value::Value;

use super::{
    prose::Prose,
    words::{has, words},
};

/// The longest sentence, in words; a longer one is cut.
const LONGEST_SENTENCE: usize = 120;

/// The text of an answer: the texts inside JSON objects stand in place of the objects.
pub(super) fn plain_text(answer: &str) -> Cow<'_, str> {
    let objects = recipe::json::objects(answer);
    if objects.is_empty() {
        return match Value::from_json(answer) {
            Ok(value @ (Value::Text(_) | Value::List(_) | Value::Null)) => Cow::Owned(texts(&value)),
            _ => Cow::Borrowed(answer),
        };
    }
    if let Ok(whole @ (Value::List(_) | Value::Map(_))) = Value::from_json(answer) {
        return Cow::Owned(texts(&whole));
    }
    let mut plain = String::with_capacity(answer.len());
    let mut rest = (0, answer);
    for (place, object) in objects.iter().filter(|(_, object)| !is_empty(object)) {
        let (start, text) = rest;
        let before = text.get(..place.start.saturating_sub(start)).unwrap_or_default();
        let fenced =
            before.trim_end().strip_suffix("```json").or_else(|| before.trim_end().strip_suffix("```"));
        plain.push_str(fenced.unwrap_or(before));
        plain.push('\n');
        plain.push_str(&texts(object));
        plain.push('\n');
        let after = answer.get(place.end..).unwrap_or_default();
        let unfenced = after.trim_start().strip_prefix("```").filter(|_| fenced.is_some()).unwrap_or(after);
        rest = (answer.len() - unfenced.len(), unfenced);
    }
    plain.push_str(rest.1);
    Cow::Owned(plain)
}

fn is_empty(object: &Value) -> bool {
    matches!(object, Value::Map(members) if members.is_empty())
}

/// The texts in a value, a line each.
fn texts(value: &Value) -> String {
    let join = |parts: Vec<String>| {
        let said = parts.into_iter().filter(|part| !part.is_empty());
        said.collect::<Vec<_>>().join("\n")
    };
    match value {
        Value::Text(text) => text.trim().to_owned(),
        Value::List(items) => join(items.iter().map(texts).collect()),
        Value::Map(members) => join(members.values().map(texts).collect()),
        _ => String::new(),
    }
}

/// The sentences in which the agent itself speaks: words in lower case, with `,` and `:` as words of their own.
pub(super) fn sentences(plain: &str) -> Vec<Vec<String>> {
    let prose = Prose::new(plain);
    let mut found = vec![Vec::new()];
    for line in prose.text.replace(['—', '–', '('], " , ").replace("--", " , ").split(['\n', '\r']) {
        for token in line.split_whitespace() {
            let is_end = add_token(token, &mut found);
            let is_long = found.last().is_some_and(|sentence| sentence.len() > LONGEST_SENTENCE);
            if is_end || is_long {
                found.push(Vec::new());
            }
        }
        found.push(Vec::new());
    }
    found.retain(|sentence| !sentence.is_empty());
    found
}

/// Adds a token to the last sentence; says whether the sentence ends with it.
fn add_token(token: &str, found: &mut [Vec<String>]) -> bool {
    let Some(sentence) = found.last_mut() else { return false };
    let word = token.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase().replace('’', "'");
    let parts: Vec<&str> = word.split('/').collect();
    match parts.len() > 1 && parts.iter().all(|part| has(&words().results.slashed, part)) {
        true => sentence.extend(parts.join(" or ").split(' ').map(str::to_owned)),
        false if !word.is_empty() => sentence.push(word.clone()),
        false => {}
    }
    let bare = token.trim_end_matches(['"', '\'', ')', ']', '*', '_', '”', '’']);
    let closes = token.ends_with(')');
    match bare.chars().next_back() {
        Some(',') => sentence.push(",".to_owned()),
        Some(':') => sentence.push(":".to_owned()),
        Some('.') => return !matches!(word.as_str(), "e.g" | "i.e"),
        Some('!' | '?' | ';' | '…') => return true,
        _ if closes => sentence.push(",".to_owned()),
        _ => {}
    }
    false
}
