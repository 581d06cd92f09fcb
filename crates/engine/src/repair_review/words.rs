//! The words of a shell command: resolves quotes, comments, heredocs and substitutions.
//!
//! Never runs or expands anything and never fails: text that bash would refuse still gives words. The time is linear in
//! the length of the command.

/// The deepest nesting of substitutions in quotes to follow; beyond that everything is plain text.
const MAX_DEPTH: usize = 20;

/// The longest `((…))`.
const MAX_CALCULATION: usize = 200;

/// One word after its quotes are removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// The text without quotes; substitutions and variables as written.
    pub text: String,
    /// Whether a part of it was quoted.
    pub quoted: bool,
    /// Whether its value is known only when it runs.
    pub expands: bool,
    /// The commands inside `$(…)`, backticks and `<(…)`.
    pub inner: Vec<String>,
}

impl Word {
    /// Whether it is this word, written without quotes.
    pub fn is_bare(&self, text: &str) -> bool {
        !self.quoted && self.text == text
    }
}

/// A part of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// A word.
    Word(Word),
    /// `;`, `;;`, `&`, `&&`, `|`, `||`, `(` or `)`.
    Operator(&'static str),
    /// A redirection; its target is the next word.
    Redirect(String),
    /// The text of a heredoc.
    Heredoc(String),
    /// The end of a line.
    Newline,
}

/// The tokens of a command.
pub fn tokens(text: &str) -> Vec<Token> {
    let mut reader = Reader { chars: text.chars().collect(), at: 0, tokens: Vec::new(), pending: Vec::new() };
    reader.read();
    reader.tokens
}

struct Pending {
    token: usize,
    delimiter: String,
    strips_tabs: bool,
}

struct Reader {
    chars: Vec<char>,
    at: usize,
    tokens: Vec<Token>,
    pending: Vec<Pending>,
}

const OPERATORS: [&str; 9] = [";;", "&&", "||", "|&", ";", "&", "|", "(", ")"];

