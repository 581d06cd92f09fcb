//! Builds the tree: `or` binds loosest, then `and`, `not`, one comparison, and values.
//!
//! Never evaluates, and never recurses deeper than [`DEEPEST`].

use std::ops::{Range, RangeInclusive};

use super::{
    error::{ConditionError, ConditionErrorKind},
    hints,
    lexer::{self, Backslash, Sign, Token},
    tree::{ChainLink, Comparison, Expr, ExprKind, Operator},
    words::{Function, Method},
};
use crate::{
    diagnostic::shorten,
    scope::Path,
    value::{Segment, Value},
};

/// The deepest nesting of brackets and `not`s.
const DEEPEST: usize = 100;

/// How many mistakes of one condition are reported: a hostile one could have a hundred thousand.
pub(super) const MAX_ERRORS: usize = 100;

/// The error after which the text is not an expression any more.
type Parsed<T> = Result<T, ConditionError>;

pub(super) fn parse(text: &str, backslash: Backslash) -> Result<Expr, Vec<ConditionError>> {
    let tokens = lexer::tokens(text, backslash).map_err(|error| vec![error])?;
    let mut parser = ConditionParser { text, tokens, next: 0, depth: 0, errors: Vec::new() };
    let parsed = parser.whole();
    match parsed {
        Ok(tree) if parser.errors.is_empty() => Ok(tree),
        Ok(_) => Err(parser.errors),
        Err(last) => Err(parser.errors.into_iter().chain([last]).collect()),
    }
}

struct ConditionParser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    next: usize,
    depth: usize,
    /// Mistakes after which parsing can continue; with one of them the tree means nothing.
    errors: Vec<ConditionError>,
}

impl<'a> ConditionParser<'a> {
    fn whole(&mut self) -> Parsed<Expr> {
        let tree = self.expression()?;
        match self.peek() {
            Some(_) => Err(self.expected("`and`, `or` or the end")),
            None => Ok(tree),
        }
    }

    fn report(&mut self, error: ConditionError) {
        if self.errors.len() < MAX_ERRORS {
            self.errors.push(error);
        }
    }

    fn peek(&self) -> Option<&Sign> {
        self.tokens.get(self.next).map(|token| &token.sign)
    }

    fn peek_second(&self) -> Option<&Sign> {
        self.tokens.get(self.next + 1).map(|token| &token.sign)
    }

    /// The place of the next token, or the end of the text.
    fn here(&self) -> Range<usize> {
        self.tokens.get(self.next).map_or(self.text.len()..self.text.len(), |token| token.span.clone())
    }

    /// Where the last token ended.
    fn end(&self) -> usize {
        self.next.checked_sub(1).and_then(|last| self.tokens.get(last)).map_or(0, |token| token.span.end)
    }

    fn accept(&mut self, sign: &Sign) -> Option<Range<usize>> {
        let found = self.peek() == Some(sign);
        found.then(|| {
            let span = self.here();
            self.next += 1;
            span
        })
    }

    /// The error for the token here, where `wanted` should be.
    fn expected(&self, wanted: &str) -> ConditionError {
        let at = self.here();
        if self.peek().is_none() {
            let error = ConditionError::syntax(format!("the condition ends where {wanted} is expected"), at);
            return error.help(format!("add {wanted}, or remove the part before it"));
        }
        let before = self.next.checked_sub(1).and_then(|last| self.tokens.get(last));
        match before.map(|token| (&self.text[token.span.clone()], token.span.clone())) {
            // `NOT a` parses as a name, and the mistake shows only after it
            Some((word @ ("NOT" | "Not"), at)) => hints::leftover(word, wanted, at),
            _ => hints::leftover(&self.text[at.clone()], wanted, at),
        }
    }

    fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth > DEEPEST {
            let message = format!("the condition nests more than {DEEPEST} levels deep");
            return Err(ConditionError::syntax(message, self.here()).help("split it over several steps"));
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    fn expression(&mut self) -> Parsed<Expr> {
        self.deeper(|parser| parser.operands(&Sign::Or, Self::conjunction, ExprKind::Or))
    }

    fn conjunction(&mut self) -> Parsed<Expr> {
        self.operands(&Sign::And, Self::negation, ExprKind::And)
    }

    fn operands(
        &mut self,
        operator: &Sign,
        operand: fn(&mut Self) -> Parsed<Expr>,
        kind: fn(Vec<Expr>) -> ExprKind,
    ) -> Parsed<Expr> {
        let start = self.here().start;
        let first = operand(self)?;
        if self.peek() != Some(operator) {
            return Ok(first);
        }
        let mut operands = vec![first];
        while self.accept(operator).is_some() {
            operands.push(operand(self)?);
        }
        Ok(Expr::new(kind(operands), start..self.end()))
    }

    fn negation(&mut self) -> Parsed<Expr> {
        match self.accept(&Sign::Not) {
            Some(span) => {
                let operand = self.deeper(Self::negation)?;
                Ok(Expr::new(ExprKind::Not(Box::new(operand)), span.start..self.end()))
            }
            None => self.comparison(),
        }
    }

    fn comparison(&mut self) -> Parsed<Expr> {
        let start = self.here().start;
        let left = self.value()?;
        let Some(operator) = self.operator() else { return Ok(left) };
        let right = self.value()?;
        self.reject_chain(start, &right)?;
        let comparison = Comparison { left, operator, right };
        Ok(Expr::new(ExprKind::Compare(Box::new(comparison)), start..self.end()))
    }

    fn operator(&mut self) -> Option<Operator> {
        let operator = match self.peek() {
            Some(Sign::Equal) => Operator::Equal,
            Some(Sign::NotEqual) => Operator::NotEqual,
            Some(Sign::Less) => Operator::Less,
            Some(Sign::LessOrEqual) => Operator::LessOrEqual,
            Some(Sign::Greater) => Operator::Greater,
            Some(Sign::GreaterOrEqual) => Operator::GreaterOrEqual,
            Some(Sign::In) => Operator::In,
            Some(Sign::Not) if self.peek_second() == Some(&Sign::In) => Operator::NotIn,
            _ => return None,
        };
        self.next += if operator == Operator::NotIn { 2 } else { 1 };
        Some(operator)
    }

    fn reject_chain(&mut self, start: usize, middle: &Expr) -> Parsed<()> {
        let (at, before) = (self.here(), self.end());
        if self.operator().is_none() {
            return Ok(());
        }
        let sign = &self.text[at.start..self.end()];
        let last = self.value()?;
        let first = shorten(&self.text[start..before]);
        let middle = shorten(&self.text[middle.span.clone()]);
        let last = shorten(&self.text[last.span]);
        Err(ConditionError::syntax("comparisons cannot be chained", at.start..self.end())
            .help(format!("write `{first} and {middle} {sign} {last}`")))
    }

    /// A value with everything that follows it: `.key`, `[index]`, `.method(…)`.
    fn value(&mut self) -> Parsed<Expr> {
        let start = self.here().start;
        let mut base = self.primary()?;
        let mut steps = Vec::new();
        while let Some(step) = self.step(start)? {
            match (&mut base.kind, step) {
                (ExprKind::Path(path), ChainLink::Segment(segment)) if steps.is_empty() => {
                    path.segments.push(segment);
                    base.span.end = self.end();
                }
                (_, step) => steps.push(step),
            }
        }
        match steps.is_empty() {
            true => Ok(base),
            false => Ok(Expr::new(ExprKind::Chain(Box::new(base), steps), start..self.end())),
        }
    }

    fn step(&mut self, start: usize) -> Parsed<Option<ChainLink>> {
        let before = start..self.end();
        if self.accept(&Sign::OpenList).is_some() {
            return self.index().map(Some);
        }
        if self.accept(&Sign::Dot).is_none() {
            return Ok(None);
        }
        let at = self.here();
        if self.accept(&Sign::Name).is_none() {
            return Err(self.expected("a name after the dot"));
        }
        let name = &self.text[at.clone()];
        match self.accept(&Sign::Open) {
            Some(_) => self.method(name, at, before).map(Some),
            None => Ok(Some(ChainLink::Segment(Segment::Key(name.to_string())))),
        }
    }

    fn method(&mut self, name: &str, at: Range<usize>, before: Range<usize>) -> Parsed<ChainLink> {
        let Some(method) = Method::find(name) else {
            self.report(hints::unknown_method(name, at));
            self.list_until(&Sign::Close, "`)`")?;
            return Ok(ChainLink::Segment(Segment::Key(name.to_string())));
        };
        let arguments = self.list_until(&Sign::Close, "`)`")?;
        let span = at.start..self.end();
        self.check_arity(&format!(".{}()", method.word()), method.arity(), arguments.len(), span);
        Ok(ChainLink::Method(method, arguments, before))
    }

    fn index(&mut self) -> Parsed<ChainLink> {
        let index = self.expression()?;
        if self.accept(&Sign::CloseList).is_none() {
            return Err(self.expected("`]`"));
        }
        match &index.kind {
            ExprKind::Literal(value) => match segment(value) {
                Some(segment) => Ok(ChainLink::Segment(segment)),
                None => {
                    let error =
                        ConditionError::syntax("an index is a whole number or a text", index.span.clone());
                    self.report(error.help("write `x[0]`, `x[-1]` or `x['key']`"));
                    Ok(ChainLink::Index(index))
                }
            },
            _ => Ok(ChainLink::Index(index)),
        }
    }

    fn primary(&mut self) -> Parsed<Expr> {
        let at = self.here();
        let literal = match self.peek() {
            Some(Sign::Text(text)) => Value::text(text.as_str()),
            Some(Sign::Number(number)) => Value::Number(number.clone()),
            Some(Sign::True) => Value::Bool(true),
            Some(Sign::False) => Value::Bool(false),
            Some(Sign::Name) => return self.name(at),
            Some(Sign::Open) => return self.parentheses(at.start),
            Some(Sign::OpenList) => return self.list(at.start),
            _ => return Err(self.expected("a value")),
        };
        self.next += 1;
        Ok(Expr::new(ExprKind::Literal(literal), at))
    }

    fn parentheses(&mut self, start: usize) -> Parsed<Expr> {
        self.next += 1;
        let inner = self.expression()?;
        if self.accept(&Sign::Close).is_none() {
            let error = self.expected("`)`");
            return Err(match self.peek() {
                Some(Sign::Comma) => error.help("write a list in square brackets: `['a', 'b']`"),
                _ => error,
            });
        }
        // a name keeps its own place, for messages about it
        let span = if matches!(inner.kind, ExprKind::Path(_)) { inner.span } else { start..self.end() };
        Ok(Expr::new(inner.kind, span))
    }

    fn list(&mut self, start: usize) -> Parsed<Expr> {
        self.next += 1;
        let items = self.list_until(&Sign::CloseList, "`]`")?;
        Ok(Expr::new(ExprKind::List(items), start..self.end()))
    }

    /// Expressions between commas; a trailing comma is allowed.
    fn list_until(&mut self, close: &Sign, name: &str) -> Parsed<Vec<Expr>> {
        let mut items = Vec::new();
        while self.accept(close).is_none() {
            items.push(self.expression()?);
            if self.accept(&Sign::Comma).is_none() && self.peek() != Some(close) {
                return Err(self.expected(&format!("`,` or {name}")));
            }
        }
        Ok(items)
    }

    fn name(&mut self, at: Range<usize>) -> Parsed<Expr> {
        self.next += 1;
        let name = &self.text[at.clone()];
        if self.accept(&Sign::Open).is_some() {
            return self.call(name, at);
        }
        let path = Path { root: name.to_string(), segments: Vec::new() };
        Ok(Expr::new(ExprKind::Path(path), at))
    }

    fn call(&mut self, name: &str, at: Range<usize>) -> Parsed<Expr> {
        let Some(function) = Function::find(name) else {
            self.report(hints::unknown_function(name, at.clone()));
            let arguments = self.list_until(&Sign::Close, "`)`")?;
            return Ok(Expr::new(ExprKind::List(arguments), at.start..self.end()));
        };
        let arguments = self.list_until(&Sign::Close, "`)`")?;
        let span = at.start..self.end();
        self.check_arity(&format!("{}()", function.word()), function.arity(), arguments.len(), span.clone());
        Ok(Expr::new(ExprKind::Call(function, arguments), span))
    }

    fn check_arity(&mut self, call: &str, takes: RangeInclusive<usize>, given: usize, at: Range<usize>) {
        if !takes.contains(&given) {
            self.report(wrong_arguments(call, &takes, given, at));
        }
    }
}

/// The path step of an index; `None` if it can never lead anywhere.
pub(super) fn segment(index: &Value) -> Option<Segment> {
    match index {
        Value::Text(key) => Some(Segment::Key(key.to_string())),
        Value::Number(number) if number.as_f64().fract() == 0.0 => {
            Some(Segment::Index(number.as_f64() as i64))
        }
        _ => None,
    }
}

fn wrong_arguments(
    call: &str,
    takes: &RangeInclusive<usize>,
    given: usize,
    at: Range<usize>,
) -> ConditionError {
    let wanted = match (*takes.start(), *takes.end()) {
        (0, 0) => "no arguments".to_string(),
        (1, 1) => "1 argument".to_string(),
        (least, usize::MAX) => format!("at least {least} arguments"),
        (least, most) if least == most => format!("{least} arguments"),
        (least, most) => format!("{least} or {most} arguments"),
    };
    let message = format!("`{call}` takes {wanted}, but gets {given}");
    let help = match (call.starts_with('.'), *takes.end()) {
        (_, 0) => format!("write `{call}`, with nothing between the parentheses"),
        (is_method, _) => {
            let arguments = if *takes.start() > 1 { "(a, b)" } else { "(a)" };
            let text = if is_method { "text" } else { "" };
            format!("give it {wanted}, such as `{text}{}`", call.replace("()", arguments))
        }
    };
    ConditionError { kind: ConditionErrorKind::WrongArguments, message, at, help: Some(help) }
}
