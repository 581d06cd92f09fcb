//! Suggestions for quoting a text, shown in help lines.
//!
//! Never changes the text itself.

/// `text` in quotes; `None` if that takes more than putting quotes around it.
pub(super) fn quote(text: &str) -> Option<String> {
    if !text.contains(['"', '\\']) {
        Some(format!("\"{text}\""))
    } else if !text.contains('\'') {
        Some(format!("'{text}'"))
    } else {
        None
    }
}

/// The rest of the line from `at`, without trailing blanks and comment.
pub(super) fn rest_of_line(text: &str, at: usize) -> &str {
    let rest = text.get(at..).unwrap_or_default().lines().next().unwrap_or_default();
    let end = rest.find(" #").unwrap_or(rest.len());
    rest[..end].trim_end()
}

/// The line that holds the byte `at`: where it starts, and its text.
pub(super) fn line_of(text: &str, at: usize) -> (usize, &str) {
    let start = text.get(..at).and_then(|before| before.rfind(['\n', '\r'])).map_or(0, |at| at + 1);
    (start, text.get(start..).and_then(|rest| rest.lines().next()).unwrap_or_default())
}
