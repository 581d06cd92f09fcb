//! A spec as Markdown: its title, its sections and the words in them, each with its line. Code blocks are ignored.
//!
//! Never decides what a sentence asks for.

mod markdown;
mod sections;
mod sentence;
mod token;

pub(crate) use sections::{Block, BlockKind, Section, SectionKind, Spec};
pub(crate) use sentence::Sentence;
pub(crate) use token::{Token, TokenKind};

/// The words of a text that is not part of the spec.
pub(crate) fn words_of(text: &str, line: usize) -> Vec<Token> {
    token::split(text, 0, line)
}

/// The text of tokens.
pub(crate) fn joined(tokens: &[Token]) -> String {
    let mut text = String::new();
    let mut end = None;
    for token in tokens {
        let gap = end.is_some_and(|end| token.span.start > end);
        text.push_str(if gap { " " } else { "" });
        match token.kind {
            TokenKind::Code => text.push_str(&format!("`{}`", token.text)),
            TokenKind::Word | TokenKind::Mark => text.push_str(&token.text),
        }
        end = Some(token.span.end);
    }
    text
}

/// Reads a spec.
pub(crate) fn parse(text: &str) -> Spec {
    sections::sections(text, markdown::blocks(text))
}
