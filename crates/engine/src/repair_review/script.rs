//! The structure of a shell command: lists, pipelines, branches, loops and functions.
//!
//! Never fails: text that does not fit the grammar is read as plain commands.

use super::words::{Token, Word, tokens};

/// The deepest nesting of compound commands to follow.
const MAX_DEPTH: usize = 60;

/// Commands in sequence.
pub type List = Vec<Item>;

/// Pipelines joined by `&&` and `||`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Item {
    /// The pipelines, each with the link to the one before.
    pub chain: Vec<(Link, Pipeline)>,
    /// Whether the script does not wait for it.
    pub background: bool,
}

/// The link between two pipelines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// It is the first one.
    Start,
    /// `&&`.
    And,
    /// `||`.
    Or,
}

/// Commands joined by `|`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pipeline {
    /// Whether its status is negated by `!`.
    pub negated: bool,
    /// The commands.
    pub commands: Vec<Command>,
}

/// One command with its redirections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Its kind.
    pub kind: Kind,
    /// Operator and target of each redirection; the text of a heredoc has the operator `<<`.
    pub redirects: Vec<(String, Word)>,
}

/// The kind of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A program with its words, after the assignments before it.
    Simple {
        /// `NAME=value` before the program.
        assignments: Vec<Word>,
        /// The program and its arguments.
        words: Vec<Word>,
    },
    /// `{ …; }`.
    Group(List),
    /// `( … )`.
    Subshell(List),
    /// `if … then … elif … else … fi`.
    If {
        /// Conditions and their bodies.
        arms: Vec<(List, List)>,
        /// The body of `else`.
        otherwise: Option<List>,
    },
    /// `while`, `until`.
    Loop {
        /// Whether it runs until its condition holds.
        until: bool,
        /// The condition.
        condition: List,
        /// The body.
        body: List,
    },
    /// `for`, `select`.
    For {
        /// The values; the first word is the variable.
        words: Vec<Word>,
        /// The body.
        body: List,
    },
    /// `case`.
    Case {
        /// The subject.
        subject: Vec<Word>,
        /// Patterns and their bodies.
        arms: Vec<(Vec<Word>, List)>,
    },
    /// A function definition.
    Function {
        /// Its name.
        name: String,
        /// Its body.
        body: List,
    },
}

