//! Evaluates a tree against a scope.
//!
//! Never evaluates an operand that cannot matter: `and` and `or` stop at the one that decides.

use std::{cmp::Ordering, ops::Range};

use super::{
    calls,
    compare::{contains, equal, order},
    error::{EvalError, EvalErrorKind},
    parser,
    tree::{ChainLink, Comparison, Expr, ExprKind, Operator},
    words::Function,
};
use crate::{diagnostic::shorten, scope::Scope, value::Value};

/// Why a part has no value.
enum Stop {
    Failed(EvalError),
    /// It reads a name whose value the scope does not know yet.
    Unknown,
}

type Evaluated<T> = Result<T, Stop>;

/// The value; `None` if it depends on an unknown value of the scope.
pub(super) fn evaluate(tree: &Expr, text: &str, scope: &dyn Scope) -> Result<Value, EvalError> {
    known(Evaluation { text, scope }.value(tree)).map(Option::unwrap_or_default)
}

/// Whether the value is truthy; `None` if that depends on an unknown value of the scope.
pub(super) fn decide(tree: &Expr, text: &str, scope: &dyn Scope) -> Result<Option<bool>, EvalError> {
    known(Evaluation { text, scope }.truth(tree))
}

fn known<T>(evaluated: Evaluated<T>) -> Result<Option<T>, EvalError> {
    match evaluated {
        Ok(value) => Ok(Some(value)),
        Err(Stop::Unknown) => Ok(None),
        Err(Stop::Failed(error)) => Err(error),
    }
}

/// A value, and whether it is a literal: `str()` writes a literal number as a float, but a number
/// of the context as it was written there.
struct Operand {
    value: Value,
    origin: ValueOrigin,
}

enum ValueOrigin {
    Literal,
    Elsewhere,
}

impl From<Value> for Operand {
    fn from(value: Value) -> Operand {
        Operand { value, origin: ValueOrigin::Elsewhere }
    }
}

struct Evaluation<'a> {
    text: &'a str,
    scope: &'a dyn Scope,
}

