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
    pub(super) kind: ExprKind,
    pub(super) span: Range<usize>,
}

#[derive(Clone, Debug)]
pub(super) enum ExprKind {
    Literal(Value),
    Path(Path),
    List(Vec<Expr>),
    Or(Vec<Expr>),
    And(Vec<Expr>),
    Not(Box<Expr>),
    Compare(Box<Comparison>),
    Call(Function, Vec<Expr>),
    Chain(Box<Expr>, Vec<ChainLink>),
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
pub(super) enum ChainLink {
    Segment(Segment),
    Index(Expr),
    /// The range is the text from the start of the chain to just before this call.
    Method(Method, Vec<Expr>, Range<usize>),
}

impl Expr {
    pub(super) fn new(kind: ExprKind, span: Range<usize>) -> Expr {
        Expr { kind, span }
    }

    /// Shows every part, in the order of the text.
    pub(super) fn visit<'a>(&'a self, see: &mut dyn FnMut(&'a Expr)) {
        see(self);
        match &self.kind {
            ExprKind::Literal(_) | ExprKind::Path(_) => {}
            ExprKind::List(parts) | ExprKind::Or(parts) | ExprKind::And(parts) | ExprKind::Call(_, parts) => {
                parts.iter().for_each(|part| part.visit(see));
            }
            ExprKind::Not(part) => part.visit(see),
            ExprKind::Compare(comparison) => {
                comparison.left.visit(see);
                comparison.right.visit(see);
            }
            ExprKind::Chain(base, steps) => {
                base.visit(see);
                steps.iter().flat_map(ChainLink::parts).for_each(|part| part.visit(see));
            }
        }
    }
}

impl ChainLink {
    fn parts(&self) -> &[Expr] {
        match self {
            ChainLink::Segment(_) => &[],
            ChainLink::Index(index) => std::slice::from_ref(index),
            ChainLink::Method(_, arguments, _) => arguments,
        }
    }
}
