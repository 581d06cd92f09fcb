//! Cuts a task into clauses: the parts that can each hold one request.
//!
//! Never decides what a clause asks for.

use super::{
    prose::Prose,
    words::{has, phrase_at, words},
};

/// What stands before a clause, from the weakest cut to the strongest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cut {
    Comma,
    And,
    Then,
    /// `;` or `:`.
    Mark,
    /// The end of a sentence or a line, or the mark of a list.
    Sentence,
}

/// A word of a clause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ClauseWord {
    /// As written, without punctuation around it.
    pub(super) raw: String,
    /// In lower case, letters and digits at both ends; empty for code in backticks.
    pub(super) lower: String,
    /// Whether it opens a bracket.
    pub(super) opens: bool,
}

/// A part of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Clause {
    pub(super) words: Vec<ClauseWord>,
    /// What stands before it.
    pub(super) cut: Cut,
    /// Whether it begins an item of a list.
    pub(super) is_item: bool,
    /// Whether its sentence ends with a question mark.
    pub(super) is_question: bool,
    /// Whether its sentence asks for something up to here: `can you …`.
    asks: bool,
}

impl Clause {
    /// Its words in lower case.
    pub(super) fn lower(&self) -> Vec<&str> {
        self.words.iter().map(|word| word.lower.as_str()).collect()
    }

    /// Its words after the fillers, unless it is a question.
    pub(super) fn request(&self) -> &[ClauseWord] {
        if self.is_question && !self.asks {
            return &[];
        }
        self.request_or_question()
    }

    /// Its words after the fillers, also if it is a question.
    pub(super) fn request_or_question(&self) -> &[ClauseWord] {
        &self.words[self.fillers().0..]
    }

    /// How many words of fillers it begins with, and whether one of them asks.
    fn fillers(&self) -> (usize, bool) {
        let lower = self.lower();
        let known = &words().fillers;
        let (mut at, mut asks) = (0, false);
        loop {
            let rest = &lower[at..];
            if let Some(count) = phrase_at(&known.asks, rest) {
                asks = true;
                at += count;
            } else if let Some(count) = phrase_at(&known.plain, rest) {
                at += count;
            } else {
                return (at, asks);
            }
        }
    }
}

/// The clauses of a text.
pub(super) fn clauses(text: &str) -> Vec<Clause> {
    let prose = Prose::new(text);
    let mut cutter = Cutter::new(&prose);
    for line in prose.text.split(['\n', '\r', '\u{2028}', '\u{2029}']) {
        cutter.line(line);
    }
    cutter.found
}

/// Whether all sentences of a text are questions.
pub(super) fn is_all_questions(text: &str) -> bool {
    let clauses = clauses(text);
    !clauses.is_empty() && clauses.iter().all(|clause| clause.is_question)
}

struct Cutter<'a> {
    prose: &'a Prose,
    found: Vec<Clause>,
    words: Vec<ClauseWord>,
    cut: Cut,
    is_item: bool,
    /// The first clause of the sentence.
    sentence: usize,
    /// The number of the last list mark inside a line.
    last_mark: u32,
}

