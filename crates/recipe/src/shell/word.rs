//! What a finished word means for the words after it, and which words bash evaluates as arithmetic.
//!
//! Knows the reserved words and the few builtins that evaluate their arguments; nothing else.

use std::mem;

use super::{
    Quoting, Symbol,
    frame::{Attributes, Builtin, Outlet, Position, Previous, Reads, Shape, Word},
    misuse::{Taken, is_shell, names},
    scanner::Scanner,
};

impl Scanner<'_, '_, '_> {
    /// Ends the word that is being read, if there is one.
    pub(super) fn finish_word(&mut self) {
        let Some(command) = self.command() else { return };
        if !command.word.started {
            return;
        }
        let word = mem::take(&mut command.word);
        match command.shape {
            Shape::Condition => self.condition_word(word),
            Shape::Array(_) => {}
            _ if mem::take(&mut command.redirecting) => {
                if command.position == Position::Command {
                    command.position = Position::Assigned;
                }
            }
            _ => self.command_word(word),
        }
    }

    /// Marks the holes from number `from` on that belong to the list of words that is open.
    pub(super) fn make_arithmetic(&mut self, from: usize) {
        let to = self.notes.holes.len();
        self.make_range_arithmetic(from, to);
    }

    fn make_range_arithmetic(&mut self, from: usize, to: usize) {
        let owner = self.frames.last().map_or(0, |frame| frame.owner);
        for hole in self.notes.holes.get_mut(from..to).unwrap_or_default() {
            if hole.is_part_of(owner) && !matches!(hole.quoting, Quoting::Comment | Quoting::Delimiter) {
                hole.quoting = Quoting::Arithmetic;
            }
        }
    }

    /// Ends a command. What it prints becomes a part of the word around it, and is evaluated where that is.
    pub(super) fn finish_command(&mut self) {
        let holes = self.notes.holes.len();
        let Some(command) = self.command() else { return };
        let from = mem::replace(&mut command.holes, holes);
        let (outlet, prints) = (command.output, matches!(command.name.as_str(), "echo" | "printf"));
        if !prints || outlet.owner == 0 {
            return;
        }
        if outlet.arithmetic {
            self.make_arithmetic(from);
        }
        let owner = self.frames.last().map_or(0, |frame| frame.owner);
        for hole in self.notes.holes.get_mut(from..).unwrap_or_default() {
            if hole.is_part_of(owner) {
                hole.printed_into = outlet.owner;
            }
        }
    }

    fn command_word(&mut self, word: Word) {
        let Some(command) = self.command() else { return };
        let text = if word.quoted { "" } else { word.text.as_str() };
        command.position = match (command.position, text) {
            (Position::Command, _) => return self.first_word(word),
            (Position::Assigned, _) => return self.name_word(word),
            (Position::Argument, _) => return self.argument(word),
            (Position::CaseWord, _) => Position::CaseIn,
            (Position::CaseIn, "in") => Position::FirstPattern,
            (Position::FirstPattern, "esac") => {
                command.cases = command.cases.saturating_sub(1);
                Position::Command
            }
            (Position::FirstPattern | Position::Pattern, _) => Position::Pattern,
            (Position::ForName, _) => Position::ForIn,
            (Position::ForIn, "do" | "{") | (Position::FunctionName, _) => Position::Command,
            (Position::ForIn, _) => Position::Argument,
            (other, _) => other,
        };
    }

    /// A word where reserved words count.
    fn first_word(&mut self, word: Word) {
        let Some(command) = self.command() else { return };
        match word.text.as_str() {
            _ if word.quoted => self.name_word(word),
            "case" => {
                command.cases += 1;
                command.position = Position::CaseWord;
            }
            "for" | "select" => command.position = Position::ForName,
            "function" => command.position = Position::FunctionName,
            "[[" => {
                command.position = Position::Argument;
                self.push_command(Shape::Condition, Outlet::default());
            }
            "esac" => command.cases = command.cases.saturating_sub(1),
            "if" | "then" | "else" | "elif" | "fi" | "while" | "until" | "do" | "done" | "{" | "}" | "!"
            | "time" | "coproc" => {}
            _ => self.name_word(word),
        }
    }

    /// An assignment before a command, or the command's name.
    fn name_word(&mut self, word: Word) {
        if let Some(name) = assigned_name(&word.text) {
            if self.notes.integers.contains(name) {
                self.make_arithmetic(word.holes);
            }
            if let Some(command) = self.command() {
                command.position = Position::Assigned;
            }
            return;
        }
        let Some(command) = self.command() else { return };
        if matches!(word.text.as_str(), "builtin" | "command") {
            command.position = Position::Assigned;
        } else {
            command.position = Position::Argument;
            command.builtin = builtin(&word.text);
            command.name.clone_from(&word.text);
            if is_shell(&word.text) {
                command.reads = Reads::Options;
            }
        }
    }

    fn argument(&mut self, word: Word) {
        self.look_at_argument(&word);
        let Some(command) = self.command() else { return };
        let after_v = command.previous.text == "-v";
        let after_p = command.previous.text.starts_with('-') && command.previous.text.ends_with('p');
        command.previous.text.clone_from(&word.text);
        match command.builtin {
            Builtin::Let => self.make_arithmetic(word.holes),
            Builtin::Declare(attributes) => self.declaration(&word, attributes),
            Builtin::Names if !after_p => self.element(&word),
            Builtin::NameAfterV if after_v => self.element(&word),
            _ => {}
        }
    }

    /// An argument of `declare` or its kin.
    fn declaration(&mut self, word: &Word, mut attributes: Attributes) {
        if let (Some(options), Some(command)) = (word.text.strip_prefix('-'), self.command()) {
            attributes.integer |= options.contains('i');
            attributes.associative |= options.contains('A');
            command.builtin = Builtin::Declare(attributes);
            return;
        }
        let name = assigned_name(&word.text).unwrap_or(&word.text);
        if attributes.associative {
            self.notes.associative.insert(name.to_owned());
        }
        if attributes.integer && is_identifier(name) {
            self.notes.integers.insert(name.to_owned());
        }
        if attributes.integer || self.notes.integers.contains(name) {
            self.make_arithmetic(word.holes);
        } else if !word.text.contains('=') {
            self.element(word);
        }
    }

    /// A word that names a variable: if it names an element of an array, bash evaluates the subscript.
    fn element(&mut self, word: &Word) {
        let written = self.symbols.get(word.start..self.at).unwrap_or_default();
        let plain = written.iter().filter(|symbol| !matches!(symbol, Symbol::Char('"' | '\'' | '\\' | '$')));
        let name: String = plain
            .map_while(|symbol| match symbol {
                Symbol::Char(c) if *c != '[' => Some(*c),
                _ => None,
            })
            .collect();
        let subscripted = written.contains(&Symbol::Char('['));
        if subscripted && is_identifier(&name) && !self.notes.associative.contains(&name) {
            self.make_arithmetic(word.holes);
        }
    }

    fn condition_word(&mut self, word: Word) {
        let text = if word.quoted { "" } else { word.text.as_str() };
        let holes = self.notes.holes.len();
        let Some(command) = self.command() else { return };
        let current = Previous { text: text.to_owned(), holes: word.holes..holes };
        let previous = mem::replace(&mut command.previous, current);
        match text {
            "]]" => {
                self.frames.pop();
            }
            _ if compares_numbers(text) => {
                self.make_range_arithmetic(previous.holes.start, previous.holes.end)
            }
            _ if compares_numbers(&previous.text) => self.make_arithmetic(word.holes),
            _ if previous.text == "-v" => {
                if names(self.symbols.get(word.start..self.at).unwrap_or_default()) {
                    self.misused(&word, Taken::Name, "[[ -v".to_owned());
                }
                self.element(&word);
            }
            _ => {}
        }
    }
}

fn compares_numbers(operator: &str) -> bool {
    matches!(operator, "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge")
}

fn builtin(name: &str) -> Builtin {
    match name {
        "let" => Builtin::Let,
        "declare" | "typeset" | "local" | "readonly" | "export" => Builtin::Declare(Attributes::default()),
        "unset" | "read" | "mapfile" | "readarray" => Builtin::Names,
        "printf" | "test" | "[" => Builtin::NameAfterV,
        "eval" => Builtin::Eval,
        "trap" => Builtin::Trap,
        _ => Builtin::Other,
    }
}

pub(super) fn is_identifier(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The name that a word assigns to: `a=…`, `a+=…`, `a[…]=…`.
fn assigned_name(text: &str) -> Option<&str> {
    let (name, _) = text.split_once('=')?;
    let name = name.strip_suffix('+').unwrap_or(name);
    let name = name.strip_suffix("[]").unwrap_or(name);
    is_identifier(name).then_some(name)
}

/// The name of the array that starts after this word: `a=` or `a+=`.
pub(super) fn array_name(text: &str) -> Option<&str> {
    assigned_name(text).filter(|_| text.ends_with('=') && text.matches('=').count() == 1)
}
