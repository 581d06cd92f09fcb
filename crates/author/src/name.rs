//! The name of a recipe, from the title of its spec.

/// Longest name; it is cut between words.
const LONGEST: usize = 60;

/// The name for a title: letters, digits and hyphens. None if nothing is left.
pub(crate) fn name(title: &str) -> Option<String> {
    let lower = title.to_lowercase();
    let words: Vec<&str> =
        lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let mut name = String::new();
    for word in words {
        let length = name.len() + usize::from(!name.is_empty()) + word.len();
        if length > LONGEST {
            if name.is_empty() {
                name.push_str(&word[..LONGEST]);
            }
            break;
        }
        name.push_str(if name.is_empty() { "" } else { "-" });
        name.push_str(word);
    }
    (!name.is_empty()).then_some(name)
}

/// Whether a name that the user gives can be the stem of a file.
pub fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !name.is_empty() && name.len() <= 100 && name.chars().all(is_plain) && !name.starts_with('-')
}
