//! Cuts a condition's text into words, literals and signs.
//!
//! Never looks at how they fit together, except that a word after a dot is always a name.

use std::ops::Range;

use super::{error::ConditionError, hints};
use crate::value::Number;

/// How a backslash directly before a quote is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Backslash {
    /// It always makes the quote a part of the text.
    Escapes,
    /// It is plain text where the quote looks like the end of its text.
    MayEndText,
}

#[derive(Clone, Debug)]
pub(super) struct Token {
    pub(super) sign: Sign,
    pub(super) span: Range<usize>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Sign {
    Text(String),
    Number(Number),
    Name,
    True,
    False,
    And,
    Or,
    Not,
    In,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Open,
    Close,
    OpenList,
    CloseList,
    Comma,
    Dot,
}

/// Whether a name may consist of this character.
pub(super) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

pub(super) fn tokens(text: &str, backslash: Backslash) -> Result<Vec<Token>, ConditionError> {
    let mut lexer = Lexer { text, at: 0, backslash, tokens: Vec::new() };
    while let Some(next) = lexer.rest().chars().next() {
        if next.is_whitespace() {
            lexer.at += next.len_utf8();
            continue;
        }
        let start = lexer.at;
        let sign = lexer.sign(next)?;
        lexer.tokens.push(Token { sign, span: start..lexer.at });
    }
    Ok(lexer.tokens)
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    backslash: Backslash,
    tokens: Vec<Token>,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn sign(&mut self, next: char) -> Result<Sign, ConditionError> {
        if self.follows(&Sign::Dot) && is_word(next) {
            self.at += word_length(self.rest());
            return Ok(Sign::Name);
        }
        match next {
            '\'' | '"' => self.quoted(next),
            '0'..='9' => self.number_or_name(),
            '-' | '.' if self.starts_number() => self.number_or_name(),
            _ if is_word(next) => Ok(self.word()),
            _ => self.symbol(),
        }
    }

    fn follows(&self, sign: &Sign) -> bool {
        self.tokens.last().is_some_and(|token| token.sign == *sign)
    }

    /// `.5` and `-5` are numbers, but the dot of `items.5` belongs to the path.
    fn starts_number(&self) -> bool {
        let rest = self.rest();
        let touches_value = rest.starts_with('.')
            && self.tokens.last().is_some_and(|token| token.span.end == self.at && ends_value(&token.sign));
        !touches_value && number_length(rest) > 0
    }

    fn word(&mut self) -> Sign {
        let word = &self.rest()[..word_length(self.rest())];
        self.at += word.len();
        match word {
            "and" => Sign::And,
            "or" => Sign::Or,
            "not" => Sign::Not,
            "in" => Sign::In,
            "true" | "True" => Sign::True,
            "false" | "False" => Sign::False,
            _ => Sign::Name,
        }
    }

    /// A word such as `2fa` or `01-setup` is a name, although it begins like a number.
    fn number_or_name(&mut self) -> Result<Sign, ConditionError> {
        let rest = self.rest();
        let (number, word) = (number_length(rest), word_length(rest));
        if word > number && rest[..word].contains(|c: char| c.is_alphabetic() || c == '_') {
            self.at += word;
            return Ok(Sign::Name);
        }
        let end = number + tail_length(&rest[number..]);
        let parsed = if end == number { Number::parse(&rest[..number]) } else { None };
        parsed.map(|parsed| self.take(number, Sign::Number(parsed))).ok_or_else(|| {
            let message = format!("`{}` is not a number", &rest[..end]);
            ConditionError::syntax(message, self.at..self.at + end)
                .help("conditions have no arithmetic; a text needs quotes around it")
        })
    }

    fn take(&mut self, length: usize, sign: Sign) -> Sign {
        self.at += length;
        sign
    }

    fn symbol(&mut self) -> Result<Sign, ConditionError> {
        let rest = self.rest();
        if let Some(error) = hints::foreign_symbol(rest, self.at) {
            return Err(error);
        }
        const SYMBOLS: [(&str, Sign); 15] = [
            ("==", Sign::Equal),
            ("!=", Sign::NotEqual),
            ("<=", Sign::LessOrEqual),
            (">=", Sign::GreaterOrEqual),
            ("&&", Sign::And),
            ("||", Sign::Or),
            ("!", Sign::Not),
            ("<", Sign::Less),
            (">", Sign::Greater),
            ("(", Sign::Open),
            (")", Sign::Close),
            ("[", Sign::OpenList),
            ("]", Sign::CloseList),
            (",", Sign::Comma),
            (".", Sign::Dot),
        ];
        match SYMBOLS.into_iter().find(|(symbol, _)| rest.starts_with(symbol)) {
            Some((symbol, sign)) => Ok(self.take(symbol.len(), sign)),
            None => Err(hints::unknown_symbol(rest, self.at)),
        }
    }

    /// Only `\'`, `\"` and `\\` are escapes; any other backslash is itself.
    fn quoted(&mut self, quote: char) -> Result<Sign, ConditionError> {
        let start = self.at;
        let mut text = String::new();
        let mut chars = self.text[start..].char_indices().skip(1).peekable();
        while let Some((at, c)) = chars.next() {
            let after = start + at + c.len_utf8();
            if c == quote {
                self.at = after;
                return Ok(Sign::Text(text));
            }
            match chars.peek() {
                Some(&(_, next)) if c == '\\' && self.escapes(next, quote, after) => {
                    chars.next();
                    text.push(next);
                }
                _ => text.push(c),
            }
        }
        let message = format!("the text that starts here has no closing {}", hints::quote_name(quote));
        let help = format!("add the closing {quote}; inside the text it is written \\{quote}");
        Err(ConditionError::syntax(message, start..self.text.len()).help(help))
    }

    /// Whether a backslash escapes `next`, which is at `at`.
    fn escapes(&self, next: char, quote: char, at: usize) -> bool {
        match next {
            '\\' => true,
            '\'' | '"' if next != quote || self.backslash == Backslash::Escapes => true,
            '\'' | '"' => !may_follow_value(&self.text[at + 1..]),
            _ => false,
        }
    }
}

/// Whether a condition can continue like this after a value.
fn may_follow_value(rest: &str) -> bool {
    let trimmed = rest.trim_start();
    let word = &trimmed[..word_length(trimmed)];
    trimmed.is_empty()
        || trimmed.starts_with([',', ')', ']', '.', '=', '!', '<', '>', '&', '|'])
        || (trimmed.len() < rest.len() && matches!(word, "in" | "not" | "and" | "or"))
}

fn ends_value(sign: &Sign) -> bool {
    matches!(sign, Sign::Name | Sign::Text(_) | Sign::Number(_) | Sign::Close | Sign::CloseList)
}

/// The bytes of the name at the start: a hyphen between its characters belongs to it.
fn word_length(rest: &str) -> usize {
    let mut length = 0;
    let mut chars = rest.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let joins =
            c == '-' && at > 0 && length == at && chars.peek().is_some_and(|(_, next)| is_word(*next));
        if !is_word(c) && !joins {
            break;
        }
        length = at + c.len_utf8();
    }
    length
}

