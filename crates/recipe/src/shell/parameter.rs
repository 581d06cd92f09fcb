//! `${…}`: which part of it a place belongs to, and how that part is quoted.
//!
//! Never expands anything.

use super::{
    Quoting, Symbol,
    frame::{ConstructKind, OuterQuoting, Parameter, ParameterPart},
    scanner::{ReferenceStyle, Scanner, quoting_of},
};

impl Scanner<'_, '_, '_> {
    pub(super) fn step_parameter(&mut self, symbol: Symbol) {
        let Some(Parameter { around, part, .. }) = self.parameter() else { return };
        let (around, part) = (*around, *part);
        match (symbol, part) {
            (Symbol::Hole(number), _) => self.parameter_hole(number, around, part),
            (
                Symbol::Char('}'),
                ParameterPart::Name | ParameterPart::Word | ParameterPart::Pattern | ParameterPart::Offset,
            ) => {
                self.copy(1);
                self.frames.pop();
            }
            (Symbol::Char(c), ParameterPart::Name) => self.parameter_name(c),
            (Symbol::Char(c), ParameterPart::Subscript(depth)) => self.parameter_subscript(c, depth),
            (Symbol::Char(c), ParameterPart::Word) if around != OuterQuoting::Unquoted => {
                self.quoted_word(c, around)
            }
            (Symbol::Char('<' | '>'), ParameterPart::Word | ParameterPart::Pattern)
                if self.is_followed(1, '(') =>
            {
                self.process_substitution();
            }
            (Symbol::Char(c), _) => {
                if !self.unquoted(c) {
                    self.copy(1);
                }
            }
        }
    }

    fn parameter(&mut self) -> Option<&mut Parameter> {
        match self.frames.last_mut().map(|frame| &mut frame.kind) {
            Some(ConstructKind::Parameter(parameter)) => Some(parameter),
            _ => None,
        }
    }

    /// Goes on with `part`, which may be evaluated as arithmetic where the whole is not.
    fn enter(&mut self, part: ParameterPart, arithmetic: Option<Quoting>) {
        let Some(frame) = self.frames.last_mut() else { return };
        if let ConstructKind::Parameter(parameter) = &mut frame.kind {
            parameter.part = part;
            frame.arithmetic = arithmetic.is_some() || parameter.inherited;
        }
    }

    fn parameter_hole(&mut self, number: usize, around: OuterQuoting, part: ParameterPart) {
        self.at += 1;
        match part {
            ParameterPart::Name => self.hole(number, ReferenceStyle::Plain, Quoting::Name),
            ParameterPart::Word if around != OuterQuoting::Unquoted => {
                self.hole(number, ReferenceStyle::Plain, quoting_of(around))
            }
            ParameterPart::Offset => self.hole(number, ReferenceStyle::Plain, Quoting::Arithmetic),
            ParameterPart::Word | ParameterPart::Pattern | ParameterPart::Subscript(_) => {
                self.hole(number, ReferenceStyle::Word, Quoting::Bare);
            }
        }
    }

    fn parameter_name(&mut self, c: char) {
        let follows = self.peek_char(1);
        let Some(parameter) = self.parameter() else { return };
        let named = !matches!(parameter.name.as_str(), "" | "#" | "!");
        let prefix = parameter.name.is_empty() && matches!(c, '#' | '!');
        if prefix || c.is_ascii_alphanumeric() || c == '_' || (!named && "@*?$-!#".contains(c)) {
            parameter.name.push(c);
            return self.copy(1);
        }
        match c {
            '[' => self.enter_subscript(),
            '=' => self.enter_assigned(),
            ':' if follows == Some('=') => self.enter_assigned(),
            ':' if matches!(follows, Some('-' | '?' | '+')) => self.enter(ParameterPart::Word, None),
            ':' => self.enter(ParameterPart::Offset, Some(Quoting::Arithmetic)),
            '-' | '?' | '+' => self.enter(ParameterPart::Word, None),
            '#' | '%' | '/' | '^' | ',' => self.enter(ParameterPart::Pattern, None),
            _ => {}
        }
        self.copy(1);
    }

    /// The name without its prefix.
    fn parameter_variable(&mut self) -> String {
        let name = self.parameter().map(|parameter| parameter.name.trim_start_matches(['#', '!']).to_owned());
        name.unwrap_or_default()
    }

    fn enter_subscript(&mut self) {
        let name = self.parameter_variable();
        let keys = self.facts.is_associative(&name);
        self.enter(ParameterPart::Subscript(0), (!keys).then_some(Quoting::Arithmetic));
    }

    /// The value that `${x:=…}` assigns.
    fn enter_assigned(&mut self) {
        let name = self.parameter_variable();
        self.enter(ParameterPart::Word, self.facts.is_integer(&name).then_some(Quoting::Arithmetic));
    }

    fn parameter_subscript(&mut self, c: char, depth: usize) {
        if self.unquoted(c) {
            return;
        }
        match c {
            '[' => self.set_part(ParameterPart::Subscript(depth + 1)),
            ']' if depth > 0 => self.set_part(ParameterPart::Subscript(depth - 1)),
            ']' => self.enter(ParameterPart::Name, None),
            _ => {}
        }
        self.copy(1);
    }

    fn set_part(&mut self, part: ParameterPart) {
        if let Some(parameter) = self.parameter() {
            parameter.part = part;
        }
    }

    /// The word of an expansion inside double quotes or a heredoc: single quotes mean nothing.
    fn quoted_word(&mut self, c: char, around: OuterQuoting) {
        match c {
            '\\' => self.quoted_backslash(),
            '$' => self.dollar(around),
            // in here `\"` keeps its backslash
            '`' => self.backticks(OuterQuoting::Unquoted),
            '"' => {
                self.copy(1);
                self.push_inner(ConstructKind::Double);
            }
            _ => self.copy(1),
        }
    }
}
