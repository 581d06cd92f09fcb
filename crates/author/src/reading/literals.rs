//! Texts in backticks or quotation marks.

use crate::spec::Token;

/// The texts in backticks or quotation marks.
pub(crate) fn literals(tokens: &[Token]) -> Vec<String> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        match literal(tokens, at) {
            Some((text, next)) => {
                found.push(text);
                at = next;
            }
            None => at += 1,
        }
    }
    found
}

/// The text in backticks or quotation marks at this place, and the place after it.
pub(super) fn literal(tokens: &[Token], at: usize) -> Option<(String, usize)> {
    let token = tokens.get(at)?;
    if let Some(code) = token.code() {
        return Some((code.to_owned(), at + 1));
    }
    if !token.is_quotation_mark() {
        return None;
    }
    let end = at + 1 + tokens[at + 1..].iter().position(Token::is_quotation_mark)?;
    let mut text = String::new();
    for (place, token) in tokens[at + 1..end].iter().enumerate() {
        let gap = place > 0 && token.span.start > tokens[at + place].span.end;
        text.push_str(if gap { " " } else { "" });
        text.push_str(&token.text);
    }
    (!text.is_empty()).then_some((text, end + 1))
}
