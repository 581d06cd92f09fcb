//! The effect of a finished word on the words after it, and which words bash evaluates as arithmetic.
//!
//! Knows the reserved words and the few builtins that evaluate their arguments; nothing else.

use std::mem;

use super::{
    Quoting, Symbol,
    frame::{ArgumentRole, Attributes, Builtin, ListShape, Outlet, Position, Previous, Redirect, Word},
    misuse::{MisuseKind, is_shell, names},
    scanner::Scanner,
};

/// The length of a quoted word that is searched: longer than any text that is searched for.
const MAX_TEXT: usize = 250;

/// The longest name of a variable that is looked into, with its subscript: words may be nested deeply.
pub(super) const LONGEST_NAME: usize = 5_000;

impl Scanner<'_, '_, '_> {
    /// Ends the word that is being read, if there is one.
    pub(super) fn finish_word(&mut self) {
        let Some(command) = self.command() else { return };
        if !command.word.started {
            return;
        }
        let mut word = mem::take(&mut command.word);
        match command.shape {
            ListShape::Condition => return self.condition_word(word),
            ListShape::Array(_) => return,
            _ => {}
        }
        if let Some(redirect) = command.redirecting.take() {
            return self.target(&word, redirect);
        }
        word.spelled = if word.quoted { spell(self.written(&word)) } else { word.text.clone() };
        self.command_word(word);
    }

    /// A word that a redirection is given.
    fn target(&mut self, word: &Word, redirect: Redirect) {
        let Some(command) = self.command() else { return };
        if command.position == Position::Command {
            command.position = Position::Assigned;
        }
        if redirect == Redirect::Text && command.fills_integer {
            self.make_arithmetic(word.holes);
        }
    }

    /// The symbols of a word that has just ended.
    pub(super) fn written(&self, word: &Word) -> &[Symbol] {
        self.symbols.get(word.start..self.at).unwrap_or_default()
    }

    /// Marks the holes from number `from` on that belong to the list of words that is open.
    pub(super) fn make_arithmetic(&mut self, from: usize) {
        let to = self.facts.holes.len();
        self.make_range_arithmetic(from, to);
    }

    fn make_range_arithmetic(&mut self, from: usize, to: usize) {
        let owner = self.outlet().owner;
        for hole in self.facts.holes.get_mut(from..to).unwrap_or_default() {
            if hole.is_part_of(owner) && !matches!(hole.quoting, Quoting::Comment | Quoting::Delimiter) {
                hole.quoting = Quoting::Arithmetic;
            }
        }
    }

    /// Ends a command. Its output becomes a part of the word around it, and is evaluated there.
    pub(super) fn finish_command(&mut self) {
        let holes = self.facts.holes.len();
        let Some(command) = self.command() else { return };
        let from = mem::replace(&mut command.holes, holes);
        let (outlet, prints) = (command.output, matches!(command.name.as_str(), "echo" | "printf"));
        if !prints || outlet.owner == 0 {
            return;
        }
        if outlet.arithmetic {
            self.make_arithmetic(from);
        }
        let owner = self.outlet().owner;
        for hole in self.facts.holes.get_mut(from..).unwrap_or_default() {
            if hole.is_part_of(owner) {
                hole.printed_into = outlet.owner;
            }
        }
    }

    fn command_word(&mut self, word: Word) {
        let integer = self.facts.is_integer(&word.text);
        let Some(command) = self.command() else { return };
        let text = if word.quoted { "" } else { word.text.as_str() };
        command.position = match (command.position, text) {
            (Position::Command, _) => return self.first_word(word),
            (Position::Coproc, _) => return self.coproc_word(word),
            (Position::CoprocRest, text) if begins_compound(text) => {
                command.restart();
                return self.first_word(word);
            }
            (Position::CoprocRest, _) => {
                command.position = Position::Argument;
                return self.argument(word);
            }
            (Position::Assigned, _) => return self.name_word(word),
            (Position::Argument, _) => return self.argument(word),
            (Position::CaseWord, _) => Position::CaseIn,
            (Position::CaseIn, "in") => Position::FirstPattern,
            (Position::FirstPattern, "esac") => Position::Command,
            (Position::FirstPattern | Position::Pattern, _) => Position::Pattern,
            (Position::ForName, _) => {
                // the values of the loop are assigned to the name
                command.builtin = if integer { Builtin::Let } else { Builtin::Other };
                Position::ForIn
            }
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
            "case" => command.position = Position::CaseWord,
            "for" | "select" => command.position = Position::ForName,
            "function" => command.position = Position::FunctionName,
            "[[" => self.push_command(ListShape::Condition, Outlet::default()),
            "coproc" => command.position = Position::Coproc,
            "fi" | "done" | "esac" | "}" => {}
            text if precedes_command(text) => {}
            _ => self.name_word(word),
        }
    }

    fn coproc_word(&mut self, word: Word) {
        if let Some(command) = self.command() {
            command.position = Position::Command;
        }
        let may_be_name = !begins_compound(&word.text);
        self.first_word(word);
        if let Some(command) = self.command()
            && may_be_name
            && command.position == Position::Argument
        {
            command.position = Position::CoprocRest;
        }
    }

    /// An assignment before a command, or the command's name.
    fn name_word(&mut self, word: Word) {
        if let Some(name) = assigned_name(&word.text) {
            if self.facts.is_integer(name) {
                self.make_arithmetic(word.holes);
            }
            if self.facts.references.contains(name) {
                self.misused(&word, MisuseKind::Name, "declare -n".to_owned());
            }
            if let Some(command) = self.command() {
                command.position = Position::Assigned;
            }
            return;
        }
        let Some(command) = self.command() else { return };
        match word.spelled.as_str() {
            "builtin" | "command" => command.position = Position::Assigned,
            // options of these two, and of `time`
            "-p" | "--" => {}
            name => {
                command.position = Position::Argument;
                command.builtin = builtin(name);
                command.name = name.to_owned();
                if is_shell(name) {
                    command.reads = ArgumentRole::Options;
                }
            }
        }
    }

    fn argument(&mut self, word: Word) {
        let Some(command) = self.command() else { return };
        let builtin = command.builtin;
        self.look_at_argument(&word);
        match builtin {
            Builtin::Let => self.make_arithmetic(word.holes),
            Builtin::Declare(attributes) => self.declaration(&word, attributes),
            _ => {}
        }
        if let Some(command) = self.command() {
            command.previous.text = word.spelled;
        }
    }

    /// An argument of `declare` or its kin.
    fn declaration(&mut self, word: &Word, mut attributes: Attributes) {
        if let (Some(options), Some(command)) = (word.spelled.strip_prefix('-'), self.command()) {
            attributes.integer |= options.contains('i');
            attributes.associative |= options.contains('A');
            attributes.reference |= options.contains('n');
            command.builtin = Builtin::Declare(attributes);
            return;
        }
        let name = assigned_name(&word.spelled).unwrap_or(&word.spelled);
        if attributes.associative {
            self.facts.declare_associative(name);
        }
        if attributes.reference {
            self.facts.references.insert(name.to_owned());
        }
        if attributes.integer {
            self.facts.integers.insert(name.to_owned());
        }
        if self.facts.is_integer(name) {
            self.make_arithmetic(word.holes);
        }
    }

    /// A word that names a variable: if it names an element of an array, bash evaluates the subscript. The subscript of
    /// an associative array is expanded once more, so it is not safer.
    pub(super) fn element(&mut self, word: &Word) {
        let written = self.written(word);
        if written.len() > LONGEST_NAME {
            return self.make_arithmetic(word.holes);
        }
        let name = written.iter().take_while(|symbol| !matches!(symbol, Symbol::Char('[' | '='))).count();
        let (before, rest) = written.split_at(name);
        let end = rest.windows(2).position(|pair| pair == [Symbol::Char(']'), Symbol::Char('=')]);
        let subscript = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        if subscript.first() == Some(&Symbol::Char('[')) {
            let from = word.holes + count_holes(before);
            let to = from + count_holes(subscript);
            self.make_range_arithmetic(from, to);
        }
    }

    fn condition_word(&mut self, word: Word) {
        let text = if word.quoted { "" } else { word.text.as_str() };
        let holes = self.facts.holes.len();
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
                if names(self.written(&word)) {
                    self.misused(&word, MisuseKind::Name, "[[ -v".to_owned());
                }
                // `[[` knows the keys of an associative array, unless the bracket itself is quoted
                let name = word.text.split_once('[').map(|(name, _)| name);
                if !name.is_some_and(|name| self.facts.is_associative(name)) {
                    self.element(&word);
                }
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
        "printf" | "test" | "[" => Builtin::NameAfter('v'),
        "wait" => Builtin::NameAfter('p'),
        "eval" => Builtin::Eval,
        "trap" => Builtin::Trap,
        "compgen" | "complete" => Builtin::Completion,
        _ => Builtin::Other,
    }
}

