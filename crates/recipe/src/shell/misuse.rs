//! Values that a command takes for code or for the name of a variable, where quoting helps nothing.
//!
//! Only says so; the script is written all the same. Knows the builtins that do it and the shells with `-c`, and
//! leaves alone what merely looks like them.

use super::{
    Symbol,
    frame::{Builtin, Command, Reads, Word},
    scanner::Scanner,
};

/// What a command takes a value for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// Code that is executed.
    Code,
    /// The name of a variable, whose subscript is evaluated.
    Name,
}

/// A value that a command does not take for a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misuse {
    /// The hole.
    pub hole: usize,
    /// What it is taken for.
    pub taken: Taken,
    /// The command that does it.
    pub by: String,
}

impl Scanner<'_, '_, '_> {
    /// Looks at an argument before what it means for the next one is known.
    pub(super) fn look_at_argument(&mut self, word: &Word) {
        let written = self.symbols.get(word.start..self.at).unwrap_or_default();
        let Some(command) = self.command() else { return };
        let taken = taken(command, word, written);
        let by = command.name.clone();
        note_argument(command, word);
        if let Some(taken) = taken {
            self.misused(word, taken, by);
        }
    }

    /// Remembers that the holes of a word are not taken for values.
    pub(super) fn misused(&mut self, word: &Word, taken: Taken, by: String) {
        let owner = self.frames.last().map_or(0, |frame| frame.owner);
        let holes = self.notes.holes.get(word.holes..).unwrap_or_default();
        let own = holes.iter().filter(|hole| hole.owner == owner);
        let found: Vec<Misuse> =
            own.map(|hole| Misuse { hole: hole.number, taken, by: by.clone() }).collect();
        self.notes.misuses.extend(found);
    }
}

/// What the holes of an argument are taken for, if not for values.
fn taken(command: &Command, word: &Word, written: &[Symbol]) -> Option<Taken> {
    if command.reads == Reads::Code {
        return (!is_one_value(written)).then_some(Taken::Code);
    }
    let is_option = word.text.starts_with('-');
    match command.builtin {
        Builtin::Eval => Some(Taken::Code),
        Builtin::Trap if !is_option && is_first(command) => Some(Taken::Code),
        Builtin::Names if !is_option && !follows_option(command) => names(written).then_some(Taken::Name),
        Builtin::NameAfterV if command.arguments == 1 && command.previous.text == "-v" => {
            names(written).then_some(Taken::Name)
        }
        Builtin::Declare(_) if !is_option => names(written).then_some(Taken::Name),
        _ => None,
    }
}

/// Whether no argument but `--` has been read.
fn is_first(command: &Command) -> bool {
    command.arguments == 0 || (command.arguments == 1 && command.previous.text == "--")
}

/// Whether a word is nothing but a value: `bash -c {{x}}` says that the value is the code.
fn is_one_value(written: &[Symbol]) -> bool {
    let mut parts = written.iter().filter(|symbol| !matches!(symbol, Symbol::Char('"' | '\'')));
    matches!((parts.next(), parts.next()), (Some(Symbol::Hole(_)), None))
}

/// Whether the word belongs to the option before it, as after `read -p`.
fn follows_option(command: &Command) -> bool {
    let with_value = match command.name.as_str() {
        "read" => "dinNptu",
        "mapfile" | "readarray" => "dnOsuCc",
        _ => "",
    };
    let option = command.previous.text.strip_prefix('-').and_then(|letters| letters.chars().last());
    option.is_some_and(|letter| with_value.contains(letter))
}

/// Whether a hole stands in the name that a word gives: before its `=` and before its subscript.
pub(super) fn names(written: &[Symbol]) -> bool {
    let name = written.iter().take_while(|symbol| !matches!(symbol, Symbol::Char('=' | '[')));
    name.into_iter().any(|symbol| matches!(symbol, Symbol::Hole(_)))
}

/// What an argument means for the next one.
fn note_argument(command: &mut Command, word: &Word) {
    command.arguments += 1;
    let prints = matches!(command.name.as_str(), "echo" | "printf");
    let text = if word.quoted { "" } else { word.text.as_str() };
    let letters = text.strip_prefix(['-', '+']);
    command.reads = match (command.reads, letters) {
        (Reads::Arguments | Reads::Script, None) if is_shell(text) && !prints => {
            command.name = text.to_owned();
            Reads::Options
        }
        (Reads::Options, Some(letters)) if letters.ends_with('c') && !letters.starts_with('-') => Reads::Code,
        (Reads::Options, Some(_)) => Reads::Options,
        (Reads::Options, None) if takes_name(&command.previous.text) => Reads::Options,
        (Reads::Options | Reads::Code | Reads::Script, _) => Reads::Script,
        (Reads::Arguments, _) => Reads::Arguments,
    };
}

/// Whether an option of a shell is followed by a name: `-o pipefail`, `-euo pipefail`.
fn takes_name(option: &str) -> bool {
    option.starts_with(['-', '+']) && option.ends_with('o') && !option.starts_with("--")
}

/// Whether a word is the name of a shell, perhaps with its path.
pub(super) fn is_shell(text: &str) -> bool {
    matches!(text.rsplit('/').next(), Some("bash" | "sh" | "dash" | "zsh" | "ksh"))
}
