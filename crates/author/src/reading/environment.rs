//! Variables that the work needs: `needs GITHUB_TOKEN`.

use recipe::secret_name::looks_secret;

use crate::{
    brief::Variable,
    spec::{SectionKind, Sentence, Spec, Token, TokenKind},
    words::work,
};

/// Reads the names, in the order of the spec.
pub(crate) fn variables(spec: &Spec) -> Vec<Variable> {
    let mut found: Vec<Variable> = Vec::new();
    for (section, sentence) in spec.sentences() {
        if matches!(section.kind, SectionKind::Acceptance | SectionKind::Questions | SectionKind::Answers) {
            continue;
        }
        let is_section = section.kind == SectionKind::Environment;
        let lower = sentence.lower();
        for (at, token) in sentence.tokens.iter().enumerate() {
            let has_cue =
                lower[at.saturating_sub(6)..at].iter().any(|word| work().environment.cues.has(word));
            let Some(name) = name(token, is_section).filter(|_| is_section || has_cue) else { continue };
            if !found.iter().any(|known| known.name == name) {
                found.push(Variable {
                    is_secret: looks_secret(name),
                    name: name.to_owned(),
                    line: token.line,
                });
            }
        }
    }
    found
}

/// Whether a sentence says that a variable is needed.
pub(crate) fn names_variable(sentence: &Sentence) -> bool {
    let lower = sentence.lower();
    let is_cue = |word: &String| ["needs", "need", "requires", "require", "export"].contains(&word.as_str());
    lower.iter().any(is_cue) && sentence.tokens.iter().any(|token| name(token, false).is_some())
}

/// The name of a variable: in capitals, with `_` unless the section is about variables.
fn name(token: &Token, is_section: bool) -> Option<&str> {
    if token.kind == TokenKind::Mark {
        return None;
    }
    let text = token.text.trim_start_matches('$').split('=').next().unwrap_or_default();
    let is_name = text.len() > 2
        && text.starts_with(|c: char| c.is_ascii_uppercase())
        && text.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    let is_sure = text.contains('_') || (token.code().is_some() && is_section) || token.text.starts_with('$');
    let is_other = work().environment.not_names.has(text);
    (is_name && is_sure && !is_other).then_some(text)
}
