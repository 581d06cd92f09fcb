//! The constructs that can surround a place in a command.
//!
//! Only data: how they open and close is in the scanner.

use std::ops::Range;

/// One open construct.
pub(super) struct OpenConstruct {
    pub(super) kind: ConstructKind,
    /// Tells apart the words of different command lists: holes of one word share it.
    pub(super) owner: usize,
    /// Whether bash evaluates the text here as arithmetic.
    pub(super) arithmetic: bool,
}

pub(super) enum ConstructKind {
    /// Words and operators.
    Command(Box<Command>),
    /// `"…"`.
    Double,
    /// The text of an unquoted heredoc.
    Heredoc,
    /// `${…}`.
    Parameter(Parameter),
    /// `$((…))`, `((…))` or `$[…]`.
    Arithmetic { close: ArithmeticClose, depth: usize, quote: Option<char> },
    /// `[…]` after a name or at the start of an array's item.
    Subscript { depth: usize, holes: usize, textual: SubscriptKind },
    /// `(…)` inside a pattern or a regular expression.
    Pattern,
}

/// How an arithmetic construct ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ArithmeticClose {
    Parentheses,
    Bracket,
}

/// The kind of subscripts of an array.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SubscriptKind {
    /// Keys of an associative array.
    Keys,
    /// Arithmetic.
    Numbers,
}

/// The quoting around an expansion.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OuterQuoting {
    Unquoted,
    Double,
    Heredoc,
}

pub(super) struct Parameter {
    pub(super) around: OuterQuoting,
    pub(super) part: ParameterPart,
    /// The name as far as it has been read.
    pub(super) name: String,
    /// Whether the whole expansion is in arithmetic.
    pub(super) inherited: bool,
}

/// The part of `${…}` that is being read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ParameterPart {
    Name,
    /// `[…]`, with the brackets open inside it.
    Subscript(usize),
    /// After `:-` and its kin: quoted as the whole expansion is.
    Word,
    /// After `#`, `%`, `/` and so on: quotes count again, also inside double quotes.
    Pattern,
    /// After `:`.
    Offset,
}

/// A list of commands, or something else that consists of words.
pub(super) struct Command {
    pub(super) shape: ListShape,
    pub(super) position: Position,
    pub(super) word: Word,
    pub(super) builtin: Builtin,
    /// The name of the command, without quotes.
    pub(super) name: String,
    /// The arguments that have been read.
    pub(super) arguments: usize,
    pub(super) reads: ArgumentRole,
    pub(super) output: Outlet,
    /// The number of holes found before the command.
    pub(super) holes: usize,
    /// The redirection whose target the next word is.
    pub(super) redirecting: Option<Redirect>,
    /// Whether its input is assigned to a name declared with `-i`.
    pub(super) fills_integer: bool,
    /// The associative arrays that were known before.
    pub(super) known: usize,
    pub(super) previous: Previous,
}

impl Command {
    pub(super) fn new(shape: ListShape) -> Command {
        Command {
            shape,
            position: Position::Command,
            word: Word::default(),
            builtin: Builtin::Other,
            name: String::new(),
            arguments: 0,
            reads: ArgumentRole::Arguments,
            output: Outlet::default(),
            holes: 0,
            redirecting: None,
            fills_integer: false,
            known: 0,
            previous: Previous::default(),
        }
    }

    /// Whether the next word may be an option whose value bash evaluates: `printf -v`, `wait -p`.
    pub(super) fn evaluates_options(&self) -> bool {
        match self.name.as_str() {
            _ if self.redirecting.is_some() => false,
            "printf" => self.arguments == 0,
            "wait" => matches!(self.previous.text.as_str(), "" | "-n" | "-f"),
            _ => false,
        }
    }

    /// A new command starts here.
    pub(super) fn restart(&mut self) {
        self.position = Position::Command;
        self.builtin = Builtin::Other;
        self.name.clear();
        self.arguments = 0;
        self.reads = ArgumentRole::Arguments;
        self.fills_integer = false;
        self.previous = Previous::default();
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ListShape {
    /// A whole text: the command itself, or the text between backticks.
    Script,
    /// `$(…)`, `<(…)` or `>(…)`.
    Substitution,
    /// `(…)`.
    Subshell,
    /// `a=(…)`.
    Array(SubscriptKind),
    /// `[[ … ]]`.
    Condition,
}

/// The role of the next word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Position {
    /// A command's name, a reserved word or an assignment.
    Command,
    /// A command's name or an assignment.
    Assigned,
    /// An argument.
    Argument,
    /// The subject of `case`.
    CaseWord,
    /// The `in` of a `case`.
    CaseIn,
    /// A pattern of a `case`, or `esac`.
    FirstPattern,
    /// The rest of a pattern of a `case`.
    Pattern,
    /// The name after `for` or `select`, or `((`.
    ForName,
    /// The `in` or `do` of a `for`.
    ForIn,
    /// The name after `function`.
    FunctionName,
    /// What follows `coproc`: a command, or a name before a compound one.
    Coproc,
    /// What follows the first word after `coproc`.
    CoprocRest,
}

/// The target of a redirection.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Redirect {
    /// The name of a file, or a descriptor.
    File,
    /// The text itself: `<<<`.
    Text,
}

/// The commands that evaluate their arguments.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Builtin {
    Other,
    Let,
    Declare(Attributes),
    /// Takes names of variables: `unset`, `read`.
    Names,
    /// Takes the name of a variable after the option with this letter: `printf`, `test`, `wait`.
    NameAfter(char),
    Eval,
    Trap,
    /// Expands the words after `-W` and executes the text after `-C`: `compgen`, `complete`.
    Completion,
}

/// How a command uses its next argument.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ArgumentRole {
    /// An ordinary argument.
    Arguments,
    /// A shell: perhaps `-c`.
    Options,
    /// A shell after `-c`: code.
    Code,
    /// Arguments of a script that a shell runs.
    Script,
}

/// Where the output of a substitution goes.
#[derive(Clone, Copy, Default)]
pub(super) struct Outlet {
    /// The owner of the word that it becomes a part of; 0 if it becomes none.
    pub(super) owner: usize,
    /// Whether bash evaluates it as arithmetic.
    pub(super) arithmetic: bool,
}

/// The attributes that a declaration gives to the names after them.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Attributes {
    pub(super) integer: bool,
    pub(super) associative: bool,
    pub(super) reference: bool,
}

/// The word that is being read.
#[derive(Default)]
pub(super) struct Word {
    pub(super) started: bool,
    /// Whether a part of it is quoted or computed, so that it is not a reserved word.
    pub(super) quoted: bool,
    /// The plain part of it.
    pub(super) text: String,
    /// The word without its quotes, known at its end; a hole is a `$`.
    pub(super) spelled: String,
    /// The symbol that it starts at.
    pub(super) start: usize,
    /// The number of holes found before it.
    pub(super) holes: usize,
}

/// The word before.
#[derive(Default)]
pub(super) struct Previous {
    pub(super) text: String,
    pub(super) holes: Range<usize>,
}