impl Reader {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn starts_with(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(at, c)| self.peek(at) == Some(c))
    }

    fn read(&mut self) {
        while let Some(c) = self.peek(0) {
            match c {
                '\n' => self.newline(),
                '\\' if self.peek(1) == Some('\n') => self.at += 2,
                c if c.is_whitespace() => self.at += 1,
                '#' => self.comment(),
                '<' | '>' if self.peek(1) != Some('(') => self.redirect(),
                '&' if self.peek(1) == Some('>') => self.redirect(),
                '(' if self.arithmetic() => {}
                ';' | '&' | '|' | '(' | ')' => self.operator(),
                '{' if self.starts_with("{{") && self.skip_block() => {}
                _ => self.word_or_descriptor(),
            }
        }
    }

    fn newline(&mut self) {
        self.at += 1;
        self.tokens.push(Token::Newline);
        for pending in std::mem::take(&mut self.pending) {
            self.tokens[pending.token] = Token::Heredoc(self.heredoc(&pending));
        }
    }

    fn comment(&mut self) {
        while self.peek(0).is_some_and(|c| c != '\n') {
            self.at += 1;
        }
    }

    fn line(&mut self) -> String {
        let start = self.at;
        self.comment();
        let line = self.chars[start..self.at].iter().collect();
        self.at += 1;
        line
    }

    fn heredoc(&mut self, pending: &Pending) -> String {
        let mut body = String::new();
        while self.at < self.chars.len() {
            let line = self.line();
            let text = if pending.strips_tabs { line.trim_start_matches('\t') } else { &line };
            if text == pending.delimiter {
                break;
            }
            body.push_str(text);
            body.push('\n');
        }
        body
    }

    fn operator(&mut self) {
        let found = OPERATORS.iter().find(|operator| self.starts_with(operator));
        let Some(operator) = found else { return self.at += 1 };
        self.at += operator.chars().count();
        self.tokens.push(Token::Operator(if *operator == "|&" { "|" } else { operator }));
    }

    /// Reads `((…))` as one calculation, not as two brackets.
    fn arithmetic(&mut self) -> bool {
        let Some(length) = self.calculation() else { return false };
        let text = self.chars[self.at + 2..self.at + 2 + length].iter().filter(|c| !c.is_whitespace());
        let text: String = text.collect();
        let expands = text.contains(|c: char| c.is_alphabetic() || c == '$');
        let plain = |text: &str| Word { text: text.to_owned(), ..Word::default() };
        let inner = Word { text, expands, ..Word::default() };
        self.tokens.extend([plain("(("), inner, plain("))")].map(Token::Word));
        self.at += length + 4;
        true
    }

    /// The length of the text between `((` and its `))`.
    fn calculation(&self) -> Option<usize> {
        if !self.starts_with("((") {
            return None;
        }
        let mut level = 0_usize;
        for length in 0..MAX_CALCULATION {
            match self.peek(2 + length)? {
                '(' => level += 1,
                ')' if level > 0 => level -= 1,
                ')' => return (self.peek(3 + length) == Some(')')).then_some(length),
                _ => {}
            }
        }
        None
    }

    fn redirect(&mut self) {
        let start = self.at;
        if self.starts_with("<<") && self.peek(2) != Some('<') {
            return self.open_heredoc();
        }
        while self.peek(0).is_some_and(|c| matches!(c, '<' | '>' | '&' | '|')) && self.at - start < 3 {
            self.at += 1;
        }
        self.tokens.push(Token::Redirect(self.chars[start..self.at].iter().collect()));
    }

    fn open_heredoc(&mut self) {
        self.at += 2;
        let strips_tabs = self.peek(0) == Some('-');
        self.at += usize::from(strips_tabs);
        while matches!(self.peek(0), Some(' ' | '\t')) {
            self.at += 1;
        }
        let delimiter = self.word().text;
        self.pending.push(Pending { token: self.tokens.len(), delimiter, strips_tabs });
        self.tokens.push(Token::Heredoc(String::new()));
    }

    /// Skips a template block tag. Blocks choose between texts; both are read.
    fn skip_block(&mut self) -> bool {
        let blocks = ["{{#if", "{{else}}", "{{/if}}"];
        if !blocks.iter().any(|block| self.starts_with(block)) {
            return false;
        }
        while self.peek(0).is_some() && !self.starts_with("}}") {
            self.at += 1;
        }
        self.at = (self.at + 2).min(self.chars.len());
        true
    }

    fn word_or_descriptor(&mut self) {
        let word = self.word();
        let descriptor =
            !word.quoted && !word.text.is_empty() && word.text.chars().all(|c| c.is_ascii_digit());
        if descriptor && matches!(self.peek(0), Some('<' | '>')) && self.peek(1) != Some('(') {
            self.redirect();
            if let Some(Token::Redirect(operator)) = self.tokens.last_mut() {
                operator.insert_str(0, &word.text);
            }
            return;
        }
        self.tokens.push(Token::Word(word));
    }

    fn word(&mut self) -> Word {
        let mut word = Word::default();
        while let Some(c) = self.peek(0) {
            match c {
                '\\' if self.peek(1) == Some('\n') => self.at += 2,
                '\\' => {
                    word.quoted = true;
                    word.text.extend(self.peek(1));
                    self.at += 2;
                }
                '\'' => self.single(&mut word),
                '"' => self.double(&mut word),
                // only outside other quotes: `$'…'`
                '$' if self.peek(1) == Some('\'') => self.at += 1,
                '$' | '`' => self.dollar(&mut word),
                '<' | '>' if self.peek(1) == Some('(') => self.substitution(&mut word, 1),
                '{' if self.starts_with("{{") => self.template(&mut word),
                '(' if word.text.ends_with('=') => self.substitution(&mut word, 0),
                ';' | '&' | '|' | '<' | '>' | '(' | ')' => break,
                c if c.is_whitespace() => break,
                c => {
                    word.text.push(c);
                    self.at += 1;
                }
            }
        }
        word
    }

    fn single(&mut self, word: &mut Word) {
        word.quoted = true;
        self.at += 1;
        while let Some(c) = self.peek(0) {
            self.at += 1;
            if c == '\'' {
                return;
            }
            word.text.push(c);
        }
    }

    fn double(&mut self, word: &mut Word) {
        word.quoted = true;
        self.at += 1;
        while let Some(c) = self.peek(0) {
            match c {
                '"' => return self.at += 1,
                '\\' => {
                    let escaped = self.peek(1);
                    if !matches!(escaped, Some('"' | '\\' | '$' | '`' | '\n')) {
                        word.text.push('\\');
                    }
                    word.text.extend(escaped.filter(|c| *c != '\n'));
                    self.at += 2;
                }
                '$' | '`' => self.dollar(word),
                '{' if self.starts_with("{{") => self.template(word),
                c => {
                    word.text.push(c);
                    self.at += 1;
                }
            }
        }
    }

    fn template(&mut self, word: &mut Word) {
        let rest = &self.chars[self.at..];
        let end = rest.windows(2).take(200).position(|pair| pair == ['}', '}']);
        let Some(end) = end else {
            word.text.push('{');
            return self.at += 1;
        };
        word.expands = true;
        word.text.extend(rest[..end + 2].iter().filter(|c| !c.is_whitespace()));
        self.at += end + 2;
    }

    fn dollar(&mut self, word: &mut Word) {
        match (self.peek(0), self.peek(1)) {
            (Some('`'), _) => {
                let start = self.at;
                self.at += 1;
                self.skip_until('`');
                self.take_inner(word, start, start + 1);
            }
            (_, Some('(')) => self.substitution(word, 1),
            (_, Some('{')) if self.peek(2) != Some('{') => {
                let start = self.at;
                self.at += 2;
                self.skip_balanced('{', '}', 0);
                word.expands = true;
                word.text.extend(&self.chars[start..self.at]);
            }
            (_, next) => {
                word.text.push('$');
                word.expands |= next.is_some_and(|c| c.is_alphanumeric() || "_?@*#!-".contains(c));
                self.at += 1;
            }
        }
    }

    /// A part in brackets; `before` characters come before its bracket.
    fn substitution(&mut self, word: &mut Word, before: usize) {
        let start = self.at;
        self.at += before + 1;
        self.skip_balanced('(', ')', 0);
        self.take_inner(word, start, start + before + 1);
    }

    fn take_inner(&mut self, word: &mut Word, start: usize, inner: usize) {
        word.expands = true;
        word.text.extend(&self.chars[start..self.at]);
        let end = self.at.saturating_sub(1).max(inner).min(self.chars.len());
        word.inner.push(self.chars[inner.min(end)..end].iter().collect());
    }

    fn skip_until(&mut self, close: char) {
        while let Some(c) = self.peek(0) {
            self.at += if c == '\\' { 2 } else { 1 };
            if c == close {
                break;
            }
        }
        self.at = self.at.min(self.chars.len());
    }

    fn skip_balanced(&mut self, open: char, close: char, depth: usize) {
        let mut level = 1;
        while let Some(c) = self.peek(0) {
            self.at += 1;
            match c {
                '\\' => self.at += 1,
                '\'' => self.skip_until_plain('\''),
                '"' if depth < MAX_DEPTH => self.skip_double(depth),
                c if c == open => level += 1,
                c if c == close => level -= 1,
                _ => {}
            }
            if level == 0 {
                break;
            }
        }
        self.at = self.at.min(self.chars.len());
    }

    fn skip_double(&mut self, depth: usize) {
        while let Some(c) = self.peek(0) {
            self.at += 1;
            match c {
                '"' => return,
                '\\' => self.at += 1,
                '$' if self.peek(0) == Some('(') => {
                    self.at += 1;
                    self.skip_balanced('(', ')', depth + 1);
                }
                _ => {}
            }
        }
    }

    fn skip_until_plain(&mut self, close: char) {
        while let Some(c) = self.peek(0) {
            self.at += 1;
            if c == close {
                return;
            }
        }
    }
}
