//! Errors of a condition: while it is parsed, and while it is evaluated.
//!
//! Never knows about files: places are byte ranges in the condition's own text.

use std::{error::Error, fmt, ops::Range};

/// A condition that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionError {
    /// Which kind of problem.
    pub kind: ConditionErrorKind,
    /// The problem, in one line.
    pub message: String,
    /// Where: bytes in the condition's text.
    pub at: Range<usize>,
    /// What to do.
    pub help: Option<String>,
}

/// The kind of a problem with a condition's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConditionErrorKind {
    /// The text is not an expression.
    Syntax,
    /// It calls a function that does not exist.
    UnknownFunction,
    /// It calls a method that does not exist.
    UnknownMethod,
    /// A function or method gets the wrong number of arguments.
    WrongArguments,
    /// It contains a double underscore.
    ForbiddenName,
}

impl ConditionError {
    pub(super) fn syntax(message: impl Into<String>, at: Range<usize>) -> ConditionError {
        ConditionError { kind: ConditionErrorKind::Syntax, message: message.into(), at, help: None }
    }

    pub(super) fn help(mut self, help: impl Into<String>) -> ConditionError {
        self.help = Some(help.into());
        self
    }
}

impl fmt::Display for ConditionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for ConditionError {}

/// A condition that can be read, but has no value for these inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvalError {
    /// Which kind of problem.
    pub kind: EvalErrorKind,
    /// The problem, in one line; it names the part of the text.
    pub message: String,
    /// Where: bytes in the condition's text.
    pub at: Range<usize>,
}

/// The kind of a problem while evaluating.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EvalErrorKind {
    /// A method needs text and gets something else.
    NotText,
    /// A method needs a list and gets something else.
    NotList,
    /// A text would become too large.
    TooLarge,
}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for EvalError {}