/// The bytes of the number at the start: `42`, `-7`, `3.14`, `.5`, `1e3`.
fn number_length(rest: &str) -> usize {
    let digits =
        |from: usize| rest.get(from..).map_or(0, |rest| rest.bytes().take_while(u8::is_ascii_digit).count());
    let start = usize::from(rest.starts_with('-'));
    let mut end = start + digits(start);
    if rest[end..].starts_with('.') && digits(end + 1) > 0 {
        end += 1 + digits(end + 1);
    }
    if end == start {
        return 0;
    }
    if rest[end..].starts_with(['e', 'E']) {
        let sign = usize::from(rest[end + 1..].starts_with(['-', '+']));
        match digits(end + 1 + sign) {
            0 => {}
            count => end += 1 + sign + count,
        }
    }
    end
}

/// The length of the text stuck to the end of a number, which makes it invalid: `5-3`, `1.2.3`, `-5x`.
fn tail_length(rest: &str) -> usize {
    let sticks = |rest: &str| {
        let mut chars = rest.chars();
        match chars.next() {
            Some('-') => chars.next().is_some_and(is_word),
            Some('.') => chars.next().is_some_and(|c| c.is_ascii_digit()),
            Some(c) => is_word(c),
            None => false,
        }
    };
    let mut length = 0;
    while sticks(&rest[length..]) {
        length += rest[length..].chars().next().map_or(0, char::len_utf8);
    }
    length
}