impl Evaluation<'_> {
    fn outcome(&self, expr: &Expr) -> Evaluated<Operand> {
        match &expr.kind {
            ExprKind::Literal(value) => Ok(Operand { value: value.clone(), origin: ValueOrigin::Literal }),
            ExprKind::Path(path) if !self.scope.is_known(path) => Err(Stop::Unknown),
            ExprKind::Path(path) => Ok(path.resolve(self.scope).into()),
            ExprKind::List(items) => Ok(Value::list(self.values(items)?).into()),
            ExprKind::Or(operands) => self.first(operands, Value::is_truthy),
            ExprKind::And(operands) => self.first(operands, |value| !value.is_truthy()),
            ExprKind::Not(operand) => Ok(Value::Bool(!self.truth(operand)?).into()),
            ExprKind::Compare(comparison) => Ok(Value::Bool(self.compare(comparison)?).into()),
            ExprKind::Call(function, arguments) => self.call(*function, arguments),
            ExprKind::Chain(base, steps) => self.chain(base, steps),
        }
    }

    /// Whether a part is truthy. That can be known even if its value is not: `a and false` is false for every `a`.
    fn truth(&self, expr: &Expr) -> Evaluated<bool> {
        match &expr.kind {
            ExprKind::Or(operands) => self.finds(operands, |truth| truth),
            ExprKind::And(operands) => self.finds(operands, |truth| !truth).map(|found| !found),
            _ => Ok(self.value(expr)?.is_truthy()),
        }
    }

    /// Whether one of the operands decides. After an unknown operand a later one may still decide, but an error in a
    /// later one is not reported: it may never be evaluated.
    fn finds(&self, operands: &[Expr], decides: impl Fn(bool) -> bool) -> Evaluated<bool> {
        let mut is_unknown = false;
        for operand in operands {
            match self.truth(operand) {
                Ok(truth) if decides(truth) => return Ok(true),
                Ok(_) => {}
                Err(Stop::Failed(error)) if !is_unknown => return Err(Stop::Failed(error)),
                Err(_) => is_unknown = true,
            }
        }
        if is_unknown { Err(Stop::Unknown) } else { Ok(false) }
    }

    fn value(&self, expr: &Expr) -> Evaluated<Value> {
        Ok(self.outcome(expr)?.value)
    }

    fn values(&self, exprs: &[Expr]) -> Evaluated<Vec<Value>> {
        exprs.iter().map(|expr| self.value(expr)).collect()
    }

    /// The first operand that decides, or else the last one.
    fn first(&self, operands: &[Expr], decides: impl Fn(&Value) -> bool) -> Evaluated<Operand> {
        let mut outcome = Operand::from(Value::Null);
        for operand in operands {
            outcome = self.outcome(operand)?;
            if decides(&outcome.value) {
                break;
            }
        }
        Ok(outcome)
    }

    fn compare(&self, Comparison { left, operator, right }: &Comparison) -> Evaluated<bool> {
        let (left, right) = (self.value(left)?, self.value(right)?);
        Ok(match operator {
            Operator::Equal => equal(&left, &right),
            Operator::NotEqual => !equal(&left, &right),
            Operator::Less => order(&left, &right).is_some_and(Ordering::is_lt),
            Operator::LessOrEqual => order(&left, &right).is_some_and(Ordering::is_le),
            Operator::Greater => order(&left, &right).is_some_and(Ordering::is_gt),
            Operator::GreaterOrEqual => order(&left, &right).is_some_and(Ordering::is_ge),
            Operator::In => contains(&right, &left),
            Operator::NotIn => !contains(&right, &left),
        })
    }

    fn call(&self, function: Function, arguments: &[Expr]) -> Evaluated<Operand> {
        let value = match function {
            Function::Min => return self.extreme(arguments, Ordering::Less),
            Function::Max => return self.extreme(arguments, Ordering::Greater),
            Function::Int => calls::int(&self.sole(arguments)?.value),
            Function::Float => calls::float(&self.sole(arguments)?.value),
            Function::Bool => Value::Bool(self.sole(arguments)?.value.is_truthy()),
            Function::Len => calls::len(&self.sole(arguments)?.value),
            Function::Str => match self.sole(arguments)? {
                Operand { value, origin: ValueOrigin::Literal } => calls::literal_str(value),
                Operand { value, origin: ValueOrigin::Elsewhere } => calls::str(value),
            },
        };
        Ok(value.into())
    }

    fn sole(&self, arguments: &[Expr]) -> Evaluated<Operand> {
        arguments.first().map_or_else(|| Ok(Value::Null.into()), |argument| self.outcome(argument))
    }

    /// The least or greatest argument; one that cannot be compared with the best so far is passed over.
    fn extreme(&self, arguments: &[Expr], wanted: Ordering) -> Evaluated<Operand> {
        let mut best: Option<Operand> = None;
        for argument in arguments {
            let next = self.outcome(argument)?;
            let better = best.as_ref().is_none_or(|best| order(&next.value, &best.value) == Some(wanted));
            if better {
                best = Some(next);
            }
        }
        Ok(best.unwrap_or_else(|| Value::Null.into()))
    }

    fn chain(&self, base: &Expr, steps: &[ChainLink]) -> Evaluated<Operand> {
        let mut value = self.value(base)?;
        for step in steps {
            value = match step {
                ChainLink::Segment(segment) => value.step(segment),
                ChainLink::Index(index) => {
                    parser::segment(&self.value(index)?).map_or(Value::Null, |segment| value.step(&segment))
                }
                ChainLink::Method(method, arguments, before) => {
                    let subject = calls::CallArgument { value, at: before.clone() };
                    calls::method(*method, subject, self.arguments(arguments)?)
                        .map_err(|fault| Stop::Failed(self.error(fault)))?
                }
            };
        }
        Ok(value.into())
    }

    fn arguments(&self, exprs: &[Expr]) -> Evaluated<Vec<calls::CallArgument>> {
        let argument =
            |expr: &Expr| Ok(calls::CallArgument { value: self.value(expr)?, at: expr.span.clone() });
        exprs.iter().map(argument).collect()
    }

    fn error(&self, calls::CallFault { method, kind, found, at }: calls::CallFault) -> EvalError {
        let (call, part) = (format!("`.{}()`", method.word()), self.part(&at));
        let message = match kind {
            EvalErrorKind::NotText => format!("{call} needs text, but `{part}` is {found}"),
            EvalErrorKind::NotList => format!("{call} needs a list, but `{part}` is {found}"),
            EvalErrorKind::TooLarge => format!("{call} makes too large a text of `{part}`"),
        };
        EvalError { kind, message, at }
    }

    fn part(&self, at: &Range<usize>) -> String {
        shorten(&self.text[at.clone()])
    }
}
