//! Conditions: the expressions that decide whether a step runs.
//!
//! Reading one finds everything that is wrong with its text; evaluating one only looks names up.
//! Never changes anything, never executes anything, and never copies the texts that it looks at.

mod calls;
mod compare;
mod error;
mod eval;
mod hints;
mod lexer;
mod parser;
mod tree;
mod words;

#[cfg(test)]
mod tests;

use std::ops::Range;

pub use error::{ConditionError, ConditionErrorKind, EvalError, EvalErrorKind};
pub use words::{FUNCTIONS, METHODS};

use crate::{
    scope::{Path, Scope},
    value::Value,
};
use lexer::Backslash;
use tree::{Expr, ExprKind};

/// A parsed condition: its text and its tree.
#[derive(Clone, Debug)]
pub struct Condition {
    text: String,
    tree: Expr,
}

impl Condition {
    /// Reads a condition, or finds everything that is wrong with it, in the order of the text, up to where it is
    /// no expression any more. All of the text must belong to it.
    pub fn parse(text: &str) -> Result<Condition, Vec<ConditionError>> {
        if text.trim().is_empty() {
            let empty = ConditionError::syntax("the condition is empty", 0..text.len());
            let help = "write an expression, such as `status == 'ok'`, or remove the condition";
            return Err(vec![empty.help(help)]);
        }
        let mut errors = double_underscores(text);
        match parser::parse(text, Backslash::Escapes).or_else(|errors| reparse(text, errors)) {
            Ok(tree) if errors.is_empty() => return Ok(Condition { text: text.to_string(), tree }),
            Ok(_) => {}
            Err(more) => errors.extend(more),
        }
        errors.sort_by_key(|error| error.at.start);
        // several mistakes at one place count as one
        errors.dedup_by_key(|error| error.at.start);
        Err(errors)
    }

    /// The text that was read.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether its value is a truthy one.
    pub fn holds(&self, scope: &dyn Scope) -> Result<bool, EvalError> {
        Ok(self.value(scope)?.is_truthy())
    }

    /// The same where the scope does not know all values yet: `None` if it depends on one of those.
    pub fn decide(&self, scope: &dyn Scope) -> Result<Option<bool>, EvalError> {
        eval::decide(&self.tree, &self.text, scope)
    }

    /// Its value. `and` and `or` give the operand that decided, not merely `true` or `false`.
    pub fn value(&self, scope: &dyn Scope) -> Result<Value, EvalError> {
        eval::evaluate(&self.tree, &self.text, scope)
    }

    /// Every name that it may read, in the order of the text: each with as much of its path as is
    /// known without evaluating, and its place in the text.
    pub fn names(&self) -> Vec<(Path, Range<usize>)> {
        let mut names = Vec::new();
        self.tree.visit(&mut |part| {
            if let ExprKind::Path(path) = &part.kind {
                names.push((path.clone(), part.span.clone()));
            }
        });
        names
    }

    /// Every quoted text in it, with its place.
    pub fn texts(&self) -> Vec<(&str, Range<usize>)> {
        let mut texts = Vec::new();
        self.tree.visit(&mut |part| {
            if let ExprKind::Literal(Value::Text(text)) = &part.kind {
                texts.push((&**text, part.span.clone()));
            }
        });
        texts
    }
}

/// YAML's double quotes turn `'\\'` into `'\'`, whose backslash then seems to escape the quote. A
/// text that cannot be read that way is read once more with the backslash as plain text.
fn reparse(text: &str, first: Vec<ConditionError>) -> Result<Expr, Vec<ConditionError>> {
    if !text.contains("\\'") && !text.contains("\\\"") {
        return Err(first);
    }
    parser::parse(text, Backslash::MayEndText).map_err(|_| first)
}

/// Words with a double underscore, which no condition may contain.
fn double_underscores(text: &str) -> Vec<ConditionError> {
    let (mut errors, mut from) = (Vec::new(), 0);
    while errors.len() < parser::MAX_ERRORS
        && let Some(at) = text[from..].find("__").map(|at| at + from)
    {
        let start = text[..at]
            .rfind(|c| !lexer::is_word(c))
            .map_or(0, |before| before + text[before..].chars().next().map_or(0, char::len_utf8));
        let end = text[at..].find(|c| !lexer::is_word(c)).map_or(text.len(), |length| at + length);
        let message =
            format!("`{}` contains a double underscore, which conditions reject", &text[start..end]);
        let error =
            ConditionError { kind: ConditionErrorKind::ForbiddenName, message, at: start..end, help: None };
        errors.push(error.help("use a name with single underscores"));
        from = end;
    }
    errors
}
