//! Parts of messages.

/// A value as a message quotes it, shortened.
pub fn brief(value: &str) -> String {
    shorten(value, 200)
}

/// The first characters of a text.
pub fn shorten(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
