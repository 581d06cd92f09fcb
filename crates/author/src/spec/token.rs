//! Words, code and marks of a text, with their places.

use std::ops::Range;

/// A word, code in backticks or a mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    /// As written: code without its backticks, a word without the marks around it.
    pub(crate) text: String,
    /// Its place in the spec.
    pub(crate) span: Range<usize>,
    /// From 1.
    pub(crate) line: usize,
}

/// The kinds of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    Word,
    /// In backticks.
    Code,
    /// One character such as `,` or `"`.
    Mark,
}

impl Token {
    /// The word in lower case; empty for code and marks.
    pub(crate) fn lower(&self) -> String {
        match self.kind {
            TokenKind::Word => self.text.to_lowercase().replace('’', "'"),
            _ => String::new(),
        }
    }

    pub(crate) fn is_word(&self, word: &str) -> bool {
        self.kind == TokenKind::Word && self.lower() == word
    }

    pub(crate) fn is_mark(&self, mark: char) -> bool {
        self.kind == TokenKind::Mark && self.text.starts_with(mark)
    }

    /// The text, if this is code.
    pub(crate) fn code(&self) -> Option<&str> {
        (self.kind == TokenKind::Code).then_some(self.text.as_str())
    }

    pub(crate) fn is_quotation_mark(&self) -> bool {
        self.kind == TokenKind::Mark && matches!(self.text.as_str(), "\"" | "“" | "”")
    }
}

/// Marks that may come before a word.
const BEFORE: &[char] = &['(', '[', '{', '"', '“', '‘', '\'', '«', '*', '_'];
/// Marks that may come after a word.
const AFTER: &[char] =
    &[',', '.', ';', ':', '!', '?', ')', ']', '}', '"', '”', '’', '\'', '»', '*', '_', '…'];

/// Splits text into words and marks.
pub(crate) fn split(text: &str, start: usize, line: usize) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut at = 0;
    for part in text.split_inclusive(char::is_whitespace) {
        let word = part.trim_end();
        if !word.is_empty() {
            split_word(word, start + at, line, &mut tokens);
        }
        at += part.len();
    }
    tokens
}

fn split_word(word: &str, start: usize, line: usize, tokens: &mut Vec<Token>) {
    let mark = |at: usize, mark: char| Token {
        kind: TokenKind::Mark,
        text: mark.to_string(),
        span: start + at..start + at + mark.len_utf8(),
        line,
    };
    // a row of question marks is a word of its own: it says that something is open
    let is_marks = word.chars().all(|c| BEFORE.contains(&c) || AFTER.contains(&c));
    if is_marks && !word.contains("??") {
        tokens.extend(word.char_indices().map(|(at, c)| mark(at, c)));
        return;
    }
    let begin = if is_marks { 0 } else { word.len() - word.trim_start_matches(BEFORE).len() };
    tokens.extend(word[..begin].char_indices().map(|(at, c)| mark(at, c)));
    let rest = &word[begin..];
    let body = match rest.trim_end_matches(AFTER) {
        _ if is_marks => rest,
        // `???` after a word stays together
        body if rest[body.len()..].contains("??") => {
            let marks = begin + body.len();
            if !body.is_empty() {
                let span = start + begin..start + marks;
                tokens.push(Token { kind: TokenKind::Word, text: body.to_owned(), span, line });
            }
            let span = start + marks..start + word.len();
            tokens.push(Token { kind: TokenKind::Word, text: word[marks..].to_owned(), span, line });
            return;
        }
        body => body,
    };
    let end = begin + body.len();
    if !body.is_empty() {
        let span = start + begin..start + end;
        tokens.push(Token { kind: TokenKind::Word, text: body.to_owned(), span, line });
    }
    tokens.extend(word[end..].char_indices().map(|(at, c)| mark(end + at, c)));
}