/// Parses a command.
pub fn parse(text: &str) -> List {
    let mut parser = Parser { tokens: tokens(text), at: 0, depth: 0 };
    let mut list = parser.list(&[]);
    while parser.peek().is_some() {
        parser.at += 1;
        list.extend(parser.list(&[]));
    }
    list
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
}

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn at_operator(&self, operator: &str) -> bool {
        matches!(self.peek(), Some(Token::Operator(found)) if *found == operator)
    }

    fn at_word(&self, words: &[&str]) -> bool {
        matches!(self.peek(), Some(Token::Word(word)) if words.iter().any(|text| word.is_bare(text)))
    }

    fn take_operator(&mut self, operator: &str) -> bool {
        let found = self.at_operator(operator);
        self.at += usize::from(found);
        found
    }

    fn take_word(&mut self, text: &str) -> bool {
        let found = self.at_word(&[text]);
        self.at += usize::from(found);
        found
    }

    fn skip_newlines(&mut self) {
        while matches!(self.peek(), Some(Token::Newline)) {
            self.at += 1;
        }
    }

    /// Commands up to a closing word or bracket, which is not consumed.
    fn list(&mut self, until: &[&str]) -> List {
        let mut list = List::new();
        loop {
            if self.peek().is_none() || self.at_operator(")") || self.at_operator(";;") || self.at_word(until)
            {
                return list;
            }
            let before = self.at;
            let mut item = self.item();
            item.background = self.at_operator("&");
            if self.at == before {
                // a separator, or a token that does not fit
                self.at += 1;
            } else {
                list.push(item);
            }
        }
    }

    fn item(&mut self) -> Item {
        let mut item = Item { chain: vec![(Link::Start, self.pipeline())], ..Item::default() };
        loop {
            let link = match self.peek() {
                Some(Token::Operator("&&")) => Link::And,
                Some(Token::Operator("||")) => Link::Or,
                _ => return item,
            };
            self.at += 1;
            self.skip_newlines();
            item.chain.push((link, self.pipeline()));
        }
    }

    fn pipeline(&mut self) -> Pipeline {
        let mut pipeline = Pipeline::default();
        loop {
            if self.take_word("!") {
                pipeline.negated = !pipeline.negated;
            } else if !(self.at_word(&["time"]) && self.take_word("time")) {
                break;
            }
        }
        loop {
            pipeline.commands.extend(self.command());
            if !self.take_operator("|") {
                return pipeline;
            }
            self.skip_newlines();
        }
    }

    fn command(&mut self) -> Option<Command> {
        if self.depth >= MAX_DEPTH {
            return self.simple();
        }
        self.depth += 1;
        let kind = self.compound();
        self.depth -= 1;
        match kind {
            Some(kind) => {
                let mut command = Command { kind, redirects: Vec::new() };
                while self.redirect(&mut command.redirects) {}
                Some(command)
            }
            None => self.simple(),
        }
    }

    fn compound(&mut self) -> Option<Kind> {
        if self.take_operator("(") {
            let body = self.list(&[]);
            self.take_operator(")");
            return Some(Kind::Subshell(body));
        }
        let Some(Token::Word(word)) = self.peek() else { return None };
        if word.quoted {
            return None;
        }
        match word.text.as_str() {
            "{" => {
                self.at += 1;
                let body = self.list(&["}"]);
                self.take_word("}");
                Some(Kind::Group(body))
            }
            "if" => Some(self.branch()),
            "while" | "until" => {
                let until = self.at_word(&["until"]);
                self.at += 1;
                let condition = self.list(&["do"]);
                Some(Kind::Loop { until, condition, body: self.body() })
            }
            "for" | "select" => Some(self.for_loop()),
            "case" => Some(self.case()),
            "function" => {
                self.at += 1;
                self.function()
            }
            _ if self.defines_function() => self.function(),
            _ => None,
        }
    }

    fn branch(&mut self) -> Kind {
        let (mut arms, mut otherwise) = (Vec::new(), None);
        while self.take_word("if") || self.take_word("elif") {
            let condition = self.list(&["then"]);
            self.take_word("then");
            arms.push((condition, self.list(&["elif", "else", "fi"])));
        }
        if self.take_word("else") {
            otherwise = Some(self.list(&["fi"]));
        }
        self.take_word("fi");
        Kind::If { arms, otherwise }
    }

    fn body(&mut self) -> List {
        self.take_word("do");
        let body = self.list(&["done"]);
        self.take_word("done");
        body
    }

    fn for_loop(&mut self) -> Kind {
        self.at += 1;
        let mut words = Vec::new();
        while !self.at_word(&["do"]) {
            match self.peek() {
                Some(Token::Word(word)) => words.push(word.clone()),
                Some(_) => {}
                None => break,
            }
            self.at += 1;
        }
        Kind::For { words, body: self.body() }
    }

    fn case(&mut self) -> Kind {
        self.at += 1;
        let (mut subject, mut arms) = (Vec::new(), Vec::new());
        while self.peek().is_some() && !self.take_word("in") {
            self.take_any(&mut subject);
        }
        loop {
            self.skip_newlines();
            if self.peek().is_none() || self.take_word("esac") {
                return Kind::Case { subject, arms };
            }
            let mut patterns = Vec::new();
            while self.peek().is_some() && !self.take_operator(")") {
                self.take_any(&mut patterns);
            }
            arms.push((patterns, self.list(&["esac"])));
            self.take_operator(";;");
        }
    }

    /// Consumes a token, and keeps it if it is a word.
    fn take_any(&mut self, words: &mut Vec<Word>) {
        if let Some(Token::Word(word)) = self.peek() {
            words.push(word.clone());
        }
        self.at += 1;
    }

    fn defines_function(&self) -> bool {
        let is = |ahead: usize, operator| matches!(self.tokens.get(self.at + ahead), Some(Token::Operator(found)) if *found == operator);
        is(1, "(") && is(2, ")")
    }

    fn function(&mut self) -> Option<Kind> {
        let Some(Token::Word(word)) = self.peek() else { return None };
        let name = word.text.clone();
        self.at += 1;
        if self.take_operator("(") {
            self.take_operator(")");
        }
        self.skip_newlines();
        let body = self.command()?;
        let item = Pipeline { negated: false, commands: vec![body] };
        Some(Kind::Function {
            name,
            body: vec![Item { chain: vec![(Link::Start, item)], background: false }],
        })
    }

    fn redirect(&mut self, redirects: &mut Vec<(String, Word)>) -> bool {
        match self.peek() {
            Some(Token::Heredoc(body)) => {
                redirects.push(("<<".to_owned(), Word { text: body.clone(), ..Word::default() }));
                self.at += 1;
            }
            Some(Token::Redirect(operator)) => {
                let operator = operator.clone();
                self.at += 1;
                if let Some(Token::Word(word)) = self.peek() {
                    redirects.push((operator, word.clone()));
                    self.at += 1;
                }
            }
            _ => return false,
        }
        true
    }

    fn simple(&mut self) -> Option<Command> {
        let (mut assignments, mut words, mut redirects) = (Vec::new(), Vec::<Word>::new(), Vec::new());
        loop {
            if !in_test(&words) && self.redirect(&mut redirects) {
                continue;
            }
            match self.peek() {
                // only `<` and `>` of `[[ … ]]` are left, which compare
                Some(Token::Redirect(operator)) => {
                    words.push(Word { text: operator.clone(), ..Word::default() });
                }
                Some(Token::Word(word)) if words.is_empty() && is_assignment(word) => {
                    assignments.push(word.clone());
                }
                Some(Token::Word(word)) => words.push(word.clone()),
                // the operators of `[[ … ]]` are part of its words
                Some(Token::Operator(operator)) if in_test(&words) => {
                    words.push(Word { text: (*operator).to_owned(), ..Word::default() });
                }
                _ => break,
            }
            self.at += 1;
        }
        let is_empty = assignments.is_empty() && words.is_empty() && redirects.is_empty();
        (!is_empty).then_some(Command { kind: Kind::Simple { assignments, words }, redirects })
    }
}

fn in_test(words: &[Word]) -> bool {
    words.first().is_some_and(|word| word.is_bare("[["))
        && words.last().is_some_and(|word| !word.is_bare("]]"))
}

pub(super) fn is_assignment(word: &Word) -> bool {
    let Some((name, _)) = word.text.split_once('=') else { return false };
    let name = name.strip_suffix('+').unwrap_or(name);
    let name = name.split('[').next().unwrap_or_default();
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
