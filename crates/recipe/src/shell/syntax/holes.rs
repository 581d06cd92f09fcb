//! Templates of a command as words that bash can parse, and back.

/// Marks around the number of a template, from a private range of Unicode.
const OPEN: char = '\u{E000}';
const CLOSE: char = '\u{E001}';

/// The templates of a script, as written but without spaces.
pub(super) struct Holes(Vec<String>);

/// Replaces every template by a placeholder. None for a script with `{{#if …}}`: its tree depends on a value.
pub(super) fn cut(script: &str) -> Option<(String, Holes)> {
    if script.contains([OPEN, CLOSE]) {
        return None;
    }
    let (mut text, mut names, mut rest) = (String::with_capacity(script.len()), Vec::new(), script);
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((name, behind)) = after.split_once("}}") else { break };
        let name: String = name.split_whitespace().collect();
        if name.starts_with(['#', '/', '^']) {
            return None;
        }
        text.push_str(before);
        text.push_str(&format!("{OPEN}{}{CLOSE}", names.len()));
        names.push(format!("{{{{{name}}}}}"));
        rest = behind;
    }
    text.push_str(rest);
    Some((text, Holes(names)))
}

impl Holes {
    /// A text with its templates.
    pub(super) fn fill(&self, text: &str) -> String {
        let mut parts = text.split(OPEN);
        let mut filled = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (number, after) = part.split_once(CLOSE).unwrap_or((part, ""));
            let name = number.parse::<usize>().ok().and_then(|number| self.0.get(number));
            filled.push_str(name.map(String::as_str).unwrap_or_default());
            filled.push_str(after);
        }
        filled
    }
}
