//! The bytes of a spec → its text, or why they are none.

/// The largest spec, in bytes.
pub const LARGEST_SPEC: usize = 256 * 1024;

/// Why bytes are no spec.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    #[error("is empty")]
    Empty,
    #[error("is larger than 256 KiB")]
    TooLarge,
    #[error("is not text: it has NUL bytes")]
    Binary,
    #[error("is not UTF-8 text")]
    NotText,
}

/// Reads the text of a spec.
pub fn spec_text(bytes: &[u8]) -> Result<String, SpecError> {
    if bytes.len() > LARGEST_SPEC {
        return Err(SpecError::TooLarge);
    }
    if bytes.contains(&0) {
        return Err(SpecError::Binary);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| SpecError::NotText)?;
    let text = text.trim_start_matches('\u{feff}');
    let spec = crate::spec::parse(text);
    let has_words = spec.title.is_some()
        || spec.sections.iter().any(|section| !section.blocks.is_empty() || !section.heading.is_empty());
    match text.contains(char::is_alphanumeric) && has_words {
        true => Ok(text.to_owned()),
        false => Err(SpecError::Empty),
    }
}
