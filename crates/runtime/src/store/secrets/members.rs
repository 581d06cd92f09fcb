//! Members of JSON that look secret, in text that was not parsed yet. Never masks a name or a value that is not text.

use std::ops::Range;

use recipe::secret_name::looks_secret;

use super::{SHORTEST, replaced};

/// The bytes without the texts of members that look secret, as `"api_key": "…"`: a program may print JSON before it is
/// parsed here.
pub fn without_members(bytes: Vec<u8>) -> Vec<u8> {
    let places = members(&bytes);
    if places.is_empty() { bytes } else { replaced(&bytes, places) }
}

/// The places of the texts of members whose names look secret.
pub(super) fn members(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut places = Vec::new();
    let mut at = 0;
    while let Some(open) = position(bytes, at, b'"') {
        let Some(end) = text_end(bytes, open + 1) else { break };
        at = end + 1;
        let value = skip_space(bytes, at);
        if bytes.get(value) != Some(&b':') {
            continue;
        }
        let value = skip_space(bytes, value + 1);
        let name = String::from_utf8_lossy(&bytes[open + 1..end]);
        if bytes.get(value) == Some(&b'"') {
            // a text without a closing quote was cut, and is masked to its end
            let end = text_end(bytes, value + 1).unwrap_or(bytes.len());
            at = end + 1;
            if looks_secret(&name) && end - value > SHORTEST {
                places.push(value + 1..end);
            }
        }
    }
    places
}

fn position(bytes: &[u8], from: usize, wanted: u8) -> Option<usize> {
    bytes.get(from..)?.iter().position(|byte| *byte == wanted).map(|at| from + at)
}

fn skip_space(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    from + rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count()
}

/// The end of the text that begins here: the next quote that is not escaped.
fn text_end(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}
