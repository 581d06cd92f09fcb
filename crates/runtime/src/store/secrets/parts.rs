//! Parts of a secret in a quotation: messages are shortened before their secrets are known.

use std::ops::Range;

use super::MASK;

/// The shortest part of a secret that is recognised next to a cut.
const SHORTEST_PART: usize = 6;

/// The text without beginnings of a secret before a cut, and without ends of one after a cut; `None` if it has neither.
/// Messages are shortened before their secrets are known.
pub(super) fn without_parts(text: &str, secret: &str) -> Option<String> {
    let parts = beginnings(text, secret).into_iter().chain(endings(text, secret));
    let mut parts: Vec<Range<usize>> = parts.collect();
    parts.sort_unstable_by_key(|part| part.start);
    let (mut masked, mut from) = (String::new(), 0);
    for part in parts.iter().filter(|part| part.start < part.end) {
        if part.start < from {
            continue;
        }
        masked.push_str(&text[from..part.start]);
        masked.push_str(MASK);
        from = part.end;
    }
    (from > 0).then(|| masked + &text[from..])
}

/// Whether a character marks a cut: the end of a line or of a quotation.
fn is_cut(beside: Option<char>) -> bool {
    matches!(beside, None | Some('\n' | '`' | '…'))
}

fn beginnings(text: &str, secret: &str) -> Vec<Range<usize>> {
    let Some(first) = secret.char_indices().nth(SHORTEST_PART).map(|(at, _)| &secret[..at]) else {
        return Vec::new();
    };
    let part = |at: usize| {
        let same = text[at..].chars().zip(secret.chars()).take_while(|(a, b)| a == b);
        let end = at + same.map(|(c, _)| c.len_utf8()).sum::<usize>();
        is_cut(text[end..].chars().next()).then_some(at..end)
    };
    text.match_indices(first).filter_map(|(at, _)| part(at)).collect()
}

fn endings(text: &str, secret: &str) -> Vec<Range<usize>> {
    let Some(last) = secret.char_indices().nth_back(SHORTEST_PART - 1).map(|(at, _)| &secret[at..]) else {
        return Vec::new();
    };
    let part = |at: usize| {
        let end = at + last.len();
        let same = text[..end].chars().rev().zip(secret.chars().rev()).take_while(|(a, b)| a == b);
        let start = end - same.map(|(c, _)| c.len_utf8()).sum::<usize>();
        is_cut(text[..start].chars().next_back()).then_some(start..end)
    };
    text.match_indices(last).filter_map(|(at, _)| part(at)).collect()
}