impl<'a> Cutter<'a> {
    fn new(prose: &'a Prose) -> Cutter<'a> {
        Cutter {
            prose,
            found: Vec::new(),
            words: Vec::new(),
            cut: Cut::Sentence,
            is_item: false,
            sentence: 0,
            last_mark: 0,
        }
    }

    fn line(&mut self, line: &str) {
        self.end_sentence(false);
        let mut has_bullets = false;
        for (at, token) in line.split_whitespace().enumerate() {
            let is_bullet = matches!(token, "-" | "*" | "+" | "•" | "–" | "◦" | "▪" | "·");
            if is_bullet && (at == 0 || has_bullets || token == "•") {
                has_bullets = true;
                self.begin_item();
            } else if let Some(number) = list_mark(token).filter(|number| self.is_next_mark(*number, at)) {
                self.last_mark = number;
                self.begin_item();
            } else {
                self.token(token);
            }
        }
        self.end_sentence(false);
    }

    /// Whether a number in front of something is the mark of an item: it begins a line, or continues a list.
    fn is_next_mark(&self, number: u32, at: usize) -> bool {
        at == 0 || number == 1 || number == self.last_mark + 1
    }

    fn begin_item(&mut self) {
        self.end_sentence(false);
        self.is_item = true;
    }

    fn token(&mut self, token: &str) {
        let mut start = 0;
        for (at, c) in token.char_indices() {
            if let Some(cut) = cut_at(token, at, c) {
                self.piece(&token[start..at]);
                start = at + c.len_utf8();
                self.end_clause(cut);
            }
        }
        self.piece(&token[start..]);
        if let Some(is_question) = sentence_end(token) {
            self.end_sentence(is_question);
        }
    }

    fn piece(&mut self, text: &str) {
        match cut_word(text) {
            Some(cut) => self.end_clause(cut),
            None => self.word(text),
        }
    }

    fn word(&mut self, text: &str) {
        let opens = text.starts_with(['(', '[', '{']);
        let lower = text.trim_matches(|c: char| !c.is_alphanumeric());
        let marked = text.trim_matches(|c: char| c.is_ascii_punctuation());
        if let Some(code) = self.prose.code(marked) {
            let raw = code.to_owned();
            self.words.push(ClauseWord { raw, lower: String::new(), opens });
        } else if !lower.is_empty() {
            let raw = text
                .trim_start_matches(['(', '[', '{', '<', '"', '\'', '*', '_', '“', '‘'])
                .trim_end_matches([']', '}', '>', '"', '\'', '*', '_', '.', ',', '!', '?', ':', '”', '’']);
            let raw = if raw.contains('(') { raw } else { raw.trim_end_matches([')', '.', ',', '!', '?']) };
            let lower = lower.to_lowercase().replace('’', "'");
            self.words.push(ClauseWord { raw: raw.to_owned(), lower, opens });
        }
    }

    fn end_clause(&mut self, cut: Cut) {
        if self.words.is_empty() {
            self.cut = self.cut.max(cut);
            return;
        }
        let words = std::mem::take(&mut self.words);
        let is_item = std::mem::take(&mut self.is_item);
        let mut clause = Clause { words, cut: self.cut, is_item, is_question: false, asks: false };
        let asked = self.found[self.sentence..].last().is_some_and(|before| before.asks);
        clause.asks = asked || clause.fillers().1;
        self.found.push(clause);
        self.cut = cut;
    }

    fn end_sentence(&mut self, is_question: bool) {
        self.end_clause(Cut::Sentence);
        for clause in &mut self.found[self.sentence..] {
            clause.is_question = is_question;
        }
        self.sentence = self.found.len();
    }
}

/// The cut that a whole word makes.
fn cut_word(text: &str) -> Option<Cut> {
    let word = text.trim_matches(|c: char| !c.is_alphanumeric());
    if word.eq_ignore_ascii_case("and") {
        Some(Cut::And)
    } else if word.eq_ignore_ascii_case("then") {
        Some(Cut::Then)
    } else {
        None
    }
}

/// The cut that a character inside a token makes: not in `1,000`, `a::b`, `https://`, `C:\` and `a.rs:12`.
fn cut_at(token: &str, at: usize, c: char) -> Option<Cut> {
    let before = token[..at].chars().next_back();
    let after = token[at + c.len_utf8()..].chars().next();
    let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    match c {
        ';' => Some(Cut::Mark),
        ',' if digit(before) && digit(after) => None,
        ',' => Some(Cut::Comma),
        ':' if before == Some(':') || matches!(after, Some(':' | '/' | '\\')) || digit(after) => None,
        ':' => Some(Cut::Mark),
        _ => None,
    }
}

/// Whether a token ends a sentence, and whether that is a question.
fn sentence_end(token: &str) -> Option<bool> {
    let bare = token.trim_end_matches([')', ']', '}', '"', '\'', '”', '’', '»', '*', '_']);
    let lower = bare.trim_start_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    if matches!(lower.as_str(), "e.g." | "i.e.") {
        return None;
    }
    match bare.chars().next_back()? {
        '?' | '？' => Some(true),
        '!' if bare.trim_end_matches('!').ends_with('?') => Some(true),
        '.' | '!' | '…' | '。' | '！' => Some(false),
        _ => None,
    }
}

/// The number of a list mark: `1.`, `1)`, `(1)`, and the same with letters in brackets.
fn list_mark(token: &str) -> Option<u32> {
    let inner = match token.strip_prefix('(') {
        Some(rest) => rest.strip_suffix(')')?,
        None => token.strip_suffix([')', '.'])?,
    };
    if inner.len() > 3 || inner.is_empty() {
        return None;
    }
    match inner.parse() {
        Ok(number) => Some(number),
        Err(_) => {
            let letter = inner.bytes().next().filter(|byte| byte.is_ascii_lowercase() && inner.len() == 1)?;
            token.ends_with(')').then(|| u32::from(letter - b'a') + 1)
        }
    }
}

/// The object of a verb: the words after it, up to a preposition or `that`.
pub(super) fn object(after_verb: &[ClauseWord]) -> &[ClauseWord] {
    let ends =
        |(at, word): (usize, &ClauseWord)| (at > 0 && word.opens) || has(&words().object_ends, &word.lower);
    let end = after_verb.iter().enumerate().position(ends).unwrap_or(after_verb.len());
    let is_tail = |word: &&ClauseWord| has(&words().object_tails, &word.lower);
    let tails = after_verb[..end].iter().rev().take_while(is_tail).count();
    &after_verb[..end - tails]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> String {
        let joined = |clause: &Clause| {
            let words: Vec<&str> = clause.words.iter().map(|word| word.raw.as_str()).collect();
            format!("{}{}", words.join(" "), if clause.is_question { "?" } else { "" })
        };
        clauses(text).iter().map(joined).collect::<Vec<_>>().join(" | ")
    }

    #[test]
    fn a_text_is_cut_into_clauses() {
        for (text, expected) in [
            ("Add a, b; c: d.", "Add a | b | c | d"),
            ("a and b then c", "a | b | c"),
            ("a, and then b", "a | b"),
            ("Fix src/main.rs:12 in v1.2, please", "Fix src/main.rs:12 in v1.2 | please"),
            ("pay 1,000 at 12:30 to a::b https://x.y/z", "pay 1,000 at 12:30 to a::b https://x.y/z"),
            ("(1) add login (2) add logout", "add login | add logout"),
            ("1. a\n2. b", "a | b"),
            ("- a\n* b\n• c", "a | b | c"),
            ("use version 2. now", "use version 2 | now"),
            ("Is it? Add it!", "Is it? | Add it"),
            ("Is it, and why?", "Is it? | why?"),
            ("a\nb", "a | b"),
            ("**Add** a _flag_.", "Add a flag"),
            ("sand then, android", "sand | android"),
            ("", ""),
        ] {
            assert_eq!(cut(text), expected, "{text}");
        }
    }
}
