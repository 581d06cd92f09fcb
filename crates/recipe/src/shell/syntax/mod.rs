//! The syntax tree of a bash script: commands, words, redirections, and how they are joined.
//!
//! A crate parses; this module bounds what it is given and keeps what reviews and diagnoses need. Never runs anything and
//! never expands a variable. A script that cannot be parsed, or that is nested too deeply, has no tree.

mod bounds;
mod convert;
mod holes;
#[cfg(test)]
mod tests;
mod walk;

pub use walk::SyntaxNode;

/// A list of commands, in the order of execution.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandList {
    /// Its entries.
    pub entries: Vec<ListEntry>,
}

/// One entry of a list: pipelines that are joined by `&&` and `||`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListEntry {
    /// The first pipeline.
    pub first: Pipeline,
    /// The others, with the operator before each.
    pub rest: Vec<(Joint, Pipeline)>,
    /// Whether it ends with `&`.
    pub in_background: bool,
}

/// The operator between two pipelines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joint {
    /// `&&`.
    And,
    /// `||`.
    Or,
}

/// Commands that are joined by `|`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pipeline {
    /// Whether it begins with `!`.
    pub is_negated: bool,
    /// Its commands; at least one.
    pub commands: Vec<ShellCommand>,
}

/// One command with its redirections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellCommand {
    /// Its kind.
    pub kind: CommandKind,
    /// Its redirections.
    pub redirects: Vec<Redirection>,
}

/// The kind of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandKind {
    /// A program or a builtin with its arguments, or assignments alone. `[[ … ]]` and `(( … ))` are here too.
    Simple {
        /// Assignments before the first word.
        assignments: Vec<Assignment>,
        /// The words.
        words: Vec<ShellWord>,
    },
    /// `{ …; }`.
    Group(CommandList),
    /// `( … )`.
    Subshell(CommandList),
    /// `if`, with its conditions and bodies.
    If {
        /// Conditions with their bodies.
        arms: Vec<(CommandList, CommandList)>,
        /// The body of `else`.
        otherwise: Option<CommandList>,
    },
    /// `while` and `until`.
    Loop {
        /// The condition.
        condition: CommandList,
        /// The body.
        body: CommandList,
        /// Whether it is `until`.
        is_until: bool,
    },
    /// `for` over words, or with numbers.
    For {
        /// The name of the variable; empty for a loop with numbers.
        variable: String,
        /// The words.
        words: Vec<ShellWord>,
        /// The body.
        body: CommandList,
    },
    /// `case`.
    Case {
        /// The word that is compared.
        subject: ShellWord,
        /// Patterns with their bodies.
        arms: Vec<(Vec<ShellWord>, CommandList)>,
    },
    /// The definition of a function.
    Function {
        /// Its name.
        name: String,
        /// Its body.
        body: Box<ShellCommand>,
    },
}

/// `NAME=value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The name, with an index if there is one.
    pub name: String,
    /// The value; several words for an array.
    pub values: Vec<ShellWord>,
}

/// A redirection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirection {
    /// What it does.
    pub kind: RedirectKind,
    /// The file descriptor before the operator.
    pub descriptor: Option<i32>,
    /// The file, the descriptor or the text.
    pub target: ShellWord,
}

/// What a redirection does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedirectKind {
    /// `<`.
    Read,
    /// `>`, `>>`, `>|`, `<>`, `&>`.
    Write,
    /// `<&`, `>&`.
    Duplicate,
    /// `<<<` and `<<`.
    Text,
}

/// A word: quoting is removed, expansions are kept as written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellWord {
    /// Its parts.
    pub parts: Vec<WordPart>,
}

/// A part of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WordPart {
    /// Text without quotes.
    Text(String),
    /// `$NAME`, `${…}`, `$((…))`, as written.
    Expansion(String),
    /// `$(…)`, backquotes, `<(…)`.
    Commands {
        /// As written.
        text: String,
        /// The commands.
        list: CommandList,
    },
}

impl ShellWord {
    /// The word without its quotes; expansions are as written.
    pub fn text(&self) -> String {
        self.parts
            .iter()
            .map(|part| match part {
                WordPart::Text(text) | WordPart::Expansion(text) | WordPart::Commands { text, .. } => {
                    text.as_str()
                }
            })
            .collect()
    }

    /// Whether nothing in it is expanded.
    pub fn is_literal(&self) -> bool {
        self.parts.iter().all(|part| matches!(part, WordPart::Text(_)))
    }

    /// A word without expansions.
    fn literal(text: impl Into<String>) -> ShellWord {
        ShellWord { parts: vec![WordPart::Text(text.into())] }
    }
}

/// The tree of a script, with templates as words like `{{name}}`. None if the script cannot be parsed.
pub fn parse(script: &str) -> Option<CommandList> {
    parse_nested(script, bounds::DEEPEST_SUBSTITUTION)
}

/// The same, with a limit for command substitutions inside others.
fn parse_nested(script: &str, depth: usize) -> Option<CommandList> {
    if depth == 0 {
        return None;
    }
    let (text, holes) = holes::cut(script)?;
    if !bounds::is_parseable(&text) {
        return None;
    }
    let options = brush_parser::ParserOptions::default();
    let mut parser =
        brush_parser::Parser::new(text.as_bytes(), &options, &brush_parser::SourceInfo::default());
    let program = parser.parse_program().ok()?;
    convert::Converter { options: &options, holes: &holes, depth }.program(&program)
}
