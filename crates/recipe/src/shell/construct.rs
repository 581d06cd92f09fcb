//! Constructs that have no words: arithmetic, subscripts, and parentheses in patterns.
//!
//! Never evaluates anything; it follows the brackets to the end.

use super::{
    Quoting, Symbol,
    frame::{ArithmeticClose, ConstructKind, OuterQuoting, SubscriptKind},
    scanner::{ReferenceStyle, Scanner},
};

impl Scanner<'_, '_, '_> {
    pub(super) fn step_arithmetic(&mut self, symbol: Symbol) {
        match symbol {
            Symbol::Char('\\') => self.bare_backslash(),
            Symbol::Char('$') if !self.in_apostrophes() => self.dollar(OuterQuoting::Double),
            Symbol::Char('`') if !self.in_apostrophes() => self.backticks(OuterQuoting::Unquoted),
            Symbol::Char(c) => {
                self.copy(1);
                self.count_arithmetic(c);
            }
            Symbol::Hole(number) => {
                // `i-{{n}}` with -3 must not become `i--3`
                if matches!(self.out.last(), Some('-' | '+')) {
                    self.out.push(' ');
                }
                self.at += 1;
                self.hole(number, ReferenceStyle::Plain, Quoting::Arithmetic);
            }
        }
    }

    fn in_apostrophes(&self) -> bool {
        let kind = self.frames.last().map(|frame| &frame.kind);
        matches!(kind, Some(ConstructKind::Arithmetic { quote: Some('\''), .. }))
    }

    /// Follows the nesting of an arithmetic construct, `c` having been copied.
    fn count_arithmetic(&mut self, c: char) {
        let Some(ConstructKind::Arithmetic { close, depth, quote }) =
            self.frames.last_mut().map(|frame| &mut frame.kind)
        else {
            return;
        };
        match (*close, c) {
            _ if *quote == Some(c) => *quote = None,
            _ if quote.is_some() => {}
            (_, '"' | '\'') => *quote = Some(c),
            (ArithmeticClose::Parentheses, '(') | (ArithmeticClose::Bracket, '[') => *depth += 1,
            (ArithmeticClose::Parentheses, ')') | (ArithmeticClose::Bracket, ']') if *depth > 0 => {
                *depth -= 1
            }
            (ArithmeticClose::Parentheses, ')') => {
                self.copy(1);
                self.frames.pop();
            }
            (ArithmeticClose::Bracket, ']') => {
                self.frames.pop();
            }
            _ => {}
        }
    }

    pub(super) fn step_subscript(&mut self, symbol: Symbol) {
        match symbol {
            Symbol::Char(c) if self.unquoted(c) => {}
            Symbol::Char(c) => {
                self.copy(1);
                self.count_subscript(c);
            }
            Symbol::Hole(number) => {
                self.at += 1;
                self.hole(number, ReferenceStyle::Word, Quoting::Bare);
            }
        }
    }

    fn count_subscript(&mut self, c: char) {
        let Some(ConstructKind::Subscript { depth, holes, textual }) =
            self.frames.last_mut().map(|frame| &mut frame.kind)
        else {
            return;
        };
        match c {
            '[' => *depth += 1,
            ']' if *depth > 0 => *depth -= 1,
            ']' => {
                let (holes, textual) = (*holes, *textual);
                self.close_subscript(holes, textual);
            }
            _ => {}
        }
    }

    fn close_subscript(&mut self, holes: usize, textual: SubscriptKind) {
        self.frames.pop();
        let assigns =
            matches!((self.peek_char(0), self.peek_char(1)), (Some('='), _) | (Some('+'), Some('=')));
        if assigns && textual == SubscriptKind::Numbers {
            self.make_arithmetic(holes);
        }
    }

    pub(super) fn step_pattern(&mut self, symbol: Symbol) {
        match symbol {
            Symbol::Char(c) if self.unquoted(c) => {}
            Symbol::Char('<' | '>') if self.is_followed(1, '(') => self.process_substitution(),
            Symbol::Char('(') => {
                self.copy(1);
                self.push_inner(ConstructKind::Pattern);
            }
            Symbol::Char(')') => {
                self.copy(1);
                self.frames.pop();
            }
            Symbol::Char(_) => self.copy(1),
            Symbol::Hole(number) => {
                self.at += 1;
                self.hole(number, ReferenceStyle::Word, Quoting::Bare);
            }
        }
    }
}
