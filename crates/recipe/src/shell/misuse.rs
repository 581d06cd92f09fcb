//! Values that a command takes for code or for the name of a variable, where quoting helps nothing.
//!
//! Only reports them; the script is written anyway. Knows the builtins that do it and the shells with `-c`, and ignores
//! commands that merely look like them.

use super::{
    Symbol,
    frame::{ArgumentRole, Builtin, Command, Word},
    scanner::Scanner,
    word::LONGEST_NAME,
};

/// How a command interprets a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MisuseKind {
    /// Code that is executed.
    Code,
    /// The name of a variable, whose subscript is evaluated.
    Name,
}

/// A value that a command interprets as code or as a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misuse {
    /// The hole.
    pub hole: usize,
    /// How it is interpreted.
    pub kind: MisuseKind,
    /// The command that does it.
    pub by: String,
}

impl Scanner<'_, '_, '_> {
    /// Checks an argument, then notes its effect on the next one.
    pub(super) fn look_at_argument(&mut self, word: &Word) {
        let Some(command) = self.command() else { return };
        let (by, reads) = (command.name.clone(), command.reads);
        let (executed, variable, reference) =
            (is_executed(command, word), is_variable(command, word), is_reference(command));
        note_argument(command, word);
        if executed && !(reads == ArgumentRole::Code && is_one_value(self.written(word))) {
            self.misused(word, MisuseKind::Code, by);
        } else if variable && (reference || names(self.written(word))) {
            self.misused(word, MisuseKind::Name, by);
        }
        if variable {
            self.variable(word);
        }
    }

    /// An argument that names a variable.
    fn variable(&mut self, word: &Word) {
        self.element(word);
        let integer = self.facts.is_integer(&word.spelled);
        let Some(command) = self.command() else { return };
        match command.name.as_str() {
            "unset" => self.facts.unset(&word.spelled),
            "printf" if integer => command.builtin = Builtin::Let,
            _ => command.fills_integer |= integer,
        }
    }

    /// Remembers that the holes of a word are not taken for values.
    pub(super) fn misused(&mut self, word: &Word, kind: MisuseKind, by: String) {
        let owner = self.outlet().owner;
        let holes = self.facts.holes.get(word.holes..).unwrap_or_default();
        let own = holes.iter().filter(|hole| hole.is_part_of(owner));
        let found: Vec<Misuse> = own.map(|hole| Misuse { hole: hole.number, kind, by: by.clone() }).collect();
        self.facts.misuses.extend(found);
    }
}

/// Whether an argument is executed.
fn is_executed(command: &Command, word: &Word) -> bool {
    match command.builtin {
        _ if command.reads == ArgumentRole::Code => true,
        Builtin::Eval => true,
        Builtin::Trap => !is_option(word) && is_first(command),
        Builtin::Names => option_with_value(command) == Some('C'),
        Builtin::Completion => matches!(command.previous.text.as_str(), "-W" | "-C"),
        _ => false,
    }
}

/// Whether an argument is the name of a variable, or begins with one.
fn is_variable(command: &Command, word: &Word) -> bool {
    match command.builtin {
        Builtin::Declare(_) => !is_option(word),
        Builtin::Names => !is_option(word) && option_with_value(command).is_none(),
        Builtin::NameAfter(letter) => {
            let previous = command.previous.text.strip_prefix('-');
            let follows = previous.is_some_and(|letters| letters.ends_with(letter));
            let attached = is_option(word) && word.spelled.contains('$');
            match command.name.as_str() {
                "printf" => (follows && command.arguments == 1) || (attached && command.arguments == 0),
                "wait" => follows || attached,
                _ => follows,
            }
        }
        _ => false,
    }
}

fn is_option(word: &Word) -> bool {
    word.spelled.starts_with('-')
}

/// Whether a declared name refers to the variable that its value names.
fn is_reference(command: &Command) -> bool {
    matches!(command.builtin, Builtin::Declare(attributes) if attributes.reference)
}

/// Whether no argument but `--` has been read.
fn is_first(command: &Command) -> bool {
    command.arguments == 0 || (command.arguments == 1 && command.previous.text == "--")
}

/// Whether a word is only a value: in `bash -c {{x}}` the author means the value as code.
fn is_one_value(written: &[Symbol]) -> bool {
    let mut parts = written.iter().filter(|symbol| !matches!(symbol, Symbol::Char('"' | '\'')));
    matches!((parts.next(), parts.next()), (Some(Symbol::Hole(_)), None))
}

/// The letter of the option that the next word belongs to, as after `read -p`.
fn option_with_value(command: &Command) -> Option<char> {
    let with_value = match command.name.as_str() {
        "read" => "dinNptu",
        "mapfile" | "readarray" => "dnOsuCc",
        _ => "",
    };
    let letters = command.previous.text.strip_prefix('-')?;
    let (at, letter) = letters.char_indices().find(|(_, letter)| with_value.contains(*letter))?;
    (at + 1 == letters.len()).then_some(letter)
}

/// Whether a hole is in the name of a word: before its `=` and before its subscript.
pub(super) fn names(written: &[Symbol]) -> bool {
    let start = written.iter().take(LONGEST_NAME);
    let mut name = start.take_while(|symbol| !matches!(symbol, Symbol::Char('=' | '[')));
    name.any(|symbol| matches!(symbol, Symbol::Hole(_)))
}

/// The effect of an argument on the next one.
fn note_argument(command: &mut Command, word: &Word) {
    command.arguments += 1;
    let prints = matches!(command.name.as_str(), "echo" | "printf");
    let text = word.spelled.as_str();
    let letters = text.strip_prefix(['-', '+']);
    command.reads = match (command.reads, letters) {
        (ArgumentRole::Arguments | ArgumentRole::Script, None) if is_shell(text) && !prints => {
            command.name = text.to_owned();
            ArgumentRole::Options
        }
        (ArgumentRole::Options, Some(letters)) if letters.ends_with('c') && !letters.starts_with('-') => {
            ArgumentRole::Code
        }
        (ArgumentRole::Options, Some(_)) => ArgumentRole::Options,
        (ArgumentRole::Code, Some(_)) => ArgumentRole::Code,
        (ArgumentRole::Options, None) if takes_name(&command.previous.text) => ArgumentRole::Options,
        (ArgumentRole::Options | ArgumentRole::Code | ArgumentRole::Script, _) => ArgumentRole::Script,
        (ArgumentRole::Arguments, _) => ArgumentRole::Arguments,
    };
}

/// Whether an option of a shell is followed by a name: `-o pipefail`, `-euo pipefail`, `--rcfile name`.
fn takes_name(option: &str) -> bool {
    option.ends_with('o') || matches!(option, "--rcfile" | "--init-file")
}

/// Whether a word is the name of a shell, perhaps with its path.
pub(super) fn is_shell(text: &str) -> bool {
    matches!(text.rsplit('/').next(), Some("bash" | "sh" | "dash" | "zsh" | "ksh"))
}
