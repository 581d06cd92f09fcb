//! Suggestions for quoting a text, shown in help lines.
//!
//! Never changes the text itself.

/// The longest text that is worth repeating in a message.
const SHOWN: usize = 120;

/// `text` in quotes; `None` if that takes more than putting quotes around it, or is too long to show.
pub(super) fn quote(text: &str) -> Option<String> {
    if text.len() > SHOWN {
        None
    } else if !text.contains(['"', '\\']) {
        Some(format!("\"{text}\""))
    } else if !text.contains('\'') {
        Some(format!("'{text}'"))
    } else {
        None
    }
}

/// The rest of the line from `at`, without trailing blanks and comment; of a long line only so much
/// that it is seen to be too long.
pub(super) fn rest_of_line(text: &str, at: usize) -> &str {
    let rest = text.get(at..).unwrap_or_default();
    let cut = rest.char_indices().nth(2 * SHOWN).map_or(rest.len(), |(at, _)| at);
    let rest = rest[..cut].lines().next().unwrap_or_default();
    let end = rest.find(" #").unwrap_or(rest.len());
    rest[..end].trim_end()
}

/// The line that holds the byte `at`: where it starts, and its text.
pub(super) fn line_of(text: &str, at: usize) -> (usize, &str) {
    let start = text.get(..at).and_then(|before| before.rfind(['\n', '\r'])).map_or(0, |at| at + 1);
    (start, text.get(start..).and_then(|rest| rest.lines().next()).unwrap_or_default())
}