pub(super) fn is_identifier(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether a reserved word is followed by a command, as in `then((x = 1))`.
pub(super) fn precedes_command(text: &str) -> bool {
    matches!(text, "if" | "then" | "else" | "elif" | "while" | "until" | "do" | "{" | "!" | "time" | "coproc")
}

fn begins_compound(text: &str) -> bool {
    matches!(text, "{" | "[[" | "if" | "while" | "until" | "for" | "select" | "case")
}

fn count_holes(symbols: &[Symbol]) -> usize {
    symbols.iter().filter(|symbol| matches!(symbol, Symbol::Hole(_))).count()
}

/// A word without its quotes, as far as it is looked at; a hole is a `$`.
fn spell(written: &[Symbol]) -> String {
    let start = written.get(..MAX_TEXT).unwrap_or(written);
    let plain = |symbol| match symbol {
        Symbol::Char(c) => c,
        Symbol::Hole(_) => '$',
    };
    unquote(start).into_iter().map(plain).collect()
}

/// Takes the quotes away, as bash does it with the name of a command and with the delimiter of a heredoc.
pub(super) fn unquote(written: &[Symbol]) -> Vec<Symbol> {
    let (mut plain, mut quote, mut symbols) = (Vec::new(), None, written.iter().copied().peekable());
    while let Some(symbol) = symbols.next() {
        let next = symbols.peek().copied();
        match (symbol, quote) {
            (Symbol::Char('\\'), None) => {
                plain.extend(symbols.next().filter(|next| *next != Symbol::Char('\n')))
            }
            (Symbol::Char('\\'), Some('"')) if matches!(next, Some(Symbol::Char('"' | '\\' | '$' | '`'))) => {
                plain.extend(symbols.next());
            }
            (Symbol::Char(c), Some(open)) if c == open => quote = None,
            (Symbol::Char(c @ ('\'' | '"')), None) => quote = Some(c),
            (Symbol::Char('$'), None) if matches!(next, Some(Symbol::Char('\'' | '"'))) => {}
            _ => plain.push(symbol),
        }
    }
    plain
}

/// The name that a word assigns to: `a=…`, `a+=…`, `a[…]=…`.
fn assigned_name(text: &str) -> Option<&str> {
    let (name, _) = text.split_once('=')?;
    let name = name.strip_suffix('+').unwrap_or(name);
    let name = name.split_once('[').map_or(name, |(name, _)| name);
    is_identifier(name).then_some(name)
}

/// The name of the array that starts after this word: `a=` or `a+=`.
pub(super) fn array_name(text: &str) -> Option<&str> {
    assigned_name(text).filter(|_| text.ends_with('='))
}
