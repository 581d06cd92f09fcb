//! What starts with a dollar sign or a backtick.
//!
//! Never expands anything; it opens the construct, or reads it where it is a text of its own.

use super::{
    Symbol,
    frame::{Around, Close, Frame, Kind, Outlet, Parameter, Part, Shape},
    scanner::Scanner,
};

impl Scanner<'_, '_, '_> {
    pub(super) fn dollar(&mut self, around: Around) {
        let bare = around == Around::Unquoted;
        match self.peek(1) {
            // `$` and a reference would be something else, so the dollar sign is made plain text
            Some(Symbol::Hole(_)) => {
                self.out.push_str("\\$");
                self.at += 1;
            }
            Some(Symbol::Char('(')) => self.dollar_parenthesis(),
            Some(Symbol::Char('{')) => self.open_parameter(around),
            Some(Symbol::Char('[')) => {
                self.copy(2);
                self.push_arithmetic(Close::Bracket);
            }
            Some(Symbol::Char('\'')) if bare => self.ansi_c(),
            Some(Symbol::Char('"')) if bare => {
                self.copy(2);
                self.push_inner(Kind::Double);
            }
            Some(Symbol::Char(c)) if c.is_ascii_alphanumeric() || "_$#?!*@-".contains(c) => self.copy(2),
            _ => self.copy(1),
        }
    }

    fn dollar_parenthesis(&mut self) {
        if self.peek_char(2) == Some('(') && self.closes_as_arithmetic(3) {
            self.copy(3);
            self.push_arithmetic(Close::Parentheses);
        } else {
            self.copy(2);
            let output = self.outlet();
            self.push_command(Shape::Substitution, output);
        }
    }

    /// Where the output of a substitution goes that opens here.
    fn outlet(&self) -> Outlet {
        let outlet = |frame: &Frame| Outlet { owner: frame.owner, arithmetic: frame.arithmetic };
        self.frames.last().map(outlet).unwrap_or_default()
    }

    fn open_parameter(&mut self, around: Around) {
        self.copy(2);
        let inherited = self.frames.last().is_some_and(|frame| frame.arithmetic);
        let parameter = Parameter { around, part: Part::Name, name: String::new(), inherited };
        self.push_inner(Kind::Parameter(parameter));
    }

    /// Whether the parenthesis that is open just before the symbol `ahead` closes with `))`. In
    /// doubt it does: arithmetic lets less through.
    pub(super) fn closes_as_arithmetic(&mut self, ahead: usize) -> bool {
        let rest = self.symbols.get(self.at + ahead..).unwrap_or_default();
        let (mut depth, mut quote, mut at) = (0usize, None, 0);
        while let Some(symbol) = rest.get(at) {
            if self.notes.look_ahead == 0 {
                return true;
            }
            self.notes.look_ahead -= 1;
            match (*symbol, quote) {
                (Symbol::Char('\\'), None | Some('"')) => at += 1,
                (Symbol::Char(c), Some(open)) if c == open => quote = None,
                (_, Some(_)) => {}
                (Symbol::Char(c @ ('"' | '\'')), None) => quote = Some(c),
                (Symbol::Char('('), None) => depth += 1,
                (Symbol::Char(')'), None) if depth == 0 => {
                    return rest.get(at + 1) == Some(&Symbol::Char(')'));
                }
                (Symbol::Char(')'), None) => depth -= 1,
                _ => {}
            }
            at += 1;
        }
        true
    }

    /// `` `…` ``: bash takes one level of backslashes away before it reads what is inside, so that
    /// is what is scanned, and the level is put back afterwards.
    pub(super) fn backticks(&mut self, around: Around) {
        self.copy(1);
        let (inner, end) = self.between_backticks(around);
        let output = self.outlet();
        let text = self.notes.nest(|notes| Scanner::script(&inner, output, notes).finish());
        for c in text.chars() {
            if matches!(c, '\\' | '`') {
                self.out.push('\\');
            }
            self.out.push(c);
        }
        self.at = end;
        self.copy(1);
    }

    fn between_backticks(&self, around: Around) -> (Vec<Symbol>, usize) {
        let mut inner = Vec::new();
        let mut at = self.at;
        while let Some(symbol) = self.symbols.get(at).copied() {
            if symbol == Symbol::Char('`') {
                break;
            }
            let escaped = match self.symbols.get(at + 1) {
                Some(Symbol::Char(c @ ('\\' | '$' | '`'))) => Some(*c),
                Some(Symbol::Char('"')) if around == Around::Double => Some('"'),
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
