//! The meaning of a condition's text as a tree.
//!
//! Chains (`a or b or …`, `x.strip().lower()…`) are flat: only brackets and `not` make the tree
//! deeper, and the parser bounds those. Never holds a value of the context.

use std::ops::Range;

use super::words::{Function, Method};
use crate::{
    scope::Path,
    value::{Segment, Value},
};

/// A part of a condition, and its bytes in the text.
#[derive(Clone, Debug)]
pub(super) struct Expr {
    pub(super) kind: Kind,
    pub(super) span: Range<usize>,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Literal(Value),
    Path(Path),
    List(Vec<Expr>),
    Or(Vec<Expr>),
    And(Vec<Expr>),
    Not(Box<Expr>),
    Compare(Box<Comparison>),
    Call(Function, Vec<Expr>),
    Chain(Box<Expr>, Vec<Step>),
}

#[derive(Clone, Debug)]
pub(super) struct Comparison {
    pub(super) left: Expr,
    pub(super) operator: Operator,
    pub(super) right: Expr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    NotIn,
}

/// The part after a value: `.key`, `[index]` or `.method(…)`.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Segment(Segment),
    Index(Expr),
    /// The range is the text from the start of the chain to just before this call.
    Method(Method, Vec<Expr>, Range<usize>),
}

impl Expr {
    pub(super) fn new(kind: Kind, span: Range<usize>) -> Expr {
        Expr { kind, span }
    }

    /// Shows every part, in the order of the text.
    pub(super) fn visit<'a>(&'a self, see: &mut dyn FnMut(&'a Expr)) {
        see(self);
        match &self.kind {
            Kind::Literal(_) | Kind::Path(_) => {}
            Kind::List(parts) | Kind::Or(parts) | Kind::And(parts) | Kind::Call(_, parts) => {
                parts.iter().for_each(|part| part.visit(see));
            }
            Kind::Not(part) => part.visit(see),
            Kind::Compare(comparison) => {
                comparison.left.visit(see);
                comparison.right.visit(see);
            }
            Kind::Chain(base, steps) => {
                base.visit(see);
                steps.iter().flat_map(Step::parts).for_each(|part| part.visit(see));
            }
        }
    }
}

impl Step {
    fn parts(&self) -> &[Expr] {
        match self {
            Step::Segment(_) => &[],
            Step::Index(index) => std::slice::from_ref(index),
            Step::Method(_, arguments, _) => arguments,
        }
    }
}
