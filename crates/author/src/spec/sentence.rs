//! Sentences of a block.

use super::token::{Token, TokenKind};

/// A sentence with its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sentence {
    pub(crate) tokens: Vec<Token>,
    /// As written, without the full stop.
    pub(crate) text: String,
    pub(crate) line: usize,
}

/// Words whose full stop does not end a sentence.
const SHORT: &[&str] = &["e.g", "i.e", "etc", "vs", "approx", "no", "incl", "resp"];

impl Sentence {
    /// The sentence of these tokens.
    pub(super) fn new(tokens: &[Token], source: &str) -> Option<Sentence> {
        let (first, last) = (tokens.first()?, tokens.last()?);
        let text = source.get(first.span.start..last.span.end)?;
        let text = text.trim().trim_end_matches('.').to_owned();
        Some(Sentence { tokens: tokens.to_vec(), text: one_line(&text), line: first.line })
    }

    /// Whether it asks.
    pub(crate) fn is_question(&self) -> bool {
        self.tokens.last().is_some_and(|last| last.is_mark('?'))
    }

    /// Its words in lower case, in which code and marks are empty.
    pub(crate) fn lower(&self) -> Vec<String> {
        self.tokens.iter().map(Token::lower).collect()
    }

    /// Whether it has code.
    pub(crate) fn has_code(&self) -> bool {
        self.tokens.iter().any(|token| token.kind == TokenKind::Code)
    }
}

/// Text with its line breaks as blanks.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Cuts tokens into sentences.
pub(super) fn sentences(tokens: &[Token], source: &str) -> Vec<Sentence> {
    let mut found = Vec::new();
    let mut start = 0;
    for (at, token) in tokens.iter().enumerate() {
        let Some(next) = tokens.get(at + 1) else { continue };
        let ends = token.is_mark('.') || token.is_mark('?') || token.is_mark('!');
        let is_apart = next.span.start > token.span.end;
        let is_short = at > 0 && token.is_mark('.') && SHORT.contains(&tokens[at - 1].lower().as_str());
        if ends && is_apart && !is_short {
            found.extend(Sentence::new(&tokens[start..=at], source));
            start = at + 1;
        }
    }
    found.extend(Sentence::new(&tokens[start..], source));
    found
}
