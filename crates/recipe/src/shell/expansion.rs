//! Expansions: constructs that start with a dollar sign or a backtick.
//!
//! Never expands anything; it opens the construct, or reads it if it is a separate text.

use super::{
    Symbol,
    frame::{ArithmeticClose, ConstructKind, ListShape, OuterQuoting, Parameter, ParameterPart},
    scanner::Scanner,
};

impl Scanner<'_, '_, '_> {
    pub(super) fn dollar(&mut self, around: OuterQuoting) {
        let bare = around == OuterQuoting::Unquoted;
        match self.following(1) {
            // `$` and a reference would be something else, so the dollar sign is made plain text
            Some(Symbol::Hole(_)) => {
                self.out.push_str("\\$");
                self.at += 1;
            }
            Some(Symbol::Char('(')) => self.dollar_parenthesis(),
            Some(Symbol::Char('{')) => self.open_parameter(around),
            Some(Symbol::Char('[')) => {
                self.copy_operator(2);
                self.push_arithmetic(ArithmeticClose::Bracket);
            }
            Some(Symbol::Char('\'')) if bare => self.ansi_c(),
            Some(Symbol::Char('"')) if bare => {
                self.copy_operator(2);
                self.push_inner(ConstructKind::Double);
            }
            Some(Symbol::Char('$')) => self.copy_operator(2),
            _ => self.copy(1),
        }
    }

    fn dollar_parenthesis(&mut self) {
        if self.is_followed(2, '(') && self.closes_as_arithmetic(2) {
            self.copy_operator(3);
            self.push_arithmetic(ArithmeticClose::Parentheses);
        } else {
            self.copy_operator(2);
            let output = self.outlet();
            self.push_command(ListShape::Substitution, output);
        }
    }

    fn open_parameter(&mut self, around: OuterQuoting) {
        self.copy_operator(2);
        let inherited = self.outlet().arithmetic;
        let parameter = Parameter { around, part: ParameterPart::Name, name: String::new(), inherited };
        self.push_inner(ConstructKind::Parameter(parameter));
    }

    /// Whether the parenthesis that comes `count` after this symbol closes with `))`. In doubt it does: arithmetic
    /// lets less through.
    pub(super) fn closes_as_arithmetic(&mut self, count: usize) -> bool {
        let start = self.at + self.distance(count) + 1;
        let rest = self.symbols.get(start..).unwrap_or_default();
        let mut open = Vec::new();
        let mut at = 0;
        while let Some(symbol) = rest.get(at) {
            if self.facts.look_ahead == 0 {
                return true;
            }
            self.facts.look_ahead -= 1;
            let Symbol::Char(c) = *symbol else {
                at += 1;
                continue;
            };
            let dollar = at > 0 && rest.get(at - 1) == Some(&Symbol::Char('$'));
            match (c, open.last().copied()) {
                ('\'', Some('\'')) | ('"', Some('"')) | ('`', Some('`')) | (')', Some('(')) => {
                    open.pop();
                }
                (_, Some('\'')) => {}
                ('\\', _) => at += 1,
                ('\'' | ')', Some('"' | '`')) => {}
                ('(', Some('"')) if !dollar => {}
                (')', None) => return rest.get(at + 1) == Some(&Symbol::Char(')')),
                ('\'' | '"' | '`' | '(', _) => open.push(c),
                _ => {}
            }
            at += 1;
        }
        true
    }

    /// `` `…` ``: bash removes one level of backslashes before it reads the inner text. So the scanner reads the text
    /// without that level and adds it again afterwards.
    pub(super) fn backticks(&mut self, around: OuterQuoting) {
        self.copy(1);
        let (inner, end) = self.between_backticks(around);
        let (output, known) = (self.outlet(), self.facts.known());
        let text = self.facts.nest(|facts| Scanner::script(&inner, output, facts).finish());
        self.facts.forget(known);
        for c in text.chars() {
            if matches!(c, '\\' | '`') {
                self.out.push('\\');
            }
            self.out.push(c);
        }
        self.at = end;
        self.copy(1);
    }

    fn between_backticks(&self, around: OuterQuoting) -> (Vec<Symbol>, usize) {
        let mut inner = Vec::new();
        let mut at = self.at;
        while let Some(symbol) = self.symbols.get(at).copied() {
            if symbol == Symbol::Char('`') {
                break;
            }
            let escaped = match self.symbols.get(at + 1) {
                Some(Symbol::Char(c @ ('\\' | '$' | '`'))) => Some(*c),
                Some(Symbol::Char('"')) if around == OuterQuoting::Double => Some('"'),
                _ => None,
            };
            match (symbol, escaped) {
                (Symbol::Char('\\'), Some(c)) => {
                    inner.push(Symbol::Char(c));
                    at += 2;
                }
                _ => {
                    inner.push(symbol);
                    at += 1;
                }
            }
        }
        (inner, at)
    }
}
